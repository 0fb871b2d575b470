//! A directory tree that appears under its final names when it is complete.
//!
//! The tree is built in a staging directory `.crossgrain-….part` with a random name, accessible only to its
//! owner. If the destination does not exist, the staging directory is created in the same directory, and is
//! renamed to it. If the destination is a directory, the staging directory is created in it, and its entries
//! are renamed into the destination.
//!
//! Open directories are used instead of paths. Another user who can rename the staging directory therefore
//! cannot redirect writes.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::new_file::{OnTemporary, is_followed, temporary_name};
use crate::{Error, directory_of, system};

/// A directory tree that is being written. If it is dropped before it is [finished](NewTree::finish), the
/// whole tree is removed.
#[derive(Debug)]
pub struct NewTree {
    staging: File,
    /// The path of the staging directory.
    path: PathBuf,
    /// The directory that contains the staging directory.
    parent: File,
    /// The name that the staging directory gets in `parent`. `None` if its entries are moved to `parent`.
    name: Option<OsString>,
    is_done: bool,
}

impl NewTree {
    /// Begins a tree. `destination` is a new directory, or an existing one that receives the entries.
    /// `on_temporary` gets the path of the staging directory before that is created.
    ///
    /// # Errors
    /// [`Error::ForeignLink`], [`Error::NoFile`] for a path without a last component; [`Error::Io`].
    pub fn begin(destination: &Path, on_temporary: OnTemporary<'_>) -> Result<Self, Error> {
        if !is_followed(destination) {
            return Err(Error::ForeignLink);
        }
        let (parent_path, name) = match fs::metadata(destination) {
            Ok(_) => (destination, None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let name = destination.file_name().ok_or(Error::NoFile)?;
                (directory_of(destination), Some(name.to_owned()))
            }
            Err(error) => return Err(error.into()),
        };
        let parent = open_directory(CWD, parent_path, OFlags::empty())?;
        let made = temporary_name().make_in(parent_path, |path| {
            on_temporary(path)?;
            mkdirat(&parent, path.file_name().unwrap_or_default(), Mode::RWXU)?;
            Ok(())
        })?;
        let mut made = made.into_temp_path();
        // It is a directory, which `TempPath` cannot remove.
        made.disable_cleanup(true);
        let path = made.to_path_buf();
        let staging = open_directory(&parent, Path::new(last_of(&path)), OFlags::NOFOLLOW)?;
        let tree = Self { staging, path, parent, name, is_done: false };
        let found = fstat(&tree.staging).map_err(io::Error::from)?;
        if found.st_uid != rustix::process::geteuid().as_raw() || found.st_mode & 0o077 != 0 {
            return Err(Error::Busy);
        }
        Ok(tree)
    }

    /// The staging directory. Write relative to it, not by its path.
    pub const fn staging(&self) -> &File {
        &self.staging
    }

    /// Whether the entries are moved into a directory that existed before.
    pub const fn is_in_existing(&self) -> bool {
        self.name.is_none()
    }

    /// Whether an entry of this name directly below the staging directory can get its final name.
    ///
    /// # Errors
    /// If the name cannot be looked up.
    pub fn is_free(&self, name: &OsStr) -> io::Result<bool> {
        match self.name {
            Some(_) => Ok(true),
            None => is_free(&self.parent, name),
        }
    }

    /// Completes the tree: syncs it, and gives it its name or its entries theirs. Returns the directory that
    /// now contains the entries.
    ///
    /// # Errors
    /// [`Error::Exists`] if a name is taken, and then no entry gets its name; [`Error::Busy`] if another user
    /// replaced the staging directory; [`Error::Io`].
    pub fn finish(mut self) -> Result<File, Error> {
        for synced in system::sync_files(&[&self.staging]) {
            synced?;
        }
        let into = match &self.name {
            Some(name) => {
                rename_new((&self.parent, last_of(&self.path)), (&self.parent, name))?;
                if !self.is_staging(name) {
                    return Err(Error::Busy);
                }
                self.staging.try_clone()?
            }
            None => {
                self.move_entries()?;
                self.parent.try_clone()?
            }
        };
        self.is_done = true;
        if self.name.is_none() {
            // It is empty. If it stays, it does no harm.
            let _ = unlinkat(&self.parent, last_of(&self.path), AtFlags::REMOVEDIR);
        }
        self.parent.sync_all()?;
        Ok(into)
    }

    /// Moves all entries to the parent directory, or none.
    fn move_entries(&self) -> Result<(), Error> {
        let mut moved: Vec<OsString> = Vec::new();
        for entry in Dir::read_from(&self.staging).map_err(io::Error::from)? {
            let entry = entry.map_err(io::Error::from)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if let Err(error) = rename_new((&self.staging, name), (&self.parent, name)) {
                for name in &moved {
                    // An entry that cannot be moved back stays under its final name.
                    let _ = rename_new((&self.parent, name), (&self.staging, name));
                }
                return Err(error);
            }
            moved.push(name.to_owned());
        }
        Ok(())
    }

    /// Whether this name in the parent directory is the staging directory.
    fn is_staging(&self, name: &OsStr) -> bool {
        let found = statat(&self.parent, name, AtFlags::SYMLINK_NOFOLLOW);
        match (found, fstat(&self.staging)) {
            (Ok(found), Ok(own)) => (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino),
            _ => false,
        }
    }
}

impl Drop for NewTree {
    fn drop(&mut self) {
        // A directory that another user put in its place is not touched.
        if !self.is_done && self.is_staging(last_of(&self.path)) {
            // A destructor cannot report errors.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn last_of(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

fn open_directory(at: impl std::os::fd::AsFd, path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(File::from(openat(at, path, flags, Mode::empty())?))
}

fn is_free(directory: &File, name: &OsStr) -> io::Result<bool> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(false),
        Err(Errno::NOENT) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Renames without replacing. Each place is an open directory and a name in it.
fn rename_new(from: (&File, &OsStr), to: (&File, &OsStr)) -> Result<(), Error> {
    let renamed = match exclusive_rename(from, to) {
        // The system or the file system cannot do both at once.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            if !is_free(to.0, to.1)? {
                return Err(Error::Exists);
            }
            rustix::fs::renameat(from.0, from.1, to.0, to.1)
        }
        renamed => renamed,
    };
    renamed.map_err(|error| match error {
        Errno::EXIST | Errno::NOTEMPTY => Error::Exists,
        other => io::Error::from(other).into(),
    })
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn exclusive_rename(from: (&File, &OsStr), to: (&File, &OsStr)) -> Result<(), Errno> {
    use rustix::fs::{RenameFlags, renameat_with};
    renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn exclusive_rename(_from: (&File, &OsStr), _to: (&File, &OsStr)) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}
