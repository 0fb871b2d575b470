//! Messages of which each has a key of its own: the face of kernels that hold a key a lane.
//!
//! A kernel takes as many keys as it has lanes, works out their schedules side by side, and then runs message i under the key of
//! lane i. What it does with single blocks is enough to run any mode (`by_steps`): a block of every message at a time.
//! Holds: what is branched on is public: how many messages there are, how long they are, and their counters.

use super::Source;
use super::chain::{Rule, Strand};
use crate::block::{BLOCK_BYTES, Block, Key};
use crate::word::{Buffers, wipe};

/// Keys that any kernel holds at once, at most.
pub const LANES_MAX: usize = 32;

/// A message, and where its blocks are born.
pub type Job<'a> = (Source<'a>, Buffers<'a>);

/// A cipher in one direction with a key a lane.
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

    /// Replaces messages, each by the key of its lane. Their buffers are used up.
    ///
    /// # Panics
    /// If a message is no whole number of blocks and its source needs that.
    fn run(&self, jobs: &mut [Job<'_>]) {
        by_steps(jobs, &|blocks, count| self.blocks(blocks, count));
    }

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

/// Runs messages a block of each at a time. Those that are longer should stand in front.
pub(super) fn by_steps(jobs: &mut [Job<'_>], blocks: &dyn Fn(&mut [Block; LANES_MAX], usize)) {
    let (mut states, mut added) = ([[0; BLOCK_BYTES]; LANES_MAX], [[0; BLOCK_BYTES]; LANES_MAX]);
    loop {
        let mut count = 0;
        for (lane, (source, buffers)) in jobs.iter_mut().enumerate() {
            let len_bytes = buffers.len_bytes().min(BLOCK_BYTES);
            if len_bytes == 0 {
                continue;
            }
            assert!(source.takes_partial_blocks() || len_bytes == BLOCK_BYTES);
            let mut input = [0; BLOCK_BYTES];
            input[..len_bytes].copy_from_slice(&buffers.input()[..len_bytes]);
            (states[lane], added[lane]) = source.around(input);
            *source = source.after(&input);
            count = lane + 1;
        }
        if count == 0 {
            break;
        }
        blocks(&mut states, count);
        for (lane, (_, buffers)) in jobs[..count].iter_mut().enumerate() {
            let sum = u128::from_ne_bytes(states[lane]) ^ u128::from_ne_bytes(added[lane]);
            let len_bytes = buffers.len_bytes().min(BLOCK_BYTES);
            buffers.take_front(len_bytes).output_mut().copy_from_slice(&sum.to_ne_bytes()[..len_bytes]);
        }
    }
    wipe(states.as_flattened_mut());
    wipe(added.as_flattened_mut());
}
