//! Input and output of a job: two buffers of one length, or one buffer that is both.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use super::{
    ByteLanes, Register, fence, prefetch, prefetch_for_later, prefetch_to_write, stores_best_past_caches,
};

/// Zeros for an input.
static ZEROS: [u8; Buffers::ZEROS_BYTES] = [0; Buffers::ZEROS_BYTES];

/// An input and an output of the same length: either the very same bytes or disjoint ones.
///
/// Kernels read a place before they write it, and never write a place that they read later, so one
/// text serves both. Cheap to split; a part may be sent to another thread.
///
/// ```
/// use crossgrain::Buffers;
///
/// let (mut data, input, mut output) = (vec![1; 32], [1; 32], [0; 32]);
/// let in_place = Buffers::from(&mut data); // a slice, an array, a vector
/// let apart = Buffers::from((&input, &mut output)); // panics if lengths differ
/// assert_eq!(in_place.len_bytes(), apart.len_bytes());
/// assert!(Buffers::apart(&input, &mut output[1..]).is_err()); // the same without a panic
/// ```
pub struct Buffers<'a> {
    input: *const u8,
    output: *mut u8,
    len_bytes: usize,
    /// The bits of a place that count where words are read: none in an input that is the same everywhere.
    places: usize,
    /// What follows of a long job, in bytes.
    ahead_bytes: usize,
    /// Whether whole lines are written past the caches.
    goes_past_caches: bool,
    borrow: PhantomData<&'a mut [u8]>,
}

/// All bits of a place.
const ALL: usize = usize::MAX;

/// What caches fetch at once.
const LINE_BYTES: usize = 64;

/// How many of these bytes stand before the first line of the cache, if these are whole steps of so many bytes; 0 otherwise.
#[inline(always)]
pub(super) fn bytes_to_line(place: *const u8, len_bytes: usize, step_bytes: usize) -> usize {
    let bytes = place.addr().wrapping_neg() % LINE_BYTES;
    if bytes.is_multiple_of(step_bytes) { bytes.min(len_bytes) } else { 0 }
}

// SAFETY: `Buffers` is a shared borrow of its input and an exclusive one of its output, as the
// constructors took them; both may cross threads.
unsafe impl Send for Buffers<'_> {}

impl<'a> Buffers<'a> {
    /// One buffer, to be replaced by the result.
    pub const fn in_place(data: &'a mut [u8]) -> Self {
        let output = data.as_mut_ptr();
        Self::over(output, output, data.len())
    }

    /// Two buffers, or `None` if they differ in length.
    pub(crate) const fn of_two(input: &'a [u8], output: &'a mut [u8]) -> Option<Self> {
        if input.len() != output.len() {
            return None;
        }
        Some(Self::over(input.as_ptr(), output.as_mut_ptr(), input.len()))
    }

    /// The length of either, in bytes.
    pub const fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// Whether there is nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.len_bytes == 0
    }

    /// The first `at` bytes, and the rest.
    ///
    /// # Panics
    /// If `at` exceeds the length.
    pub const fn split_at(self, at: usize) -> (Self, Self) {
        assert!(at <= self.len_bytes);
        let rest_bytes = self.len_bytes - at;
        // SAFETY: `at` is within both buffers, so the halves are disjoint parts of this borrow.
        let (input, output) = unsafe { (self.input.add(at), self.output.add(at)) };
        let ahead_bytes = if self.is_long() { rest_bytes + self.ahead_bytes } else { 0 };
        (Self { len_bytes: at, ahead_bytes, ..self }, Self { input, output, len_bytes: rest_bytes, ..self })
    }

    /// The same buffers for a shorter while.
    pub const fn reborrow(&mut self) -> Buffers<'_> {
        Buffers { borrow: PhantomData, ..*self }
    }

    /// The input.
    #[inline(always)]
    pub const fn input(&self) -> &[u8] {
        // SAFETY: the input was borrowed for `'a`, and `&self` keeps `output_mut` away meanwhile.
        unsafe { std::slice::from_raw_parts(self.input, self.len_bytes) }
    }

    /// The output.
    #[inline(always)]
    pub const fn output_mut(&mut self) -> &mut [u8] {
        // SAFETY: the output was borrowed exclusively for `'a`, and `&mut self` keeps `input` away.
        unsafe { std::slice::from_raw_parts_mut(self.output, self.len_bytes) }
    }
}

/// What kernels read and write by.
#[doc(hidden)]
impl<'a> Buffers<'a> {
    /// As many zeros as an input may have: they outweigh what a run costs by itself, and stay in the second cache where all
    /// are read.
    pub(crate) const ZEROS_BYTES: usize = 64 * 1024;

    /// From what length on a job asks ahead: a second cache of two megabytes no longer holds it.
    pub const LONG_BYTES: usize = 2 * 1024 * 1024;

    /// How far behind what is wanted soon the second cache is asked for lines: the first waits for too few at once (24 on Zen 4).
    const LATER_BYTES: usize = 12 * 1024;

    /// From what length on no cache is taken to hold a job.
    pub(crate) const HUGE_BYTES: usize = 64 * 1024 * 1024;

    /// Places that the caller has borrowed for `'a`.
    pub(super) const fn over(input: *const u8, output: *mut u8, len_bytes: usize) -> Self {
        Self {
            input,
            output,
            len_bytes,
            places: ALL,
            ahead_bytes: 0,
            goes_past_caches: false,
            borrow: PhantomData,
        }
    }

    /// Where input and output begin. Places that were taken of slices would not do: where the two are one, what is borrowed as output takes
    /// the right to read from a slice of the input.
    #[inline(always)]
    pub(super) const fn places(&mut self) -> (*const u8, *mut u8) {
        (self.input, self.output)
    }

    /// What follows of a long job after a part of it, in bytes; 0 for short jobs.
    pub const fn ahead_bytes(&self) -> usize {
        self.ahead_bytes
    }

    /// All of it, leaving none.
    pub(crate) const fn take(&mut self) -> Self {
        std::mem::replace(self, Buffers::in_place(&mut []))
    }

    /// The first `at` bytes, leaving the rest.
    ///
    /// # Panics
    /// As [`Buffers::split_at`].
    pub(crate) const fn take_front(&mut self, at: usize) -> Self {
        let (front, rest) = self.take().split_at(at);
        *self = rest;
        front
    }

    /// Parts of `part_bytes` and what is left, one after another.
    pub(crate) fn parts(mut self, part_bytes: usize) -> impl Iterator<Item = Self> + Send {
        std::iter::from_fn(move || {
            (!self.is_empty()).then(|| self.take_front(part_bytes.min(self.len_bytes)))
        })
    }

    /// The same output with another input.
    ///
    /// # Panics
    /// If the lengths differ.
    #[must_use]
    pub const fn with_input(self, input: &'a [u8]) -> Self {
        assert!(input.len() == self.len_bytes);
        Self { input: input.as_ptr(), places: ALL, ..self }
    }

    /// The same output with zeros for input. Words are read from their first few lines alone: read out of the second cache,
    /// they would halve the speed at which a long output goes to memory.
    ///
    /// # Panics
    /// If there are more than [`Self::ZEROS_BYTES`].
    #[must_use]
    pub(crate) fn with_zeros(self) -> Self {
        let zeros = &ZEROS[..self.len_bytes];
        Self { places: 0, ..self.with_input(zeros) }
    }

    /// Whether the output takes the place of the input.
    #[inline]
    pub(crate) fn is_in_place(&self) -> bool {
        self.input == self.output.cast_const()
    }

    /// Whether so many bytes that nobody reads soon should be written past the caches.
    #[inline]
    pub(crate) fn pay_past_caches(len_bytes: usize) -> bool {
        len_bytes >= Self::HUGE_BYTES && stores_best_past_caches()
    }

    /// The same buffers, to be written past the caches by kernels that write line after line: some CPUs fetch a line that is
    /// written to otherwise. Not where output takes the place of input, which is in a cache by then.
    #[must_use]
    pub fn past_caches(self) -> Self {
        Self { goes_past_caches: !self.is_in_place(), ..self }
    }

    /// How many bytes stand before the first line of output, if these are whole steps of so many bytes; 0 otherwise.
    pub(crate) fn bytes_to_line(&self, step_bytes: usize) -> usize {
        bytes_to_line(self.output, self.len_bytes, step_bytes)
    }

    /// Whether a word of so many bytes at byte `at` of the output goes past the caches.
    #[inline(always)]
    fn skips_caches(&self, at: usize, bytes: usize) -> bool {
        self.goes_past_caches && (self.output.addr() + at).is_multiple_of(bytes)
    }

    const fn is_long(&self) -> bool {
        self.len_bytes + self.ahead_bytes >= Self::LONG_BYTES
    }

    /// Asks for the lines of `len_bytes` from byte `at` on, which a long job wants soon, here or beyond the end.
    #[inline(always)]
    pub fn expect(&mut self, at: usize, len_bytes: usize) {
        if !self.is_long() || at + len_bytes > self.len_bytes + self.ahead_bytes {
            return;
        }
        for at in (at..at + len_bytes).step_by(LINE_BYTES) {
            let later = at + Self::LATER_BYTES;
            prefetch(self.input(), at & self.places);
            prefetch_for_later(self.input(), later & self.places);
            if !self.goes_past_caches {
                prefetch_to_write(self.output_mut(), at);
                prefetch_for_later(self.output_mut(), later);
            }
        }
    }

    /// Reads a word of input.
    ///
    /// # Panics
    /// If it would reach past the end.
    #[inline(always)]
    pub fn load<W: Register>(&self, isa: W::Isa, at: usize) -> W {
        let [word] = self.load_all(isa, at);
        word
    }

    /// Reads `N` words of input, one after another.
    ///
    /// # Panics
    /// If they would reach past the end.
    #[inline(always)]
    pub fn load_all<W: Register, const N: usize>(&self, isa: W::Isa, at: usize) -> [W; N] {
        // One bounds check for all: with one a word, LLVM peels the loop and runs the last word alone.
        let bytes = &self.input()[at & self.places..][..N * W::BYTES];
        each!(i < N => W::load(isa, &bytes[i * W::BYTES..][..W::BYTES]))
    }

    /// Writes a word of output.
    ///
    /// # Panics
    /// If it would reach past the end.
    #[inline(always)]
    pub fn store<W: Register>(&mut self, at: usize, word: W) {
        self.store_all(at, [word]);
    }

    /// Writes `N` words of output, one after another.
    ///
    /// # Panics
    /// If they would reach past the end.
    #[inline(always)]
    pub fn store_all<W: Register, const N: usize>(&mut self, at: usize, words: [W; N]) {
        let bytes = &mut self.output_mut()[at..][..N * W::BYTES];
        for (i, word) in words.into_iter().enumerate() {
            word.store(&mut bytes[i * W::BYTES..][..W::BYTES]);
        }
    }

    /// These buffers for stores to one place after another, past the caches if they are to be written so.
    #[inline(always)]
    pub(crate) const fn run(&mut self) -> Run<'_, 'a> {
        Run(self)
    }

    /// Reads the input from byte `at` on to its end, whole lanes of 128 bits, as `N` words; what is beyond is zero.
    ///
    /// # Panics
    /// If `at` is beyond the end.
    #[inline(always)]
    pub fn load_lanes<W: ByteLanes, const N: usize>(&self, isa: W::Isa, at: usize) -> [W; N] {
        let bytes = &self.input()[at..];
        each!(i < N => {
            let from = (i * W::BYTES).min(bytes.len());
            W::load_lanes(isa, &bytes[from..][..W::BYTES.min(bytes.len() - from)])
        })
    }

    /// Writes the output from byte `at` on to its end, whole lanes of 128 bits, out of `N` words.
    ///
    /// # Panics
    /// If `at` is beyond the end.
    #[inline(always)]
    pub fn store_lanes<W: ByteLanes, const N: usize>(&mut self, at: usize, words: [W; N]) {
        let places = self.output_mut()[at..].chunks_mut(W::BYTES);
        for (word, place) in words.into_iter().zip(places) {
            word.store_lanes(place);
        }
    }
}

/// Buffers that are written to one place after another. What went past the caches comes before all that follows the end of
/// this, however it ends.
pub(crate) struct Run<'r, 'a>(&'r mut Buffers<'a>);

impl Run<'_, '_> {
    /// Writes `N` words of output, one after another.
    ///
    /// # Panics
    /// As [`Buffers::store_all`].
    #[inline(always)]
    pub(crate) fn store<W: ByteLanes, const N: usize>(&mut self, at: usize, words: [W; N]) {
        if !self.skips_caches(at, W::BYTES) {
            return self.0.store_all(at, words);
        }
        let bytes = &mut self.0.output_mut()[at..][..N * W::BYTES];
        for (i, word) in words.into_iter().enumerate() {
            // SAFETY: a fence follows when `self` is dropped, before the buffers can be read.
            unsafe { word.store_past_caches(&mut bytes[i * W::BYTES..][..W::BYTES]) };
        }
    }

    /// As [`Buffers::expect`].
    #[inline(always)]
    pub(crate) fn expect(&mut self, at: usize, len_bytes: usize) {
        self.0.expect(at, len_bytes);
    }
}

impl<'a> Deref for Run<'_, 'a> {
    type Target = Buffers<'a>;

    #[inline(always)]
    fn deref(&self) -> &Buffers<'a> {
        self.0
    }
}

impl Drop for Run<'_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.goes_past_caches {
            fence();
        }
    }
}

/// One buffer in place, as [`Buffers::in_place`]: a slice, an array, a vector.
impl<'a, T: AsMut<[u8]> + ?Sized> From<&'a mut T> for Buffers<'a> {
    #[inline]
    fn from(data: &'a mut T) -> Self {
        Self::in_place(data.as_mut())
    }
}

/// A number that any bytes are.
///
/// # Safety
/// The type must have no padding and accept every bit pattern.
pub(crate) unsafe trait Number: Copy {}

// SAFETY: an integer.
unsafe impl Number for u64 {}

// SAFETY: every pattern of 64 bits is a number, an infinity or a NaN.
unsafe impl Number for f64 {}

/// Numbers as their bytes in memory.
pub(crate) const fn bytes_of_mut<T: Number>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: the bytes are those of the slice, borrowed as it was; bytes need no alignment, and whatever is written
    // is a number again.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

impl fmt::Debug for Buffers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.input == self.output { "in place" } else { "apart" };
        write!(f, "Buffers({} bytes, {place})", self.len_bytes)
    }
}
