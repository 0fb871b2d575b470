//! Chains side by side by AES instructions: a chain a lane, eight registers in flight.
//!
//! Layout: lane j of register i holds the state of chain `i·BLOCKS + j`. While the blocks of one stage are
//! computed, those of the next are brought in and the results of the one before are taken out, some lanes a
//! step, so that the memory works while the AES unit does.
//! Needs: `AesLanes`. Holds: a block is read before it is replaced, and each chain touches its own alone.

use std::marker::PhantomData;

use super::instructions::{BUNDLE_BLOCKS_MAX, IN_FLIGHT, rounds};
use super::key::RoundKeys;
use crate::block::{BLOCK_BYTES, Block};
use crate::part::chain::{Data, Rule, STEPS, Stage, Strand};
use crate::word::{AesLanes, Isa, Kernel, each};

/// Takes every chain `blocks` blocks further.
pub(super) fn run<W: AesLanes, R: Rule, D: Data>(
    isa: W::Isa,
    keys: &RoundKeys,
    strands: &mut [&mut Strand<D>],
    blocks: usize,
) {
    for strands in strands.chunks_mut(IN_FLIGHT * W::BLOCKS) {
        if strands.len() > W::BLOCKS {
            isa.enter(Chains::<W, R, D, IN_FLIGHT> { isa, keys, strands, blocks, rule: PhantomData });
        } else {
            isa.enter(Chains::<W, R, D, 1> { isa, keys, strands, blocks, rule: PhantomData });
        }
    }
}

struct Chains<'a, 's, W: AesLanes, R, D, const N: usize> {
    isa: W::Isa,
    keys: &'a RoundKeys,
    strands: &'a mut [&'s mut Strand<D>],
    blocks: usize,
    rule: PhantomData<R>,
}

impl<W: AesLanes, R: Rule, D: Data, const N: usize> Kernel for Chains<'_, '_, W, R, D, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, strands, blocks, .. } = self;
        let mut stages = [Stage::<BUNDLE_BLOCKS_MAX>::new(), Stage::new()];
        let [now, other] = &mut stages;
        let (mut now, mut other) = (now, other);
        for (lane, strand) in strands.iter().enumerate() {
            now.step(0)[lane] = strand.state;
        }
        let mut state: [W; N] = load_all(isa, now.step(0));
        let end = blocks * BLOCK_BYTES;
        exchange::<R, D>(now, strands, 0, Moves { out: None, into: Some(0), end });
        for at in (0..end).step_by(STEPS * BLOCK_BYTES) {
            let steps = STEPS.min((end - at) / BLOCK_BYTES);
            let out = at.checked_sub(STEPS * BLOCK_BYTES);
            let into = Some(at + STEPS * BLOCK_BYTES).filter(|&next| next < end);
            let share = strands.len().div_ceil(steps);
            for step in 0..steps {
                let from = (step * share).min(strands.len());
                let to = (from + share).min(strands.len());
                exchange::<R, D>(other, &mut strands[from..to], from, Moves { out, into, end });
                advance::<W, R, N>(isa, keys, &mut state, now.step(step));
            }
            std::mem::swap(&mut now, &mut other);
        }
        let last = end.next_multiple_of(STEPS * BLOCK_BYTES).checked_sub(STEPS * BLOCK_BYTES);
        exchange::<R, D>(other, strands, 0, Moves { out: last, into: None, end });
        store_all(state, now.step(0));
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

/// Empties and fills lanes of a stage from lane `first` on.
#[inline(always)]
fn exchange<R: Rule, D: Data>(
    stage: &mut Stage<BUNDLE_BLOCKS_MAX>,
    strands: &mut [&mut Strand<D>],
    first: usize,
    moves: Moves,
) {
    if let Some(at) = moves.out.filter(|_| R::WRITES) {
        let steps = STEPS.min((moves.end - at) / BLOCK_BYTES);
        for (lane, strand) in strands.iter_mut().enumerate() {
            stage.drain(first + lane, &mut strand.data, at, steps);
        }
    }
    if let Some(at) = moves.into {
        for (lane, strand) in strands.iter().enumerate() {
            stage.fill(first + lane, &strand.data, at);
        }
    }
}

/// One step of every chain; inputs are replaced by outputs.
#[inline(always)]
fn advance<W: AesLanes, R: Rule, const N: usize>(
    isa: W::Isa,
    keys: &RoundKeys,
    state: &mut [W; N],
    blocks: &mut [Block; BUNDLE_BLOCKS_MAX],
) {
    let (first, middle, last) = keys.split();
    let (first, last) = (W::broadcast(isa, first), W::broadcast(isa, last));
    let input: [W; N] = load_all(isa, blocks);
    let mut result: [W; N] = each!(i < N => R::enter(state[i], input[i]) ^ first);
    rounds::<W, N, true>(isa, &mut result, middle, [last; N]);
    *state = each!(i < N => R::leave(result[i], input[i]).0);
    if R::WRITES {
        store_all(each!(i < N => R::leave(result[i], input[i]).1), blocks);
    }
}

#[inline(always)]
fn load_all<W: AesLanes, const N: usize>(isa: W::Isa, blocks: &[Block; BUNDLE_BLOCKS_MAX]) -> [W; N] {
    let bytes = &blocks.as_flattened()[..N * W::BYTES];
    each!(i < N => W::load(isa, &bytes[i * W::BYTES..][..W::BYTES]))
}

#[inline(always)]
fn store_all<W: AesLanes, const N: usize>(words: [W; N], blocks: &mut [Block; BUNDLE_BLOCKS_MAX]) {
    let bytes = &mut blocks.as_flattened_mut()[..N * W::BYTES];
    for (i, word) in words.into_iter().enumerate() {
        word.store(&mut bytes[i * W::BYTES..][..W::BYTES]);
    }
}
