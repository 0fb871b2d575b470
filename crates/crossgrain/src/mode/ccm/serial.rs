//! A message of CCM, block by block: CTR computes its blocks while the chain waits for its own.

use crate::arch::Buffers;
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::serial::{Blocks, SerialJob};

/// A message of CCM.
pub(crate) struct CcmJob<'a, 'b> {
    pub(crate) opens: bool,
    /// The flags of B₀, without those of counter block 0. A wide number: the compiler would load a byte together with
    /// `opens`, which was stored before.
    pub(crate) flags: u64,
    /// The block in which the associated data begins, if there is any.
    pub(crate) second: Option<&'a Block>,
    /// The rest of the associated data.
    pub(crate) aad: &'a [u8],
    /// Counter block 0 as a number.
    pub(crate) counter: u128,
    /// By reference: a copy would read pairs of words right after they were stored one by one.
    pub(crate) buffers: &'a mut Buffers<'b>,
    /// The tag before it is cut.
    pub(crate) tag: Block,
}

impl SerialJob for CcmJob<'_, '_> {
    #[inline(always)]
    fn run<C: Blocks>(&mut self, cipher: C) {
        let Self { opens, flags, second, aad, counter, ref mut buffers, ref mut tag } = *self;
        // It is computed here: stored in halves and loaded as a block, it would defeat store forwarding.
        let first = counter | u128::from(flags) << 120 | buffers.len_bytes() as u128;
        let [mut mac, mask, mut stream] = cipher.encrypt([
            cipher.of_number(first),
            cipher.of_number(counter),
            cipher.of_number(counter + 1),
        ]);
        if let Some(second) = second {
            mac = cipher.encrypt_one(mac ^ cipher.load(second));
        }
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
