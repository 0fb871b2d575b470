//! The growth of a count with the number of blocks: an affine form, fitted to a few traces.

use std::fmt;

/// Length of the longest traced message, in blocks.
const TRACED_BLOCKS: usize = 8;

/// A count as a function of the number of blocks n, known for n = 1 to 8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The counts for n = 1, 2, …
    pub counts: Vec<usize>,
}

/// `per_block·n + fixed`, for n of at least `from_blocks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The increase per block.
    pub per_block: usize,
    /// The constant term.
    pub fixed: isize,
    /// The smallest n for which the form holds.
    pub from_blocks: usize,
}

impl Growth {
    pub(super) fn of(count: impl Fn(usize) -> usize) -> Self {
        Self { counts: (1..=TRACED_BLOCKS).map(count).collect() }
    }

    /// The affine form that fits the last counts, if it fits at least half of them. It is a fit, not a
    /// proof.
    pub fn affine(&self) -> Option<Affine> {
        let [.., before, last] = self.counts[..] else { return None };
        let per_block = last.checked_sub(before)?;
        let fixed = last as isize - (per_block * TRACED_BLOCKS) as isize;
        let fits = |&(i, &count): &(usize, &usize)| count as isize == (per_block * (i + 1)) as isize + fixed;
        let fitting = self.counts.iter().enumerate().rev().take_while(fits).count();
        let from_blocks = TRACED_BLOCKS + 1 - fitting;
        (fitting >= TRACED_BLOCKS / 2).then_some(Affine { per_block, fixed, from_blocks })
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Affine { per_block, fixed, from_blocks }) = self.affine() else {
            return write!(f, "{:?} for n = 1 to {TRACED_BLOCKS}", self.counts);
        };
        match (per_block, fixed) {
            (0, _) => write!(f, "{fixed}")?,
            (1, 0) => f.write_str("n")?,
            (_, 0) => write!(f, "{per_block}n")?,
            (1, _) => write!(f, "n{fixed:+}")?,
            _ => write!(f, "{per_block}n{fixed:+}")?,
        }
        if from_blocks > 1 {
            write!(f, " from n = {from_blocks} on")?;
        }
        Ok(())
    }
}
