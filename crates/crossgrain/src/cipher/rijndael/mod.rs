//! Rijndael with blocks of 24 and 32 bytes: the whole cipher on byte blocks, with AES instructions or
//! bit-sliced. `search` tries keys.
//!
//! `stream` has the modes, the rows and their choice, `crossgrain::wide` to users. `reference` is the slow
//! form that tests compare with.
//!
//! The steps are those of AES (`cipher::aes`) except for the number of columns. With eight columns, ShiftRows
//! moves the rows by 0, 1, 3 and 4.
//!
//! Source: the Rijndael submission (Daemen and Rijmen, 1999), §4.2 and §4.3.

pub mod bitsliced;
pub mod instructions;
pub mod reference;
#[cfg(feature = "search")]
pub mod search;
pub mod stream;

/// The whole cipher in one direction on blocks of `BYTES` bytes, bound to its round keys.
pub trait WideBlocks<const BYTES: usize>: Send + Sync {
    /// Replaces any number of blocks.
    fn run(&self, blocks: &mut [[u8; BYTES]]);
}

/// The offset of the second half of a block; each half has sixteen bytes. In blocks of 24 bytes the halves
/// overlap by eight bytes, which are computed twice.
const fn second_half(block_bytes: usize) -> usize {
    block_bytes - 16
}
