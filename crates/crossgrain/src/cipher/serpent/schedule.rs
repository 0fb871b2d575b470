//! Serpent's key schedule, for one key or for one key per lane, in constant time.
//!
//! ```text
//! w[n] = (w[n−8] ⊕ w[n−5] ⊕ w[n−3] ⊕ w[n−1] ⊕ φ ⊕ n) rotated left by 11; w[−8] to w[−1] are the key
//! round key r = S-box (3 − r) mod 8 of w[4r] to w[4r+3]
//! ```
//!
//! The S-boxes are circuits, and nothing branches on a key.
//! Layout: a 32-bit word of every key is a 32-bit lane of a register (`vsliced`), or 32 registers, one per
//! bit (`bitsliced`). In the latter a rotation only renames registers.
//! Source: the submission, §4.
//! Invariants: round keys are produced one at a time, first to last or last to first, so a search need not
//! store them. Prekeys are wiped on drop.

use std::fmt;

use super::description::ROUNDS;
use super::sbox_circuit;
use crate::arch::{Lane32, Lanes, Register, each, unrolled};

/// The fractional part of the golden ratio.
const PHI: u32 = 0x9e37_79b9;

/// A 32-bit word of every key.
pub trait KeyWord: Copy {
    /// The token that proves that the CPU has the instructions.
    type Isa: Copy;

    /// The same word for all keys.
    fn constant(isa: Self::Isa, word: u32) -> Self;

    /// XOR.
    #[must_use]
    fn sum(self, other: Self) -> Self;

    /// Rotates the word left by 11.
    #[must_use]
    fn rotated_by_11(self) -> Self;

    /// S-box `index` modulo 8 on all bits of four words.
    fn substituted(index: usize, words: [Self; 4]) -> [Self; 4];
}

/// Lanes of 32 bits, in registers or in circuits.
pub trait KeyLanes: Lanes {
    /// The token from which constants are created.
    type Isa: Copy;

    /// The same word in every lane.
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
        sbox_circuit::forward(index, words)
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
            let results = sbox_circuit::forward(index, each!(word < 4 => words[word][bit]));
            for (word, result) in words.iter_mut().zip(results) {
                word[bit] = result;
            }
        }
        words
    }
}

/// The round keys of one key per lane, one after another.
pub struct Schedule<T: KeyWord> {
    isa: T::Isa,
    /// The last eight prekeys; prekey n is at index n modulo 8.
    prekeys: [T; 8],
    round: usize,
}

impl<T: KeyWord> Schedule<T> {
    /// Starts from keys of 256 bits, word 0 first. Shorter keys must be padded with a one bit and zeros.
    #[inline(always)]
    pub const fn new(isa: T::Isa, keys: [T; 8]) -> Self {
        Self { isa, prekeys: keys, round: 0 }
    }

    /// The next round key. May be called 33 times, starting with round 0.
    #[inline(always)]
    pub fn round_key(&mut self) -> [T; 4] {
        let round = self.round;
        self.round += 1;
        self.round_key_of(round - round % 8, round % 8)
    }

    /// Round key `eight + index`, where `eight` is a multiple of eight. All earlier keys must have been
    /// requested before. If `index` is a compile-time constant, so are the S-box and the indices of the
    /// prekeys.
    #[inline(always)]
    pub fn round_key_of(&mut self, eight: usize, index: usize) -> [T; 4] {
        self.advance(eight, index);
        self.substituted(index)
    }

    /// Computes the four prekeys of round key `eight + index`. They overwrite the four that are eight places
    /// older.
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

    /// The round key for the current prekeys.
    #[inline(always)]
    fn substituted(&self, index: usize) -> [T; 4] {
        let first = 4 * index % 8;
        T::substituted((8 + 3 - index) % 8, each!(i < 4 => self.prekeys[first + i]))
    }
}

impl<W: KeyLanes> Schedule<W> {
    /// The prekeys at the end of the schedule. They are affine functions of the key.
    #[inline(always)]
    pub fn last_prekeys(isa: W::Isa, keys: [W; 8]) -> [W; 8] {
        let mut schedule = Self::new(isa, keys);
        for eight in (0..ROUNDS).step_by(8) {
            unrolled!(index in [0 1 2 3 4 5 6 7] { schedule.advance(eight, index); });
        }
        schedule.advance(ROUNDS, 0);
        schedule.prekeys
    }

    /// A schedule at its end, from which round keys are produced last to first.
    #[inline(always)]
    pub const fn at_end(isa: W::Isa, last_prekeys: [W; 8]) -> Self {
        Self { isa, prekeys: last_prekeys, round: ROUNDS + 1 }
    }

    /// Round key `eight + index`, where `eight` is a multiple of eight. All later keys must have been
    /// requested before.
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

impl<T: KeyWord> Schedule<T> {
    /// Overwrites the prekeys.
    #[inline(always)]
    pub fn wipe(&mut self) {
        self.prekeys = [T::constant(self.isa, 0); 8];
        zeroize::optimization_barrier(&self.prekeys);
    }
}

/// In kernels on bits of registers this is a function of its own, without their instructions. They call
/// [`Schedule::wipe`] instead.
impl<T: KeyWord> Drop for Schedule<T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.wipe();
    }
}

impl<T: KeyWord> fmt::Debug for Schedule<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule(before round {}, secret)", self.round)
    }
}
