//! A file that is being written, and the paths that lead to it.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::system::{self, Rights, identity};
use crate::{Error, directory_of};

/// The content of a new file. It determines the permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing secret. The permissions are those of the replaced file, or follow the umask.
    Open,
    /// Decrypted data. The permissions are those of the replaced file, or owner-only.
    Plaintext,
    /// A key. Only the owner has access.
    Key,
}

impl Content {
    fn rights(self, old: Option<&Metadata>) -> Rights {
        let replaced = || old.and_then(Rights::of_replaced);
        match self {
            Self::Open => replaced().unwrap_or_else(Rights::of_new_file),
            Self::Plaintext => replaced().unwrap_or(Rights::owner_only()),
            Self::Key => Rights::owner_only(),
        }
    }
}

/// A callback that receives the temporary name of a file.
pub type OnTemporary<'a> = &'a mut dyn FnMut(&Path) -> io::Result<()>;

/// A file that gets its name when it is [finished](NewFile::finish). If it is dropped before, only a file
/// that may be resumed remains.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    path: PathBuf,
    replace: bool,
    rights: Rights,
    /// The temporary name, if it has one.
    temporary: Option<TempPath>,
    /// Whether that name is [`unfinished`], so that the file can be resumed.
    is_beside: bool,
}

/// Begins a file for writing and reading. An existing file is replaced only if `replace` is set.
///
/// If the path is a link that the user created, the link stays and its target is replaced. If the file needs
/// a temporary name, `on_temporary` receives it before the file is created, so that a program can remove the
/// file when a signal ends it.
///
/// # Errors
/// [`Error::Exists`], [`Error::ForeignLink`], [`Error::NoFile`] for a pipe or device;
/// [`Error::Io`], also for a directory.
pub fn begin(
    path: &Path,
    replace: bool,
    content: Content,
    on_temporary: OnTemporary<'_>,
) -> Result<NewFile, Error> {
    let old = existing(path)?;
    let path = replaceable(path, old.as_ref(), replace)?;
    let rights = content.rights(old.as_ref());
    let (file, temporary) = match system::open_unnamed(directory_of(&path))? {
        Some(file) => (file, None),
        None => {
            let (file, temporary) = temporary_beside(&path, on_temporary)?;
            (file, Some(temporary))
        }
    };
    Ok(NewFile { file, path, replace, rights, temporary, is_beside: false })
}

/// Begins a file of plaintext, or continues one that an earlier process left. The incomplete file keeps the
/// name [`unfinished`] in every case. It is locked against other processes that resume it.
///
/// # Errors
/// As [`begin`] and [`continued`]; [`Error::Busy`]; and `Unsupported` on systems without file locks.
pub fn resume(path: &Path, replace: bool) -> Result<NewFile, Error> {
    if !system::HAS_LOCKS {
        return Err(io::Error::from(io::ErrorKind::Unsupported).into());
    }
    let old = existing(path)?;
    if old.as_ref().is_some_and(|old| !old.is_file() && !old.is_symlink()) {
        return Err(Error::NoFile);
    }
    let path = replaceable(path, old.as_ref(), replace)?;
    let rights = Content::Plaintext.rights(old.as_ref());
    let beside = unfinished(&path);
    let file =
        system::open_own(File::options().read(true).write(true).create(true).truncate(false), &beside)?;
    lock(&file, &beside)?;
    let mut temporary = TempPath::try_from_path(&beside)?;
    temporary.disable_cleanup(file.metadata()?.len() > 0);
    Ok(NewFile { file, path, replace, rights, temporary: Some(temporary), is_beside: true })
}

/// Locks a file that has its unfinished name.
///
/// Another process may have finished the file after it was opened. It then has its final name and must not be
/// written. A locked file is not finished by others, so the name is checked again after the lock is held.
fn lock(file: &File, unfinished: &Path) -> Result<(), Error> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::Error(error)) => return Err(error.into()),
        Err(TryLockError::WouldBlock) => return Err(Error::Busy),
    }
    match fs::symlink_metadata(unfinished) {
        Ok(found) if identity(&found) == identity(&file.metadata()?) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Err(Error::Busy),
    }
}

impl NewFile {
    /// The file. It may be written at any position.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Keeps the incomplete file from now on, if it can be resumed.
    pub fn stay(&mut self) {
        if let Some(temporary) = &mut self.temporary {
            temporary.disable_cleanup(self.is_beside);
        }
    }

    /// Keeps the first `len_bytes` under the name [`unfinished`], accessible only to the owner, and returns
    /// that name. In a resumed file, bytes after them from an earlier process also stay.
    ///
    /// # Errors
    /// [`Error::Exists`] if a file of that name exists, [`Error::Io`].
    pub fn keep(mut self, len_bytes: u64) -> Result<PathBuf, Error> {
        let path = unfinished(&self.path);
        // This name was not asked for, so what has it is not ours to replace.
        self.replace = false;
        if self.is_beside {
            self.file.sync_all()?;
        } else {
            self.file.set_len(len_bytes).and_then(|()| self.file.sync_all())?;
            self.name(&path)?;
        }
        Ok(path)
    }

    /// Completes the file: sets its permissions and its name.
    ///
    /// # Errors
    /// [`Error::Exists`] if a file of that name has appeared and must not be replaced, [`Error::Io`].
    pub fn finish(self) -> Result<(), Error> {
        // The bytes must be on disk before the name, or a power cut could leave a name without them.
        self.rights.give(&self.file).and_then(|()| self.file.sync_all())?;
        let path = self.path.clone();
        self.name(&path)
    }

    /// Gives a synced file its name, and syncs the directory.
    fn name(self, path: &Path) -> Result<(), Error> {
        self.name_unsynced(path)?;
        Ok(system::sync_directory(path)?)
    }

    /// Gives a synced file its name.
    fn name_unsynced(self, path: &Path) -> Result<(), Error> {
        let Self { file, temporary, replace, .. } = self;
        let named = match temporary {
            Some(temporary) if replace => temporary.persist(path).map_err(io::Error::from),
            Some(temporary) => temporary.persist_noclobber(path).map_err(io::Error::from),
            None => match system::link(&file, path) {
                // Only a rename can replace an existing name.
                Err(error) if replace && error.kind() == io::ErrorKind::AlreadyExists => {
                    replace_by(&file, path)
                }
                linked => linked,
            },
        };
        named.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists,
            _ => error.into(),
        })
    }
}

/// Completes several files as [`NewFile::finish`] does. They are synced together, which takes a fraction of
/// the time for small files. Gives a result for each file, in order. A file whose directory cannot be synced
/// has its name, and its result is an error.
pub fn finish_all(files: Vec<NewFile>) -> Vec<Result<(), Error>> {
    let given: Vec<_> = files.iter().map(|file| file.rights.give(&file.file)).collect();
    let synced = system::sync_files(&files.iter().map(NewFile::file).collect::<Vec<_>>());
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let name = |((file, given), synced): ((NewFile, io::Result<()>), io::Result<()>)| {
        given.and(synced)?;
        let path = file.path.clone();
        file.name_unsynced(&path)
    };
    let mut done: Vec<_> = files.into_iter().zip(given).zip(synced).map(name).collect();
    sync_directories(&paths, &mut done);
    done
}

/// Syncs the directories of all files that have their names, each directory once. An error becomes the result
/// of every file in the directory.
fn sync_directories(paths: &[PathBuf], done: &mut [Result<(), Error>]) {
    let mut synced: Vec<(&Path, io::Result<()>)> = Vec::new();
    for (path, done) in paths.iter().zip(done).filter(|(_, done)| done.is_ok()) {
        let directory = directory_of(path);
        let at = synced.iter().position(|(known, _)| *known == directory).unwrap_or_else(|| {
            synced.push((directory, system::sync_directory(path)));
            synced.len() - 1
        });
        if let Err(error) = &synced[at].1 {
            *done = Err(copied(error).into());
        }
    }
}

/// A copy of an error of the system.
fn copied(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Opens a pipe or device for writing. It must not come from another user, who could read along. `None` if
/// the path is no pipe or device.
///
/// # Errors
/// [`Error::ForeignSpecial`], [`Error::Io`].
pub fn open_special(path: &Path) -> Result<Option<File>, Error> {
    let Some(found) = existing(path)?.filter(is_special) else {
        return Ok(None);
    };
    if !is_followed(path) || !system::is_trusted(&found) {
        return Err(Error::ForeignSpecial);
    }
    let file = File::options().write(true).open(path)?;
    // The opened file must be the one that was checked.
    if identity(&file.metadata()?) == identity(&found) { Ok(Some(file)) } else { Err(Error::ForeignSpecial) }
}

fn is_special(found: &Metadata) -> bool {
    !found.is_file() && !found.is_symlink() && !found.is_dir()
}

/// Opens a file that an earlier process left, or creates one that only its owner can access, with `options`.
/// An existing one must be a regular file with one name, owned by the user, without permissions for others.
///
/// # Errors
/// [`Error::Unsafe`], [`Error::Io`]; [`Error::Busy`] for a file that was replaced while it was opened.
pub fn continued(options: &mut OpenOptions, path: &Path) -> Result<File, Error> {
    system::open_own(options, path)
}

/// The name of a file that can be resumed, or of which only the beginning could be decrypted.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".part");
    name.into()
}

/// Whether two paths lead to the same file, or would after it is created.
pub fn is_same(path: &Path, other: &Path) -> bool {
    let of_file = |path: &Path| fs::metadata(path).ok().as_ref().and_then(identity);
    match (of_file(path), of_file(other)) {
        (Some(file), Some(other)) => file == other,
        (None, None) => {
            let place = |path: &Path| Some((of_file(directory_of(path))?, path.file_name()?.to_owned()));
            path == other || place(path).is_some_and(|one| place(other) == Some(one))
        }
        _ => false,
    }
}

/// The metadata of a path: of the target of a link, or of a dangling link.
fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    let found = fs::metadata(path).or_else(|_| fs::symlink_metadata(path));
    match found {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The path at which to put a file. If it is a link to a file, the link stays and its target is replaced.
fn replaceable(path: &Path, old: Option<&Metadata>, replace: bool) -> Result<PathBuf, Error> {
    match old {
        Some(old) if old.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory).into()),
        Some(old) if is_special(old) => Err(Error::NoFile),
        Some(_) if !replace => Err(Error::Exists),
        _ if !is_followed(path) => Err(Error::ForeignLink),
        _ => Ok(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())),
    }
}

/// Whether a path is no link, or a link that may be followed because no other user created it.
pub(crate) fn is_followed(path: &Path) -> bool {
    !fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) || system::is_trusted_link(path)
}

/// A file with a temporary name in the directory of `path`, so that a rename completes it.
fn temporary_beside(path: &Path, on_temporary: OnTemporary<'_>) -> io::Result<(File, TempPath)> {
    let made = temporary_name().make_in(directory_of(path), |name| {
        // The callback comes first, so that a signal cannot arrive between. The name is random, so it belongs
        // to no other file.
        on_temporary(name)?;
        system::restrict(File::options().read(true).write(true).create_new(true)).open(name)
    });
    made.map(tempfile::NamedTempFile::into_parts)
}

/// Replaces another file by a file without a name. It gets a temporary name for the rename.
fn replace_by(file: &File, path: &Path) -> io::Result<()> {
    let named = temporary_name().make_in(directory_of(path), |name| system::link(file, name))?;
    Ok(named.into_temp_path().persist(path)?)
}

/// A generator of unpredictable names.
pub(crate) fn temporary_name() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".crossgrain-").suffix(".part").rand_bytes(20);
    builder
}
