//! The header of an encrypted file: the bytes that a search needs, without the rest of the file.
//!
//! [`search_file`] lets a format read the file once and records the bytes that it reads. [`Header`] replays
//! them. A search therefore takes only these bytes to another process or machine.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crossgrain::mode::Mode;
use crossgrain_search::format::{Details, Format, HeaderPlace, Locked};
use crossgrain_search::{Error as Refusal, Hash, Look, Search};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::search::{told, unknown};
use crate::{files, refused};

/// The most bytes of a file that a search takes with it. Only an entry of a zip archive can be so long.
const HEADER_BYTES_MAX: u64 = 256 << 20;

/// Bytes of a file, by their offset.
type Pieces = Vec<(u64, Vec<u8>)>;

/// The result of [`search_file`]: the format, the length of the file, the bytes that the format read with
/// their offsets, how often wrong passphrases fit, and advice for a search without a find.
type Recorded<'py> = (&'static str, u64, Vec<(u64, Bound<'py, PyBytes>)>, Option<String>, Option<String>);

/// Facts about a file that its header does not contain.
#[derive(FromPyObject)]
pub(crate) struct Facts {
    #[pyo3(item)]
    cipher: Option<String>,
    #[pyo3(item)]
    mode: Option<String>,
    #[pyo3(item)]
    hash: Option<String>,
    #[pyo3(item)]
    pbkdf2: bool,
    #[pyo3(item)]
    iterations: Option<u32>,
    #[pyo3(item)]
    pim: Option<u32>,
    #[pyo3(item)]
    slot: Option<u32>,
    #[pyo3(item)]
    header: Option<String>,
    #[pyo3(item)]
    plain: Option<(Vec<u8>, Vec<u8>)>,
    #[pyo3(item)]
    looks: Option<String>,
}

/// The recorded bytes of a file: the name of its format, the length of the file, and the bytes.
#[derive(FromPyObject)]
pub(crate) struct Header(String, u64, Vec<(u64, PyBackedBytes)>);

impl Facts {
    fn details(&self) -> PyResult<Details> {
        Ok(Details {
            cipher: self.cipher.as_deref().map(str::parse).transpose().map_err(refused)?,
            mode: self.mode.as_deref().map(str::parse::<Mode>).transpose().map_err(refused)?,
            hash: self.hash.as_deref().map(hash).transpose()?,
            is_pbkdf2: self.pbkdf2,
            iterations: self.iterations,
            pim: self.pim,
            slot: self.slot,
            header: self.header.as_deref().map(place).transpose()?,
            plaintext: self.plain.clone(),
            look: self.looks.as_deref().map(look).transpose()?,
        })
    }
}

fn hash(name: &str) -> PyResult<Hash> {
    let all = || Hash::ALL.iter().map(|hash| hash.name()).collect::<Vec<_>>().join(", ");
    Hash::named(name).ok_or_else(|| unknown("hash", name, &format!("one of {}", all())))
}

fn place(name: &str) -> PyResult<HeaderPlace> {
    Ok(match name {
        "outer" => HeaderPlace::Outer,
        "hidden" => HeaderPlace::Hidden,
        "backup" => HeaderPlace::Backup,
        "hidden-backup" => HeaderPlace::HiddenBackup,
        "system" => HeaderPlace::System,
        name => return Err(unknown("header", name, "outer, hidden, backup, hidden-backup or system")),
    })
}

/// The look of a plaintext, by its name.
pub(crate) fn look(name: &str) -> PyResult<Look> {
    Ok(match name {
        "any" => Look::Anything,
        "printable" => Look::Printable,
        "text" => Look::Text,
        "file" => Look::file(),
        name => return Err(unknown("look", name, "any, printable, text or file")),
    })
}

fn format(name: &str) -> PyResult<&'static Format> {
    Format::named(name).ok_or_else(|| unknown("format", name, &format!("one of {}", Format::names())))
}

/// Reads the header of a file that is given by its path or its bytes.
#[pyfunction]
pub(crate) fn search_file<'py>(
    py: Python<'py>,
    file: &Bound<'py, PyAny>,
    format_name: Option<String>,
    facts: Facts,
) -> PyResult<Recorded<'py>> {
    let (details, named) = (facts.details()?, format_name.as_deref().map(format).transpose()?);
    let path = if file.is_instance_of::<PyBytes>() { None } else { Some(file.extract::<PathBuf>()?) };
    let opened = match &path {
        None => Opened::Bytes(Cursor::new(Arc::new(file.extract()?))),
        Some(path) => Opened::File(File::open(path).map_err(|error| files::told(error, path))?),
    };
    let read = py.detach(|| recorded(opened, named, &details));
    let (format, len_bytes, pieces, locked) = read.map_err(|refusal| match (refusal, &path) {
        (Refusal::ReadFile(error), Some(path)) => files::told(error, path),
        (refusal, _) => told(refusal),
    })?;
    let pieces = pieces.iter().map(|(from, bytes)| (*from, PyBytes::new(py, bytes))).collect();
    Ok((format.name, len_bytes, pieces, locked.doubt, locked.advice))
}

/// Lets a format read a file. Returns the format, the length of the file and the bytes that were read.
fn recorded(
    mut file: Opened,
    named: Option<&'static Format>,
    details: &Details,
) -> Result<(&'static Format, u64, Pieces, Locked), Refusal> {
    let len_bytes = file.seek(SeekFrom::End(0)).map_err(Refusal::ReadFile)?;
    file.seek(SeekFrom::Start(0)).map_err(Refusal::ReadFile)?;
    let format = named.map_or_else(|| Format::detect(&mut file), Ok)?;
    let mut later = file.again().map_err(Refusal::ReadFile)?;
    let record = Arc::<Mutex<Pieces>>::default();
    let locked = format.read(Recorder { file, at: 0, record: Arc::clone(&record) }, details)?;
    let mut pieces = std::mem::take(&mut *record.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(range) = locked.test.reads_later() {
        let count = range.end.saturating_sub(range.start);
        if count > HEADER_BYTES_MAX {
            let why = "its smallest encrypted entry is longer than 256 MiB: use the command line's search";
            return Err(Refusal::Format { why: why.to_owned() });
        }
        let mut bytes = Vec::new();
        later.seek(SeekFrom::Start(range.start)).map_err(Refusal::ReadFile)?;
        later.take(count).read_to_end(&mut bytes).map_err(Refusal::ReadFile)?;
        pieces.push((range.start, bytes));
    }
    Ok((format, len_bytes, pieces, locked))
}

impl Header {
    /// The search for the passphrase of the file, and whether wrong passphrases fit often.
    pub(crate) fn search(&self, py: Python<'_>, facts: &Facts) -> PyResult<(Search, bool)> {
        let pieces = self.2.iter().map(|(from, bytes)| (*from, bytes.clone_ref(py))).collect();
        let replayed = Replayed { len_bytes: self.1, pieces, at: 0 };
        let locked = format(&self.0)?.read(replayed, &facts.details()?).map_err(told)?;
        let is_doubtful = locked.doubt.is_some();
        Ok((locked.search().map_err(told)?, is_doubtful))
    }
}

/// An open file, or its bytes.
enum Opened {
    File(File),
    Bytes(Cursor<Arc<PyBackedBytes>>),
}

impl Opened {
    /// The same file. Both may share the position.
    fn again(&self) -> io::Result<Self> {
        Ok(match self {
            Self::File(file) => Self::File(file.try_clone()?),
            Self::Bytes(bytes) => Self::Bytes(bytes.clone()),
        })
    }
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Bytes(bytes) => {
                let whole: &[u8] = bytes.get_ref();
                let from = bytes.position().min(whole.len() as u64) as usize;
                let count = (&whole[from..]).read(buffer)?;
                bytes.set_position((from + count) as u64);
                Ok(count)
            }
        }
    }
}

impl Seek for Opened {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Bytes(bytes) => {
                let at = moved(to, bytes.position(), bytes.get_ref().len() as u64)?;
                bytes.set_position(at);
                Ok(at)
            }
        }
    }
}

/// A file whose reader is recorded.
struct Recorder {
    file: Opened,
    at: u64,
    record: Arc<Mutex<Pieces>>,
}

impl Read for Recorder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        let mut pieces = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        // Bytes that follow those of a piece extend it, so that pieces are few.
        match pieces.iter_mut().find(|(from, bytes)| from + bytes.len() as u64 == self.at) {
            Some((_, bytes)) => bytes.extend_from_slice(&buffer[..count]),
            None => pieces.push((self.at, buffer[..count].to_vec())),
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Recorder {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}

/// A file of which only some bytes are known.
struct Replayed {
    len_bytes: u64,
    pieces: Vec<(u64, PyBackedBytes)>,
    at: u64,
}

impl Read for Replayed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.len_bytes || buffer.is_empty() {
            return Ok(0);
        }
        let within = self.pieces.iter().find_map(|(from, bytes)| {
            let skipped = usize::try_from(self.at.checked_sub(*from)?).ok()?;
            bytes.get(skipped..).filter(|rest| !rest.is_empty())
        });
        let mut rest = within.ok_or_else(|| {
            io::Error::other("the search has not all bytes of its header: make the search again")
        })?;
        let count = rest.read(buffer)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Replayed {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = moved(to, self.at, self.len_bytes)?;
        Ok(self.at)
    }
}

/// The position after a seek.
fn moved(to: SeekFrom, at: u64, len_bytes: u64) -> io::Result<u64> {
    let moved = match to {
        SeekFrom::Start(at) => Some(at),
        SeekFrom::End(by) => len_bytes.checked_add_signed(by),
        SeekFrom::Current(by) => at.checked_add_signed(by),
    };
    moved.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a position before the first byte"))
}
