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

use super::mask::{Constants, LongMasks, Masks, TABLE_BLOCKS};
use crate::arch::Wiped;
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::sum::sum;
use crate::mode::xts::tweak::double;
use crate::run::Program;

/// Blocks that share a table of offsets. The table and their data fill half of a first-level cache.
pub(super) const GROUP_BLOCKS: usize = TABLE_BLOCKS;

/// The constants of a key and the offsets computed from them (RFC 7253 §4.1). Their owner's memory is wiped.
pub(super) struct Offsets {
    constants: Constants,
    /// Entry i is the offset of block i if the initial offset is zero, for a whole group. Computed for the
    /// first long message.
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
    pub(super) fn new(enciphers: &Program) -> Wiped<Self> {
        // Filled in place, because moving the offsets would leave a copy.
        let mut offsets = Wiped::new(Self { constants: Constants::ZERO, table: OnceLock::new() });
        offsets.set(enciphers);
        offsets
    }

    /// Computes the constants of a key, and discards the table of the key before.
    pub(super) fn set(&mut self, enciphers: &Program) {
        self.table.take();
        let Constants { steps, rest, sum } = &mut self.constants;
        *rest = [0; BLOCK_BYTES];
        enciphers.block(rest);
        *sum = doubled(*rest);
        let mut step = *sum;
        for place in steps.iter_mut() {
            step = doubled(step);
            *place = step;
        }
    }

    /// The constants of the key.
    pub(super) const fn constants(&self) -> &Constants {
        &self.constants
    }

    /// The offsets of a group. A key that seals only short messages never computes them.
    fn table(&self) -> &[Block; GROUP_BLOCKS + 1] {
        let table = self.table.get_or_init(|| {
            let zero = [0; BLOCK_BYTES];
            let mut table = Wiped::new(Table { to_line: [zero; 3], entries: [zero; GROUP_BLOCKS + 1] });
            fill(&mut table.entries, &self.constants.steps);
            table
        });
        &table.entries
    }

    /// The part that is common to the offsets of a group if the initial offset is zero: the constants for the
    /// group's first number. `number` is a block in the group, and public.
    fn shared(&self, number: usize) -> Block {
        let number = number / GROUP_BLOCKS * GROUP_BLOCKS;
        let mut ones = number ^ number >> 1;
        let mut shared = [0; BLOCK_BYTES];
        while ones > 0 {
            shared = sum(shared, self.constants.steps[ones.trailing_zeros() as usize]);
            ones &= ones - 1;
        }
        shared
    }

    /// The offsets of the blocks from number `before` + 1 to the end of their group. The number of the last
    /// block may have more trailing zeros than the table assumes. The third argument of `Masks::new` corrects
    /// this.
    pub(super) fn masks(&self, first: &Block, before: usize) -> Masks<'_> {
        let at = before % GROUP_BLOCKS;
        let [least, step] =
            [GROUP_BLOCKS, before - at + GROUP_BLOCKS].map(|number| *self.constants.step_to(number));
        Masks::new(&self.table()[at + 1..], sum(*first, self.shared(before)), sum(least, step))
    }

    /// The offsets of the blocks after `blocks_before` others, a multiple of a group.
    pub(super) fn long_masks(&self, first: &Block, blocks_before: usize) -> LongMasks<'_> {
        debug_assert!(blocks_before.is_multiple_of(TABLE_BLOCKS));
        // The sum would be stored in two halves, and the kernel loads the whole.
        let before = if blocks_before == 0 { *first } else { sum(*first, self.steps_to(blocks_before)) };
        LongMasks { blocks_before, before, table: self.table(), constants: &self.constants }
    }

    /// The offset of block `number` if the initial offset is zero.
    pub(super) fn steps_to(&self, number: usize) -> Block {
        let entry = self.table()[number % GROUP_BLOCKS];
        if number < GROUP_BLOCKS { entry } else { sum(self.shared(number), entry) }
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
