//! Memory that Python objects lend: bytes, `bytearray`, `memoryview`, NumPy arrays, without a copy.
//!
//! The buffer protocol is in the stable ABI from Python 3.11 on, and PyO3 offers it only there. Python 3.10 has the same
//! functions and the same structure, so they are declared here, and one wheel serves all.

use std::ffi::{c_char, c_int, c_void};

use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi::{Py_ssize_t, PyObject};
use pyo3::prelude::*;

use crossgrain::Buffers;

/// CPython's `Py_buffer`.
#[repr(C)]
struct View {
    buf: *mut c_void,
    obj: *mut PyObject,
    len: Py_ssize_t,
    itemsize: Py_ssize_t,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut Py_ssize_t,
    strides: *mut Py_ssize_t,
    suboffsets: *mut Py_ssize_t,
    internal: *mut c_void,
}

/// Contiguous in C's order, with strides told: what lies otherwise is refused.
const PYBUF_ANY_LAYOUT: c_int = 0x0018;
const PYBUF_WRITABLE: c_int = 0x0001;

unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut PyObject, view: *mut View, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut View);
    fn PyBuffer_IsContiguous(view: *const View, order: c_char) -> c_int;
}

/// The bytes of an object, for as long as this lives. The object cannot be resized meanwhile.
///
/// As with Python's own `hashlib`, whoever lets another thread write to the bytes meanwhile gets what he asked for.
pub(crate) struct Lent(Box<View>);

// SAFETY: the memory does not move while it is lent, whichever thread reads it; release takes the global lock, which
// whoever drops it holds (see `Drop`).
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl Lent {
    /// Bytes to read.
    pub(crate) fn to_read(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        Self::new(object, PYBUF_ANY_LAYOUT, what, "give bytes, a bytearray, a memoryview or an array")
    }

    /// Bytes to write.
    pub(crate) fn to_write(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        let mend = "give a bytearray, a writable memoryview or a writable array";
        Self::new(object, PYBUF_ANY_LAYOUT | PYBUF_WRITABLE, what, mend)
    }

    fn new(object: &Bound<'_, PyAny>, flags: c_int, what: &str, mend: &str) -> PyResult<Self> {
        let mut view = Box::new(View {
            buf: std::ptr::null_mut(),
            obj: std::ptr::null_mut(),
            len: 0,
            itemsize: 0,
            readonly: 0,
            ndim: 0,
            format: std::ptr::null_mut(),
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            suboffsets: std::ptr::null_mut(),
            internal: std::ptr::null_mut(),
        });
        // SAFETY: the object lives, the lock is held, and the view is one of Python's to fill.
        let failed = unsafe { PyObject_GetBuffer(object.as_ptr(), &raw mut *view, flags) } != 0;
        if failed {
            let cause = PyErr::take(object.py());
            let error = PyBufferError::new_err(format!("{what} cannot be used: {mend}"));
            error.set_cause(object.py(), cause);
            return Err(error);
        }
        let lent = Self(view);
        // SAFETY: the view was filled above.
        if unsafe { PyBuffer_IsContiguous(&raw const *lent.0, b'C' as c_char) } == 0 {
            let why = format!("{what} does not lie in one piece: give numpy.ascontiguousarray of it");
            return Err(PyValueError::new_err(why));
        }
        Ok(lent)
    }

    pub(crate) const fn len_bytes(&self) -> usize {
        self.0.len.unsigned_abs()
    }

    /// Bytes in an element.
    pub(crate) const fn item_bytes(&self) -> usize {
        self.0.itemsize.unsigned_abs()
    }

    /// What is lent.
    pub(crate) const fn bytes(&self) -> &[u8] {
        if self.0.len == 0 {
            return &[];
        }
        // SAFETY: the memory is lent, contiguous and so long, for as long as `self` lives.
        unsafe { std::slice::from_raw_parts(self.0.buf.cast(), self.len_bytes()) }
    }

    /// What is lent, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.0.readonly == 0, "asked for to write");
        if self.0.len == 0 {
            return &mut [];
        }
        // SAFETY: as `bytes`, and it was lent to write.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf.cast(), self.len_bytes()) }
    }

    /// What is lent as numbers; `None` if it is no whole number of them, or they do not lie where numbers may.
    pub(crate) fn numbers_mut(&mut self) -> Option<&mut [f64]> {
        // SAFETY: any eight bytes are a number.
        let (before, numbers, after) = unsafe { self.bytes_mut().align_to_mut() };
        (before.is_empty() && after.is_empty()).then_some(numbers)
    }

    /// The first `len_bytes` of input and output as the engine takes them, the very same bytes or bytes apart, and
    /// what follows in the output.
    pub(crate) fn pair<'a>(
        input: &'a Self,
        output: &'a mut Self,
        len_bytes: usize,
    ) -> PyResult<(Buffers<'a>, &'a mut [u8])> {
        let (from, to) = (input.bytes().as_ptr_range(), output.bytes().as_ptr_range());
        let (is_same, overlap) = (from.start == to.start, from.start < to.end && to.start < from.end);
        let (body, tail) = output.bytes_mut().split_at_mut(len_bytes);
        if is_same {
            return Ok((Buffers::in_place(body), tail));
        }
        if overlap {
            let why = "out overlaps data in part: give the same memory, or memory apart from it";
            return Err(PyValueError::new_err(why));
        }
        Ok((Buffers::apart(&input.bytes()[..len_bytes], body).map_err(crate::refused)?, tail))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Whatever thread it is on: with the lock, as release needs.
        Python::attach(|_| {
            // SAFETY: the view was filled when it was made, and is released once.
            unsafe { PyBuffer_Release(&raw mut *self.0) }
        });
    }
}
