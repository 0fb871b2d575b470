//! One block under many keys at once, by gates: a key per lane of 64-bit integers.
//!
//! Layout: the state as in `Repr::Bitsliced`; lane i of every word of a round key is that bit of key i.
//! Holds: nothing branches or indexes on keys. Lanes without a key hold zeros for one.

use super::sliced::Gates;
use super::{OnBytes, OnWords, RoundKeys};
use crate::block::{Block, Direction};
use crate::word::each;

/// Keys that are tried together.
pub const LANES: usize = 64;

/// Byte `at` of all keys' round keys, bit by bit.
fn byte(keys: &[RoundKeys], at: usize) -> [u64; 8] {
    let mut bits = [0; 8];
    for (lane, key) in keys.iter().enumerate() {
        for (bit, word) in bits.iter_mut().enumerate() {
            *word |= u64::from(key[at] >> bit & 1) << lane;
        }
    }
    bits
}

/// A byte that all lanes have.
fn same(byte: u8) -> [u64; 8] {
    super::sliced::spread_byte(byte)
}

/// The blocks of all lanes, from the bits of each byte.
fn blocks(state: &[[u64; 8]; 16]) -> [Block; LANES] {
    each!(lane < LANES => each!(byte < 16 => {
        state[byte].iter().rev().fold(0, |value, bits| value << 1 | (bits >> lane & 1) as u8)
    }))
}

/// What a block becomes under each of up to [`LANES`] keys, by a cipher of bytes.
pub(super) fn on_bytes<C: OnBytes>(
    keys: &[RoundKeys],
    direction: Direction,
    block: &Block,
) -> [Block; LANES] {
    let len_bytes = keys.first().map_or(0, |key| key.len());
    let round_keys: Vec<_> = (0..len_bytes).map(|at| byte(keys, at)).collect();
    let state = each!(i < 16 => same(block[i]));
    blocks(&C::rounds(Gates::of::<C>(), direction, state, &round_keys))
}

/// The same by a cipher of words.
pub(super) fn on_words<C: OnWords>(
    keys: &[RoundKeys],
    direction: Direction,
    block: &Block,
) -> [Block; LANES] {
    // Words are big-endian numbers: bit 0 is in the last of four bytes.
    let word = |of: &dyn Fn(usize) -> [u64; 8]| -> [u64; 32] {
        let bytes = each!(i < 4 => of(3 - i));
        each!(bit < 32 => bytes[bit / 8][bit % 8])
    };
    let words = keys.first().map_or(0, |key| key.len() / 4);
    let round_keys: Vec<_> = (0..words).map(|at| word(&|i| byte(keys, 4 * at + i))).collect();
    let state = each!(at < 4 => word(&|i| same(block[4 * at + i])));
    let state = C::rounds(Gates::of::<C>(), direction, state, &round_keys);
    blocks(&each!(byte < 16 => each!(bit < 8 => state[byte / 4][8 * (3 - byte % 4) + bit])))
}
