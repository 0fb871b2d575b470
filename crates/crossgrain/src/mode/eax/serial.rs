//! A message of EAX, block by block: CTR computes the next block while OMAC waits for its own.

use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::serial::{Blocks, SerialJob};
use crate::message::AeadMessage;
use crate::mode::cmac::serial::{LastKeys, cmac, last_block};

/// For each t: the state after the block of t, and OMACₜ of the empty string.
pub(crate) type Omacs = [[Block; 2]; 3];

/// A message of EAX. When sealing, the job encrypts it. When opening, it only computes the tag, because
/// nothing may be decrypted before the tag is compared.
pub(crate) struct EaxJob<'a, 'b> {
    pub(crate) opens: bool,
    pub(crate) omacs: &'a Omacs,
    pub(crate) last_keys: &'a LastKeys,
    /// By reference: a copy would read pairs of words right after they were stored one by one.
    pub(crate) message: &'a mut AeadMessage<'b>,
    /// The first counter block: OMAC₀ of the nonce, as a number.
    pub(crate) counter: u128,
    /// The tag before it is cut.
    pub(crate) tag: Block,
}

impl SerialJob for EaxJob<'_, '_> {
    #[inline(always)]
    fn run<C: Blocks>(&mut self, cipher: C) {
        let (nonce, aad) = self.headers(cipher);
        self.counter = cipher.number(nonce);
        let of_message = match self.opens {
            true => self.omac(cipher, 2, self.message.buffers.input()),
            false => self.encrypt(cipher, nonce),
        };
        cipher.store(nonce ^ aad ^ of_message, &mut self.tag);
    }
}

impl EaxJob<'_, '_> {
    /// OMAC₀ of the nonce and OMAC₁ of the associated data. If both have one block, they run together.
    #[inline(always)]
    fn headers<C: Blocks>(&self, cipher: C) -> (C::Block, C::Block) {
        let Self { omacs, last_keys, ref message, .. } = *self;
        let (nonce, aad) = (message.nonce, message.aad);
        if is_block(nonce) && is_block(aad) {
            let nonce = cipher.load(&omacs[0][0]) ^ last_block(cipher, last_keys, nonce);
            let aad = cipher.load(&omacs[1][0]) ^ last_block(cipher, last_keys, aad);
            let [nonce, aad] = cipher.encrypt([nonce, aad]);
            return (nonce, aad);
        }
        (self.omac(cipher, 0, nonce), self.omac(cipher, 1, aad))
    }

    /// OMACₜ of a string.
    #[inline(always)]
    fn omac<C: Blocks>(&self, cipher: C, t: usize, string: &[u8]) -> C::Block {
        let [begun, of_nothing] = &self.omacs[t];
        if string.is_empty() {
            return cipher.load(of_nothing);
        }
        cmac(cipher, self.last_keys, cipher.load(begun), string)
    }

    /// Encrypts the message and computes OMAC₂ of the ciphertext.
    #[inline(always)]
    fn encrypt<C: Blocks>(&mut self, cipher: C, nonce: C::Block) -> C::Block {
        let Self { omacs, last_keys, counter, ref mut message, .. } = *self;
        let buffers = &mut message.buffers;
        if buffers.is_empty() {
            return cipher.load(&omacs[2][1]);
        }
        let mut state = cipher.load(&omacs[2][0]);
        let mut stream = cipher.encrypt_one(nonce);
        let blocks = (buffers.len_bytes() - 1) / BLOCK_BYTES;
        for i in 0..blocks {
            let output = cipher.load(buffers.input_block(i)) ^ stream;
            cipher.store(output, buffers.output_block(i));
            let next = cipher.of_number(counter.wrapping_add(i as u128 + 1));
            [state, stream] = cipher.encrypt([state ^ output, next]);
        }
        let (input, at) = (buffers.input(), blocks * BLOCK_BYTES);
        let len_bytes = input.len() - at;
        let output = cipher.first_bytes(cipher.load_part(&input[at..]) ^ stream, len_bytes);
        cipher.store_part(output, &mut buffers.output_mut()[at..]);
        let [whole, padded] = last_keys;
        let end = match len_bytes {
            BLOCK_BYTES => cipher.load(whole),
            _ => cipher.load(padded) ^ cipher.one_after(len_bytes),
        };
        cipher.encrypt_one(state ^ output ^ end)
    }
}

/// Whether a string has one block, whole or incomplete.
#[inline(always)]
const fn is_block(string: &[u8]) -> bool {
    !string.is_empty() && string.len() <= BLOCK_BYTES
}
