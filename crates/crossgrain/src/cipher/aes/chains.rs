//! Serial modes with AES instructions: one chain per lane, eight registers in flight.
//!
//! Layout: lane j of register i holds the state of chain `i·BLOCKS + j`.
//! Needs `AesLanes`.

use std::hint::black_box;

use super::instructions::{BUNDLE_BLOCKS_MAX, IN_FLIGHT};
use super::rounds::{RoundKey, rounds, with_due, with_first};
use crate::arch::{AesLanes, Isa, each, shuffles_whole_registers};
use crate::block::Block;
use crate::kernel::lanes::{Chains, Exchange, Lanes, STEPS, STEPS_BY_SQUARES};
use crate::mode::chained::chain::{ChainMessage, Link, Rule};

/// Middle rounds between the halves of an exchange: about half of all.
const ROUNDS_BETWEEN: usize = 6;

/// Round key 0, the keys of the middle rounds, and the last one.
type Keys<'a, K> = (&'a K, &'a [K], &'a K);

/// Advances every chain by `blocks` blocks.
pub(super) fn run<W: AesLanes, K: RoundKey<W>>(
    isa: W::Isa,
    keys: Keys<'_, K>,
    rule: Rule,
    chains: &mut [&mut ChainMessage<'_>],
    blocks: usize,
) {
    // Lanes of one register of the widest kind. A stage is cleared before use and wiped afterwards, so it
    // should be small.
    const FEW: usize = BUNDLE_BLOCKS_MAX / IN_FLIGHT;
    let by_squares = const { W::BLOCKS == 4 } && shuffles_whole_registers();
    for chains in chains.chunks_mut(IN_FLIGHT * W::BLOCKS) {
        if by_squares && chains.len() == BUNDLE_BLOCKS_MAX {
            let lanes = Registers::<W, K, IN_FLIGHT> { isa, keys };
            isa.enter(Chains::<_, BUNDLE_BLOCKS_MAX, STEPS_BY_SQUARES> { lanes, chains, blocks, rule });
        } else if chains.len() > W::BLOCKS {
            let lanes = Registers::<W, K, IN_FLIGHT> { isa, keys };
            isa.enter(Chains::<_, BUNDLE_BLOCKS_MAX, STEPS> { lanes, chains, blocks, rule });
        } else {
            let lanes = Registers::<W, K, 1> { isa, keys };
            isa.enter(Chains::<_, FEW, STEPS> { lanes, chains, blocks, rule });
        }
    }
}

/// Blocks in `N` registers.
struct Registers<'a, W: AesLanes, K, const N: usize> {
    isa: W::Isa,
    keys: Keys<'a, K>,
}

impl<W: AesLanes, K: RoundKey<W>, const N: usize, const LANES: usize> Lanes<LANES>
    for Registers<'_, W, K, N>
{
    type State = [W; N];

    #[inline(always)]
    fn load(&self, blocks: &[Block; LANES]) -> [W; N] {
        const { assert!(N * W::BLOCKS <= LANES) };
        let bytes = &blocks.as_flattened()[..N * W::BYTES];
        each!(i < N => W::load(self.isa, &bytes[i * W::BYTES..][..W::BYTES]))
    }

    #[inline(always)]
    fn store(&self, state: [W; N], blocks: &mut [Block; LANES]) {
        let bytes = &mut blocks.as_flattened_mut()[..N * W::BYTES];
        for (i, word) in state.into_iter().enumerate() {
            word.store(&mut bytes[i * W::BYTES..][..W::BYTES]);
        }
    }

    #[inline(always)]
    fn advance<const STEPS: usize>(
        &self,
        rule: Rule,
        state: &mut [W; N],
        blocks: &mut [Block; LANES],
        exchange: &mut Exchange<'_, '_, LANES, STEPS>,
    ) {
        let (isa, (first, middle, last)) = (self.isa, self.keys);
        let mut result = *state;
        if rule.adds_before() {
            let input = self.load(blocks);
            result = each!(i < N => result[i] ^ input[i]);
        }
        // Together with the sum before it is one instruction on machines that have sums of three.
        let mut result = with_first(isa, result, first);
        exchange.half::<W>(isa, 0);
        let (early, late) = in_gaps(middle, ROUNDS_BETWEEN);
        let due = rounds::<_, _, N, true>(isa, &mut result, first, early);
        exchange.half::<W>(isa, 1);
        let due = rounds::<_, _, N, true>(isa, &mut result, due, late);
        let result = with_due(isa, result, due);
        *state = each!(i < N => result[i].encrypt_last_round(last.load(isa, i)));
        // Two separate conditions: if they were cases of one choice, the compiler would merge their stores
        // and add moves of states.
        if rule == Rule::Replace(Link::Cbc) {
            self.store(*state, blocks);
        }
        if !rule.adds_before() {
            let output = sums(*state, self.load(blocks));
            self.store(output, blocks);
            if rule == Rule::Replace(Link::Cfb) {
                *state = output;
            }
        }
    }
}

#[inline(always)]
fn sums<W: AesLanes, const N: usize>(a: [W; N], b: [W; N]) -> [W; N] {
    each!(i < N => a[i] ^ b[i])
}

/// Splits the keys into those of the first `rounds` rounds and the rest; other work is done in between. The
/// compiler must not see the number. It would unroll the loops, and move the other work before or after all
/// rounds, where it fills no gap.
#[inline(always)]
fn in_gaps<K>(keys: &[K], rounds: usize) -> (&[K], &[K]) {
    keys.split_at(black_box(rounds).min(keys.len()))
}
