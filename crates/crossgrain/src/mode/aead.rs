//! The interface of authenticated modes, and the parts that they share.
//!
//! [`Aead`] seals and opens one message or many. A mode that processes messages in groups implements
//! [`Groups`]. The functions here then cut the messages into groups, distribute the groups over threads and
//! turn the results into errors.

use std::slice;

use crate::arch::{Buffers, ClearRegisters, wipe};
use crate::block::{Block, Direction, Error};
use crate::message::{AeadMessage, Tag};
use crate::plan::Plan;
use crate::run::Threads;

/// An authenticated mode, bound to a key.
pub trait Aead: Send + Sync {
    /// Bytes in a tag.
    fn tag_bytes(&self) -> usize;

    /// The plans in use for the message, widest bundle first.
    fn plans(&self) -> &[Plan];

    /// Checks whether the mode accepts this message: its nonce, and the lengths of its data and associated
    /// data.
    ///
    /// # Errors
    /// The error says which of them is not acceptable.
    fn admits(&self, message: &AeadMessage<'_>) -> Result<(), Error>;

    /// Encrypts messages and computes their tags, in parallel if that is faster.
    ///
    /// # Errors
    /// As [`Aead::admits`], for any of the messages. Nothing is written in this case.
    fn seal_many(&self, messages: &mut [AeadMessage<'_>]) -> Result<(), Error>;

    /// Decrypts messages whose tags are right. Each message has its own result.
    ///
    /// # Errors
    /// As [`Aead::admits`], for any of the messages. Nothing is written in this case.
    ///
    /// The result of a message is [`Error::TagBytes`] if its tag has another length than the mode's, and
    /// [`Error::Forged`] if the tag is wrong. Its output is then unchanged, or overwritten with zeros if the
    /// mode [wipes forged messages](super::Entry::wipes_forged). In place, this also destroys the ciphertext.
    fn open_many(&self, messages: &mut [AeadMessage<'_>]) -> Result<Vec<Result<(), Error>>, Error>;

    /// [`Aead::seal_many`] for one message, with less overhead.
    ///
    /// # Errors
    /// As [`Aead::admits`]. Nothing is written in this case.
    fn seal_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
        self.seal_many(slice::from_mut(message))
    }

    /// [`Aead::open_many`] for one message.
    ///
    /// # Errors
    /// As [`Aead::open`].
    fn open_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
        self.open_many(slice::from_mut(message))?.pop().unwrap_or(Err(Error::Forged))
    }

    /// Encrypts a message and returns its tag of [`Aead::tag_bytes`] bytes.
    ///
    /// # Errors
    /// As [`Aead::admits`]. Nothing is written in this case.
    #[inline]
    fn seal<'a>(&self, nonce: &'a [u8], aad: &'a [u8], buffers: impl Into<Buffers<'a>>) -> Result<Tag, Error>
    where
        Self: Sized,
    {
        let mut message = AeadMessage::new(nonce, aad, buffers);
        self.seal_message(&mut message)?;
        Ok(message.tag)
    }

    /// Decrypts a message if its tag is right.
    ///
    /// # Errors
    /// [`Error::TagBytes`] if the tag has another length than the mode's, [`Error::Forged`] if it is wrong,
    /// and as [`Aead::admits`]. Nothing is written then, with one exception: if the tag is wrong and the mode
    /// [wipes forged messages](super::Entry::wipes_forged), the output is overwritten with zeros.
    #[inline]
    fn open<'a>(
        &self,
        nonce: &'a [u8],
        aad: &'a [u8],
        tag: &[u8],
        buffers: impl Into<Buffers<'a>>,
    ) -> Result<(), Error>
    where
        Self: Sized,
    {
        let mut message = AeadMessage::new(nonce, aad, buffers);
        message.tag = tag.try_into()?;
        self.open_message(&mut message)
    }

    /// Encrypts a message. Returns the ciphertext followed by the tag of [`Aead::tag_bytes`] bytes, for every
    /// mode. RFC 5297 puts the tag of SIV first.
    ///
    /// ```
    /// use crossgrain::mode::{Aead as _, Gcm};
    /// use crossgrain::{Cipher, Key};
    ///
    /// let gcm = Gcm::new(&Key::generate(Cipher::Aes256)?)?;
    /// let sealed = gcm.seal_vec(b"nonce: once!", b"header", b"meet at noon")?;
    /// assert_eq!(sealed.len(), 12 + 16);
    /// assert_eq!(gcm.open_vec(b"nonce: once!", b"header", &sealed)?, b"meet at noon");
    /// # Ok::<(), crossgrain::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Aead::admits`].
    fn seal_vec(&self, nonce: &[u8], aad: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, Error> {
        let mut sealed = vec![0; plaintext.len() + self.tag_bytes()];
        let (ciphertext, tag) = sealed.split_at_mut(plaintext.len());
        let mut message = AeadMessage::new(nonce, aad, (plaintext, ciphertext));
        self.seal_message(&mut message)?;
        tag.copy_from_slice(&message.tag);
        Ok(sealed)
    }

    /// Decrypts what [`Aead::seal_vec`] returned, if its tag is right.
    ///
    /// # Errors
    /// [`Error::TagBytes`] if `sealed` is shorter than a tag, [`Error::Forged`] if the tag is wrong, and as
    /// [`Aead::admits`].
    fn open_vec(&self, nonce: &[u8], aad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Error> {
        let split = sealed.len().checked_sub(self.tag_bytes());
        let (ciphertext, tag) = sealed.split_at(split.ok_or(Error::TagBytes { len_bytes: sealed.len() })?);
        let mut plaintext = vec![0; ciphertext.len()];
        let mut message = AeadMessage::new(nonce, aad, (ciphertext, &mut plaintext[..]));
        message.tag = tag.try_into()?;
        self.open_message(&mut message)?;
        Ok(plaintext)
    }

    /// Encrypts a message with a list of associated strings and returns its tag.
    ///
    /// [`Siv`](super::Siv) authenticates each string separately (RFC 5297). No string, one empty string and
    /// two strings give different tags. The other modes accept at most one string, and for them no string is
    /// the same as an empty one.
    ///
    /// # Errors
    /// [`Error::AadStrings`] for more strings than [`Entry::aad_strings_max`](super::Entry::aad_strings_max),
    /// and as [`Aead::admits`]. Nothing is written in this case.
    fn seal_with(&self, nonce: &[u8], aads: &[&[u8]], buffers: Buffers<'_>) -> Result<Tag, Error> {
        let mut message = AeadMessage::new(nonce, only_string(aads)?, buffers);
        self.seal_message(&mut message)?;
        Ok(message.tag)
    }

    /// Decrypts a message that was sealed with these associated strings, if its tag is right.
    ///
    /// # Errors
    /// [`Error::AadStrings`] as [`Aead::seal_with`], and as [`Aead::open`].
    fn open_with(&self, nonce: &[u8], aads: &[&[u8]], tag: &[u8], buffers: Buffers<'_>) -> Result<(), Error> {
        let mut message = AeadMessage::new(nonce, only_string(aads)?, buffers);
        message.tag = tag.try_into()?;
        self.open_message(&mut message)
    }
}

/// The associated data for a mode that takes one string: the string given, or an empty one.
const fn only_string<'a>(aads: &[&'a [u8]]) -> Result<&'a [u8], Error> {
    match *aads {
        [] => Ok(&[]),
        [aad] => Ok(aad),
        _ => Err(Error::AadStrings { most: 1, count: aads.len() }),
    }
}

/// A boxed mode, such as [`super::Mode::aead`] returns.
impl<A: Aead + ?Sized> Aead for Box<A> {
    fn tag_bytes(&self) -> usize {
        (**self).tag_bytes()
    }

    fn plans(&self) -> &[Plan] {
        (**self).plans()
    }

    fn admits(&self, message: &AeadMessage<'_>) -> Result<(), Error> {
        (**self).admits(message)
    }

    fn seal_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
        (**self).seal_message(message)
    }

    fn open_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
        (**self).open_message(message)
    }

    fn seal_many(&self, messages: &mut [AeadMessage<'_>]) -> Result<(), Error> {
        (**self).seal_many(messages)
    }

    fn open_many(&self, messages: &mut [AeadMessage<'_>]) -> Result<Vec<Result<(), Error>>, Error> {
        (**self).open_many(messages)
    }

    fn seal_with(&self, nonce: &[u8], aads: &[&[u8]], buffers: Buffers<'_>) -> Result<Tag, Error> {
        (**self).seal_with(nonce, aads, buffers)
    }

    fn open_with(&self, nonce: &[u8], aads: &[&[u8]], tag: &[u8], buffers: Buffers<'_>) -> Result<(), Error> {
        (**self).open_with(nonce, aads, tag, buffers)
    }
}

/// A mode that processes messages in groups. One thread works on each group.
pub(super) trait Groups: Aead {
    /// The threads for all messages together.
    fn threads(&self) -> Threads;

    /// The largest number of messages in a group.
    fn group_most(&self) -> usize;

    /// Seals a group with these threads.
    fn seal_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>]);

    /// Opens a group. `right` receives whether each tag is right.
    fn open_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>], right: &mut [bool]);
}

/// A mode that runs a single message block by block, without the lists of a group.
pub(super) trait Single: Groups {
    /// Encrypts or decrypts a message with these threads. The result is its tag as a whole block.
    fn run_single(&self, threads: Threads, direction: Direction, message: &mut AeadMessage<'_>) -> Block;
}

/// The methods of [`Aead`] in terms of [`Groups`]; with `single`, single messages in terms of [`Single`];
/// with `many`, many messages only.
macro_rules! by_groups {
    () => {
        $crate::mode::aead::by_groups!(many);

        fn open_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
            $crate::mode::aead::open_alone(self, message)
        }
    };
    (single) => {
        $crate::mode::aead::by_groups!(many);

        fn seal_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
            $crate::mode::aead::seal_single(self, message)
        }

        fn open_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
            $crate::mode::aead::open_single(self, message)
        }
    };
    (many) => {
        fn seal_many(&self, messages: &mut [AeadMessage<'_>]) -> Result<(), Error> {
            $crate::mode::aead::seal_groups(self, messages)
        }

        fn open_many(&self, messages: &mut [AeadMessage<'_>]) -> Result<Vec<Result<(), Error>>, Error> {
            $crate::mode::aead::open_groups(self, messages)
        }
    };
}
pub(super) use by_groups;

/// [`Aead::seal_message`] of a mode that runs single messages block by block.
pub(super) fn seal_single(mode: &impl Single, message: &mut AeadMessage<'_>) -> Result<(), Error> {
    let _clear = ClearRegisters;
    mode.admits(message)?;
    let tag = mode.run_single(mode.threads(), Direction::Encrypt, message);
    message.tag = Tag::cut(&tag, mode.tag_bytes());
    Ok(())
}

/// [`Aead::open_message`] of a mode that runs single messages block by block.
pub(super) fn open_single(mode: &impl Single, message: &mut AeadMessage<'_>) -> Result<(), Error> {
    let _clear = ClearRegisters;
    mode.admits(message)?;
    let has_length = message.tag.len_bytes() == mode.tag_bytes();
    let right = has_length && open_right(mode, mode.threads(), message);
    verdict(mode, message, right)
}

/// Opens a message whose tag has the right length. Returns whether the tag is right; if not, overwrites the
/// output with zeros.
pub(super) fn open_right(mode: &impl Single, threads: Threads, message: &mut AeadMessage<'_>) -> bool {
    let tag = mode.run_single(threads, Direction::Decrypt, message);
    is_right(message, Tag::cut(&tag, mode.tag_bytes()))
}

/// Whether a decrypted message has this tag, compared in constant time. If not, overwrites the output with
/// zeros.
pub(super) fn is_right(message: &mut AeadMessage<'_>, tag: Tag) -> bool {
    let right = tag == message.tag;
    if !right {
        wipe(message.buffers.output_mut());
    }
    right
}

/// The number of messages in a group, and the threads within a group. The messages have `len_bytes` in total.
fn groups(mode: &impl Groups, messages: usize, len_bytes: usize) -> (usize, Threads) {
    let threads = mode.threads().for_bytes(len_bytes);
    let size = messages.div_ceil(threads.count()).clamp(1, mode.group_most());
    (size, if messages > size { Threads::ONE } else { threads })
}

/// [`Aead::seal_many`] by groups.
pub(super) fn seal_groups(mode: &impl Groups, messages: &mut [AeadMessage<'_>]) -> Result<(), Error> {
    let _clear = ClearRegisters;
    let len_bytes = admitted_bytes(mode, messages)?;
    let (size, within) = groups(mode, messages.len(), len_bytes);
    let groups = messages.chunks_mut(size);
    mode.threads().each(len_bytes, groups, &|group| mode.seal_group(within, group));
    Ok(())
}

/// [`Aead::open_many`] by groups.
pub(super) fn open_groups(
    mode: &impl Groups,
    messages: &mut [AeadMessage<'_>],
) -> Result<Vec<Result<(), Error>>, Error> {
    let _clear = ClearRegisters;
    let len_bytes = admitted_bytes(mode, messages)?;
    let (size, within) = groups(mode, messages.len(), len_bytes);
    let mut right = vec![false; messages.len()];
    let groups = messages.chunks_mut(size).zip(right.chunks_mut(size));
    let open = |(group, right): (&mut [_], &mut [_])| mode.open_group(within, group, right);
    mode.threads().each(len_bytes, groups, &open);
    Ok(messages.iter().zip(right).map(|(message, right)| verdict(mode, message, right)).collect())
}

/// Handles groups in which some tags do not have the mode's length. It opens the other messages one by one
/// and returns `true`. Messages with such tags are left unchanged. If all lengths are right, it does nothing.
pub(super) fn open_those_with_tags(
    mode: &impl Groups,
    threads: Threads,
    messages: &mut [AeadMessage<'_>],
    right: &mut [bool],
) -> bool {
    let fits = |message: &AeadMessage<'_>| message.tag.len_bytes() == mode.tag_bytes();
    if messages.iter().all(fits) {
        return false;
    }
    for (message, right) in messages.iter_mut().zip(right).filter(|(message, _)| fits(message)) {
        mode.open_group(threads, slice::from_mut(message), slice::from_mut(right));
    }
    true
}

/// [`Aead::open_message`] as a group of one.
pub(super) fn open_alone(mode: &impl Groups, message: &mut AeadMessage<'_>) -> Result<(), Error> {
    let _clear = ClearRegisters;
    mode.admits(message)?;
    let mut right = [false];
    mode.open_group(mode.threads(), slice::from_mut(message), &mut right);
    verdict(mode, message, right[0])
}

/// The total length of the messages in bytes, if the mode accepts them all.
fn admitted_bytes(mode: &impl Aead, messages: &[AeadMessage<'_>]) -> Result<usize, Error> {
    messages.iter().try_fold(0, |sum, message| {
        mode.admits(message)?;
        Ok(sum + message.buffers.len_bytes())
    })
}

/// The result of opening a message, given whether its tag is right.
#[inline]
pub(super) fn verdict(mode: &impl Aead, message: &AeadMessage<'_>, right: bool) -> Result<(), Error> {
    match message.tag.len_bytes() {
        _ if right => Ok(()),
        len_bytes if len_bytes != mode.tag_bytes() => Err(Error::TagBytes { len_bytes }),
        _ => Err(Error::Forged),
    }
}
