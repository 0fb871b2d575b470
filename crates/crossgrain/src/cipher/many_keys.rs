//! Bit-sliced key schedules of many keys, and one block under each key. Each lane of a 64-bit integer belongs
//! to one key.
//!
//! Layout: the state is as in `Repr::Bitsliced`. Lane i of a word of the round keys holds this bit for key i.
//! Invariants: constant-time in the keys. Unused lanes have the all-zero key.

use zeroize::Zeroizing;

use super::sliced::Gates;
use super::{OnBytes, OnWords, RoundKeys, Scheduled};
use crate::arch::each;
use crate::block::{BLOCK_BYTES, Block, Direction};

/// Keys per call.
pub const LANES: usize = 64;

/// Transposes an 8 × 8 bit matrix, byte i being row i, by delta swaps (Knuth, TAOCP 4A §7.1.3).
const fn transposed(bytes: [u8; 8]) -> [u8; 8] {
    let mut bits = u64::from_le_bytes(bytes);
    let swaps = [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)];
    let mut at = 0;
    while at < swaps.len() {
        let (distance, mask) = swaps[at];
        let swapped = (bits ^ bits >> distance) & mask;
        bits ^= swapped ^ swapped << distance;
        at += 1;
    }
    bits.to_le_bytes()
}

/// Bit-slices up to [`LANES`] bytes; missing bytes are zero.
fn across(mut bytes: impl Iterator<Item = u8>) -> [u64; 8] {
    let mut bits = [[0; 8]; 8];
    for group in 0..LANES / 8 {
        let eight: [u8; 8] = std::array::from_fn(|_| bytes.next().unwrap_or_default());
        for (bits, row) in bits.iter_mut().zip(transposed(eight)) {
            bits[group] = row;
        }
    }
    bits.map(u64::from_le_bytes)
}

/// The inverse of [`across`]: the bytes of all lanes.
fn along(bits: [u64; 8]) -> [u8; LANES] {
    let (mut bytes, bits) = ([0; LANES], bits.map(u64::to_le_bytes));
    for (group, eight) in bytes.as_chunks_mut().0.iter_mut().enumerate() {
        *eight = transposed(bits.map(|bits| bits[group]));
    }
    bytes
}

/// Byte `at` of the round keys of all keys, bit-sliced.
fn byte(keys: &[RoundKeys], at: usize) -> [u64; 8] {
    across(keys.iter().map(|key| key[at]))
}

/// The same byte in all lanes.
fn same(byte: u8) -> [u64; 8] {
    super::sliced::spread_byte(byte)
}

/// The blocks of all lanes, from the bit-sliced state.
fn blocks(state: &[[u64; 8]; 16]) -> [Block; LANES] {
    let mut blocks = [[0; BLOCK_BYTES]; LANES];
    for (at, bits) in state.iter().enumerate() {
        for (block, byte) in blocks.iter_mut().zip(along(*bits)) {
            block[at] = byte;
        }
    }
    blocks
}

/// The round keys of up to [`LANES`] keys of `key_bytes` bytes each.
pub(super) fn schedules<C: Scheduled>(keys: &[u8], key_bytes: usize, direction: Direction) -> Vec<RoundKeys> {
    let of = |at: usize| across(keys.chunks_exact(key_bytes).map(|key| key[at]));
    let key_bits: Zeroizing<Vec<_>> = Zeroizing::new((0..key_bytes).map(of).collect());
    let empty = || Zeroizing::new(vec![0; C::round_key_bytes(key_bytes)]);
    let mut all: Vec<RoundKeys> = keys.chunks_exact(key_bytes).map(|_| empty()).collect();
    C::round_keys(Gates::of::<C>(), &key_bits, direction, &mut |place, bytes: &[[u64; 8]]| {
        for (at, bits) in (place..).zip(bytes) {
            for (round_keys, byte) in all.iter_mut().zip(along(*bits)) {
                round_keys[at] = byte;
            }
        }
    });
    all
}

/// Encrypts or decrypts a block under each of up to [`LANES`] keys, for a byte-oriented cipher.
pub(super) fn on_bytes<C: OnBytes>(
    keys: &[RoundKeys],
    direction: Direction,
    block: &Block,
) -> [Block; LANES] {
    let len_bytes = keys.first().map_or(0, |key| key.len());
    let round_keys: Zeroizing<Vec<_>> = Zeroizing::new((0..len_bytes).map(|at| byte(keys, at)).collect());
    let state = each!(i < 16 => same(block[i]));
    blocks(&C::rounds(Gates::of::<C>(), direction, state, &round_keys))
}

/// The same for a word-oriented cipher.
pub(super) fn on_words<C: OnWords>(
    keys: &[RoundKeys],
    direction: Direction,
    block: &Block,
) -> [Block; LANES] {
    // Words are big-endian numbers, so bit 0 is in the last of four bytes.
    let word = |of: &dyn Fn(usize) -> [u64; 8]| -> [u64; 32] {
        let bytes = each!(i < 4 => of(3 - i));
        each!(bit < 32 => bytes[bit / 8][bit % 8])
    };
    let words = keys.first().map_or(0, |key| key.len() / 4);
    let round_keys: Vec<_> = (0..words).map(|at| word(&|i| byte(keys, 4 * at + i))).collect();
    let round_keys = Zeroizing::new(round_keys);
    let state = each!(at < 4 => word(&|i| same(block[4 * at + i])));
    let state = C::rounds(Gates::of::<C>(), direction, state, &round_keys);
    blocks(&each!(byte < 16 => each!(bit < 8 => state[byte / 4][8 * (3 - byte % 4) + bit])))
}
