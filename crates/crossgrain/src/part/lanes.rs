//! Chains side by side in registers: a chain a lane.
//!
//! While the blocks of one stage are computed, those of the next are brought in and the results of the one before
//! are taken out, some lanes a step, and those of the one after are asked for, so that the memory works while the
//! cipher does. A lane costs twice as many stores as a stage has steps, and a CPU's queue of stores (64 on Zen 4) holds those of one
//! lane: two in a row stop the cipher until they are written, so a cipher may run the second half among its rounds.
//! Holds: a block is read before it is replaced, and each chain touches its own alone.

use std::ops::Range;

use super::chain::{self, Rule, Strand};
use crate::block::{BLOCK_BYTES, Block};
use crate::word::Kernel;

/// Steps that are staged together: four cache lines of every message. Messages of a round length fall into the same few
/// sets of the first cache, which hold no more than a line or two of each: taken line by line, what the CPU fetches
/// ahead of one is pushed out by the others before it is asked for. Twice as many gain
/// nothing, and short messages pay for clearing them.
const STEPS: usize = 16;

/// Messages whose next lines the CPU fetches from memory by itself, and in time, on Zen 4: of 16 it does, of 32 not.
const FORESEEN: usize = 16;

/// How far ahead the second cache is asked for lines, since the first waits for no more than 24 at once on Zen 4.
const LATER_BYTES: usize = 5 * STEPS * BLOCK_BYTES;

type Stage<const LANES: usize> = chain::Stage<LANES, STEPS>;

/// A cipher on up to `LANES` blocks in registers. Its methods must be `#[inline(always)]`, as a kernel's.
pub(super) trait Lanes<const LANES: usize> {
    /// A block a lane.
    type State: Copy;

    /// Blocks into their lanes.
    fn load(&self, blocks: &[Block; LANES]) -> Self::State;

    /// Blocks out of their lanes.
    fn store(&self, state: Self::State, blocks: &mut [Block; LANES]);

    /// One step of every chain; inputs are replaced by outputs. Both halves of the exchange go beside it.
    fn advance(
        &self,
        rule: Rule,
        state: &mut Self::State,
        blocks: &mut [Block; LANES],
        exchange: &mut Exchange<'_, '_, '_, LANES>,
    );
}

/// Takes no more than `LANES` chains `blocks` blocks further.
pub(super) struct Chains<'a, 's, 'd, L, const LANES: usize> {
    pub(super) lanes: L,
    pub(super) strands: &'a mut [&'s mut Strand<'d>],
    pub(super) blocks: usize,
    pub(super) rule: Rule,
}

impl<L: Lanes<LANES>, const LANES: usize> Kernel for Chains<'_, '_, '_, L, LANES> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lanes, strands, blocks, rule } = self;
        let mut stages = [Stage::<LANES>::new(), Stage::new()];
        let [now, other] = &mut stages;
        let (mut now, mut other) = (now, other);
        for (lane, strand) in strands.iter().enumerate() {
            now.step(0)[lane] = strand.state;
        }
        let mut state = lanes.load(now.step(0));
        let (end, are_many) = (blocks * BLOCK_BYTES, strands.len() > FORESEEN);
        let moves = Moves { out: None, into: Some(0), end, are_many };
        Exchange { stage: &mut *now, strands: &mut *strands, first: 0, moves }.all();
        for at in (0..end).step_by(STEPS * BLOCK_BYTES) {
            let steps = STEPS.min((end - at) / BLOCK_BYTES);
            let out = at.checked_sub(STEPS * BLOCK_BYTES).filter(|_| rule.writes());
            let into = Some(at + STEPS * BLOCK_BYTES).filter(|&next| next < end);
            let share = strands.len().div_ceil(steps);
            for step in 0..steps {
                let from = (step * share).min(strands.len());
                let to = (from + share).min(strands.len());
                let (strands, moves) = (&mut strands[from..to], Moves { out, into, end, are_many });
                let mut exchange = Exchange { stage: &mut *other, strands, first: from, moves };
                lanes.advance(rule, &mut state, now.step(step), &mut exchange);
            }
            std::mem::swap(&mut now, &mut other);
        }
        let last = end.next_multiple_of(STEPS * BLOCK_BYTES).checked_sub(STEPS * BLOCK_BYTES);
        let moves = Moves { out: last.filter(|_| rule.writes()), into: None, end, are_many };
        Exchange { stage: other, strands: &mut *strands, first: 0, moves }.all();
        lanes.store(state, now.step(0));
        for (strand, state) in strands.iter_mut().zip(now.step(0)) {
            strand.state = *state;
        }
    }
}

/// From where in messages blocks are brought into a stage, and to where those in it are taken first.
#[derive(Clone, Copy)]
struct Moves {
    out: Option<usize>,
    into: Option<usize>,
    end: usize,
    /// Whether there are more messages than the CPU foresees by itself.
    are_many: bool,
}

/// Lanes of a stage from lane `first` on are emptied and filled, half of them at a time.
pub(super) struct Exchange<'a, 's, 'd, const LANES: usize> {
    stage: &'a mut Stage<LANES>,
    strands: &'a mut [&'s mut Strand<'d>],
    first: usize,
    moves: Moves,
}

impl<const LANES: usize> Exchange<'_, '_, '_, LANES> {
    #[inline(always)]
    pub(super) fn all(&mut self) {
        self.lanes(0..self.strands.len());
    }

    #[inline(always)]
    pub(super) fn first_half(&mut self) {
        self.lanes(0..self.strands.len() / 2);
    }

    #[inline(always)]
    pub(super) fn second_half(&mut self) {
        self.lanes(self.strands.len() / 2..self.strands.len());
    }

    #[inline(always)]
    fn lanes(&mut self, range: Range<usize>) {
        let first = self.first + range.start;
        let strands = &mut self.strands[range];
        if let Some(at) = self.moves.out {
            let steps = STEPS.min((self.moves.end - at) / BLOCK_BYTES);
            for (lane, strand) in strands.iter_mut().enumerate() {
                self.stage.drain(first + lane, &mut strand.data, at, steps);
            }
        }
        if let Some(at) = self.moves.into {
            for (lane, strand) in strands.iter().enumerate() {
                self.stage.fill(first + lane, &strand.data, at);
                Stage::<LANES>::expect(&strand.data, at + STEPS * BLOCK_BYTES);
                if self.moves.are_many {
                    Stage::<LANES>::expect_later(&strand.data, at + LATER_BYTES);
                }
            }
        }
    }
}
