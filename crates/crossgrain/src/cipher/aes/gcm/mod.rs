//! GCM of one message in one pass: AES instructions on counters, with the carry-less products of GHASH
//! between them.
//!
//! Rounds and products use different execution ports, so both together take little longer than the slower
//! one.
//!
//! * Bundles (`bundles`, `gaps`): a bundle has the eight registers of a GHASH stride. Two registers are
//!   hashed after every two or four rounds: when opening, those that are being decrypted; when sealing, those
//!   of the previous bundle.
//! * The end (`end`), at most a bundle: the tag's mask is one more register next to the counters of data.
//!   Each block is multiplied by its own power, so the sum is reduced once. A short message takes little
//!   longer than a block.
//! * Short messages (`together`) run several at a time. Each step of a message waits for the one before, and
//!   steps of the other messages fill the time.
//!
//! Round 1 comes from a table of the key (`round1`).
//!
//! Layout: `Repr::Blocks`, as in `instructions`.
//! Needs `AesLanes`.
//! Source: SP 800-38D §7.1 and §7.2.
//! Invariant: branches depend only on public facts: lengths, and whether the tag is correct.

mod bundles;
mod end;
mod gaps;
mod round1;
mod together;

use self::bundles::Longer;
use self::end::{Alone, End};
use self::round1::FIRST_BYTES_MAX;
pub(super) use self::round1::Round1Table;
pub(super) use self::together::{Short, TOGETHER};
use super::frames::halves;
use super::instructions::{Cipher, IN_FLIGHT};
use super::key::WideKeys;
use crate::arch::{AesLanes, Isa, wipe};
use crate::block::BLOCK_BYTES;
use crate::message::AeadMessage;
use crate::mode::gcm::ghash::{Powers, ShortHash};
use crate::mode::gcm::kernel::{GcmNonce, GcmParams};

/// The cipher and parameters for all messages.
///
/// It has only two pointers, which are passed in registers. A copy in memory, two words at a time, would wait
/// until both words are written and all earlier work is done.
#[derive(Clone, Copy)]
pub(super) struct With<'a, W: AesLanes> {
    pub(super) cipher: &'a Cipher<W>,
    /// Its GHASH works by carry-less products.
    pub(super) params: &'a GcmParams<'a>,
}

impl<'a, W: AesLanes> With<'a, W> {
    #[inline(always)]
    const fn isa(&self) -> W::Isa {
        self.cipher.isa()
    }

    #[inline(always)]
    const fn keys(&self) -> &'a WideKeys {
        &self.cipher.keys
    }

    #[inline(always)]
    fn round1(&self) -> &'a Round1Table {
        self.cipher.round1()
    }

    /// The powers that were computed: all of them after [`With::prepare`], before it the first ones.
    #[inline(always)]
    fn powers(&self) -> &'a Powers {
        self.params.ghash.powers()
    }

    /// Whether the first counters, and the powers that were computed, serve a message.
    #[inline(always)]
    fn is_served_by_first(&self, message: &AeadMessage<'_>) -> bool {
        let (len_bytes, aad) = (message.buffers.len_bytes(), blocks_of(message.aad.len()));
        len_bytes <= FIRST_BYTES_MAX && blocks_of(len_bytes) + aad < self.powers().count()
    }

    /// Computes the whole tables for messages that the first entries do not serve, unless they are there.
    #[inline(always)]
    pub(super) fn prepare(&self) {
        self.round1().fill::<W>(self.isa(), self.keys());
        self.params.ghash.raise_all();
    }
}

/// Seals or opens a message, and returns whether its tag is correct:
/// [`GcmKernel::one`](crate::mode::gcm::kernel::GcmKernel::one).
#[inline(always)]
pub(super) fn one<W: AesLanes>(with: With<'_, W>, nonce: &GcmNonce, message: &mut AeadMessage<'_>) -> bool {
    let is_short = message.buffers.len_bytes() <= W::BYTES && message.aad.len() <= BLOCK_BYTES;
    if const { W::REGISTERS == 32 } && is_short {
        return with.isa().enter(Alone::<W, true> { with, nonce, message });
    }
    more(with, nonce, message)
}

/// Messages of all other lengths.
#[inline(never)]
fn more<W: AesLanes>(with: With<'_, W>, nonce: &GcmNonce, message: &mut AeadMessage<'_>) -> bool {
    if !with.is_served_by_first(message) {
        with.prepare();
    }
    let len_bytes = message.buffers.len_bytes();
    if len_bytes > IN_FLIGHT * W::BYTES || !fits_in_end::<W>(message.aad, len_bytes) {
        return longer(with, nonce, message);
    }
    // A separate kernel where it is fastest. Narrower registers use the kernel of longer messages, which
    // saves compile time.
    if const { W::REGISTERS < 32 } {
        let end = End { with, nonce, hashed: None, at: 0, message };
        return with.isa().enter(Longer { end, sum: &[0; BLOCK_BYTES], aad: &[] });
    }
    with.isa().enter(Alone::<W, false> { with, nonce, message })
}

/// Whether the end of a long message computes products between its rounds, as bundles do. With 16 registers,
/// and in a message without bundles, products follow the rounds. That is less code and not slower.
const fn stitches_end<W: AesLanes>() -> bool {
    W::REGISTERS == 32
}

/// Whether the end can hash the additional data too.
#[inline(always)]
const fn fits_in_end<W: AesLanes>(aad: &[u8], len_bytes: usize) -> bool {
    blocks_of(aad.len()) + blocks_of(len_bytes) < ShortHash::<W>::BLOCKS_MAX
}

/// Messages with work to do before the end.
#[inline(never)]
fn longer<W: AesLanes>(with: With<'_, W>, nonce: &GcmNonce, message: &mut AeadMessage<'_>) -> bool {
    let (mut sum, at) = ([0; BLOCK_BYTES], bulk_bytes::<W>(message));
    let hashed_bytes = match message.aad.len() {
        aad_bytes if at == 0 => aad_bytes,
        aad_bytes if aad_bytes > W::BYTES => (aad_bytes - 1) & !(BLOCK_BYTES - 1),
        _ => 0,
    };
    let (before, aad) = message.aad.split_at(hashed_bytes);
    if !before.is_empty() {
        with.params.ghash.absorb(&mut sum, before);
    }
    let hashed = (at == 0).then_some(&sum);
    let right = with.isa().enter(Longer { end: End { with, nonce, hashed, at, message }, sum: &sum, aad });
    if !before.is_empty() {
        // Together with the additional data, this sum would reveal the authentication key.
        wipe(&mut sum);
    }
    right
}

#[allow(
    clippy::manual_div_ceil,
    reason = "which takes three times the instructions, in case the sum overflows"
)]
const fn blocks_of(len_bytes: usize) -> usize {
    (len_bytes + BLOCK_BYTES - 1) / BLOCK_BYTES
}

/// Additional data without its last block, and the last block.
#[inline(always)]
fn last_block(aad: &[u8]) -> (&[u8], &[u8]) {
    aad.split_at(aad.len().saturating_sub(1) & !(BLOCK_BYTES - 1))
}

/// The bytes of whole bundles before the end.
#[inline(always)]
const fn bulk_bytes<W: AesLanes>(message: &AeadMessage<'_>) -> usize {
    // The length of a bundle is a power of two.
    message.buffers.len_bytes().saturating_sub(1) & !(IN_FLIGHT * W::BYTES - 1)
}

/// GHASH's last block, but with lengths in bytes instead of bits. The block is a big-endian number in every
/// lane.
#[inline(always)]
fn lengths<W: AesLanes>(isa: W::Isa, message: &AeadMessage<'_>) -> W {
    let (data, aad) = (message.buffers.len_bytes() as u64, message.aad.len() as u64);
    halves(isa, data, aad)
}

/// A nonce's bytes 0 to 7 and 8 to 11, in the order of a block. They are read separately, because a value
/// assembled in memory would have to wait for its stores.
#[inline(always)]
fn parts_of(nonce: &GcmNonce) -> (u64, u32) {
    let (front, back) = (nonce.first_chunk(), nonce.last_chunk());
    (front.map_or(0, |front| u64::from_le_bytes(*front)), back.map_or(0, |back| u32::from_le_bytes(*back)))
}

/// When sealing, stores the tag from the lowest lane. When opening, returns whether it equals the message's
/// tag. Bytes past the tag length must be zero.
///
/// `opens` is a constant if possible. A tag is stored whole: if it were stored as halves, a caller that loads
/// the whole would stall.
#[inline(always)]
fn admits<W: AesLanes>(opens: bool, params: &GcmParams<'_>, message: &mut AeadMessage<'_>, tag: W) -> bool {
    if opens {
        let mut made = [0; BLOCK_BYTES];
        tag.store_lowest(&mut made);
        return u128::from_le_bytes(made) == u128::from_le_bytes(message.tag.padded());
    }
    tag.store_lowest(message.tag.padded_mut(params.tag_bytes));
    true
}
