//! What can be wrong with a search: one line each.

use std::fmt;

use crate::block;

/// Why a search cannot be begun or did not go well.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Nothing to know a right key by.
    NothingKnown,
    /// None of the kernels asked for can be had here.
    NoKernel,
    /// What the cipher, its key or a mode refuse.
    Block(block::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingKnown => f.write_str(
                "no bit of the result is known, so every key would fit: tell more of the plaintext",
            ),
            Self::NoKernel => {
                f.write_str("no kernel of those asked for can run here: name none to have one chosen")
            }
            Self::Block(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Block(error) => Some(error),
            _ => None,
        }
    }
}

impl From<block::Error> for Error {
    fn from(error: block::Error) -> Self {
        Self::Block(error)
    }
}
