//! Steps of AES on single blocks and columns in plain integers, in constant time.
//!
//! They serve the key schedule and other computations that run once per bundle. The S-box circuit runs on all
//! bytes of a word in parallel, with one bit of each byte per integer. It uses no table and no branch on
//! data.
//! Layout: a column is a little-endian `u32`, row 0 in its low byte.

use crate::circuit::aes_sbox;

/// The lowest bit of each byte.
const EACH_BYTE: u32 = 0x0101_0101;

/// The S-box on each byte of a word: SubWord (FIPS 197 §5.2).
pub fn sub_word(word: u32) -> u32 {
    let bits = std::array::from_fn(|bit| (word >> bit) & EACH_BYTE);
    let sub = aes_sbox::forward(bits);
    let joined = (0..8).fold(0, |word, bit| word | (sub[bit] & EACH_BYTE) << bit);
    joined ^ (EACH_BYTE * u32::from(aes_sbox::CONSTANT))
}

/// Doubles each byte of a column in GF(2⁸).
const fn double_each(column: u32) -> u32 {
    let high = column & 0x8080_8080;
    ((column ^ high) << 1) ^ ((high >> 7) * 0x1b)
}

/// MixColumns on a column: 2·u ⊕ a rotated by one row ⊕ u rotated by two, with u = a ⊕ a rotated by one.
pub const fn mix_column(a: u32) -> u32 {
    let u = a ^ a.rotate_right(8);
    double_each(u) ^ a.rotate_right(8) ^ u.rotate_right(16)
}

/// InvMixColumns on a column: MixColumns after adding 4·(aᵢ ⊕ aᵢ₊₂) to every row.
pub const fn inv_mix_column(a: u32) -> u32 {
    mix_column(a ^ double_each(double_each(a ^ a.rotate_right(16))))
}
