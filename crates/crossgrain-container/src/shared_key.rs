//! Payloads whose chunks another implementation of the suite's AEAD computes, such as WebCrypto of a browser.
//!
//! That implementation gets the key and the nonces. The payload still derives them, compares the commitment,
//! and gives each nonce for sealing only once.

use zeroize::Zeroizing;

use super::error::Error;
use super::payload::{PREFIX_BYTES, Payload, SALT_BYTES, Suite};
use crossgrain::engine::{fill_random, wiping_stack};
use crossgrain::mode::Options;

impl Payload {
    /// As [`Payload::fresh`], with the key of the chunks.
    ///
    /// # Errors
    /// As [`Payload::fresh`].
    pub fn fresh_with_key(
        suite: Suite,
        input_key: &[u8],
        context: &[u8],
        options: &Options,
    ) -> Result<(Self, Zeroizing<Vec<u8>>), Error> {
        let mut salt = [0; SALT_BYTES];
        fill_random(&mut salt)?;
        Self::with_salt_and_key(suite, input_key, salt, context, options)
    }

    /// As [`Payload::committed`], with the key of the chunks.
    ///
    /// # Errors
    /// As [`Payload::committed`].
    pub fn committed_with_key(
        suite: Suite,
        input_key: &[u8],
        prefix: &[u8; PREFIX_BYTES],
        context: &[u8],
        options: &Options,
    ) -> Result<(Self, Zeroizing<Vec<u8>>), Error> {
        let mut salt = [0; SALT_BYTES];
        salt.copy_from_slice(&prefix[..SALT_BYTES]);
        wiping_stack(|| Self::derived(suite, input_key, salt, context, options, Some(prefix)))
    }

    /// The nonces of consecutive chunks from number `first` on, one after another, which the caller will seal
    /// under the key of [`Payload::fresh_with_key`]. From then on these chunks count as sealed.
    ///
    /// # Errors
    /// As [`Payload::seal`].
    pub fn nonces_to_seal(&self, first: u64, chunks: usize) -> Result<Vec<u8>, Error> {
        let nonces = self.nonces_to_open(first, chunks)?;
        self.reserve(first..first + chunks as u64)?;
        Ok(nonces)
    }

    /// The nonces of consecutive chunks from number `first` on, one after another, for opening them.
    ///
    /// # Errors
    /// [`Error::TooLong`] beyond [`crate::CHUNKS_MAX`].
    pub fn nonces_to_open(&self, first: u64, chunks: usize) -> Result<Vec<u8>, Error> {
        let nonce_bytes = self.suite().nonce_bytes();
        let nonces = self.nonces(first, chunks)?;
        Ok(nonces.iter().flat_map(|block| &block[block.len() - nonce_bytes..]).copied().collect())
    }
}
