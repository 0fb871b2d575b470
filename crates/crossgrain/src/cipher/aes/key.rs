//! The AES key schedule in constant time.
//!
//! SubWord is the last-round AES instruction on four equal columns. Without AES instructions it is the S-box
//! circuit (`cipher::aes`). There are no tables and no branches on the key. Round keys are wiped when
//! dropped.
//!
//! Source: FIPS 197 §5.2; §5.3.5 for the keys of the equivalent inverse cipher. With Rijndael blocks of 24
//! and 32 bytes the same words form longer round keys (the Rijndael submission, §4.3).

use std::fmt;

use super::description::{ByCircuit, SubWord, expand, make_equivalent_inverse};
use super::rounds::MIDDLE_LEAST;
use crate::arch::{
    AesLanes, Features, Isa as _, Kernel, Line, Register, Wiped, WipedBytes, each, for_each_register, wipe,
};
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

/// Round keys as the kernels of AES instructions read them, in each lane of the widest register. On some CPUs a
/// broadcast from one block to all lanes of a wide register takes a slot of the unit that computes AES rounds; a
/// load does not.
pub(super) struct WideKeys {
    /// Round keys 0, 1, … and, in the last place, the last one.
    keys: Wiped<[Line; ROUND_KEYS_MAX]>,
    rounds: usize,
}

/// The place of the last round key. It does not depend on the number of rounds.
const LAST: usize = ROUND_KEYS_MAX - 1;

impl WideKeys {
    /// Expands a key of 16, 24 or 32 bytes, for registers of this kind.
    pub(super) fn take<W: AesLanes>(&mut self, isa: W::Isa, direction: Direction, key: &[u8]) {
        isa.enter(Take::<W> { isa, direction, key, keys: self });
    }

    /// Zeros for this number of rounds, to be set later.
    pub(super) fn none(rounds: usize) -> Self {
        Self { keys: Wiped::zeros(), rounds }
    }

    /// Replaces one round key.
    pub(super) fn set(&mut self, round: usize, key: &Block) {
        let place = self.place(round);
        self.keys[place] = Line::of(key);
    }

    /// Puts a round key of the encryption in its place. For decryption this is the equivalent inverse cipher
    /// (FIPS 197 §5.3.5), and only the lanes of `W` are written.
    #[inline(always)]
    fn put<W: AesLanes>(&mut self, isa: W::Isa, direction: Direction, round: usize, key: W) {
        let zero = W::splat(isa, 0);
        let (round, key) = match direction {
            Direction::Encrypt => (round, key),
            Direction::Decrypt if round == 0 || round == self.rounds => (self.rounds - round, key),
            // A last round and then an inverse round under zero keys are InvMixColumns.
            Direction::Decrypt => (self.rounds - round, key.encrypt_last_round(zero).decrypt_round(zero)),
        };
        let place = self.place(round);
        key.store(&mut self.keys[place].bytes_mut()[..W::BYTES]);
    }

    /// The place of a round key.
    #[inline(always)]
    const fn place(&self, round: usize) -> usize {
        if round == self.rounds { LAST } else { round }
    }

    /// Round key 0, the keys of the middle rounds, and the last one.
    #[inline(always)]
    pub(super) fn split(&self) -> (&Line, &[Line], &Line) {
        let keys = &*self.keys;
        (&keys[0], &keys[1..self.rounds], &keys[LAST])
    }

    /// Round keys 0 and 1, and the last one. This does not depend on the number of rounds.
    #[inline(always)]
    pub(super) fn ends(&self) -> (&Line, &Line, &Line) {
        let keys = &*self.keys;
        (&keys[0], &keys[1], &keys[LAST])
    }

    /// Rounds of the cipher: 10, 12 or 14.
    #[inline(always)]
    pub(super) const fn rounds(&self) -> usize {
        self.rounds
    }

    /// Round key `first` and the next five.
    #[inline(always)]
    pub(super) fn six_from(&self, first: usize) -> &[Line; 6] {
        let Some(six) = self.keys.split_at(first).1.first_chunk() else { unreachable!() };
        six
    }

    /// The keys of the nine middle rounds that every key has, and two pairs that only longer keys have. All
    /// lengths are known at compile time.
    #[inline(always)]
    pub(super) fn middle_in_steps(&self) -> (&[Line], [Option<&[Line; 2]>; 2]) {
        let more = |first: usize| self.keys[first..].first_chunk().filter(|_| self.rounds > first);
        (&self.keys[1..=MIDDLE_LEAST], [more(MIDDLE_LEAST + 1), more(MIDDLE_LEAST + 3)])
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
            (4, ([a, rest @ ..], [])) => {
                in_lanes(isa, [W::broadcast(isa, a)], rest.iter_mut(), |lane, key| key.store_lowest(lane));
            }
            (8, ([a, b, rest @ ..], [])) => {
                let key = [W::broadcast(isa, a), W::broadcast(isa, b)];
                in_lanes(isa, key, rest.iter_mut(), |lane, key| key.store_lowest(lane));
            }
            _ => expand(words, key_words, ByInstruction::<W>(isa)),
        }
    }
}

/// The schedule by AES instructions, written where kernels of the same registers read it.
struct Take<'a, W: AesLanes> {
    isa: W::Isa,
    direction: Direction,
    key: &'a [u8],
    keys: &'a mut WideKeys,
}

impl<W: AesLanes> Kernel for Take<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, direction, key, keys } = self;
        let mut put = |round, key: W| keys.put(isa, direction, round, key);
        match key.as_chunks() {
            ([a], []) => {
                let key = [W::broadcast(isa, a)];
                put(0, key[0]);
                in_lanes(isa, key, 1..=10, put);
            }
            ([a, b], []) => {
                let key = [W::broadcast(isa, a), W::broadcast(isa, b)];
                put(0, key[0]);
                put(1, key[1]);
                in_lanes(isa, key, 2..=14, put);
            }
            _ => {
                let mut words = WipedBytes([0; 13 * BLOCK_BYTES]);
                words[..key.len()].copy_from_slice(key);
                expand(&mut words[..], key.len() / 4, ByInstruction::<W>(isa));
                let blocks = words.as_chunks().0.iter().enumerate();
                blocks.for_each(|(round, block)| put(round, W::broadcast(isa, block)));
            }
        }
    }
}

/// Computes a schedule in registers, four words at a time, and puts them into `places`. It begins after the lanes of
/// the key.
#[inline(always)]
pub(super) fn in_lanes<W: AesLanes, P, const KEY_LANES: usize>(
    isa: W::Isa,
    mut known: [W; KEY_LANES],
    places: impl Iterator<Item = P>,
    mut put: impl FnMut(P, W),
) {
    let indices = |bytes| W::broadcast(isa, &bytes);
    let last = indices([12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15]);
    let last_rotated = indices([13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12]);
    let word_up = indices([NO, NO, NO, NO, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    let two_words_up = indices([NO, NO, NO, NO, NO, NO, NO, NO, 0, 1, 2, 3, 4, 5, 6, 7]);
    let mut round_constant: u64 = 1;
    for (i, place) in places.enumerate() {
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
        put(place, next);
        known = each!(i < KEY_LANES => if i + 1 < KEY_LANES { known[i + 1] } else { next });
    }
}

/// A shuffle index that selects zero.
const NO: u8 = 0x80;
