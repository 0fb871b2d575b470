//! The steps of the ciphers, one file a representation, and the faces that all of them show.

pub mod aes;
pub mod chain;
pub mod counter;
pub mod tweak;

use self::chain::{Absorb, Link, Strand, by_blocks, chain_by_blocks};
use self::tweak::Tweaks;
use crate::block::{BLOCK_BYTES, Block};
use crate::word::{Buffers, Tile};

/// Where a job's blocks are born, and what is added to them after the cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// In the input: the result replaces them (ECB).
    Bytes,
    /// In a counter, from this value on, wrapping at 2¹²⁸; the result is added to the input (CTR).
    Counter(u128),
    /// In the input, to which a tweak is added both before the cipher and after it (XTS).
    Tweaked(Tweaks<'a>),
    /// In the input; to the result is added the input one block earlier, this block coming first
    /// (CBC decryption).
    Chained(Block),
    /// In the input one block earlier, this block coming first; the result is added to the input
    /// (CFB decryption).
    Delayed(Block),
}

impl Source<'_> {
    /// The source of what follows these whole blocks of input, asked before they are replaced.
    #[must_use]
    pub fn after(self, input: &[u8]) -> Self {
        let blocks = input.len() / BLOCK_BYTES;
        let last = || input.last_chunk().copied();
        match self {
            Self::Bytes => Self::Bytes,
            Self::Counter(first) => Self::Counter(first.wrapping_add(blocks as u128)),
            Self::Tweaked(tweaks) => Self::Tweaked(tweaks.skip(blocks)),
            Self::Chained(previous) => Self::Chained(last().unwrap_or(previous)),
            Self::Delayed(previous) => Self::Delayed(last().unwrap_or(previous)),
        }
    }

    /// What enters the cipher for the next block of input, and what is added to its result.
    pub fn around(self, input: Block) -> (Block, Block) {
        match self {
            Self::Bytes => (input, [0; BLOCK_BYTES]),
            Self::Counter(counter) => (counter.to_be_bytes(), input),
            Self::Tweaked(tweaks) => {
                let (tweak, _) = tweaks.run(1);
                ((tweak ^ u128::from_le_bytes(input)).to_le_bytes(), tweak.to_le_bytes())
            }
            Self::Chained(previous) => (input, previous),
            Self::Delayed(previous) => (previous, input),
        }
    }

    /// Whether the last block of input may be a part of one, which takes no more than a part of a result.
    pub const fn takes_partial_blocks(self) -> bool {
        matches!(self, Self::Counter(_) | Self::Delayed(_))
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
    fn count(&mut self, first: u128, tile: &mut Tile, blocks: usize);
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
    fn run(&self, source: Source<'_>, buffers: Buffers<'_>);

    /// How many chains are best run side by side.
    fn lanes(&self) -> usize {
        1
    }

    /// Takes every chain `blocks` blocks further along its input.
    fn absorb(&self, strands: &mut [&mut Strand<&[u8]>], blocks: usize) {
        by_blocks::<Absorb, _>(&mut |states| self.run(Source::Bytes, states), 1, strands, blocks);
    }

    /// Replaces the next `blocks` blocks of every chain.
    fn chain(&self, link: Link, strands: &mut [&mut Strand<Buffers<'_>>], blocks: usize) {
        chain_by_blocks(link, &mut |states| self.run(Source::Bytes, states), 1, strands, blocks);
    }
}
