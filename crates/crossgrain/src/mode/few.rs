//! Lists for groups of messages, which are often of one: no memory is asked for then. For what is no secret, since what is moved leaves a copy.

use std::ops::Deref;

/// One or many.
pub(super) enum Few<T> {
    One([T; 1]),
    Many(Vec<T>),
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items = items.into_iter();
        match (items.size_hint(), items.next()) {
            ((1, Some(1)), Some(one)) => Self::One([one]),
            (_, first) => Self::Many(first.into_iter().chain(items).collect()),
        }
    }
}
