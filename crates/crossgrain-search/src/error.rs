//! Errors of a search: one line each.

use std::fmt;
use std::io;

use crossgrain::engine::text::{quoted, reason};

use super::words::Refusal;
use crossgrain_container as container;

/// The reason why a search cannot start or has failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No bit of the output is known, so every key would match.
    NothingKnown,
    /// A mask or a set is empty.
    EmptyMask,
    /// A place of a space has no value.
    EmptyPlace {
        /// The index of the byte in the candidate.
        byte: usize,
    },
    /// A mask names an unknown set.
    UnknownSet {
        /// The name without its question mark.
        name: String,
    },
    /// A mask of hex digits contains other characters.
    NoHexDigit,
    /// A mask of hex digits has an odd number of digits.
    OddDigits {
        /// The number of digits.
        digits: usize,
    },
    /// A share that cannot be parsed, or whose index is out of range.
    NoSuchShard,
    /// A rule that cannot be parsed.
    BadRule {
        /// The rule.
        rule: String,
    },
    /// A file of rules in UTF-16.
    Utf16Rules(io::Error),
    /// A set has a character of several bytes.
    WideCharacter {
        /// The character.
        character: char,
    },
    /// A file of rules contains no rule.
    NoRules,
    /// A file of masks in UTF-16, or whose lines end in CR alone.
    MaskFile(io::Error),
    /// A file of masks contains no mask.
    NoMasks,
    /// A line of a file of masks that is not valid.
    BadMaskLine {
        /// Its number, counted from 1.
        line: u64,
        /// The problem.
        why: Box<Error>,
    },
    /// A word has 2⁶³ candidates or more.
    ManyAffixes,
    /// A second list of words is longer than 1 GiB.
    LongList,
    /// A key derivation that cannot be carried out.
    BadKdf {
        /// The reason.
        reason: String,
    },
    /// A candidate from which no key can be derived.
    BadCandidate(Refusal),
    /// Too little ciphertext to recognise a key.
    ShortCiphertext {
        /// The length of the ciphertext in bytes.
        len_bytes: usize,
    },
    /// An error of the encrypted file.
    File(container::Error),
    /// A file whose format is not known or not supported, or that is damaged.
    Format {
        /// The problem and the remedy.
        why: String,
    },
    /// A file that cannot be read.
    ReadFile(io::Error),
    /// A word list that cannot be read.
    Words(io::Error),
    /// The planted key of a shard was not found.
    Canary {
        /// The kernel, test or device that should have found it.
        kernel: String,
    },
    /// Some candidates of a shard were not tried.
    Incomplete {
        /// The kernel or test that should have tried them.
        kernel: String,
    },
    /// A device that cannot run the search, or that failed.
    Device {
        /// The reason.
        why: String,
    },
    /// A shard of 2⁶⁴ candidates or more.
    LargeShard,
    /// An error of the cipher, its key or a mode.
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
                "rule '{}' has a function that is not known, or lacks an argument: write it as for hashcat",
                quoted(rule)
            ),
            Self::Utf16Rules(error) => write!(f, "the file of rules cannot be read: {error}"),
            Self::WideCharacter { character } => write!(
                f,
                "a set has '{}', which takes several bytes, and a place of a mask is one byte: write it in the mask itself, or list the words with --words",
                quoted(&character.to_string())
            ),
            Self::NoRules => f.write_str("there is no rule: give one a line, and : for words as they are"),
            Self::MaskFile(error) => write!(f, "the file of masks cannot be read: {error}"),
            Self::NoMasks => f.write_str("there is no mask: give one on each line"),
            Self::BadMaskLine { line, why } => write!(f, "line {line} of the file of masks: {why}"),
            Self::ManyAffixes => {
                f.write_str("every word has 2^63 candidates or more: shorten the mask, or use fewer rules")
            }
            Self::LongList => {
                f.write_str("the second list is longer than 1 GiB, and it is held in memory: split it")
            }
            Self::BadKdf { reason } => write!(f, "no key can be derived: {reason}"),
            Self::BadCandidate(refusal) => write!(f, "the candidate is {} for a key", refusal.reason()),
            Self::ShortCiphertext { len_bytes } => write!(
                f,
                "{len_bytes} bytes of ciphertext are too few: give as much as of the plaintext, in whole blocks for ecb and cbc"
            ),
            Self::File(error) => error.fmt(f),
            // It may contain names from the header of a file.
            Self::Format { why } => f.write_str(&reason(why)),
            Self::ReadFile(error) => write!(f, "the file cannot be read: {error}"),
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
            Self::ReadFile(error) | Self::Words(error) => Some(error),
            Self::File(error) => Some(error),
            Self::BadMaskLine { why, .. } => Some(why),
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

/// Takes the kind of the I/O error that caused it; otherwise `InvalidInput` or `Other`. `downcast` gives the
/// search error back.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::ReadFile(error) | Error::Words(error) => error,
            Error::File(error) => error.into(),
            Error::Block(error) => error.into(),
            Error::Canary { .. } | Error::Incomplete { .. } | Error::Device { .. } => Self::other(error),
            _ => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}
