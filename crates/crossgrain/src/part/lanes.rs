//! Chains side by side in registers: a chain a lane.
//!
//! While the blocks of one stage are computed, those of the next are brought in and the results of the one before
//! are taken out, some lanes a step, and those of the one after are asked for, so that the memory works while the
//! cipher does. A lane costs twice as many stores as a stage has steps, and a CPU's queue of stores (64 on Zen 4) holds those of one
//! lane: two in a row stop the cipher until they are written, so a cipher may run the second half among its rounds.
//! Holds: a block is read before it is replaced, and each chain touches its own alone.

use std::ops::Range;

use super::chain::{LINE_BYTES, Rule, SQUARE, Stage, Strand};
use crate::block::{BLOCK_BYTES, Block};
use crate::word::{AesLanes, Kernel, SideBySide};

/// Steps that are staged together: four cache lines of every message. Messages of a round length fall into the same few
/// sets of the first cache, which hold no more than a line or two of each: taken line by line, what the CPU fetches
/// ahead of one is pushed out by the others before it is asked for. Twice as many gain
/// nothing, and short messages pay for clearing them.
pub(super) const STEPS: usize = 16;

/// The same of squares: one for each half of a step.
pub(super) const STEPS_BY_SQUARES: usize = 8;

/// Messages whose next lines the CPU fetches from memory by itself, and in time, on Zen 4: of 16 it does, of 32 not.
const FORESEEN: usize = 16;

/// How far ahead the second cache is asked for lines, since the first waits for no more than 24 at once on Zen 4.
const LATER_BYTES: usize = 5 * STEPS * BLOCK_BYTES;

/// A cipher on up to `LANES` blocks in registers. Its methods must be `#[inline(always)]`, as a kernel's.
pub(super) trait Lanes<const LANES: usize> {
    /// A block a lane.
    type State: Copy;

    /// Blocks into their lanes.
    fn load(&self, blocks: &[Block; LANES]) -> Self::State;

    /// Blocks out of their lanes.
    fn store(&self, state: Self::State, blocks: &mut [Block; LANES]);

    /// One step of every chain; inputs are replaced by outputs. Both halves of the exchange go beside it.
    fn advance<const STEPS: usize>(
        &self,
        rule: Rule,
        state: &mut Self::State,
        blocks: &mut [Block; LANES],
        exchange: &mut Exchange<'_, '_, LANES, STEPS>,
    );
}

/// Takes no more than `LANES` chains `blocks` blocks further.
pub(super) struct Chains<'a, 's, 'd, L, const LANES: usize, const STEPS: usize> {
    pub(super) lanes: L,
    pub(super) strands: &'a mut [&'s mut Strand<'d>],
    pub(super) blocks: usize,
    pub(super) rule: Rule,
}

impl<L: Lanes<LANES>, const LANES: usize, const STEPS: usize> Kernel for Chains<'_, '_, '_, L, LANES, STEPS> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lanes, strands, blocks, rule } = self;
        let mut stages = [Stage::<LANES, STEPS>::new(), Stage::new()];
        let [now, other] = &mut stages;
        let (mut now, mut other) = (now, other);
        for (lane, strand) in strands.iter().enumerate() {
            now.step(0)[lane] = strand.state;
        }
        let mut state = lanes.load(now.step(0));
        let (end, count) = (blocks * BLOCK_BYTES, strands.len());
        let mut messages = SideBySide::new(end);
        for strand in &mut *strands {
            strand.data.show(&mut messages);
        }
        let messages = &mut messages;
        let moves = Moves { out: None, into: Some(0), end };
        Exchange { stage: &mut *now, messages, step: 0, share: LANES, moves }.all();
        for at in (0..end).step_by(STEPS * BLOCK_BYTES) {
            let steps = STEPS.min((end - at) / BLOCK_BYTES);
            let out = at.checked_sub(STEPS * BLOCK_BYTES).filter(|_| rule.writes());
            let into = Some(at + STEPS * BLOCK_BYTES).filter(|&next| next < end);
            let (moves, share) = (Moves { out, into, end }, count.div_ceil(steps));
            for step in 0..steps {
                let mut exchange = Exchange { stage: &mut *other, messages, step, share, moves };
                lanes.advance(rule, &mut state, now.step(step), &mut exchange);
            }
            std::mem::swap(&mut now, &mut other);
        }
        let last = end.next_multiple_of(STEPS * BLOCK_BYTES).checked_sub(STEPS * BLOCK_BYTES);
        let moves = Moves { out: last.filter(|_| rule.writes()), into: None, end };
        Exchange { stage: other, messages, step: 0, share: LANES, moves }.all();
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
}

impl Moves {
    /// Whether the stage is filled by so many steps; those before it were.
    #[inline(always)]
    fn fill(&self, steps: usize) -> bool {
        self.into.is_some_and(|at| at + steps * BLOCK_BYTES <= self.end)
    }
}

/// What step `step` does to a stage: its share of the lanes is emptied and filled, half of them at a time.
pub(super) struct Exchange<'a, 'd, const LANES: usize, const STEPS: usize> {
    stage: &'a mut Stage<LANES, STEPS>,
    messages: &'a mut SideBySide<'d, LANES>,
    step: usize,
    /// Lanes a step.
    share: usize,
    moves: Moves,
}

impl<const LANES: usize, const STEPS: usize> Exchange<'_, '_, LANES, STEPS> {
    #[inline(always)]
    pub(super) fn all(&mut self) {
        self.lanes(self.share());
    }

    /// Either half, the first or the second.
    #[inline(always)]
    pub(super) fn half<W: AesLanes>(&mut self, isa: W::Isa, half: usize) {
        if const { is_by_squares::<W>(LANES, STEPS) } && self.moves.fill(STEPS) {
            return self.square::<W>(isa, 2 * self.step + half);
        }
        let share = self.share();
        let middle = share.start + share.len() / 2;
        self.lanes(if half == 0 { share.start..middle } else { middle..share.end });
    }

    /// The lanes that this step moves.
    #[inline(always)]
    fn share(&self) -> Range<usize> {
        let (lanes, first) = (self.messages.count(), self.step * self.share);
        first.min(lanes)..(first + self.share).min(lanes)
    }

    #[inline(always)]
    fn lanes(&mut self, lanes: Range<usize>) {
        if let Some(at) = self.moves.out {
            let steps = STEPS.min((self.moves.end - at) / BLOCK_BYTES);
            for lane in lanes.clone() {
                self.stage.drain(lane, &mut self.messages.output_mut(lane)[at..], steps);
            }
        }
        if let Some(at) = self.moves.into {
            for lane in lanes {
                self.stage.fill(lane, &self.messages.input(lane)[at..]);
                self.expect(lane, at, 0..STEPS);
            }
        }
    }

    /// A register's worth of blocks of as many messages, which lie in a register's lanes for as many steps.
    #[inline(always)]
    fn square<W: AesLanes>(&mut self, isa: W::Isa, square: usize) {
        let place @ (lane, step) =
            (square / (STEPS / W::BLOCKS) * W::BLOCKS, square % (STEPS / W::BLOCKS) * W::BLOCKS);
        if let Some(at) = self.moves.out {
            let blocks: [W; SQUARE] = self.stage.square(isa, place);
            self.messages.store(lane, at + step * BLOCK_BYTES, blocks);
        }
        if let Some(at) = self.moves.into {
            let blocks: [W; SQUARE] = self.messages.load(isa, lane, at + step * BLOCK_BYTES);
            self.stage.fill_square(place, blocks);
            for lane in lane..lane + W::BLOCKS {
                self.expect(lane, at, step..step + W::BLOCKS);
            }
        }
    }

    /// Asks for the lines of a message that hold these steps of the stage after one that begins `at` this byte. By their last bytes: where
    /// a message does not begin with a line, its first has come with what was before.
    #[inline(always)]
    fn expect(&self, lane: usize, at: usize, steps: Range<usize>) {
        for line in (steps.start * BLOCK_BYTES..steps.end * BLOCK_BYTES).step_by(LINE_BYTES) {
            let end = at + line + (LINE_BYTES - 1);
            self.messages.expect(lane, end + STEPS * BLOCK_BYTES);
            if self.messages.count() > FORESEEN {
                self.messages.expect_later(lane, end + LATER_BYTES);
            }
        }
    }
}

/// Whether stages of so many lanes and steps are made of squares, one for each half of a step.
pub(super) const fn is_by_squares<W: AesLanes>(lanes: usize, steps: usize) -> bool {
    steps == STEPS_BY_SQUARES && W::BLOCKS == 4 && lanes == 2 * W::BLOCKS * W::BLOCKS
}
