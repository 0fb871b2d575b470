//! What EAX and GCM have in common: sealing and opening, one message or many.

use subtle::ConstantTimeEq;

use crate::block::{BLOCK_BYTES, Block, Error};
use crate::plan::Plan;
use crate::word::Buffers;

/// A message of an authenticated mode.
#[derive(Debug)]
pub struct AeadMessage<'a> {
    /// Never the same for two messages under one key.
    pub nonce: &'a [u8],
    /// What the tag vouches for besides the message.
    pub aad: &'a [u8],
    /// Where the message lies and where its result goes.
    pub buffers: Buffers<'a>,
    /// The tag: made when sealing, compared when opening. As many bytes count as the mode's tags have.
    pub tag: Block,
}

/// An authenticated mode, bound to a key.
pub trait Aead: Send + Sync {
    /// Bytes in a tag.
    fn tag_bytes(&self) -> usize;

    /// The plans chosen for the message, widest bundle first.
    fn plans(&self) -> &[Plan];

    /// Whether the mode takes a message of this size under this nonce.
    ///
    /// # Errors
    /// Says what is wrong with them.
    fn admits(&self, nonce: &[u8], len_bytes: usize) -> Result<(), Error>;

    /// Encrypts messages and makes their tags, side by side where that is faster.
    ///
    /// # Errors
    /// As [`Aead::admits`], of any message; nothing is written then.
    fn seal_many(&self, messages: &mut [AeadMessage<'_>]) -> Result<(), Error>;

    /// Decrypts messages whose tags are right.
    ///
    /// # Errors
    /// As [`Aead::admits`], of any message; nothing is written then. And for each message
    /// [`Error::Forged`] if its tag is wrong; nothing is written of that one.
    fn open_many(&self, messages: &mut [AeadMessage<'_>]) -> Result<Vec<Result<(), Error>>, Error>;

    /// Encrypts a message and gives its tag, of which [`Aead::tag_bytes`] count.
    ///
    /// # Errors
    /// As [`Aead::admits`]; nothing is written then.
    fn seal(&self, nonce: &[u8], aad: &[u8], buffers: Buffers<'_>) -> Result<Block, Error> {
        let mut message = [AeadMessage { nonce, aad, buffers, tag: [0; BLOCK_BYTES] }];
        self.seal_many(&mut message)?;
        Ok(message[0].tag)
    }

    /// Decrypts a message if its tag is right.
    ///
    /// # Errors
    /// [`Error::TagBytes`] if the tag has another length than the mode's, [`Error::Forged`] if it is wrong,
    /// and as [`Aead::admits`]; nothing is written then.
    fn open(&self, nonce: &[u8], aad: &[u8], tag: &[u8], buffers: Buffers<'_>) -> Result<(), Error> {
        if tag.len() != self.tag_bytes() {
            return Err(Error::TagBytes { len_bytes: tag.len() });
        }
        let mut whole = [0; BLOCK_BYTES];
        whole[..tag.len()].copy_from_slice(tag);
        let mut message = [AeadMessage { nonce, aad, buffers, tag: whole }];
        self.open_many(&mut message)?.pop().unwrap_or(Err(Error::Forged))
    }
}

/// Whether the mode takes all messages: what sealing and opening ask first.
pub(super) fn all_admitted(mode: &impl Aead, messages: &[AeadMessage<'_>]) -> Result<(), Error> {
    messages.iter().try_for_each(|message| mode.admits(message.nonce, message.buffers.len_bytes()))
}

/// What opening came to, of each message.
pub(super) fn opened(right: Vec<bool>) -> Vec<Result<(), Error>> {
    right.into_iter().map(|right| if right { Ok(()) } else { Err(Error::Forged) }).collect()
}

/// Whether the first `tag_bytes` of two tags are the same, in constant time.
pub(super) fn same_tag(tag_bytes: usize, a: &Block, b: &Block) -> bool {
    a[..tag_bytes].ct_eq(&b[..tag_bytes]).into()
}

/// A tag cut to its length, zeros behind it.
pub(super) fn cut_tag(tag_bytes: usize, mut tag: Block) -> Block {
    tag[tag_bytes..].fill(0);
    tag
}

/// Bytes in all messages together.
pub(super) fn total_bytes(messages: &[AeadMessage<'_>]) -> usize {
    messages.iter().map(|message| message.buffers.len_bytes()).sum()
}
