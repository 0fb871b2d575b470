//! The AES key schedule in constant time.
//!
//! SubWord is the last-round AES instruction on four equal columns. Without AES instructions it is the S-box
//! circuit (`cipher::aes`). There are no tables and no branches on the key. Round keys are wiped when
//! dropped.
//!
//! Source: FIPS 197 §5.2; §5.3.5 for the keys of the equivalent inverse cipher. With Rijndael blocks of 24
//! and 32 bytes the same words form longer round keys (the Rijndael submission, §4.3).

use std::{array, fmt};

use super::description::{ByCircuit, SubWord, expand, make_equivalent_inverse};
use super::instructions::MIDDLE_LEAST;
use crate::arch::{AesLanes, Features, Isa as _, Kernel, Register, for_each_register, wipe};
use crate::block::{BLOCK_BYTES, Block, Direction, Key};

/// Round keys of the longest schedule: a block or key of 256 bits has 14 rounds.
pub(crate) const ROUND_KEYS_MAX: usize = 15;

/// The round keys of one key, as blocks of `BYTES` bytes: 16 for AES.
#[derive(Clone)]
pub struct RoundKeys<const BYTES: usize = BLOCK_BYTES> {
    blocks: [[u8; BYTES]; ROUND_KEYS_MAX],
    rounds: usize,
}

impl RoundKeys {
    /// KeyExpansion (FIPS 197 §5.2), with these instructions if they exist.
    pub fn expand(key: &Key, features: Features) -> Self {
        Self::of(key.bytes(), features)
    }

    /// Whether AES instructions expand keys.
    pub(super) fn has_instructions(features: Features) -> bool {
        for_each_register!(one_block, W => {
            if <W as Register>::Isa::detect(features).is_some() {
                return true;
            }
        });
        false
    }
}

impl<const BYTES: usize> RoundKeys<BYTES> {
    /// KeyExpansion of a key of 16, 24 or 32 bytes.
    pub(crate) fn of(key: &[u8], features: Features) -> Self {
        let rounds = (key.len() / 4).max(BYTES / 4) + 6;
        let mut keys = Self { blocks: [[0; BYTES]; ROUND_KEYS_MAX], rounds };
        let words = &mut keys.blocks.as_flattened_mut()[..BYTES * (rounds + 1)];
        words[..key.len()].copy_from_slice(key);
        expand_by(features, words, key.len() / 4);
        keys
    }

    /// Rounds of the cipher: one less than the number of round keys.
    pub const fn rounds(&self) -> usize {
        self.rounds
    }

    /// Round keys 0 to `rounds`.
    pub fn blocks(&self) -> &[[u8; BYTES]] {
        &self.blocks[..=self.rounds]
    }

    /// Round keys in the order in which the description's rounds use them. For decryption these are the keys
    /// of the equivalent inverse cipher.
    #[must_use]
    pub fn in_use(&self, direction: Direction) -> Self {
        match direction {
            Direction::Encrypt => self.clone(),
            Direction::Decrypt => self.equivalent_inverse(),
        }
    }

    /// Round keys of the equivalent inverse cipher, in order of use.
    #[must_use]
    pub fn equivalent_inverse(&self) -> Self {
        let mut keys = self.clone();
        make_equivalent_inverse(&mut keys.blocks[..=self.rounds]);
        keys
    }
}

impl<const BYTES: usize> Drop for RoundKeys<BYTES> {
    fn drop(&mut self) {
        wipe(self.blocks.as_flattened_mut());
    }
}

/// A round key, repeated for each lane of the widest register.
#[repr(align(64))]
pub(super) struct Wide([Block; LANES_MAX]);

/// Lanes of the widest register.
const LANES_MAX: usize = 4;

impl Wide {
    /// A round key.
    pub(super) const fn of(key: &Block) -> Self {
        Self([*key; LANES_MAX])
    }

    /// Sets the round key.
    pub(super) const fn set(&mut self, key: &Block) {
        self.0 = [*key; LANES_MAX];
    }

    /// The round key.
    pub(super) const fn block(&self) -> &Block {
        &self.0[0]
    }

    /// The round key in every lane.
    #[inline(always)]
    pub(super) fn load<W: AesLanes>(&self, isa: W::Isa) -> W {
        W::load(isa, &self.0.as_flattened()[..W::BYTES])
    }
}

/// Round keys as the kernels of AES instructions read them. On some CPUs a broadcast from one block to all
/// lanes of a wide register takes a slot of the unit that computes AES rounds; a load does not. Wiped when
/// dropped.
pub(super) struct WideKeys {
    keys: [Wide; ROUND_KEYS_MAX],
    /// The last round key, at a place that does not depend on the number of rounds.
    last: Wide,
    rounds: usize,
}

impl WideKeys {
    /// Replaces all keys by those of another schedule.
    pub(super) fn take(&mut self, keys: &RoundKeys) {
        self.keys.iter_mut().zip(keys.blocks()).for_each(|(wide, key)| wide.set(key));
        self.last.set(&keys.blocks[keys.rounds]);
        self.rounds = keys.rounds;
    }

    /// Zeros for this number of rounds, to be set later.
    pub(super) const fn none(rounds: usize) -> Self {
        let last = Wide::of(&[0; BLOCK_BYTES]);
        Self { keys: [const { Wide::of(&[0; BLOCK_BYTES]) }; ROUND_KEYS_MAX], last, rounds }
    }

    /// Replaces one round key.
    pub(super) const fn set(&mut self, round: usize, key: &Block) {
        self.keys[round].set(key);
        if round == self.rounds {
            self.last.set(key);
        }
    }

    /// Round key 0, the keys of the middle rounds, and the last one.
    #[inline(always)]
    pub(super) fn split(&self) -> (&Wide, &[Wide], &Wide) {
        (&self.keys[0], &self.keys[1..self.rounds], &self.last)
    }

    /// Round keys 0 and 1, and the last one. This does not depend on the number of rounds.
    #[inline(always)]
    pub(super) const fn ends(&self) -> (&Wide, &Wide, &Wide) {
        (&self.keys[0], &self.keys[1], &self.last)
    }

    /// Rounds of the cipher: 10, 12 or 14.
    #[inline(always)]
    pub(super) const fn rounds(&self) -> usize {
        self.rounds
    }

    /// Round key `first` and the next five.
    #[inline(always)]
    pub(super) const fn six_from(&self, first: usize) -> &[Wide; 6] {
        let Some(six) = self.keys.split_at(first).1.first_chunk() else { unreachable!() };
        six
    }

    /// The keys of the nine middle rounds that every key has, and two pairs that only longer keys have. All
    /// lengths are known at compile time.
    #[inline(always)]
    pub(super) fn middle_in_steps(&self) -> (&[Wide], [Option<&[Wide; 2]>; 2]) {
        let more = |first: usize| self.keys[first..].first_chunk().filter(|_| self.rounds > first);
        (&self.keys[1..=MIDDLE_LEAST], [more(MIDDLE_LEAST + 1), more(MIDDLE_LEAST + 3)])
    }
}

impl Drop for WideKeys {
    fn drop(&mut self) {
        for Wide(lanes) in self.keys.iter_mut().chain([&mut self.last]) {
            wipe(lanes.as_flattened_mut());
        }
    }
}

impl<const BYTES: usize> fmt::Debug for RoundKeys<BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RoundKeys({} rounds, secret)", self.rounds)
    }
}

/// Completes a schedule whose first words are the key, by AES instructions if they exist.
fn expand_by(features: Features, words: &mut [u8], key_words: usize) {
    for_each_register!(one_block, W => {
        if let Some(isa) = <W as Register>::Isa::detect(features) {
            return isa.enter(Expand::<W> { isa, words, key_words });
        }
    });
    expand(words, key_words, ByCircuit);
}

#[derive(Clone, Copy)]
struct ByInstruction<W: AesLanes>(W::Isa);

impl<W: AesLanes> SubWord for ByInstruction<W> {
    #[inline(always)]
    fn sub_word(self, word: u32) -> u32 {
        let Self(isa) = self;
        // ShiftRows changes nothing, because all columns are equal.
        let columns = W::splat(isa, u64::from(word) << 32 | u64::from(word));
        let mut lane = [0; BLOCK_BYTES];
        columns.encrypt_last_round(W::splat(isa, 0)).store_lowest(&mut lane);
        u32::from_le_bytes([lane[0], lane[1], lane[2], lane[3]])
    }
}

/// The schedule by AES instructions.
struct Expand<'a, W: AesLanes> {
    isa: W::Isa,
    words: &'a mut [u8],
    key_words: usize,
}

impl<W: AesLanes> Kernel for Expand<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, words, key_words } = self;
        match (key_words, words.as_chunks_mut()) {
            (4, (lanes, [])) => go_on_in_lanes::<W, 1>(isa, lanes),
            (8, (lanes, [])) => go_on_in_lanes::<W, 2>(isa, lanes),
            _ => expand(words, key_words, ByInstruction::<W>(isa)),
        }
    }
}

/// Completes a schedule in registers, four words at a time. The first `KEY_LANES` lanes are the key.
#[inline(always)]
fn go_on_in_lanes<W: AesLanes, const KEY_LANES: usize>(isa: W::Isa, lanes: &mut [[u8; BLOCK_BYTES]]) {
    let indices = |bytes| W::broadcast(isa, &bytes);
    let last = indices([12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15]);
    let last_rotated = indices([13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12]);
    let word_up = indices([NO, NO, NO, NO, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    let two_words_up = indices([NO, NO, NO, NO, NO, NO, NO, NO, 0, 1, 2, 3, 4, 5, 6, 7]);
    let mut round_constant: u64 = 1;
    let mut known: [W; KEY_LANES] = array::from_fn(|i| W::broadcast(isa, &lanes[i]));
    for (i, lane) in lanes.iter_mut().enumerate().skip(KEY_LANES) {
        let before = known[KEY_LANES - 1];
        let substituted = if i % KEY_LANES == 0 {
            let constant = W::splat(isa, round_constant << 32 | round_constant);
            round_constant = (round_constant << 1) ^ ((round_constant >> 7) * 0x11b);
            before.shuffle_bytes(last_rotated).encrypt_last_round(constant)
        } else {
            before.shuffle_bytes(last).encrypt_last_round(W::splat(isa, 0))
        };
        // Adds each word to all words after it, which equals the sequential additions of the schedule.
        let pairs = known[0] ^ known[0].shuffle_bytes(word_up);
        let next = pairs ^ pairs.shuffle_bytes(two_words_up) ^ substituted;
        next.store_lowest(lane);
        known.rotate_left(1);
        known[KEY_LANES - 1] = next;
    }
}

/// A shuffle index that selects zero.
const NO: u8 = 0x80;
