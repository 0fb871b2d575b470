//! Parts of a space: from a number on, so many, one share of several. No candidate is in two shares or in none.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use num_bigint::BigUint;

use super::Error;

/// Which part of a space is to be searched: `skip` candidates are left out, at most `limit` taken, and of these
/// one share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// How many candidates are left out at the beginning.
    pub skip: BigUint,
    /// How many are taken after that; all if there is none.
    pub limit: Option<BigUint>,
    /// The share of these; the whole if there is none.
    pub shard: Option<Shard>,
}

/// One of several shares of nearly the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// Share `index` of `count`, numbered from 0 on.
    ///
    /// # Errors
    /// [`Error::NoSuchShard`] unless `index` is less than `count`.
    pub const fn new(index: u64, count: u64) -> Result<Self, Error> {
        if index < count { Ok(Self { index, count }) } else { Err(Error::NoSuchShard) }
    }

    /// The share of a range: its bounds are those of exact quotients, rounded down.
    pub fn of(self, range: &Range<BigUint>) -> Range<BigUint> {
        let len = &range.end - &range.start;
        let bound = |index: u64| &range.start + &len * index / self.count;
        bound(self.index)..bound(self.index + 1)
    }
}

impl Part {
    /// The numbers of the candidates, of a space with `size` of them.
    pub fn of(&self, size: &BigUint) -> Range<BigUint> {
        let start = (&self.skip).min(size).clone();
        let end = match &self.limit {
            Some(limit) => (&start + limit).min(size.clone()),
            None => size.clone(),
        };
        self.shard.map_or(start.clone()..end.clone(), |shard| shard.of(&(start..end)))
    }
}

impl FromStr for Shard {
    type Err = Error;

    /// Reads `index/count`, such as `0/16`.
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
