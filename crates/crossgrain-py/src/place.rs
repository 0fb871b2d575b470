//! Where a file is to appear once it is whole.
//!
//! Until then it has no name, where the system can do that (Linux): whatever ends the process, nothing of it is left. Elsewhere
//! it has a name beside its place, and is removed when its writer is dropped.
//! A plaintext is its owner's only. A ciphertext has the rights of any new file. What replaces a file takes over its rights, less
//! those of a group that is not its own any more, and never those to run as somebody else.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use tempfile::TempPath;

use crate::Error;
use crate::files::told;

/// What is in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Plaintext,
    Ciphertext,
}

/// The place of a file that is being written.
pub(crate) struct Place {
    target: PathBuf,
    overwrite: bool,
    /// The file that it replaces.
    old: Option<Metadata>,
    /// The name that it has meanwhile, if it needs one.
    temporary: Option<TempPath>,
}

impl Place {
    /// A file to be written, unless there is something in the way.
    pub(crate) fn begin(target: PathBuf, overwrite: bool, content: Content) -> PyResult<(Self, File)> {
        // Of a link itself: it is replaced, and leads nobody elsewhere.
        let old = match fs::symlink_metadata(&target) {
            Ok(_) if !overwrite => return Err(told(io::ErrorKind::AlreadyExists.into(), &target)),
            Ok(old) => Some(old),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(told(error, &target)),
        };
        if old.as_ref().is_some_and(|old| !old.is_file() && !old.is_symlink()) {
            let why =
                format!("{} is no file that could be replaced: choose another target", target.display());
            return Err(Error::new_err(why));
        }
        let old = old.filter(Metadata::is_file);
        let is_open = content == Content::Ciphertext && old.is_none();
        let mode = if is_open { 0o666 } else { 0o600 }; // less the umask
        let (file, temporary) = begun(folder_of(&target), mode).map_err(|error| told(error, &target))?;
        Ok((Self { target, overwrite, old, temporary }, file))
    }

    /// Gives the file its name.
    pub(crate) fn finish(self, file: &File) -> PyResult<()> {
        let target = self.target.clone();
        self.named(file).map_err(|error| told(error, &target))
    }

    fn named(self, file: &File) -> io::Result<()> {
        self.take_over(file)?;
        // The name must not outlive a power cut that the bytes do not.
        file.sync_all()?;
        let Self { target, overwrite, temporary, .. } = self;
        let temporary = match temporary {
            Some(temporary) => temporary,
            None if !overwrite => return unnamed::name(file, &target),
            // A name cannot be given away while it is another's: one beside it can take its place.
            None => names().make_in(folder_of(&target), |path| unnamed::name(file, path))?.into_temp_path(),
        };
        let named = if overwrite { temporary.persist(&target) } else { temporary.persist_noclobber(&target) };
        named.map_err(|error| error.error)
    }

    /// Gives the file the rights of the one that it replaces, if that is the user's own: nobody else says who may read it.
    #[cfg(unix)]
    fn take_over(&self, file: &File) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let Some(old) = &self.old else { return Ok(()) };
        let made = file.metadata()?;
        if made.uid() != old.uid() {
            return Ok(());
        }
        let is_same_group = made.gid() == old.gid();
        let mode = old.mode() & if is_same_group { 0o777 } else { 0o707 };
        file.set_permissions(fs::Permissions::from_mode(mode))
    }

    #[cfg(not(unix))]
    fn take_over(&self, _: &File) -> io::Result<()> {
        Ok(())
    }
}

/// A file in a folder, where a rename is all that it takes, and its name if it needs one.
fn begun(folder: &Path, mode: u32) -> io::Result<(File, Option<TempPath>)> {
    if let Some(file) = unnamed::begun(folder, mode) {
        return Ok((file, None));
    }
    let mut builder = names();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    let (file, temporary) = builder.tempfile_in(folder)?.into_parts();
    Ok((file, Some(temporary)))
}

/// Names that are nobody's.
fn names() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".crossgrain-").suffix(".part");
    builder
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// Files without a name, to which one can be given.
#[cfg(target_os = "linux")]
mod unnamed {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd as _;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

    /// A new one; `None` where the file system has none, or they could not be named.
    pub(super) fn begun(folder: &Path, mode: u32) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = File::from(open(folder, flags, Mode::from_raw_mode(mode)).ok()?);
        in_proc(&file).exists().then_some(file)
    }

    /// Gives it a name that nobody has.
    pub(super) fn name(file: &File, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, in_proc(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn in_proc(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }
}

/// No such files.
#[cfg(not(target_os = "linux"))]
mod unnamed {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(super) fn begun(_: &Path, _: u32) -> Option<File> {
        None
    }

    pub(super) fn name(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
