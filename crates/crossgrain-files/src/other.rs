//! Systems other than Unix: files are named from the beginning, and the directory determines permissions.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::Error;

/// Whether files can be locked. WASI has no locks.
pub(crate) const HAS_LOCKS: bool = cfg!(windows);

/// The identity of a file, which is unknown here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {}

/// Always `None`.
pub(crate) fn identity(_metadata: &Metadata) -> Option<Identity> {
    None
}

/// Properties that change when a file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(u64, Option<SystemTime>);

impl Stamp {
    /// The stamp of an open file, or of the target of a path.
    pub fn of(metadata: &Metadata) -> Self {
        Self(metadata.len(), metadata.modified().ok())
    }

    /// The length of the file, in bytes.
    pub const fn len_bytes(&self) -> u64 {
        self.0
    }
}

/// The time of the last modification.
pub(crate) fn changed(metadata: &Metadata) -> Option<SystemTime> {
    metadata.modified().ok()
}

/// The permissions of a file after it is named. The directory determines them.
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

/// Does nothing: the directory determines the permissions of new files.
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

/// Writes files to disk, and gives a result for each.
pub(crate) fn sync_files(files: &[&File]) -> Vec<io::Result<()>> {
    files.iter().map(|file| file.sync_all()).collect()
}

/// Does nothing: a directory cannot be synced here.
///
/// # Errors
/// None.
pub const fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}
