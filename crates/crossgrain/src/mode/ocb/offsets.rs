//! The offsets of OCB (RFC 7253 §4): the constants of a key, and a table of the first offsets.
//!
//! Offset i of a message is its initial offset XOR one constant Lⱼ for each bit j that is set in the Gray
//! code of i. Let i = 512·g + r. The constants for r are entry r of the table, and those for 512·g are common
//! to the group. (512 is `GROUP_BLOCKS`.)
//!
//! Offsets are big-endian integers, as in the RFC, and blocks are numbered from 1. Offsets are secret, block
//! numbers are public.

use std::mem;
use std::sync::OnceLock;

use super::mask::{LongMasks, Masks, TABLE_BLOCKS};
use crate::arch::Wiped;
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::sum::sum;
use crate::mode::aead::SHORT_BYTES;
use crate::mode::xts::tweak::double;
use crate::run::Program;

/// Blocks that share a table of offsets. The table and their data fill half of a first-level cache.
pub(super) const GROUP_BLOCKS: usize = TABLE_BLOCKS;

/// Offsets that are computed with the key: enough for short messages and their associated data.
const NEAR_BLOCKS: usize = SHORT_BYTES / BLOCK_BYTES + 2;

/// The constants of a key and the offsets computed from them (RFC 7253 §4.1). Their owner's memory is wiped.
pub(super) struct Offsets {
    /// L₀, L₁ and so on, one for each bit of a block number, lowest first.
    steps: [Block; usize::BITS as usize],
    /// L_* for an incomplete last block, and L_$ for the checksum.
    rest_and_sum: [Block; 2],
    /// Entry i is the offset of block i if the initial offset is zero.
    near: [Block; NEAR_BLOCKS],
    /// The same for a whole group, computed for the first message that needs more than `near`.
    table: OnceLock<Wiped<Table>>,
}

/// The offsets of a group. Entry 1 starts a cache line, because kernels read the table from there in whole
/// registers.
#[repr(C, align(64))]
struct Table {
    to_line: [Block; 3],
    entries: [Block; GROUP_BLOCKS + 1],
}

const _: () = assert!((mem::offset_of!(Table, entries) + BLOCK_BYTES).is_multiple_of(align_of::<Table>()));

impl Offsets {
    /// Zeros. This is a separate function, because its frame is as large as the offsets. They are computed after
    /// it has returned, so callers that wipe the stack need not wipe deeper for it.
    #[inline(never)]
    fn zeros() -> Wiped<Self> {
        let zero = [0; BLOCK_BYTES];
        Wiped::new(Self {
            steps: [zero; usize::BITS as usize],
            rest_and_sum: [zero; 2],
            near: [zero; NEAR_BLOCKS],
            table: OnceLock::new(),
        })
    }

    pub(super) fn new(enciphers: &Program) -> Wiped<Self> {
        // Filled in place, because moving the offsets would leave a copy.
        let mut offsets = Self::zeros();
        let Self { rest_and_sum, steps, near, .. } = &mut *offsets;
        enciphers.block(&mut rest_and_sum[0]);
        rest_and_sum[1] = doubled(rest_and_sum[0]);
        let mut step = rest_and_sum[1];
        for place in steps.iter_mut() {
            step = doubled(step);
            *place = step;
        }
        fill(near, steps);
        offsets
    }

    /// The offsets of a group. A key that seals only short messages never computes them.
    fn table(&self) -> &[Block; GROUP_BLOCKS + 1] {
        let table = self.table.get_or_init(|| {
            let zero = [0; BLOCK_BYTES];
            let mut table = Wiped::new(Table { to_line: [zero; 3], entries: [zero; GROUP_BLOCKS + 1] });
            fill(&mut table.entries, &self.steps);
            table
        });
        &table.entries
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
        Masks::new(&self.table()[at + 1..], shared.to_be_bytes(), (least ^ step).to_be_bytes())
    }

    /// The offsets of the blocks after `blocks_before` others, a multiple of a group.
    pub(super) fn long_masks(&self, first: u128, blocks_before: usize) -> LongMasks<'_> {
        debug_assert!(blocks_before.is_multiple_of(TABLE_BLOCKS));
        let before = self.of(first, blocks_before).to_be_bytes();
        LongMasks { blocks_before, before, table: self.table(), steps: &self.steps }
    }

    /// The offset of block `number`.
    pub(super) fn of(&self, first: u128, number: usize) -> u128 {
        self.shared(first, number) ^ u128::from_be_bytes(self.table()[number % GROUP_BLOCKS])
    }

    /// The offset of one of the first [`NEAR_BLOCKS`] blocks, as a block.
    pub(super) fn near(&self, first: &Block, number: usize) -> Block {
        sum(*first, self.near[number])
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

/// Computes the offsets of the first blocks for an initial offset of zero.
fn fill(offsets: &mut [Block], steps: &[Block]) {
    let count = offsets.len();
    // The Gray code of 2ᵏ + j, for j below 2ᵏ, is that of j with bits k and k − 1 flipped.
    for (k, step) in steps.iter().enumerate().take_while(|&(k, _)| 1 << k < count) {
        let change = if k == 0 { *step } else { sum(*step, steps[k - 1]) };
        let (known, next) = offsets.split_at_mut(1 << k);
        next.iter_mut().zip(known).for_each(|(next, known)| *next = sum(*known, change));
    }
}

fn doubled(block: Block) -> Block {
    double(u128::from_be_bytes(block)).to_be_bytes()
}
