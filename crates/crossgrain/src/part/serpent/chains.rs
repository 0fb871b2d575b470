//! Chains of Serpent side by side: a chain a lane, its state kept in words from step to step.
//!
//! Layout: `Repr::Vsliced` for the states, as many bundles as are best worked on together.

use std::marker::PhantomData;

use super::vsliced::{Cipher, State, at_once};
use crate::block::Block;
use crate::part::chain::{Data, Rule, Strand};
use crate::part::lanes::{Chains, Lanes};
use crate::word::{Isa, Lane32, each};

/// Takes every chain `blocks` blocks further.
pub(super) fn run<W: Lane32, R: Rule, D: Data>(
    isa: W::Isa,
    cipher: &Cipher<W>,
    strands: &mut [&mut Strand<D>],
    blocks: usize,
) {
    let (rule, bundle_blocks) = (PhantomData::<R>, W::BITS / 32);
    for strands in strands.chunks_mut(at_once::<W>() * bundle_blocks) {
        // Lanes for bundles of sixteen, the widest.
        match strands.len().div_ceil(bundle_blocks) {
            1 => {
                let lanes = Bundles::<W, 1> { isa, cipher };
                isa.enter(Chains::<_, _, _, 16> { lanes, strands, blocks, rule });
            }
            2 => {
                let lanes = Bundles::<W, 2> { isa, cipher };
                isa.enter(Chains::<_, _, _, 32> { lanes, strands, blocks, rule });
            }
            _ => {
                let lanes = Bundles::<W, 4> { isa, cipher };
                isa.enter(Chains::<_, _, _, 64> { lanes, strands, blocks, rule });
            }
        }
    }
}

/// Blocks in `N` bundles.
struct Bundles<'a, W: Lane32, const N: usize> {
    isa: W::Isa,
    cipher: &'a Cipher<W>,
}

impl<W: Lane32, const N: usize, const LANES: usize> Lanes<LANES> for Bundles<'_, W, N> {
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
    fn advance<R: Rule>(&self, state: &mut [State<W>; N], blocks: &mut [Block; LANES]) {
        let input = self.load(blocks);
        let entering = each!(n < N => each!(i < 4 => R::enter(state[n][i], input[n][i])));
        let result = self.cipher.on_bundles(entering);
        *state = each!(n < N => each!(i < 4 => R::leave(result[n][i], input[n][i]).0));
        if R::WRITES {
            self.store(each!(n < N => each!(i < 4 => R::leave(result[n][i], input[n][i]).1)), blocks);
        }
    }
}
