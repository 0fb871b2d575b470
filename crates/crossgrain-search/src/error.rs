//! What can be wrong with a search: one line each.

use std::fmt;
use std::io;

use crossgrain::internal::text::quoted;

use super::words::Refusal;
use crossgrain_container as container;

/// Why a search cannot be begun or did not go well.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Nothing to know a right key by.
    NothingKnown,
    /// A mask without a place, or a set without a character.
    EmptyMask,
    /// A place of a space where nothing may stand.
    EmptyPlace {
        /// The byte of the candidate.
        byte: usize,
    },
    /// A mask names a set that there is not.
    UnknownSet {
        /// The name, without its question mark.
        name: String,
    },
    /// A mask of hex digits describes something else.
    NoHexDigit,
    /// A mask of hex digits that makes no whole bytes.
    OddDigits {
        /// How many digits it has.
        digits: usize,
    },
    /// A share that cannot be read, or that there is not.
    NoSuchShard,
    /// A rule that cannot be read.
    BadRule {
        /// The rule.
        rule: String,
    },
    /// A file of rules without a rule.
    NoRules,
    /// A key derivation that cannot be done, with the reason.
    BadKdf {
        /// Why not.
        reason: String,
    },
    /// A candidate that no key can be made of.
    BadCandidate(Refusal),
    /// Less ciphertext than is needed to know a key by it.
    ShortCiphertext {
        /// How much there is, in bytes.
        len_bytes: usize,
    },
    /// What an encrypted file refuses.
    File(container::Error),
    /// A word list that cannot be read.
    Words(io::Error),
    /// A key that was planted in a shard was not found.
    Canary {
        /// What should have found it.
        kernel: String,
    },
    /// Not every candidate of a shard was tried.
    Incomplete {
        /// What should have tried them.
        kernel: String,
    },
    /// A device that has no use for a search, or does not take it.
    Device {
        /// Why not.
        why: String,
    },
    /// A shard of 2⁶⁴ candidates or more.
    LargeShard,
    /// What the cipher, its key or a mode refuse.
    Block(crossgrain::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingKnown => f.write_str(
                "no bit of the result is known, so every key would fit: tell more of the plaintext",
            ),
            Self::EmptyMask => f.write_str("a mask or set is empty: give it a character for every place"),
            Self::EmptyPlace { byte } => {
                write!(f, "nothing may stand at byte {byte} of the candidates: list a value at least")
            }
            Self::UnknownSet { name } => write!(
                f,
                "no set is called '?{}': use ?l ?u ?d ?s ?a ?b ?h ?H, ?1 to ?4 once defined, and ?? for a question mark",
                quoted(name)
            ),
            Self::NoHexDigit => f.write_str(
                "a mask of hex digits holds something else: use 0 to 9, a to f and what stands for them",
            ),
            Self::OddDigits { digits } => {
                write!(f, "a mask of hex digits has an odd number of places ({digits}): two make a byte")
            }
            Self::NoSuchShard => {
                f.write_str("there is no such shard: give i/n, with i from 0 to n - 1, as in 0/16")
            }
            Self::BadRule { rule } => write!(
                f,
                "rule '{}' has a step that is not known: use : l u c C t $X ^X and sXY",
                quoted(rule)
            ),
            Self::NoRules => f.write_str("there is no rule: give one a line, and : for words as they are"),
            Self::BadKdf { reason } => write!(f, "no key can be derived: {reason}"),
            Self::BadCandidate(refusal) => write!(f, "the candidate is {} for a key", refusal.reason()),
            Self::ShortCiphertext { len_bytes } => write!(
                f,
                "{len_bytes} bytes of ciphertext are too few: give as much as of the plaintext, in whole blocks for ecb and cbc"
            ),
            Self::File(error) => error.fmt(f),
            Self::Words(error) => write!(f, "the word list cannot be read: {error}"),
            Self::Canary { kernel } => write!(
                f,
                "{kernel} does not find a key that was planted: nothing it did counts, and this machine is worth a report"
            ),
            Self::Incomplete { kernel } => {
                write!(f, "{kernel} did not try every candidate of a shard: the shard does not count")
            }
            Self::Device { why } => write!(f, "the device does not search: {why}"),
            Self::LargeShard => f.write_str("a shard has 2^64 candidates or more: make it smaller"),
            Self::Block(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Block(error) => Some(error),
            Self::Words(error) => Some(error),
            Self::File(error) => Some(error),
            _ => None,
        }
    }
}

impl From<crossgrain::Error> for Error {
    fn from(error: crossgrain::Error) -> Self {
        Self::Block(error)
    }
}

impl From<container::Error> for Error {
    fn from(error: container::Error) -> Self {
        Self::File(error)
    }
}

/// Of the kind that what caused it has, else `InvalidInput`. The error can be had back by `downcast`.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Words(error) => error,
            Error::File(error) => error.into(),
            Error::Block(error) => error.into(),
            Error::Canary { .. } | Error::Incomplete { .. } | Error::Device { .. } => Self::other(error),
            _ => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}
