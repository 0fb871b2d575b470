//! Serial modes in registers: each message (a chain) occupies one lane.
//!
//! Work is pipelined in stages of `STEPS` blocks of every message. While the cipher runs on stage n, each
//! step also handles a few lanes: it stores their results of stage n − 1, loads their blocks of stage n + 1
//! and prefetches those of stage n + 2. Memory and cipher thus work at the same time.
//!
//! A lane costs two stores per step of a stage. The store queue of a CPU (64 entries on Zen 4) holds the
//! stores of one lane. Two lanes in succession would stall the cipher until the queue drains, so a cipher can
//! run the second half of an exchange between its rounds.
//!
//! Invariants: a block is read before it is replaced, and each chain touches only its own buffers.

use std::ops::Range;

use crate::arch::{AesLanes, Inputs, Kernel, SideBySide, prefetch, prefetch_for_later};
use crate::block::{BLOCK_BYTES, Block};
use crate::mode::chained::chain::{ChainMessage, LINE_BYTES, Rule, SQUARE, Stage};

/// Steps per stage: four cache lines of every message.
///
/// Messages of a round length, such as 4096 bytes, map to the same few sets of the first-level cache. These
/// hold only a line or two of each message. With one line per stage, the lines that the CPU prefetches for
/// one message are evicted by the others before their use. Twice as many steps gain nothing, and short
/// messages pay for clearing them.
pub(crate) const STEPS: usize = 16;

/// Steps per stage if squares are moved. A stage then has one square for each half of a step.
pub(crate) const STEPS_BY_SQUARES: usize = 8;

/// Messages of at least this many stages are loaded and stored by whole cache lines. The first stage is
/// shortened so that the rest are line-aligned.
const LINE_STAGING_MIN_STAGES: usize = 32;

/// The number of messages up to which the hardware prefetcher of Zen 4 fetches the next lines in time: it
/// does so for 16 messages, but not for 32.
const HARDWARE_PREFETCH_STREAMS: usize = 16;

/// The distance at which lines are prefetched into the second-level cache. On Zen 4 the first-level cache can
/// wait for at most 24 lines at once.
const LATER_BYTES: usize = 5 * STEPS * BLOCK_BYTES;

/// A cipher on up to `LANES` blocks in registers. Its methods must be `#[inline(always)]`, like those of a
/// kernel.
pub(crate) trait Lanes<const LANES: usize> {
    /// One block per lane.
    type State: Copy;

    /// Loads blocks into their lanes.
    fn load(&self, blocks: &[Block; LANES]) -> Self::State;

    /// Stores the lanes as blocks.
    fn store(&self, state: Self::State, blocks: &mut [Block; LANES]);

    /// One step of every chain. Outputs replace inputs in `blocks`. The method also runs both halves of
    /// `exchange`.
    fn advance<const STEPS: usize>(
        &self,
        rule: Rule,
        state: &mut Self::State,
        blocks: &mut [Block; LANES],
        exchange: &mut Exchange<'_, '_, LANES, STEPS>,
    );
}

/// Advances at most `LANES` chains by `blocks` blocks.
pub(crate) struct Chains<'a, 's, 'd, L, const LANES: usize, const STEPS: usize> {
    pub(crate) lanes: L,
    pub(crate) chains: &'a mut [&'s mut ChainMessage<'d>],
    pub(crate) blocks: usize,
    pub(crate) rule: Rule,
}

impl<L: Lanes<LANES>, const LANES: usize, const STEPS: usize> Kernel for Chains<'_, '_, '_, L, LANES, STEPS> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lanes, chains, blocks, rule } = self;
        let mut stages = [Stage::<LANES, STEPS>::new(), Stage::new()];
        let [now, other] = &mut stages;
        let (mut now, mut other) = (now, other);
        for (lane, chain) in chains.iter().enumerate() {
            now.step(0)[lane] = chain.state;
        }
        let mut state = lanes.load(now.step(0));
        let (end, count) = (blocks * BLOCK_BYTES, chains.len());
        let mut messages = SideBySide::new(end);
        for chain in &mut *chains {
            chain.data.show(&mut messages);
        }
        let first = if const { STEPS == STEPS_BY_SQUARES } && blocks >= LINE_STAGING_MIN_STAGES * STEPS {
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
        for (chain, state) in chains.iter_mut().zip(now.step(0)) {
            chain.state = *state;
        }
    }
}

/// `into` is the byte range of each message that is loaded into a stage. `out` is the range that is stored
/// from it first.
struct Moves {
    out: Range<usize>,
    into: Range<usize>,
}

impl Moves {
    /// Whether each range covers a whole stage; `out` may also be empty.
    #[inline(always)]
    fn are_whole<const STEPS: usize>(&self) -> bool {
        let bytes = STEPS * BLOCK_BYTES;
        self.into.len() == bytes && (self.out.is_empty() || self.out.len() == bytes)
    }
}

/// The work of step `step` on the other stage: it stores and reloads its share of the lanes, in two halves.
pub(crate) struct Exchange<'a, 'd, const LANES: usize, const STEPS: usize> {
    stage: &'a mut Stage<LANES, STEPS>,
    messages: &'a mut SideBySide<'d, LANES>,
    step: usize,
    /// Lanes per step; 0 if squares are moved.
    share: usize,
    moves: &'a Moves,
}

impl<const LANES: usize, const STEPS: usize> Exchange<'_, '_, LANES, STEPS> {
    #[inline(always)]
    pub(crate) fn all(&mut self) {
        self.lanes(self.share());
    }

    /// The first half (0) or the second half (1).
    #[inline(always)]
    pub(crate) fn half<W: AesLanes>(&mut self, isa: W::Isa, half: usize) {
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
            let are_many = self.messages.count() > HARDWARE_PREFETCH_STREAMS;
            for lane in lanes {
                let message = self.messages.input(lane);
                self.stage.fill(lane, &message[into.start..]);
                prefetch_stage::<STEPS>(message, are_many, into.start, 0..STEPS);
            }
        }
    }

    /// Moves one square: four blocks of each of four messages.
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
            prefetch_stage::<STEPS>(
                message,
                LANES > HARDWARE_PREFETCH_STREAMS,
                into.start,
                step..step + W::BLOCKS,
            );
        }
    }
}

/// Prefetches the lines that hold these steps of the next stage, for a stage that begins at byte `at`. Each
/// line is addressed by its last byte: if a message is not line-aligned, its first line arrived with the
/// previous stage.
#[inline(always)]
fn prefetch_stage<const STEPS: usize>(message: &[u8], is_of_many: bool, at: usize, steps: Range<usize>) {
    for line in (steps.start * BLOCK_BYTES..steps.end * BLOCK_BYTES).step_by(LINE_BYTES) {
        let end = at + line + (LINE_BYTES - 1);
        prefetch(message, end + STEPS * BLOCK_BYTES);
        if is_of_many {
            prefetch_for_later(message, end + LATER_BYTES);
        }
    }
}
