//! Chains side by side by AES instructions: a chain a lane, eight registers in flight.
//!
//! Layout: lane j of register i holds the state of chain `i·BLOCKS + j`. A step takes a block of every
//! chain from where it lies. Where there are fewer chains than lanes the last one is computed in the
//! lanes left over too, and written once.
//! Needs: `AesLanes`. Holds: all inputs of a step are read before its outputs are written.

use std::marker::PhantomData;

use super::instructions::{IN_FLIGHT, rounds};
use super::key::RoundKeys;
use crate::block::{BLOCK_BYTES, Block};
use crate::part::chain::{Data, Rule, Strand};
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
        let (first, middle, last) = keys.split();
        let (first, last) = (W::broadcast(isa, first), W::broadcast(isa, last));
        let mut state: [W; N] = each!(i < N => states(isa, strands, i));
        for at in (0..blocks * BLOCK_BYTES).step_by(BLOCK_BYTES) {
            let input: [W; N] = each!(i < N => inputs(isa, strands, i, at));
            let mut result: [W; N] = each!(i < N => R::enter(state[i], input[i]) ^ first);
            rounds::<W, N, true>(isa, &mut result, middle, [last; N]);
            for i in 0..N {
                let (next, output) = R::leave(result[i], input[i]);
                state[i] = next;
                if R::WRITES {
                    for (strand, block) in
                        strands.iter_mut().skip(i * W::BLOCKS).zip(&lanes_of(output)[..W::BLOCKS])
                    {
                        strand.data.replace(at, block);
                    }
                }
            }
        }
        for (i, state) in state.into_iter().enumerate() {
            for (strand, block) in strands.iter_mut().skip(i * W::BLOCKS).zip(&lanes_of(state)[..W::BLOCKS]) {
                strand.state = *block;
            }
        }
    }
}

/// Blocks in the widest register.
const LANES_MAX: usize = 4;

/// The blocks of a register, one after another, and zeros.
#[inline(always)]
fn lanes_of<W: AesLanes>(word: W) -> [Block; LANES_MAX] {
    let mut blocks = [[0; BLOCK_BYTES]; LANES_MAX];
    word.store(&mut blocks.as_flattened_mut()[..W::BYTES]);
    blocks
}

/// The chain in lane `lane` of register `register`.
#[inline(always)]
fn strand<'a, W: AesLanes, D>(strands: &'a [&mut Strand<D>], register: usize, lane: usize) -> &'a Strand<D> {
    strands[(register * W::BLOCKS + lane).min(strands.len() - 1)]
}

/// The states of the chains in a register.
#[inline(always)]
fn states<W: AesLanes, D>(isa: W::Isa, strands: &[&mut Strand<D>], register: usize) -> W {
    W::gather(isa, each!(lane < LANES_MAX => &strand::<W, D>(strands, register, lane).state))
}

/// The blocks at byte `at` of the chains in a register.
#[inline(always)]
fn inputs<W: AesLanes, D: Data>(isa: W::Isa, strands: &[&mut Strand<D>], register: usize, at: usize) -> W {
    W::gather(isa, each!(lane < LANES_MAX => strand::<W, D>(strands, register, lane).data.block(at)))
}
