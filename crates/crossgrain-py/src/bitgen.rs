//! A stream as NumPy's generators want it: the C structure `bitgen_t`, filled with functions of ours.
//!
//! Python's side subclasses `numpy.random.BitGenerator`, whose objects hold a `bitgen_t` and show it as a capsule.
//! `install` writes four functions and a pointer to our state there; NumPy, SciPy and numba then call them.
//! Source: `numpy/random/bitgen.h`, part of NumPy's stable C interface.
//! Holds: the state does not move and lives as long as its `Core`, which Python's object keeps. Whoever draws holds the
//! generator's `lock`, as NumPy's C interface demands; so do the methods of Python's side.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_void};

use crossgrain::mode::Options;
use crossgrain::stream::{Stream, StreamRng};
use crossgrain::{Cipher, Key};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use crate::buffer::Lent;
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

/// What its capsule is called.
const CAPSULE: &CStr = c"BitGenerator";

/// Bytes in a word.
const WORD_BYTES: usize = size_of::<u64>();

/// Words in a block.
const BLOCK_WORDS: usize = 2;

/// A stream at a place, always between words.
struct State {
    rng: StreamRng,
    /// The upper half of a word whose lower half was drawn: NumPy's 32-bit draws come in pairs.
    half: Option<u32>,
}

impl State {
    fn new(py: Python<'_>, cipher: &str, key: &Bound<'_, PyAny>, threads: usize) -> PyResult<Self> {
        let cipher: Cipher = cipher.parse().map_err(refused)?;
        let key = Lent::to_read(key, "the key")?;
        let key = Key::new(cipher, key.bytes()).map_err(refused)?;
        let options = Options { threads, ..Options::default() };
        let stream = pool::run(py, threads, || Stream::new(&key, &options))?.map_err(refused)?;
        Ok(Self { rng: stream.rng(), half: None })
    }

    fn next_half(&mut self) -> u32 {
        self.half.take().unwrap_or_else(|| {
            let word = self.rng.next_u64();
            self.half = Some((word >> 32) as u32);
            word as u32
        })
    }

    /// Lets what is left of a word go.
    fn finish_word(&mut self) {
        let (block, byte) = self.rng.position();
        let next = byte.next_multiple_of(WORD_BYTES);
        if next != byte {
            self.rng.seek_block(block.wrapping_add((next / 16) as u128), next % 16);
        }
    }
}

/// The state that a call was given.
///
/// # Safety
/// `state` is what `install` wrote, its `Core` lives, and nobody else draws meanwhile.
unsafe fn state<'a>(state: *mut c_void) -> &'a mut State {
    // SAFETY: by this function's contract.
    unsafe { &mut *state.cast() }
}

unsafe extern "C" fn next_uint64(of: *mut c_void) -> u64 {
    // SAFETY: NumPy passes the pointer that it was given, and holds the lock.
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

/// The native half of a generator. Its methods want the generator's lock to be held.
#[pyclass(frozen, module = "crossgrain._native")]
pub(crate) struct Core {
    /// In one place, for C to point to.
    state: Box<UnsafeCell<State>>,
    threads: usize,
}

// SAFETY: whoever uses the state holds the generator's lock (see above).
unsafe impl Sync for Core {}

impl Core {
    #[allow(clippy::mut_from_ref, reason = "the generator's lock stands for the exclusive borrow")]
    fn state(&self) -> &mut State {
        // SAFETY: the caller holds the generator's lock, so nobody else has a reference.
        unsafe { &mut *self.state.get() }
    }
}

#[pymethods]
impl Core {
    #[new]
    fn new(py: Python<'_>, cipher: &str, key: &Bound<'_, PyAny>, threads: usize) -> PyResult<Self> {
        let state = State::new(py, cipher, key, threads)?;
        Ok(Self { state: Box::new(UnsafeCell::new(state)), threads })
    }

    /// Begins anew under another key, in the same place.
    fn rekey(&self, py: Python<'_>, cipher: &str, key: &Bound<'_, PyAny>) -> PyResult<()> {
        *self.state() = State::new(py, cipher, key, self.threads)?;
        Ok(())
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
        // SAFETY: a capsule of this name points to a `bitgen_t` that lives as long as the generator, which keeps `self`.
        unsafe { place.as_ptr().write(filled) };
        Ok(())
    }

    /// Where it stands: block, word in it, and half a word if one is left.
    fn position(&self) -> (u128, usize, Option<u32>) {
        let state = self.state();
        let (block, byte) = state.rng.position();
        (block, byte / WORD_BYTES, state.half)
    }

    /// Goes to a word of a block.
    fn seek(&self, block: u128, word: usize, half: Option<u32>) -> PyResult<()> {
        if word >= BLOCK_WORDS {
            return Err(PyValueError::new_err("a block has words 0 and 1"));
        }
        let state = self.state();
        state.rng.seek_block(block, word * WORD_BYTES);
        state.half = half;
        Ok(())
    }

    /// The next word.
    fn draw(&self) -> u64 {
        self.state().rng.next_u64()
    }

    /// Fills an array with the bytes that follow, up to a whole word, or with uniform numbers.
    fn fill(&self, py: Python<'_>, out: &Bound<'_, PyAny>, uniform: bool) -> PyResult<()> {
        let mut out = Lent::to_write(out, "out")?;
        let state = self.state();
        fill(py, self.threads, &mut state.rng, &mut out, uniform)?;
        state.finish_word();
        Ok(())
    }

    /// The same from a word of a block on, leaving the generator where it is.
    fn fill_at(
        &self,
        py: Python<'_>,
        block: u128,
        word: usize,
        out: &Bound<'_, PyAny>,
        uniform: bool,
    ) -> PyResult<()> {
        let mut out = Lent::to_write(out, "out")?;
        let mut rng = self.state().rng.stream().rng();
        rng.seek_block(block, word % BLOCK_WORDS * WORD_BYTES);
        fill(py, self.threads, &mut rng, &mut out, uniform)
    }
}

fn fill(py: Python<'_>, threads: usize, rng: &mut StreamRng, out: &mut Lent, uniform: bool) -> PyResult<()> {
    let threads = pool::worth(threads, out.len_bytes());
    if !uniform {
        return pool::run(py, threads, || rng.fill_bytes(out.bytes_mut()));
    }
    let fits = out.item_bytes() == size_of::<f64>();
    let Some(numbers) = out.numbers_mut().filter(|_| fits) else {
        return Err(PyValueError::new_err("uniform numbers need an aligned array of float64"));
    };
    pool::run(py, threads, || rng.fill_f64(numbers))
}
