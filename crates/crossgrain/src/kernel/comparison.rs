//! The last step of a key search: compares the known block under each key with its known bits.
//!
//! It reads the result in any representation, so that no conversion is needed before it. Rounds that compute
//! only some bytes fill the others with their known values.
//!
//! Invariant: kernels only mark the lanes that are equal. Nothing branches on the marks before all are made.

use std::fmt;

#[cfg(feature = "search-steps")]
use crate::arch::{ByteLanes, Lane32};
use crate::arch::{Isa, Kernel, Register, TILE_WORDS, each};
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::search::{BATCH_KEYS, Batch, KeyStep, Known};
use crate::layout::repr::block_of_lane;

/// The OR of three values, as an operation of three inputs.
const OR: i32 = 0xfe;

/// The comparison of blocks.
#[derive(Clone, Copy)]
pub struct OnBlocks {
    output: u128,
    mask: u128,
}

impl OnBlocks {
    /// The step for this known block.
    pub const fn new(known: &Known) -> Self {
        Self { output: u128::from_ne_bytes(known.output), mask: u128::from_ne_bytes(known.mask) }
    }
}

impl fmt::Debug for OnBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("comparison::OnBlocks")
    }
}

impl KeyStep for OnBlocks {
    fn run(&self, batch: &mut Batch) {
        let Batch { keys, state, found, .. } = batch;
        let blocks = state.bytes().as_chunks::<BLOCK_BYTES>().0.iter().take(*keys);
        let differs = |block: &Block| (u128::from_ne_bytes(*block) ^ self.output) & self.mask != 0;
        found.extend(blocks.enumerate().filter(|(_, block)| !differs(block)).map(|(number, _)| number));
    }
}

/// The marks of equal lanes, 64 or fewer in a word. Each bundle begins at a new word.
type Marks = [u64; BATCH_KEYS];

/// Adds the indices of marked keys to the batch. Words of `bits` bits have `lanes` lanes.
fn take(marks: &Marks, batch: &mut Batch, (bits, lanes): (usize, usize)) {
    let words = lanes.div_ceil(64);
    for (bundle, marks) in marks.chunks_exact(words).enumerate().take(batch.keys / lanes) {
        for lane in (0..lanes).filter(|lane| marks[lane / 64] >> (lane % 64) & 1 == 1) {
            batch.found.push(bundle * lanes + block_of_lane(bits, lanes, lane));
        }
    }
}

/// The comparison of bits. Only words of known bits are read.
pub struct OnBits<W: Register> {
    isa: W::Isa,
    /// The indices of the known bits, and their values in every lane.
    known: Vec<(usize, u64)>,
}

impl<W: Register> OnBits<W> {
    /// The step for this known block.
    pub fn new(isa: W::Isa, known: &Known) -> Self {
        let bit = |block: &Block, at: usize| u64::from(block[at / 8] >> (at % 8) & 1);
        let is_known = |at: &usize| bit(&known.mask, *at) == 1;
        let value = |at| (at, 0_u64.wrapping_sub(bit(&known.output, at)));
        Self { isa, known: (0..TILE_WORDS).filter(is_known).map(value).collect() }
    }
}

impl<W: Register> fmt::Debug for OnBits<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "comparison::OnBits({} lanes)", W::BITS)
    }
}

impl<W: Register> KeyStep for OnBits<W> {
    fn run(&self, batch: &mut Batch) {
        let mut marks = [0; BATCH_KEYS];
        self.isa.enter(CompareBits { step: self, batch, marks: &mut marks });
        take(&marks, batch, (W::BITS, W::BITS));
    }
}

struct CompareBits<'a, W: Register> {
    step: &'a OnBits<W>,
    batch: &'a Batch,
    marks: &'a mut Marks,
}

impl<W: Register> Kernel for CompareBits<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { step: OnBits { isa, known }, batch: Batch { keys, state, .. }, marks } = self;
        let marks = marks.chunks_exact_mut(W::BITS.div_ceil(64)).enumerate();
        for (bundle, marks) in marks.take(*keys / W::BITS) {
            let words: &[W; TILE_WORDS] = state.bundle(*isa, bundle);
            let mut differing = W::splat(*isa, 0);
            for &(at, value) in known {
                let difference = words[at] ^ W::splat(*isa, value);
                differing = W::ternary::<OR>(differing, difference, difference);
            }
            let mut bytes = [0; 64];
            differing.store(&mut bytes[..W::BYTES]);
            for (mark, lanes) in marks.iter_mut().zip(bytes.as_chunks().0) {
                *mark = !u64::from_le_bytes(*lanes);
            }
        }
    }
}

/// The comparison of bytes.
#[cfg(feature = "search-steps")]
pub struct OnBytes<W: ByteLanes> {
    isa: W::Isa,
    output: Block,
    mask: Block,
}

#[cfg(feature = "search-steps")]
impl<W: ByteLanes> OnBytes<W> {
    /// The step for this known block.
    pub const fn new(isa: W::Isa, known: &Known) -> Self {
        Self { isa, output: known.output, mask: known.mask }
    }
}

#[cfg(feature = "search-steps")]
impl<W: ByteLanes> fmt::Debug for OnBytes<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "comparison::OnBytes({} bits)", W::BITS)
    }
}

#[cfg(feature = "search-steps")]
impl<W: ByteLanes> KeyStep for OnBytes<W> {
    fn run(&self, batch: &mut Batch) {
        let mut marks = [0; BATCH_KEYS];
        self.isa.enter(CompareBytes { step: self, batch, marks: &mut marks });
        take(&marks, batch, (W::BITS, W::BYTES));
    }
}

#[cfg(feature = "search-steps")]
struct CompareBytes<'a, W: ByteLanes> {
    step: &'a OnBytes<W>,
    batch: &'a Batch,
    marks: &'a mut Marks,
}

#[cfg(feature = "search-steps")]
impl<W: ByteLanes> Kernel for CompareBytes<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { step: OnBytes { isa, output, mask }, batch: Batch { keys, state, .. }, marks } = self;
        let same = |byte: u8| W::splat(*isa, crate::arch::eight(byte));
        for (bundle, mark) in marks.iter_mut().enumerate().take(*keys / W::BYTES) {
            let words: &[W; BLOCK_BYTES] = state.bundle(*isa, bundle);
            let mut differing = same(0);
            for i in 0..BLOCK_BYTES {
                let difference = (words[i] ^ same(output[i])) & same(mask[i]);
                differing = W::ternary::<OR>(differing, difference, difference);
            }
            *mark = differing.zero_bytes();
        }
    }
}

/// The comparison of 32-bit words.
#[cfg(feature = "search-steps")]
pub struct OnWords<W: Lane32> {
    isa: W::Isa,
    output: [u32; 4],
    mask: [u32; 4],
}

#[cfg(feature = "search-steps")]
impl<W: Lane32> OnWords<W> {
    /// The step for this known block.
    pub fn new(isa: W::Isa, known: &Known) -> Self {
        let words = |block: &Block| -> [u32; 4] {
            let words = block.as_chunks().0;
            each!(i < 4 => u32::from_le_bytes(words[i]))
        };
        Self { isa, output: words(&known.output), mask: words(&known.mask) }
    }
}

#[cfg(feature = "search-steps")]
impl<W: Lane32> fmt::Debug for OnWords<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "comparison::OnWords({} bits)", W::BITS)
    }
}

#[cfg(feature = "search-steps")]
impl<W: Lane32> KeyStep for OnWords<W> {
    fn run(&self, batch: &mut Batch) {
        let mut marks = [0; BATCH_KEYS];
        self.isa.enter(CompareWords { step: self, batch, marks: &mut marks });
        take(&marks, batch, (W::BITS, W::BITS / 32));
    }
}

#[cfg(feature = "search-steps")]
struct CompareWords<'a, W: Lane32> {
    step: &'a OnWords<W>,
    batch: &'a Batch,
    marks: &'a mut Marks,
}

#[cfg(feature = "search-steps")]
impl<W: Lane32> Kernel for CompareWords<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { step: OnWords { isa, output, mask }, batch: Batch { keys, state, .. }, marks } = self;
        for (bundle, mark) in marks.iter_mut().enumerate().take(*keys / (W::BITS / 32)) {
            let words: &[W; 4] = state.bundle(*isa, bundle);
            let difference: [W; 4] = each!(i < 4 => {
                (words[i] ^ W::splat_lanes(*isa, output[i])) & W::splat_lanes(*isa, mask[i])
            });
            let [a, b, c, d] = difference;
            let differing = W::ternary::<OR>(W::ternary::<OR>(a, b, c), d, d);
            *mark = differing.zero_lanes();
        }
    }
}
