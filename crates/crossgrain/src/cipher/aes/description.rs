//! AES, and Rijndael with blocks of 24 and 32 bytes, from the same code.
//!
//! Byte r of column c of the state is byte 4c + r of the block. Decryption is the equivalent inverse cipher:
//! the same steps in the same order, with its own round keys. So both directions add a key before each S-box.
//! Source: FIPS 197; the Rijndael submission for six and eight columns.

use zeroize::Zeroizing;

use super::scalar::{inv_mix_column, sub_word};
use crate::arch::written_out;
use crate::block::{Block, Direction};
use crate::cipher::plain::{Tables, on_bytes};
use crate::cipher::sbox::{self, Linear, Sbox};
use crate::cipher::{ByHand, Bytes, Description, KeyBytes, OnBytes, Portion, RoundKeys, Scheduled};

/// AES.
#[derive(Debug)]
pub struct Aes;

/// The linear maps: multiplication by 2 and by 4.
const DOUBLE: usize = 0;
const QUADRUPLE: usize = 1;

impl Description for Aes {
    /// SubBytes for encryption and InvSubBytes for decryption.
    const BOXES: &'static [Sbox] = &[sbox::AES, sbox::AES.inverse()];

    const MAPS: &'static [Linear] = &[Linear::DOUBLE, Linear::product(4, 0x1b)];

    /// The last two rounds.
    const LAST_KEYS: usize = 2;
}

impl ByHand for Aes {
    fn schedule(key: &[u8], direction: Direction) -> RoundKeys {
        schedule::<16>(key, direction)
    }

    fn crypt_plainly(keys: &[u8], direction: Direction, block: &mut Block) {
        on_bytes::<Self>(keys, direction, block);
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

/// An implementation of SubWord. Kernels call it, so its method must be `#[inline(always)]`.
pub trait SubWord: Copy {
    /// The S-box on each byte.
    fn sub_word(self, word: u32) -> u32;
}

/// SubWord by gates.
#[derive(Clone, Copy, Debug)]
pub struct ByCircuit;

impl SubWord for ByCircuit {
    #[inline(always)]
    fn sub_word(self, word: u32) -> u32 {
        sub_word(word)
    }
}

/// The words of a key schedule: where KeyExpansion reads and writes them, and its arithmetic on them. Kernels
/// call it, so its methods must be `#[inline(always)]`.
trait ScheduleWords {
    /// A word: a column of four bytes.
    type Word: Copy;

    /// Word `i`, which has been put.
    fn word(&self, i: usize) -> Self::Word;

    /// Puts word `i`.
    fn put(&mut self, i: usize, word: Self::Word);

    /// `a` XOR `b`.
    fn sum(&self, a: Self::Word, b: Self::Word) -> Self::Word;

    /// The S-box on each byte.
    fn sub_word(&self, word: Self::Word) -> Self::Word;

    /// SubWord of RotWord, plus a constant in the first byte.
    fn first_of_group(&self, word: Self::Word, constant: u8) -> Self::Word;
}

/// Words in memory as bytes.
struct InMemory<'a, B> {
    words: &'a mut [u8],
    by: B,
}

impl<B: SubWord> ScheduleWords for InMemory<'_, B> {
    type Word = u32;

    #[inline(always)]
    fn word(&self, i: usize) -> u32 {
        let words = &self.words;
        u32::from_le_bytes([words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]])
    }

    #[inline(always)]
    fn put(&mut self, i: usize, word: u32) {
        self.words[4 * i..][..4].copy_from_slice(&word.to_le_bytes());
    }

    #[inline(always)]
    fn sum(&self, a: u32, b: u32) -> u32 {
        a ^ b
    }

    #[inline(always)]
    fn sub_word(&self, word: u32) -> u32 {
        self.by.sub_word(word)
    }

    #[inline(always)]
    fn first_of_group(&self, word: u32, constant: u8) -> u32 {
        self.by.sub_word(word.rotate_right(8)) ^ u32::from(constant)
    }
}

/// KeyExpansion (FIPS 197 §5.2). The first `key_words` words of the schedule hold the key; this fills the
/// rest.
#[inline(always)]
pub fn expand(words: &mut [u8], key_words: usize, by: impl SubWord) {
    let count = words.len() / 4;
    expand_words(&mut InMemory { words, by }, key_words, count);
}

/// The same for words of any kind: computes those from number `key_words` to `count`.
#[inline(always)]
fn expand_words(words: &mut impl ScheduleWords, key_words: usize, count: usize) {
    let mut previous = words.word(key_words - 1);
    let mut round_constant: u8 = 1;
    for i in key_words..count {
        if i % key_words == 0 {
            previous = words.first_of_group(previous, round_constant);
            round_constant = (round_constant << 1) ^ ((round_constant >> 7) * 0x1b);
        } else if key_words > 6 && i % key_words == 4 {
            previous = words.sub_word(previous);
        }
        previous = words.sum(previous, words.word(i - key_words));
        words.put(i, previous);
    }
}

/// Words of bytes of any kind, in memory that the caller wipes.
struct WordsInPlace<'a, S: KeyBytes> {
    s: S,
    words: &'a mut [[S::Byte; 4]],
}

impl<S: KeyBytes> ScheduleWords for WordsInPlace<'_, S> {
    type Word = [S::Byte; 4];

    #[inline(always)]
    fn word(&self, i: usize) -> Self::Word {
        self.words[i]
    }

    #[inline(always)]
    fn put(&mut self, i: usize, word: Self::Word) {
        self.words[i] = word;
    }

    #[inline(always)]
    fn sum(&self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.s.sum(a, b)
    }

    #[inline(always)]
    fn sub_word(&self, mut word: Self::Word) -> Self::Word {
        self.s.substitute(|_| 0, &mut word);
        word
    }

    #[inline(always)]
    fn first_of_group(&self, word: Self::Word, constant: u8) -> Self::Word {
        let [a, b, c, d] = self.sub_word(self.s.rotate_left(word, 8));
        [self.s.add(a, self.s.constant(constant)), b, c, d]
    }
}

/// Bytes of the round keys of Rijndael with blocks of `BYTES` bytes.
pub fn round_key_bytes<const BYTES: usize>(key_bytes: usize) -> usize {
    BYTES * ((key_bytes / 4).max(BYTES / 4) + 7)
}

/// Expands keys of Rijndael with blocks of `BYTES` bytes in place, for kernels. The first `key_bytes` bytes of `keys`
/// hold the key. The round keys fill `keys`, in the order in which the direction uses them.
#[inline(always)]
pub fn expand_in_place<S: KeyBytes, const BYTES: usize>(
    s: S,
    key_bytes: usize,
    direction: Direction,
    keys: &mut [S::Byte],
) {
    let count = keys.len() / 4;
    expand_words(&mut WordsInPlace { s, words: keys.as_chunks_mut().0 }, key_bytes / 4, count);
    if direction == Direction::Decrypt {
        let keys = keys.as_chunks_mut::<BYTES>().0;
        keys.reverse();
        if let [_, inner @ .., _] = keys {
            for column in inner.as_flattened_mut().as_chunks_mut().0 {
                *column = mix_column::<S, true>(s, *column);
            }
        }
    }
}

/// For designs of hardware. Kernels have schedules of their own.
impl Scheduled for Aes {
    fn round_key_bytes(key_bytes: usize) -> usize {
        round_key_bytes::<16>(key_bytes)
    }

    #[inline(always)]
    fn round_keys<S: KeyBytes>(
        s: S,
        key: &[S::Byte],
        direction: Direction,
        keep: &mut impl FnMut(usize, &[S::Byte]),
    ) {
        // The key comes first, and the schedule replaces the rest.
        let mut keys = Zeroizing::new(vec![key[0]; Self::round_key_bytes(key.len())]);
        keys[..key.len()].copy_from_slice(key);
        expand_in_place::<S, 16>(s, key.len(), direction, &mut keys);
        keep(0, &keys);
    }
}

/// Converts round keys to those of the equivalent inverse cipher (FIPS 197 §5.3.5), in order of use. It
/// reverses their order and applies InvMixColumns to all but the outermost two.
pub fn make_equivalent_inverse<const BYTES: usize>(keys: &mut [[u8; BYTES]]) {
    keys.reverse();
    if let [_, inner @ .., _] = keys {
        for column in inner.as_flattened_mut().as_chunks_mut::<4>().0 {
            *column = inv_mix_column(u32::from_le_bytes(*column)).to_le_bytes();
        }
    }
}

/// Encrypts or decrypts a Rijndael block of 24 or 32 bytes in place, by table look-ups.
///
/// # Panics
/// If the block has another length.
pub fn crypt_wide_plainly(keys: &[u8], direction: Direction, block: &mut [u8]) {
    let s = Tables::of::<Aes>();
    if let Ok(block) = <&mut [u8; 24]>::try_from(&mut *block) {
        *block = rijndael_24(s, direction, Portion::All, *block, keys);
    } else {
        let block = <&mut [u8; 32]>::try_from(block).expect("a block of Rijndael");
        *block = rijndael_32(s, direction, Portion::All, *block, keys);
    }
}

impl OnBytes for Aes {
    #[inline(always)]
    fn portion<S: Bytes>(
        s: S,
        direction: Direction,
        portion: Portion,
        block: [S::Byte; 16],
        keys: &[S::Key],
    ) -> [S::Byte; 16] {
        rijndael_16(s, direction, portion, block, keys)
    }
}

/// The rounds of Rijndael with blocks of `BYTES` bytes.
pub trait WideRounds<const BYTES: usize> {
    /// Encrypts or decrypts a block. Implementations must be `#[inline(always)]`.
    fn wide_rounds<S: Bytes>(
        s: S,
        direction: Direction,
        block: [S::Byte; BYTES],
        keys: &[S::Key],
    ) -> [S::Byte; BYTES];
}

impl WideRounds<24> for Aes {
    #[inline(always)]
    fn wide_rounds<S: Bytes>(
        s: S,
        direction: Direction,
        block: [S::Byte; 24],
        keys: &[S::Key],
    ) -> [S::Byte; 24] {
        rijndael_24(s, direction, Portion::All, block, keys)
    }
}

impl WideRounds<32> for Aes {
    #[inline(always)]
    fn wide_rounds<S: Bytes>(
        s: S,
        direction: Direction,
        block: [S::Byte; 32],
        keys: &[S::Key],
    ) -> [S::Byte; 32] {
        rijndael_32(s, direction, Portion::All, block, keys)
    }
}

/// Defines the rounds for blocks of `$bytes` bytes. The steps are unrolled, so indices are compile-time
/// constants and the state stays in registers.
macro_rules! rijndael {
    ($name:ident, $rounds:ident, $bytes:tt) => {
        #[inline(always)]
        fn $name<S: Bytes>(
            s: S,
            direction: Direction,
            portion: Portion,
            block: [S::Byte; $bytes],
            keys: &[S::Key],
        ) -> [S::Byte; $bytes] {
            match direction {
                Direction::Encrypt => $rounds::<S, false>(s, portion, block, keys),
                Direction::Decrypt => $rounds::<S, true>(s, portion, block, keys),
            }
        }

        #[inline(always)]
        fn $rounds<S: Bytes, const INVERSE: bool>(
            s: S,
            portion: Portion,
            block: [S::Byte; $bytes],
            keys: &[S::Key],
        ) -> [S::Byte; $bytes] {
            let ends = portion != Portion::First;
            let (keys, last) = keys.split_at(keys.len() - if ends { $bytes } else { 0 });
            let mut x = block;
            let mut keys = keys.as_chunks::<$bytes>().0.iter();
            let last_round = if ends { keys.next_back() } else { None };
            for key in keys {
                x = substituted!(s, x, key, INVERSE, $bytes);
                for column in x.as_chunks_mut::<4>().0 {
                    *column = mix_column::<S, INVERSE>(s, *column);
                }
            }
            if let Some(key) = last_round {
                x = substituted!(s, x, key, INVERSE, $bytes);
            }
            if ends { written_out!(i < $bytes => s.add_key(x[i], &last[i])) } else { x }
        }
    };
}

/// Adds a round key, substitutes, and applies ShiftRows.
macro_rules! substituted {
    ($s:ident, $x:ident, $key:ident, $inverse:ident, $bytes:tt) => {
        written_out!(to < $bytes => {
            let from = shifted_from($bytes / 4, $inverse, to);
            $s.substitute_sum($x[from], &$key[from], $inverse as usize)
        })
    };
}

rijndael!(rijndael_16, rounds_16, 16);
rijndael!(rijndael_24, rounds_24, 24);
rijndael!(rijndael_32, rounds_32, 32);

/// The index of the byte that ShiftRows, or InvShiftRows, moves to `to`.
#[inline(always)]
const fn shifted_from(columns: usize, inverse: bool, to: usize) -> usize {
    let row = to % 4;
    // With eight columns, the lower two rows move one place further.
    let left = if columns == 8 && row > 1 { row + 1 } else { row };
    (to + 4 * if inverse { columns - left } else { left }) % (4 * columns)
}

/// MixColumns or InvMixColumns on a column.
#[inline(always)]
pub fn mix_column<S: Bytes, const INVERSE: bool>(s: S, mut x: [S::Byte; 4]) -> [S::Byte; 4] {
    if INVERSE {
        // InvMixColumns is MixColumns after adding 4·(aᵢ + aᵢ₊₂) to each row.
        let even = s.linear(s.add(x[0], x[2]), QUADRUPLE);
        let odd = s.linear(s.add(x[1], x[3]), QUADRUPLE);
        x = [s.add(x[0], even), s.add(x[1], odd), s.add(x[2], even), s.add(x[3], odd)];
    }
    let sums = written_out!(row < 4 => s.add(x[row], x[(row + 1) % 4]));
    written_out!(row < 4 => s.add(s.linear(sums[row], DOUBLE), s.add(x[(row + 1) % 4], sums[(row + 2) % 4])))
}
