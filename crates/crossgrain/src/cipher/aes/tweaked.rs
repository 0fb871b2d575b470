//! XTS with AES instructions: any number of sectors in one call.
//!
//! Tweaks of the next registers are computed between the rounds of the current ones, at the end of a sector
//! those of the next sector.
//!
//! Layout and requirements: as in `instructions`.
//! Source: IEEE 1619-2007 §5.3 and §5.4.

use super::instructions::{Bundle, IN_FLIGHT, over_bundles};
use super::key::WideKeys;
use super::rounds::{Middle, round};
use crate::arch::{AesLanes, Buffers, Kernel, each, unrolled};
use crate::block::BLOCK_BYTES;
use crate::mode::xts::tweak::{IN_STEP, Stepping, Tweaks};

/// XTS over sectors.
pub(super) struct Xts<'a, 'b, W: AesLanes, const ENCRYPT: bool> {
    pub(super) isa: W::Isa,
    pub(super) keys: &'a WideKeys,
    /// By reference, as the buffers: see [`over_bundles`].
    pub(super) tweaks: &'a Tweaks<'a>,
    pub(super) buffers: &'a mut Buffers<'b>,
}

impl<W: AesLanes, const ENCRYPT: bool> Kernel for Xts<'_, '_, W, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, tweaks, buffers } = self;
        assert!(buffers.len_bytes().is_multiple_of(BLOCK_BYTES));
        let mut bundle = TweakedBundle::<W, ENCRYPT>::new(isa, keys, *tweaks);
        // One loop serves both cases, because it takes long to compile.
        let at_once = tweaks.ends_with_bundles(TweakedBundle::<W, ENCRYPT>::BLOCKS);
        let mut left = buffers.reborrow();
        while !left.is_empty() {
            let blocks = left.len_bytes() / BLOCK_BYTES;
            let at = if at_once { blocks } else { bundle.blocks.min(blocks) } * BLOCK_BYTES;
            let (mut sector, later) = left.split_at(at);
            // The compiler then leaves out what only partial blocks need.
            assert!(sector.len_bytes().is_multiple_of(BLOCK_BYTES));
            over_bundles(isa, &mut bundle, &mut sector);
            left = later;
        }
    }
}

/// XTS: the tweak is added before and after the cipher. The tweaks of the next run are computed between the
/// rounds of this run. If they came first in the program, they would wait for the rounds of the previous run.
struct TweakedBundle<'a, W: AesLanes, const ENCRYPT: bool> {
    isa: W::Isa,
    keys: &'a WideKeys,
    tweaks: Stepping<W>,
    /// Blocks from the beginning of this run's part of the sector to the sector's end, and the runs that are
    /// left of it.
    blocks: usize,
    runs_left: usize,
    /// The sectors after it.
    sectors: Tweaks<'a>,
}

impl<'a, W: AesLanes, const ENCRYPT: bool> TweakedBundle<'a, W, ENCRYPT> {
    #[inline(always)]
    fn new(isa: W::Isa, keys: &'a WideKeys, mut sectors: Tweaks<'a>) -> Self {
        let (first, blocks) = sectors.next_sector();
        let tweaks = Stepping::<W>::from(isa, first);
        Self { isa, keys, tweaks, blocks, runs_left: blocks.div_ceil(Self::BLOCKS), sectors }
    }

    /// Blocks in a run.
    const BLOCKS: usize = IN_FLIGHT * W::BLOCKS;
}

impl<W: AesLanes, const ENCRYPT: bool> Bundle<W> for TweakedBundle<'_, W, ENCRYPT> {
    #[inline(always)]
    fn run<const N: usize>(&mut self, input: [W; N], _block: usize) -> [W; N] {
        let Self { isa, keys, ref mut tweaks, ref mut blocks, ref mut runs_left, ref mut sectors } = *self;
        let (first, middle, last) = keys.split();
        let (first, last) = (first.load::<W>(isa), last.load::<W>(isa));
        let mut state: [W; N] = each!(i < N => input[i] ^ tweaks.0[i] ^ first);
        let last_keys: [W; N] = each!(i < N => last ^ tweaks.0[i]);
        let (early, late) = middle.split_at(IN_STEP);
        *runs_left -= 1;
        if *runs_left > 0 {
            unrolled!(i in [0 1 2 3 4 5 6 7] {
                round::<W, N, ENCRYPT>(isa, &mut state, &early[i]);
                tweaks.step_one(isa, i);
            });
        } else {
            let first;
            (first, *blocks) = sectors.next_sector();
            *runs_left = blocks.div_ceil(Self::BLOCKS);
            unrolled!(i in [0 1 2 3 4 5 6 7] {
                round::<W, N, ENCRYPT>(isa, &mut state, &early[i]);
                tweaks.begin_one(isa, first, i);
            });
        }
        Middle::in_memory(late).rounds::<N, ENCRYPT>(isa, &mut state, last_keys);
        state
    }
}

const _: () = assert!(IN_STEP == IN_FLIGHT);
