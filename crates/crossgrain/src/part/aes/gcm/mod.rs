//! GCM of a message, in one pass by one kernel: AES instructions on counters, and between them carry-less products for GHASH.
//!
//! Rounds and products have ports of their own, so that the two take little longer together than the longer of them alone. A bundle has
//! as many registers as GHASH reduces together, and two are hashed every two or four rounds: to open, those that are decrypted; to seal,
//! those of the bundle before. The end, a bundle at most, has the mask of the tag as one more register beside those of its counters, and each of its blocks
//! is multiplied by a power of its own, so that the sum is reduced once: a short message takes little longer than a block. Several short
//! messages go together: each step of one waits for the step before, and the others' fill the time. Round 1 comes from a table of the
//! key (`heads`).
//! Layout: `Repr::Blocks`, as in `instructions`. Needs: `AesLanes`. Source: SP 800-38D §7.1 and §7.2.
//! Holds: what is branched on is public: lengths, and whether the tag is right.

mod bundles;
mod end;
mod gaps;
mod heads;
mod together;

use self::bundles::Longer;
use self::end::{Alone, End};
pub(super) use self::heads::Heads;
pub(super) use self::together::Short;
use super::instructions::{Cipher, IN_FLIGHT};
use super::key::WideKeys;
use crate::block::BLOCK_BYTES;
use crate::message::AeadMessage;
use crate::part::ghash::{Few, Powers};
use crate::part::{GcmNonce, GcmWay};
use crate::word::{AesLanes, Isa, wipe};

/// What all messages are sealed or opened with.
///
/// No more than two pointers, which go from call to call in registers: of what is copied in memory, two words at a time, each copy would
/// wait until both were written, and all that was begun before is done.
#[derive(Clone, Copy)]
pub(super) struct With<'a, W: AesLanes> {
    pub(super) cipher: &'a Cipher<W>,
    /// Of GHASH by products.
    pub(super) way: &'a GcmWay<'a>,
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
    fn heads(&self) -> &'a Heads {
        self.cipher.heads()
    }

    #[inline(always)]
    fn powers(&self) -> &'a Powers {
        self.way.ghash.powers()
    }
}

/// Seals or opens a message, and says whether its tag is right: [`WholePart::gcm`](crate::part::WholePart::gcm).
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
    let len_bytes = message.buffers.len_bytes();
    if len_bytes > IN_FLIGHT * W::BYTES || !fits_in_end::<W>(message.aad, len_bytes) {
        return longer(with, nonce, message);
    }
    // A kernel of its own, where it is fastest: narrower registers share theirs with longer messages, which is less to compile.
    if const { W::REGISTERS < 32 } {
        let end = End { with, nonce, hashed: None, at: 0, message };
        return with.isa().enter(Longer { end, sum: &[0; BLOCK_BYTES], aad: &[] });
    }
    with.isa().enter(Alone::<W, false> { with, nonce, message })
}

/// Whether the end of a long message computes products between its rounds, as bundles do. With 16 registers, and in a message that
/// has nothing before the end, products follow the rounds: that is less code and no slower.
const fn stitches_end<W: AesLanes>() -> bool {
    W::REGISTERS == 32
}

/// Whether the end hashes additional data, too.
#[inline(always)]
const fn fits_in_end<W: AesLanes>(aad: &[u8], len_bytes: usize) -> bool {
    blocks_of(aad.len()) + blocks_of(len_bytes) < Few::<W>::BLOCKS_MAX
}

/// Where something comes before the end.
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
        with.way.ghash.absorb(&mut sum, before);
    }
    let hashed = (at == 0).then_some(&sum);
    let right = with.isa().enter(Longer { end: End { with, nonce, hashed, at, message }, sum: &sum, aad });
    if !before.is_empty() {
        // With the additional data, it would give away what makes tags.
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

/// Additional data without its last block, and that.
#[inline(always)]
fn last_block(aad: &[u8]) -> (&[u8], &[u8]) {
    aad.split_at(aad.len().saturating_sub(1) & !(BLOCK_BYTES - 1))
}

/// Whole bundles in front of the end.
#[inline(always)]
const fn bulk_bytes<W: AesLanes>(message: &AeadMessage<'_>) -> usize {
    // The length of a bundle is a power of two.
    message.buffers.len_bytes().saturating_sub(1) & !(IN_FLIGHT * W::BYTES - 1)
}

/// GHASH's last block, but in bytes where it has bits: the big-endian number that it is, in every lane.
#[inline(always)]
fn lengths<W: AesLanes>(isa: W::Isa, message: &AeadMessage<'_>) -> W {
    let (data, aad) = (message.buffers.len_bytes() as u64, message.aad.len() as u64);
    halves(isa, data, aad)
}

/// A nonce as it lies in a block: both parts at once, since what is put together in memory waits to be written.
#[inline(always)]
fn parts_of(nonce: &GcmNonce) -> (u64, u32) {
    let (front, back) = (nonce.first_chunk(), nonce.last_chunk());
    (front.map_or(0, |front| u64::from_le_bytes(*front)), back.map_or(0, |back| u32::from_le_bytes(*back)))
}

/// Two numbers, which lie in registers, as the halves of every lane.
#[inline(always)]
fn halves<W: AesLanes>(isa: W::Isa, low: u64, high: u64) -> W {
    W::exchange_halves(W::splat(isa, low), W::splat(isa, high)).0
}

/// Gives a sealed message the tag in the lowest lane, or says whether it is that of one to be opened. Bytes of it beyond a tag's are zeros.
///
/// `opens` is a constant wherever it can be, and a tag that is given is stored whole: it would be put together of halves, which a caller
/// that reads it whole waits for.
#[inline(always)]
fn admits<W: AesLanes>(opens: bool, way: &GcmWay<'_>, message: &mut AeadMessage<'_>, tag: W) -> bool {
    if opens {
        let mut made = [0; BLOCK_BYTES];
        tag.store_lowest(&mut made);
        return u128::from_le_bytes(made) == u128::from_le_bytes(message.tag.padded());
    }
    tag.store_lowest(message.tag.padded_mut(way.tag_bytes));
    true
}
