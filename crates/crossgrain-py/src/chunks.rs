//! Chunks of an encrypted file that Python fetched itself, in any order: for file systems that read ranges of
//! remote objects. `files::Reader` is for sources that can be read from beginning to end.

use crossgrain_container::{
    CHUNK_BYTES, HEADER_BYTES_MAX, Header, Limits, PREFIX_BYTES, Payload, SEALED_CHUNK_BYTES, TAG_BYTES,
    prefix,
};
use pyo3::prelude::*;

use crate::buffer::Lent;
use crate::files::{options, refused};
use crate::secret::Known;
use crate::{Error, pool, wisdom};

/// The payload of one encrypted file, for opening its chunks.
#[pyclass(frozen)]
pub(crate) struct Chunks {
    payload: Payload,
    start: usize,
    threads: usize,
}

#[pymethods]
impl Chunks {
    /// Bytes of plaintext in a chunk, bytes of its tag, bytes between the header and the first chunk, and bytes
    /// of the longest header.
    #[classattr]
    const SIZES: (usize, usize, usize, usize) = (CHUNK_BYTES, TAG_BYTES, PREFIX_BYTES, HEADER_BYTES_MAX);

    /// `beginning` is the beginning of the file, at least up to the first chunk.
    #[new]
    fn new(
        py: Python<'_>,
        beginning: &Bound<'_, PyAny>,
        secret: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<Self> {
        let known = Known::of(secret)?;
        let beginning = Lent::to_read(beginning, "beginning")?;
        let (told, mut rest) = (|refusal| refused(refusal, None), beginning.bytes());
        let header = Header::read(&mut rest).map_err(told)?;
        let prefix = prefix(&mut rest).map_err(told)?;
        let start = beginning.len_bytes() - rest.len();
        let options = options(threads, wisdom::costs(py, header.suite.cipher())?);
        let begun = pool::run(py, known.deriving_threads(1), || {
            let key = header.input_key(known.secret(), &Limits::default())?;
            header.payload(&key, &prefix, &options)
        })?;
        Ok(Self { payload: begun.map_err(told)?, start, threads })
    }

    /// The position of the first chunk in the file.
    #[getter]
    const fn start(&self) -> usize {
        self.start
    }

    /// Opens consecutive chunks from number `first` on. `is_last` means that the file ends with them. Returns
    /// the number of bytes written to `out`, which has room for all chunks. After an error `out` is zeros.
    fn open(
        &self,
        py: Python<'_>,
        first: u64,
        is_last: bool,
        sealed: &Bound<'_, PyAny>,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let (sealed, mut out) = (Lent::to_read(sealed, "sealed")?, Lent::to_write(out, "out")?);
        let len_bytes = sealed.len_bytes();
        if !is_last && !len_bytes.is_multiple_of(SEALED_CHUNK_BYTES) {
            return Err(Error::new_err("the bytes end within a chunk: give whole chunks"));
        }
        if out.len_bytes() < len_bytes.div_ceil(SEALED_CHUNK_BYTES) * CHUNK_BYTES {
            return Err(Error::new_err("out is too short for these chunks"));
        }
        let (opened_bytes, opened) = pool::run(py, pool::worth(self.threads, len_bytes), || {
            self.payload.open(first, is_last, sealed.bytes(), out.bytes_mut())
        })?;
        if let Err(refusal) = opened {
            out.bytes_mut().fill(0);
            return Err(refused(refusal, None));
        }
        Ok(opened_bytes)
    }
}
