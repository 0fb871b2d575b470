//! Where bytes go: standard output, a device, or a file that appears under its name only when whole.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::error::{Error, Exit};
use crate::input::Name;
use crate::interrupt;

/// An open output. Dropped before [`Output::finish`], it leaves no file behind but one that may be resumed.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    name: Name,
    place: Option<Place>,
}

/// A temporary file, and the name that it gets in the end.
#[derive(Debug)]
struct Place {
    temporary: TempPath,
    path: PathBuf,
    replace: bool,
    /// Whether the temporary file is [`unfinished`], to be resumed.
    is_beside: bool,
}

impl Output {
    /// Opens standard output.
    pub(crate) fn standard() -> Result<Self, Error> {
        let name = Name::Stream("standard output");
        let file = standard_output().map_err(|error| Error::write(&name, &error))?;
        Ok(Self { file, name, place: None })
    }

    /// Prepares to write a file; one that is there already is replaced only if `replace` says so.
    ///
    /// A device or a named pipe is written as it is: it cannot be replaced, nor be half a file.
    pub(crate) fn file(path: &Path, replace: bool) -> Result<Self, Error> {
        let name = Name::File(path.to_owned());
        let failed = |error| Error::write(&name, &error);
        let old = existing(path).map_err(failed)?;
        if old.as_ref().is_some_and(|old| !old.is_file() && !old.is_symlink() && !old.is_dir()) {
            let file = File::options().write(true).open(path).map_err(failed)?;
            return Ok(Self { file, name, place: None });
        }
        let path = replaceable(path, old.as_ref(), replace, &name)?;
        let (file, temporary) = temporary_beside(&path, old.as_ref()).map_err(failed)?.into_parts();
        interrupt::remove_on_signal(temporary.to_path_buf()).map_err(failed)?;
        Ok(Self { file, name, place: Some(Place { temporary, path, replace, is_beside: false }) })
    }

    /// Prepares to write a file that nobody else may read.
    pub(crate) fn secret_file(path: &Path, replace: bool) -> Result<Self, Error> {
        let output = Self::file(path, replace)?;
        #[cfg(unix)]
        if output.place.is_some() {
            let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            output.file.set_permissions(owner_only).map_err(|error| Error::write(&output.name, &error))?;
        }
        Ok(output)
    }

    /// Prepares to write a file, or to go on where an earlier run ended: what is unfinished stays beside it,
    /// as [`unfinished`], whatever happens, and can be read too.
    pub(crate) fn resumed(path: &Path, replace: bool) -> Result<Self, Error> {
        let name = Name::File(path.to_owned());
        let old = existing(path).map_err(|error| Error::write(&name, &error))?;
        let path = replaceable(path, old.as_ref(), replace, &name)?;
        let beside = unfinished(&path);
        let begun = existing(&beside).map_err(|error| Error::write(&name, &error))?;
        if [&old, &begun].into_iter().flatten().any(|there| !there.is_file() && !there.is_symlink()) {
            let why = format!(
                "{name} or '{}' is no file that could be resumed: leave out --resume",
                beside.display()
            );
            return Err(Error::usage(why));
        }
        let failed = |error| Error::write(format_args!("'{}'", beside.display()), &error);
        let mut options = File::options();
        let file =
            options.read(true).write(true).create(true).truncate(false).open(&beside).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {
                let why = format!("another run is writing '{}': let it finish", beside.display());
                return Err(Error::new(Exit::WouldOverwrite, why));
            }
        }
        if let Some(old) = old.filter(|old| old.is_file()) {
            file.set_permissions(old.permissions()).map_err(failed)?;
        }
        let mut temporary = TempPath::try_from_path(&beside).map_err(failed)?;
        temporary.disable_cleanup(file.metadata().map_err(failed)?.len() > 0);
        Ok(Self { file, name, place: Some(Place { temporary, path, replace, is_beside: true }) })
    }

    /// From now on what is unfinished stays, if it may be resumed.
    pub(crate) fn stay(&mut self) {
        if let Some(place) = &mut self.place {
            place.temporary.disable_cleanup(place.is_beside);
        }
    }

    /// The file, where it can be written anywhere and becomes what it is to be only in the end.
    pub(crate) fn unfinished_file(&self) -> Option<&File> {
        self.place.as_ref().map(|_| &self.file)
    }

    /// Leaves the first `len_bytes` as [`unfinished`], and gives that name. What lies behind them of an earlier run stays.
    pub(crate) fn keep(self, len_bytes: u64) -> Result<Option<PathBuf>, Error> {
        let Self { file, name, place } = self;
        let Some(Place { temporary, path, replace, is_beside }) = place else {
            return Ok(None);
        };
        let failed = |error| Error::write(&name, &error);
        let path = unfinished(&path);
        if is_beside {
            file.sync_all().map_err(failed)?;
        } else {
            file.set_len(len_bytes).and_then(|()| file.sync_all()).map_err(failed)?;
            persist(temporary, &path, replace, &Name::File(path.clone()))?;
        }
        Ok(Some(path))
    }

    /// What to call it.
    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }

    /// All is written: a file gets its name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let Self { file, name, place } = self;
        let Some(Place { temporary, path, replace, .. }) = place else {
            return Ok(());
        };
        // The name must not outlive a power cut that the bytes do not.
        file.sync_all().map_err(|error| Error::write(&name, &error))?;
        persist(temporary, &path, replace, &name)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Refuses one path for two files, each with the option that names it.
pub(crate) fn apart(one: (&str, Option<&PathBuf>), other: (&str, Option<&PathBuf>)) -> Result<(), Error> {
    let ((option, path), (other, same)) = (one, other);
    if path.is_some() && path == same {
        return Err(Error::usage(format!("{option} and {other} name one file: give each its own")));
    }
    Ok(())
}

/// Writes a whole file.
pub(crate) fn write_file(path: &Path, replace: bool, contents: &str) -> Result<(), Error> {
    let mut output = Output::file(path, replace)?;
    let written = output.write_all(contents.as_bytes());
    written.map_err(|error| Error::write(output.name(), &error))?;
    output.finish()
}

fn in_the_way(name: &Name) -> Error {
    Error::new(Exit::WouldOverwrite, format!("{name} exists: choose another name, or replace it by --force"))
}

/// The path to put a file at: a link that leads to a file stays, and that file is replaced.
fn replaceable(path: &Path, old: Option<&Metadata>, replace: bool, name: &Name) -> Result<PathBuf, Error> {
    match old {
        Some(old) if old.is_dir() => Err(Error::write(name, &io::ErrorKind::IsADirectory.into())),
        Some(_) if !replace => Err(in_the_way(name)),
        _ => Ok(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())),
    }
}

/// What a file is called while it may be resumed, or when only its beginning could be had.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    with_suffix(path, ".part")
}

/// The path of a file beside another, whose name goes on.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Gives a synced file its name, and makes the name last.
fn persist(temporary: TempPath, path: &Path, replace: bool, name: &Name) -> Result<(), Error> {
    let persisted = if replace { temporary.persist(path) } else { temporary.persist_noclobber(path) };
    persisted.map_err(|failure| match failure.error.kind() {
        io::ErrorKind::AlreadyExists => in_the_way(name),
        _ => Error::write(name, &failure.error),
    })?;
    sync_directory(path).map_err(|error| Error::write(name, &error))
}

/// A name is in its directory, and lasts when that does.
#[cfg(unix)]
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

/// Elsewhere a directory is no file that could be synced.
#[cfg(not(unix))]
pub(crate) fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
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

/// A temporary file in the directory of `path`, where a rename is all it takes. It has the access
/// rights of the file it will replace, or else those of any new file.
fn temporary_beside(path: &Path, old: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".crossgrain-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the umask
    let temporary = builder.tempfile_in(directory_of(path))?;
    if let Some(old) = old.filter(|old| old.is_file()) {
        temporary.as_file().set_permissions(old.permissions())?;
    }
    Ok(temporary)
}

/// Standard output without the standard library's buffer.
#[cfg(unix)]
fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard output without the standard library's buffer.
#[cfg(windows)]
fn standard_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

/// Writes all of `bytes` at a position, from any thread.
#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, position)
}

/// Writes all of `bytes` at a position, from any thread.
#[cfg(windows)]
pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut position: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_write(file, bytes, position)?;
        (bytes, position) = (&bytes[count..], position + count as u64);
    }
    Ok(())
}
