//! Search for the key of a described cipher: its steps on batches of keys, and on [`registers`] all steps in
//! one kernel.
//!
//! * Bits of 64 keys in integers, by gates: [`Schedule`] and [`Rounds`].
//! * Bytes of many keys in registers: `steps`.
//! * Blocks by table look-ups: [`TableSchedule`] and [`TableRounds`].
//!
//! The rounds are two steps, the first rounds and the last ones, so that the last ones may have another
//! representation. On registers, this step computes only four bytes if these are known.
//!
//! Invariant: except in the look-ups, no branch or index depends on a key, apart from the result of the
//! comparison.

pub mod registers;
#[cfg(feature = "search-steps")]
pub mod steps;

use std::fmt;
use std::ops::Range;

use zeroize::Zeroizing;

use crate::block::{BLOCK_BYTES, Block, Cipher, Direction};
use crate::cipher::{Entry, KEYS_AT_ONCE, Portion};
use crate::kernel::search::{Batch, KeyStep, Known};
use crate::kernel::search_sizes;

/// The key schedule on bits of 64 keys.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    entry: &'static Entry,
    key_bytes: usize,
    direction: Direction,
}

impl Schedule {
    /// The step for keys of a cipher.
    pub fn new(cipher: Cipher, known: &Known) -> Self {
        let entry = Entry::of(cipher.family());
        Self { entry, key_bytes: cipher.key_bytes(), direction: known.direction }
    }
}

impl KeyStep for Schedule {
    fn run(&self, batch: &mut Batch) {
        let Self { entry, key_bytes, direction } = *self;
        for bundle in 0..batch.keys / KEYS_AT_ONCE {
            entry.schedules((&batch.key, key_bytes), direction, &mut batch.round_keys, bundle);
        }
    }
}

/// A portion of the rounds on bits of the known block under 64 keys.
#[derive(Clone)]
pub struct Rounds {
    entry: &'static Entry,
    portion: Portion,
    direction: Direction,
    input: Block,
    /// The round keys of this portion, in blocks.
    keys: Range<usize>,
}

impl Rounds {
    /// The step for keys of a cipher.
    pub fn new(portion: Portion, cipher: Cipher, known: &Known) -> Self {
        let Known { direction, input, .. } = *known;
        let last = search_sizes(cipher).of_last_rounds(direction);
        let keys = if portion == Portion::Last { last } else { 0..last.start };
        Self { entry: Entry::of(cipher.family()), portion, direction, input, keys }
    }
}

impl fmt::Debug for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rounds({:?}, {:?})", self.entry, self.portion)
    }
}

impl KeyStep for Rounds {
    fn run(&self, batch: &mut Batch) {
        let Self { entry, portion, direction, ref input, ref keys } = *self;
        for bundle in 0..batch.keys / KEYS_AT_ONCE {
            let round_keys = &batch.round_keys[keys.clone()];
            entry.under_keys(portion, round_keys, (direction, input), &mut batch.state, bundle);
        }
    }
}

/// The key schedule, one key after another, by table look-ups. The addresses depend on the keys.
#[derive(Clone, Copy, Debug)]
pub struct TableSchedule(pub Schedule);

impl KeyStep for TableSchedule {
    fn run(&self, batch: &mut Batch) {
        let Self(Schedule { entry, key_bytes, direction }) = *self;
        let Batch { keys, key: halves, round_keys, .. } = batch;
        let mut key = Zeroizing::new([0; 2 * BLOCK_BYTES]);
        for number in 0..*keys {
            let place = number * BLOCK_BYTES..(number + 1) * BLOCK_BYTES;
            for (part, half) in key.chunks_exact_mut(BLOCK_BYTES).zip(&*halves) {
                part.copy_from_slice(&half.bytes()[place.clone()]);
            }
            let schedule = entry.round_keys(&key[..key_bytes], direction);
            for (tile, round_key) in round_keys.iter_mut().zip(schedule.chunks(BLOCK_BYTES)) {
                tile.bytes_mut()[place.start..][..round_key.len()].copy_from_slice(round_key);
            }
        }
    }
}

/// A portion of the rounds by table look-ups, one key after another. The addresses depend on the keys.
#[derive(Clone, Debug)]
pub struct TableRounds(pub Rounds);

impl KeyStep for TableRounds {
    fn run(&self, batch: &mut Batch) {
        let Self(Rounds { entry, portion, direction, input, keys: of_portion }) = self;
        let Batch { keys, round_keys, state, .. } = batch;
        let round_keys = &round_keys[of_portion.clone()];
        let mut schedule = Zeroizing::new(vec![0; BLOCK_BYTES * round_keys.len()]);
        for number in 0..*keys {
            let place = number * BLOCK_BYTES..(number + 1) * BLOCK_BYTES;
            for (round_key, tile) in schedule.chunks_exact_mut(BLOCK_BYTES).zip(round_keys) {
                round_key.copy_from_slice(&tile.bytes()[place.clone()]);
            }
            let block = &mut state.bytes_mut().as_chunks_mut().0[number];
            if *portion != Portion::Last {
                *block = *input;
            }
            entry.under_key(*portion, &schedule, *direction, block);
        }
    }
}
