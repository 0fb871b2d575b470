//! Errors of a device.

use std::fmt;
use std::io;

/// Why a device failed to perform a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The device does not exist, for this reason.
    NoDevice(String),
    /// The device has too little free memory.
    Memory {
        /// Bytes that were requested.
        len_bytes: usize,
    },
    /// The device was lost: unplugged, reset, or its driver failed.
    Lost(String),
    /// The driver rejects a program.
    Program(String),
    /// A kernel is invalid, for this reason.
    Kernel(String),
    /// A length is not a multiple of the block size.
    Length {
        /// The length in bytes.
        len_bytes: usize,
    },
    /// The key belongs to a different cipher than the program.
    Key,
    /// The program or the device does not accept this group size, or this total number of threads.
    Group {
        /// Number of threads.
        threads: u32,
    },
    /// The range exceeds the vector.
    Range {
        /// Start of the requested range.
        start: usize,
        /// End of the requested range, exclusive.
        end: usize,
        /// Number of elements.
        len: usize,
    },
    /// Two vectors are in different places.
    Place,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Drivers' messages may have several lines.
        let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match self {
            Self::NoDevice(why) => f.write_str(&line(why)),
            Self::Memory { len_bytes } => {
                write!(
                    f,
                    "the device has no room for {len_bytes} bytes: give it smaller pieces, or use the CPU"
                )
            }
            Self::Lost(why) => write!(f, "the device was lost ({}): use the CPU, or try again", line(why)),
            Self::Program(why) => {
                write!(f, "the device's driver does not take the program ({}): use the CPU", line(why))
            }
            Self::Kernel(why) => f.write_str(&line(why)),
            Self::Length { len_bytes } => {
                write!(f, "{len_bytes} bytes are no whole number of blocks: give a multiple of 16")
            }
            Self::Range { start, end, len } => {
                write!(f, "there are no elements {start}..{end}: give a range within 0..{len}")
            }
            Self::Group { threads } => {
                write!(
                    f,
                    "{threads} threads is not what the program and the device take: leave the usual number"
                )
            }
            Self::Place => f.write_str("the vectors live at different places: make both at one"),
            Self::Key => f.write_str("the key is of another cipher than the program: give one of its own"),
        }
    }
}

impl std::error::Error for Error {}

/// Errors that callers can correct become `InvalidInput`. `downcast` recovers the original error.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::NoDevice(_) => io::ErrorKind::NotFound,
            Error::Memory { .. } => io::ErrorKind::OutOfMemory,
            Error::Program(_) => io::ErrorKind::Unsupported,
            Error::Lost(_) => io::ErrorKind::Other,
            Error::Kernel(_)
            | Error::Length { .. }
            | Error::Key
            | Error::Group { .. }
            | Error::Range { .. }
            | Error::Place => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}
