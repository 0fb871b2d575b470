//! Messages with a separate key each, by Serpent: the key schedules of all lanes side by side, then rounds
//! with each lane's keys.
//!
//! Layout: `Repr::Vsliced`, with message i in the 32-bit lane of block i. Words of a round key have the same
//! layout as words of the state. One block of each message is processed at a time, so messages of a group
//! should have similar lengths.
//!
//! Source: `schedule`.
//! Invariant: round keys are in memory that `run` wipes.

use std::fmt;

use super::chains::{Bundles, side_by_side};
use super::description::{ROUNDS, RoundKey, inv_transform};
use super::key::RoundKeys;
use super::sbox_circuit::{forward_constant, inverse_constant};
use super::vsliced::{Cipher, Key as LaneKey, OnBundles, State, decrypt, encrypt};
use super::whole::OnWords;
use crate::arch::{Isa, Kernel, Lane32, each, unrolled, wipe};
use crate::block::{BLOCK_BYTES, Block, Direction, Family, Key};
use crate::cipher::serpent::schedule::Schedule;
use crate::kernel::lanes::Lanes;
use crate::kernel::own_keys::{Keyed, LANES_MAX, RecordSource, by_steps, run_alone};
use crate::layout::repr::word_lane;
use crate::message::Record;
use crate::mode::chained::chain::{ChainMessage, Rule};

/// Records of at least this length, four bundles, run alone (`examples/own_keys.rs`, Zen 5).
const fn long_bytes<W: Lane32>() -> usize {
    ALONE * 4 * W::BYTES
}

/// Bundles side by side of a record that runs alone.
const ALONE: usize = 4;

/// Bundles side by side. The round keys of more would fill the first-level cache.
const BUNDLES: usize = 2;

/// A round key of every lane: the four words of each bundle, one after another, as registers are stored.
#[repr(align(64))]
struct Row([u8; BUNDLES * 4 * WORD_BYTES_MAX]);

/// Bytes of the widest register.
const WORD_BYTES_MAX: usize = 64;

impl Row {
    #[inline(always)]
    fn set<W: Lane32>(&mut self, bundle: usize, key: State<W>) {
        for (i, word) in key.into_iter().enumerate() {
            word.store(&mut self.0[(4 * bundle + i) * W::BYTES..][..W::BYTES]);
        }
    }

    /// The key of the lane at byte `at` of each of a bundle's words.
    fn of_lane<W: Lane32>(&self, bundle: usize, at: usize) -> RoundKey {
        let words = self.0.chunks_exact(W::BYTES).skip(4 * bundle);
        let mut key = [0; 4];
        for (word, words) in key.iter_mut().zip(words) {
            *word = words[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        }
        key
    }
}

/// The cipher in one direction with one key per lane.
pub struct OwnKeys<W: Lane32> {
    isa: W::Isa,
    direction: Direction,
    key_bytes: usize,
    rows: [Row; ROUNDS + 1],
}

impl<W: Lane32> OwnKeys<W> {
    /// The cipher for keys of `key_bytes` bytes, without keys so far.
    pub const fn new(isa: W::Isa, direction: Direction, key_bytes: usize) -> Self {
        const { assert!(BUNDLES * W::BITS / 32 <= LANES_MAX && W::BYTES <= WORD_BYTES_MAX) };
        let rows = [const { Row([0; BUNDLES * 4 * WORD_BYTES_MAX]) }; ROUNDS + 1];
        Self { isa, direction, key_bytes, rows }
    }

    /// Lanes of a bundle.
    const BUNDLE_BLOCKS: usize = W::BITS / 32;
}

impl<W: Lane32> LaneKey<W> for Row {
    #[inline(always)]
    fn mixed(&self, isa: W::Isa, state: State<W>, bundle: usize) -> State<W> {
        each!(i < 4 => state[i] ^ W::load(isa, &self.0[(4 * bundle + i) * W::BYTES..][..W::BYTES]))
    }
}

impl<W: Lane32> OnBundles<W> for OwnKeys<W> {
    #[inline(always)]
    fn on_bundles<const N: usize>(&self, states: [State<W>; N]) -> [State<W>; N] {
        match self.direction {
            Direction::Encrypt => self.encrypted(states),
            Direction::Decrypt => decrypt(self.isa, states, &self.rows),
        }
    }

    #[inline(always)]
    fn encrypted<const N: usize>(&self, states: [State<W>; N]) -> [State<W>; N] {
        const { assert!(N <= BUNDLES) };
        debug_assert_eq!(self.direction, Direction::Encrypt);
        encrypt(self.isa, states, &self.rows)
    }
}

impl<W: Lane32> Keyed for OwnKeys<W> {
    fn lanes(&self) -> usize {
        BUNDLES * Self::BUNDLE_BLOCKS
    }

    fn set(&mut self, keys: &[&Key]) {
        assert!(keys.len() <= Keyed::lanes(self));
        let mut halves = [[[0; BLOCK_BYTES]; LANES_MAX]; 2];
        let [low, high] = &mut halves;
        for ((low, high), key) in low.iter_mut().zip(high).zip(keys) {
            let (cipher, bytes) = (key.cipher(), key.bytes());
            assert!(
                cipher.family() == Family::Serpent && bytes.len() == self.key_bytes,
                "a key of another cipher"
            );
            let (bytes, more) = bytes.split_at(BLOCK_BYTES);
            low.copy_from_slice(bytes);
            high[..more.len()].copy_from_slice(more);
            // A one bit and zeros follow a short key.
            if let Some(end) = high.get_mut(more.len()) {
                *end = 1;
            }
        }
        let bundles = keys.len().div_ceil(Self::BUNDLE_BLOCKS);
        self.isa.enter(Expand { keyed: self, halves: &halves, bundles });
        halves.iter_mut().for_each(|half| wipe(half.as_flattened_mut()));
    }

    fn blocks(&self, blocks: &mut [Block; LANES_MAX], count: usize) {
        if count <= Self::BUNDLE_BLOCKS {
            self.isa.enter(Blocks::<W, 1>(self, blocks));
        } else {
            self.isa.enter(Blocks::<W, BUNDLES>(self, blocks));
        }
    }

    fn run(&mut self, born: RecordSource, records: &mut [&mut Record<'_>]) {
        for (lane, record) in records.iter_mut().enumerate() {
            if record.buffers.len_bytes() >= long_bytes::<W>() {
                let keys = RoundKeys::from_words(self.of_lane(lane));
                let cipher =
                    OnWords::<W, ALONE>::of(self.isa, Cipher::with_mixed(self.isa, self.direction, keys));
                run_alone(born, record, &|source, buffers| cipher.run(source, buffers));
            }
        }
        by_steps(born, records, long_bytes::<W>(), &|blocks, count| self.blocks(blocks, count));
    }

    fn wants_alike(&self) -> bool {
        true
    }

    fn chain(&self, rule: Rule, chains: &mut [&mut ChainMessage<'_>], blocks: usize) {
        if chains.len() <= Self::BUNDLE_BLOCKS {
            side_by_side::<W, _, 1, LANES_MAX>(self.isa, self, rule, chains, blocks);
        } else {
            side_by_side::<W, _, BUNDLES, LANES_MAX>(self.isa, self, rule, chains, blocks);
        }
    }
}

impl<W: Lane32> fmt::Debug for OwnKeys<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "serpent::own_keys::OwnKeys({} bits, {:?}, secret)", W::BITS, self.direction)
    }
}

/// Computes the schedules of some bundles of keys. `halves` have the layout of blocks.
struct Expand<'a, W: Lane32> {
    keyed: &'a mut OwnKeys<W>,
    halves: &'a [[Block; LANES_MAX]; 2],
    bundles: usize,
}

impl<W: Lane32> Kernel for Expand<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { keyed, halves, bundles } = self;
        let isa = keyed.isa;
        for bundle in 0..bundles {
            let [low, high]: [State<W>; 2] = each!(half < 2 => W::transpose_lanes(each!(i < 4 => {
                W::load(isa, &halves[half].as_flattened()[(4 * bundle + i) * W::BYTES..][..W::BYTES])
            })));
            let mut schedule = Schedule::new(isa, each!(i < 8 => if i < 4 { low[i] } else { high[i - 4] }));
            for first in (0..ROUNDS).step_by(8) {
                unrolled!(index in [0 1 2 3 4 5 6 7] {
                    let key = schedule.round_key_of(first, index);
                    let key = keyed.as_mixed(key, first + index);
                    keyed.rows[first + index].set(bundle, key);
                });
            }
            let last = schedule.round_key_of(ROUNDS, 0);
            let last = keyed.as_mixed(last, ROUNDS);
            keyed.rows[ROUNDS].set(bundle, last);
        }
    }
}

impl<W: Lane32> OwnKeys<W> {
    /// One lane's round keys.
    fn of_lane(&self, lane: usize) -> [RoundKey; ROUNDS + 1] {
        let (bundle, lane) = (lane / Self::BUNDLE_BLOCKS, lane % Self::BUNDLE_BLOCKS);
        let at = word_lane(W::BITS, lane) / 8;
        self.rows.each_ref().map(|row| row.of_lane::<W>(bundle, at))
    }

    /// Round key `number` in the form that the direction adds: with the constant of the S-box before it and,
    /// for encryption, in the form before the linear transformation.
    #[inline(always)]
    fn as_mixed(&self, key: State<W>, number: usize) -> State<W> {
        let isa = self.isa;
        let (key, constant) = match self.direction {
            Direction::Encrypt if number == 0 => (key, 0),
            Direction::Encrypt if number == ROUNDS => (key, forward_constant::<W>(number - 1)),
            Direction::Encrypt => (inv_transform(key), forward_constant::<W>(number - 1)),
            Direction::Decrypt if number == ROUNDS => (key, 0),
            Direction::Decrypt => (key, inverse_constant::<W>(number)),
        };
        each!(i < 4 => key[i] ^ W::splat_lanes(isa, 0_u32.wrapping_sub(u32::from(constant >> i & 1))))
    }
}

/// One block per lane, in `N` bundles.
struct Blocks<'a, W: Lane32, const N: usize>(&'a OwnKeys<W>, &'a mut [Block; LANES_MAX]);

impl<W: Lane32, const N: usize> Kernel for Blocks<'_, W, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(cipher, blocks) = self;
        let bundles = Bundles::<W, _, N> { isa: cipher.isa, cipher };
        let states = bundles.load(blocks);
        bundles.store(cipher.on_bundles(states), blocks);
    }
}
