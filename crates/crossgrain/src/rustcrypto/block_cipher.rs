//! Block ciphers as types.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cipher::common::{Key as KeyArray, KeySizeUser};
use cipher::consts::U16;
use cipher::inout::InOutBuf;
use cipher::{
    AlgorithmName, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncClosure, BlockCipherEncrypt,
    BlockSizeUser, KeyInit,
};
use zeroize::ZeroizeOnDrop;

use super::backend::{self, BlockArray};
use super::{ALWAYS_PLANNED, Kind, default_options};
use crate::arch::Buffers;
use crate::block::{Block, Direction, Error, Key};
use crate::mode::{Ecb, Options};

/// A block cipher with its key, for both directions.
///
/// Clones share the expanded key, which is wiped when the last clone is dropped.
pub struct BlockCipher<K: Kind> {
    bound: Arc<Bound>,
    kind: PhantomData<fn() -> K>,
}

/// The programs of a key.
struct Bound {
    encrypt: Ecb,
    decrypt: Ecb,
}

impl<K: Kind> BlockCipher<K> {
    /// Plans both directions with these options and binds them to a key of [`Cipher::key_bytes`] bytes.
    ///
    /// # Errors
    /// [`Error::KeyLength`], and as [`Ecb::with_options`].
    ///
    /// [`Cipher::key_bytes`]: crate::Cipher::key_bytes
    pub fn with_options(key: &[u8], options: &Options) -> Result<Self, Error> {
        let key = Key::new(K::CIPHER, key)?;
        let bound = Bound {
            encrypt: Ecb::with_options(&key, Direction::Encrypt, options)?,
            decrypt: Ecb::with_options(&key, Direction::Decrypt, options)?,
        };
        Ok(Self { bound: Arc::new(bound), kind: PhantomData })
    }

    /// Encrypts any number of blocks.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if `input` and `output` have different lengths. Then nothing is written.
    pub fn encrypt_n(&self, input: &[Block], output: &mut [Block]) -> Result<(), Error> {
        apply_n(&self.bound.encrypt, input, output)
    }

    /// Decrypts any number of blocks.
    ///
    /// # Errors
    /// As [`BlockCipher::encrypt_n`].
    pub fn decrypt_n(&self, input: &[Block], output: &mut [Block]) -> Result<(), Error> {
        apply_n(&self.bound.decrypt, input, output)
    }
}

/// A single block takes a shortcut without the preparations of a longer job.
#[inline]
fn apply_n(cipher: &Ecb, input: &[Block], output: &mut [Block]) -> Result<(), Error> {
    if let ([from], [to]) = (input, &mut *output) {
        *to = *from;
        cipher.block(to);
        return Ok(());
    }
    cipher.apply(Buffers::apart(input.as_flattened(), output.as_flattened_mut())?)
}

impl<K: Kind> KeySizeUser for BlockCipher<K> {
    type KeySize = K::KeySize;
}

impl<K: Kind> BlockSizeUser for BlockCipher<K> {
    type BlockSize = U16;
}

impl<K: Kind> KeyInit for BlockCipher<K> {
    fn new(key: &KeyArray<Self>) -> Self {
        Self::with_options(key, &default_options()).expect(ALWAYS_PLANNED)
    }
}

/// Slices go to the program as a whole. Only closures of mode crates work in batches.
impl<K: Kind> BlockCipherEncrypt for BlockCipher<K> {
    fn encrypt_with_backend(&self, f: impl BlockCipherEncClosure<BlockSize = U16>) {
        backend::encrypt(&self.bound.encrypt, f);
    }

    fn encrypt_blocks_inout(&self, blocks: InOutBuf<'_, '_, BlockArray>) {
        backend::run(&self.bound.encrypt, blocks.into());
    }

    fn encrypt_blocks(&self, blocks: &mut [BlockArray]) {
        self.encrypt_blocks_inout(blocks.into());
    }
}

impl<K: Kind> BlockCipherDecrypt for BlockCipher<K> {
    fn decrypt_with_backend(&self, f: impl BlockCipherDecClosure<BlockSize = U16>) {
        backend::decrypt(&self.bound.decrypt, f);
    }

    fn decrypt_blocks_inout(&self, blocks: InOutBuf<'_, '_, BlockArray>) {
        backend::run(&self.bound.decrypt, blocks.into());
    }

    fn decrypt_blocks(&self, blocks: &mut [BlockArray]) {
        self.decrypt_blocks_inout(blocks.into());
    }
}

impl<K: Kind> Clone for BlockCipher<K> {
    fn clone(&self) -> Self {
        Self { bound: Arc::clone(&self.bound), kind: PhantomData }
    }
}

impl<K: Kind> ZeroizeOnDrop for BlockCipher<K> {}

impl<K: Kind> AlgorithmName for BlockCipher<K> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(K::NAME)
    }
}

impl<K: Kind> fmt::Debug for BlockCipher<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {{ .. }}", K::NAME)
    }
}
