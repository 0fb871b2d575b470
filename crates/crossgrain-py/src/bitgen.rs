//! A stream as a NumPy bit generator: fills the C structure `bitgen_t` with functions of this module.
//!
//! Python's half subclasses `numpy.random.BitGenerator`. Its objects hold a `bitgen_t` and expose it as a
//! capsule. `install` writes four functions and a pointer to the state there; NumPy, SciPy and numba then
//! call them. Source: `numpy/random/bitgen.h`, part of NumPy's stable C interface.
//!
//! Invariants:
//! * The state does not move and lives as long as its `Core`. The Python object keeps the `Core` and never
//!   replaces it.
//! * Callers that draw through the structure hold the generator's `lock`, as NumPy's C interface requires.
//!   Every method of `Core` takes the lock too. It also sets a flag, in case the lock does not exclude other
//!   callers.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use crossgrain::mode::Options;
use crossgrain::stream::{Stream, StreamRng};
use crossgrain::{Cipher, Key};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyCapsuleMethods};
use zeroize::Zeroizing;

use crate::buffer::{Lent, taken};
use crate::draw::Tape;
use crate::{pool, refused};

/// NumPy's `bitgen_t`.
#[repr(C)]
struct BitGen {
    state: *mut c_void,
    next_uint64: unsafe extern "C" fn(*mut c_void) -> u64,
    next_uint32: unsafe extern "C" fn(*mut c_void) -> u32,
    next_double: unsafe extern "C" fn(*mut c_void) -> f64,
    next_raw: unsafe extern "C" fn(*mut c_void) -> u64,
}

/// The name of NumPy's capsule.
const CAPSULE: &CStr = c"BitGenerator";

/// Bytes of a word.
pub(crate) const WORD_BYTES: usize = size_of::<u64>();

/// Words of a block.
pub(crate) const BLOCK_WORDS: usize = 2;

/// A stream at a position between words.
struct State {
    rng: StreamRng,
    /// The upper half of a word whose lower half was drawn. NumPy's 32-bit draws use both halves of a word.
    half: Option<u32>,
    /// The cipher and key of the stream.
    cipher: Cipher,
    key: Zeroizing<Vec<u8>>,
}

/// A position in a form for Python: the block, the word within it, and the unused half of a word, if any.
pub(crate) type Place = (u128, usize, Option<u32>);

impl State {
    fn new(py: Python<'_>, cipher: Cipher, key: Zeroizing<Vec<u8>>, threads: usize) -> PyResult<Self> {
        let stream_key = Key::new(cipher, &key).map_err(refused)?;
        let options = Options { threads, ..Options::default() };
        let stream =
            pool::run(py, threads, || Stream::with_options(&stream_key, &options))?.map_err(refused)?;
        Ok(Self { rng: stream.rng(), half: None, cipher, key })
    }

    fn place(&self) -> Place {
        let (block, byte) = self.rng.position();
        (block, byte / WORD_BYTES, self.half)
    }

    /// Moves to a place. Its word is 0 or 1.
    fn seek(&mut self, (block, word, half): Place) {
        self.rng.seek_block(block, word * WORD_BYTES);
        self.half = half;
    }

    fn next_half(&mut self) -> u32 {
        self.half.take().unwrap_or_else(|| {
            let word = self.rng.next_u64();
            self.half = Some((word >> 32) as u32);
            word as u32
        })
    }

    /// Discards the rest of an incomplete word.
    fn finish_word(&mut self) {
        let (block, byte) = self.rng.position();
        let next = byte.next_multiple_of(WORD_BYTES);
        if next != byte {
            self.rng.seek_block(block.wrapping_add((next / 16) as u128), next % 16);
        }
    }
}

/// The state to which a callback's pointer points.
///
/// # Safety
/// `state` is the pointer that `install` wrote, its `Core` is alive, and no other reference to the state is
/// in use.
unsafe fn state<'a>(state: *mut c_void) -> &'a mut State {
    // SAFETY: by this function's contract.
    unsafe { &mut *state.cast() }
}

unsafe extern "C" fn next_uint64(of: *mut c_void) -> u64 {
    // SAFETY: NumPy passes the pointer that `install` wrote, and holds the lock.
    unsafe { state(of) }.rng.next_u64()
}

unsafe extern "C" fn next_uint32(of: *mut c_void) -> u32 {
    // SAFETY: as above.
    unsafe { state(of) }.next_half()
}

unsafe extern "C" fn next_double(of: *mut c_void) -> f64 {
    // SAFETY: as above.
    unsafe { state(of) }.rng.next_f64()
}

/// The native half of a generator. Its methods take the generator's lock.
#[pyclass(frozen, module = "crossgrain._native")]
pub(crate) struct Core {
    /// Boxed so that C code can point to it.
    state: Box<UnsafeCell<State>>,
    /// The generator's lock. Callers that draw through NumPy's structure hold it.
    lock: Py<PyAny>,
    /// Whether a method uses the state.
    is_used: AtomicBool,
    threads: usize,
}

// SAFETY: methods access the state only through `alone`, which admits one caller at a time. A caller that
// uses it through NumPy's structure holds the lock, as its C interface requires, and `alone` holds the lock
// too.
unsafe impl Sync for Core {}

/// A Python lock that is held until this is dropped.
struct Held<'py>(Bound<'py, PyAny>);

impl<'py> Held<'py> {
    fn new(lock: &Bound<'py, PyAny>) -> PyResult<Self> {
        lock.call_method0(intern!(lock.py(), "acquire"))?;
        Ok(Self(lock.clone()))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // The lock is held, so the release succeeds; and a drop could not raise an exception.
        let _ = self.0.call_method0(intern!(self.0.py(), "release"));
    }
}

/// The flag that a method uses the state, set until this is dropped.
struct Mark<'a>(&'a AtomicBool);

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Core {
    /// Runs `work` with exclusive access to the state. Other callers wait for the lock. The flag protects the
    /// state if the lock does not: one thread may acquire it twice, or it may be an object of another kind.
    fn alone<T>(&self, py: Python<'_>, work: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
        let _held = Held::new(self.lock.bind(py))?;
        if self.is_used.swap(true, Ordering::Acquire) {
            return Err(PyRuntimeError::new_err(
                "the generator is drawing already: use another one meanwhile",
            ));
        }
        let _mark = Mark(&self.is_used);
        // SAFETY: the flag was not set, so no other method has a reference; and C code has none because the
        // lock is held.
        work(unsafe { &mut *self.state.get() })
    }
}

#[pymethods]
impl Core {
    #[new]
    fn new(
        py: Python<'_>,
        cipher: &str,
        key: &Bound<'_, PyAny>,
        threads: usize,
        lock: Py<PyAny>,
    ) -> PyResult<Self> {
        let state = State::new(py, cipher.parse().map_err(refused)?, taken(key, "key")?, threads)?;
        Ok(Self { state: Box::new(UnsafeCell::new(state)), lock, is_used: AtomicBool::new(false), threads })
    }

    /// Fills NumPy's structure.
    fn install(&self, capsule: &Bound<'_, PyCapsule>) -> PyResult<()> {
        let place = capsule.pointer_checked(Some(CAPSULE))?.cast::<BitGen>();
        let filled = BitGen {
            state: self.state.get().cast(),
            next_uint64,
            next_uint32,
            next_double,
            next_raw: next_uint64,
        };
        // SAFETY: a capsule of this name points to a `bitgen_t` that lives as long as the generator, which
        // keeps `self`.
        unsafe { place.as_ptr().write(filled) };
        Ok(())
    }

    /// The key and the position, read at one moment.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Place)> {
        self.alone(py, |state| Ok((PyBytes::new(py, &state.key), state.place())))
    }

    /// Moves to a place. Another key replaces the present one in the same memory, because C code may hold a
    /// pointer to the state. If the key or the place is invalid, the generator is unchanged.
    fn restore(&self, py: Python<'_>, cipher: &str, key: &Bound<'_, PyAny>, place: Place) -> PyResult<()> {
        let (cipher, key) = (cipher.parse().map_err(refused)?, taken(key, "key")?);
        if place.1 >= BLOCK_WORDS {
            return Err(PyValueError::new_err(format!("a block has words 0 and 1, and no word {}", place.1)));
        }
        self.alone(py, |state| {
            if (cipher, &key) != (state.cipher, &state.key) {
                *state = State::new(py, cipher, key, self.threads)?;
            }
            state.seek(place);
            Ok(())
        })
    }

    /// Advances by blocks and words. An unused half of a word is kept if `keeps_half`, else discarded.
    fn advance(&self, py: Python<'_>, blocks: u128, words: usize, keeps_half: bool) -> PyResult<()> {
        self.alone(py, |state| {
            let (block, word, half) = state.place();
            let word = word + words % BLOCK_WORDS;
            let block = block.wrapping_add(blocks).wrapping_add((word / BLOCK_WORDS) as u128);
            state.seek((block, word % BLOCK_WORDS, half.filter(|_| keeps_half)));
            Ok(())
        })
    }

    /// The next word.
    fn draw(&self, py: Python<'_>) -> PyResult<u64> {
        self.alone(py, |state| Ok(state.rng.next_u64()))
    }

    /// Fills an array with the bytes that follow, up to a whole word, or with uniform numbers.
    fn fill(&self, py: Python<'_>, out: &Bound<'_, PyAny>, uniform: bool) -> PyResult<()> {
        let mut out = Lent::to_write(out, "out")?;
        self.alone(py, |state| {
            let place = state.place();
            let next = self.filled(py, &mut state.rng, place, &mut out, uniform)?;
            match next {
                Some(next) => state.seek(next),
                None => state.finish_word(),
            }
            Ok(())
        })
    }

    /// The same from a word of a block on, without moving the generator. Others may draw at the same time.
    fn fill_at(
        &self,
        py: Python<'_>,
        block: u128,
        word: usize,
        out: &Bound<'_, PyAny>,
        uniform: bool,
    ) -> PyResult<()> {
        let mut out = Lent::to_write(out, "out")?;
        let mut rng = self.alone(py, |state| Ok(state.rng.stream().rng()))?;
        let word = word % BLOCK_WORDS;
        rng.seek_block(block, word * WORD_BYTES);
        self.filled(py, &mut rng, (block, word, None), &mut out, uniform).map(drop)
    }

    /// Fills an array with integers from `first` to `first + last`, modulo their size.
    fn fill_integers(&self, py: Python<'_>, out: &Bound<'_, PyAny>, first: u64, last: u64) -> PyResult<()> {
        let mut out = Lent::to_write(out, "out")?;
        if !out.is_integers() {
            return Err(PyTypeError::new_err("out holds no integers in this machine's byte order"));
        }
        let (item_bytes, threads) = (out.item_bytes(), pool::worth(self.threads, out.len_bytes()));
        if item_bytes < WORD_BYTES && last >> (8 * item_bytes) != 0 {
            return Err(PyValueError::new_err("the range exceeds that of the integers of out"));
        }
        self.alone(py, |state| {
            let tape = Tape::new(state.rng.stream().clone(), state.place());
            let work = || tape.fill_integers(out.bytes_mut(), item_bytes, (first, last), threads);
            state.seek(pool::run(py, threads, work)?);
            Ok(())
        })
    }
}

impl Core {
    /// Fills memory from the position of `rng`. Returns the place after it, unless `rng` has moved there.
    fn filled(
        &self,
        py: Python<'_>,
        rng: &mut StreamRng,
        place: Place,
        out: &mut Lent,
        uniform: bool,
    ) -> PyResult<Option<Place>> {
        let threads = pool::worth(self.threads, out.len_bytes());
        if !uniform {
            return pool::run(py, threads, || rng.fill_bytes(out.bytes_mut())).map(|()| None);
        }
        match out.is_f32() {
            true => {
                let tape = Tape::new(rng.stream().clone(), place);
                pool::run(py, threads, || tape.fill_f32(out.bytes_mut(), threads)).map(Some)
            }
            false => match out.numbers_mut() {
                Some(numbers) => pool::run(py, threads, || rng.fill_f64(numbers)).map(|()| None),
                None => {
                    let why = "out for uniform numbers is an aligned array of float64 or float32";
                    Err(PyValueError::new_err(why))
                }
            },
        }
    }
}
