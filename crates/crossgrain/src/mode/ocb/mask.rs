//! The offsets of OCB (RFC 7253 §4), which are added to each block before and after the cipher.
//!
//! Offset i is offset 0 plus one constant Lⱼ for each set bit j in the Gray code of i. For blocks whose
//! numbers differ only in their low bits, the offset is a table entry plus one block that is common to the
//! run. The table depends only on the key and serves every such run.
//!
//! Layout: blocks in the cipher's byte order.
//! Source: RFC 7253 §4.1 and §4.2.
//! Invariant: masks are secret, so nothing branches on them.

use std::fmt;

use crate::arch::each;
use crate::block::{BLOCK_BYTES, Block};

/// The masks of consecutive blocks. Mask i is `table[i]` plus `shared`. The last mask also has `last` added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Masks<'a> {
    table: &'a [Block],
    shared: Block,
    last: Block,
}

impl<'a> Masks<'a> {
    /// The masks of as many blocks as the table has entries. Blocks after them are padding, and their masks
    /// do not matter.
    pub const fn new(table: &'a [Block], shared: Block, last: Block) -> Self {
        Self { table, shared, last }
    }

    /// The masks without the first `blocks`.
    #[must_use]
    pub(crate) fn skip(self, blocks: usize) -> Self {
        Self { table: self.table.get(blocks..).unwrap_or_default(), ..self }
    }

    /// The block that all masks share.
    pub(crate) const fn shared(&self) -> &Block {
        &self.shared
    }

    /// The masks in order.
    pub fn blocks(self) -> impl Iterator<Item = Block> + 'a {
        let more =
            std::iter::repeat_n([0; BLOCK_BYTES], self.table.len().saturating_sub(1)).chain([self.last]);
        self.table
            .iter()
            .zip(more)
            .map(move |(entry, more)| each!(i < 16 => entry[i] ^ more[i] ^ self.shared[i]))
    }

    /// The next mask, or zeros after the last one.
    pub(crate) fn next(self) -> Block {
        self.blocks().next().unwrap_or_default()
    }

    /// Writes the masks to `masks`, and the sum of each mask and input block to `masked`.
    pub(crate) fn add(self, input: &[u8], masks: &mut [u8], masked: &mut [u8]) {
        let places = masks.as_chunks_mut().0.iter_mut().zip(masked.as_chunks_mut().0);
        let entries = self.blocks().chain(std::iter::repeat([0; BLOCK_BYTES]));
        for ((input, mask), (place, masked)) in
            input.as_chunks::<BLOCK_BYTES>().0.iter().zip(entries).zip(places)
        {
            *place = mask;
            *masked = each!(i < 16 => input[i] ^ mask[i]);
        }
    }

    /// The table entries of the next `blocks` blocks. If they include the last one, they are copied to
    /// `copy`: the last entry gets `last` added, and zeros follow it.
    #[inline(always)]
    pub(crate) fn next_entries<'b>(&'b self, blocks: usize, copy: &'b mut [u8]) -> &'b [u8] {
        let entries = self.table.as_flattened();
        let len_bytes = blocks * BLOCK_BYTES;
        if len_bytes < entries.len() {
            return &entries[..len_bytes];
        }
        let (copied, _) = copy.split_at_mut(entries.len());
        copied.copy_from_slice(entries);
        copied.iter_mut().rev().zip(self.last.iter().rev()).for_each(|(byte, last)| *byte ^= last);
        &copy[..len_bytes]
    }
}

/// The number of blocks whose masks one table covers. For every kernel that takes [`LongMasks`] it must be a
/// multiple of the bundle; the kernel asserts this at compile time.
pub const TABLE_BLOCKS: usize = 512;

/// The masks of any number of consecutive blocks.
#[derive(Clone, Copy)]
pub struct LongMasks<'a> {
    /// The number of blocks before the first, a multiple of [`TABLE_BLOCKS`].
    pub(crate) blocks_before: usize,
    /// The mask of the last block before the first.
    pub(crate) before: Block,
    /// The masks of blocks 0 to [`TABLE_BLOCKS`] if the mask of block 0 were zero.
    pub(crate) table: &'a [Block; TABLE_BLOCKS + 1],
    /// The constants of the key.
    pub(crate) constants: &'a Constants,
}

/// The constants of a key (RFC 7253 §4.1).
pub struct Constants {
    /// L₀, L₁ and so on, one for each bit of a block number, lowest first.
    pub(crate) steps: [Block; usize::BITS as usize],
    /// L_*, for an incomplete last block.
    pub(crate) rest: Block,
    /// L_$, for the checksum.
    pub(crate) sum: Block,
}

impl Constants {
    /// Zeros, to be filled in place: a move would leave a copy.
    pub(crate) const ZERO: Self =
        Self { steps: [[0; BLOCK_BYTES]; _], rest: [0; BLOCK_BYTES], sum: [0; BLOCK_BYTES] };

    /// The difference between the mask of block `number` and that of the block before it. Block numbers are
    /// public.
    #[inline(always)]
    pub(crate) const fn step_to(&self, number: usize) -> &Block {
        // The remainder avoids a bounds check. It changes nothing: a block number is not 0.
        &self.steps[(number.trailing_zeros() % usize::BITS) as usize]
    }
}

impl fmt::Debug for Constants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Constants(secret)")
    }
}

impl fmt::Debug for LongMasks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LongMasks(after {} blocks, secret)", self.blocks_before)
    }
}

impl fmt::Debug for Masks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masks({} blocks, secret)", self.table.len())
    }
}
