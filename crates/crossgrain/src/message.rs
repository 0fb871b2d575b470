//! Messages of authenticated modes, and their tags: as many bytes as a mode makes, at most a block. And records: messages that bring
//! their keys.
//!
//! Kernels of whole messages take them as callers have them: what a short message takes is as much in what is copied around it as in
//! its rounds.

use std::fmt;
use std::ops::Deref;

use subtle::{Choice, ConstantTimeEq};

use crate::block::{BLOCK_BYTES, Block, Error, Key};
use crate::word::{Buffers, ones_then_zeros};

impl<'a> Buffers<'a> {
    /// Two buffers of the same length.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if they differ in length.
    pub const fn apart(input: &'a [u8], output: &'a mut [u8]) -> Result<Self, Error> {
        let (input_bytes, output_bytes) = (input.len(), output.len());
        match Self::of_two(input, output) {
            Some(buffers) => Ok(buffers),
            None => Err(Error::LengthMismatch { input_bytes, output_bytes }),
        }
    }
}

/// From an input to an output of the same length.
///
/// # Panics
/// If they differ in length, as `copy_from_slice` does: [`Buffers::apart`] is for lengths that may be wrong.
impl<'a, I: AsRef<[u8]> + ?Sized, O: AsMut<[u8]> + ?Sized> From<(&'a I, &'a mut O)> for Buffers<'a> {
    #[inline]
    #[track_caller]
    fn from((input, output): (&'a I, &'a mut O)) -> Self {
        match Self::apart(input.as_ref(), output.as_mut()) {
            Ok(buffers) => buffers,
            Err(error) => panic!("{error}"),
        }
    }
}

/// A message of an authenticated mode.
#[derive(Debug)]
pub struct AeadMessage<'a> {
    /// Never the same for two messages under one key.
    pub nonce: &'a [u8],
    /// What the tag vouches for besides the message.
    pub aad: &'a [u8],
    /// Where the message lies and where its result goes.
    pub buffers: Buffers<'a>,
    /// The tag: made when sealing, compared when opening.
    pub tag: Tag,
}

impl<'a> AeadMessage<'a> {
    /// A message to be sealed. To open one, set its tag besides.
    pub fn new(nonce: &'a [u8], aad: &'a [u8], buffers: impl Into<Buffers<'a>>) -> Self {
        Self { nonce, aad, buffers: buffers.into(), tag: Tag::default() }
    }
}

/// A message with its key.
#[cfg(feature = "own-keys")]
#[derive(Debug)]
pub struct Record<'a> {
    /// The key, which may be that of other records too.
    pub key: &'a Key,
    /// The initialisation vector, or first counter block; ECB has no use for it.
    pub iv: Block,
    /// Where the message lies and where its result goes.
    pub buffers: Buffers<'a>,
}

#[cfg(feature = "own-keys")]
impl<'a> Record<'a> {
    /// A record under its key and an initialisation vector.
    pub fn new(key: &'a Key, iv: Block, buffers: impl Into<Buffers<'a>>) -> Self {
        Self { key, iv, buffers: buffers.into() }
    }
}

/// The tag of a message: up to 16 bytes. It derefs to them.
///
/// Two tags are compared in constant time, whether by `==` or [`ConstantTimeEq`]; two slices are not.
///
/// ```
/// use crossgrain::mode::Tag;
///
/// let tag = Tag::try_from(&[0xab; 12][..])?;
/// assert_eq!(tag.len(), 12);
/// assert_eq!(format!("{tag:?}"), "Tag(abababababababababababab)");
/// # Ok::<(), crossgrain::Error>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct Tag {
    bytes: Block,
    len_bytes: usize,
}

/// A block of ones, and one of zeros.
static FIRST_BYTES: [u8; 2 * BLOCK_BYTES] = ones_then_zeros();

impl Tag {
    /// The first bytes of a block.
    pub(crate) fn cut(block: &Block, len_bytes: usize) -> Self {
        let kept = Self::kept(len_bytes);
        Self { bytes: std::array::from_fn(|at| block[at] & kept[at]), len_bytes }
    }

    /// Ones for the bytes that such a tag has of a block, and zeros: to choose all of them at once, since what is written in halves is
    /// read whole only when all that was begun earlier is done.
    pub(crate) fn kept(len_bytes: usize) -> &'static Block {
        assert!((1..=BLOCK_BYTES).contains(&len_bytes), "a tag has a byte, and no more than a block");
        let kept = FIRST_BYTES[BLOCK_BYTES - len_bytes..].first_chunk();
        kept.unwrap_or(&[0; BLOCK_BYTES])
    }

    /// The bytes of a tag of so many, to be written with zeros behind them.
    pub(crate) const fn padded_mut(&mut self, len_bytes: usize) -> &mut Block {
        self.len_bytes = len_bytes;
        &mut self.bytes
    }

    /// The bytes, and zeros behind them.
    pub(crate) const fn padded(&self) -> Block {
        self.bytes
    }

    /// How many bytes it has.
    #[inline]
    pub(crate) const fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// A tag that is shorter than a block, unless it is longer.
    #[inline(never)]
    fn of_part(tag: &[u8]) -> Result<Self, Error> {
        let len_bytes = tag.len();
        if let (Some(first), Some(last), ..=BLOCK_BYTES) = (tag.first_chunk(), tag.last_chunk(), len_bytes) {
            // Halves, which overlap, and not bytes: what is written byte by byte is read as a whole only when all that was begun
            // earlier is done.
            let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
            let last = u128::from(last) << 64 >> (8 * (BLOCK_BYTES - len_bytes));
            return Ok(Self { bytes: (u128::from(first) | last).to_le_bytes(), len_bytes });
        }
        let mut bytes = [0; BLOCK_BYTES];
        bytes.get_mut(..len_bytes).ok_or(Error::TagBytes { len_bytes })?.copy_from_slice(tag);
        Ok(Self { bytes, len_bytes })
    }
}

/// A whole tag.
impl From<Block> for Tag {
    #[inline]
    fn from(bytes: Block) -> Self {
        Self { bytes, len_bytes: BLOCK_BYTES }
    }
}

/// [`Error::TagBytes`] for more than 16 bytes.
impl TryFrom<&[u8]> for Tag {
    type Error = Error;

    #[inline]
    fn try_from(tag: &[u8]) -> Result<Self, Error> {
        match <&Block>::try_from(tag) {
            Ok(whole) => Ok(Self::from(*whole)),
            Err(_) => Self::of_part(tag),
        }
    }
}

impl Deref for Tag {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len_bytes]
    }
}

impl AsRef<[u8]> for Tag {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl ConstantTimeEq for Tag {
    fn ct_eq(&self, other: &Self) -> Choice {
        self[..].ct_eq(&other[..])
    }
}

impl PartialEq for Tag {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl Eq for Tag {}

/// The bytes in hex.
impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tag(")?;
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}
