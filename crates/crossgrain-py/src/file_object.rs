//! The ends of an encrypted file: a file of the system, or a Python object with the methods of a binary file.
//!
//! Work runs without the global lock, on any thread. Each call of a method takes the lock.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::Lent;

/// A source of ciphertext.
pub(crate) enum Input {
    File(File),
    Object(Py<PyAny>),
}

impl Input {
    /// The object, if it can be read.
    pub(crate) fn of_object(object: &Bound<'_, PyAny>) -> Option<Self> {
        object.hasattr("read").unwrap_or(false).then(|| Self::Object(object.clone().unbind()))
    }
}

/// A goal of ciphertext.
pub(crate) enum Output {
    File(File),
    Object(Py<PyAny>),
}

impl Output {
    /// The object, if it can be written.
    pub(crate) fn of_object(object: &Bound<'_, PyAny>) -> Option<Self> {
        object.hasattr("write").unwrap_or(false).then(|| Self::Object(object.clone().unbind()))
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let object = match self {
            Self::File(file) => return file.read(buffer),
            Self::Object(object) => object,
        };
        let read = |py: Python<'_>| {
            let data = object.bind(py).call_method1(intern!(py, "read"), (buffer.len(),))?;
            let data = Lent::to_read(&data, "what the file object's read returned")?;
            Ok::<_, PyErr>(buffer.get_mut(..data.len_bytes()).map(|buffer| {
                buffer.copy_from_slice(data.bytes());
                buffer.len()
            }))
        };
        Python::attach(read)?
            .ok_or_else(|| io::Error::other("the file object's read returned too many bytes"))
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let object = match self {
            Self::File(file) => return file.seek(to),
            Self::Object(object) => object,
        };
        Ok(Python::attach(|py| {
            let name = intern!(py, "seek");
            let object = object.bind(py);
            match to {
                SeekFrom::Start(offset) => object.call_method1(name, (offset, 0)),
                SeekFrom::Current(offset) => object.call_method1(name, (offset, 1)),
                SeekFrom::End(offset) => object.call_method1(name, (offset, 2)),
            }?
            .extract::<u64>()
        })?)
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        match self {
            Self::File(file) => file.stream_position(),
            Self::Object(object) => {
                Ok(Python::attach(|py| object.bind(py).call_method0(intern!(py, "tell"))?.extract::<u64>())?)
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let object = match self {
            Self::File(file) => return file.write(bytes),
            Self::Object(object) => object,
        };
        let write = |py: Python<'_>| {
            let data = PyBytes::new(py, bytes);
            let count = object.bind(py).call_method1(intern!(py, "write"), (data,))?;
            // Many objects return nothing, and have then written everything.
            count.extract::<Option<usize>>().map(|count| count.unwrap_or(bytes.len()))
        };
        let count = Python::attach(write)?;
        if count > bytes.len() {
            return Err(io::Error::other("the file object's write returned too large a number"));
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Object(object) => Ok(Python::attach(|py| {
                let object = object.bind(py);
                match object.hasattr("flush")? {
                    true => object.call_method0(intern!(py, "flush")).map(drop),
                    false => Ok::<_, PyErr>(()),
                }
            })?),
        }
    }
}
