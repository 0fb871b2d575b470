//! Output files that get their name only when they are complete, and checks against paths prepared by other
//! users.
//!
//! On Linux a [`NewFile`] has no name until it is finished (`O_TMPFILE`), so a process that ends early leaves
//! nothing. There is one exception: only a rename can replace an existing file, so the complete new file is
//! named `.crossgrain-….part` for a moment before that. Elsewhere it always has such a name, in the directory
//! of its final name. Until it is complete, only its owner can read it. An existing file is replaced only on request. Links,
//! pipes and devices that another user created are refused.
//!
//! The command line and the Python package use this crate to write their files.

mod new_file;
#[cfg(unix)]
mod new_tree;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod system;

pub use new_file::{
    Content, NewFile, OnTemporary, begin, continued, finish_all, is_same, open_special, resume, unfinished,
};
#[cfg(unix)]
pub use new_tree::{NewTree, TreeRemover};
pub use system::{Stamp, restrict, sync_directory};

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

/// The reason why a file cannot be written.
#[derive(Debug)]
pub enum Error {
    /// An error of the system.
    Io(io::Error),
    /// A file of this name exists.
    Exists,
    /// The name is a symbolic link created by another user.
    ForeignLink,
    /// The name is a pipe or device created by another user.
    ForeignSpecial,
    /// The name belongs to a pipe, a device or a directory, and a regular file is required.
    NoFile,
    /// Another process is writing the file that is to be continued.
    Busy,
    /// The file that is to be continued may come from another user, or be accessible to others. The text
    /// completes `it ...`.
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

/// `AlreadyExists` for a file that must not be replaced. `downcast` gives the error back.
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

/// Longer than any system's file clock tick: two ticks at 100 Hz.
const TICK: Duration = Duration::from_millis(20);

/// The metadata of an open file, taken when its times are old enough to reveal any later change ([`Stamp`]).
///
/// File times have the resolution of the system's clock tick, some milliseconds. A file changed during the
/// current tick could change again and keep its times. This function therefore waits for the next tick if
/// needed.
///
/// # Errors
/// If the system does not provide the metadata.
pub fn settled(file: &File) -> io::Result<Metadata> {
    let metadata = file.metadata()?;
    // A time in the future comes from another machine's clock, so its age is unknown.
    let age = |changed| SystemTime::now().duration_since(changed).unwrap_or_default();
    if metadata.is_file()
        && let Some(left) = system::changed(&metadata).and_then(|changed| TICK.checked_sub(age(changed)))
    {
        thread::sleep(left);
        return file.metadata();
    }
    Ok(metadata)
}

/// The directory that contains the last component of a path.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}
