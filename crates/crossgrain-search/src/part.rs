//! Parts of a space: a range given by an offset and a length, and one of several shares of it. Shares cover
//! the range without gap or overlap.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use num_bigint::BigUint;

use super::Error;

/// A part of a space: `skip` candidates are left out, at most `limit` of the rest are taken, and one share of
/// these is searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The number of candidates left out at the beginning.
    pub skip: BigUint,
    /// The most candidates taken after that. `None` takes all.
    pub limit: Option<BigUint>,
    /// The share of these. `None` takes the whole.
    pub shard: Option<Shard>,
}

/// One of several shares of nearly equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// Share `index` of `count`; the index begins at 0.
    ///
    /// # Errors
    /// [`Error::NoSuchShard`] unless `index` is less than `count`.
    pub const fn new(index: u64, count: u64) -> Result<Self, Error> {
        if index < count { Ok(Self { index, count }) } else { Err(Error::NoSuchShard) }
    }

    /// The share of a range. Its bounds are exact quotients, rounded down.
    pub fn of(self, range: &Range<BigUint>) -> Range<BigUint> {
        let len = &range.end - &range.start;
        let bound = |index: u64| &range.start + &len * index / self.count;
        bound(self.index)..bound(self.index + 1)
    }
}

impl Part {
    /// The numbers of the candidates, in a space of `size` candidates.
    pub fn of(&self, size: &BigUint) -> Range<BigUint> {
        let start = (&self.skip).min(size).clone();
        let end = match &self.limit {
            Some(limit) => (&start + limit).min(size.clone()),
            None => size.clone(),
        };
        self.shard.map_or(start.clone()..end.clone(), |shard| shard.of(&(start..end)))
    }

    /// The numbers of the candidates, as a part of those with these numbers.
    pub fn within(&self, numbers: &Range<BigUint>) -> Range<BigUint> {
        let part = self.of(&(&numbers.end - &numbers.start));
        &numbers.start + part.start..&numbers.start + part.end
    }
}

impl FromStr for Shard {
    type Err = Error;

    /// Parses `index/count`, for example `0/16`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let read = |text: &str| text.parse::<u64>().map_err(|_| Error::NoSuchShard);
        let (index, count) = text.split_once('/').ok_or(Error::NoSuchShard)?;
        Self::new(read(index)?, read(count)?)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}
