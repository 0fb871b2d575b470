//! ring: AES-GCM alone, which is what TLS in Rust mostly runs on.

use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use crate::peer::{Cipher, Direction, Mode, NONCE_BYTES, Operation, Peer, Setup, TAG_BYTES, with_tag};

/// As in `Cargo.lock`; a test compares them.
pub(crate) const RING_VERSION: &str = "0.17.14";

/// The ring crate, as it was compiled into this binary.
pub(crate) struct Ring;

impl Peer for Ring {
    fn name(&self) -> String {
        format!("ring {RING_VERSION}")
    }

    fn operation(&self, setup: &Setup) -> Result<Box<dyn Operation>, String> {
        let algorithm = match (setup.job().cipher, setup.job().mode) {
            (Cipher::Aes128, Mode::Gcm) => &AES_128_GCM,
            (Cipher::Aes256, Mode::Gcm) => &AES_256_GCM,
            _ => return Err("ring has AES-128 and AES-256 in gcm".into()),
        };
        let key = UnboundKey::new(algorithm, setup.key()).map_err(|e| e.to_string())?;
        let nonce = setup.iv().try_into().map_err(|_| "a nonce has 12 bytes".to_owned())?;
        Ok(Box::new(Sealing { key: LessSafeKey::new(key), nonce, direction: setup.job().direction }))
    }
}

/// A key with its nonce.
struct Sealing {
    key: LessSafeKey,
    nonce: [u8; NONCE_BYTES],
    direction: Direction,
}

impl Operation for Sealing {
    fn apply(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        let nonce = Nonce::assume_unique_for_key(self.nonce);
        if self.direction == Direction::Decrypt {
            self.key.open_in_place(nonce, Aad::empty(), buffer).map_err(|e| e.to_string())?;
            // The tag stays where it was; a published answer has none.
            return with_tag(buffer).map(|(_, tag)| tag.fill(0));
        }
        let (message, place) = with_tag(buffer)?;
        let tag =
            self.key.seal_in_place_separate_tag(nonce, Aad::empty(), message).map_err(|e| e.to_string())?;
        let tag: [u8; TAG_BYTES] = tag.as_ref().try_into().map_err(|_| "a tag has 16 bytes".to_owned())?;
        *place = tag;
        Ok(())
    }
}
