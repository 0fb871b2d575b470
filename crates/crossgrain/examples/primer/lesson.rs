//! The definition of a lesson, and the loops over memory of its three forms.

use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::atomic::{Ordering, compiler_fence};

use crossgrain::engine::arch::{Kernel, Register, TILE_BYTES, Tile};

/// Bytes between tiles. They keep loads and stores at different offsets within a 4 KiB page: CPUs compare the
/// low twelve address bits first, and a match makes a load wait for a store.
const APART: usize = 1280;

/// Two operands and a result, 8 KiB each, so that all three stay in L1.
#[repr(C)]
pub(crate) struct Memory {
    pub(crate) a: Tile,
    gap_a: [u8; APART],
    pub(crate) b: Tile,
    gap_b: [u8; APART],
    pub(crate) out: Tile,
}

impl Memory {
    pub(crate) fn new() -> Box<Self> {
        let [a, b, out] = [const { Tile::new() }; 3];
        Box::new(Self { a, gap_a: [0; APART], b, gap_b: [0; APART], out })
    }

    /// The three tiles, borrowed once. A loop with `keep_width` would otherwise reload their addresses in
    /// each step.
    #[inline(always)]
    pub(crate) fn tiles(&mut self) -> (&Tile, &Tile, &mut Tile) {
        (&self.a, &self.b, &mut self.out)
    }
}

/// A computation on values of `VALUE` bits along the grain. Across it, `IN` words hold the significant bits
/// of an operand and `OUT` words those of the result. Lessons with one operand ignore the second.
///
/// A bundle is `VALUE` neighbouring words, with one value for each bit of a word. Implementations of all
/// functions except `plain` must be `#[inline(always)]` and must not use closures on words.
pub(crate) trait Lesson<const VALUE: usize, const IN: usize, const OUT: usize>: 'static {
    const TITLE: &'static str;

    /// The oracle: the obvious computation on one value.
    fn plain(a: u32, b: u32) -> u32;

    /// Along the grain: all of `out` from all of `a` and `b`.
    fn along<W: Register>(isa: W::Isa, memory: &mut Memory);

    /// Across the grain: one bundle, by gates.
    fn circuit<W: Register>(isa: W::Isa, a: &[W; IN], b: &[W; IN], out: &mut [W; OUT]);

    /// Converts a bundle to the layout across the grain.
    fn lay_across<W: Register>(isa: W::Isa, along: &[W; VALUE], across: &mut [W; IN]);

    /// Converts a bundle of results back to the layout along the grain. The contents of `across` are lost.
    fn lay_along<W: Register>(isa: W::Isa, across: &mut [W; OUT], along: &mut [W; VALUE]);
}

/// The representation in which a lesson is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Whole values.
    Along,
    /// Bits of many values, on data that already has this layout and keeps it.
    Across,
    /// Across the grain, on data that starts and ends along it. It converts one bundle at a time, in
    /// registers as far as they suffice, which is the least that a conversion can cost.
    Converted,
}

impl Form {
    pub(crate) const ALL: [Self; 3] = [Self::Along, Self::Across, Self::Converted];
}

/// The number of values of `value_bits` bits that fill a tile along the grain.
pub(crate) const fn values_in_tile(value_bits: usize) -> usize {
    TILE_BYTES * 8 / value_bits
}

/// Prevents vectorisation of loops over integers. Otherwise a 32-bit word would be timed as a vector of four.
/// This emits no instruction.
#[inline(always)]
pub(crate) fn keep_width<W: Register>() {
    if W::BITS <= 64 {
        compiler_fence(Ordering::SeqCst);
    }
}

/// A lesson in one form on all of the memory, `repeats` times.
pub(crate) struct Run<'a, W: Register, L, const VALUE: usize, const IN: usize, const OUT: usize> {
    pub(crate) isa: W::Isa,
    pub(crate) form: Form,
    pub(crate) repeats: u32,
    pub(crate) memory: &'a mut Memory,
    pub(crate) lesson: PhantomData<L>,
}

impl<W, L, const VALUE: usize, const IN: usize, const OUT: usize> Kernel for Run<'_, W, L, VALUE, IN, OUT>
where
    W: Register,
    L: Lesson<VALUE, IN, OUT>,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, form, repeats, memory, .. } = self;
        for _ in 0..repeats {
            match form {
                Form::Along => L::along::<W>(isa, memory),
                Form::Across => across::<W, L, VALUE, IN, OUT>(isa, memory),
                Form::Converted => converted::<W, L, VALUE, IN, OUT>(isa, memory),
            }
            black_box(&mut *memory);
        }
    }
}

#[inline(always)]
fn across<W, L, const VALUE: usize, const IN: usize, const OUT: usize>(isa: W::Isa, memory: &mut Memory)
where
    W: Register,
    L: Lesson<VALUE, IN, OUT>,
{
    let (a, b, out) = memory.tiles();
    for bundle in 0..TILE_BYTES / (VALUE * W::BYTES) {
        L::circuit::<W>(isa, a.bundle(isa, bundle), b.bundle(isa, bundle), out.bundle_mut(isa, bundle));
        keep_width::<W>();
    }
}

#[inline(always)]
fn converted<W, L, const VALUE: usize, const IN: usize, const OUT: usize>(isa: W::Isa, memory: &mut Memory)
where
    W: Register,
    L: Lesson<VALUE, IN, OUT>,
{
    let (a, b, out) = memory.tiles();
    let zero = W::splat(isa, 0);
    let (mut bits_a, mut bits_b, mut result) = ([zero; IN], [zero; IN], [zero; OUT]);
    for bundle in 0..TILE_BYTES / (VALUE * W::BYTES) {
        L::lay_across(isa, a.bundle(isa, bundle), &mut bits_a);
        L::lay_across(isa, b.bundle(isa, bundle), &mut bits_b);
        L::circuit(isa, &bits_a, &bits_b, &mut result);
        L::lay_along(isa, &mut result, out.bundle_mut(isa, bundle));
        keep_width::<W>();
    }
}
