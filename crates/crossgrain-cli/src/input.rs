//! Inputs: a file or standard input.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crossgrain::engine::auxiliary;
use crossgrain::engine::text::quoted;
use crossgrain_files::{Stamp, settled};

use crate::error::{Error, Exit};
use crate::system;

/// An open input.
#[derive(Debug)]
pub(crate) struct Input {
    file: File,
    name: Name,
    len_bytes: Option<u64>,
    /// The state of a regular file when it was opened.
    stamp: Option<Stamp>,
    /// The position where reading began. Standard input may hold a passphrase before the data.
    begun: Option<u64>,
    read_bytes: u64,
}

/// The name of an input or output in messages.
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
        Self::of(name, file)
    }

    fn of(name: Name, file: io::Result<File>) -> Result<Self, Error> {
        let opened = file.and_then(|mut file| {
            let metadata = settled(&file)?;
            let len_bytes = len_of(&mut file, &metadata)?;
            Ok((file, len_bytes, metadata.is_file().then(|| Stamp::of(&metadata))))
        });
        let (file, len_bytes, stamp) = opened.map_err(|error| Error::read(&name, &error))?;
        Ok(Self { file, name, len_bytes, stamp, begun: None, read_bytes: 0 })
    }

    /// Opens a regular file, which can be opened again and read at any position.
    pub(crate) fn open_regular(path: &Path) -> Result<Self, Error> {
        let name = Name::File(path.to_owned());
        let file = auxiliary::open(File::options().read(true), path);
        Self::of(name, file)
    }

    /// The name for messages.
    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }

    /// The number of bytes to read, if it is known.
    pub(crate) const fn len_bytes(&self) -> Option<u64> {
        self.len_bytes
    }

    /// Whether it is a regular file, which can be empty and can be read again.
    pub(crate) const fn is_file(&self) -> bool {
        self.stamp.is_some()
    }

    /// The current metadata.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Fails if a regular file was written since it was opened, because the data read may be a mix of old and
    /// new.
    pub(crate) fn stayed(&self) -> Result<(), Error> {
        let metadata = self.metadata().map_err(|error| Error::read(&self.name, &error))?;
        if self.stamp.is_none_or(|stamp| stamp == Stamp::of(&metadata)) {
            Ok(())
        } else {
            Err(self.changed())
        }
    }

    /// The same for a file that was read to its end once. Also fails if fewer or more bytes were read than
    /// its length.
    pub(crate) fn stayed_whole(&self) -> Result<(), Error> {
        self.stayed()?;
        let (Some(begun), Some(stamp), Some(_)) = (self.begun, self.stamp, self.len_bytes) else {
            return Ok(());
        };
        if begun.saturating_add(self.read_bytes) == stamp.len_bytes() { Ok(()) } else { Err(self.changed()) }
    }

    /// Copies everything from the current position on, inside the kernel if the system can.
    pub(crate) fn copy_rest(&mut self, mut to: &File) -> io::Result<u64> {
        io::copy(&mut &self.file, &mut to)
    }

    fn changed(&self) -> Error {
        let why = format!("{} was changed while it was read: try again when it is at rest", self.name);
        Error::new(Exit::InputOutput, why)
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.begun.is_none() && self.len_bytes.is_some() {
            self.begun = Some(self.file.stream_position()?);
        }
        let count = self.file.read(buffer)?;
        self.read_bytes += count as u64;
        Ok(count)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(name) => f.write_str(name),
            Self::File(path) => write!(f, "'{}'", shown(path)),
        }
    }
}

/// The maximum length in bytes of files of plans, costs, rules or programs.
const SMALL_FILE_BYTES_MAX: u64 = 64 << 20;

/// The reason why bytes that are not in UTF-8 are no text, with the remedy. `wanted` is the remedy in general.
pub(crate) fn no_text(bytes: &[u8], wanted: &str) -> String {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            "is in UTF-16: convert it to UTF-8, by iconv -f UTF-16 -t UTF-8 for example".to_owned()
        }
        _ => format!("is no text: {wanted}"),
    }
}

/// A path for messages.
pub(crate) fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// Reads a complete auxiliary file.
pub(crate) fn read_small(path: &Path) -> Result<Vec<u8>, Error> {
    let shown = shown(path);
    let read = auxiliary::read(path, SMALL_FILE_BYTES_MAX + 1);
    let bytes = read.map_err(|error| Error::read(&shown, &error))?;
    if bytes.len() as u64 > SMALL_FILE_BYTES_MAX {
        let most_mib = SMALL_FILE_BYTES_MAX >> 20;
        return Err(Error::usage(format!("{shown} is longer than {most_mib} MiB: name another file")));
    }
    Ok(bytes)
}

/// The bytes left to read of a regular file; `None` for pipes, devices, and files that the system generates
/// on reading.
fn len_of(file: &mut File, metadata: &Metadata) -> io::Result<Option<u64>> {
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(None);
    }
    Ok(Some(metadata.len().saturating_sub(file.stream_position()?)))
}

/// Standard input without the standard library's buffer.
#[cfg(unix)]
pub(crate) fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    if system::began_closed(io::stdin()) {
        return Err(crate::output::closed());
    }
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Standard input without the standard library's buffer.
#[cfg(windows)]
pub(crate) fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

/// Standard input without the standard library's buffer.
#[cfg(target_os = "wasi")]
pub(crate) fn standard_input() -> io::Result<File> {
    Ok(system::standard_stream(0))
}
