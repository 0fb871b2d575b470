//! Serial modes with AES instructions: one chain per lane, eight registers in flight.
//!
//! Layout: lane j of register i holds the state of chain `i·BLOCKS + j`.
//! Needs `AesLanes`.

use std::hint::black_box;

use super::instructions::{BUNDLE_BLOCKS_MAX, IN_FLIGHT};
use super::rounds::{RoundKey, rounds, with_due, with_first};
use crate::arch::{AesLanes, Isa, Kernel, each, shuffles_whole_registers};
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::lanes::{Chains, Exchange, Lanes, STEPS, STEPS_BY_SQUARES};
use crate::mode::chained::chain::{
    ChainMessage, Data, Link, Rule, SHORT_CHAIN_BYTES_MAX, SHORT_CHAINS_MAX, ShortChains,
};

const _: () = assert!(SHORT_CHAINS_MAX == BUNDLE_BLOCKS_MAX);

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
    let by_squares = const { W::BLOCKS == 4 } && shuffles_whole_registers();
    for chains in chains.chunks_mut(IN_FLIGHT * W::BLOCKS) {
        if chains.len() <= W::BLOCKS || blocks * BLOCK_BYTES <= SHORT_CHAIN_BYTES_MAX {
            let mut short = ShortChains::new(blocks * BLOCK_BYTES);
            for chain in &mut *chains {
                let ChainMessage { state, data } = &mut **chain;
                match data {
                    Data::Absorbed(input) => short.push_input(state, input),
                    Data::Replaced(buffers) => short.push(state, buffers),
                }
            }
            run_short::<W, K>(isa, keys, rule, &mut short);
        } else if by_squares && chains.len() == BUNDLE_BLOCKS_MAX {
            let lanes = Registers::<W, K, IN_FLIGHT> { isa, keys };
            isa.enter(Chains::<_, BUNDLE_BLOCKS_MAX, STEPS_BY_SQUARES> { lanes, chains, blocks, rule });
        } else {
            let lanes = Registers::<W, K, IN_FLIGHT> { isa, keys };
            isa.enter(Chains::<_, BUNDLE_BLOCKS_MAX, STEPS> { lanes, chains, blocks, rule });
        }
    }
}

/// Runs chains to their ends.
pub(super) fn run_short<W: AesLanes, K: RoundKey<W>>(
    isa: W::Isa,
    keys: Keys<'_, K>,
    rule: Rule,
    chains: &mut ShortChains<'_>,
) {
    if chains.messages.count() <= W::BLOCKS {
        isa.enter(Direct::<W, K, 1> { isa, keys, rule, chains });
    } else {
        isa.enter(Direct::<W, K, IN_FLIGHT> { isa, keys, rule, chains });
    }
}

/// Chains in `N` registers whose blocks move between memory and their lanes in each step.
struct Direct<'a, 'd, W: AesLanes, K, const N: usize> {
    isa: W::Isa,
    keys: Keys<'a, K>,
    rule: Rule,
    chains: &'a mut ShortChains<'d>,
}

impl<W: AesLanes, K: RoundKey<W>, const N: usize> Kernel for Direct<'_, '_, W, K, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, rule, chains } = self;
        let ShortChains { states, messages, len_bytes } = chains;
        messages.fill_up();
        let mut state: [W; N] = each!(i < N => gathered(isa, &states[i * W::BLOCKS..]));
        for at in (0..*len_bytes).step_by(BLOCK_BYTES) {
            let input: [W; N] = each!(i < N => messages.blocks(isa, i, at));
            let entering = if rule.adds_before() { sums(state, input) } else { state };
            state = encrypted(isa, keys, entering);
            let output = if rule.adds_before() { state } else { sums(state, input) };
            if rule == Rule::Replace(Link::Cfb) {
                state = output;
            }
            if rule.writes() {
                for (i, word) in output.into_iter().enumerate() {
                    messages.store_blocks(i, at, word);
                }
            }
        }
        for (i, word) in state.into_iter().enumerate() {
            scatter(word, &mut states[i * W::BLOCKS..]);
        }
    }
}

/// The first states, one per lane. A lane without a state is zero.
#[inline(always)]
fn gathered<W: AesLanes>(isa: W::Isa, states: &[Option<&mut Block>]) -> W {
    let block = |lane: usize| states[lane].as_deref().unwrap_or(&[0; BLOCK_BYTES]);
    let mut word = W::broadcast(isa, block(W::BLOCKS - 1));
    for lane in (0..W::BLOCKS - 1).rev() {
        word = word.preceded_by(W::broadcast(isa, block(lane)));
    }
    word
}

/// Stores the lanes as the first states.
#[inline(always)]
fn scatter<W: AesLanes>(word: W, states: &mut [Option<&mut Block>]) {
    let mut turned = word;
    for lane in (0..W::BLOCKS).rev() {
        turned = turned.preceded_by(turned);
        if let Some(state) = &mut states[lane] {
            turned.store_lowest(state);
        }
    }
}

/// The encryption of states.
#[inline(always)]
fn encrypted<W: AesLanes, K: RoundKey<W>, const N: usize>(
    isa: W::Isa,
    (first, middle, last): Keys<'_, K>,
    state: [W; N],
) -> [W; N] {
    let mut state = with_first(isa, state, first);
    let due = rounds::<_, _, N, true>(isa, &mut state, first, middle);
    let state = with_due(isa, state, due);
    each!(i < N => state[i].encrypt_last_round(last.load(isa, i)))
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
