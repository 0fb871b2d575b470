//! The parts of AES: AddRoundKey, SubBytes, ShiftRows, MixColumns, their inverses, rounds and the whole
//! cipher, in every representation.
//!
//! `key` expands the key once; every representation makes its own form of the round keys from that.

pub mod bitsliced;
pub mod instructions;
pub mod key;
pub mod table;

use crate::word::Tile;

/// Some consecutive parts of a cipher, bound to their round keys, on a tile in one representation.
pub trait TilePart: Send + Sync {
    /// Computes the parts in place on the first `blocks` blocks of the tile.
    fn run(&self, tile: &mut Tile, blocks: usize);
}
