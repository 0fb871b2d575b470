//! Records with a separate key each: the trait of kernels that hold one key per lane.
//!
//! A kernel takes up to one key per lane and computes their key schedules side by side. Then it runs record i
//! under the key of lane i. [`Keyed::blocks`] is enough to run any mode: `by_steps` works on a few blocks of
//! every record at a time. A long record instead fills whole registers, with its key in all lanes.
//!
//! Invariant: branches depend only on public facts: the number of records, their lengths and their counters.

use std::mem;

use super::Source;
use crate::arch::{Buffers, wipe};
use crate::block::{BLOCK_BYTES, Block, Key};
use crate::message::Record;
use crate::mode::chained::chain::{ChainMessage, Rule};
use crate::mode::ctr::counter::Counter;

/// The maximum number of keys that any kernel holds at once.
pub const LANES_MAX: usize = 32;

/// How a mode forms the cipher's input for records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordSource {
    /// The input enters the cipher, and the result replaces it (ECB).
    Bytes,
    /// Counter blocks from the initialisation vector on enter the cipher. The result is added to the input
    /// (CTR).
    Counter,
    /// The input enters the cipher. The previous input block is added to the result (CBC decryption).
    Chained,
}

impl RecordSource {
    /// The source of a record with this initialisation vector.
    #[inline(always)]
    pub fn source(self, iv: &Block) -> Source<'static> {
        match self {
            Self::Bytes => Source::Bytes,
            Self::Counter => Source::Counter(counter(iv)),
            Self::Chained => Source::Chained(*iv),
        }
    }
}

/// The counter that begins with this block.
#[inline(always)]
pub(crate) const fn counter(iv: &Block) -> Counter {
    Counter::big_endian(u128::from_be_bytes(*iv))
}

/// A cipher in one direction with one key per lane.
pub trait Keyed {
    /// The number of keys that are held at once, at most [`LANES_MAX`].
    fn lanes(&self) -> usize;

    /// Sets the keys of the first lanes.
    ///
    /// # Panics
    /// If there are more keys than lanes, or if a key belongs to another cipher.
    fn set(&mut self, keys: &[&Key]);

    /// Replaces the first `count` blocks, each under the key of its lane. The blocks after them get
    /// unspecified values.
    fn blocks(&self, blocks: &mut [Block; LANES_MAX], count: usize);

    /// Replaces records, each under the key of its lane.
    ///
    /// # Panics
    /// If a record is not a whole number of blocks and its source requires that.
    fn run(&mut self, source: RecordSource, records: &mut [&mut Record<'_>]);

    /// Whether records that run together should have similar lengths.
    fn wants_alike(&self) -> bool;

    /// Advances chains by `blocks` blocks, each under the key of its lane. The cipher must be an encrypting
    /// one.
    fn chain(&self, rule: Rule, chains: &mut [&mut ChainMessage<'_>], blocks: usize);

    /// Runs chains to their ends. They must be sorted with the longest first, so that those still running
    /// keep their lanes.
    fn chain_to_ends(&self, rule: Rule, chains: &mut [&mut ChainMessage<'_>]) {
        let mut running = chains.len();
        while running > 0 {
            let len_bytes = chains[running - 1].data.len_bytes();
            if len_bytes == 0 {
                running -= 1;
                continue;
            }
            self.chain(rule, &mut chains[..running], len_bytes / BLOCK_BYTES);
            chains[..running].iter_mut().for_each(|chain| chain.data.advance(len_bytes));
        }
    }
}

/// Blocks of a record that are processed together: one cache line. With fewer, a register would be read right
/// after its blocks were stored separately, which defeats store forwarding.
const STEPS: usize = 4;

/// Bytes in that many blocks.
const STEPS_BYTES: usize = STEPS * BLOCK_BYTES;

/// The next blocks of all records: the cipher's inputs, and the blocks that are added to its results. Wiped
/// when dropped.
struct Steps {
    states: [[Block; LANES_MAX]; STEPS],
    added: [[Block; LANES_MAX]; STEPS],
    /// The last input block of each record so far.
    before: [Block; LANES_MAX],
}

impl Steps {
    /// Copies blocks of a record from byte `first` on, and returns their number.
    fn enter(&mut self, source: RecordSource, lane: usize, record: &Record<'_>, first: usize) -> usize {
        let left = record.buffers.input().get(first..).unwrap_or_default();
        let left = &left[..left.len().min(STEPS_BYTES)];
        for (step, part) in left.chunks(BLOCK_BYTES).enumerate() {
            assert!(source == RecordSource::Counter || part.len() == BLOCK_BYTES);
            let input = part.first_chunk().copied().unwrap_or_else(|| padded(part));
            (self.states[step][lane], self.added[step][lane]) = match source {
                RecordSource::Bytes => (input, [0; BLOCK_BYTES]),
                RecordSource::Counter => {
                    let number = (first / BLOCK_BYTES + step) as u128;
                    (counter(&record.iv).skip(number).block(), input)
                }
                RecordSource::Chained => (input, mem::replace(&mut self.before[lane], input)),
            };
        }
        left.len().div_ceil(BLOCK_BYTES)
    }

    /// Writes a record's results from byte `first` on.
    fn leave(&self, lane: usize, record: &mut Record<'_>, first: usize) {
        let left = record.buffers.output_mut().get_mut(first..).unwrap_or_default();
        for (step, part) in left.chunks_mut(BLOCK_BYTES).take(STEPS).enumerate() {
            let [state, added] =
                [&self.states, &self.added].map(|steps| u128::from_ne_bytes(steps[step][lane]));
            let sum = (state ^ added).to_ne_bytes();
            match part.first_chunk_mut() {
                Some(block) => *block = sum,
                None => part.copy_from_slice(&sum[..part.len()]),
            }
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        wipe(self.states.as_flattened_mut().as_flattened_mut());
        wipe(self.added.as_flattened_mut().as_flattened_mut());
    }
}

/// Runs the records shorter than `below_bytes`, a few blocks of each at a time. Longer records should come
/// first.
pub(crate) fn by_steps(
    source: RecordSource,
    records: &mut [&mut Record<'_>],
    below_bytes: usize,
    blocks: &dyn Fn(&mut [Block; LANES_MAX], usize),
) {
    const NONE: [[Block; LANES_MAX]; STEPS] = [[[0; BLOCK_BYTES]; LANES_MAX]; STEPS];
    let short_bytes = |record: &Record<'_>| Some(record.buffers.len_bytes()).filter(|&len| len < below_bytes);
    let longest = records.iter().filter_map(|record| short_bytes(record)).max().unwrap_or(0);
    let mut steps = Steps { states: NONE, added: NONE, before: [[0; BLOCK_BYTES]; LANES_MAX] };
    for (before, record) in steps.before.iter_mut().zip(&*records) {
        *before = record.iv;
    }
    for first in (0..longest).step_by(STEPS_BYTES) {
        let mut counts = [0; STEPS];
        for (lane, record) in records.iter().enumerate() {
            if short_bytes(record).is_some_and(|len_bytes| len_bytes > first) {
                let taken = steps.enter(source, lane, record, first);
                counts[..taken].fill(lane + 1);
            }
        }
        for (states, count) in steps.states.iter_mut().zip(counts).filter(|(_, count)| *count > 0) {
            blocks(states, count);
        }
        for (lane, record) in records.iter_mut().enumerate() {
            if short_bytes(record).is_some() {
                steps.leave(lane, record, first);
            }
        }
    }
}

/// Pads less than a block with zeros.
fn padded(part: &[u8]) -> Block {
    let mut block = [0; BLOCK_BYTES];
    block[..part.len()].copy_from_slice(part);
    block
}

/// Runs a record with a one-key cipher that takes whole blocks.
pub(crate) fn run_alone(
    source: RecordSource,
    record: &mut Record<'_>,
    run: &dyn Fn(Source<'_>, Buffers<'_>),
) {
    let whole_bytes = record.buffers.len_bytes() / BLOCK_BYTES * BLOCK_BYTES;
    let source = source.source(&record.iv);
    let (whole, mut part) = record.buffers.reborrow().split_at(whole_bytes);
    let after = source.after(whole.input());
    run(source, whole);
    if !part.is_empty() {
        assert!(source.takes_partial_blocks());
        let mut copy = padded(part.input());
        run(after, Buffers::in_place(&mut copy));
        let len_bytes = part.len_bytes();
        part.output_mut().copy_from_slice(&copy[..len_bytes]);
        wipe(&mut copy);
    }
}
