//! Conversions between representations, mainly between `blocks` and `bitsliced`.
//!
//! Both directions are the same map, a transposition of bit matrices. It exchanges bit k of a word's index
//! with bit k of the index inside the word (docs/layouts.md). There are two implementations.
//! `tests/laws.rs` compares each with the index map of `layout::repr` by setting single bits.

mod blocks;
mod groups;
mod interleave;
mod network;

pub use blocks::{BlocksToBits, Copy};
pub use groups::{BitGroup, BlocksToGroups, ByteGroup, Group, LaneGroup};
pub use interleave::Interleave;
pub use network::{Network, transpose_square};

use crate::arch::{Buffers, Register, TILE_WORDS, Tile};

/// A conversion from a job's bytes to a tile.
pub trait Load: Send + Sync {
    /// Fills the tile with the blocks of `input`, which are a whole bundle.
    fn load(&self, input: &[u8], tile: &mut Tile, scratch: &mut Tile);
}

/// A conversion from a tile to a job's bytes.
pub trait Store: Send + Sync {
    /// Writes a bundle to the output; with `add`, XORs it with the input first.
    fn store(&self, tile: &Tile, scratch: &mut Tile, add: bool, buffers: Buffers<'_>);
}

/// An implementation of the transposition of word index and index inside the word.
pub trait Transpose<W: Register>: Send + Sync + 'static {
    /// The name of this implementation in a variant's name; empty for the plain network.
    const NAME: &'static str;

    /// Reads words from `read`, transposes them, and passes the result to `write`. Words of 128 bits and more
    /// hold matrices side by side. Narrower words hold two or four square matrices one after another.
    ///
    /// Implementations must be `#[inline(always)]`.
    fn transpose(isa: W::Isa, scratch: &mut [W; TILE_WORDS], read: impl Reader<W>, write: impl Writer<W>);
}

/// The input of a transposition. This is a trait because closures cannot be forced inline.
pub trait Reader<W> {
    /// Word `index` of the input.
    fn read(&self, index: usize) -> W;
}

/// The output of a transposition.
pub trait Writer<W> {
    /// Takes word `index` of the output.
    fn write(&mut self, index: usize, word: W);
}

/// The number of matrices that a bundle is transposed as: two or four for words of 64 or 32 bits. For wider
/// words it is one, although each 128-bit part then holds a matrix.
pub(crate) const fn matrices<W: Register>() -> usize {
    TILE_WORDS.div_ceil(W::BITS)
}

/// Pair number `pair` of the words whose indices differ in bit `word_bit`: first the word with the bit clear.
/// Enumerating pairs needs no test in the loop, so the compiler can unroll a layer.
#[inline(always)]
pub(crate) const fn pair_of(pair: usize, word_bit: u32) -> (usize, usize) {
    let low = pair & ((1 << word_bit) - 1);
    let first = (pair - low) << 1 | low;
    (first, first | 1 << word_bit)
}
