//! Tags of messages: as many bytes as their mode makes, at most a block.

use std::fmt;
use std::ops::Deref;

use subtle::{Choice, ConstantTimeEq};

use crate::block::{BLOCK_BYTES, Block, Error, ones_then_zeros};

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
const FIRST_BYTES: [u8; 2 * BLOCK_BYTES] = ones_then_zeros();

impl Tag {
    /// The first bytes of a block.
    pub(super) fn cut(block: &Block, len_bytes: usize) -> Self {
        assert!((1..=BLOCK_BYTES).contains(&len_bytes), "a tag has a byte, and no more than a block");
        // All bytes at once: what is written in halves is read whole only when all that was begun earlier is done.
        let kept = &FIRST_BYTES[BLOCK_BYTES - len_bytes..][..BLOCK_BYTES];
        Self { bytes: std::array::from_fn(|at| block[at] & kept[at]), len_bytes }
    }

    /// The bytes, and zeros behind them.
    pub(super) const fn padded(&self) -> Block {
        self.bytes
    }
}

/// A whole tag.
impl From<Block> for Tag {
    fn from(bytes: Block) -> Self {
        Self { bytes, len_bytes: BLOCK_BYTES }
    }
}

/// [`Error::TagBytes`] for more than 16 bytes.
impl TryFrom<&[u8]> for Tag {
    type Error = Error;

    fn try_from(tag: &[u8]) -> Result<Self, Error> {
        let len_bytes = tag.len();
        let mut bytes = [0; BLOCK_BYTES];
        bytes.get_mut(..len_bytes).ok_or(Error::TagBytes { len_bytes })?.copy_from_slice(tag);
        Ok(Self { bytes, len_bytes })
    }
}

impl Deref for Tag {
    type Target = [u8];

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
