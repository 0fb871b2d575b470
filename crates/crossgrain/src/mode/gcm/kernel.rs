//! The trait of kernels that compute CTR and GHASH together, and their parameters.

use super::ghash::Ghash;
use crate::block::Block;
use crate::kernel::WholePart;
use crate::message::AeadMessage;

/// A cipher that also seals and opens whole GCM messages.
///
/// Its [`WholePart::run`] computes CTR alone, for GCM by several threads.
pub trait GcmKernel: WholePart {
    /// Prepares the kernel for messages under the key that it holds, and returns GHASH under the key `h` with
    /// powers for the kernel's registers. Call it once. After a rekey, call [`Ghash::rekey`] instead.
    fn prepare(&mut self, h: &Block) -> Ghash;

    /// Seals or opens one message under this nonce. Returns whether the tag is correct. The message must not
    /// exceed GCM's length limits. If the tag is wrong, part of the output may hold plaintext.
    fn one(&self, params: &GcmParams<'_>, nonce: &GcmNonce, message: &mut AeadMessage<'_>) -> bool;

    /// Seals or opens several short messages side by side. It takes messages from the front while they are
    /// short and have 12-byte nonces, and returns their number. When opening, it sets their entries of `right`
    /// to whether the tag is correct.
    fn short(&self, params: &GcmParams<'_>, messages: &mut [AeadMessage<'_>], right: &mut [bool]) -> usize;
}

/// Parameters for sealing or opening GCM messages.
#[derive(Clone, Copy, Debug)]
pub struct GcmParams<'a> {
    /// The GHASH that [`GcmKernel::prepare`] returned.
    pub ghash: &'a Ghash,
    /// Whether to open. Otherwise messages are sealed.
    pub opens: bool,
    /// Tag length in bytes.
    pub tag_bytes: usize,
    /// A mask with ones in the first `tag_bytes` bytes and zeros after them.
    pub tag_kept: &'static Block,
}

/// A GCM nonce of 12 bytes. The initial counter block J₀ is the nonce followed by 1.
///
/// For other lengths J₀ is a GHASH value and secret. The kernels look up tables at counter values, which must
/// be public, so they accept only 12-byte nonces.
pub type GcmNonce = [u8; GcmParams::NONCE_BYTES];

impl GcmParams<'_> {
    /// The nonce length in bytes for which no GHASH is needed to form J₀.
    pub const NONCE_BYTES: usize = 12;

    /// The longest message in bytes that [`GcmKernel::short`] takes: the size of the widest register.
    pub const SHORT_BYTES_MAX: usize = 64;
}
