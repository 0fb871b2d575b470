//! aws-lc-rs: the AES-GCM of AWS-LC, a descendant of BoringSSL.

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use crate::peer::{Cipher, Mode, NONCE_BYTES, Operation, Peer, Setup, TAG_BYTES};
use crate::sealing::{Sealing, SealingKey};

/// As in `Cargo.lock`; a test compares them.
pub(crate) const AWS_LC_VERSION: &str = "1.19.0";

/// The aws-lc-rs crate, as it was compiled into this binary.
pub(crate) struct AwsLc;

impl Peer for AwsLc {
    fn name(&self) -> String {
        format!("aws-lc-rs {AWS_LC_VERSION}")
    }

    fn operation(&self, setup: &Setup) -> Result<Box<dyn Operation>, String> {
        let algorithm = match (setup.job().cipher, setup.job().mode) {
            (Cipher::Aes128, Mode::Gcm) => &AES_128_GCM,
            (Cipher::Aes256, Mode::Gcm) => &AES_256_GCM,
            _ => return Err("aws-lc-rs is asked for AES-128 and AES-256 in gcm".into()),
        };
        let key = UnboundKey::new(algorithm, setup.key()).map_err(|e| e.to_string())?;
        Ok(Box::new(Sealing::new(LessSafeKey::new(key), setup)?))
    }
}

impl SealingKey for LessSafeKey {
    fn seal(&self, nonce: [u8; NONCE_BYTES], message: &mut [u8]) -> Result<[u8; TAG_BYTES], String> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.seal_in_place_separate_tag(nonce, Aad::empty(), message).map_err(|e| e.to_string())?;
        tag.as_ref().try_into().map_err(|_| "a tag has 16 bytes".to_owned())
    }

    fn open(&self, nonce: [u8; NONCE_BYTES], message_and_tag: &mut [u8]) -> Result<(), String> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.open_in_place(nonce, Aad::empty(), message_and_tag).map(drop).map_err(|e| e.to_string())
    }
}
