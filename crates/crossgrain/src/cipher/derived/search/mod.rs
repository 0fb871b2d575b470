//! Search for the key of a described cipher: its steps on batches of keys, and on [`registers`] all steps in
//! one kernel.
//!
//! * Bits of 64 keys in integers, by gates: [`Schedule`] and [`Rounds`].
//! * Bytes of many keys in registers: `steps`.
//! * Blocks by table look-ups: [`TableSchedule`] and [`TableRounds`].
//!
//! Invariant: all known bits are compared, so reported keys are right. Except in the look-ups, no branch or
//! index depends on a key, apart from the result of the comparison.

pub mod registers;
#[cfg(feature = "search-steps")]
pub mod steps;

use std::fmt;

use zeroize::Zeroizing;

use crate::block::{BLOCK_BYTES, Block, Cipher, Direction};
use crate::cipher::{Entry, KEYS_AT_ONCE};
use crate::kernel::search::{Batch, KeyStep, Known};

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

/// All rounds on bits of the known block under 64 keys.
#[derive(Clone, Copy)]
pub struct Rounds {
    entry: &'static Entry,
    direction: Direction,
    input: Block,
}

impl Rounds {
    /// The step for keys of a cipher.
    pub fn new(cipher: Cipher, known: &Known) -> Self {
        let Known { direction, input, .. } = *known;
        Self { entry: Entry::of(cipher.family()), direction, input }
    }
}

impl fmt::Debug for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rounds({:?})", self.entry)
    }
}

impl KeyStep for Rounds {
    fn run(&self, batch: &mut Batch) {
        let Self { entry, direction, input } = self;
        for bundle in 0..batch.keys / KEYS_AT_ONCE {
            entry.under_keys(&batch.round_keys, *direction, input, &mut batch.state, bundle);
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

/// All rounds by table look-ups, one key after another. The addresses depend on the keys.
#[derive(Clone, Copy, Debug)]
pub struct TableRounds(pub Rounds);

impl KeyStep for TableRounds {
    fn run(&self, batch: &mut Batch) {
        let Self(Rounds { entry, direction, input }) = *self;
        let Batch { keys, round_keys, state, .. } = batch;
        let mut schedule = Zeroizing::new(vec![0; BLOCK_BYTES * round_keys.len()]);
        for number in 0..*keys {
            let place = number * BLOCK_BYTES..(number + 1) * BLOCK_BYTES;
            for (round_key, tile) in schedule.chunks_exact_mut(BLOCK_BYTES).zip(&*round_keys) {
                round_key.copy_from_slice(&tile.bytes()[place.clone()]);
            }
            let block = entry.under_key(&schedule, direction, input);
            state.bytes_mut()[place].copy_from_slice(&block);
        }
    }
}
