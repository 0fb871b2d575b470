//! What can fail.

use std::fmt;
use std::io;

/// Why a device did not do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no such device, for this reason.
    NoDevice(String),
    /// The device has no room for so many bytes.
    Memory {
        /// How many.
        len_bytes: usize,
    },
    /// The device was lost: unplugged, reset, or its driver failed.
    Lost(String),
    /// The driver does not take a program.
    Program(String),
    /// A kernel is none, for this reason.
    Kernel(String),
    /// A length is no whole number of blocks.
    Length {
        /// Bytes that were given.
        len_bytes: usize,
    },
    /// The key is of another cipher than the program.
    Key,
    /// A program or a device takes no groups of so many threads, or no such number of threads in all.
    Group {
        /// How many.
        threads: u32,
    },
    /// There are no such elements.
    Range {
        /// The first that was asked for.
        start: usize,
        /// The first that was not asked for any more.
        end: usize,
        /// How many there are.
        len: usize,
    },
    /// Two vectors live at different places.
    Place,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What drivers say may have several lines.
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

/// `InvalidInput` for what callers can mend. The error can be had back by `downcast`.
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
