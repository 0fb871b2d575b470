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
use crate::word::{AesLanes, Inputs, Kernel, SideBySide, prefetch, prefetch_for_later};

/// Steps that are staged together: four cache lines of every message. Messages of a round length fall into the same few
/// sets of the first cache, which hold no more than a line or two of each: taken line by line, what the CPU fetches
/// ahead of one is pushed out by the others before it is asked for. Twice as many gain
/// nothing, and short messages pay for clearing them.
pub(super) const STEPS: usize = 16;

/// The same of squares: one for each half of a step.
pub(super) const STEPS_BY_SQUARES: usize = 8;

/// Stages from which on it pays that blocks are brought in and taken out by whole lines: a first stage goes to where a line begins.
const LONG: usize = 32;

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
        let first = if const { STEPS == STEPS_BY_SQUARES } && blocks >= LONG * STEPS {
            messages.bytes_to_line(BLOCK_BYTES)
        } else {
            0
        };
        let first = if first == 0 { (STEPS * BLOCK_BYTES).min(end) } else { first };
        let messages = &mut messages;
        let mut moves = Moves { out: 0..0, into: 0..first };
        Exchange { stage: &mut *now, messages, step: 0, share: LANES, moves: &moves }.all();
        while !moves.into.is_empty() {
            let here = moves.into;
            moves.into = here.end..(here.end + STEPS * BLOCK_BYTES).min(end);
            let steps = here.len() / BLOCK_BYTES;
            let share = if const { STEPS == STEPS_BY_SQUARES } && moves.are_whole::<STEPS>() && steps == STEPS
            {
                0
            } else {
                count.div_ceil(steps)
            };
            for step in 0..steps {
                let mut exchange = Exchange { stage: &mut *other, messages, step, share, moves: &moves };
                lanes.advance(rule, &mut state, now.step(step), &mut exchange);
            }
            moves.out = if rule.writes() { here } else { 0..0 };
            std::mem::swap(&mut now, &mut other);
        }
        Exchange { stage: other, messages, step: 0, share: LANES, moves: &moves }.all();
        lanes.store(state, now.step(0));
        for (strand, state) in strands.iter_mut().zip(now.step(0)) {
            strand.state = *state;
        }
    }
}

/// Which bytes of messages are brought into a stage, and to where those in it are taken first.
struct Moves {
    out: Range<usize>,
    into: Range<usize>,
}

impl Moves {
    /// Whether all steps of a stage are moved, or none.
    #[inline(always)]
    fn are_whole<const STEPS: usize>(&self) -> bool {
        let bytes = STEPS * BLOCK_BYTES;
        self.into.len() == bytes && (self.out.is_empty() || self.out.len() == bytes)
    }
}

/// What step `step` does to a stage: its share of the lanes is emptied and filled, half of them at a time.
pub(super) struct Exchange<'a, 'd, const LANES: usize, const STEPS: usize> {
    stage: &'a mut Stage<LANES, STEPS>,
    messages: &'a mut SideBySide<'d, LANES>,
    step: usize,
    /// Lanes a step; none where squares are moved.
    share: usize,
    moves: &'a Moves,
}

impl<const LANES: usize, const STEPS: usize> Exchange<'_, '_, LANES, STEPS> {
    #[inline(always)]
    pub(super) fn all(&mut self) {
        self.lanes(self.share());
    }

    /// Either half, the first or the second.
    #[inline(always)]
    pub(super) fn half<W: AesLanes>(&mut self, isa: W::Isa, half: usize) {
        if const { W::BLOCKS == SQUARE && STEPS == STEPS_BY_SQUARES } && self.share == 0 {
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
        let Moves { out, into } = self.moves;
        if !out.is_empty() {
            for lane in lanes.clone() {
                self.stage.drain(lane, &mut self.messages.output_mut(lane)[out.start..out.end]);
            }
        }
        if !into.is_empty() {
            let are_many = self.messages.count() > FORESEEN;
            for lane in lanes {
                let message = self.messages.input(lane);
                self.stage.fill(lane, &message[into.start..]);
                expect::<STEPS>(message, are_many, into.start, 0..STEPS);
            }
        }
    }

    /// A register's worth of blocks of as many messages, which lie in a register's lanes for as many steps.
    #[inline(always)]
    fn square<W: AesLanes>(&mut self, isa: W::Isa, square: usize) {
        let place @ (lane, step) =
            (square / (STEPS / W::BLOCKS) * W::BLOCKS, square % (STEPS / W::BLOCKS) * W::BLOCKS);
        let Moves { out, into } = self.moves;
        if !out.is_empty() {
            let blocks: [W; SQUARE] = self.stage.square(isa, place);
            self.messages.store(lane / W::BLOCKS, out.start + step * BLOCK_BYTES, blocks);
        }
        let messages: Inputs<'_, SQUARE> = self.messages.inputs(lane / W::BLOCKS);
        self.stage.fill_square::<W>(place, messages.load(isa, into.start + step * BLOCK_BYTES));
        for message in messages.each() {
            expect::<STEPS>(message, LANES > FORESEEN, into.start, step..step + W::BLOCKS);
        }
    }
}

/// Asks for the lines of a message that hold these steps of the stage after one that begins `at` this byte. By their last bytes: where
/// a message does not begin with a line, its first has come with what was before.
#[inline(always)]
fn expect<const STEPS: usize>(message: &[u8], is_of_many: bool, at: usize, steps: Range<usize>) {
    for line in (steps.start * BLOCK_BYTES..steps.end * BLOCK_BYTES).step_by(LINE_BYTES) {
        let end = at + line + (LINE_BYTES - 1);
        prefetch(message, end + STEPS * BLOCK_BYTES);
        if is_of_many {
            prefetch_for_later(message, end + LATER_BYTES);
        }
    }
}
