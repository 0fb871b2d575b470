//! Serpent's linear transformation on bits, where they lie.
//!
//! A state is 128 words: bit j of word i has place 32·i + j as its own. Rotations move nothing. It is known where each word's bit 0 lies ([`Places`]), so
//! that the transformation is four sums a bit.
//! Source: Anderson, Biham and Knudsen, "Serpent: a proposal for the Advanced Encryption Standard" (1998), §3. Holds: 32 transformations bring every bit back
//! to its own place.

use crate::word::{Word, each};

/// Where the bits of a state lie.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Where bit 0 of each word lies, among the word's 32 places. The others follow it, around the end.
    starts: [usize; 4],
}

impl Places {
    /// Every bit at its own place.
    pub const OWN: Self = Self { starts: [0; 4] };

    /// Where so many transformations leave bits that were at their own places. To be asked for in a constant: it is a loop.
    pub const fn after(transforms: usize) -> Self {
        let (mut places, mut number) = (Self::OWN, 0);
        while number < transforms {
            places.rotate([13, 1, 3, 7]);
            places.rotate([5, 0, 22, 0]);
            number += 1;
        }
        places
    }

    /// The place of a word's bit.
    #[inline(always)]
    const fn of(self, word: usize, bit: usize) -> usize {
        32 * word + (bit + self.starts[word]) % 32
    }

    /// A bit of each word: what an S-box takes.
    #[inline(always)]
    pub fn get<W: Word>(self, state: &[W], bit: usize) -> [W; 4] {
        each!(word < 4 => state[self.of(word, bit)])
    }

    /// Writes a bit of each word.
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

    /// Its inverse: the same steps undone, last first.
    #[inline(always)]
    pub fn inv_transform<W: Word>(&mut self, state: &mut [W]) {
        self.rotate([32 - 5, 0, 32 - 22, 0]);
        self.add_to_even(state);
        self.rotate([0, 32 - 1, 0, 32 - 7]);
        self.add_to_odd(state);
        self.rotate([32 - 13, 0, 32 - 3, 0]);
    }

    /// Rotates words towards their high ends.
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

    /// Moves every bit to its own place, one cycle of places after another.
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
