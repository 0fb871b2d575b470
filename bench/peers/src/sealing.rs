//! AES-GCM of a crate that seals one message at a time, as an operation.

use crate::peer::{Direction, NONCE_BYTES, Operation, Setup, TAG_BYTES, with_tag};

/// A crate's key.
pub(crate) trait SealingKey {
    /// Encrypts a message without additional data, and gives its tag.
    fn seal(&self, nonce: [u8; NONCE_BYTES], message: &mut [u8]) -> Result<[u8; TAG_BYTES], String>;

    /// Decrypts a message that its tag follows, if that is right.
    fn open(&self, nonce: [u8; NONCE_BYTES], message_and_tag: &mut [u8]) -> Result<(), String>;
}

/// A key with its nonce.
pub(crate) struct Sealing<K> {
    key: K,
    nonce: [u8; NONCE_BYTES],
    direction: Direction,
}

impl<K> Sealing<K> {
    /// With the nonce and the direction of a setup.
    pub(crate) fn new(key: K, setup: &Setup) -> Result<Self, String> {
        let nonce = setup.iv().try_into().map_err(|_| "a nonce has 12 bytes".to_owned())?;
        Ok(Self { key, nonce, direction: setup.job().direction })
    }
}

impl<K: SealingKey> Operation for Sealing<K> {
    fn apply(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        if self.direction == Direction::Decrypt {
            self.key.open(self.nonce, buffer)?;
            // The tag stays where it was; a published answer has none.
            return with_tag(buffer).map(|(_, tag)| tag.fill(0));
        }
        let (message, tag) = with_tag(buffer)?;
        *tag = self.key.seal(self.nonce, message)?;
        Ok(())
    }
}
