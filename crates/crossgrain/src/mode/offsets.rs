//! What OCB adds to blocks before the cipher and after it (RFC 7253 §4): a key's constants, and the offsets of the first blocks as a table.
//!
//! Layout: offsets are big-endian numbers, as in the RFC; blocks have numbers from 1 on.
//! Holds: offsets are secret, numbers of blocks are public.

use std::mem;

use crate::block::{BLOCK_BYTES, Block};
use crate::exec::Program;
use crate::part::mask::{LongMasks, Masks, TABLE_BLOCKS};
use crate::part::tweak::double;
use crate::word::wipe;

/// Blocks whose offsets are one table's: with their data they fill half of a first cache.
pub(super) const GROUP_BLOCKS: usize = TABLE_BLOCKS;

/// What a key makes offsets of (RFC 7253 §4.1). Wiped when dropped.
///
/// Block 1 of the table begins a cache line: kernels read it by whole registers from there on.
#[repr(C, align(64))]
pub(super) struct Offsets {
    /// L₀, L₁ and so on: for the bits of a block's number, from the lowest on.
    steps: [Block; usize::BITS as usize],
    /// L_* and L_$: for a last block that is not whole, and for the sum.
    rest_and_sum: [Block; 2],
    to_line: Block,
    /// The offsets of the first blocks after an offset of zeros, and that.
    table: [Block; GROUP_BLOCKS + 1],
}

const _: () = assert!((mem::offset_of!(Offsets, table) + BLOCK_BYTES).is_multiple_of(align_of::<Offsets>()));

impl Offsets {
    /// Zeros. In a frame of its own, which is as large as they are: what they are filled with is worked out after it is gone, and leaves its
    /// traces no deeper in the stack than is wiped.
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
        // Filled where they stay: what is moved leaves a copy.
        let mut offsets = Self::zeros();
        let Self { rest_and_sum, steps, table, .. } = &mut *offsets;
        enciphers.block(&mut rest_and_sum[0]);
        rest_and_sum[1] = doubled(rest_and_sum[0]);
        let mut step = rest_and_sum[1];
        for place in steps.iter_mut() {
            step = doubled(step);
            *place = step;
        }
        for number in 1..=GROUP_BLOCKS {
            let step = u128::from_be_bytes(steps[number.trailing_zeros() as usize]);
            table[number] = (u128::from_be_bytes(table[number - 1]) ^ step).to_be_bytes();
        }
        offsets
    }

    /// What the offsets of a group share, by the offset before the first block and the number of a block in it: the steps
    /// at the ones of the Gray code of the group's first number. Numbers are public.
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

    /// The offsets of the blocks behind so many others, to the end of their group. The number of its last block may ask for another step
    /// than that which the table has.
    pub(super) fn masks(&self, first: u128, before: usize) -> Masks<'_> {
        let at = before % GROUP_BLOCKS;
        let [least, step] = [GROUP_BLOCKS, before - at + GROUP_BLOCKS]
            .map(|number| u128::from_be_bytes(self.steps[number.trailing_zeros() as usize]));
        let shared = self.shared(first, before);
        Masks::new(&self.table[at + 1..], shared.to_be_bytes(), (least ^ step).to_be_bytes())
    }

    /// The offsets of blocks behind so many others, which are whole parts.
    pub(super) fn long_masks(&self, first: u128, blocks_before: usize) -> LongMasks<'_> {
        debug_assert!(blocks_before.is_multiple_of(TABLE_BLOCKS));
        let before = self.of(first, blocks_before).to_be_bytes();
        LongMasks { blocks_before, before, table: &self.table, steps: &self.steps }
    }

    /// The offset of a block.
    pub(super) fn of(&self, first: u128, number: usize) -> u128 {
        self.shared(first, number) ^ u128::from_be_bytes(self.table[number % GROUP_BLOCKS])
    }

    /// The offset of a last block that is not whole, after so many blocks.
    pub(super) fn of_rest(&self, first: u128, blocks: usize) -> u128 {
        self.of(first, blocks) ^ u128::from_be_bytes(self.rest_and_sum[0])
    }

    /// What is added to the sum of the plaintext.
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
