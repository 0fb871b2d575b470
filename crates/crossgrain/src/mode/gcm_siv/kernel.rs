//! The interface of kernels that seal and open short messages of GCM-SIV.

use crate::block::Block;
use crate::message::AeadMessage;

/// A GCM-SIV nonce.
pub(crate) type GcmSivNonce = [u8; GcmSivJob::NONCE_BYTES];

/// A message of GCM-SIV for [`WholePart::gcm_siv`](crate::kernel::WholePart::gcm_siv).
pub(crate) struct GcmSivJob<'a, 'b> {
    /// The tag to open with. `None` to seal.
    pub(crate) opens: Option<&'a Block>,
    pub(crate) nonce: &'a GcmSivNonce,
    /// By reference: a copy would read pairs of words right after they were stored one by one.
    pub(crate) message: &'a mut AeadMessage<'b>,
    /// The computed tag.
    pub(crate) tag: Block,
}

impl GcmSivJob<'_, '_> {
    /// The length of a nonce in bytes.
    pub(crate) const NONCE_BYTES: usize = 12;
}
