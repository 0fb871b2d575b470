//! Bit-sliced key schedules of many keys, and one block under each key. Each lane of a 64-bit integer belongs
//! to one key.
//!
//! Layout: `Repr::Bitsliced` with 64 lanes, in the tiles of a batch of keys (`kernel::search::Batch`).
//! Invariant: constant-time in the keys.

use zeroize::Zeroizing;

use super::sliced::Gates;
use super::{OnBytes, OnWords, Portion, Scheduled};
use crate::arch::{Portable, TILE_WORDS, Tile, each};
use crate::block::{BLOCK_BYTES, Block, Direction};

/// Keys per call.
pub const LANES: usize = 64;

/// Byte `at` of all blocks in a bundle.
fn byte(tile: &Tile, bundle: usize, at: usize) -> [u64; 8] {
    let words: &[u64; TILE_WORDS] = tile.bundle(Portable, bundle);
    each!(bit < 8 => words[8 * at + bit])
}

/// Replaces byte `at` of all blocks in a bundle.
fn put(tile: &mut Tile, bundle: usize, at: usize, bits: &[u64; 8]) {
    tile.bundle_mut::<u64, TILE_WORDS>(Portable, bundle)[8 * at..][..8].copy_from_slice(bits);
}

/// The same byte in all lanes.
fn same(byte: u8) -> [u64; 8] {
    super::sliced::spread_byte(byte)
}

/// The round keys of a bundle of keys of `key_bytes` bytes each.
pub(super) fn schedules<C: Scheduled>(
    (key, key_bytes): (&[Box<Tile>; 2], usize),
    direction: Direction,
    round_keys: &mut [Box<Tile>],
    bundle: usize,
) {
    let of = |at: usize| byte(&key[at / BLOCK_BYTES], bundle, at % BLOCK_BYTES);
    let key_bits: Zeroizing<Vec<_>> = Zeroizing::new((0..key_bytes).map(of).collect());
    C::round_keys(Gates::<u64>::of::<C>(), &key_bits, direction, &mut |place, bytes: &[[u64; 8]]| {
        for (at, bits) in (place..).zip(bytes) {
            put(&mut round_keys[at / BLOCK_BYTES], bundle, at % BLOCK_BYTES, bits);
        }
    });
}

/// Computes a portion of the rounds on the block under each key of a bundle, for a byte-oriented cipher. The first
/// portion begins with the known block `input`, the last one with `state`.
pub(super) fn on_bytes<C: OnBytes>(
    portion: Portion,
    round_keys: &[Box<Tile>],
    (direction, input): (Direction, &Block),
    state: &mut Tile,
    bundle: usize,
) {
    let of = |at: usize| byte(&round_keys[at / BLOCK_BYTES], bundle, at % BLOCK_BYTES);
    let keys: Zeroizing<Vec<_>> = Zeroizing::new((0..BLOCK_BYTES * round_keys.len()).map(of).collect());
    let is_last = portion == Portion::Last;
    let bytes = each!(i < 16 => if is_last { byte(state, bundle, i) } else { same(input[i]) });
    let bytes = C::portion(Gates::<u64>::of::<C>(), direction, portion, bytes, &keys);
    for (at, bits) in bytes.iter().enumerate() {
        put(state, bundle, at, bits);
    }
}

/// The same for a word-oriented cipher.
pub(super) fn on_words<C: OnWords>(
    portion: Portion,
    round_keys: &[Box<Tile>],
    (direction, input): (Direction, &Block),
    state: &mut Tile,
    bundle: usize,
) {
    // Words are big-endian numbers, so bit 0 is in the last of four bytes.
    let word = |of: &dyn Fn(usize) -> [u64; 8]| -> [u64; 32] {
        let bytes = each!(i < 4 => of(3 - i));
        each!(bit < 32 => bytes[bit / 8][bit % 8])
    };
    let key = |at: usize| word(&|i| byte(&round_keys[at / 4], bundle, 4 * (at % 4) + i));
    let keys: Zeroizing<Vec<_>> = Zeroizing::new((0..4 * round_keys.len()).map(key).collect());
    let is_last = portion == Portion::Last;
    let words = each!(at < 4 => word(&|i| {
        if is_last { byte(state, bundle, 4 * at + i) } else { same(input[4 * at + i]) }
    }));
    let words = C::portion(Gates::<u64>::of::<C>(), direction, portion, words, &keys);
    for at in 0..BLOCK_BYTES {
        put(state, bundle, at, &each!(bit < 8 => words[at / 4][8 * (3 - at % 4) + bit]));
    }
}
