//! The offsets of OCB (RFC 7253 §4): the constants of a key, and a table of the first offsets.
//!
//! Offset i of a message is its initial offset XOR one constant Lⱼ for each bit j that is set in the Gray
//! code of i. Let i = 512·g + r. The constants for r are entry r of the table, and those for 512·g are common
//! to the group. (512 is `GROUP_BLOCKS`.)
//!
//! Offsets are big-endian integers, as in the RFC, and blocks are numbered from 1. Offsets are secret, block
//! numbers are public.

use std::mem;

use super::mask::{LongMasks, Masks, TABLE_BLOCKS};
use crate::arch::wipe;
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::sum::sum;
use crate::mode::xts::tweak::double;
use crate::run::Program;

/// Blocks that share a table of offsets. The table and their data fill half of a first-level cache.
pub(super) const GROUP_BLOCKS: usize = TABLE_BLOCKS;

/// The constants of a key and the offsets computed from them (RFC 7253 §4.1). Wiped when dropped.
///
/// Entry 1 of the table starts a cache line, because kernels read the table from there in whole registers.
#[repr(C, align(64))]
pub(super) struct Offsets {
    /// L₀, L₁ and so on, one for each bit of a block number, lowest first.
    steps: [Block; usize::BITS as usize],
    /// L_* for an incomplete last block, and L_$ for the checksum.
    rest_and_sum: [Block; 2],
    to_line: Block,
    /// Entry r is the offset of block r if the initial offset is zero.
    table: [Block; GROUP_BLOCKS + 1],
}

const _: () = assert!((mem::offset_of!(Offsets, table) + BLOCK_BYTES).is_multiple_of(align_of::<Offsets>()));

impl Offsets {
    /// Zeros. This is a separate function, because its frame is as large as the offsets. The offsets are
    /// computed after it has returned, so they leave traces no deeper in the stack than is wiped.
    #[inline(never)]
    fn zeros() -> Box<Self> {
        let zero = [0; BLOCK_BYTES];
        Box::new(Self {
            steps: [zero; usize::BITS as usize],
            rest_and_sum: [zero; 2],
            to_line: zero,
            table: [zero; GROUP_BLOCKS + 1],
        })
    }

    pub(super) fn new(enciphers: &Program) -> Box<Self> {
        // Filled in place, because moving the offsets would leave a copy.
        let mut offsets = Self::zeros();
        let Self { rest_and_sum, steps, table, .. } = &mut *offsets;
        enciphers.block(&mut rest_and_sum[0]);
        rest_and_sum[1] = doubled(rest_and_sum[0]);
        let mut step = rest_and_sum[1];
        for place in steps.iter_mut() {
            step = doubled(step);
            *place = step;
        }
        // The Gray code of 2ᵏ + j, for j below 2ᵏ, is that of j with bits k and k − 1 flipped.
        for (k, step) in steps.iter().enumerate().take(GROUP_BLOCKS.ilog2() as usize + 1) {
            let change = if k == 0 { *step } else { sum(*step, steps[k - 1]) };
            let (known, next) = table.split_at_mut(1 << k);
            next.iter_mut().zip(known).for_each(|(next, known)| *next = sum(*known, change));
        }
        offsets
    }

    /// The part that is common to the offsets of a group: `first` XOR the constants for the group's first
    /// number. `number` is a block in the group, and public.
    fn shared(&self, first: u128, number: usize) -> u128 {
        let number = number / GROUP_BLOCKS * GROUP_BLOCKS;
        let mut ones = number ^ number >> 1;
        let mut sum = first;
        while ones > 0 {
            sum ^= u128::from_be_bytes(self.steps[ones.trailing_zeros() as usize]);
            ones &= ones - 1;
        }
        sum
    }

    /// The offsets of the blocks from number `before` + 1 to the end of their group. The number of the last
    /// block may have more trailing zeros than the table assumes. The third argument of `Masks::new` corrects
    /// this.
    pub(super) fn masks(&self, first: u128, before: usize) -> Masks<'_> {
        let at = before % GROUP_BLOCKS;
        let [least, step] = [GROUP_BLOCKS, before - at + GROUP_BLOCKS]
            .map(|number| u128::from_be_bytes(self.steps[number.trailing_zeros() as usize]));
        let shared = self.shared(first, before);
        Masks::new(&self.table[at + 1..], shared.to_be_bytes(), (least ^ step).to_be_bytes())
    }

    /// The offsets of the blocks after `blocks_before` others, a multiple of a group.
    pub(super) fn long_masks(&self, first: u128, blocks_before: usize) -> LongMasks<'_> {
        debug_assert!(blocks_before.is_multiple_of(TABLE_BLOCKS));
        let before = self.of(first, blocks_before).to_be_bytes();
        LongMasks { blocks_before, before, table: &self.table, steps: &self.steps }
    }

    /// The offset of block `number`.
    pub(super) fn of(&self, first: u128, number: usize) -> u128 {
        self.shared(first, number) ^ u128::from_be_bytes(self.table[number % GROUP_BLOCKS])
    }

    /// The offset of a block of the first group, as a block.
    pub(super) fn near(&self, first: &Block, number: usize) -> Block {
        sum(*first, self.table[number])
    }

    /// L_*, the difference between the offset of an incomplete last block and that of the block before it.
    pub(super) const fn rest(&self) -> &Block {
        &self.rest_and_sum[0]
    }

    /// L_$, as a block.
    pub(super) const fn last(&self) -> &Block {
        &self.rest_and_sum[1]
    }

    /// The offset of an incomplete last block after `blocks` whole ones.
    pub(super) fn of_rest(&self, first: u128, blocks: usize) -> u128 {
        self.of(first, blocks) ^ u128::from_be_bytes(self.rest_and_sum[0])
    }

    /// L_$, which is added to the checksum.
    pub(super) const fn sum(&self) -> u128 {
        u128::from_be_bytes(self.rest_and_sum[1])
    }
}

impl Drop for Offsets {
    fn drop(&mut self) {
        wipe(self.rest_and_sum.as_flattened_mut());
        wipe(self.steps.as_flattened_mut());
        wipe(self.table.as_flattened_mut());
    }
}

fn doubled(block: Block) -> Block {
    double(u128::from_be_bytes(block)).to_be_bytes()
}
