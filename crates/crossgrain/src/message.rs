//! Messages of authenticated modes, and their tags of 1 to 16 bytes. Also records: messages with their own
//! keys.
//!
//! Kernels for whole messages take these types unchanged, without conversion. For a short message, copying
//! around the kernel costs as much as the rounds.

use std::fmt;
use std::ops::Deref;

use subtle::{Choice, ConstantTimeEq};

use crate::arch::{Buffers, ones_then_zeros};
use crate::block::{BLOCK_BYTES, Block, Error, Key, part_number};

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

/// Converts an input and an output of the same length.
///
/// # Panics
/// If the lengths differ, as `copy_from_slice` does. Use [`Buffers::apart`] if they may differ.
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
    /// The nonce. Never use a nonce twice with one key.
    pub nonce: &'a [u8],
    /// The associated data: authenticated but not encrypted.
    pub aad: &'a [u8],
    /// The input and the output.
    pub buffers: Buffers<'a>,
    /// The tag. Sealing writes it; opening compares it.
    pub tag: Tag,
}

impl<'a> AeadMessage<'a> {
    /// A message to seal. To open a message, also set its tag.
    pub fn new(nonce: &'a [u8], aad: &'a [u8], buffers: impl Into<Buffers<'a>>) -> Self {
        Self { nonce, aad, buffers: buffers.into(), tag: Tag::default() }
    }
}

/// A message with its own key.
#[cfg(feature = "own-keys")]
#[derive(Debug)]
pub struct Record<'a> {
    /// The key. Other records may share it.
    pub key: &'a Key,
    /// The initialisation vector or first counter block. ECB ignores it.
    pub iv: Block,
    /// The input and the output.
    pub buffers: Buffers<'a>,
}

#[cfg(feature = "own-keys")]
impl<'a> Record<'a> {
    /// A record with its key and initialisation vector.
    pub fn new(key: &'a Key, iv: Block, buffers: impl Into<Buffers<'a>>) -> Self {
        Self { key, iv, buffers: buffers.into() }
    }
}

/// The tag of a message: at most 16 bytes. It dereferences to these bytes.
///
/// `==` and [`ConstantTimeEq`] compare two tags in constant time. Comparing the slices is not constant-time.
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

/// One block of `0xff` bytes, then one block of zeros.
static FIRST_BYTES: [u8; 2 * BLOCK_BYTES] = ones_then_zeros();

impl Tag {
    /// The tag of the first `len_bytes` bytes of a block.
    pub(crate) fn cut(block: &Block, len_bytes: usize) -> Self {
        let kept = Self::kept(len_bytes);
        Self { bytes: std::array::from_fn(|at| block[at] & kept[at]), len_bytes }
    }

    /// A mask for a tag of `len_bytes` bytes: `0xff` for the bytes that belong to it, zero for the others.
    /// The mask selects all bytes at once. Writing two halves and reading them as one block would defeat
    /// store forwarding: the load would wait until all earlier work is done.
    pub(crate) fn kept(len_bytes: usize) -> &'static Block {
        assert!((1..=BLOCK_BYTES).contains(&len_bytes), "a tag has a byte, and no more than a block");
        let kept = FIRST_BYTES[BLOCK_BYTES - len_bytes..].first_chunk();
        kept.unwrap_or(&[0; BLOCK_BYTES])
    }

    /// Sets the length and returns the whole block for writing. The caller must fill the bytes after the tag
    /// with zeros.
    pub(crate) const fn padded_mut(&mut self, len_bytes: usize) -> &mut Block {
        self.len_bytes = len_bytes;
        &mut self.bytes
    }

    /// The tag, padded with zeros to a block.
    pub(crate) const fn padded(&self) -> Block {
        self.bytes
    }

    /// The length of the tag, in bytes.
    #[inline]
    pub(crate) const fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// Creates a tag from fewer than 16 bytes; fails for more than 16.
    #[inline(never)]
    fn of_part(tag: &[u8]) -> Result<Self, Error> {
        let len_bytes = tag.len();
        if len_bytes > BLOCK_BYTES {
            return Err(Error::TagBytes { len_bytes });
        }
        Ok(Self { bytes: part_number(tag).to_le_bytes(), len_bytes })
    }
}

/// A tag of 16 bytes.
impl From<Block> for Tag {
    #[inline]
    fn from(bytes: Block) -> Self {
        Self { bytes, len_bytes: BLOCK_BYTES }
    }
}

/// Fails with [`Error::TagBytes`] for more than 16 bytes.
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

/// Prints the bytes in hex.
impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tag(")?;
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}
