//! The steps of the ciphers, one file a representation, and the faces that all of them show.

pub mod aes;
pub mod counter;

use crate::word::{Buffers, Tile};

/// Where a job's blocks are born.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the input: the result replaces them (ECB).
    Bytes,
    /// In a counter, from this value on, wrapping at 2¹²⁸; the result is added to the input (CTR).
    Counter(u128),
}

impl Source {
    /// The source `blocks` blocks further on.
    #[must_use]
    pub const fn skip(self, blocks: usize) -> Self {
        match self {
            Self::Bytes => Self::Bytes,
            Self::Counter(first) => Self::Counter(first.wrapping_add(blocks as u128)),
        }
    }
}

/// A way from a counter into a tile: blocks born in a representation, perhaps already encrypted.
pub trait Count: Send + Sync {
    /// Begins a run on one thread; what is worth keeping from bundle to bundle lives in it.
    fn begin(&self) -> Box<dyn Counting + '_>;
}

/// One thread's run of counter bundles.
pub trait Counting {
    /// Fills the tile with `blocks` big-endian counter blocks from `first` on, wrapping at 2¹²⁸.
    fn count(&mut self, first: u128, tile: &mut Tile, scratch: &mut [Tile; 2], blocks: usize);
}

/// Some consecutive parts of a cipher, bound to their round keys, on a tile in one representation.
pub trait TilePart: Send + Sync {
    /// Computes the parts in place on the first `blocks` blocks of the tile.
    fn run(&self, tile: &mut Tile, blocks: usize);
}

/// A whole cipher, bound to its round keys, from source to sink without a tile between.
pub trait WholePart: Send + Sync {
    /// Computes any number of whole blocks.
    ///
    /// # Panics
    /// If the buffers are no whole number of blocks.
    fn run(&self, source: Source, buffers: Buffers<'_>);
}
