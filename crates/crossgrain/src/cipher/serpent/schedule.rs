//! Serpent's key schedule for one key or for a key a lane, in constant time: the S-boxes are circuits, and nothing
//! branches on a key.
//!
//! Source: the submission, §4. Layout: a word of 32 bits of every key is a 32-bit lane of a register (`vsliced`), or
//! 32 registers, one for each of its bits (`bitsliced`), where the rotation is a renaming.
//! Holds: round keys come one after another, first to last or last to first, so that a search need not keep them; prekeys
//! are wiped when dropped.

use std::fmt;

use super::ROUNDS;
use crate::circuit::serpent_sbox;
use crate::word::{Lane32, Lanes, Register, each, unrolled};

/// The fractional part of the golden ratio.
const PHI: u32 = 0x9e37_79b9;

/// A word of 32 bits of every key.
pub trait KeyWord: Copy {
    /// The proof that its instructions are there.
    type Isa: Copy;

    /// The same word of all keys.
    fn constant(isa: Self::Isa, word: u32) -> Self;

    /// Sums of bits.
    #[must_use]
    fn sum(self, other: Self) -> Self;

    /// Rotated by 11 towards the most significant bit.
    #[must_use]
    fn rotated_by_11(self) -> Self;

    /// S-box `index` modulo 8 on all bits of four words.
    fn substituted(index: usize, words: [Self; 4]) -> [Self; 4];
}

/// Lanes of 32 bits, in registers and in circuits alike.
pub trait KeyLanes: Lanes {
    /// What they are made from.
    type Isa: Copy;

    /// The same in every lane.
    fn constant(isa: Self::Isa, word: u32) -> Self;
}

impl<W: Lane32> KeyLanes for W {
    type Isa = W::Isa;

    #[inline(always)]
    fn constant(isa: W::Isa, word: u32) -> Self {
        W::splat_lanes(isa, word)
    }
}

impl<W: KeyLanes> KeyWord for W {
    type Isa = W::Isa;

    #[inline(always)]
    fn constant(isa: W::Isa, word: u32) -> Self {
        <W as KeyLanes>::constant(isa, word)
    }

    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn rotated_by_11(self) -> Self {
        self.rotate_lanes_left::<11>()
    }

    #[inline(always)]
    fn substituted(index: usize, words: [Self; 4]) -> [Self; 4] {
        serpent_sbox::forward(index, words)
    }
}

impl<W: Register> KeyWord for [W; 32] {
    type Isa = W::Isa;

    #[inline(always)]
    fn constant(isa: W::Isa, word: u32) -> Self {
        each!(bit < 32 => W::splat(isa, 0_u64.wrapping_sub(u64::from(word >> bit & 1))))
    }

    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        each!(bit < 32 => self[bit] ^ other[bit])
    }

    #[inline(always)]
    fn rotated_by_11(self) -> Self {
        each!(bit < 32 => self[(bit + 32 - 11) % 32])
    }

    #[inline(always)]
    fn substituted(index: usize, mut words: [Self; 4]) -> [Self; 4] {
        for bit in 0..32 {
            let results = serpent_sbox::forward(index, each!(word < 4 => words[word][bit]));
            for (word, result) in words.iter_mut().zip(results) {
                word[bit] = result;
            }
        }
        words
    }
}

/// The round keys of a key a lane, one after another.
pub struct Schedule<T: KeyWord> {
    isa: T::Isa,
    /// The last eight prekeys, that of number n at place n modulo 8.
    prekeys: [T; 8],
    round: usize,
}

impl<T: KeyWord> Schedule<T> {
    /// Keys of 256 bits, word 0 first. Shorter ones end in a one and zeros.
    #[inline(always)]
    pub const fn new(isa: T::Isa, keys: [T; 8]) -> Self {
        Self { isa, prekeys: keys, round: 0 }
    }

    /// The next round key: 33 times, from round 0 on.
    #[inline(always)]
    pub fn round_key(&mut self) -> [T; 4] {
        let round = self.round;
        self.round += 1;
        self.round_key_of(round - round % 8, round % 8)
    }

    /// Round key `eight + index` for a multiple of eight, the keys before it having been asked for: where `index` is known
    /// when compiled, so are the S-box and the prekeys' places.
    #[inline(always)]
    pub fn round_key_of(&mut self, eight: usize, index: usize) -> [T; 4] {
        self.advance(eight, index);
        self.substituted(index)
    }

    /// The four prekeys of round key `eight + index`, in the places of those eight before.
    #[inline(always)]
    fn advance(&mut self, eight: usize, index: usize) {
        let Self { isa, prekeys, .. } = self;
        for number in 4 * index..4 * index + 4 {
            let [eighth, fifth, third, last] = each!(i < 4 => prekeys[(number + [0, 3, 5, 7][i]) % 8]);
            let sum = eighth.sum(fifth).sum(third).sum(last);
            let constant = PHI ^ (4 * eight + number) as u32;
            prekeys[number % 8] = sum.sum(T::constant(*isa, constant)).rotated_by_11();
        }
    }

    /// Of the prekeys of a round key, that key.
    #[inline(always)]
    fn substituted(&self, index: usize) -> [T; 4] {
        let first = 4 * index % 8;
        T::substituted((8 + 3 - index) % 8, each!(i < 4 => self.prekeys[first + i]))
    }
}

impl<W: KeyLanes> Schedule<W> {
    /// The prekeys at the end of the schedule: they are affine in the key.
    #[inline(always)]
    pub fn last_prekeys(isa: W::Isa, keys: [W; 8]) -> [W; 8] {
        let mut schedule = Self::new(isa, keys);
        for eight in (0..ROUNDS).step_by(8) {
            unrolled!(index in [0 1 2 3 4 5 6 7] { schedule.advance(eight, index); });
        }
        schedule.advance(ROUNDS, 0);
        schedule.prekeys
    }

    /// The schedule at its end, from where round keys come last first.
    #[inline(always)]
    pub const fn at_end(isa: W::Isa, last_prekeys: [W; 8]) -> Self {
        Self { isa, prekeys: last_prekeys, round: ROUNDS + 1 }
    }

    /// Round key `eight + index` for a multiple of eight, the keys after it having been asked for.
    #[inline(always)]
    pub fn round_key_back_of(&mut self, eight: usize, index: usize) -> [W; 4] {
        let key = self.substituted(index);
        let Self { isa, prekeys, .. } = self;
        for number in (4 * index..4 * index + 4).rev() {
            let [place, fifth, third, last] = each!(i < 4 => (number + [0, 3, 5, 7][i]) % 8);
            let sum = prekeys[fifth].sum(prekeys[third]).sum(prekeys[last]);
            let constant = <W as KeyLanes>::constant(*isa, PHI ^ (4 * eight + number) as u32);
            prekeys[place] = prekeys[place].rotate_lanes_left::<{ 32 - 11 }>().sum(sum).sum(constant);
        }
        key
    }
}

impl<T: KeyWord> Drop for Schedule<T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.prekeys = [T::constant(self.isa, 0); 8];
        zeroize::optimization_barrier(&self.prekeys);
    }
}

impl<T: KeyWord> fmt::Debug for Schedule<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule(before round {}, secret)", self.round)
    }
}
