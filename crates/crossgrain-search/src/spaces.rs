//! Spaces one after the other under one numbering: the lengths of a growing mask, or the lines of a file of
//! masks.
//!
//! The candidates of the first space have the first numbers. Candidates may occur in several spaces; each
//! occurrence has its own number.

use std::ops::{Range, RangeInclusive};

use num_bigint::BigUint;

use super::{Error, Sets, Space};

/// Consecutive spaces.
#[derive(Clone, Debug)]
pub struct Spaces {
    spaces: Vec<Space>,
    /// For each space, the number after its last candidate.
    ends: Vec<BigUint>,
}

/// The candidates of one space.
#[derive(Debug)]
pub struct InSpace<'a> {
    /// The space.
    pub space: &'a Space,
    /// The number of its first candidate among all candidates.
    pub first: BigUint,
    /// Numbers within the space.
    pub numbers: Range<BigUint>,
}

impl Spaces {
    /// Spaces in this order.
    pub fn new(spaces: Vec<Space>) -> Self {
        let mut end = BigUint::ZERO;
        let ends = spaces.iter().map(|space| {
            end += space.size();
            end.clone()
        });
        let ends = ends.collect();
        Self { spaces, ends }
    }

    /// The spaces of masks, each with its sets, by [`Sets::spaces`].
    ///
    /// # Errors
    /// As there.
    pub fn of_masks(
        masks: &[(Sets, Vec<u8>)],
        growth: Option<&RangeInclusive<usize>>,
        is_hex: bool,
    ) -> Result<Self, Error> {
        let spaces = masks.iter().map(|(sets, mask)| sets.spaces(mask, growth, is_hex));
        Ok(Self::new(spaces.collect::<Result<Vec<_>, _>>()?.concat()))
    }

    /// The spaces.
    pub fn spaces(&self) -> &[Space] {
        &self.spaces
    }

    /// The number of candidates.
    pub fn size(&self) -> BigUint {
        self.ends.last().cloned().unwrap_or_default()
    }

    /// The spaces that contain the candidates with these numbers, in order. A part is never empty.
    pub fn parts(&self, numbers: Range<BigUint>) -> impl Iterator<Item = InSpace<'_>> {
        let from = self.ends.partition_point(|end| *end <= numbers.start);
        let of = move |at: usize| {
            let first = if at == 0 { BigUint::ZERO } else { self.ends[at - 1].clone() };
            let (start, end) = ((&numbers.start).max(&first), (&numbers.end).min(&self.ends[at]));
            let part = (start < end).then(|| start - &first..end - &first);
            part.map(|numbers| InSpace { space: &self.spaces[at], first, numbers })
        };
        (from..self.spaces.len()).map_while(of)
    }
}

impl From<Space> for Spaces {
    fn from(space: Space) -> Self {
        Self::new(vec![space])
    }
}
