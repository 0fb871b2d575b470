//! What OCB adds to consecutive blocks before the cipher and after it: the offsets of RFC 7253 §4.
//!
//! Offset i is offset 0 plus the constants Lⱼ at the ones of i's Gray code. So the offsets of blocks whose numbers differ
//! in their low bits alone are one table for every run of such blocks, plus one block that stands for the other bits.
//! Layout: blocks as the cipher takes them. Needs: nothing. Source: RFC 7253 §4.1 and §4.2.
//! Holds: masks are secret, so nothing branches on them.

use std::fmt;

use crate::block::{BLOCK_BYTES, Block};
use crate::word::each;

/// The masks of consecutive blocks: each the sum of its entry in a table and of one block that all share, and the last of one more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Masks<'a> {
    table: &'a [Block],
    shared: Block,
    last: Block,
}

impl<'a> Masks<'a> {
    /// The masks of as many blocks as the table has. What comes after them is padding, whose masks are of no account.
    pub const fn new(table: &'a [Block], shared: Block, last: Block) -> Self {
        Self { table, shared, last }
    }

    /// The masks from `blocks` blocks further on.
    #[must_use]
    pub(super) fn skip(self, blocks: usize) -> Self {
        Self { table: self.table.get(blocks..).unwrap_or_default(), ..self }
    }

    /// The block that all masks share.
    pub(super) const fn shared(&self) -> &Block {
        &self.shared
    }

    /// The masks themselves.
    pub fn blocks(self) -> impl Iterator<Item = Block> + 'a {
        let more =
            std::iter::repeat_n([0; BLOCK_BYTES], self.table.len().saturating_sub(1)).chain([self.last]);
        self.table
            .iter()
            .zip(more)
            .map(move |(entry, more)| each!(i < 16 => entry[i] ^ more[i] ^ self.shared[i]))
    }

    /// What the next mask is; zeros after the last one.
    pub(super) fn next(self) -> Block {
        self.blocks().next().unwrap_or_default()
    }

    /// Writes the masks of the input to `masks`, and their sum with the input to `masked`.
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

    /// The entries of the next `blocks` blocks: in the table, or copied from there with the last made whole and zeros behind it.
    #[inline(always)]
    pub(super) fn next_entries<'b>(&'b self, blocks: usize, copy: &'b mut [u8]) -> &'b [u8] {
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

/// Blocks whose masks one table has. The bundle of every kernel that takes [`LongMasks`] divides it; the kernel asserts this
/// when it is compiled.
pub const TABLE_BLOCKS: usize = 512;

/// The masks of any number of consecutive blocks.
#[derive(Clone, Copy)]
pub struct LongMasks<'a> {
    /// The number of blocks before the first, a multiple of [`TABLE_BLOCKS`].
    pub(crate) blocks_before: usize,
    /// The mask of the last block before the first.
    pub(crate) before: Block,
    /// The masks of blocks 0 to [`TABLE_BLOCKS`], if that of block 0 were zero.
    pub(crate) table: &'a [Block; TABLE_BLOCKS + 1],
    /// L₀, L₁ and so on.
    pub(crate) steps: &'a [Block; usize::BITS as usize],
}

impl<'a> LongMasks<'a> {
    /// What is added to the mask of the block before the one of this number. Numbers are public.
    #[inline(always)]
    pub(super) const fn step_to(&self, number: usize) -> &'a Block {
        // Without a check: no number has as many zeros as it has bits.
        &self.steps[(number.trailing_zeros() % usize::BITS) as usize]
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
