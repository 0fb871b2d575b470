//! S2V (RFC 5297 §2.4) of one message, block by block.

use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::serial::{Blocks, SerialJob};
use crate::mode::cmac::serial::{LastKeys, cmac, last_block, split_last};
use crate::mode::xts::tweak::double;

/// S2V of strings and a plaintext.
pub(crate) struct S2vJob<'a> {
    pub(crate) last_keys: &'a LastKeys,
    /// CMAC of a block of zeros.
    pub(crate) begin: &'a Block,
    /// The strings before the plaintext.
    pub(crate) strings: &'a [&'a [u8]],
    pub(crate) plaintext: &'a [u8],
    pub(crate) tag: Block,
}

impl SerialJob for S2vJob<'_> {
    #[inline(always)]
    fn run<C: Blocks>(&mut self, cipher: C) {
        let mut sum = cipher.load(self.begin);
        for pair in self.strings.chunks(2) {
            let [one, other] = self.cmacs(cipher, pair);
            sum = doubled(cipher, sum) ^ one;
            if pair.len() == 2 {
                sum = doubled(cipher, sum) ^ other;
            }
        }
        let tag = self.end(cipher, sum);
        cipher.store(tag, &mut self.tag);
    }
}

impl S2vJob<'_> {
    /// The CMACs of one or two strings. If none has more than a block, they run together.
    #[inline(always)]
    fn cmacs<C: Blocks>(&self, cipher: C, strings: &[&[u8]]) -> [C::Block; 2] {
        let keys = self.last_keys;
        let (one, other) = match *strings {
            [one, other] => (one, other),
            [one] => (one, &[][..]),
            _ => (&[][..], &[][..]),
        };
        if one.len().max(other.len()) <= BLOCK_BYTES {
            return cipher.encrypt([last_block(cipher, keys, one), last_block(cipher, keys, other)]);
        }
        [cmac(cipher, keys, cipher.zero(), one), cmac(cipher, keys, cipher.zero(), other)]
    }

    /// CMAC of the plaintext with the sum added to its end.
    #[inline(always)]
    fn end<C: Blocks>(&self, cipher: C, sum: C::Block) -> C::Block {
        let Self { last_keys: last_keys @ [whole, _], plaintext, .. } = *self;
        let Some(at) = plaintext.len().checked_sub(BLOCK_BYTES) else {
            let last = doubled(cipher, sum) ^ cipher.padded(plaintext);
            return cipher.encrypt_one(last ^ cipher.load(whole));
        };
        // The last 16 bytes may begin within a block. The sum then covers the end of one block and the
        // beginning of the next.
        let within = at % BLOCK_BYTES;
        let (blocks, last) = split_last(plaintext);
        if within == 0 {
            let state = cipher.absorb(cipher.zero(), blocks);
            return cipher.encrypt_one(state ^ sum ^ last_block(cipher, last_keys, last));
        }
        let number = cipher.number(sum);
        let (front, back) = (number >> (8 * within), number << (8 * (BLOCK_BYTES - within)));
        let mut state = cipher.zero();
        if let [before @ .., split] = blocks {
            state = cipher.absorb(state, before);
            state = cipher.encrypt_one(state ^ cipher.load(split) ^ cipher.of_number(front));
        }
        let last = last_block(cipher, last_keys, last) ^ cipher.of_number(back);
        cipher.encrypt_one(state ^ last)
    }
}

/// A block doubled in the field of CMAC.
#[inline(always)]
fn doubled<C: Blocks>(cipher: C, block: C::Block) -> C::Block {
    cipher.of_number(double(cipher.number(block)))
}
