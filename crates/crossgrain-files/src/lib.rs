//! Output files that appear under their name when they are whole, and checks against what other users planted.
//!
//! Until it is finished a [`NewFile`] has no name where the system has such files (`O_TMPFILE`), so nothing is left of a
//! process that ends early, however it ends. Elsewhere it is `.crossgrain-….part` beside its final name. Only its owner can
//! read it before it is complete. A file that is there is replaced only on request, and links, pipes and devices that another
//! user put there are refused.
//!
//! The command line and the Python package write their files by this crate.

mod new_file;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod system;

pub use new_file::{
    Content, NewFile, OnTemporary, begin, continued, is_same, open_special, resume, unfinished,
};
pub use system::{Stamp, restrict, sync_directory};

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

/// Why a file is not written.
#[derive(Debug)]
pub enum Error {
    /// The system refuses.
    Io(io::Error),
    /// There is something under this name.
    Exists,
    /// The name is a symbolic link that another user made.
    ForeignLink,
    /// The name is a pipe or device that another user made.
    ForeignSpecial,
    /// The name is of a pipe, a device or a directory, where a file is wanted.
    NoFile,
    /// Another process is writing the file that is to be continued.
    Busy,
    /// The file that is to be continued may be another user's work, or be open to others: `it ...`.
    Unsafe(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Exists => f.write_str("it exists: choose another name, or have it replaced"),
            Self::ForeignLink => {
                f.write_str("it is a link that another user made: remove it, or choose another name")
            }
            Self::ForeignSpecial => {
                f.write_str("it was put there by another user: name a file, or remove it")
            }
            Self::NoFile => f.write_str("it is no file that could be replaced: choose another name"),
            Self::Busy => f.write_str("another process is writing it: let it finish"),
            Self::Unsafe(why) => write!(f, "it {why}, and so is not continued: remove it, or mend that"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// `AlreadyExists` for a file in the way. The error can be had back by `downcast`.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error,
            Error::Exists => Self::new(io::ErrorKind::AlreadyExists, error),
            Error::Busy => Self::new(io::ErrorKind::ResourceBusy, error),
            _ => Self::new(io::ErrorKind::PermissionDenied, error),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// No system's clock for files ticks more slowly: at 100 Hz, twice over.
const TICK: Duration = Duration::from_millis(20);

/// What an open file is like, once a later change could be told by the file's times ([`Stamp`]).
///
/// These are those of the system's clock at its last tick, some milliseconds ago: a file that was changed in this very
/// tick could be changed again and keep them. So this may wait for the next.
///
/// # Errors
/// If the system does not tell.
pub fn settled(file: &File) -> io::Result<Metadata> {
    let metadata = file.metadata()?;
    // A time to come is that of another machine's clock, and tells nothing.
    let age = |changed| SystemTime::now().duration_since(changed).unwrap_or_default();
    if metadata.is_file()
        && let Some(left) = system::changed(&metadata).and_then(|changed| TICK.checked_sub(age(changed)))
    {
        thread::sleep(left);
        return file.metadata();
    }
    Ok(metadata)
}

/// The directory that a path's last name is in.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}
