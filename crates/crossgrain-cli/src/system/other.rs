//! Elsewhere than on Unix: files have names from the beginning, and rights are the directory's.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use zeroize::Zeroize as _;

use super::NotOwn;

/// Which file it is: unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {}

/// Nothing is known.
pub(crate) fn identity(_metadata: &Metadata) -> Option<Identity> {
    None
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64, Option<SystemTime>);

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self(metadata.len(), metadata.modified().ok())
    }

    pub(crate) const fn len_bytes(&self) -> u64 {
        self.0
    }
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

pub(crate) const fn restrict(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    options
}

pub(crate) const fn open_unnamed(_directory: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

pub(crate) fn link(_file: &File, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn open_own(options: &mut fs::OpenOptions, path: &Path) -> Result<File, NotOwn> {
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(NotOwn::Unsafe("is no regular file")) }
}

pub(crate) const fn is_trusted(_file: &Metadata) -> bool {
    true
}

pub(crate) const fn is_trusted_link(_path: &Path) -> bool {
    true
}

/// A directory is no file that could be synced.
pub(crate) const fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Asks at the terminal without showing what is typed.
pub(crate) fn ask<T>(prompt: &str, read: impl FnOnce(&mut io::Cursor<Vec<u8>>) -> T) -> io::Result<T> {
    let mut answer = io::Cursor::new(rpassword::prompt_password(prompt)?.into_bytes());
    let asked = read(&mut answer);
    answer.get_mut().zeroize();
    Ok(asked)
}

pub(crate) const fn no_core_dumps() {}

pub(crate) fn began_closed<T>(_stream: T) -> bool {
    false
}
