//! Where bytes go: standard output, a device, or a file that appears under its name only when whole.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::error::{Error, Exit};
use crate::input::Name;
use crate::interrupt;

/// An open output. Dropped before [`Output::finish`], it leaves no file behind.
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
        if old.as_ref().is_some_and(Metadata::is_dir) {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        if old.as_ref().is_some_and(|old| !old.is_file() && !old.is_symlink()) {
            let file = File::options().write(true).open(path).map_err(failed)?;
            return Ok(Self { file, name, place: None });
        }
        if old.is_some() && !replace {
            return Err(in_the_way(&name));
        }
        // A link stays, and the file it leads to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (file, temporary) = temporary_beside(&path, old.as_ref()).map_err(failed)?.into_parts();
        interrupt::remove_on_signal(temporary.to_path_buf()).map_err(failed)?;
        Ok(Self { file, name, place: Some(Place { temporary, path, replace }) })
    }

    /// What to call it.
    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }

    /// All is written: a file gets its name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let Self { file, name, place } = self;
        let Some(Place { temporary, path, replace }) = place else {
            return Ok(());
        };
        // The name must not outlive a power cut that the bytes do not.
        file.sync_all().map_err(|error| Error::write(&name, &error))?;
        let persisted = if replace { temporary.persist(&path) } else { temporary.persist_noclobber(&path) };
        persisted.map_err(|failure| match failure.error.kind() {
            io::ErrorKind::AlreadyExists => in_the_way(&name),
            _ => Error::write(&name, &failure.error),
        })
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

fn in_the_way(name: &Name) -> Error {
    Error::new(Exit::WouldOverwrite, format!("{name} exists: choose another name, or replace it by --force"))
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
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".crossgrain-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the umask
    let temporary = builder.tempfile_in(directory.unwrap_or_else(|| Path::new(".")))?;
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
