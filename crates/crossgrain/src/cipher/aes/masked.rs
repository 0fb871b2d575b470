//! OCB with AES instructions: blocks, their masks and the plaintext checksum in one pass over a message.
//!
//! Layout and requirements: as in `instructions`.
//! Source: RFC 7253 §4.2 and §4.3.

use super::frames::both_halves;
use super::instructions::{Bundle, IN_FLIGHT, over_bundles};
use super::key::WideKeys;
use super::rounds::Middle;
use crate::arch::{AesLanes, Buffers, Kernel, Register as _, each};
use crate::block::{BLOCK_BYTES, Block};
use crate::mode::ocb::mask::{LongMasks, TABLE_BLOCKS};

/// OCB over whole blocks. The number of the first block is one more than a multiple of [`TABLE_BLOCKS`].
pub(super) struct Masked<'a, 'b, W: AesLanes, const ENCRYPT: bool> {
    pub(super) isa: W::Isa,
    pub(super) keys: &'a WideKeys,
    pub(super) masks: &'a LongMasks<'a>,
    pub(super) buffers: &'a mut Buffers<'b>,
}

/// Returns the sum of the plaintext.
impl<W: AesLanes, const ENCRYPT: bool> Kernel for Masked<'_, '_, W, ENCRYPT> {
    type Output = Block;

    #[inline(always)]
    fn run(self) -> Block {
        let Self { isa, keys, masks, buffers } = self;
        let mut bundle = MaskedBundle::<W, ENCRYPT>::new(isa, keys, masks, buffers.len_bytes());
        assert!(buffers.len_bytes().is_multiple_of(BLOCK_BYTES));
        over_bundles(isa, &mut bundle, buffers);
        // The remainder was decrypted together with padding after it, so its plaintext is added here.
        let rest = if ENCRYPT { 0..0 } else { buffers.len_bytes() - bundle.left..buffers.len_bytes() };
        sum_of_lanes(isa, bundle.sum, &buffers.output_mut()[rest])
    }
}

/// Adds the mask before and after the cipher, and sums the plaintext.
///
/// The masks of a bundle are the mask before its first block, common to all lanes, plus table entries. The
/// entries are the same in all bundles except in the last lane, whose step depends on the number of its
/// block.
struct MaskedBundle<'a, W: AesLanes, const ENCRYPT: bool> {
    isa: W::Isa,
    keys: &'a WideKeys,
    masks: &'a LongMasks<'a>,
    /// The mask before the next bundle.
    before: W,
    /// The difference between bundles if the last block of each took the least step. The table has that step
    /// in its last entry.
    across: W,
    least_step: W,
    last_lane: W,
    sum: W,
    /// Bytes of ciphertext whose plaintext is not yet in the sum.
    left: usize,
}

impl<'a, W: AesLanes, const ENCRYPT: bool> MaskedBundle<'a, W, ENCRYPT> {
    /// Blocks in a bundle.
    const BLOCKS: usize = IN_FLIGHT * W::BLOCKS;

    #[inline(always)]
    fn new(isa: W::Isa, keys: &'a WideKeys, masks: &'a LongMasks<'a>, left: usize) -> Self {
        const { assert!(TABLE_BLOCKS.is_multiple_of(Self::BLOCKS)) };
        let mut last_lane = [0; 64];
        last_lane[W::BYTES - BLOCK_BYTES..W::BYTES].fill(0xff);
        Self {
            isa,
            keys,
            // It was stored in halves, if it is a sum.
            before: both_halves(isa, u128::from_le_bytes(masks.before)),
            across: W::broadcast(isa, &masks.table[Self::BLOCKS]),
            least_step: W::broadcast(isa, masks.constants.step_to(Self::BLOCKS)),
            last_lane: W::load(isa, &last_lane[..W::BYTES]),
            masks,
            sum: W::splat(isa, 0),
            left,
        }
    }

    /// Advances to the next bundle. `step` is the difference between the step of its last block and the least
    /// step.
    #[inline(always)]
    fn go_on(&mut self, step: W) {
        self.before = self.before ^ self.across ^ step;
    }

    /// The first key and the last, each plus the common part of the bundle's masks.
    #[inline(always)]
    fn outer_keys(&self) -> (W, W) {
        let (first, _, last) = self.keys.split();
        (first.load::<W>(self.isa) ^ self.before, last.load::<W>(self.isa) ^ self.before)
    }

    /// The masks of the bundle from this block on, without their common part, which then advances to the next
    /// bundle.
    #[inline(always)]
    fn next_entries<const N: usize>(&mut self, block: usize) -> [W; N] {
        let Self { isa, masks, .. } = *self;
        let number = masks.blocks_before + block + Self::BLOCKS;
        let step = W::broadcast(isa, masks.constants.step_to(number)) ^ self.least_step;
        let table = &masks.table[1..=Self::BLOCKS].as_flattened()[..N * W::BYTES];
        let mut entries = each!(i < N => W::load(isa, &table[i * W::BYTES..][..W::BYTES]));
        if N == IN_FLIGHT {
            entries[N - 1] = entries[N - 1] ^ (step & self.last_lane);
        }
        self.go_on(step);
        entries
    }
}

impl<W: AesLanes, const ENCRYPT: bool> Bundle<W> for MaskedBundle<'_, W, ENCRYPT> {
    #[inline(always)]
    fn run<const N: usize>(&mut self, input: [W; N], block: usize) -> [W; N] {
        let (isa, (_, middle, _)) = (self.isa, self.keys.split());
        let (first, last) = self.outer_keys();
        let entries = self.next_entries::<N>(block);
        let mut state = each!(i < N => input[i] ^ entries[i] ^ first);
        if ENCRYPT {
            self.sum = sum_of(self.sum, input);
        }
        Middle::in_memory(middle).rounds::<N, ENCRYPT>(isa, &mut state, each!(i < N => last ^ entries[i]));
        if !ENCRYPT && self.left >= N * W::BYTES {
            self.left -= N * W::BYTES;
            self.sum = sum_of(self.sum, state);
        }
        state
    }
}

/// The sum of all lanes and blocks. It leaves the registers in one store, because its reader loads the whole.
#[inline(always)]
fn sum_of_lanes<W: AesLanes>(isa: W::Isa, lanes: W, blocks: &[u8]) -> Block {
    let mut bytes = [0; 64];
    lanes.store(&mut bytes[..W::BYTES]);
    let isa = W::one_block(isa);
    let mut sum = W::OneBlock::splat(isa, 0);
    for block in bytes[..W::BYTES].as_chunks::<BLOCK_BYTES>().0.iter().chain(blocks.as_chunks().0) {
        sum = sum ^ W::OneBlock::load(isa, block);
    }
    let mut block = [0; BLOCK_BYTES];
    sum.store(&mut block);
    block
}

#[inline(always)]
fn sum_of<W: AesLanes, const N: usize>(sum: W, words: [W; N]) -> W {
    words.into_iter().fold(sum, |sum, word| sum ^ word)
}
