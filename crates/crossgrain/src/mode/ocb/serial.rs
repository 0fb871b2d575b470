//! OCB block by block: the nonce and the associated data, whole blocks, and the end of a message.
//!
//! Blocks are independent of each other once the nonce is encrypted, so up to [`GROUP`] run together. A short
//! message that is sealed is one job: its last blocks run together with the tag.

use super::mask::Constants;
use crate::arch::Buffers;
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::serial::{Blocks, SerialJob};
use crate::message::AeadMessage;

/// Blocks that run together.
const GROUP: usize = 4;

/// The longest message in bytes that is one job. Longer ones use the tables and kernels of long messages.
pub(crate) const SHORT_BYTES: usize = 256;

/// Blocks that run together if each step is a run of a program: all of a short message.
const MANY: usize = SHORT_BYTES / BLOCK_BYTES;

/// The nonce and the associated data of a message.
pub(crate) struct OcbBegin<'a, 'b> {
    pub(crate) constants: &'a Constants,
    pub(crate) nonce: OcbNonce,
    /// By reference: a copy would read pairs of words right after they were stored one by one.
    pub(crate) message: &'a AeadMessage<'b>,
    /// Offset 0.
    pub(crate) offset: Block,
    /// HASH of the associated data.
    pub(crate) hash: Block,
}

/// The nonce of a message.
#[derive(Clone, Copy)]
pub(crate) struct OcbNonce {
    /// The nonce block without its lowest six bits, as a number.
    pub(crate) block: u128,
    /// These bits, which choose where offset 0 begins.
    pub(crate) bottom: u32,
}

/// The end of a message.
pub(crate) struct OcbEnd<'a, 'b> {
    pub(crate) constants: &'a Constants,
    pub(crate) opens: bool,
    /// The bytes after the last whole block.
    pub(crate) buffers: Buffers<'b>,
    /// Offset 0, and the difference between it and the offset of the last whole block.
    pub(crate) first: Block,
    pub(crate) steps: Block,
    /// The XOR of the plaintext's whole blocks.
    pub(crate) checksum: Block,
    /// HASH of the associated data.
    pub(crate) hash: Block,
    /// The tag before it is cut.
    pub(crate) tag: Block,
}

/// A whole message.
pub(crate) struct OcbShort<'a, 'b> {
    pub(crate) constants: &'a Constants,
    pub(crate) opens: bool,
    pub(crate) nonce: OcbNonce,
    /// A reference, as in [`OcbBegin`].
    pub(crate) message: &'a mut AeadMessage<'b>,
    /// The tag before it is cut.
    pub(crate) tag: Block,
}

impl SerialJob for OcbBegin<'_, '_> {
    #[inline(always)]
    fn run<C: Blocks>(&mut self, cipher: C) {
        let (offset, hash) = begin(cipher, self.constants, self.nonce, self.message.aad);
        cipher.store(offset, &mut self.offset);
        cipher.store(hash, &mut self.hash);
    }
}

impl SerialJob for OcbEnd<'_, '_> {
    #[inline(always)]
    fn run<C: Blocks>(&mut self, cipher: C) {
        let Self { constants, opens, ref mut buffers, .. } = *self;
        let offset = cipher.load(&self.first) ^ cipher.load(&self.steps);
        let checksum = cipher.load(&self.checksum);
        let tag = end(cipher, constants, opens, buffers, offset, checksum);
        cipher.store(tag ^ cipher.load(&self.hash), &mut self.tag);
    }
}

impl SerialJob for OcbShort<'_, '_> {
    #[inline(always)]
    fn run<C: Blocks>(&mut self, cipher: C) {
        let Self { constants, opens, nonce, ref mut message, ref mut tag } = *self;
        let (offset, hash) = begin(cipher, constants, nonce, message.aad);
        let buffers = &mut message.buffers;
        let state = State { cipher, constants, offset, number: 0, checksum: cipher.zero() };
        let made = if opens { state.open(buffers) } else { state.seal(buffers) };
        cipher.store(made ^ hash, tag);
    }
}

/// A message between two blocks.
struct State<'a, C: Blocks> {
    cipher: C,
    constants: &'a Constants,
    /// The offset of the last block, and its number.
    offset: C::Block,
    number: usize,
    checksum: C::Block,
}

impl<C: Blocks> State<'_, C> {
    /// The offset of the next block.
    #[inline(always)]
    fn next_offset(&mut self) -> C::Block {
        self.number += 1;
        self.offset = self.offset ^ self.cipher.load(self.constants.step_to(self.number));
        self.offset
    }

    /// Seals a message. Returns the encrypted checksum.
    #[inline(always)]
    fn seal(mut self, buffers: &mut Buffers<'_>) -> C::Block {
        let (blocks, mut at) = (buffers.len_bytes() / BLOCK_BYTES, 0);
        if const { C::RUNS_MANY } {
            return self.seal_last::<{ MANY + 2 }>(buffers, 0, blocks);
        }
        while blocks - at > GROUP {
            self.group::<GROUP, false>(buffers, at, GROUP);
            at += GROUP;
        }
        match blocks - at {
            0 => self.seal_last::<2>(buffers, at, 0),
            1 => self.seal_last::<3>(buffers, at, 1),
            2 => self.seal_last::<4>(buffers, at, 2),
            3 => self.seal_last::<5>(buffers, at, 3),
            _ => self.seal_last::<6>(buffers, at, GROUP),
        }
    }

    /// Opens a message. Returns the encrypted checksum.
    #[inline(always)]
    fn open(mut self, buffers: &mut Buffers<'_>) -> C::Block {
        let (blocks, mut at) = (buffers.len_bytes() / BLOCK_BYTES, 0);
        if const { C::RUNS_MANY } && blocks > 0 {
            self.group::<MANY, true>(buffers, 0, blocks);
            at = blocks;
        }
        while blocks - at >= GROUP {
            self.group::<GROUP, true>(buffers, at, GROUP);
            at += GROUP;
        }
        while blocks > at {
            self.group::<1, true>(buffers, at, 1);
            at += 1;
        }
        let Self { cipher, constants, offset, checksum, .. } = self;
        let (_, mut rest) = buffers.reborrow().split_at(at * BLOCK_BYTES);
        end(cipher, constants, true, &mut rest, offset, checksum)
    }

    /// The offsets of `count` blocks from block `at` of the buffers on, and the blocks that enter the cipher.
    /// When sealing, the blocks are added to the checksum.
    #[inline(always)]
    fn entering<const N: usize, const OPENS: bool>(
        &mut self,
        buffers: &Buffers<'_>,
        at: usize,
        count: usize,
    ) -> ([C::Block; N], [C::Block; N]) {
        let cipher = self.cipher;
        let mut offsets = [cipher.zero(); N];
        let mut states = offsets;
        for i in 0..count {
            let input = cipher.load(buffers.input_block(at + i));
            offsets[i] = self.next_offset();
            states[i] = input ^ offsets[i];
            if !OPENS {
                self.checksum = self.checksum ^ input;
            }
        }
        (offsets, states)
    }

    /// Runs `count` blocks from block `at` of the buffers on, at most `N`.
    #[inline(always)]
    fn group<const N: usize, const OPENS: bool>(
        &mut self,
        buffers: &mut Buffers<'_>,
        at: usize,
        count: usize,
    ) {
        let cipher = self.cipher;
        let (offsets, states) = self.entering::<N, OPENS>(buffers, at, count);
        let states = if OPENS { cipher.decrypt(states) } else { cipher.encrypt(states) };
        for i in 0..count {
            let output = states[i] ^ offsets[i];
            cipher.store(output, buffers.output_block(at + i));
            if OPENS {
                self.checksum = self.checksum ^ output;
            }
        }
    }

    /// Seals the last `count` whole blocks, from block `at` on, and the bytes after them. Returns the encrypted
    /// checksum. `ALL` is at least `count` and two.
    #[inline(always)]
    fn seal_last<const ALL: usize>(mut self, buffers: &mut Buffers<'_>, at: usize, count: usize) -> C::Block {
        let cipher = self.cipher;
        let (offsets, mut states) = self.entering::<ALL, false>(buffers, at, count);
        let rest_at = (at + count) * BLOCK_BYTES;
        let rest = cipher.load_part(&buffers.input()[rest_at..]);
        let rest_bytes = buffers.len_bytes() - rest_at;
        if rest_bytes > 0 {
            self.offset = self.offset ^ cipher.load(&self.constants.rest);
            self.checksum = self.checksum ^ rest ^ cipher.one_after(rest_bytes);
        }
        states[count] = self.offset;
        states[count + 1] = self.checksum ^ self.offset ^ cipher.load(&self.constants.sum);
        states = cipher.encrypt(states);
        for i in 0..count {
            cipher.store(states[i] ^ offsets[i], buffers.output_block(at + i));
        }
        cipher.store_part(rest ^ states[count], &mut buffers.output_mut()[rest_at..]);
        states[count + 1]
    }
}

/// The bytes after the last whole block, whose offset and checksum are given. Returns the encrypted checksum.
#[inline(always)]
fn end<C: Blocks>(
    cipher: C,
    constants: &Constants,
    opens: bool,
    buffers: &mut Buffers<'_>,
    mut offset: C::Block,
    mut checksum: C::Block,
) -> C::Block {
    let len_bytes = buffers.len_bytes();
    if len_bytes > 0 {
        offset = offset ^ cipher.load(&constants.rest);
        let input = cipher.load_part(buffers.input());
        let output = cipher.first_bytes(input ^ cipher.encrypt_one(offset), len_bytes);
        cipher.store_part(output, buffers.output_mut());
        checksum = checksum ^ if opens { output } else { input } ^ cipher.one_after(len_bytes);
    }
    cipher.encrypt_one(checksum ^ offset ^ cipher.load(&constants.sum))
}

/// Offset 0 (RFC 7253 §4.2) and HASH of the associated data (§4.1).
#[inline(always)]
fn begin<C: Blocks>(cipher: C, constants: &Constants, nonce: OcbNonce, aad: &[u8]) -> (C::Block, C::Block) {
    let nonce_block = cipher.of_number(nonce.block);
    let (top, hash) = if aad.is_empty() {
        (cipher.encrypt_one(nonce_block), cipher.zero())
    } else {
        match const { C::RUNS_MANY } {
            true => hashed::<C, MANY, { MANY + 2 }>(cipher, constants, nonce_block, aad),
            false => hashed::<C, GROUP, { GROUP + 2 }>(cipher, constants, nonce_block, aad),
        }
    };
    (cipher.of_number(stretched(cipher.number(top), nonce.bottom)), hash)
}

/// The encrypted nonce block, and HASH of the associated data. The nonce block runs with the first `N` blocks.
/// `ALL` is `N` and two.
#[inline(always)]
fn hashed<C: Blocks, const N: usize, const ALL: usize>(
    cipher: C,
    constants: &Constants,
    nonce_block: C::Block,
    aad: &[u8],
) -> (C::Block, C::Block) {
    let (whole, rest) = aad.as_chunks::<BLOCK_BYTES>();
    let zero = cipher.zero();
    let mut state = State { cipher, constants, offset: zero, number: 0, checksum: zero };
    let (mut top, mut entering, mut at) = (nonce_block, nonce_block, 0);
    loop {
        let count = (whole.len() - at).min(N);
        let mut blocks = [entering; ALL];
        for i in 0..count {
            blocks[1 + i] = cipher.load(&whole[at + i]) ^ state.next_offset();
        }
        let is_last = at + count == whole.len();
        if is_last && !rest.is_empty() {
            blocks[N + 1] = cipher.padded(rest) ^ state.offset ^ cipher.load(&constants.rest);
        }
        let blocks = cipher.encrypt(blocks);
        if at == 0 {
            top = blocks[0];
        }
        for i in 0..count {
            state.checksum = state.checksum ^ blocks[1 + i];
        }
        if is_last {
            let of_rest = if rest.is_empty() { cipher.zero() } else { blocks[N + 1] };
            return (top, state.checksum ^ of_rest);
        }
        (entering, at) = (cipher.zero(), at + count);
    }
}

/// 128 bits from bit `bottom` on of the encrypted nonce block, extended by 64 bits.
#[inline(always)]
pub(crate) const fn stretched(top: u128, bottom: u32) -> u128 {
    let more = (top ^ top << 8) >> 64;
    top << bottom | (more << bottom) >> 64
}
