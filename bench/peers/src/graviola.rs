//! graviola: AES-GCM by verified assembly and intrinsics, without C.

use graviola::aead::AesGcm;

use crate::peer::{Cipher, Mode, NONCE_BYTES, Operation, Peer, Setup, TAG_BYTES, with_tag};
use crate::sealing::{Sealing, SealingKey};

/// As in `Cargo.lock`; a test compares them.
pub(crate) const GRAVIOLA_VERSION: &str = "0.4.4";

/// The graviola crate, as it was compiled into this binary.
pub(crate) struct Graviola;

impl Peer for Graviola {
    fn name(&self) -> String {
        format!("graviola {GRAVIOLA_VERSION}")
    }

    fn operation(&self, setup: &Setup) -> Result<Box<dyn Operation>, String> {
        match (setup.job().cipher, setup.job().mode) {
            (Cipher::Aes128 | Cipher::Aes256, Mode::Gcm) => {
                Ok(Box::new(Sealing::new(AesGcm::new(setup.key()), setup)?))
            }
            _ => Err("graviola has AES-128 and AES-256 in gcm".into()),
        }
    }
}

impl SealingKey for AesGcm {
    fn seal(&self, nonce: [u8; NONCE_BYTES], message: &mut [u8]) -> Result<[u8; TAG_BYTES], String> {
        let mut tag = [0; TAG_BYTES];
        self.encrypt(&nonce, &[], message, &mut tag);
        Ok(tag)
    }

    fn open(&self, nonce: [u8; NONCE_BYTES], message_and_tag: &mut [u8]) -> Result<(), String> {
        let (message, tag) = with_tag(message_and_tag)?;
        self.decrypt(&nonce, &[], message, &*tag).map_err(|error| format!("{error:?}"))
    }
}
