//! A message of CCM, block by block: CTR computes its blocks while the chain waits for its own.

use crate::arch::Buffers;
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::serial::{Blocks, SerialJob};

/// A message of CCM.
pub(crate) struct CcmJob<'a, 'b> {
    pub(crate) opens: bool,
    /// B₀, and the block in which the associated data begins, if there is any.
    pub(crate) front: &'a [Block],
    /// The rest of the associated data.
    pub(crate) aad: &'a [u8],
    /// Counter block 0 as a number.
    pub(crate) counter: u128,
    pub(crate) buffers: Buffers<'b>,
    /// The tag before it is cut.
    pub(crate) tag: Block,
}

impl SerialJob for CcmJob<'_, '_> {
    #[inline(always)]
    fn run<C: Blocks>(&mut self, cipher: C) {
        let Self { opens, front, aad, counter, ref mut buffers, ref mut tag } = *self;
        let [first, more @ ..] = front else { return };
        let [mut mac, mask, mut stream] =
            cipher.encrypt([cipher.load(first), cipher.of_number(counter), cipher.of_number(counter + 1)]);
        mac = cipher.absorb(mac, more);
        let (whole, rest) = aad.as_chunks();
        mac = cipher.absorb(mac, whole);
        if !rest.is_empty() {
            mac = cipher.encrypt_one(mac ^ cipher.load_part(rest));
        }
        let blocks = buffers.len_bytes() / BLOCK_BYTES;
        for i in 0..blocks {
            let input = cipher.load(buffers.input_block(i));
            let output = input ^ stream;
            cipher.store(output, buffers.output_block(i));
            let plain = if opens { output } else { input };
            let next = cipher.of_number(counter.wrapping_add(i as u128 + 2));
            [mac, stream] = cipher.encrypt([mac ^ plain, next]);
        }
        let rest = buffers.len_bytes() % BLOCK_BYTES;
        if rest > 0 {
            let input = cipher.load_part(&buffers.input()[blocks * BLOCK_BYTES..]);
            let output = cipher.first_bytes(input ^ stream, rest);
            cipher.store_part(output, &mut buffers.output_mut()[blocks * BLOCK_BYTES..]);
            mac = cipher.encrypt_one(mac ^ if opens { output } else { input });
        }
        cipher.store(mac ^ mask, tag);
    }
}
