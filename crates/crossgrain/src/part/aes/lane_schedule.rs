//! AES's key schedule of many keys at once, four to 128 bits.
//!
//! Layout: a word of the schedule of four keys is 128 bits, a key a 32-bit lane, so that one instruction takes SubWord of
//! all four. The words of a round key are transposed into four blocks, as an instruction for a round takes them.
//! Needs: `AesLanes`. Source: FIPS 197 §5.2; SubWord by the last round's instruction is from Gueron's white paper on the
//! AES instructions.
//! Holds: no table and no branch on a key.

use crate::block::Block;
use crate::word::{AesLanes, Lane32, each, unrolled};

/// Rcon (FIPS 197 §5.2), by number.
pub(crate) const ROUND_CONSTANTS: [u8; 11] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 0x1b, 0x36];

/// Where SubWord finds its bytes: the instruction for the last round shifts rows too, which this undoes.
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

    /// The schedule as far as it is there; a start has word i at the place i modulo `NK`.
    #[inline(always)]
    pub(super) fn begun<const NK: usize>(&self, start: [W; NK], ready: usize) -> [W; WORDS_MAX] {
        let mut words = [W::splat(self.isa, 0); WORDS_MAX];
        for i in 0..NK {
            words[ready - NK + i] = start[(ready + i) % NK];
        }
        words
    }

    /// What goes through the S-boxes for the word `i` that begins a group, plus another word.
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

    /// The group of words that word `i` begins, the last of it first: the next group waits for that alone.
    ///
    /// A word is the one before it plus that `NK` before. So a group's last word is the substituted one plus all
    /// of the group `NK` before, and a group's sum is that of every second word of the one before that.
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

/// Words of the longest schedule, whole groups.
pub(super) const WORDS_MAX: usize = 60;

/// The round key that word `i` begins, of four keys to 128 bits.
#[inline(always)]
pub(super) fn round_key<W: Lane32>(words: &[W; WORDS_MAX], i: usize) -> [W; 4] {
    W::transpose_lanes(each!(column < 4 => words[i + column]))
}

/// Words of the schedule from one that goes through S-boxes to the next.
pub(super) const fn group<const NK: usize>() -> usize {
    if NK == 8 { 4 } else { NK }
}
