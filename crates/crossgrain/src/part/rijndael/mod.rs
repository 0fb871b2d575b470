//! Rijndael with blocks of 24 and 32 bytes: the whole cipher from bytes to bytes, along the grain and across it.
//!
//! Its steps are AES's (`part::aes`), but for the number of columns, and for ShiftRows among eight columns, which
//! moves rows by 0, 1, 3 and 4.
//! Source: the Rijndael submission (Daemen and Rijmen, 1999), §4.2 and §4.3.

pub mod bitsliced;
pub mod instructions;

/// The whole cipher in one direction on blocks of `BYTES` bytes, bound to its round keys.
pub trait WideBlocks<const BYTES: usize>: Send + Sync {
    /// Replaces any number of blocks.
    fn run(&self, blocks: &mut [[u8; BYTES]]);
}

/// Where the second of a block's two halves of sixteen bytes begins: in blocks of 24 bytes they overlap by eight,
/// and what both hold is computed twice.
const fn second_half(block_bytes: usize) -> usize {
    block_bytes - 16
}
