//! Serial modes with Serpent: one chain per lane, with the state kept in words from step to step.
//!
//! Layout: `Repr::Vsliced` for the states, with as many bundles side by side as the row has.

use super::vsliced::{OnBundles, State};
use super::whole::sums;
use crate::arch::{Isa, Lane32, each};
use crate::block::Block;
use crate::kernel::lanes::{Chains, Exchange, Lanes, STEPS};
use crate::mode::chained::chain::{ChainMessage, Link, Rule};

/// Advances every chain by `blocks` blocks, with at most `N` bundles of chains side by side, 2 or 4.
pub(super) fn run<W: Lane32, const N: usize>(
    isa: W::Isa,
    cipher: &impl OnBundles<W>,
    rule: Rule,
    chains: &mut [&mut ChainMessage<'_>],
    blocks: usize,
) {
    const { assert!(N == 2 || N == 4) };
    let bundle_blocks = W::BITS / 32;
    for chains in chains.chunks_mut(N * bundle_blocks) {
        // Lanes for bundles of sixteen blocks, the widest.
        if chains.len() <= bundle_blocks {
            side_by_side::<W, _, 1, 16>(isa, cipher, rule, chains, blocks);
            continue;
        }
        // Decided at compile time: each kernel contains the whole cipher, so kernels that no chains use are
        // not compiled.
        if const { N == 4 } && chains.len() > 2 * bundle_blocks {
            side_by_side::<W, _, 4, 64>(isa, cipher, rule, chains, blocks);
        } else {
            side_by_side::<W, _, 2, 32>(isa, cipher, rule, chains, blocks);
        }
    }
}

/// Runs at most as many chains as `N` bundles have lanes.
pub(super) fn side_by_side<W: Lane32, C: OnBundles<W>, const N: usize, const LANES: usize>(
    isa: W::Isa,
    cipher: &C,
    rule: Rule,
    chains: &mut [&mut ChainMessage<'_>],
    blocks: usize,
) {
    let lanes = Bundles::<W, C, N> { isa, cipher };
    isa.enter(Chains::<_, LANES, STEPS> { lanes, chains, blocks, rule });
}

/// Blocks in `N` bundles.
pub(super) struct Bundles<'a, W: Lane32, C, const N: usize> {
    pub(super) isa: W::Isa,
    pub(super) cipher: &'a C,
}

impl<W: Lane32, C: OnBundles<W>, const N: usize, const LANES: usize> Lanes<LANES> for Bundles<'_, W, C, N> {
    type State = [State<W>; N];

    #[inline(always)]
    fn load(&self, blocks: &[Block; LANES]) -> [State<W>; N] {
        const { assert!(N * W::BITS / 32 <= LANES) };
        let bytes = &blocks.as_flattened()[..4 * N * W::BYTES];
        let words =
            each!(n < N => each!(i < 4 => W::load(self.isa, &bytes[(4 * n + i) * W::BYTES..][..W::BYTES])));
        each!(n < N => W::transpose_lanes(words[n]))
    }

    #[inline(always)]
    fn store(&self, state: [State<W>; N], blocks: &mut [Block; LANES]) {
        let bytes = &mut blocks.as_flattened_mut()[..4 * N * W::BYTES];
        for (n, words) in state.into_iter().enumerate() {
            for (i, word) in W::transpose_lanes(words).into_iter().enumerate() {
                word.store(&mut bytes[(4 * n + i) * W::BYTES..][..W::BYTES]);
            }
        }
    }

    #[inline(always)]
    fn advance<const STEPS: usize>(
        &self,
        rule: Rule,
        state: &mut [State<W>; N],
        blocks: &mut [Block; LANES],
        exchange: &mut Exchange<'_, '_, LANES, STEPS>,
    ) {
        exchange.all();
        if rule.adds_before() {
            *state = sums(*state, self.load(blocks));
        }
        *state = self.cipher.encrypted(*state);
        // The input is loaded again and not kept, because registers are scarce while the cipher runs.
        match rule {
            Rule::Absorb => {}
            Rule::Replace(Link::Cbc) => self.store(*state, blocks),
            Rule::Replace(Link::Cfb) => {
                *state = sums(*state, self.load(blocks));
                self.store(*state, blocks);
            }
            Rule::Replace(Link::Ofb) => self.store(sums(*state, self.load(blocks)), blocks),
        }
    }
}
