//! The AES key schedule of many keys at once, four keys per 128 bits.
//!
//! Layout: a schedule word of four keys is 128 bits, with one key per 32-bit lane. One instruction computes
//! SubWord of all four. The words of a round key are transposed into four blocks, the form that AES
//! instructions take.
//!
//! Needs `AesLanes`.
//! Source: FIPS 197 §5.2; SubWord by the last-round instruction is from Gueron's white paper on the AES
//! instructions.
//! Invariant: no table and no branch on a key.

use crate::arch::{AesLanes, Lane32, each, unrolled};
use crate::block::Block;

/// Rcon (FIPS 197 §5.2), by number.
pub(crate) const ROUND_CONSTANTS: [u8; 11] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 0x1b, 0x36];

/// Shuffle indices before SubWord. The last-round instruction also shifts rows, and this shuffle undoes that.
const fn sub_word_bytes(rotation: usize) -> Block {
    let mut indices = [0; 16];
    let mut at = 0;
    while at < 16 {
        let (lane, row) = (at / 4, at % 4);
        indices[at] = (4 * ((lane + 4 - row) % 4) + (row + rotation) % 4) as u8;
        at += 1;
    }
    indices
}

/// The constants of a schedule.
#[derive(Clone, Copy)]
pub(super) struct LaneSchedule<W: AesLanes> {
    isa: W::Isa,
    /// For SubWord, and for SubWord of RotWord.
    bytes: [W; 2],
}

impl<W: AesLanes + Lane32> LaneSchedule<W> {
    #[inline(always)]
    pub(super) fn new(isa: W::Isa) -> Self {
        let bytes = const { [sub_word_bytes(0), sub_word_bytes(1)] };
        Self { isa, bytes: each!(rotation < 2 => W::broadcast(isa, &bytes[rotation])) }
    }

    /// A schedule whose `NK` words before word `ready` are set. `start` has word i at index i modulo `NK`.
    #[inline(always)]
    pub(super) fn begun<const NK: usize>(&self, start: [W; NK], ready: usize) -> [W; WORDS_MAX] {
        let mut words = [W::splat(self.isa, 0); WORDS_MAX];
        for i in 0..NK {
            words[ready - NK + i] = start[(ready + i) % NK];
        }
        words
    }

    /// SubWord of the word before `i`, with rotation and constant if the schedule has them there, plus
    /// another word. Word `i` begins a group.
    #[inline(always)]
    pub(super) fn substituted<const NK: usize>(&self, words: &[W; WORDS_MAX], i: usize, plus: W) -> W {
        let before = words[i - 1];
        if i.is_multiple_of(NK) {
            let constant = W::splat_lanes(self.isa, u32::from(ROUND_CONSTANTS[i / NK]));
            before.shuffle_bytes(self.bytes[1]).encrypt_last_round(plus ^ constant)
        } else {
            before.shuffle_bytes(self.bytes[0]).encrypt_last_round(plus)
        }
    }

    /// Computes the group of words that begins with word `i`. The last word comes first, because the next
    /// group depends only on it.
    ///
    /// A word is the sum of the previous word and the one `NK` before it. A group's last word is therefore
    /// the substituted word plus all words of the group `NK` before. The sum of a group is the sum of every
    /// second word of the group before it.
    #[inline(always)]
    pub(super) fn expand<const NK: usize>(&self, words: &mut [W; WORDS_MAX], i: usize, ready: usize) {
        let old = i - NK;
        let mut sum = W::splat(self.isa, 0);
        unrolled!(k in [0 1 2 3 4 5] {
            if k < group::<NK>() && old < ready {
                sum = sum ^ words[old + k];
            } else if k < group::<NK>() && k % 2 == 1 {
                sum = sum ^ words[old + k - NK];
            }
        });
        let end = i + group::<NK>() - 1;
        words[end] = self.substituted::<NK>(words, i, sum);
        unrolled!(k in [1 2 3 4 5] {
            if k < group::<NK>() {
                words[end - k] = words[end - k + 1] ^ words[end - k + 1 - NK];
            }
        });
    }
}

/// Words of the longest schedule, in whole groups.
pub(super) const WORDS_MAX: usize = 60;

/// The round key that begins with word `i`, for four keys per 128 bits.
#[inline(always)]
pub(super) fn round_key<W: Lane32>(words: &[W; WORDS_MAX], i: usize) -> [W; 4] {
    W::transpose_lanes(each!(column < 4 => words[i + column]))
}

/// The distance between schedule words that go through S-boxes.
pub(super) const fn group<const NK: usize>() -> usize {
    if NK == 8 { 4 } else { NK }
}
