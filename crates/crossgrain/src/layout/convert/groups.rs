//! Conversions between `blocks` and shapes whose bundle fits in registers: 4 words (`vsliced`), 8 (`hsliced`)
//! or 16 (`bytesliced`).
//!
//! A bundle is loaded as N consecutive words and transposed in registers. The transposition is its own
//! inverse. Layers 0 to 2 of the full transposition exchange word and bit (`hsliced`). Layers 3 to 6 exchange
//! word and byte (`bytesliced`). Each result is thus an intermediate step of the conversion to `bitsliced`.

use std::fmt;
use std::marker::PhantomData;

use super::interleave::interleave_high;
use super::network::exchange_low;
use super::{Load, Store};
use crate::arch::{Buffers, ByteLanes, Isa, Kernel, Lane32, Register, TILE_BYTES, Tile, each};
use crate::layout::repr::shifted;

/// A transposition of N registers that is its own inverse.
pub trait Group<W: Register, const N: usize>: Send + Sync + 'static {
    /// Transposes a group in place.
    fn transpose(isa: W::Isa, group: &mut [W; N]);

    /// The position in a tile's bundle of word `index`, after `phase` renamed ShiftRows.
    fn named(index: usize, phase: usize) -> usize;
}

/// Exchanges word and bit: `hsliced`.
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

/// Exchanges word and byte: `bytesliced`.
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

/// Exchanges word and 32-bit lane: `vsliced`.
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

/// Conversion between `blocks` and the shape of group `G`, in both directions.
pub struct BlocksToGroups<W: Register, G, const N: usize> {
    isa: W::Isa,
    group: PhantomData<G>,
}

impl<W: Register, G: Group<W, N>, const N: usize> BlocksToGroups<W, G, N> {
    /// The conversion with these instructions.
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
            buffers.prefetch(bundle * bundle_bytes + TILE_BYTES, bundle_bytes);
        }
    }
}

impl<W: Register, G: Group<W, N>, const N: usize> Store for BlocksToGroups<W, G, N> {
    fn store(&self, tile: &Tile, _scratch: &mut Tile, add: bool, buffers: Buffers<'_>) {
        let (isa, group) = (self.isa, PhantomData::<G>);
        isa.enter(StoreGroups::<W, G, N> { isa, tile, add, buffers, group });
    }
}
