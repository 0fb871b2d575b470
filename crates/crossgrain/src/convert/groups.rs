//! `blocks` to and from the small shapes: groups of 8 words (`hsliced`) or 16 (`bytesliced`) in registers.
//!
//! A bundle is loaded as N neighbouring words and transposed in registers, the same map both ways:
//! layers 0 to 2 of the big transposition exchange word and bit (`hsliced`), layers 3 to 6 exchange word
//! and byte (`bytesliced`). Two of the three passes of the way to `bitsliced` are thus ends of their own.

use std::fmt;
use std::marker::PhantomData;

use super::interleave::interleave_high;
use super::network::exchange_low;
use super::{Load, Store};
use crate::repr::shifted;
use crate::word::{Buffers, ByteLanes, Isa, Kernel, Lane32, Register, TILE_BYTES, Tile, each};

/// A transposition that fits in registers: its own inverse.
pub trait Group<W: Register, const N: usize>: Send + Sync + 'static {
    /// Transposes a group in place.
    fn transpose(isa: W::Isa, group: &mut [W; N]);

    /// The word of a tile's bundle that bears the name `index` in this phase.
    fn named(index: usize, phase: usize) -> usize;
}

/// Word and bit exchanged: `hsliced`.
#[derive(Debug)]
pub struct BitGroup;

impl<W: Register> Group<W, 8> for BitGroup {
    #[inline(always)]
    fn transpose(isa: W::Isa, group: &mut [W; 8]) {
        exchange_low(isa, group);
    }

    fn named(index: usize, _phase: usize) -> usize {
        index
    }
}

/// Word and byte exchanged: `bytesliced`.
#[derive(Debug)]
pub struct ByteGroup;

impl<W: ByteLanes> Group<W, 16> for ByteGroup {
    #[inline(always)]
    fn transpose(_isa: W::Isa, group: &mut [W; 16]) {
        interleave_high(group);
    }

    #[inline(always)]
    fn named(index: usize, phase: usize) -> usize {
        shifted(index, phase)
    }
}

/// Word and 32-bit lane exchanged: `vsliced`.
#[derive(Debug)]
pub struct LaneGroup;

impl<W: Lane32> Group<W, 4> for LaneGroup {
    #[inline(always)]
    fn transpose(_isa: W::Isa, group: &mut [W; 4]) {
        *group = W::transpose_lanes(*group);
    }

    fn named(index: usize, _phase: usize) -> usize {
        index
    }
}

/// The conversion between `blocks` and the shape of group `G`, both ways.
pub struct BlocksToGroups<W: Register, G, const N: usize> {
    isa: W::Isa,
    group: PhantomData<G>,
}

impl<W: Register, G: Group<W, N>, const N: usize> BlocksToGroups<W, G, N> {
    /// The conversion by these instructions.
    pub const fn new(isa: W::Isa) -> Self {
        Self { isa, group: PhantomData }
    }
}

impl<W: Register, G, const N: usize> fmt::Debug for BlocksToGroups<W, G, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlocksToGroups({N} words of {} bits)", W::BITS)
    }
}

struct LoadGroups<'a, W: Register, G, const N: usize>(W::Isa, &'a [u8], &'a mut Tile, PhantomData<G>);

impl<W: Register, G: Group<W, N>, const N: usize> Kernel for LoadGroups<'_, W, G, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, input, tile, _) = self;
        tile.phase = 0;
        for (bundle, bytes) in input.chunks_exact(N * W::BYTES).enumerate() {
            let mut group: [W; N] = each!(i < N => W::load(isa, &bytes[i * W::BYTES..][..W::BYTES]));
            G::transpose(isa, &mut group);
            *tile.bundle_mut(isa, bundle) = group;
        }
    }
}

impl<W: Register, G: Group<W, N>, const N: usize> Load for BlocksToGroups<W, G, N> {
    fn load(&self, input: &[u8], tile: &mut Tile, _scratch: &mut Tile) {
        self.isa.enter(LoadGroups::<W, G, N>(self.isa, input, tile, PhantomData));
    }
}

struct StoreGroups<'a, W: Register, G, const N: usize> {
    isa: W::Isa,
    tile: &'a Tile,
    add: bool,
    buffers: Buffers<'a>,
    group: PhantomData<G>,
}

impl<W: Register, G: Group<W, N>, const N: usize> Kernel for StoreGroups<'_, W, G, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, tile, add, mut buffers, .. } = self;
        let phase = usize::from(tile.phase);
        let bundle_bytes = N * W::BYTES;
        for bundle in 0..buffers.len_bytes() / bundle_bytes {
            let words = tile.bundle::<W, N>(isa, bundle);
            let mut group: [W; N] = each!(i < N => words[G::named(i, phase)]);
            G::transpose(isa, &mut group);
            if add {
                let input: [W; N] = buffers.load_all(isa, bundle * bundle_bytes);
                group = each!(i < N => group[i] ^ input[i]);
            }
            buffers.store_all(bundle * bundle_bytes, group);
            buffers.expect(bundle * bundle_bytes + TILE_BYTES, bundle_bytes);
        }
    }
}

impl<W: Register, G: Group<W, N>, const N: usize> Store for BlocksToGroups<W, G, N> {
    fn store(&self, tile: &Tile, _scratch: &mut Tile, add: bool, buffers: Buffers<'_>) {
        let (isa, group) = (self.isa, PhantomData::<G>);
        isa.enter(StoreGroups::<W, G, N> { isa, tile, add, buffers, group });
    }
}
