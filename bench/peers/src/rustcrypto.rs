//! RustCrypto: block ciphers over whole slices, and the `ctr`, `xts-mode`, `aes-gcm` and `eax` crates on top of them.
//!
//! The `aes` crate uses the CPU's AES instructions. With `--cfg aes_backend="soft"` it uses portable bit-sliced code.

use aead::AeadInOut;
use aead::inout::InOutBuf;
use aes::{Aes128, Aes128Enc, Aes192, Aes192Enc, Aes256, Aes256Enc};
use aria::{Aria128, Aria192, Aria256};
use camellia::{Camellia128, Camellia192, Camellia256};
use cipher::array::Array;
use cipher::consts::U16;
use cipher::{
    BlockCipherDecrypt, BlockCipherEncrypt, InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper,
};
use crossgrain::Cipher;
use crossgrain::mode::Mode;
use ctr::CtrCore;
use ctr::flavors::Ctr128BE;
use eax::Eax;
use kuznyechik::Kuznyechik;
use serpent::Serpent;
use sm4::Sm4;
use xts_mode::Xts128;

use crate::job::Job;
use crate::messages::{Message, Messages};
use crate::worker::{How, Refusal, Time, Worker, each};

/// As in `Cargo.lock`; a test compares them.
pub(crate) const AES_VERSION: &str = "0.9.4";
pub(crate) const CTR_VERSION: &str = "0.10.1";
pub(crate) const SERPENT_VERSION: &str = "0.6.0";
pub(crate) const XTS_VERSION: &str = "0.6.0";
pub(crate) const GCM_VERSION: &str = "0.11.1";
pub(crate) const EAX_VERSION: &str = "0.6.1";

/// The RustCrypto crates, as they were compiled into this binary.
pub(crate) struct RustCrypto;

impl Worker for RustCrypto {
    fn name(&self) -> Result<String, Refusal> {
        let backend = backend();
        Ok(format!(
            "RustCrypto aes {AES_VERSION} + serpent {SERPENT_VERSION} + ctr {CTR_VERSION} + xts-mode {XTS_VERSION} + aes-gcm {GCM_VERSION} + eax {EAX_VERSION}, {backend}"
        ))
    }

    fn run(&self, job: &Job, how: How, messages: &mut Messages) -> Time {
        let messages = &mut messages.all();
        type AesGcm<C> = aes_gcm::AesGcm<C, cipher::consts::U12>;
        match (job.cipher, job.mode) {
            (Cipher::Aes128, Some(Mode::Gcm)) => sealed::<AesGcm<Aes128>>(how, messages),
            (Cipher::Aes256, Some(Mode::Gcm)) => sealed::<AesGcm<Aes256>>(how, messages),
            (Cipher::Aes128, Some(Mode::Eax)) => sealed::<Eax<Aes128>>(how, messages),
            (Cipher::Aes256, Some(Mode::Eax)) => sealed::<Eax<Aes256>>(how, messages),
            (Cipher::Aes128, _) => plain::<Aes128, Aes128Enc>(job, how, messages),
            (Cipher::Aes192, _) => plain::<Aes192, Aes192Enc>(job, how, messages),
            (Cipher::Aes256, _) => plain::<Aes256, Aes256Enc>(job, how, messages),
            // One type, which takes keys of every size.
            (Cipher::Serpent128 | Cipher::Serpent192 | Cipher::Serpent256, _) => {
                plain::<Serpent, Serpent>(job, how, messages)
            }
            (Cipher::Sm4, _) => plain::<Sm4, Sm4>(job, how, messages),
            (Cipher::Camellia128, _) => plain::<Camellia128, Camellia128>(job, how, messages),
            (Cipher::Camellia192, _) => plain::<Camellia192, Camellia192>(job, how, messages),
            (Cipher::Camellia256, _) => plain::<Camellia256, Camellia256>(job, how, messages),
            (Cipher::Aria128, _) => plain::<Aria128, Aria128>(job, how, messages),
            (Cipher::Aria192, _) => plain::<Aria192, Aria192>(job, how, messages),
            (Cipher::Aria256, _) => plain::<Aria256, Aria256>(job, how, messages),
            (Cipher::Kuznyechik, _) => plain::<Kuznyechik, Kuznyechik>(job, how, messages),
            _ => Err(Refusal::None("not among these crates")),
        }
    }
}

/// Which code the `aes` crate was compiled to use.
#[allow(
    unexpected_cfgs,
    reason = "flags of the aes crate; declaring them here would replace the workspace's lints"
)]
fn backend() -> &'static str {
    if cfg!(aes_backend = "soft") {
        "software backend"
    } else if aes::hardware_accelerated() {
        "picks by itself (found AES instructions)"
    } else {
        "picks by itself (found no AES instructions)"
    }
}

/// A mode with a tag.
fn sealed<A: AeadInOut + KeyInit>(how: How, messages: &mut [Message<'_>]) -> Time {
    let make = |key: &[u8]| Ok(A::new_from_slice(key)?);
    if how.opens {
        return each(how, messages, make, |mode, _, message, _| {
            let text = InOutBuf::new(message.source, message.output)?;
            let tag = (&message.tag[..]).try_into()?;
            Ok(mode.decrypt_inout_detached(message.nonce.try_into()?, &[], text, tag)?)
        });
    }
    each(how, messages, make, |mode, _, message, in_place| {
        let text = match in_place {
            true => InOutBuf::from(&mut *message.output),
            false => InOutBuf::new(message.source, message.output)?,
        };
        let tag = mode.encrypt_inout_detached(message.nonce.try_into()?, &[], text)?;
        message.tag.copy_from_slice(&tag);
        Ok(())
    })
}

/// A cipher both ways, and its form that sets up keys for encryption alone, in the modes without a tag.
fn plain<C, E>(job: &Job, how: How, messages: &mut [Message<'_>]) -> Time
where
    C: KeyInit + BlockCipherEncrypt<BlockSize = U16> + BlockCipherDecrypt,
    E: KeyInit + BlockCipherEncrypt<BlockSize = U16>,
{
    let make = |key: &[u8]| Ok(C::new_from_slice(key)?);
    let make_encryption = |key: &[u8]| Ok(E::new_from_slice(key)?);
    match job.mode {
        Some(Mode::Ecb) if how.opens => each(how, messages, make, |cipher, _, message, _| {
            let (from, to) = blocks(message);
            Ok(cipher.decrypt_blocks_b2b(from, to)?)
        }),
        Some(Mode::Ecb) => each(how, messages, make_encryption, |cipher, _, message, in_place| {
            if in_place {
                let (blocks, _) = Array::slice_as_chunks_mut(message.output);
                cipher.encrypt_blocks(blocks);
                return Ok(());
            }
            let (from, to) = blocks(message);
            Ok(cipher.encrypt_blocks_b2b(from, to)?)
        }),
        Some(Mode::Ctr) => each(how, messages, make_encryption, |cipher, _, message, in_place| {
            let core = CtrCore::<_, Ctr128BE>::inner_iv_slice_init(&*cipher, message.nonce)?;
            let mut stream = StreamCipherCoreWrapper::from_core(core);
            match in_place {
                true => Ok(stream.try_apply_keystream(message.output)?),
                false => Ok(stream.try_apply_keystream_b2b(message.source, message.output)?),
            }
        }),
        Some(Mode::Xts) => {
            let make = |keys: &[u8]| {
                let (data, tweak) = keys.split_at(keys.len() / 2);
                Ok(Xts128::new(C::new_from_slice(data)?, C::new_from_slice(tweak)?))
            };
            each(how, messages, make, |xts, _, message, in_place| {
                let number = message.nonce.try_into()?;
                match how.opens {
                    true => xts.decrypt_sector(message.copied(in_place), number),
                    false => xts.encrypt_sector(message.copied(in_place), number),
                }
                Ok(())
            })
        }
        _ => Err(Refusal::None("not among these crates")),
    }
}

type Block = Array<u8, U16>;

/// A message of whole blocks, and where it goes.
fn blocks<'a>(message: &'a mut Message<'_>) -> (&'a [Block], &'a mut [Block]) {
    (Array::slice_as_chunks(message.source).0, Array::slice_as_chunks_mut(message.output).0)
}
