//! Word lists of a search: the bytes of a list, or the path of a file, read as the command line reads them.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crossgrain::engine::auxiliary;
use crossgrain_search::{Form, Rule, Unknown, Words};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};

use crate::buffer::Lent;
use crate::search::{Job, told};
use crate::{Error, files};

/// Bytes read at a time when words are only counted.
pub(crate) const COUNT_BYTES: usize = 1 << 20;

/// Skipped rules of a file: the index of the file, their count, the line of the first, and the first.
type Skipped = (usize, u64, u64, String);

/// A word list.
pub(crate) enum List {
    Memory(Lent),
    File(PathBuf),
}

/// A stream of words.
pub(crate) type Stream<'a> = Words<Box<dyn Read + Send + 'a>>;

impl List {
    /// The list that Python gave as the argument `name`: a path as a string, or bytes.
    pub(crate) fn new(words: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if words.is_instance_of::<PyString>() {
            return Ok(Self::File(words.extract()?));
        }
        Ok(Self::Memory(Lent::to_read(words, name)?))
    }

    /// The words from the first on.
    pub(crate) fn words(&self, form: Form, chunk_bytes: usize) -> PyResult<Stream<'_>> {
        Ok(match self {
            Self::Memory(lent) => Words::decompressed(lent.bytes(), form, chunk_bytes),
            Self::File(path) => Words::decompressed(open(path)?, form, chunk_bytes),
        })
    }

    /// The words, which take the list with them.
    fn into_words(self, form: Form, chunk_bytes: usize) -> PyResult<Stream<'static>> {
        Ok(match self {
            Self::Memory(lent) => Words::decompressed(Cursor::new(lent), form, chunk_bytes),
            Self::File(path) => Words::decompressed(open(&path)?, form, chunk_bytes),
        })
    }

    /// The number of words.
    pub(crate) fn count(&self, form: Form) -> PyResult<u64> {
        self.words(form, COUNT_BYTES)?.count().map_err(|error| self.failed(error))
    }

    /// An error of the list, with the path of a file.
    fn failed(&self, error: std::io::Error) -> PyErr {
        match self {
            Self::File(path) => list_error(error, Some(path)),
            Self::Memory(_) => list_error(error, None),
        }
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

fn open(path: &Path) -> PyResult<File> {
    auxiliary::open(File::options().read(true), path).map_err(|error| files::told(error, path))
}

fn list_error(error: std::io::Error, path: Option<&PathBuf>) -> PyErr {
    match path {
        Some(path) if error.raw_os_error().is_some() => files::told(error, path),
        _ => told(crossgrain_search::Error::Words(error)),
    }
}

/// The words of a list in pieces, for a search whose words are sent to other machines.
#[pyclass(frozen)]
pub(crate) struct WordPieces(Mutex<Stream<'static>>);

#[pymethods]
impl WordPieces {
    /// The pieces of a job's list.
    #[new]
    fn new(py: Python<'_>, job: Job<'_>) -> PyResult<Self> {
        let search = job.search(py)?;
        let (list, form) = job.list(&search)?;
        Ok(Self(Mutex::new(list.into_words(form, COUNT_BYTES)?)))
    }

    /// About the next `len_bytes` of words: the number of the first word, the number of words, and their
    /// lines. None at the end.
    fn next<'py>(
        &self,
        py: Python<'py>,
        len_bytes: usize,
    ) -> PyResult<Option<(u64, u64, Bound<'py, PyBytes>)>> {
        let chunk = py.detach(|| {
            let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            words.set_chunk_bytes(len_bytes);
            words.chunk()
        });
        let chunk = chunk.map_err(|error| list_error(error, None))?;
        Ok(chunk.map(|chunk| (chunk.first(), chunk.count(), PyBytes::new(py, chunk.lines()))))
    }
}

/// The rules of a search: a list for each text of a file, or one of single rules. Without rules there is no list.
pub(crate) fn rules(single: &[Vec<u8>], texts: &[PyBackedBytes], strict: bool) -> PyResult<Vec<Vec<Rule>>> {
    let of_text = |text: &PyBackedBytes| {
        if strict { Rule::parse_all(text) } else { Rule::parse_known(text).map(|(known, _)| known) }
    };
    let lists: Result<Vec<_>, _> = if texts.is_empty() && !single.is_empty() {
        single.iter().map(|rule| Rule::parse(rule)).collect::<Result<_, _>>().map(|rules| vec![rules])
    } else {
        texts.iter().map(of_text).collect()
    };
    lists.map_err(told)
}

/// The rules in texts that have unknown functions.
#[pyfunction]
pub(crate) fn search_skipped_rules(texts: Vec<PyBackedBytes>) -> PyResult<Vec<Skipped>> {
    let mut skipped = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        if let (_, Some(Unknown { lines, first, rule })) = Rule::parse_known(text).map_err(told)? {
            skipped.push((index, lines, first, rule));
        }
    }
    Ok(skipped)
}

/// The length of the words of a list of keys as bytes.
pub(crate) fn form(name: &str, key_bytes: Option<usize>) -> PyResult<Form> {
    Ok(match name {
        "lines" => Form::Lines,
        "hex" => Form::Hex,
        "raw" => {
            let why = "the file takes a passphrase, which no key is: give words as lines";
            Form::Records { len_bytes: key_bytes.ok_or_else(|| Error::new_err(why))? }
        }
        form => return Err(crate::search::unknown("form", form, "lines, hex or raw")),
    })
}
