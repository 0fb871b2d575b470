//! Counter mode as a stream cipher type.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cipher::common::{Iv, IvSizeUser, Key as KeyArray, KeySizeUser};
use cipher::consts::U16;
use cipher::inout::InOutBuf;
use cipher::{
    AlgorithmName, KeyIvInit, OverflowError, SeekNum, StreamCipher, StreamCipherError, StreamCipherSeek,
};
use zeroize::ZeroizeOnDrop;

use super::{ALWAYS_PLANNED, Kind, default_options};
use crate::arch::Buffers;
use crate::block::{BLOCK_BYTES, Block, Error, Key};
use crate::mode::{self, Options};

/// The length of the keystream. [`SeekNum`] counts whole blocks, and one more block would not fit into 128
/// bits.
const KEYSTREAM_BYTES: u128 = u128::MAX - (BLOCK_BYTES as u128 - 1);

/// CTR with a 128-bit big-endian counter, at a position of its keystream.
///
/// It equals the `ctr` crate's `Ctr128BE`, except that the keystream has 2¹²⁸ − 16 bytes and does not end
/// where the counter wraps. All positions up to its end are available as `u128`. A seek beyond the end fails.
///
/// Clones share the expanded key, which is wiped when the last clone is dropped.
pub struct Ctr<C: Kind> {
    stream: Arc<mode::Ctr>,
    position_bytes: u128,
    cipher: PhantomData<fn() -> C>,
}

impl<C: Kind> Ctr<C> {
    /// Plans CTR with these options and binds it to a key of [`Cipher::key_bytes`] bytes and an initial
    /// counter block.
    ///
    /// # Errors
    /// [`Error::KeyLength`], and as [`mode::Ctr::with_options`].
    ///
    /// [`Cipher::key_bytes`]: crate::Cipher::key_bytes
    pub fn with_options(key: &[u8], initial: &Block, options: &Options) -> Result<Self, Error> {
        let stream = Arc::new(mode::Ctr::with_options(&Key::new(C::CIPHER, key)?, initial, options)?);
        Ok(Self { stream, position_bytes: 0, cipher: PhantomData })
    }

    fn apply(&mut self, buffers: Buffers<'_>) {
        let len_bytes = buffers.len_bytes() as u128;
        self.stream.apply_at(self.position_bytes, buffers);
        self.position_bytes = self.position_bytes.wrapping_add(len_bytes);
    }
}

impl<C: Kind> KeySizeUser for Ctr<C> {
    type KeySize = C::KeySize;
}

impl<C: Kind> IvSizeUser for Ctr<C> {
    type IvSize = U16;
}

impl<C: Kind> KeyIvInit for Ctr<C> {
    fn new(key: &KeyArray<Self>, iv: &Iv<Self>) -> Self {
        Self::with_options(key, &iv.0, &default_options()).expect(ALWAYS_PLANNED)
    }
}

impl<C: Kind> StreamCipher for Ctr<C> {
    fn check_remaining(&self, data_len: usize) -> Result<(), StreamCipherError> {
        let left = KEYSTREAM_BYTES - self.position_bytes;
        if data_len as u128 <= left { Ok(()) } else { Err(StreamCipherError) }
    }

    fn unchecked_apply_keystream_inout(&mut self, buf: InOutBuf<'_, '_, u8>) {
        self.apply(buf.into());
    }

    fn unchecked_write_keystream(&mut self, buf: &mut [u8]) {
        buf.fill(0);
        self.apply(Buffers::in_place(buf));
    }
}

impl<C: Kind> StreamCipherSeek for Ctr<C> {
    /// [`SeekNum`] expects the used bytes of the current block as a number from 1 to 16, so the end of a
    /// block counts as 16.
    fn try_current_pos<T: SeekNum>(&self) -> Result<T, OverflowError> {
        const BLOCK: u128 = BLOCK_BYTES as u128;
        let used = match self.position_bytes % BLOCK {
            0 => BLOCK,
            part => part,
        };
        let blocks = self.position_bytes / BLOCK + u128::from(used < BLOCK);
        T::from_block_byte(blocks, used as u8, BLOCK_BYTES as u8)
    }

    fn try_seek<T: SeekNum>(&mut self, pos: T) -> Result<(), StreamCipherError> {
        let (block, byte) = pos.into_block_byte::<u128>(BLOCK_BYTES as u8)?;
        let start = block.checked_mul(BLOCK_BYTES as u128);
        let position_bytes = start.and_then(|start| start.checked_add(byte.into()));
        self.position_bytes =
            position_bytes.filter(|&position| position <= KEYSTREAM_BYTES).ok_or(StreamCipherError)?;
        Ok(())
    }
}

impl<C: Kind> Clone for Ctr<C> {
    fn clone(&self) -> Self {
        Self { stream: Arc::clone(&self.stream), ..*self }
    }
}

impl<C: Kind> ZeroizeOnDrop for Ctr<C> {}

impl<C: Kind> AlgorithmName for Ctr<C> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ctr128BE<{}>", C::NAME)
    }
}

impl<C: Kind> fmt::Debug for Ctr<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ctr128BE<{}> {{ .. }}", C::NAME)
    }
}
