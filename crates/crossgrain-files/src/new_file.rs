//! A file in the making, and the names that lead to it.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::system::{self, Rights, identity};
use crate::{Error, directory_of};

/// What a new file holds, which decides who may read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing secret: the umask decides, or the file that is replaced.
    Open,
    /// What was encrypted before: the owner alone, or as the file that is replaced.
    Plaintext,
    /// A key: the owner alone.
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

/// What hears of a temporary name.
pub type OnTemporary<'a> = &'a mut dyn FnMut(&Path) -> io::Result<()>;

/// A file that gets its name when it is [finished](NewFile::finish). Dropped before, it leaves nothing behind but a file that
/// may be resumed.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    path: PathBuf,
    replace: bool,
    rights: Rights,
    /// The name it has meanwhile, if it has one.
    temporary: Option<TempPath>,
    /// Whether that is [`unfinished`], to be resumed.
    is_beside: bool,
}

/// Begins a file, which may be written and read; one that is there already is replaced only if `replace` says so.
///
/// A link that the user made stays, and the file that it leads to is replaced. `on_temporary` hears of the name that the file
/// has meanwhile, where it needs one, before that exists: a program may want to remove it when a signal ends it.
///
/// # Errors
/// [`Error::Exists`], [`Error::ForeignLink`], [`Error::NoFile`] for a directory, pipe or device, [`Error::Io`].
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

/// Begins a file of plaintext, or goes on where an earlier process ended: what is unfinished stays as [`unfinished`], whatever
/// happens. It is locked against other processes that do the same.
///
/// # Errors
/// As [`begin`] and [`continued`]; and [`Error::Busy`].
pub fn resume(path: &Path, replace: bool) -> Result<NewFile, Error> {
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

/// Locks a file under a name that it has until it is finished.
///
/// One that another process has finished since it was opened has its final name, and must not be written: nobody finishes a file that
/// is locked, so the name is looked at once more behind the lock.
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
    /// The file, to be written anywhere.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// From now on what is unfinished stays, if it may be resumed.
    pub fn stay(&mut self) {
        if let Some(temporary) = &mut self.temporary {
            temporary.disable_cleanup(self.is_beside);
        }
    }

    /// Leaves the first `len_bytes` as [`unfinished`], for the owner alone, and gives that name. What lies behind them of an
    /// earlier process stays.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is something under that name, [`Error::Io`].
    pub fn keep(self, len_bytes: u64) -> Result<PathBuf, Error> {
        let path = unfinished(&self.path);
        if self.is_beside {
            self.file.sync_all()?;
        } else {
            self.file.set_len(len_bytes).and_then(|()| self.file.sync_all())?;
            self.name(&path)?;
        }
        Ok(path)
    }

    /// All is written: the file gets its rights and its name.
    ///
    /// # Errors
    /// [`Error::Exists`] if something appeared under that name and is not to be replaced, [`Error::Io`].
    pub fn finish(self) -> Result<(), Error> {
        // The name must not outlive a power cut that the bytes do not.
        self.rights.give(&self.file).and_then(|()| self.file.sync_all())?;
        let path = self.path.clone();
        self.name(&path)
    }

    /// Gives a synced file its name, and makes the name last.
    fn name(self, path: &Path) -> Result<(), Error> {
        let Self { file, temporary, replace, .. } = self;
        let named = match temporary {
            Some(temporary) if replace => temporary.persist(path).map_err(io::Error::from),
            Some(temporary) => temporary.persist_noclobber(path).map_err(io::Error::from),
            None => match system::link(&file, path) {
                // Only a name can be put in place of another.
                Err(error) if replace && error.kind() == io::ErrorKind::AlreadyExists => {
                    replace_by(&file, path)
                }
                linked => linked,
            },
        };
        named.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists,
            _ => error.into(),
        })?;
        Ok(system::sync_directory(path)?)
    }
}

/// Opens a pipe or device to write to, which no other user put there to read along; `None` if there is none under this name.
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
    // What was looked at is what was opened.
    if identity(&file.metadata()?) == identity(&found) { Ok(Some(file)) } else { Err(Error::ForeignSpecial) }
}

fn is_special(found: &Metadata) -> bool {
    !found.is_file() && !found.is_symlink() && !found.is_dir()
}

/// Opens a file that an earlier process left, or makes one that only its owner may read. `options` say for what. One that is
/// there must be a regular file under one name, the user's own, without any right for others.
///
/// # Errors
/// [`Error::Unsafe`], [`Error::Io`]; [`Error::Busy`] for one that was replaced while it was opened.
pub fn continued(options: &mut OpenOptions, path: &Path) -> Result<File, Error> {
    system::open_own(options, path)
}

/// What a file is called while it may be resumed, or when only its beginning could be had.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".part");
    name.into()
}

/// Whether two paths lead to one file, or would once there is one.
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

/// What is at a path: the end of a link, or a link that leads nowhere.
fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    let found = fs::metadata(path).or_else(|_| fs::symlink_metadata(path));
    match found {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The path to put a file at: a link that leads to a file stays, and that file is replaced.
fn replaceable(path: &Path, old: Option<&Metadata>, replace: bool) -> Result<PathBuf, Error> {
    match old {
        Some(old) if old.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory).into()),
        Some(old) if is_special(old) => Err(Error::NoFile),
        Some(_) if !replace => Err(Error::Exists),
        _ if !is_followed(path) => Err(Error::ForeignLink),
        _ => Ok(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())),
    }
}

/// Whether what a path leads to is what its owner means: a link may be followed that another user did not make.
fn is_followed(path: &Path) -> bool {
    !fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) || system::is_trusted_link(path)
}

/// A file with a name of its own beside `path`, from where a rename is all it takes.
fn temporary_beside(path: &Path, on_temporary: OnTemporary<'_>) -> io::Result<(File, TempPath)> {
    let made = temporary_name().make_in(directory_of(path), |name| {
        // First, so that no signal comes between; the name is random, and nobody else's.
        on_temporary(name)?;
        system::restrict(File::options().read(true).write(true).create_new(true)).open(name)
    });
    made.map(tempfile::NamedTempFile::into_parts)
}

/// Puts a file without a name in the place of another: by a name that it has for a moment.
fn replace_by(file: &File, path: &Path) -> io::Result<()> {
    let named = temporary_name().make_in(directory_of(path), |name| system::link(file, name))?;
    Ok(named.into_temp_path().persist(path)?)
}

/// Names that nobody can foresee.
fn temporary_name() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".crossgrain-").suffix(".part").rand_bytes(20);
    builder
}
