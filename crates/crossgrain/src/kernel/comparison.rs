//! The last step of a key search: compares the known block under each key with its known bits.
//!
//! It reads the result in any representation, so that no conversion is needed before it. Rounds that compute
//! only some bytes fill the others with their known values.

use std::fmt;

#[cfg(feature = "search-steps")]
use crate::arch::{ByteLanes, Lane32};
use crate::arch::{Isa, Kernel, Register, TILE_WORDS, each};
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::search::{Batch, KeyStep, Known};
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

/// The lanes of a bundle that may have the key are bits of `lanes`. Adds their indices in the batch.
fn add(found: &mut Vec<usize>, bundle: usize, (bits, count): (usize, usize), lanes: u64) {
    let equal = (0..count).filter(|lane| lanes >> lane & 1 == 1);
    found.extend(equal.map(|lane| bundle * count + block_of_lane(bits, count, lane)));
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
        self.isa.enter(CompareBits(self, batch));
    }
}

struct CompareBits<'a, W: Register>(&'a OnBits<W>, &'a mut Batch);

impl<W: Register> Kernel for CompareBits<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(OnBits { isa, known }, Batch { keys, state, found, .. }) = self;
        for bundle in 0..*keys / W::BITS {
            let words: &[W; TILE_WORDS] = state.bundle(*isa, bundle);
            let mut differing = W::splat(*isa, 0);
            for &(at, value) in known {
                let difference = words[at] ^ W::splat(*isa, value);
                differing = W::ternary::<OR>(differing, difference, difference);
            }
            let mut bytes = [0; 64];
            differing.store(&mut bytes[..W::BYTES]);
            let lanes = bytes[..W::BYTES].as_chunks().0.iter().map(|lanes| !u64::from_le_bytes(*lanes));
            for (word, lanes) in lanes.enumerate().filter(|(_, lanes)| *lanes != 0) {
                let equal = (0..64).filter(|lane| lanes >> lane & 1 == 1);
                let block = |lane| block_of_lane(W::BITS, W::BITS, 64 * word + lane);
                found.extend(equal.map(|lane| bundle * W::BITS + block(lane)));
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
        self.isa.enter(CompareBytes(self, batch));
    }
}

#[cfg(feature = "search-steps")]
struct CompareBytes<'a, W: ByteLanes>(&'a OnBytes<W>, &'a mut Batch);

#[cfg(feature = "search-steps")]
impl<W: ByteLanes> Kernel for CompareBytes<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(OnBytes { isa, output, mask }, Batch { keys, state, found, .. }) = self;
        let same = |byte: u8| W::splat(*isa, crate::arch::eight(byte));
        for bundle in 0..*keys / W::BYTES {
            let words: &[W; BLOCK_BYTES] = state.bundle(*isa, bundle);
            let mut differing = same(0);
            for i in 0..BLOCK_BYTES {
                let difference = (words[i] ^ same(output[i])) & same(mask[i]);
                differing = W::ternary::<OR>(differing, difference, difference);
            }
            add(found, bundle, (W::BITS, W::BYTES), differing.zero_bytes());
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
        self.isa.enter(CompareWords(self, batch));
    }
}

#[cfg(feature = "search-steps")]
struct CompareWords<'a, W: Lane32>(&'a OnWords<W>, &'a mut Batch);

#[cfg(feature = "search-steps")]
impl<W: Lane32> Kernel for CompareWords<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(OnWords { isa, output, mask }, Batch { keys, state, found, .. }) = self;
        let lanes = W::BITS / 32;
        for bundle in 0..*keys / lanes {
            let words: &[W; 4] = state.bundle(*isa, bundle);
            let difference: [W; 4] = each!(i < 4 => {
                (words[i] ^ W::splat_lanes(*isa, output[i])) & W::splat_lanes(*isa, mask[i])
            });
            let [a, b, c, d] = difference;
            let differing = W::ternary::<OR>(W::ternary::<OR>(a, b, c), d, d);
            add(found, bundle, (W::BITS, lanes), differing.zero_lanes());
        }
    }
}
