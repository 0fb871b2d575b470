//! Where bytes come from: a file or standard input.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::{Error, Exit};

/// An open input.
#[derive(Debug)]
pub(crate) struct Input {
    file: File,
    name: Name,
    len_bytes: Option<u64>,
    changed: Option<SystemTime>,
}

/// What to call an input or output.
#[derive(Clone, Debug)]
pub(crate) enum Name {
    /// A standard stream.
    Stream(&'static str),
    /// A file.
    File(PathBuf),
}

impl Input {
    /// Opens a file, or standard input for no path.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Error> {
        let (name, file) = match path {
            Some(path) => (Name::File(path.to_owned()), File::open(path)),
            None => (Name::Stream("standard input"), standard_input()),
        };
        let opened = file.and_then(|mut file| {
            let len_bytes = len_of(&mut file)?;
            let changed = file.metadata()?.modified().ok();
            Ok((file, len_bytes, changed))
        });
        let (file, len_bytes, changed) = opened.map_err(|error| Error::read(&name, &error))?;
        Ok(Self { file, name, len_bytes, changed })
    }

    /// What to call it.
    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }

    /// How much there is to read, if that can be known.
    pub(crate) const fn len_bytes(&self) -> Option<u64> {
        self.len_bytes
    }
}

impl Input {
    /// Fails if a regular file was written since it was opened: what was read may be half old and half new.
    pub(crate) fn stayed(&self) -> Result<(), Error> {
        let metadata = self.file.metadata().map_err(|error| Error::read(&self.name, &error))?;
        if self.len_bytes.is_none() || metadata.modified().ok() == self.changed {
            return Ok(());
        }
        let why = format!("{} was changed while it was read: try again when it is at rest", self.name);
        Err(Error::new(Exit::InputOutput, why))
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(name) => f.write_str(name),
            Self::File(path) => write!(f, "'{}'", path.display()),
        }
    }
}

/// What is left to read of a regular file; `None` for pipes and devices.
fn len_of(file: &mut File) -> io::Result<Option<u64>> {
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Ok(None);
    }
    Ok(Some(metadata.len().saturating_sub(file.stream_position()?)))
}

/// Standard input without the standard library's buffer.
#[cfg(unix)]
pub(crate) fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Standard input without the standard library's buffer.
#[cfg(windows)]
pub(crate) fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}
