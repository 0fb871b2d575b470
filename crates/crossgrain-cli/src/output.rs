//! Where bytes go: standard output, a device, or a file that appears under its name only when whole.
//!
//! Until then the file has no name where the system has such files (`O_TMPFILE`), so that nothing is left of a run that
//! ends early, however it ends. Elsewhere it is `.crossgrain-….part` beside its final name, and a signal removes it.
//! Only its owner may read it before it is complete. With `--resume` it is OUT.part, and stays.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::error::{Error, Exit};
use crate::input::Name;
use crate::interrupt;
use crate::system::{self, NotOwn, Rights, directory_of, identity};

/// What a new file holds, which decides who may read it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    /// Nothing secret: the umask decides, or the file that is replaced.
    Open,
    /// What was encrypted, for reasons that are unknown here: the owner alone, or as the file that is replaced.
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

/// An open output. Dropped before [`Output::finish`], it leaves no file behind but one that may be resumed.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    name: Name,
    place: Option<Place>,
}

/// The name that a file gets in the end.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    replace: bool,
    rights: Rights,
    /// The name it has meanwhile, if it has one.
    temporary: Option<TempPath>,
    /// Whether that is [`unfinished`], to be resumed.
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
    pub(crate) fn file(path: &Path, replace: bool, content: Content) -> Result<Self, Error> {
        let name = Name::File(path.to_owned());
        let failed = |error| Error::write(&name, &error);
        let old = existing(path).map_err(failed)?;
        if let Some(old) = old.as_ref().filter(|old| !old.is_file() && !old.is_symlink() && !old.is_dir()) {
            let file = special(path, old, &name)?;
            return Ok(Self { file, name, place: None });
        }
        let path = replaceable(path, old.as_ref(), replace, &name)?;
        let rights = content.rights(old.as_ref());
        let (file, temporary) = match system::open_unnamed(directory_of(&path)).map_err(failed)? {
            Some(file) => (file, None),
            None => {
                let (file, temporary) = temporary_beside(&path).map_err(failed)?;
                (file, Some(temporary))
            }
        };
        Ok(Self { file, name, place: Some(Place { path, replace, rights, temporary, is_beside: false }) })
    }

    /// Prepares to write plaintext, or to go on where an earlier run ended: what is unfinished stays beside it,
    /// as [`unfinished`], whatever happens, and can be read too.
    pub(crate) fn resumed(path: &Path, replace: bool) -> Result<Self, Error> {
        let name = Name::File(path.to_owned());
        let old = existing(path).map_err(|error| Error::write(&name, &error))?;
        if old.as_ref().is_some_and(|old| !old.is_file() && !old.is_symlink()) {
            return Err(Error::usage(format!("{name} is no file that could be resumed: leave out --resume")));
        }
        let path = replaceable(path, old.as_ref(), replace, &name)?;
        let rights = Content::Plaintext.rights(old.as_ref());
        let beside = unfinished(&path);
        let shown = format!("'{}'", beside.display());
        let failed = |error| Error::write(&shown, &error);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let file = own(&mut options, &beside)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {
                let why = format!("another run is writing {shown}: let it finish");
                return Err(Error::new(Exit::WouldOverwrite, why));
            }
        }
        let mut temporary = TempPath::try_from_path(&beside).map_err(failed)?;
        temporary.disable_cleanup(file.metadata().map_err(failed)?.len() > 0);
        let place = Place { path, replace, rights, temporary: Some(temporary), is_beside: true };
        Ok(Self { file, name, place: Some(place) })
    }

    /// From now on what is unfinished stays, if it may be resumed.
    pub(crate) fn stay(&mut self) {
        if let Some(Place { temporary: Some(temporary), is_beside, .. }) = &mut self.place {
            temporary.disable_cleanup(*is_beside);
        }
    }

    /// The file, where it can be written anywhere and becomes what it is to be only in the end.
    pub(crate) fn unfinished_file(&self) -> Option<&File> {
        self.place.as_ref().map(|_| &self.file)
    }

    /// Leaves the first `len_bytes` as [`unfinished`], for the owner alone, and gives that name. What lies behind them of an
    /// earlier run stays.
    pub(crate) fn keep(self, len_bytes: u64) -> Result<Option<PathBuf>, Error> {
        let Self { file, name, place } = self;
        let Some(place) = place else {
            return Ok(None);
        };
        let failed = |error| Error::write(&name, &error);
        let path = unfinished(&place.path);
        if place.is_beside {
            file.sync_all().map_err(failed)?;
        } else {
            file.set_len(len_bytes).and_then(|()| file.sync_all()).map_err(failed)?;
            place.name(&file, &path, &Name::File(path.clone()))?;
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
        let Some(place) = place else {
            return Ok(());
        };
        // The name must not outlive a power cut that the bytes do not.
        let ready = place.rights.give(&file).and_then(|()| file.sync_all());
        ready.map_err(|error| Error::write(&name, &error))?;
        let path = place.path.clone();
        place.name(&file, &path, &name)
    }
}

impl Place {
    /// Gives a synced file its name, and makes the name last.
    fn name(self, file: &File, path: &Path, name: &Name) -> Result<(), Error> {
        let Self { temporary, replace, .. } = self;
        let named = match temporary {
            Some(temporary) if replace => temporary.persist(path).map_err(io::Error::from),
            Some(temporary) => temporary.persist_noclobber(path).map_err(io::Error::from),
            None => match system::link(file, path) {
                // Only a name can be put in place of another.
                Err(error) if replace && error.kind() == io::ErrorKind::AlreadyExists => {
                    replace_by(file, path)
                }
                linked => linked,
            },
        };
        named.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => in_the_way(name),
            _ => Error::write(name, &error),
        })?;
        system::sync_directory(path).map_err(|error| Error::write(name, &error))
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

/// Refuses one file for two purposes, each with the option that names it, whatever way it is spelt.
pub(crate) fn apart(one: (&str, Option<&Path>), other: (&str, Option<&Path>)) -> Result<(), Error> {
    let ((option, path), (other, same)) = (one, other);
    match (path, same) {
        (Some(path), Some(same)) if is_same(path, same) => {
            Err(Error::usage(format!("{option} and {other} name one file: give each its own")))
        }
        _ => Ok(()),
    }
}

/// Whether two paths lead to one file, or would once there is one.
fn is_same(path: &Path, other: &Path) -> bool {
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

/// Writes a whole file.
pub(crate) fn write_file(path: &Path, replace: bool, contents: &str) -> Result<(), Error> {
    let mut output = Output::file(path, replace, Content::Open)?;
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
        _ if !is_followed(path) => {
            let why = format!("{name} is a link that another user made: remove it, or choose another name");
            Err(Error::new(Exit::WouldOverwrite, why))
        }
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

/// What is at a path: the end of a link, or a link that leads nowhere.
fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    let found = fs::metadata(path).or_else(|_| fs::symlink_metadata(path));
    match found {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A pipe or device to write to, which nobody else put there to read along.
fn special(path: &Path, found: &Metadata, name: &Name) -> Result<File, Error> {
    let untrusted = || {
        let why = format!("{name} was put there by another user: name a file, or remove it");
        Error::new(Exit::WouldOverwrite, why)
    };
    if !is_followed(path) || !system::is_trusted(found) {
        return Err(untrusted());
    }
    let opened = File::options().write(true).open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (opened, file) = opened.map_err(|error| Error::write(name, &error))?;
    // What was looked at is what was opened.
    if identity(&opened) == identity(found) { Ok(file) } else { Err(untrusted()) }
}

/// Opens a file that an earlier run left, to be read and added to; a pipe or device is written as it is.
pub(crate) fn continued(options: &mut fs::OpenOptions, path: &Path) -> Result<File, Error> {
    let name = Name::File(path.to_owned());
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => special(path, &found, &name),
        _ => own(options, path),
    }
}

/// A file that no other user can have put there or open.
fn own(options: &mut fs::OpenOptions, path: &Path) -> Result<File, Error> {
    let shown = format!("'{}'", path.display());
    system::open_own(options, path).map_err(|refused| match refused {
        NotOwn::Io(error) => Error::write(&shown, &error),
        NotOwn::Unsafe(why) => {
            Error::usage(format!("{shown} {why}, and so is not continued: remove it, or mend that"))
        }
    })
}

/// Whether what a path leads to is what its owner means: a link may be followed that another user did not make.
fn is_followed(path: &Path) -> bool {
    !fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) || system::is_trusted_link(path)
}

/// A file with a name of its own beside `path`, from where a rename is all it takes. A signal removes it.
fn temporary_beside(path: &Path) -> io::Result<(File, TempPath)> {
    let made = temporary_name().make_in(directory_of(path), |name| {
        // First, so that no signal comes between; the name is random, and nobody else's.
        interrupt::remove_on_signal(name.to_owned())?;
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

/// Standard output without the standard library's buffer.
#[cfg(unix)]
fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    if system::began_closed(io::stdout()) {
        return Err(closed());
    }
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard output without the standard library's buffer.
#[cfg(windows)]
fn standard_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

/// A standard stream was closed when the program began.
pub(crate) fn closed() -> io::Error {
    io::Error::other("it is closed, open it or name a file")
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
