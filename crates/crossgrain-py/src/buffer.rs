//! Memory that Python objects lend: bytes, `bytearray`, `memoryview`, NumPy arrays, without a copy.
//!
//! The lender of memory keeps its place, and may still write to it from another thread while the global lock is released.
//! The engine then reads some bytes or others, and computes from them; no address and no branch depends on them, so that
//! wrong data is all that comes of it. What decides something is copied first, under the lock: keys, nonces, additional
//! data ([`taken`]), and ciphertext that is authenticated before it is decrypted (`modes`).
//!
//! The buffer protocol is in the stable ABI from Python 3.11 on, and PyO3 offers it only there. Python 3.10 has the same
//! functions and the same structure, so they are declared here, and one wheel serves all.

use std::ffi::{CStr, c_char, c_int, c_void};

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi::{Py_ssize_t, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::format::{self, Fault, Use};
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

impl View {
    const EMPTY: Self = Self {
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
    };
}

/// With strides and format told: what does not lie in C's order and is no plain data is refused.
const PYBUF_ANY_LAYOUT: c_int = 0x0018 | 0x0004;
const PYBUF_WRITABLE: c_int = 0x0001;

unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut PyObject, view: *mut View, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut View);
    fn PyBuffer_IsContiguous(view: *const View, order: c_char) -> c_int;
}

/// The bytes of an object, for as long as this lives. The object cannot be resized meanwhile.
pub(crate) struct Lent {
    view: Box<View>,
    /// Whether nobody may write to them meanwhile.
    is_fixed: bool,
}

/// The bytes of an object as they are now, however it changes later. Wiped when dropped.
pub(crate) fn taken(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Zeroizing<Vec<u8>>> {
    Ok(Zeroizing::new(Lent::to_read(object, what)?.bytes().to_vec()))
}

/// What `memoryview` and NumPy give for an object's bytes, if it lends plain data; for Python's side.
#[pyfunction]
pub(crate) fn bytes_of<'py>(object: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(object.py(), Lent::to_read(object, what)?.bytes()))
}

// SAFETY: the memory does not move while it is lent, whichever thread reads it; release takes the global lock, which
// whoever drops it holds (see `Drop`).
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl Lent {
    /// Bytes to read.
    pub(crate) fn to_read(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        Self::new(object, Use::Read, what)
    }

    /// Bytes to write.
    pub(crate) fn to_write(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        Self::new(object, Use::Write, what)
    }

    fn new(object: &Bound<'_, PyAny>, to: Use, what: &str) -> PyResult<Self> {
        let (flags, mend) = match to {
            Use::Read => (PYBUF_ANY_LAYOUT, "give bytes, a bytearray, a memoryview or an array"),
            Use::Write => (
                PYBUF_ANY_LAYOUT | PYBUF_WRITABLE,
                "give a bytearray, a writable memoryview or a writable array",
            ),
        };
        let mut view = Box::new(View::EMPTY);
        // SAFETY: the object lives, the lock is held, and the view is one of Python's to fill.
        let failed = unsafe { PyObject_GetBuffer(object.as_ptr(), &raw mut *view, flags) } != 0;
        if failed {
            let cause = PyErr::take(object.py());
            let error = PyBufferError::new_err(format!("{what} cannot be used: {mend}"));
            error.set_cause(object.py(), cause);
            return Err(error);
        }
        let lent = Self { view, is_fixed: object.is_exact_instance_of::<PyBytes>() };
        lent.check_format(to, what)?;
        // SAFETY: the view was filled above.
        if unsafe { PyBuffer_IsContiguous(&raw const *lent.view, b'C' as c_char) } == 0 {
            let why = format!("{what} does not lie in one piece: give numpy.ascontiguousarray of it");
            return Err(PyValueError::new_err(why));
        }
        Ok(lent)
    }

    /// Refuses what is no plain data, in one line.
    fn check_format(&self, to: Use, what: &str) -> PyResult<()> {
        let format = self.format();
        let Err(fault) = format::check(format, self.item_bytes(), to) else { return Ok(()) };
        let (is, mend) = match fault {
            Fault::NotPlain => ("holds objects or addresses", "give numbers or bytes"),
            Fault::Gaps => ("has bytes that belong to no field", "give a view of it as numpy.uint8"),
            Fault::NotAny => {
                ("holds bools or characters, which not all bytes are", "give a view of it as numpy.uint8")
            }
        };
        // Names of fields may be long, and hold line ends.
        let shown = format[..format.len().min(40)].escape_ascii();
        Err(PyTypeError::new_err(format!("{what} {is} (its format is {shown}): {mend}")))
    }

    /// What its elements are; bytes, if the owner tells nothing.
    fn format(&self) -> &[u8] {
        if self.view.format.is_null() {
            return b"B";
        }
        // SAFETY: the owner's text, which lives as long as what is lent.
        unsafe { CStr::from_ptr(self.view.format) }.to_bytes()
    }

    /// Whether nobody may write to the bytes meanwhile: those of a `bytes`.
    pub(crate) const fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    pub(crate) const fn len_bytes(&self) -> usize {
        self.view.len.unsigned_abs()
    }

    /// Bytes in an element.
    pub(crate) const fn item_bytes(&self) -> usize {
        self.view.itemsize.unsigned_abs()
    }

    /// What is lent.
    pub(crate) const fn bytes(&self) -> &[u8] {
        if self.view.len == 0 {
            return &[];
        }
        // SAFETY: the memory is lent, contiguous and so long, for as long as `self` lives. If others write to it, see above.
        unsafe { std::slice::from_raw_parts(self.view.buf.cast(), self.len_bytes()) }
    }

    /// What is lent, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.view.readonly == 0, "asked for to write");
        if self.view.len == 0 {
            return &mut [];
        }
        // SAFETY: as `bytes`, and it was lent to write.
        unsafe { std::slice::from_raw_parts_mut(self.view.buf.cast(), self.len_bytes()) }
    }

    /// What is lent as numbers; `None` if it is no array of float64, or they do not lie where numbers may.
    pub(crate) fn numbers_mut(&mut self) -> Option<&mut [f64]> {
        if !format::is_f64(self.format()) {
            return None;
        }
        // SAFETY: any eight bytes are a number.
        let (before, numbers, after) = unsafe { self.bytes_mut().align_to_mut() };
        (before.is_empty() && after.is_empty()).then_some(numbers)
    }
}

impl Lent {
    /// The first `len_bytes` of this and of an output as the engine takes them, the very same bytes or bytes apart, and what
    /// follows in the output.
    pub(crate) fn pair<'a>(
        &'a self,
        output: &'a mut Self,
        len_bytes: usize,
    ) -> PyResult<(Buffers<'a>, &'a mut [u8])> {
        let (from, to) = (self.bytes().as_ptr_range(), output.bytes().as_ptr_range());
        let (is_same, overlap) = (from.start == to.start, from.start < to.end && to.start < from.end);
        let (body, tail) = output.bytes_mut().split_at_mut(len_bytes);
        if is_same {
            return Ok((Buffers::in_place(body), tail));
        }
        if overlap {
            let why = "out overlaps data in part: give the same memory, or memory apart from it";
            return Err(PyValueError::new_err(why));
        }
        Ok((Buffers::apart(&self.bytes()[..len_bytes], body).map_err(crate::refused)?, tail))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Whatever thread it is on: with the lock, as release needs.
        Python::attach(|_| {
            // SAFETY: the view was filled when it was made, and is released once.
            unsafe { PyBuffer_Release(&raw mut *self.view) }
        });
    }
}
