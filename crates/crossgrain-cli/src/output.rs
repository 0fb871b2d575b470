//! Outputs: standard output, a device, or a file that gets its name only once it is complete
//! (`crossgrain_files`).
//!
//! With `--resume` the file is OUT.part until then, and is kept if the run ends early.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crossgrain_files::{Error as Refusal, NewFile, begin, is_same, open_special, resume};

pub(crate) use crossgrain_files::{Content, unfinished};

use crate::error::{Error, Exit};
use crate::input::{Input, Name};
use crate::interrupt;
use crate::system;

/// An open output. If it is dropped before [`Output::finish`], it leaves no file, except one that may be
/// resumed.
#[derive(Debug)]
pub(crate) struct Output {
    sink: Sink,
    name: Name,
}

#[derive(Debug)]
enum Sink {
    /// A standard stream, a pipe or a device.
    Stream(File),
    File(NewFile),
}

impl Output {
    /// Opens standard output.
    pub(crate) fn standard() -> Result<Self, Error> {
        let name = Name::Stream("standard output");
        let file = standard_output().map_err(|error| Error::write(&name, &error))?;
        Ok(Self { sink: Sink::Stream(file), name })
    }

    /// Prepares to write a file. An existing file is replaced only with `replace`.
    ///
    /// A device or a named pipe is written directly, because it cannot be replaced and cannot be an
    /// incomplete file.
    pub(crate) fn file(path: &Path, replace: bool, content: Content) -> Result<Self, Error> {
        let name = Name::File(path.to_owned());
        let sink = match open_special(path) {
            Ok(Some(file)) => Ok(Sink::Stream(file)),
            Ok(None) => {
                let on_temporary = &mut |name: &Path| interrupt::remove_on_signal(name.to_owned());
                begin(path, replace, content, on_temporary).map(Sink::File)
            }
            Err(refusal) => Err(refusal),
        };
        Ok(Self { sink: sink.map_err(|refusal| refused(&name, refusal))?, name })
    }

    /// Prepares to write plaintext, possibly continuing an earlier run. The unfinished file is kept as
    /// [`unfinished`] whatever happens. It can also be read.
    pub(crate) fn resumed(path: &Path, replace: bool) -> Result<Self, Error> {
        let name = Name::File(path.to_owned());
        let file = resume(path, replace).map_err(|refusal| match refusal {
            Refusal::NoFile => {
                Error::usage(format!("{name} is no file that could be resumed: leave out --resume"))
            }
            Refusal::Io(error) if error.kind() == io::ErrorKind::Unsupported => {
                Error::usage("this system has no file locks: leave out --resume")
            }
            Refusal::Unsafe(_) | Refusal::Busy => refused(Name::File(unfinished(path)), refusal),
            _ => refused(&name, refusal),
        })?;
        Ok(Self { sink: Sink::File(file), name })
    }

    /// Refuses an output that is also the input: bytes would be read again without end, or overwritten before
    /// they are read. A disk is refused unless bytes stay `in_place`.
    pub(crate) fn apart_from(&self, input: &Input, in_place: bool) -> Result<(), Error> {
        let Sink::Stream(file) = &self.sink else { return Ok(()) };
        match (input.metadata(), file.metadata()) {
            (Ok(read), Ok(written)) if system::is_one(&read, &written, !in_place) => Err(Error::usage(
                format!("{} and {} are one file: write to another", input.name(), self.name),
            )),
            _ => Ok(()),
        }
    }

    /// Keeps the unfinished file from here on, if it may be resumed.
    pub(crate) fn stay(&mut self) {
        if let Sink::File(file) = &mut self.sink {
            file.stay();
        }
    }

    /// The underlying file, if it can be written at any position and is renamed at the end.
    pub(crate) const fn unfinished_file(&self) -> Option<&File> {
        match &self.sink {
            Sink::Stream(_) => None,
            Sink::File(file) => Some(file.file()),
        }
    }

    /// Keeps the first `len_bytes` as [`unfinished`], readable only by the owner, and gives that name. Bytes
    /// after them from an earlier run stay.
    pub(crate) fn keep(self, len_bytes: u64) -> Result<Option<PathBuf>, Error> {
        let Self { sink: Sink::File(file), name } = self else {
            return Ok(None);
        };
        let kept = file.keep(len_bytes).map(Some);
        kept.map_err(|refusal| match (refusal, &name) {
            (Refusal::Exists, Name::File(path)) => {
                let part = Name::File(unfinished(path));
                let why =
                    format!("{part} exists, so the authentic beginning is not kept: remove that file first");
                Error::new(Exit::WouldOverwrite, why)
            }
            (refusal, name) => refused(name, refusal),
        })
    }

    /// The name for messages.
    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }

    /// Completes the output: a file gets its name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        match self.sink {
            Sink::Stream(_) => Ok(()),
            Sink::File(file) => file.finish().map_err(|refusal| refused(&self.name, refusal)),
        }
    }
}

/// Completes several outputs. They are synced together, which is fast for small files. Gives a result for
/// each, in order.
pub(crate) fn finish_all(outputs: Vec<Output>) -> Vec<Result<(), Error>> {
    let (mut files, mut names) = (Vec::new(), Vec::new());
    let mut done: Vec<Option<Result<(), Error>>> = Vec::new();
    for output in outputs {
        match output.sink {
            Sink::Stream(_) => done.push(Some(Ok(()))),
            Sink::File(file) => {
                files.push(file);
                names.push(output.name);
                done.push(None);
            }
        }
    }
    let finished = crossgrain_files::finish_all(files).into_iter().zip(names);
    let mut finished = finished.map(|(done, name)| done.map_err(|refusal| refused(name, refusal)));
    done.into_iter().map(|done| done.or_else(|| finished.next()).unwrap_or(Ok(()))).collect()
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stream(file) => file.write(bytes),
            Sink::File(file) => file.file().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stream(file) => file.flush(),
            Sink::File(file) => file.file().flush(),
        }
    }
}

/// The error message for a refusal to write a file.
pub(crate) fn refused(name: impl Display, refusal: Refusal) -> Error {
    let in_the_way = |why: &str| Error::new(Exit::WouldOverwrite, format!("{name} {why}"));
    match refusal {
        Refusal::Io(error) => Error::write(name, &error),
        Refusal::Exists => in_the_way("exists: choose another name, or replace it by --force"),
        Refusal::ForeignLink => {
            in_the_way("is a link that another user made: remove it, or choose another name")
        }
        Refusal::ForeignSpecial => in_the_way("was put there by another user: name a file, or remove it"),
        Refusal::Busy => in_the_way("is being written by another run: let it finish"),
        Refusal::NoFile => Error::usage(format!("{name} is no file: choose another name")),
        Refusal::Unsafe(why) => {
            Error::usage(format!("{name} {why}, and so is not continued: remove it, or mend that"))
        }
    }
}

/// Refuses one file for two purposes, however its name is spelt. Each path comes with the option that names
/// it.
pub(crate) fn apart(one: (&str, Option<&Path>), other: (&str, Option<&Path>)) -> Result<(), Error> {
    let ((option, path), (other, same)) = (one, other);
    match (path, same) {
        (Some(path), Some(same)) if is_same(path, same) => {
            Err(Error::usage(format!("{option} and {other} name one file: give each its own")))
        }
        _ => Ok(()),
    }
}

/// Writes a complete file.
pub(crate) fn write_file(path: &Path, replace: bool, contents: &str) -> Result<(), Error> {
    let mut output = Output::file(path, replace, Content::Open)?;
    let written = output.write_all(contents.as_bytes());
    written.map_err(|error| Error::write(output.name(), &error))?;
    output.finish()
}

/// The path with a suffix appended to the file name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// The path without a suffix of the file name; `None` if it has another end, or would be empty.
pub(crate) fn without_suffix(path: &Path, suffix: &str) -> Option<PathBuf> {
    let name = path.file_name()?;
    #[cfg(unix)]
    let stem = {
        use std::os::unix::ffi::OsStrExt as _;
        std::ffi::OsStr::from_bytes(name.as_bytes().strip_suffix(suffix.as_bytes())?)
    };
    #[cfg(not(unix))]
    let stem = std::ffi::OsStr::new(name.to_str()?.strip_suffix(suffix)?);
    if stem.is_empty() { None } else { Some(path.with_file_name(stem)) }
}

/// Opens a file of an earlier run for reading and appending. A pipe or device is written directly.
pub(crate) fn continued(options: &mut fs::OpenOptions, path: &Path) -> Result<File, Error> {
    match open_special(path) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => continued_file(options, path),
        Err(refusal) => Err(refused(Name::File(path.to_owned()), refusal)),
    }
}

/// The same, but only for a regular file.
pub(crate) fn continued_file(options: &mut fs::OpenOptions, path: &Path) -> Result<File, Error> {
    let opened = crossgrain_files::continued(options, path);
    opened.map_err(|refusal| refused(Name::File(path.to_owned()), refusal))
}

/// Standard output without the standard library's buffer.
#[cfg(unix)]
pub(crate) fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    if system::began_closed(io::stdout()) {
        return Err(closed());
    }
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard output without the standard library's buffer.
#[cfg(windows)]
pub(crate) fn standard_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

/// Standard output without the standard library's buffer.
#[cfg(target_os = "wasi")]
pub(crate) fn standard_output() -> io::Result<File> {
    Ok(system::standard_stream(1))
}

/// The error for a standard stream that was closed at program start.
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

/// Writes all of `bytes` at a position. WASI 0.1 has no threads, so no other write comes between the two calls.
#[cfg(target_os = "wasi")]
pub(crate) fn write_all_at(mut file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
    use std::io::Seek as _;
    file.seek(io::SeekFrom::Start(position))?;
    file.write_all(bytes)
}
