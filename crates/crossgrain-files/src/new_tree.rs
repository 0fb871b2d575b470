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
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, chmodat, fstat, mkdirat, openat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::new_file::{OnTemporary, is_followed, temporary_name};
use crate::{Error, directory_of, system};

/// A directory tree that is being written. If it is dropped before it is [finished](NewTree::finish), the
/// whole tree is removed.
#[derive(Debug)]
pub struct NewTree {
    staging: Staging,
    /// The name that the staging directory gets in its parent. `None` if its entries are moved to the parent.
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
        let staging = Staging { directory: staging, path, parent };
        let tree = Self { staging, name, is_done: false };
        let found = fstat(tree.staging()).map_err(io::Error::from)?;
        if found.st_uid != rustix::process::geteuid().as_raw() || found.st_mode & 0o077 != 0 {
            return Err(Error::Busy);
        }
        Ok(tree)
    }

    /// The staging directory. Write relative to it, not by its path.
    pub const fn staging(&self) -> &File {
        &self.staging.directory
    }

    /// The path of the staging directory, for messages.
    pub fn path(&self) -> &Path {
        &self.staging.path
    }

    /// A handle that can remove the unfinished tree from another thread, for example when a signal arrives.
    ///
    /// # Errors
    /// If the process has too many open files.
    pub fn remover(&self) -> io::Result<TreeRemover> {
        self.staging.try_clone().map(TreeRemover)
    }

    /// Writes a file of the tree to disk, if [`finish`](Self::finish) cannot do that for the whole tree. Call
    /// it for each file when it is complete.
    ///
    /// # Errors
    /// If the file cannot be written to disk.
    pub fn sync_file(&self, file: &File) -> io::Result<()> {
        if system::syncs_reliably(self.staging()) { Ok(()) } else { file.sync_all() }
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
            None => is_free(&self.staging.parent, name),
        }
    }

    /// Completes the tree: syncs it, and gives it its name or its entries theirs. Returns the directory that
    /// now contains the entries.
    ///
    /// Other users may be able to rename the entries from now on, so do not follow paths below the returned
    /// directory. Directories among the entries must be writable if they are moved into an existing directory.
    ///
    /// # Errors
    /// [`Error::Exists`] if a name is taken, and then no entry gets its name; [`Error::Busy`] if another user
    /// replaced the staging directory; [`Error::Io`].
    pub fn finish(mut self) -> Result<File, Error> {
        let staging = &self.staging;
        system::sync_tree(&staging.directory)?;
        let into = match &self.name {
            Some(name) => {
                rename_new((&staging.parent, staging.name()), (&staging.parent, name))?;
                if !staging.is_named(name) {
                    return Err(Error::Busy);
                }
                staging.directory.try_clone()?
            }
            None => {
                staging.move_entries()?;
                staging.parent.try_clone()?
            }
        };
        self.is_done = true;
        self.staging.parent.sync_all()?;
        Ok(into)
    }
}

impl Drop for NewTree {
    fn drop(&mut self) {
        if !self.is_done {
            // A destructor cannot report errors.
            let _ = self.staging.remove();
        }
    }
}

/// Removes the staging directory of a [`NewTree`] with all its contents, unless the tree is finished.
#[derive(Debug)]
pub struct TreeRemover(Staging);

impl TreeRemover {
    /// Removes the tree. Another thread may still create entries, so the removal is repeated up to a limit. Does
    /// nothing if the tree is finished, or if another directory has its name.
    ///
    /// # Errors
    /// If a part of the tree stays.
    pub fn remove(&self) -> io::Result<()> {
        self.0.remove()
    }
}

/// A staging directory.
#[derive(Debug)]
struct Staging {
    directory: File,
    path: PathBuf,
    /// The directory that contains the staging directory.
    parent: File,
}

impl Staging {
    fn try_clone(&self) -> io::Result<Self> {
        let (directory, parent) = (self.directory.try_clone()?, self.parent.try_clone()?);
        Ok(Self { directory, path: self.path.clone(), parent })
    }

    fn name(&self) -> &OsStr {
        last_of(&self.path)
    }

    /// Whether the staging directory has this name in the parent directory.
    fn is_named(&self, name: &OsStr) -> bool {
        let found = statat(&self.parent, name, AtFlags::SYMLINK_NOFOLLOW);
        matches!((found, fstat(&self.directory)), (Ok(found), Ok(own)) if is_same(&found, &own))
    }

    /// Moves all entries to the parent directory, or none. Removes the staging directory.
    fn move_entries(&self) -> Result<(), Error> {
        let mut moved = Vec::new();
        let mut done = names_in(&self.directory)?.into_iter().try_for_each(|name| {
            let own = statat(&self.directory, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from)?;
            rename_new((&self.directory, &name), (&self.parent, &name))?;
            moved.push((name, own));
            Ok(())
        });
        if done.is_ok() {
            done = self.remove_empty().map_err(Error::from);
        }
        if done.is_err() {
            moved.iter().for_each(|(name, own)| self.take_back(name, own));
        }
        done
    }

    /// Moves an entry back to the staging directory. If that fails, it stays under its final name.
    fn take_back(&self, name: &OsStr, own: &Stat) {
        if rename_new((&self.parent, name), (&self.directory, name)).is_ok()
            && !statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|found| is_same(&found, own))
        {
            // Another user replaced the entry. The other one must not be removed with the tree.
            let _ = rename_new((&self.directory, name), (&self.parent, name));
        }
    }

    /// Removes the staging directory. Fails if it has entries.
    fn remove_empty(&self) -> io::Result<()> {
        if !names_in(&self.directory)?.is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        if !self.is_named(self.name()) {
            // Another user renamed it. It is empty, and the directory that now has its name is not touched.
            return Ok(());
        }
        match unlinkat(&self.parent, self.name(), AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => Err(io::ErrorKind::DirectoryNotEmpty.into()),
            // An empty directory that stays does no harm.
            _ => Ok(()),
        }
    }

    /// Removes the staging directory with all its contents, if it still has its name. Repeats this while another
    /// thread creates entries, up to a limit.
    fn remove(&self) -> io::Result<()> {
        let start = Instant::now();
        for tries in 1_u32.. {
            // A directory that another user put in its place is not touched.
            if !self.is_named(self.name()) {
                break;
            }
            let done = clear(&self.directory)
                .and_then(|()| Ok(unlinkat(&self.parent, self.name(), AtFlags::REMOVEDIR)?));
            match done {
                Ok(()) => break,
                Err(error) if tries > TRIES && !(is_passing(&error) && start.elapsed() < PATIENCE) => {
                    return Err(error);
                }
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Whether another thread that creates entries may be the cause. A directory that changes while it is read may
/// name an entry that is gone.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound)
}

/// How often and how long the removal of a tree is repeated at least while entries appear. A try takes
/// microseconds or, with thousands of entries on a slow disk, seconds.
const TRIES: u32 = 100;
const PATIENCE: Duration = Duration::from_secs(5);

/// Removes all entries of a directory that only the user can enter.
///
/// Subdirectories are moved up to `root` before they are removed. The number of open files therefore does not
/// depend on the depth of the tree.
fn clear(root: &File) -> io::Result<()> {
    let mut pending = Vec::new();
    for name in names_in(root)? {
        pending.extend(remove_unless_directory(root, &name)?.then_some(name));
    }
    let mut number = 0;
    while let Some(name) = pending.pop() {
        // The archive may have set a mode that prevents changes.
        chmodat(root, &name, Mode::RWXU, AtFlags::empty())?;
        let directory = open_directory(root, Path::new(&name), OFlags::NOFOLLOW)?;
        for entry in names_in(&directory)? {
            if remove_unless_directory(&directory, &entry)? {
                chmodat(&directory, &entry, Mode::RWXU, AtFlags::empty())?;
                pending.push(move_up(&directory, &entry, root, &mut number)?);
            }
        }
        unlinkat(root, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Moves a directory to `root`, under a new name. `number` counts names.
fn move_up(from: &File, name: &OsStr, root: &File, number: &mut u64) -> io::Result<OsString> {
    loop {
        let new = OsString::from(number.to_string());
        *number += 1;
        if is_free(root, &new)? {
            rustix::fs::renameat(from, name, root, &new)?;
            return Ok(new);
        }
    }
}

/// Removes an entry. Returns whether it is a directory, which stays.
fn remove_unless_directory(at: &File, name: &OsStr) -> io::Result<bool> {
    let found = statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
        return Ok(true);
    }
    unlinkat(at, name, AtFlags::empty())?;
    Ok(false)
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// The names of all entries. A directory must not be changed while it is read.
fn names_in(directory: &File) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
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
