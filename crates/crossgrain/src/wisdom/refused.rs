//! Reasons for refusing wisdom.

use std::fmt;
use std::io;

use crate::block::Error;
use crate::text::{quoted, reason as reason_of};

/// The reason why a wisdom file is not used, or could not be written. Each prints as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The file does not exist.
    Missing,
    /// The file or its lock file is a pipe, a socket or a device.
    NotRegular,
    /// The system could not read the file.
    Unreadable(io::ErrorKind),
    /// The system could not write the file.
    Unwritable(io::ErrorKind),
    /// The file is truncated, malformed, or was changed after it was written.
    Corrupt(String),
    /// The file was written by a newer program.
    Future {
        /// The version of the file's format.
        format: u64,
    },
    /// The file was written by an older program.
    Past {
        /// The version of the file's format.
        format: u64,
    },
    /// The costs were measured by another version of this library.
    Version(Differs),
    /// The costs were measured on another CPU.
    Cpu(Differs),
    /// The costs were measured on a CPU with other instructions.
    Features(Differs),
    /// The costs were measured with another variant table.
    Variants,
}

/// A fact in the file that differs from this machine or version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differs {
    /// The value in the file.
    pub file: String,
    /// The value here.
    pub here: String,
}

impl Refused {
    pub(super) fn corrupt(reason: impl fmt::Display) -> Self {
        Self::Corrupt(reason.to_string())
    }

    pub(super) fn reading(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::InvalidInput => Self::NotRegular,
            kind => Self::Unreadable(kind),
        }
    }

    pub(super) fn writing(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidInput => Self::NotRegular,
            kind => Self::Unwritable(kind),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no wisdom: measure it first"),
            Self::NotRegular => {
                f.write_str("it or its lock is no regular file: remove that, or name another file")
            }
            Self::Unreadable(kind) => write!(f, "cannot read it: {kind}"),
            Self::Unwritable(kind) => write!(f, "cannot write it: {kind}"),
            Self::Corrupt(reason) => write!(f, "it is corrupt: {}", reason_of(reason)),
            Self::Future { format } => {
                write!(f, "it is from a newer version (format {format}): update, or forget it")
            }
            Self::Past { format } => {
                write!(f, "it is from an older version (format {format}): measure again")
            }
            Self::Version(differs) => write!(f, "another version measured it: {differs}"),
            Self::Cpu(differs) => write!(f, "it is of another CPU: {differs}"),
            Self::Features(differs) => write!(f, "it is of a CPU with other instructions: {differs}"),
            Self::Variants => f.write_str("it is of other variants than there are now: measure again"),
        }
    }
}

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}', and here is '{}'", quoted(&self.file), self.here)
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Self::UnfitWisdom(refused.to_string())
    }
}
