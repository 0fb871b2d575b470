//! Errors of encrypted files, one line each.

use std::fmt;
use std::io;

use crossgrain::engine::text::{quoted, reason as reason_of, size};

use super::payload::Suite;
use super::slots::{PASSPHRASES_MAX, SLOTS_MAX};

/// Damage to a payload, detected by its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A chunk is not authentic.
    Corrupt {
        /// Its number, from 0 on.
        chunk: u64,
        /// The begin and end of its plaintext, in bytes from the beginning of the plaintext.
        range: (u64, u64),
        /// Whether nothing follows it. In this case it may also be truncated.
        is_last: bool,
    },
    /// The input ends before the last, short chunk.
    Truncated {
        /// Bytes of authentic plaintext before the end.
        plaintext_bytes: u64,
    },
}

/// An error of an encrypted file. Each prints as one line, with advice on how to fix it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing failed.
    Io(io::Error),
    /// The cipher is not available with these options, or the system provides no random bytes.
    Cipher(crossgrain::Error),
    /// The input does not begin like an encrypted file.
    NotEncrypted,
    /// The file has a version that this program does not support.
    Version(u8),
    /// The header is invalid, with the reason.
    BadHeader(String),
    /// The header is truncated.
    TruncatedHeader,
    /// No suite has this name.
    UnknownSuite(String),
    /// The key has the wrong length for its suite.
    KeyLength {
        /// The suite.
        suite: Suite,
        /// The length given, in bytes.
        len_bytes: usize,
    },
    /// The file was encrypted with a passphrase, but a key was given.
    WantsPassphrase,
    /// The file was encrypted with a key, but a passphrase was given.
    WantsKey,
    /// The file was encrypted to recipients, but no identity was given.
    WantsIdentity,
    /// The file is of version 1: its one key or passphrase cannot be changed.
    OneKey,
    /// A file has at least one slot and at most [`SLOTS_MAX`](super::SLOTS_MAX), of which
    /// [`PASSPHRASES_MAX`](super::PASSPHRASES_MAX) may have passphrases.
    SlotCount {
        /// The number of slots demanded.
        count: usize,
        /// The number of those with passphrases.
        passphrases: usize,
    },
    /// All passphrases of a file cost more together than [`Limits`](super::Limits) allow by default.
    ManyCosts,
    /// A text is no recipient.
    BadRecipient {
        /// The text.
        text: String,
        /// The reason.
        why: &'static str,
    },
    /// A text is no identity.
    BadIdentity,
    /// A slot was opened, but the header or the beginning of the payload is not that of the slot's file.
    ForgedHeader,
    /// Invalid Argon2id parameters, with the reason.
    BadArgon2(String),
    /// The Argon2id parameters exceed the limits.
    TooDemanding {
        /// The memory demanded, in KiB.
        memory_kib: u32,
        /// The number of passes over that memory.
        passes: u32,
        /// The number of lanes.
        lanes: u32,
    },
    /// The memory for Argon2id cannot be allocated.
    OutOfMemory {
        /// The memory demanded, in KiB.
        memory_kib: u32,
    },
    /// The commitment does not match this key.
    WrongKey,
    /// The payload is damaged.
    Damaged(Damage),
    /// The plaintext exceeds the limit of a payload.
    TooLong,
    /// The chunk was sealed before. Its nonce may be used once only.
    SealedChunk {
        /// Its number.
        chunk: u64,
    },
    /// The payload cannot seal because its salt was used before.
    UsedSalt,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt { chunk, range: (from, to), is_last } => {
                let or_cut = if *is_last { ", or the file was cut off within it" } else { "" };
                write!(
                    f,
                    "chunk {chunk} (plaintext bytes {from} to {to}) was changed{or_cut}: get the file again"
                )
            }
            Self::Truncated { plaintext_bytes } => write!(
                f,
                "the file is cut off after {plaintext_bytes} bytes of plaintext: get the rest of it"
            ),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Cipher(error) => error.fmt(f),
            Self::NotEncrypted => f.write_str(
                "this is no file of crossgrain's: decrypt one that has no header by naming its suite",
            ),
            Self::Version(version) => {
                write!(
                    f,
                    "the file is of version {version} and this program knows versions 1 and 2: get a newer one"
                )
            }
            Self::BadHeader(reason) => {
                write!(f, "the header cannot be understood ({}): get the file again", reason_of(reason))
            }
            Self::TruncatedHeader => f.write_str("the file is cut off within its header: get the rest of it"),
            Self::UnknownSuite(name) => {
                let known = Suite::ALL.map(Suite::name).join(", ");
                write!(f, "no suite is called '{}': choose one of {known}", quoted(name))
            }
            Self::KeyLength { suite, len_bytes } => {
                let want = suite.key_bytes();
                write!(f, "a key of {suite} has {want} bytes ({} hex digits), not {len_bytes}", 2 * want)
            }
            Self::WantsPassphrase => f.write_str("the file was encrypted by a passphrase: give that"),
            Self::WantsKey => f.write_str("the file was encrypted by a key: give that"),
            Self::WantsIdentity => f.write_str("the file was encrypted to recipients: give an identity"),
            Self::OneKey => f.write_str(
                "the file is of version 1, whose key or passphrase stays: decrypt it and encrypt it again",
            ),
            Self::SlotCount { count, passphrases } => write!(
                f,
                "a file has 1 to {SLOTS_MAX} keys, passphrases and recipients, and at most {PASSPHRASES_MAX} \
                 passphrases, not {count} and {passphrases}: give others"
            ),
            Self::ManyCosts => f.write_str(
                "all passphrases of the file together cost more than readers allow: give this one a lower cost",
            ),
            Self::BadRecipient { text, why } => {
                write!(f, "'{}' is no recipient, for {why}: copy it anew", quoted(text))
            }
            Self::BadIdentity => {
                f.write_str("this is no identity (AGE-SECRET-KEY-1…), or a mistyped one: copy it anew")
            }
            Self::ForgedHeader => f.write_str(
                "the header, or the beginning of the data, was changed by someone else: get the file again",
            ),
            Self::BadArgon2(reason) => write!(
                f,
                "Argon2id takes no such parameters ({reason}): give others, and 8 KiB of memory for each lane or more"
            ),
            Self::TooDemanding { memory_kib, passes, lanes } => write!(
                f,
                "the file demands {} of memory, {passes} passes and {lanes} lanes of Argon2id, more than is \
                 allowed: raise the limits if you trust it",
                size(u64::from(*memory_kib) << 10)
            ),
            Self::OutOfMemory { memory_kib } => {
                let wanted = size(u64::from(*memory_kib) << 10);
                write!(f, "there is no memory for Argon2id, which wants {wanted}: free some")
            }
            Self::WrongKey => f.write_str(
                "the key, passphrase or identity is wrong, or the beginning of the file was changed: try the right one",
            ),
            Self::Damaged(damage) => damage.fmt(f),
            Self::TooLong => f.write_str("the plaintext exceeds 4 PiB, the most one file may hold: split it"),
            Self::SealedChunk { chunk } => {
                write!(f, "chunk {chunk} was sealed before, and its nonce serves once: begin another file")
            }
            Self::UsedSalt => f.write_str(
                "the salt of this file has served before and serves one plaintext: begin another file",
            ),
        }
    }
}

impl Error {
    /// The error kind for `Read` and `Write`.
    pub(super) fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Io(error) => error.kind(),
            Self::Cipher(error) => io::Error::from(error.clone()).kind(),
            Self::Damaged(Damage::Truncated { .. }) | Self::TruncatedHeader => io::ErrorKind::UnexpectedEof,
            Self::TooLong => io::ErrorKind::FileTooLarge,
            _ => io::ErrorKind::InvalidData,
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Cipher(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<crossgrain::Error> for Error {
    fn from(error: crossgrain::Error) -> Self {
        Self::Cipher(error)
    }
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

/// For `Read` and `Write`. `get_ref` and `downcast_ref` give the error back.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error,
            other => Self::new(other.io_kind(), other),
        }
    }
}
