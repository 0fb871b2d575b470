//! The layouts, computed bit by bit. This is slow, and deliberately independent of the transpositions that it
//! checks.
//!
//! A bundle is one word per bit of a value, in neighbouring words. After transposition, each word holds one
//! bit of every value. The lane of a value follows by exchanging the index of its word with the index of the
//! bit:
//!
//! ```text
//! along     word | place of the value in the word, bit
//! across    bit  | place of the value in the word, word
//! ```
//!
//! A value wider than a word fills several words, and each of them holds bits of that value only.

use crossgrain::engine::arch::{TILE_BYTES, Tile};

use crate::lesson::values_in_tile;

/// The lane of value `value` of a bundle.
pub(crate) const fn lane(word_bits: usize, value_bits: usize, value: usize) -> usize {
    let values_in_word = if word_bits > value_bits { word_bits / value_bits } else { 1 };
    value % values_in_word * value_bits + value / values_in_word
}

/// The index of a bit in a tile, for bit `bit` of value `value` with `words` words kept per bundle.
const fn place(word_bits: usize, value_bits: usize, words: usize, value: usize, bit: usize) -> usize {
    // A bundle has a value for each bit of a word.
    let (bundle, value) = (value / word_bits, value % word_bits);
    (bundle * words + bit) * word_bits + lane(word_bits, value_bits, value)
}

/// Fills a tile with values, one after another.
pub(crate) fn along(values: &[u32], value_bits: usize, tile: &mut Tile) {
    let bytes = value_bits / 8;
    for (place, value) in tile.bytes_mut().chunks_exact_mut(bytes).zip(values) {
        place.copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
}

/// The values of a tile, one after another.
pub(crate) fn read_along(tile: &Tile, value_bits: usize) -> Vec<u32> {
    let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
    tile.bytes().chunks_exact(value_bits / 8).map(value).collect()
}

/// Lays the low `words` bits of each value across, in a tile of zeros.
pub(crate) fn across(values: &[u32], word_bits: usize, value_bits: usize, words: usize, tile: &mut Tile) {
    for (index, value) in values.iter().enumerate() {
        for bit in 0..words {
            let at = place(word_bits, value_bits, words, index, bit);
            tile.bytes_mut()[at / 8] |= ((value >> bit & 1) as u8) << (at % 8);
        }
    }
}

/// The values in a tile laid across, of which `words` bits are kept.
pub(crate) fn read_across(tile: &Tile, word_bits: usize, value_bits: usize, words: usize) -> Vec<u32> {
    let bytes: &[u8; TILE_BYTES] = tile.bytes();
    let bit = |index, bit| {
        let at = place(word_bits, value_bits, words, index, bit);
        u32::from(bytes[at / 8] >> (at % 8) & 1) << bit
    };
    (0..values_in_tile(value_bits)).map(|index| (0..words).map(|i| bit(index, i)).sum()).collect()
}
