//! Modes without a tag behind one face: a message as a whole, or piece by piece.
//!
//! A piece is computed by its [`Place`]: how far into the message it begins, and the block that its first block is chained
//! to. Where a mode is parallel, the place of any piece is known beforehand, so pieces can go side by side.

use std::fmt;

use super::Chain;
use crate::block::{BLOCK_BYTES, Block, Error};
use crate::plan::Plan;
use crate::word::Buffers;

/// Where a piece of a message begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes of the message before it.
    pub position_bytes: u128,
    /// What its first block is chained to.
    pub chain: Chain,
}

impl Place {
    /// The place after so many bytes, of which `before` is the last block of input: for modes that are parallel. At the
    /// beginning of a message, `before` is the initialisation vector.
    pub fn at(position_bytes: u128, before: Block) -> Self {
        Self { position_bytes, chain: before.into() }
    }
}

/// A mode without a tag, bound to its key.
pub(super) trait Apply: Send + Sync {
    /// Replaces a piece, and leaves in the chain what the next is chained to.
    fn apply(&self, place: &mut Place, buffers: Buffers<'_>) -> Result<(), Error>;

    /// What pieces but the last are a multiple of.
    fn grain_bytes(&self) -> usize {
        BLOCK_BYTES
    }

    /// The plans chosen, widest bundle first.
    fn plans(&self) -> &[Plan];
}

/// A mode without a tag, in one direction, bound to its key and what its message starts from.
///
/// Nothing is authenticated: a change of the message is not found out. Made by [`super::Mode::unauthenticated`].
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

    /// Where the message begins.
    pub fn start(&self) -> Place {
        Place::at(0, self.iv)
    }

    /// What all pieces of a message but the last must be a multiple of, in bytes: a block, or a sector.
    pub fn grain_bytes(&self) -> usize {
        self.bound.grain_bytes()
    }

    /// Replaces a piece of the message, and moves `place` behind it.
    ///
    /// # Errors
    /// [`Error::PartialBlock`], with the length of the message so far, where the mode needs whole blocks;
    /// [`Error::ShortSector`] for a last sector of less than a block, [`Error::SplitSector`] for a piece that begins within
    /// a sector. Nothing is written then.
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

    /// Replaces a whole message.
    ///
    /// # Errors
    /// As [`Unauthenticated::apply`].
    #[inline]
    pub fn apply_whole<'a>(&self, buffers: impl Into<Buffers<'a>>) -> Result<(), Error> {
        self.apply_next(&mut self.start(), buffers.into())
    }

    /// The plans chosen, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        self.bound.plans()
    }
}

impl fmt::Debug for Unauthenticated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unauthenticated").field("plans", &self.plans()).finish_non_exhaustive()
    }
}
