//! The authenticated modes as types for the crate `aead`.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use aead::{AeadCore, AeadInOut, Nonce, Tag, TagPosition};
use cipher::array::ArraySize;
use cipher::common::{Key as KeyArray, KeySizeUser};
use cipher::consts::{U12, U16};
use cipher::inout::InOutBuf;
use cipher::{AlgorithmName, KeyInit};
use zeroize::ZeroizeOnDrop;

use super::{ALWAYS_PLANNED, Aes128, Aes256, Kind, default_options};
use crate::block::{BLOCK_BYTES, Error, Key};
use crate::mode::{self, Options, SivKey};

/// An authenticated mode at the type level, for cipher `C`: it distinguishes `Eax<Aes128>` from `Gcm<Aes128>`.
pub trait Sealing<C: Kind>: mode::Aead + Send + Sync + Sized + 'static {
    /// The mode's name, part of the name of the type.
    const NAME: &'static str;
    /// The place of the tag in a sealed message.
    const TAG_POSITION: TagPosition = TagPosition::Postfix;
    /// Bytes in a key, as a type.
    type KeySize: ArraySize;
    /// Bytes in a nonce, as a type.
    type NonceSize: ArraySize;

    /// Plans the mode with tags of 16 bytes and binds it to a key.
    ///
    /// # Errors
    /// [`Error::KeyLength`], and as `with_options` of the mode.
    fn bind(key: &[u8], options: &Options) -> Result<Self, Error>;
}

/// Modes with tags of several lengths, of which the types have 16 bytes, and one key of any cipher.
macro_rules! sealing {
    ($($mode:ident: $nonce:ident;)+) => {$(
        impl<C: Kind> Sealing<C> for mode::$mode {
            const NAME: &'static str = stringify!($mode);
            type KeySize = C::KeySize;
            type NonceSize = $nonce;

            fn bind(key: &[u8], options: &Options) -> Result<Self, Error> {
                Self::with_options(&Key::new(C::CIPHER, key)?, BLOCK_BYTES, options)
            }
        }
    )+};
}

sealing! {
    Ccm: U12;
    Eax: U16;
    Gcm: U12;
    Ocb: U12;
}

/// The ciphers for which RFC 8452 defines GCM-SIV.
macro_rules! gcm_siv {
    ($($cipher:ident)+) => {$(
        impl Sealing<$cipher> for mode::GcmSiv {
            const NAME: &'static str = "GcmSiv";
            type KeySize = <$cipher as Kind>::KeySize;
            type NonceSize = U12;

            fn bind(key: &[u8], options: &Options) -> Result<Self, Error> {
                Self::with_options(&Key::new(<$cipher as Kind>::CIPHER, key)?, options)
            }
        }
    )+};
}

gcm_siv! { Aes128 Aes256 }

impl<C: Kind> Sealing<C> for mode::Siv {
    const NAME: &'static str = "Siv";
    const TAG_POSITION: TagPosition = TagPosition::Prefix;
    type KeySize = C::TwoKeysSize;
    type NonceSize = U16;

    fn bind(key: &[u8], options: &Options) -> Result<Self, Error> {
        Self::with_options(&SivKey::new(C::CIPHER, key)?, options)
    }
}

/// CCM with nonces of 12 bytes, as `AEAD_AES_128_CCM` of RFC 5116.
pub type Ccm<C> = AeadCipher<C, mode::Ccm>;
/// EAX with nonces of 16 bytes.
pub type Eax<C> = AeadCipher<C, mode::Eax>;
/// GCM with nonces of 12 bytes, as `AEAD_AES_128_GCM` of RFC 5116.
pub type Gcm<C> = AeadCipher<C, mode::Gcm>;
/// GCM-SIV of RFC 8452, for [`Aes128`] and [`Aes256`], with nonces of 12 bytes.
pub type GcmSiv<C> = AeadCipher<C, mode::GcmSiv>;
/// OCB with nonces of 12 bytes, as `AEAD_AES_128_OCB_TAGLEN128` of RFC 7253.
pub type Ocb<C> = AeadCipher<C, mode::Ocb>;
/// SIV with nonces of 16 bytes and a key of twice the cipher's length. The tag precedes the ciphertext, as in
/// `AEAD_AES_SIV_CMAC_256` of RFC 5297.
pub type Siv<C> = AeadCipher<C, mode::Siv>;

/// An authenticated mode of a cipher, with tags of 16 bytes.
///
/// Clones share the expanded key, which is wiped when the last clone is dropped. If a tag is wrong, EAX writes
/// nothing. The other modes overwrite the output with zeros; in place, this destroys the ciphertext.
///
/// ```
/// use crossgrain::rustcrypto::{Aes256, Ocb};
/// use aead::{Aead as _, KeyInit as _};
///
/// let ocb = Ocb::<Aes256>::new(&[7; 32].into());
/// let sealed = ocb.encrypt(b"nonce: once!".into(), &b"meet at noon"[..]).unwrap();
/// assert_eq!(ocb.decrypt(b"nonce: once!".into(), &sealed[..]).unwrap(), b"meet at noon");
/// ```
pub struct AeadCipher<C: Kind, M: Sealing<C>> {
    mode: Arc<M>,
    cipher: PhantomData<fn() -> C>,
}

impl<C: Kind, M: Sealing<C>> AeadCipher<C, M> {
    /// Plans the mode with these options and binds it to a key of [`Cipher::key_bytes`] bytes, or twice as
    /// many for [`Siv`].
    ///
    /// # Errors
    /// [`Error::KeyLength`], and as `with_options` of the mode.
    ///
    /// [`Cipher::key_bytes`]: crate::Cipher::key_bytes
    pub fn with_options(key: &[u8], options: &Options) -> Result<Self, Error> {
        Ok(Self { mode: Arc::new(M::bind(key, options)?), cipher: PhantomData })
    }
}

impl<C: Kind, M: Sealing<C>> KeySizeUser for AeadCipher<C, M> {
    type KeySize = M::KeySize;
}

impl<C: Kind, M: Sealing<C>> KeyInit for AeadCipher<C, M> {
    fn new(key: &KeyArray<Self>) -> Self {
        Self::with_options(key, &default_options()).expect(ALWAYS_PLANNED)
    }
}

impl<C: Kind, M: Sealing<C>> AeadCore for AeadCipher<C, M> {
    type NonceSize = M::NonceSize;
    type TagSize = U16;
    const TAG_POSITION: TagPosition = M::TAG_POSITION;
}

impl<C: Kind, M: Sealing<C>> AeadInOut for AeadCipher<C, M> {
    fn encrypt_inout_detached(
        &self,
        nonce: &Nonce<Self>,
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
    ) -> aead::Result<Tag<Self>> {
        let tag = self.mode.seal(nonce, associated_data, buffer).map_err(|_| aead::Error)?;
        Tag::<Self>::try_from(&tag[..]).map_err(|_| aead::Error)
    }

    fn decrypt_inout_detached(
        &self,
        nonce: &Nonce<Self>,
        associated_data: &[u8],
        buffer: InOutBuf<'_, '_, u8>,
        tag: &Tag<Self>,
    ) -> aead::Result<()> {
        self.mode.open(nonce, associated_data, tag, buffer).map_err(|_| aead::Error)
    }
}

impl<C: Kind, M: Sealing<C>> Clone for AeadCipher<C, M> {
    fn clone(&self) -> Self {
        Self { mode: Arc::clone(&self.mode), cipher: PhantomData }
    }
}

impl<C: Kind, M: Sealing<C>> ZeroizeOnDrop for AeadCipher<C, M> {}

impl<C: Kind, M: Sealing<C>> AlgorithmName for AeadCipher<C, M> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}<{}>", M::NAME, C::NAME)
    }
}

impl<C: Kind, M: Sealing<C>> fmt::Debug for AeadCipher<C, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}<{}> {{ .. }}", M::NAME, C::NAME)
    }
}
