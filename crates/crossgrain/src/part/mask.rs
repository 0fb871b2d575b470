//! What OCB adds to consecutive blocks before the cipher and after it: the offsets of RFC 7253 §4.
//!
//! Offset i is offset 0 plus the constants Lⱼ at the ones of i's Gray code. So the offsets of blocks whose numbers differ
//! in their low bits alone are one table for every run of such blocks, plus one block that stands for the other bits.
//! Layout: blocks as the cipher takes them. Needs: nothing. Source: RFC 7253 §4.1 and §4.2.
//! Holds: masks are secret, so nothing branches on them.

use std::fmt;

use crate::block::{BLOCK_BYTES, Block};
use crate::word::{ByteLanes, each};

/// The masks of consecutive blocks: each the sum of its entry in a table and of one block that all share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Masks<'a> {
    table: &'a [Block],
    shared: Block,
}

impl<'a> Masks<'a> {
    /// The masks of as many blocks as the table has. What comes after them is padding, whose masks are of no account.
    pub const fn new(table: &'a [Block], shared: Block) -> Self {
        Self { table, shared }
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
        self.table.iter().map(move |entry| each!(i < 16 => entry[i] ^ self.shared[i]))
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

    /// The entries of the next `blocks` blocks: in the table, or copied from there with zeros behind them.
    #[inline(always)]
    pub(super) fn next_entries<'b>(&'b self, blocks: usize, copy: &'b mut [u8]) -> &'b [u8] {
        let entries = self.table.as_flattened();
        let len_bytes = blocks * BLOCK_BYTES;
        if let Some(entries) = entries.get(..len_bytes) {
            return entries;
        }
        copy[..entries.len()].copy_from_slice(entries);
        &copy[..len_bytes]
    }

    /// The entries from byte `at` of the table on, as `N` registers; zeros after its end.
    #[inline(always)]
    pub(super) fn entries<W: ByteLanes, const N: usize>(&self, isa: W::Isa, at: usize) -> [W; N] {
        let bytes = self.table.as_flattened().get(at..).unwrap_or_default();
        if let Some(bytes) = bytes.get(..N * W::BYTES) {
            return each!(i < N => W::load(isa, &bytes[i * W::BYTES..][..W::BYTES]));
        }
        each!(i < N => {
            let from = (i * W::BYTES).min(bytes.len());
            W::load_lanes(isa, &bytes[from..][..W::BYTES.min(bytes.len() - from)])
        })
    }
}

impl fmt::Debug for Masks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masks({} blocks, secret)", self.table.len())
    }
}
