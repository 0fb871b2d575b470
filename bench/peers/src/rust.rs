//! ring, aws-lc-rs and graviola. They seal in place alone: what lies elsewhere is copied first.

use crossgrain::mode::Mode;
use crossgrain::{BLOCK_BYTES, Cipher};

use crate::job::Job;
use crate::messages::Messages;
use crate::worker::{How, Refusal, Time, Worker, each};

/// As in `Cargo.lock`; a test compares them.
pub(crate) const RING_VERSION: &str = "0.17.14";
#[cfg(feature = "crates")]
pub(crate) const AWS_LC_VERSION: &str = "1.19.0";
#[cfg(feature = "crates")]
pub(crate) const GRAVIOLA_VERSION: &str = "0.4.4";

/// The ring crate.
pub(crate) struct Ring;

impl Worker for Ring {
    fn name(&self) -> Result<String, Refusal> {
        Ok(format!("ring {RING_VERSION}"))
    }

    fn run(&self, job: &Job, how: How, messages: &mut Messages) -> Time {
        use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
        let algorithm = match (job.cipher, job.mode) {
            (Cipher::Aes128, Some(Mode::Gcm)) => &AES_128_GCM,
            (Cipher::Aes256, Some(Mode::Gcm)) => &AES_256_GCM,
            _ => return Err(Refusal::None("ring has AES-GCM")),
        };
        let make = |key: &[u8]| Ok(LessSafeKey::new(UnboundKey::new(algorithm, key)?));
        if how.opens {
            return each(how, &mut messages.with_room(BLOCK_BYTES), make, |key, _, message, _| {
                let nonce = Nonce::try_assume_unique_for_key(message.nonce)?;
                Ok(key.open_in_place(nonce, Aad::empty(), message.copied(false)).map(drop)?)
            });
        }
        each(how, &mut messages.all(), make, |key, _, message, in_place| {
            let nonce = Nonce::try_assume_unique_for_key(message.nonce)?;
            let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), message.copied(in_place))?;
            message.tag.copy_from_slice(tag.as_ref());
            Ok(())
        })
    }
}

/// The aws-lc-rs crate: AWS-LC, a descendant of BoringSSL.
#[cfg(feature = "crates")]
pub(crate) struct AwsLc;

#[cfg(feature = "crates")]
impl Worker for AwsLc {
    fn name(&self) -> Result<String, Refusal> {
        Ok(format!("aws-lc-rs {AWS_LC_VERSION}"))
    }

    fn run(&self, job: &Job, how: How, messages: &mut Messages) -> Time {
        use aws_lc_rs::aead::{
            AES_128_GCM, AES_128_GCM_SIV, AES_256_GCM, AES_256_GCM_SIV, Aad, LessSafeKey, Nonce, UnboundKey,
        };
        let algorithm = match (job.cipher, job.mode) {
            (Cipher::Aes128, Some(Mode::Gcm)) => &AES_128_GCM,
            (Cipher::Aes256, Some(Mode::Gcm)) => &AES_256_GCM,
            (Cipher::Aes128, Some(Mode::GcmSiv)) => &AES_128_GCM_SIV,
            (Cipher::Aes256, Some(Mode::GcmSiv)) => &AES_256_GCM_SIV,
            _ => return Err(Refusal::None("aws-lc-rs has AES-GCM and AES-GCM-SIV")),
        };
        let make = |key: &[u8]| Ok(LessSafeKey::new(UnboundKey::new(algorithm, key)?));
        let messages = &mut messages.all();
        if how.opens {
            return each(how, messages, make, |key, _, message, _| {
                let nonce = Nonce::try_assume_unique_for_key(message.nonce)?;
                let (source, tag, output) = (message.source, &*message.tag, &mut *message.output);
                Ok(key.open_separate_gather(nonce, Aad::empty(), source, tag, output)?)
            });
        }
        each(how, messages, make, |key, _, message, in_place| {
            let nonce = Nonce::try_assume_unique_for_key(message.nonce)?;
            let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), message.copied(in_place))?;
            message.tag.copy_from_slice(tag.as_ref());
            Ok(())
        })
    }
}

/// The graviola crate: verified assembly and intrinsics, without C.
#[cfg(feature = "crates")]
pub(crate) struct Graviola;

#[cfg(feature = "crates")]
impl Worker for Graviola {
    fn name(&self) -> Result<String, Refusal> {
        Ok(format!("graviola {GRAVIOLA_VERSION}"))
    }

    fn run(&self, job: &Job, how: How, messages: &mut Messages) -> Time {
        use graviola::aead::AesGcm;
        if !matches!((job.cipher, job.mode), (Cipher::Aes128 | Cipher::Aes256, Some(Mode::Gcm))) {
            return Err(Refusal::None("graviola has AES-GCM"));
        }
        each(
            how,
            &mut messages.all(),
            |key: &[u8]| Ok(AesGcm::new(key)),
            |key, _, message, in_place| {
                let nonce = message.nonce.try_into()?;
                message.copied(in_place);
                if how.opens {
                    let opened = key.decrypt(nonce, &[], message.output, &*message.tag);
                    return opened.map_err(|_| Refusal::Failed("wrong tag".into()));
                }
                key.encrypt(nonce, &[], message.output, message.tag);
                Ok(())
            },
        )
    }
}
