//! Encrypted files as `crossgrain encrypt` writes them (docs/format.md): whole files with progress reports to
//! Python, and the reading and writing halves of a file object.
//!
//! A file gets its name only when it is complete. A decrypted file also has to be authentic.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{mem, process};

use crossgrain::mode::Options;
use crossgrain::plan::Costs;
use crossgrain_container::{Damage, Decryptor, Encryptor, Error as Refusal, Header, Limits, Suite, fill};
use crossgrain_files::{Content, Error as NotWritten, NewFile, Stamp, begin, settled};
use pyo3::exceptions::{PyFileExistsError, PyOSError};
use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::buffer::Lent;
use crate::file_object::{Input, Output};
use crate::secret::{Known, Locks};
use crate::{Damaged, Error, Truncated, WrongKey, pool, wisdom};

/// Bytes between two progress reports.
const STEP_BYTES: usize = 1 << 20;

/// `EEXIST` on all systems.
const EXISTS: i32 = 17;

/// An error of the container, or the system's error inside it, as a Python exception. `path` is the file that
/// was read or written, if it has one.
pub(crate) fn refused(refusal: Refusal, path: Option<&Path>) -> PyErr {
    let told = refusal.to_string();
    match refusal {
        Refusal::Io(error) => failed(error, path),
        Refusal::WrongKey | Refusal::WantsKey | Refusal::WantsPassphrase | Refusal::WantsIdentity => {
            WrongKey::new_err(told)
        }
        Refusal::Damaged(Damage::Truncated { .. }) | Refusal::TruncatedHeader => Truncated::new_err(told),
        Refusal::Damaged(_) | Refusal::BadHeader(_) | Refusal::ForgedHeader => Damaged::new_err(told),
        _ => Error::new_err(told),
    }
}

/// An error of a stream. It may contain an error of the container, or an exception of a file object.
fn failed(error: io::Error, path: Option<&Path>) -> PyErr {
    match (error.downcast::<Refusal>(), path) {
        (Ok(refusal), _) => refused(refusal, path),
        (Err(error), Some(path)) => told(error, path),
        (Err(error), None) => error.into(),
    }
}

/// An encrypted file, open for reading.
#[pyclass]
pub(crate) struct Reader {
    inner: Decryptor<Input>,
    path: Option<PathBuf>,
    threads: usize,
}

#[pymethods]
impl Reader {
    #[new]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        secret: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<Self> {
        let known = Known::of(secret)?;
        let (mut input, path) = match Input::of_object(source) {
            Some(input) => (input, None),
            None => {
                let path: PathBuf = source.extract()?;
                (Input::File(File::open(&path).map_err(|error| told(error, &path))?), Some(path))
            }
        };
        let named = |refusal| refused(refusal, path.as_deref());
        let header = pool::run(py, 1, || Header::read(&mut input))?.map_err(named)?;
        let options = options(threads, wisdom::costs(py, header.suite.cipher())?);
        let begun = pool::run(py, known.deriving_threads(threads), || {
            let key = header.input_key(known.secret(), &Limits::default())?;
            Decryptor::after(input, &header, &key, &options)
        })?;
        let inner = begun.map_err(named)?;
        Ok(Self { inner, path, threads })
    }

    /// Reads into `out` until it is full or the file ends. Returns the number of bytes.
    fn readinto(&mut self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut out = Lent::to_write(out, "the buffer")?;
        let threads = pool::worth(self.threads, out.len_bytes());
        pool::run(py, threads, || fill(&mut self.inner, out.bytes_mut()))?
            .map_err(|error| failed(error, self.path.as_deref()))
    }

    /// Seeks, relative to the beginning (0), the current position (1) or the end (2).
    fn seek(&mut self, py: Python<'_>, offset: i64, whence: u8) -> PyResult<u64> {
        let to = match whence {
            0 => u64::try_from(offset).ok().map(SeekFrom::Start),
            1 => Some(SeekFrom::Current(offset)),
            2 => Some(SeekFrom::End(offset)),
            _ => None,
        };
        let to = to.ok_or_else(|| Error::new_err(format!("no place is {offset} bytes from {whence}")))?;
        pool::run(py, 1, || self.inner.seek(to))?.map_err(|error| failed(error, self.path.as_deref()))
    }
}

/// An encrypted file that is being written. It gets its name when it is finished.
#[pyclass]
pub(crate) struct Writer {
    /// `None` once it is finished or a write has failed.
    inner: Option<(Encryptor<Output>, Option<NewFile>)>,
    /// The process that created it. In a forked process, a copy would encrypt other bytes under the same
    /// nonces.
    process: u32,
    path: Option<PathBuf>,
    threads: usize,
}

#[pymethods]
impl Writer {
    #[new]
    fn new(
        py: Python<'_>,
        target: &Bound<'_, PyAny>,
        own: &Bound<'_, PyAny>,
        recipients: &Bound<'_, PyAny>,
        suite: &str,
        overwrite: bool,
        threads: usize,
    ) -> PyResult<Self> {
        let locks = Locks::of(own, recipients)?;
        let suite: Suite = suite.parse().map_err(|refusal| refused(refusal, None))?;
        let options = options(threads, wisdom::costs(py, suite.cipher())?);
        let (output, place, path) = match Output::of_object(target) {
            Some(output) => (output, None, None),
            None => {
                let path: PathBuf = target.extract()?;
                let (place, file) = begun(&path, overwrite, Content::Open)?;
                (Output::File(file), Some(place), Some(path))
            }
        };
        let deriving = || locks.begin(output, suite, &options);
        let begun = pool::run(py, locks.deriving_threads(threads), deriving)?;
        let encryptor = begun.map_err(|refusal| refused(refusal, path.as_deref()))?;
        Ok(Self { inner: Some((encryptor, place)), process: process::id(), path, threads })
    }

    /// Writes all bytes and returns their number. After an error no file is created.
    fn write(&mut self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let data = Lent::to_read(data, "data")?;
        let (threads, (mut encryptor, place)) = (self.threads, self.under_way()?);
        pool::run(py, threads, || encryptor.write_all(data.bytes()))?
            .map_err(|error| failed(error, self.path.as_deref()))?;
        self.inner = Some((encryptor, place));
        Ok(data.len_bytes())
    }

    /// Writes the rest and gives the file its name.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let (encryptor, place) = self.under_way()?;
        let path = self.path.as_deref();
        pool::run(py, self.threads, || encryptor.finish())?.map_err(|refusal| refused(refusal, path))?;
        match (place, path) {
            (Some(place), Some(path)) => place.finish().map_err(|why| not_written(why, path)),
            _ => Ok(()),
        }
    }
}

impl Writer {
    fn under_way(&mut self) -> PyResult<(Encryptor<Output>, Option<NewFile>)> {
        if self.process != process::id() {
            let why = "another process began the file, from which this one was forked: begin another file";
            return Err(Error::new_err(why));
        }
        let why = "the file is finished, or an earlier write failed: begin another";
        self.inner.take().ok_or_else(|| Error::new_err(why))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The temporary name of the file, if any, must be removed by the other process.
        if self.process != process::id()
            && let Some((_, place)) = self.inner.take()
        {
            mem::forget(place);
        }
    }
}

pub(crate) fn options(threads: usize, costs: Option<Arc<Costs>>) -> Options {
    Options { threads, costs, ..Options::default() }
}

/// Encrypts a file to another and returns the length of the plaintext.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's side names them")]
pub(crate) fn encrypt_file(
    py: Python<'_>,
    source: PathBuf,
    target: &Bound<'_, PyAny>,
    own: &Bound<'_, PyAny>,
    recipients: &Bound<'_, PyAny>,
    suite: &str,
    overwrite: bool,
    progress: Option<Bound<'_, PyAny>>,
    threads: usize,
) -> PyResult<u64> {
    let (mut input, step) = Step::new(&source, threads, progress)?;
    let before = settled(&input).map_err(|error| told(error, &source))?;
    let mut writer = Writer::new(py, target, own, recipients, suite, overwrite, threads)?;
    let (mut encryptor, place) = writer.under_way()?;
    let len_bytes = step.copy(py, (&mut input, Some(&source)), (&mut encryptor, writer.path.as_deref()))?;
    let after = input.metadata().map_err(|error| told(error, &source))?;
    // Files generated by the system have length 0. Times of files other than regular ones mean nothing.
    let is_whole = len_bytes == before.len() || before.len() == 0;
    if before.is_file() && (Stamp::of(&before) != Stamp::of(&after) || !is_whole) {
        let why = format!("{} was changed while it was read: nothing was written", source.display());
        return Err(Error::new_err(why));
    }
    writer.inner = Some((encryptor, place));
    writer.finish(py)?;
    Ok(len_bytes)
}

/// Decrypts a file to another and returns the length of the plaintext.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's side names them")]
pub(crate) fn decrypt_file(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    target: PathBuf,
    secret: &Bound<'_, PyAny>,
    overwrite: bool,
    progress: Option<Bound<'_, PyAny>>,
    threads: usize,
) -> PyResult<u64> {
    let (place, mut output) = begun(&target, overwrite, Content::Plaintext)?;
    let (_, step) = Step::new(&source.extract::<PathBuf>()?, threads, progress)?;
    let Reader { mut inner, path, .. } = Reader::new(py, source, secret, threads)?;
    let len_bytes = step.copy(py, (&mut inner, path.as_deref()), (&mut output, Some(&target)))?;
    place.finish().map_err(|why| not_written(why, &target))?;
    Ok(len_bytes)
}

/// Copies bytes in steps, with progress reports.
struct Step<'py> {
    threads: usize,
    total_bytes: u64,
    progress: Option<Bound<'py, PyAny>>,
}

impl<'py> Step<'py> {
    /// Opens a file for copying.
    fn new(source: &Path, threads: usize, progress: Option<Bound<'py, PyAny>>) -> PyResult<(File, Self)> {
        let input = File::open(source).map_err(|error| told(error, source))?;
        let total_bytes = input.metadata().map_err(|error| told(error, source))?.len();
        Ok((input, Self { threads, total_bytes, progress }))
    }

    /// Copies everything, reports each step, and returns the length. An exception from Python ends it.
    fn copy(
        &self,
        py: Python<'_>,
        (input, source): (&mut (impl Read + Send), Option<&Path>),
        (output, target): (&mut (impl Write + Send), Option<&Path>),
    ) -> PyResult<u64> {
        let mut buffer = Zeroizing::new(vec![0; STEP_BYTES]);
        let mut done_bytes = 0;
        loop {
            let step = || {
                let count = fill(input, &mut buffer).map_err(|error| (error, source))?;
                output.write_all(&buffer[..count]).map(|()| count).map_err(|error| (error, target))
            };
            let count = pool::run(py, self.threads, step)?.map_err(|(error, path)| failed(error, path))?;
            done_bytes += count as u64;
            if let Some(progress) = &self.progress {
                progress.call1((done_bytes, self.total_bytes))?;
            }
            py.check_signals()?;
            if count < STEP_BYTES {
                return Ok(done_bytes);
            }
        }
    }
}

/// A new file, and a handle for writing to it.
fn begun(target: &Path, overwrite: bool, content: Content) -> PyResult<(NewFile, File)> {
    let place = begin(target, overwrite, content, &mut |_| Ok(())).map_err(|why| not_written(why, target))?;
    let output = place.file().try_clone().map_err(|error| told(error, target))?;
    Ok((place, output))
}

/// The reason why a file cannot be written, as the matching Python exception.
fn not_written(why: NotWritten, path: &Path) -> PyErr {
    match why {
        NotWritten::Io(error) => told(error, path),
        NotWritten::Exists => {
            PyFileExistsError::new_err((EXISTS, "File exists", path.as_os_str().to_owned()))
        }
        refusal => Error::new_err(format!("{}: {refusal}", path.display())),
    }
}

/// A system error as Python's own functions raise it, with its number and the path.
pub(crate) fn told(error: io::Error, path: &Path) -> PyErr {
    let Some(number) = error.raw_os_error() else { return error.into() };
    let name: OsString = path.as_os_str().to_owned();
    Python::attach(|py| {
        let reason =
            py.import("os").and_then(|os| os.call_method1("strerror", (number,))?.extract::<String>());
        PyOSError::new_err((number, reason.unwrap_or_else(|_| error.to_string()), name))
    })
}
