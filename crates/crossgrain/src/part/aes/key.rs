//! The AES key schedule in constant time.
//!
//! SubWord runs the S-box circuit on the four bytes of a word side by side, one bit of each byte in a
//! 32-bit integer: no table, no branch on the key. Round keys are wiped when dropped.
//! Source: FIPS 197 §5.2; the equivalent inverse cipher's keys, §5.3.5.

use std::fmt;

use zeroize::Zeroize;

use crate::block::{Block, Key};
use crate::circuit::Bits;
use crate::circuit::aes_linear::inv_mix_column;
use crate::circuit::aes_sbox;

/// Round keys of the longest schedule: AES-256 has fourteen rounds.
const ROUND_KEYS_MAX: usize = 15;

/// The round keys of one key, as blocks.
#[derive(Clone)]
pub struct RoundKeys {
    blocks: [Block; ROUND_KEYS_MAX],
    rounds: usize,
}

impl RoundKeys {
    /// KeyExpansion (FIPS 197 §5.2).
    pub fn expand(key: &Key) -> Self {
        let mut keys = Self { blocks: [[0; 16]; ROUND_KEYS_MAX], rounds: key.cipher().rounds() };
        let key_words = key.bytes().len() / 4;
        let words = keys.blocks.as_flattened_mut();
        words[..4 * key_words].copy_from_slice(key.bytes());
        let mut previous = load(words, key_words - 1);
        let mut round_constant: u32 = 1;
        for i in key_words..4 * (keys.rounds + 1) {
            if i % key_words == 0 {
                previous = sub_word(previous.rotate_right(8)) ^ round_constant;
                round_constant = (round_constant << 1) ^ ((round_constant >> 7) * 0x11b);
            } else if key_words > 6 && i % key_words == 4 {
                previous = sub_word(previous);
            }
            previous ^= load(words, i - key_words);
            words[4 * i..][..4].copy_from_slice(&previous.to_le_bytes());
        }
        keys
    }

    /// Rounds of the cipher: one less than there are round keys.
    pub const fn rounds(&self) -> usize {
        self.rounds
    }

    /// Round keys 0 to `rounds`.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..=self.rounds]
    }

    /// Round keys for the equivalent inverse cipher, in order of use: last first, and all but the
    /// outermost through InvMixColumns.
    #[must_use]
    pub fn equivalent_inverse(&self) -> Self {
        let mut keys = self.clone();
        keys.blocks[..=self.rounds].reverse();
        for block in &mut keys.blocks[1..self.rounds] {
            for column in block.as_chunks_mut::<4>().0 {
                *column = inv_mix_one(*column);
            }
        }
        keys
    }
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.blocks.zeroize();
    }
}

impl fmt::Debug for RoundKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RoundKeys({} rounds, secret)", self.rounds)
    }
}

fn load(words: &[u8], i: usize) -> u32 {
    u32::from_le_bytes([words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]])
}

/// One bit a byte: bits 0, 8, 16 and 24 of a 32-bit word.
const EACH_BYTE: u32 = 0x0101_0101;

fn to_bits(word: u32) -> Bits<u32> {
    std::array::from_fn(|bit| (word >> bit) & EACH_BYTE)
}

fn from_bits(bits: Bits<u32>) -> u32 {
    (0..8).fold(0, |word, bit| word | (bits[bit] & EACH_BYTE) << bit)
}

/// SubWord: the S-box on each byte of a word.
fn sub_word(word: u32) -> u32 {
    from_bits(aes_sbox::forward(to_bits(word))) ^ EACH_BYTE * u32::from(aes_sbox::CONSTANT)
}

fn inv_mix_one(column: [u8; 4]) -> [u8; 4] {
    let rows = column.map(|byte| to_bits(u32::from(byte)));
    inv_mix_column(rows).map(|row| from_bits(row).to_le_bytes()[0])
}
