//! AES, and Rijndael with blocks of 24 and 32 bytes, which shares its text.
//!
//! Byte r of column c of the state is byte 4c + r of the block. Decryption is the equivalent inverse cipher: the same steps in the same order, by
//! round keys of their own, so that either direction adds a key before each S-box.
//! Source: FIPS 197; the Rijndael submission for six and eight columns.

pub mod scalar;

use zeroize::Zeroizing;

use self::scalar::{inv_mix_column, sub_word};
use super::plain::Tables;
use super::sbox::{self, Linear, Sbox};
use super::{Bytes, Description, RoundKeys};
use crate::block::Direction;
use crate::word::each;

/// AES.
#[derive(Debug)]
pub struct Aes;

/// The linear maps: products with 2 and 4.
const DOUBLE: usize = 0;
const QUADRUPLE: usize = 1;

impl Description for Aes {
    /// SubBytes and InvSubBytes: that of each direction.
    const BOXES: &'static [Sbox] = &[sbox::AES, sbox::AES.inverse()];

    fn maps() -> &'static [Linear] {
        static MAPS: [Linear; 2] = [Linear::product(2, 0x1b), Linear::product(4, 0x1b)];
        &MAPS
    }

    fn schedule(key: &[u8], direction: Direction) -> RoundKeys {
        schedule::<16>(key, direction)
    }
}

/// The round keys of Rijndael with blocks of `BYTES` bytes.
pub fn schedule<const BYTES: usize>(key: &[u8], direction: Direction) -> RoundKeys {
    let rounds = (key.len() / 4).max(BYTES / 4) + 6;
    let mut keys = Zeroizing::new(vec![0; BYTES * (rounds + 1)]);
    keys[..key.len()].copy_from_slice(key);
    expand(&mut keys, key.len() / 4, ByCircuit);
    if direction == Direction::Decrypt {
        make_equivalent_inverse(keys.as_chunks_mut::<BYTES>().0);
    }
    keys
}

/// A way to SubWord. Its method must be `#[inline(always)]`, as a kernel's.
pub trait SubWord: Copy {
    /// The S-box on each byte.
    fn sub_word(self, word: u32) -> u32;
}

/// By gates.
#[derive(Clone, Copy, Debug)]
pub struct ByCircuit;

impl SubWord for ByCircuit {
    #[inline(always)]
    fn sub_word(self, word: u32) -> u32 {
        sub_word(word)
    }
}

/// KeyExpansion (FIPS 197 §5.2): goes on with the words of a schedule, of which the first `key_words` are the key's.
#[inline(always)]
pub fn expand(words: &mut [u8], key_words: usize, by: impl SubWord) {
    let load = |words: &[u8], i: usize| {
        u32::from_le_bytes([words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]])
    };
    let mut previous = load(words, key_words - 1);
    let mut round_constant: u32 = 1;
    for i in key_words..words.len() / 4 {
        if i % key_words == 0 {
            previous = by.sub_word(previous.rotate_right(8)) ^ round_constant;
            round_constant = (round_constant << 1) ^ ((round_constant >> 7) * 0x11b);
        } else if key_words > 6 && i % key_words == 4 {
            previous = by.sub_word(previous);
        }
        previous ^= load(words, i - key_words);
        words[4 * i..][..4].copy_from_slice(&previous.to_le_bytes());
    }
}

/// Makes round keys those of the equivalent inverse cipher (FIPS 197 §5.3.5), in order of use: last first, and all but the outermost through
/// InvMixColumns.
pub fn make_equivalent_inverse<const BYTES: usize>(keys: &mut [[u8; BYTES]]) {
    keys.reverse();
    if let [_, inner @ .., _] = keys {
        for column in inner.as_flattened_mut().as_chunks_mut::<4>().0 {
            *column = inv_mix_column(u32::from_le_bytes(*column)).to_le_bytes();
        }
    }
}

/// Replaces a block of Rijndael by look-ups: the reference.
pub fn crypt_plainly<const BYTES: usize>(keys: &[u8], direction: Direction, block: &mut [u8; BYTES]) {
    *block = rijndael(Tables::of::<Aes>(), direction, *block, keys);
}

/// Rijndael on blocks of `BYTES` bytes.
fn rijndael<S: Bytes, const BYTES: usize>(
    s: S,
    direction: Direction,
    block: [S::Byte; BYTES],
    keys: &[S::Key],
) -> [S::Byte; BYTES] {
    let (keys, last) = keys.split_at(keys.len() - BYTES);
    let (mut x, mut keys) = (block, keys.chunks_exact(BYTES));
    while let Some(key) = keys.next() {
        let shifted = each!(to < BYTES => {
            let from = shifted_from(BYTES / 4, direction, to);
            s.substitute_sum(x[from], &key[from], direction as usize)
        });
        // The last round leaves MixColumns out.
        x = if keys.len() > 0 { mix_columns(s, direction, shifted) } else { shifted };
    }
    each!(i < BYTES => s.add_key(x[i], &last[i]))
}

/// The byte that ShiftRows moves to `to`, or InvShiftRows.
const fn shifted_from(columns: usize, direction: Direction, to: usize) -> usize {
    let row = to % 4;
    // Of eight columns the lower two rows move one further.
    let left = if columns == 8 && row > 1 { row + 1 } else { row };
    let offset = match direction {
        Direction::Encrypt => left,
        Direction::Decrypt => columns - left,
    };
    (to + 4 * offset) % (4 * columns)
}

/// MixColumns or its inverse.
fn mix_columns<S: Bytes, const BYTES: usize>(
    s: S,
    direction: Direction,
    mut x: [S::Byte; BYTES],
) -> [S::Byte; BYTES] {
    for column in x.as_chunks_mut::<4>().0 {
        if direction == Direction::Decrypt {
            // The inverse matrix is MixColumns' times one that adds 4·(aᵢ + aᵢ₊₂) to each row.
            let quadruple = each!(row < 2 => s.linear(s.add(column[row], column[row + 2]), QUADRUPLE));
            *column = each!(row < 4 => s.add(column[row], quadruple[row % 2]));
        }
        let sums = each!(row < 4 => s.add(column[row], column[(row + 1) % 4]));
        *column = each!(row < 4 => {
            s.add(s.linear(sums[row], DOUBLE), s.add(column[(row + 1) % 4], sums[(row + 2) % 4]))
        });
    }
    x
}
