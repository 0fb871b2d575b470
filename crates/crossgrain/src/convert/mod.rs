//! Conversions between representations: `blocks` to `bitsliced` and back.
//!
//! Both ways are the same map: the transposition of bit matrices, which exchanges bit k of a word's
//! index with bit k of the index inside the word (docs/layouts.md). Three ways to compute it live
//! here; each is judged against `repr`'s index map by a single set bit (`tests/laws.rs`).

mod interleave;
mod matrices;
mod network;

pub use interleave::Interleave;
pub use matrices::Matrices;
pub use network::Network;

use crate::word::{Register, TILE_WORDS};

/// A way to exchange word index and index inside the word.
pub trait Transpose<W: Register>: Send + Sync + 'static {
    /// What distinguishes this way in a variant's name; empty for the plain network.
    const NAME: &'static str;

    /// Takes word i of the matrix from `read(i)` and gives each word of the transposed to `write`.
    ///
    /// Implementations must be `#[inline(always)]`. All words are read before the first is written.
    fn transpose(
        isa: W::Isa,
        scratch: &mut [W; TILE_WORDS],
        read: impl Reader<W>,
        write: impl Writer<W>,
    );
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
