//! One interface for modes without a tag, for whole messages or pieces.
//!
//! A piece needs its [`Place`]: the number of bytes before it, and the block that its first block is chained
//! to. In a parallel mode the place of any piece is known in advance, so pieces can run in parallel.

use std::fmt;

use super::Chain;
use crate::arch::Buffers;
use crate::block::{BLOCK_BYTES, Block, Error};
use crate::plan::Plan;

/// The place of a piece in its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes of the message before the piece.
    pub position_bytes: u128,
    /// The state that the first block of the piece is chained to.
    pub chain: Chain,
}

impl Place {
    /// The place after `position_bytes` bytes in a parallel mode. `before` is the last block of input before
    /// it, or the initialisation vector at the start of a message.
    pub fn at(position_bytes: u128, before: Block) -> Self {
        Self { position_bytes, chain: before.into() }
    }
}

/// A mode without a tag, bound to its key.
pub(super) trait Apply: Send + Sync {
    /// Encrypts or decrypts a piece, and updates the chain for the next one.
    fn apply(&self, place: &mut Place, buffers: Buffers<'_>) -> Result<(), Error>;

    /// The length of every piece but the last is a multiple of this.
    fn grain_bytes(&self) -> usize {
        BLOCK_BYTES
    }

    /// The plans in use, widest bundle first.
    fn plans(&self) -> &[Plan];
}

/// A mode without a tag, in one direction, bound to its key and its initial value.
///
/// The message is not authenticated, so changes go undetected. [`super::Mode::unauthenticated`] makes it.
///
/// ```
/// use crossgrain::mode::{Mode, Options, Start};
/// use crossgrain::{Cipher, Direction};
///
/// let start = Start { iv: &[3; 16], ..Start::default() };
/// let cbc =
///     Mode::Cbc.unauthenticated(Cipher::Aes128, &[7; 16], Direction::Encrypt, &start, &Options::default())?;
/// let mut place = cbc.start();
/// let mut data = [0; 64];
/// let (first, second) = data.split_at_mut(32);
/// cbc.apply(&mut place, first)?;
/// cbc.apply(&mut place, second)?;
/// assert_eq!(place.position_bytes, 64);
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub struct Unauthenticated {
    bound: Box<dyn Apply>,
    iv: Block,
}

impl Unauthenticated {
    pub(super) fn new(bound: Box<dyn Apply>, iv: Block) -> Self {
        Self { bound, iv }
    }

    /// The place of the first piece.
    pub fn start(&self) -> Place {
        Place::at(0, self.iv)
    }

    /// The length in bytes of every piece but the last is a multiple of this: a block or a sector.
    pub fn grain_bytes(&self) -> usize {
        self.bound.grain_bytes()
    }

    /// Encrypts or decrypts a piece of the message, and moves `place` to its end.
    ///
    /// # Errors
    /// * [`Error::PartialBlock`], with the length of the message so far, if the mode needs whole blocks.
    /// * [`Error::ShortSector`] for a last sector of less than a block.
    /// * [`Error::SplitSector`] for a piece that begins within a sector.
    ///
    /// Nothing is written in these cases.
    #[inline]
    pub fn apply<'a>(&self, place: &mut Place, buffers: impl Into<Buffers<'a>>) -> Result<(), Error> {
        self.apply_next(place, buffers.into())
    }

    fn apply_next(&self, place: &mut Place, buffers: Buffers<'_>) -> Result<(), Error> {
        let after_bytes = place.position_bytes.wrapping_add(buffers.len_bytes() as u128);
        self.bound.apply(place, buffers).map_err(|refusal| match refusal {
            Error::PartialBlock { .. } => Error::PartialBlock { len_bytes: after_bytes as usize },
            other => other,
        })?;
        place.position_bytes = after_bytes;
        Ok(())
    }

    /// Encrypts or decrypts a whole message.
    ///
    /// # Errors
    /// As [`Unauthenticated::apply`].
    #[inline]
    pub fn apply_whole<'a>(&self, buffers: impl Into<Buffers<'a>>) -> Result<(), Error> {
        self.apply_next(&mut self.start(), buffers.into())
    }

    /// The plans in use, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        self.bound.plans()
    }
}

impl fmt::Debug for Unauthenticated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unauthenticated").field("plans", &self.plans()).finish_non_exhaustive()
    }
}
