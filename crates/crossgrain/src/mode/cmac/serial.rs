//! CMAC (SP 800-38B §6.2) of one message, block by block.

use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::serial::{Blocks, SerialJob};

/// K1 and K2 (SP 800-38B §6.1), for a whole last block and a padded one.
pub(crate) type LastKeys = [Block; 2];

/// CMAC of a message.
pub(crate) struct CmacJob<'a> {
    pub(crate) last_keys: &'a LastKeys,
    pub(crate) message: &'a [u8],
    pub(crate) tag: Block,
}

impl SerialJob for CmacJob<'_> {
    #[inline(always)]
    fn run<C: Blocks>(&mut self, cipher: C) {
        let tag = cmac(cipher, self.last_keys, cipher.zero(), self.message);
        cipher.store(tag, &mut self.tag);
    }
}

/// The tag of a message. The state is zero, or that after whole blocks before the message, which must not be
/// empty then.
#[inline(always)]
pub(crate) fn cmac<C: Blocks>(cipher: C, keys: &LastKeys, state: C::Block, message: &[u8]) -> C::Block {
    let (whole, last) = split_last(message);
    let state = cipher.absorb(state, whole);
    cipher.encrypt_one(state ^ last_block(cipher, keys, last))
}

/// The last block, padded if it is not whole, with the key that belongs to it.
#[inline(always)]
pub(crate) fn last_block<C: Blocks>(cipher: C, [whole, padded]: &LastKeys, last: &[u8]) -> C::Block {
    match last.first_chunk() {
        Some(last) => cipher.load(last) ^ cipher.load(whole),
        None => cipher.padded(last) ^ cipher.load(padded),
    }
}

/// The whole blocks before the last block, and the last block. It is empty only if the message is.
#[inline(always)]
pub(crate) fn split_last(message: &[u8]) -> (&[Block], &[u8]) {
    let (before, last) = message.split_at(message.len().saturating_sub(1) / BLOCK_BYTES * BLOCK_BYTES);
    (before.as_chunks().0, last)
}
