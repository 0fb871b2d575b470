//! Memory that Python objects lend without a copy: bytes, `bytearray`, `memoryview` and NumPy arrays.
//!
//! The lender keeps the memory in place, but another thread may write to it while the global lock is
//! released. The engine may then read old or new bytes. This only gives wrong data, because no address and no
//! branch depends on them. Data that decides something is copied first, under the lock: keys, nonces and
//! associated data ([`taken`]), and ciphertext that is authenticated before it is decrypted (`modes`).
//!
//! The buffer protocol is in the stable ABI from Python 3.11 on, and PyO3 offers it only there. Python 3.10
//! has the same functions and the same structure. They are declared here, so that one wheel serves all
//! versions.

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

/// Requests strides and format, so that data that is not contiguous or not plain can be refused.
const PYBUF_ANY_LAYOUT: c_int = 0x0018 | 0x0004;
const PYBUF_WRITABLE: c_int = 0x0001;

unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut PyObject, view: *mut View, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut View);
    fn PyBuffer_IsContiguous(view: *const View, order: c_char) -> c_int;
}

/// The bytes of an object while this is alive. The object cannot be resized meanwhile.
pub(crate) struct Lent {
    view: Box<View>,
    /// Whether the bytes are immutable.
    is_fixed: bool,
}

/// A copy of an object's bytes, independent of later changes. Overwritten when dropped.
pub(crate) fn taken(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Zeroizing<Vec<u8>>> {
    Ok(Zeroizing::new(Lent::to_read(object, what)?.bytes().to_vec()))
}

/// The bytes of an object that lends plain data, as `memoryview` and NumPy give them; for Python's half.
#[pyfunction]
pub(crate) fn bytes_of<'py>(object: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(object.py(), Lent::to_read(object, what)?.bytes()))
}

// SAFETY: the memory does not move while it is lent, and any thread may read it. Release needs the global
// lock, and `Drop` acquires it.
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
        // SAFETY: the object is alive, the lock is held, and Python fills the view.
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

    /// Refuses data that is not plain, with a message of one line.
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
        // Names of fields may be long and contain line ends.
        let shown = format[..format.len().min(40)].escape_ascii();
        Err(PyTypeError::new_err(format!("{what} {is} (its format is {shown}): {mend}")))
    }

    /// The format of the elements. Bytes, if the owner gives none.
    fn format(&self) -> &[u8] {
        if self.view.format.is_null() {
            return b"B";
        }
        // SAFETY: the text belongs to the owner and lives as long as the memory is lent.
        unsafe { CStr::from_ptr(self.view.format) }.to_bytes()
    }

    /// Whether the bytes are immutable, because the object is a `bytes`.
    pub(crate) const fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    pub(crate) const fn len_bytes(&self) -> usize {
        self.view.len.unsigned_abs()
    }

    /// Bytes of an element.
    pub(crate) const fn item_bytes(&self) -> usize {
        self.view.itemsize.unsigned_abs()
    }

    /// The bytes.
    pub(crate) const fn bytes(&self) -> &[u8] {
        if self.view.len == 0 {
            return &[];
        }
        // SAFETY: the memory is lent, contiguous and of this length while `self` is alive. The module's
        // comment covers writes by others.
        unsafe { std::slice::from_raw_parts(self.view.buf.cast(), self.len_bytes()) }
    }

    /// The bytes, for writing.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.view.readonly == 0, "asked for to write");
        if self.view.len == 0 {
            return &mut [];
        }
        // SAFETY: as `bytes`, and the memory was lent for writing.
        unsafe { std::slice::from_raw_parts_mut(self.view.buf.cast(), self.len_bytes()) }
    }

    /// Whether the elements are float32.
    pub(crate) fn is_f32(&self) -> bool {
        format::native(self.format()) == Some(b'f')
    }

    /// Whether the elements are integers.
    pub(crate) fn is_integers(&self) -> bool {
        format::native(self.format()).is_some_and(|kind| b"bBhHiIlLqQnN".contains(&kind))
    }

    /// The bytes as numbers. `None` if the format is not float64 or the memory is not aligned.
    pub(crate) fn numbers_mut(&mut self) -> Option<&mut [f64]> {
        if format::native(self.format()) != Some(b'd') {
            return None;
        }
        // SAFETY: any eight bytes are a valid number.
        let (before, numbers, after) = unsafe { self.bytes_mut().align_to_mut() };
        (before.is_empty() && after.is_empty()).then_some(numbers)
    }
}

impl Lent {
    /// The first `len_bytes` of this buffer and of an output, in place or apart, as the engine takes them;
    /// and the rest of the output.
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
        // Release needs the global lock, and this may be any thread.
        Python::attach(|_| {
            // SAFETY: the view was filled when it was created, and is released once.
            unsafe { PyBuffer_Release(&raw mut *self.view) }
        });
    }
}
