//! Records, each under a key of its own: the face of kernels that hold a key for each lane.
//!
//! A kernel takes as many keys as it has lanes, works out their schedules side by side, and then runs record i under the key of
//! lane i. What it does with single blocks is enough to run any mode (`by_steps`): a few blocks of every record at a time. Long
//! records fill registers of their own, with the same key in all lanes.
//! Holds: what is branched on is public: how many records there are, how long they are, and their counters.

use std::mem;

use super::Source;
use super::chain::{Rule, Strand};
use super::counter::Counter;
use crate::block::{BLOCK_BYTES, Block, Key};
use crate::message::Record;
use crate::word::{Buffers, wipe};

/// Keys that any kernel holds at once, at most.
pub const LANES_MAX: usize = 32;

/// Where the blocks of records come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Born {
    /// In the input: the result replaces them (ECB).
    Bytes,
    /// In a counter, from the initialisation vector on; the result is added to the input (CTR).
    Counter,
    /// In the input; to the result is added the input one block earlier (CBC decryption).
    Chained,
}

impl Born {
    /// The source of a record that begins so.
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
pub(super) const fn counter(iv: &Block) -> Counter {
    Counter::big_endian(u128::from_be_bytes(*iv))
}

/// A cipher in one direction with a key for each lane.
pub trait Keyed {
    /// Keys that are held at once: no more than [`LANES_MAX`].
    fn lanes(&self) -> usize;

    /// Takes keys, one for each lane from the first on.
    ///
    /// # Panics
    /// If there are more than lanes, or one is of another cipher.
    fn set(&mut self, keys: &[&Key]);

    /// Replaces the first `count` blocks, each by the key of its lane. Those behind them become anything.
    fn blocks(&self, blocks: &mut [Block; LANES_MAX], count: usize);

    /// Replaces records, each by the key of its lane.
    ///
    /// # Panics
    /// If a record is no whole number of blocks and its source needs that.
    fn run(&mut self, born: Born, records: &mut [&mut Record<'_>]);

    /// Whether records that are run together should be about as long.
    fn wants_alike(&self) -> bool;

    /// Takes chains `blocks` blocks further, each by the key of its lane. The cipher must be one that encrypts.
    fn chain(&self, rule: Rule, strands: &mut [&mut Strand<'_>], blocks: usize);

    /// Takes chains to their ends. The longest must stand in front: those that are still running keep their lanes.
    fn chain_to_ends(&self, rule: Rule, strands: &mut [&mut Strand<'_>]) {
        let mut running = strands.len();
        while running > 0 {
            let len_bytes = strands[running - 1].data.len_bytes();
            if len_bytes == 0 {
                running -= 1;
                continue;
            }
            self.chain(rule, &mut strands[..running], len_bytes / BLOCK_BYTES);
            strands[..running].iter_mut().for_each(|strand| strand.data.advance(len_bytes));
        }
    }
}

/// Blocks of a record that are worked on together: a cache line. What is written block by block and read back as a register at
/// once would be waited for.
const STEPS: usize = 4;

/// Bytes of a record in as many steps.
const STEPS_BYTES: usize = STEPS * BLOCK_BYTES;

/// The next blocks of all records: what enters the cipher, and what is added to its result. Wiped when dropped.
struct Steps {
    states: [[Block; LANES_MAX]; STEPS],
    added: [[Block; LANES_MAX]; STEPS],
    /// The last blocks of input so far.
    before: [Block; LANES_MAX],
}

impl Steps {
    /// Takes the blocks of a record from byte `first` on, and says how many.
    fn enter(&mut self, born: Born, lane: usize, record: &Record<'_>, first: usize) -> usize {
        let left = record.buffers.input().get(first..).unwrap_or_default();
        let left = &left[..left.len().min(STEPS_BYTES)];
        for (step, part) in left.chunks(BLOCK_BYTES).enumerate() {
            assert!(born == Born::Counter || part.len() == BLOCK_BYTES);
            let input = part.first_chunk().copied().unwrap_or_else(|| padded(part));
            (self.states[step][lane], self.added[step][lane]) = match born {
                Born::Bytes => (input, [0; BLOCK_BYTES]),
                Born::Counter => {
                    let number = (first / BLOCK_BYTES + step) as u128;
                    (counter(&record.iv).skip(number).block(), input)
                }
                Born::Chained => (input, mem::replace(&mut self.before[lane], input)),
            };
        }
        left.len().div_ceil(BLOCK_BYTES)
    }

    /// Gives a record its results from byte `first` on.
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

/// Runs records of less than `below_bytes` some blocks of each at a time. Those that are longer should stand in front.
pub(super) fn by_steps(
    born: Born,
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
                let taken = steps.enter(born, lane, record, first);
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

/// Less than a block, with zeros behind it.
fn padded(part: &[u8]) -> Block {
    let mut block = [0; BLOCK_BYTES];
    block[..part.len()].copy_from_slice(part);
    block
}

/// Runs a record by a cipher of one key that takes whole blocks.
pub(super) fn run_alone(born: Born, record: &mut Record<'_>, run: &dyn Fn(Source<'_>, Buffers<'_>)) {
    let whole_bytes = record.buffers.len_bytes() / BLOCK_BYTES * BLOCK_BYTES;
    let source = born.source(&record.iv);
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
