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

use super::{ALWAYS_PLANNED, Kind, default_options};
use crate::block::{BLOCK_BYTES, Error, Key};
use crate::mode::{Eax, Gcm, Options};

/// An authenticated mode at the type level: it distinguishes `Aes128Eax` from `Aes128Gcm`.
pub trait Sealing: crate::mode::Aead + Send + Sync + Sized + 'static {
    /// The mode's name, part of the name of the type.
    const NAME: &'static str;
    /// Bytes in a nonce, as a type.
    type NonceSize: ArraySize;

    /// Plans the mode with tags of 16 bytes and binds it to a key.
    ///
    /// # Errors
    /// As `with_options` of the mode.
    fn bind(key: &Key, options: &Options) -> Result<Self, Error>;
}

impl Sealing for Eax {
    const NAME: &'static str = "Eax";
    type NonceSize = U16;

    fn bind(key: &Key, options: &Options) -> Result<Self, Error> {
        Self::with_options(key, BLOCK_BYTES, options)
    }
}

impl Sealing for Gcm {
    const NAME: &'static str = "Gcm";
    type NonceSize = U12;

    fn bind(key: &Key, options: &Options) -> Result<Self, Error> {
        Self::with_options(key, BLOCK_BYTES, options)
    }
}

/// An authenticated mode of a cipher, with tags of 16 bytes. Nonces have 16 bytes for EAX and 12 bytes for
/// GCM.
///
/// Clones share the expanded key, which is wiped when the last clone is dropped. If a tag is wrong, EAX
/// writes nothing. GCM overwrites the output with zeros; in place, this destroys the ciphertext.
pub struct AeadCipher<K: Kind, M: Sealing> {
    mode: Arc<M>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind, M: Sealing> AeadCipher<K, M> {
    /// Plans the mode with these options and binds it to a key of [`Cipher::key_bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::KeyLength`], and as `with_options` of the mode.
    ///
    /// [`Cipher::key_bytes`]: crate::Cipher::key_bytes
    pub fn with_options(key: &[u8], options: &Options) -> Result<Self, Error> {
        let mode = Arc::new(M::bind(&Key::new(K::CIPHER, key)?, options)?);
        Ok(Self { mode, kind: PhantomData })
    }
}

impl<K: Kind, M: Sealing> KeySizeUser for AeadCipher<K, M> {
    type KeySize = K::KeySize;
}

impl<K: Kind, M: Sealing> KeyInit for AeadCipher<K, M> {
    fn new(key: &KeyArray<Self>) -> Self {
        Self::with_options(key, &default_options()).expect(ALWAYS_PLANNED)
    }
}

impl<K: Kind, M: Sealing> AeadCore for AeadCipher<K, M> {
    type NonceSize = M::NonceSize;
    type TagSize = U16;
    const TAG_POSITION: TagPosition = TagPosition::Postfix;
}

impl<K: Kind, M: Sealing> AeadInOut for AeadCipher<K, M> {
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

impl<K: Kind, M: Sealing> Clone for AeadCipher<K, M> {
    fn clone(&self) -> Self {
        Self { mode: Arc::clone(&self.mode), kind: PhantomData }
    }
}

impl<K: Kind, M: Sealing> ZeroizeOnDrop for AeadCipher<K, M> {}

impl<K: Kind, M: Sealing> AlgorithmName for AeadCipher<K, M> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}<{}>", M::NAME, K::NAME)
    }
}

impl<K: Kind, M: Sealing> fmt::Debug for AeadCipher<K, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}<{}> {{ .. }}", M::NAME, K::NAME)
    }
}
