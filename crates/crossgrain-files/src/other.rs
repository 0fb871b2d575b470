//! Elsewhere than on Unix: files have names from the beginning, and rights are the directory's.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::Error;

/// Which file it is: unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {}

/// Nothing is known.
pub(crate) fn identity(_metadata: &Metadata) -> Option<Identity> {
    None
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(u64, Option<SystemTime>);

impl Stamp {
    /// The stamp of an open file, or of what a path leads to.
    pub fn of(metadata: &Metadata) -> Self {
        Self(metadata.len(), metadata.modified().ok())
    }

    /// The length of the file, in bytes.
    pub const fn len_bytes(&self) -> u64 {
        self.0
    }
}

/// When a file was changed last.
pub(crate) fn changed(metadata: &Metadata) -> Option<SystemTime> {
    metadata.modified().ok()
}

/// Who may read a file once it has its name: the directory decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights;

impl Rights {
    pub(crate) const fn owner_only() -> Self {
        Self
    }

    pub(crate) const fn of_new_file() -> Self {
        Self
    }

    pub(crate) const fn of_replaced(_old: &Metadata) -> Option<Self> {
        None
    }

    pub(crate) const fn give(self, _file: &File) -> io::Result<()> {
        Ok(())
    }
}

/// Makes what options create readable by whom the directory says.
pub const fn restrict(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub(crate) const fn open_unnamed(_directory: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

pub(crate) fn link(_file: &File, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn open_own(options: &mut OpenOptions, path: &Path) -> Result<File, Error> {
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(Error::Unsafe("is no regular file")) }
}

pub(crate) const fn is_trusted(_file: &Metadata) -> bool {
    true
}

pub(crate) const fn is_trusted_link(_path: &Path) -> bool {
    true
}

/// Does nothing: a directory is no file that could be synced.
///
/// # Errors
/// None.
pub const fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}
