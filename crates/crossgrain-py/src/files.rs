//! Encrypted files, as `crossgrain encrypt` writes them (docs/format.md), with progress told to Python.
//!
//! A file appears under its name when it is whole, and its bytes were found authentic if it was decrypted.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crossgrain::container::{
    Argon2id, Decryptor, Encryptor, Error as Refusal, Header, Limits, Secret, Suite,
};
use crossgrain::mode::Options;
use pyo3::prelude::*;
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

use crate::buffer::Lent;
use crate::{Error, Forged, pool};

/// Bytes between two tellings of progress.
const STEP_BYTES: usize = 1 << 20;

/// What is refused, or the system's error.
fn refused(refusal: Refusal) -> PyErr {
    match refusal {
        Refusal::Io(error) => failed(error),
        Refusal::Damaged(damage) => Forged::new_err(damage.to_string()),
        refusal => Error::new_err(refusal.to_string()),
    }
}

/// An error of a stream, which may be a refusal in disguise.
fn failed(error: io::Error) -> PyErr {
    error.downcast::<Refusal>().map_or_else(PyErr::from, refused)
}

/// Encrypts or decrypts a file into another, and gives the length of the plaintext.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's side names them")]
pub(crate) fn file(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    decrypt: bool,
    secret: &Bound<'_, PyAny>,
    is_passphrase: bool,
    suite: &str,
    overwrite: bool,
    progress: Option<Bound<'_, PyAny>>,
    threads: usize,
) -> PyResult<u64> {
    let secret = Lent::to_read(secret, "the key")?;
    let secret = if is_passphrase { Secret::Passphrase(secret.bytes()) } else { Secret::Key(secret.bytes()) };
    let mut input = File::open(&source).map_err(|error| told(error, &source))?;
    let total_bytes = input.metadata().map_err(|error| told(error, &source))?.len();
    if !overwrite && target.exists() {
        return Err(told(io::ErrorKind::AlreadyExists.into(), &target));
    }
    let mut output = temporary_beside(&target).map_err(|error| told(error, &target))?;
    let options = Options { threads, ..Options::default() };
    let step = Step { threads, total_bytes, progress };
    let len_bytes = if decrypt {
        let begun =
            pool::run(py, threads, || Decryptor::new(&mut input, secret, &Limits::default(), &options))?;
        let mut plain = begun.map_err(refused)?;
        step.copy(py, &mut plain, &mut output)?
    } else {
        let suite: Suite = suite.parse().map_err(refused)?;
        let begun = pool::run(py, threads, || {
            let header = match secret {
                Secret::Key(_) => Header::of_key(suite),
                Secret::Passphrase(_) => Header::of_passphrase(suite, Argon2id::fresh()?),
            };
            Encryptor::new(&mut output, &header, secret, &options)
        })?;
        let mut sealed = begun.map_err(refused)?;
        let len_bytes = step.copy(py, &mut input, &mut sealed)?;
        pool::run(py, threads, || sealed.finish().map(|_| ()))?.map_err(refused)?;
        len_bytes
    };
    // The name must not outlive a power cut that the bytes do not.
    output.as_file().sync_all().map_err(|error| told(error, &target))?;
    let named = if overwrite { output.persist(&target) } else { output.persist_noclobber(&target) };
    named.map_err(|error| told(error.error, &target))?;
    Ok(len_bytes)
}

/// How bytes are passed on, a step at a time.
struct Step<'py> {
    threads: usize,
    total_bytes: u64,
    progress: Option<Bound<'py, PyAny>>,
}

impl Step<'_> {
    /// Passes everything on, tells of every step, and gives its length. What Python raises meanwhile ends it.
    fn copy(
        &self,
        py: Python<'_>,
        input: &mut (impl Read + Send),
        output: &mut (impl Write + Send),
    ) -> PyResult<u64> {
        let mut buffer = Zeroizing::new(vec![0; STEP_BYTES]);
        let mut done_bytes = 0;
        loop {
            let step = || {
                let count = fill(input, &mut buffer)?;
                output.write_all(&buffer[..count]).map(|()| count)
            };
            let count = pool::run(py, self.threads, step)?.map_err(failed)?;
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

/// Reads until the buffer is full or the input ends.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match input.read(&mut buffer[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// A temporary file in the folder of `path`, where a rename is all it takes, with the rights of any new file.
fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".crossgrain-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the umask
    builder.tempfile_in(folder.unwrap_or_else(|| Path::new(".")))
}

/// The system's error with the file it is about, as the exception that Python has for its kind.
fn told(error: io::Error, path: &Path) -> PyErr {
    io::Error::new(error.kind(), format!("{}: {error}", path.display())).into()
}
