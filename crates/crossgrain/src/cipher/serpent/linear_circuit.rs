//! Serpent's linear transformation on bit slices, without moving bits for rotations.
//!
//! A state is 128 words. The home position of bit j of word i is 32·i + j. Rotations only change the recorded
//! position of each word's bit 0 ([`Places`]). The transformation is then four XORs per bit position.
//! Source: Anderson, Biham and Knudsen, "Serpent: a proposal for the Advanced Encryption Standard" (1998),
//! §3.
//! Invariant: 32 transformations return every bit to its home position.

use crate::arch::{Word, each};

/// The positions of the bits of a state.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// The position of bit 0 of each word, among the word's 32 positions. The other bits follow it
    /// cyclically.
    starts: [usize; 4],
}

impl Places {
    /// Every bit at its home position.
    pub const OWN: Self = Self { starts: [0; 4] };

    /// The positions after `transforms` transformations from home. Call it in a constant, because it loops.
    pub const fn after(transforms: usize) -> Self {
        let (mut places, mut number) = (Self::OWN, 0);
        while number < transforms {
            places.rotate([13, 1, 3, 7]);
            places.rotate([5, 0, 22, 0]);
            number += 1;
        }
        places
    }

    /// The position of a bit of a word.
    #[inline(always)]
    const fn of(self, word: usize, bit: usize) -> usize {
        32 * word + (bit + self.starts[word]) % 32
    }

    /// Bit `bit` of each of the four words: the input of an S-box.
    #[inline(always)]
    pub fn get<W: Word>(self, state: &[W], bit: usize) -> [W; 4] {
        each!(word < 4 => state[self.of(word, bit)])
    }

    /// Writes bit `bit` of each of the four words.
    #[inline(always)]
    pub fn set<W: Word>(self, state: &mut [W], bit: usize, bits: [W; 4]) {
        for word in 0..4 {
            state[self.of(word, bit)] = bits[word];
        }
    }

    /// The linear transformation.
    #[inline(always)]
    pub fn transform<W: Word>(&mut self, state: &mut [W]) {
        self.rotate([13, 0, 3, 0]);
        self.add_to_odd(state);
        self.rotate([0, 1, 0, 7]);
        self.add_to_even(state);
        self.rotate([5, 0, 22, 0]);
    }

    /// The inverse: the same steps undone, last first.
    #[inline(always)]
    pub fn inv_transform<W: Word>(&mut self, state: &mut [W]) {
        self.rotate([32 - 5, 0, 32 - 22, 0]);
        self.add_to_even(state);
        self.rotate([0, 32 - 1, 0, 32 - 7]);
        self.add_to_odd(state);
        self.rotate([32 - 13, 0, 32 - 3, 0]);
    }

    /// Rotates words left.
    #[inline(always)]
    const fn rotate(&mut self, counts: [usize; 4]) {
        let mut word = 0;
        while word < 4 {
            self.starts[word] = (self.starts[word] + 32 - counts[word]) % 32;
            word += 1;
        }
    }

    #[inline(always)]
    fn add<W: Word>(self, state: &mut [W], word: usize, bit: usize, term: W) {
        let place = &mut state[self.of(word, bit)];
        *place = *place ^ term;
    }

    /// x₁ ⊕= x₀ ⊕ x₂ and x₃ ⊕= x₂ ⊕ (x₀ ≪ 3).
    #[inline(always)]
    fn add_to_odd<W: Word>(self, state: &mut [W]) {
        for bit in 0..32 {
            let [x0, _, x2, _] = self.get(state, bit);
            self.add(state, 1, bit, x0 ^ x2);
            self.add(state, 3, bit, if bit < 3 { x2 } else { x2 ^ state[self.of(0, bit - 3)] });
        }
    }

    /// x₀ ⊕= x₁ ⊕ x₃ and x₂ ⊕= x₃ ⊕ (x₁ ≪ 7).
    #[inline(always)]
    fn add_to_even<W: Word>(self, state: &mut [W]) {
        for bit in 0..32 {
            let [_, x1, _, x3] = self.get(state, bit);
            self.add(state, 0, bit, x1 ^ x3);
            self.add(state, 2, bit, if bit < 7 { x3 } else { x3 ^ state[self.of(1, bit - 7)] });
        }
    }

    /// Moves every bit to its home position, cycle by cycle.
    #[inline(always)]
    pub fn settle<W: Word>(&mut self, state: &mut [W]) {
        for (word, start) in state.as_chunks_mut::<32>().0.iter_mut().zip(self.starts) {
            let cycles = if start == 0 { 0 } else { 1 << start.trailing_zeros() };
            for first in 0..cycles {
                let (kept, mut bit) = (word[first], first);
                for _ in 1..32 / cycles {
                    let next = (bit + start) % 32;
                    word[bit] = word[next];
                    bit = next;
                }
                word[bit] = kept;
            }
        }
        *self = Self::OWN;
    }
}
