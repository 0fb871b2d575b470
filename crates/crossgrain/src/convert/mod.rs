//! Conversions between representations: `blocks` to `bitsliced` and back.
//!
//! Both ways are the same map: the transposition of bit matrices, which exchanges bit k of a word's
//! index with bit k of the index inside the word (docs/layouts.md). Three ways to compute it live
//! here; each is judged against `repr`'s index map by a single set bit (`tests/laws.rs`).

mod blocks;
mod groups;
mod interleave;
mod matrices;
mod network;

pub use blocks::{BlocksToBits, Copy};
pub use groups::{BitGroup, BlocksToGroups, ByteGroup, Group, LaneGroup};
pub use interleave::Interleave;
pub use matrices::Matrices;
pub use network::{Network, transpose_square};

use crate::word::{Buffers, Register, TILE_WORDS, Tile};

/// A way from a job's bytes into a tile.
pub trait Load: Send + Sync {
    /// Fills the tile with the blocks of `input`, which are a whole bundle.
    fn load(&self, input: &[u8], tile: &mut Tile, scratch: &mut Tile);
}

/// A way from a tile to a job's bytes.
pub trait Store: Send + Sync {
    /// Writes a bundle to the output; with `add`, added to the input.
    fn store(&self, tile: &Tile, scratch: &mut Tile, add: bool, buffers: Buffers<'_>);
}

/// A way to exchange word index and index inside the word.
pub trait Transpose<W: Register>: Send + Sync + 'static {
    /// What distinguishes this way in a variant's name; empty for the plain network.
    const NAME: &'static str;

    /// Takes words from `read`, transposes, and gives words to `write`: one 128-bit-wide matrix, or two
    /// or four square ones one after another where a word is narrower.
    ///
    /// Implementations must be `#[inline(always)]`.
    fn transpose(isa: W::Isa, scratch: &mut [W; TILE_WORDS], read: impl Reader<W>, write: impl Writer<W>);
}

/// Where a transposition takes its words from; a trait, since closures cannot be forced inline.
pub trait Reader<W> {
    /// Word `index` of the input.
    fn read(&self, index: usize) -> W;
}

/// Where a transposition puts its words.
pub trait Writer<W> {
    /// Takes word `index` of the output.
    fn write(&mut self, index: usize, word: W);
}

/// Square matrices in a bundle: one (or several side by side) for words of 128 bits and more.
pub(crate) const fn matrices<W: Register>() -> usize {
    TILE_WORDS.div_ceil(W::BITS)
}

/// Pair number `pair` of the words whose indices differ in bit `word_bit`: the one with the bit clear,
/// and the other. Counting pairs, without a test inside, is what lets the compiler unroll a layer.
#[inline(always)]
pub(crate) const fn pair_of(pair: usize, word_bit: u32) -> (usize, usize) {
    let low = pair & ((1 << word_bit) - 1);
    let first = (pair - low) << 1 | low;
    (first, first | 1 << word_bit)
}
