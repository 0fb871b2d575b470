//! What the system is asked for beyond the standard library: files without a name, who owns a file, which file a
//! path means, a terminal without echo, and whether the
//! standard streams were there when the program began.
//!
//! Two files hold the same functions: `unix` answers, and `other` says what holds where it cannot be asked.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as imp;

#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
use other as imp;

pub(crate) use imp::{
    Rights, Stamp, ask, began_closed, identity, is_trusted, is_trusted_link, link, no_core_dumps, open_own,
    open_unnamed, restrict, sync_directory,
};

use std::path::Path;

/// The directory that a path's last name is in.
pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// Why a file that is to be continued is not taken.
#[derive(Debug)]
pub(crate) enum NotOwn {
    /// The system refuses.
    Io(std::io::Error),
    /// Somebody else could write it, read it, or have put it there: `it ...`.
    Unsafe(&'static str),
}

impl From<std::io::Error> for NotOwn {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}
