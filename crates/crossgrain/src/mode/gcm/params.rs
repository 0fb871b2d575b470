//! The parameters of kernels that fuse GCM.

use super::ghash::Ghash;
use crate::block::Block;

/// Parameters for sealing or opening GCM messages.
#[derive(Clone, Copy, Debug)]
pub struct GcmWay<'a> {
    /// The GHASH that [`WholePart::prepare_gcm`](crate::kernel::WholePart::prepare_gcm) returned.
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
pub type GcmNonce = [u8; GcmWay::NONCE_BYTES];

impl GcmWay<'_> {
    /// The nonce length in bytes for which no GHASH is needed to form J₀.
    pub const NONCE_BYTES: usize = 12;

    /// The longest message in bytes that [`WholePart::gcm_short`](crate::kernel::WholePart::gcm_short) takes: the size of the widest register.
    pub const SHORT_BYTES_MAX: usize = 64;
}
