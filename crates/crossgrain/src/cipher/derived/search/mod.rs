//! Search for the key of a described cipher: its steps on batches of keys, and on [`registers`] all steps in
//! one kernel.
//!
//! The schedule is bit-sliced, with gates for 64 keys at a time. The rounds are bit-sliced too, or use table
//! lookups.
//!
//! Invariant: all known bits are compared, so reported keys are right. Except in the lookups, no branch or
//! index depends on a key, apart from the result of the comparison.

pub mod registers;

use std::fmt;

use crate::block::{BLOCK_BYTES, Block, Cipher, Direction};
use crate::cipher::{Entry, KEYS_AT_ONCE};
use crate::kernel::search::{Batch, KeyStep, Known};

/// Computes the round keys of each key.
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
        batch.round_keys.clear();
        for keys in batch.keys.chunks(KEYS_AT_ONCE * key_bytes) {
            batch.round_keys.extend(entry.schedules(keys, key_bytes, direction));
        }
    }
}

/// Computes the known block under each key.
#[derive(Clone, Copy, Debug)]
pub struct Rounds<const ACROSS: bool> {
    entry: &'static Entry,
    direction: Direction,
    input: Block,
}

impl<const ACROSS: bool> Rounds<ACROSS> {
    /// The step for keys of a cipher.
    pub fn new(cipher: Cipher, known: &Known) -> Self {
        let Known { direction, input, .. } = *known;
        Self { entry: Entry::of(cipher.family()), direction, input }
    }
}

impl<const ACROSS: bool> KeyStep for Rounds<ACROSS> {
    fn run(&self, batch: &mut Batch) {
        let Self { entry, direction, input } = self;
        let Batch { round_keys, results, .. } = batch;
        results.clear();
        if ACROSS {
            for keys in round_keys.chunks(KEYS_AT_ONCE) {
                results.extend(&entry.under_keys(keys, *direction, input)[..keys.len()]);
            }
        } else {
            results.extend(round_keys.iter().map(|keys| entry.under_key(keys, *direction, *input)));
        }
    }
}

/// Compares each result with the known bits.
#[derive(Clone, Copy)]
pub struct Comparison {
    output: Block,
    mask: Block,
}

impl Comparison {
    /// The step for this known block.
    pub const fn new(known: &Known) -> Self {
        Self { output: known.output, mask: known.mask }
    }
}

impl fmt::Debug for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Comparison")
    }
}

impl KeyStep for Comparison {
    fn run(&self, batch: &mut Batch) {
        let Self { output, mask } = self;
        let differs =
            |result: &Block| (0..BLOCK_BYTES).fold(0, |sum, i| sum | (result[i] ^ output[i]) & mask[i]) != 0;
        let Batch { results, found, .. } = batch;
        found.clear();
        found.extend(
            results.iter().enumerate().filter(|(_, result)| !differs(result)).map(|(place, _)| place),
        );
    }
}
