//! The input and output of a job: two buffers of one length, or one buffer that is both.
//!
//! [`Buffers`] holds raw pointers, because a slice cannot describe an output that overlaps its input. Kernels
//! load words from the input and store words to the output, at byte offsets from the start.
//!
//! Long jobs add two things:
//!
//! * Prefetching: each part knows how many bytes of the job follow it, so kernels can prefetch across its
//!   end.
//! * Streaming stores: [`Run`] writes whole lines past the caches, and its `drop` executes the fence that
//!   must follow.
//!
//! Invariant: input and output are either the very same bytes or disjoint.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use super::{
    ByteLanes, Register, fence, fetches_in_place, prefetch, prefetch_for_later, prefetch_to_write,
    stores_best_past_caches,
};

/// Bytes in a 128-bit lane.
const LANE_BYTES: usize = 16;

/// The input of jobs that have none, such as key streams.
static ZEROS: [u8; Buffers::ZEROS_BYTES] = [0; Buffers::ZEROS_BYTES];

/// An input and an output of the same length: either the very same bytes or disjoint ones.
///
/// Kernels read an offset before they write it, and never write an offset that they read later. The same code
/// therefore works in place and apart. Splitting is cheap, and the parts may be sent to other threads.
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
    /// A mask for the offset of each load. It has all bits set, or none if the input is the same at every
    /// offset.
    places: usize,
    /// Bytes of a long job that follow these buffers.
    ahead_bytes: usize,
    /// Whether [`Run`] writes whole words with streaming stores.
    goes_past_caches: bool,
    borrow: PhantomData<&'a mut [u8]>,
}

/// All bits of an offset.
const ALL: usize = usize::MAX;

/// Bytes in a cache line.
const LINE_BYTES: usize = 64;

/// Bytes from `place` to the next cache line, at most `len_bytes`. The result is 0 if that is no multiple of
/// `step_bytes`.
#[inline(always)]
pub(super) fn bytes_to_line(place: *const u8, len_bytes: usize, step_bytes: usize) -> usize {
    let bytes = place.addr().wrapping_neg() % LINE_BYTES;
    if bytes.is_multiple_of(step_bytes) { bytes.min(len_bytes) } else { 0 }
}

// SAFETY: `Buffers` borrows its input shared and its output exclusively, as its constructors received them.
// Both borrows may cross threads.
unsafe impl Send for Buffers<'_> {}

impl<'a> Buffers<'a> {
    /// One buffer, which the result overwrites.
    pub const fn in_place(data: &'a mut [u8]) -> Self {
        let output = data.as_mut_ptr();
        Self::over(output, output, data.len())
    }

    /// Two buffers, or `None` if their lengths differ.
    pub(crate) const fn of_two(input: &'a [u8], output: &'a mut [u8]) -> Option<Self> {
        if input.len() != output.len() {
            return None;
        }
        Some(Self::over(input.as_ptr(), output.as_mut_ptr(), input.len()))
    }

    /// The length of the input and of the output, in bytes.
    pub const fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// Whether the length is 0.
    pub const fn is_empty(&self) -> bool {
        self.len_bytes == 0
    }

    /// Splits into the first `at` bytes and the rest.
    ///
    /// # Panics
    /// If `at` exceeds the length.
    pub const fn split_at(self, at: usize) -> (Self, Self) {
        assert!(at <= self.len_bytes);
        let rest_bytes = self.len_bytes - at;
        // SAFETY: `at` is at most the length of both buffers, so the halves are disjoint parts of this
        // borrow.
        let (input, output) = unsafe { (self.input.add(at), self.output.add(at)) };
        let ahead_bytes = if self.is_long() { rest_bytes + self.ahead_bytes } else { 0 };
        (Self { len_bytes: at, ahead_bytes, ..self }, Self { input, output, len_bytes: rest_bytes, ..self })
    }

    /// Leaves out the first `at` bytes.
    ///
    /// It changes only the fields that change. [`Self::take_front`] would read pairs of them, perhaps right after they
    /// were stored one by one, which defeats store forwarding.
    ///
    /// # Panics
    /// As [`Self::split_at`].
    #[inline(always)]
    pub(crate) const fn skip(&mut self, at: usize) {
        assert!(at <= self.len_bytes);
        // SAFETY: `at` is at most the length of both buffers.
        let (input, output) = unsafe { (self.input.add(at), self.output.add(at)) };
        self.input = input;
        self.output = output;
        self.len_bytes -= at;
    }

    /// The same buffers for a shorter lifetime.
    pub const fn reborrow(&mut self) -> Buffers<'_> {
        Buffers { borrow: PhantomData, ..*self }
    }

    /// The input.
    #[inline(always)]
    pub const fn input(&self) -> &[u8] {
        // SAFETY: the input was borrowed for `'a`. While `&self` is borrowed, `output_mut` cannot be called.
        unsafe { std::slice::from_raw_parts(self.input, self.len_bytes) }
    }

    /// Block `number` of the input.
    ///
    /// # Panics
    /// If there are fewer whole blocks.
    #[inline(always)]
    pub(crate) fn input_block(&self, number: usize) -> &[u8; LANE_BYTES] {
        &self.input().as_chunks().0[number]
    }

    /// Block `number` of the output.
    ///
    /// # Panics
    /// If there are fewer whole blocks.
    #[inline(always)]
    pub(crate) fn output_block(&mut self, number: usize) -> &mut [u8; LANE_BYTES] {
        &mut self.output_mut().as_chunks_mut().0[number]
    }

    /// The output.
    #[inline(always)]
    pub const fn output_mut(&mut self) -> &mut [u8] {
        // SAFETY: the output was borrowed exclusively for `'a`. While `&mut self` is borrowed, `input` cannot
        // be called.
        unsafe { std::slice::from_raw_parts_mut(self.output, self.len_bytes) }
    }
}

/// The interface for kernels.
#[doc(hidden)]
impl<'a> Buffers<'a> {
    /// The longest input of zeros. It is long enough that a run's fixed cost is small, and it stays in the
    /// second-level cache where all of it is read.
    pub(crate) const ZEROS_BYTES: usize = 64 * 1024;

    /// Jobs of at least this many bytes are prefetched. They no longer fit into a second-level cache of 2
    /// MiB.
    pub const LONG_BYTES: usize = 2 * 1024 * 1024;

    /// Distance from the bytes that are prefetched into the first-level cache to those for the second-level
    /// cache. The first-level cache waits for too few lines at once (24 on Zen 4).
    const LATER_BYTES: usize = 12 * 1024;

    /// Jobs of at least this many bytes are assumed to fit into no cache.
    pub(crate) const HUGE_BYTES: usize = 64 * 1024 * 1024;

    /// Buffers over pointers that the caller has borrowed for `'a`.
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

    /// The starts of the input and the output. Pointers derived from slices would be wrong: in place,
    /// borrowing the output as a slice invalidates the pointer from the input's slice.
    #[inline(always)]
    pub(super) const fn places(&mut self) -> (*const u8, *mut u8) {
        (self.input, self.output)
    }

    /// Bytes of the job that follow this part of it. It is 0 for short jobs.
    pub const fn ahead_bytes(&self) -> usize {
        self.ahead_bytes
    }

    /// Takes the buffers and leaves empty ones.
    pub(crate) const fn take(&mut self) -> Self {
        std::mem::replace(self, Buffers::in_place(&mut []))
    }

    /// Takes the first `at` bytes and leaves the rest.
    ///
    /// # Panics
    /// As [`Buffers::split_at`].
    pub(crate) const fn take_front(&mut self, at: usize) -> Self {
        let (front, rest) = self.take().split_at(at);
        *self = rest;
        front
    }

    /// Parts of `part_bytes` each, in order. The last part may be shorter.
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

    /// The same output with an input of zeros. Loads read only the first few lines of the zeros. If they read
    /// all from the second-level cache, writing a long output to memory would run at half the speed.
    ///
    /// # Panics
    /// If the length exceeds [`Self::ZEROS_BYTES`].
    #[must_use]
    pub(crate) fn with_zeros(self) -> Self {
        let zeros = &ZEROS[..self.len_bytes];
        Self { places: 0, ..self.with_input(zeros) }
    }

    /// Whether the output overwrites the input.
    #[inline]
    pub(crate) fn is_in_place(&self) -> bool {
        self.input == self.output.cast_const()
    }

    /// Whether an output of `len_bytes` that will not be read soon should be written with streaming stores.
    #[inline]
    pub(crate) fn streaming_stores_pay(len_bytes: usize) -> bool {
        len_bytes >= Self::HUGE_BYTES && stores_best_past_caches()
    }

    /// The same buffers with streaming stores, for kernels that write line after line. Some CPUs otherwise
    /// fetch each line before they write to it. In place this has no effect, because the input has already
    /// brought the line into a cache.
    #[must_use]
    pub fn past_caches(self) -> Self {
        Self { goes_past_caches: !self.is_in_place(), ..self }
    }

    /// Bytes of output before its first cache line. The result is 0 if that is no multiple of `step_bytes`.
    pub(crate) fn bytes_to_line(&self, step_bytes: usize) -> usize {
        bytes_to_line(self.output, self.len_bytes, step_bytes)
    }

    /// Whether a word of `bytes` bytes at byte `at` of the output is written with a streaming store.
    #[inline(always)]
    fn skips_caches(&self, at: usize, bytes: usize) -> bool {
        self.goes_past_caches && (self.output.addr() + at).is_multiple_of(bytes)
    }

    const fn is_long(&self) -> bool {
        self.len_bytes + self.ahead_bytes >= Self::LONG_BYTES
    }

    /// Prefetches the lines of `len_bytes` from byte `at` on, which may be beyond the end of this part. It
    /// does nothing for short jobs.
    #[inline(always)]
    pub fn prefetch(&mut self, at: usize, len_bytes: usize) {
        if !self.is_ahead(at, len_bytes) {
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

    /// [`Buffers::prefetch`] for kernels without a tile, which read and write without pauses. In place some
    /// CPUs then need only the input.
    #[inline(always)]
    pub fn prefetch_steadily(&mut self, at: usize, len_bytes: usize) {
        if !(self.is_in_place() && fetches_in_place()) {
            return self.prefetch(at, len_bytes);
        }
        if self.is_ahead(at, len_bytes) {
            (at..at + len_bytes).step_by(LINE_BYTES).for_each(|at| prefetch(self.input(), at & self.places));
        }
    }

    #[inline(always)]
    const fn is_ahead(&self, at: usize, len_bytes: usize) -> bool {
        self.is_long() && at + len_bytes <= self.len_bytes + self.ahead_bytes
    }

    /// Reads a word of input at byte `at`.
    ///
    /// # Panics
    /// If it would reach past the end.
    #[inline(always)]
    pub fn load<W: Register>(&self, isa: W::Isa, at: usize) -> W {
        let [word] = self.load_all(isa, at);
        word
    }

    /// Reads `N` consecutive words of input from byte `at` on.
    ///
    /// # Panics
    /// If they would reach past the end.
    #[inline(always)]
    pub fn load_all<W: Register, const N: usize>(&self, isa: W::Isa, at: usize) -> [W; N] {
        // One bounds check for all words. If each word had its own, LLVM would peel the loop and run the last
        // word separately.
        let bytes = &self.input()[at & self.places..][..N * W::BYTES];
        each!(i < N => W::load(isa, &bytes[i * W::BYTES..][..W::BYTES]))
    }

    /// Writes a word of output at byte `at`.
    ///
    /// # Panics
    /// If it would reach past the end.
    #[inline(always)]
    pub fn store<W: Register>(&mut self, at: usize, word: W) {
        self.store_all(at, [word]);
    }

    /// Writes `N` consecutive words of output from byte `at` on.
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

    /// These buffers for consecutive stores, which are streaming stores if [`Buffers::past_caches`] chose
    /// them.
    #[inline(always)]
    pub(crate) const fn run(&mut self) -> Run<'_, 'a> {
        Run(self)
    }

    /// Reads the input from byte `at` to its end into `N` words. Bytes beyond the end are zero.
    ///
    /// Whole blocks have their own loads and stores. After a recent store to the same bytes, Zen 4 loads faster
    /// under a mask of lanes than under a mask of bytes.
    ///
    /// # Panics
    /// If `at` is beyond the end.
    #[inline(always)]
    pub fn load_rest<W: ByteLanes, const N: usize>(&self, isa: W::Isa, at: usize) -> [W; N] {
        let bytes = &self.input()[at..];
        let place = |i: usize| {
            let from = (i * W::BYTES).min(bytes.len());
            &bytes[from..][..W::BYTES.min(bytes.len() - from)]
        };
        if bytes.len().is_multiple_of(LANE_BYTES) {
            return each!(i < N => W::load_lanes(isa, place(i)));
        }
        each!(i < N => match place(i) {
            [] => W::splat(isa, 0),
            part => W::load_part(isa, part),
        })
    }

    /// Writes the output from byte `at` to its end from `N` words.
    ///
    /// # Panics
    /// If `at` is beyond the end.
    #[inline(always)]
    pub fn store_rest<W: ByteLanes, const N: usize>(&mut self, at: usize, words: [W; N]) {
        let bytes = &mut self.output_mut()[at..];
        let is_whole = bytes.len().is_multiple_of(LANE_BYTES);
        for (word, place) in words.into_iter().zip(bytes.chunks_mut(W::BYTES)) {
            if is_whole { word.store_lanes(place) } else { word.store_part(place) }
        }
    }
}

/// Buffers for consecutive stores. Dropping it executes a fence if streaming stores were used, so that they
/// precede all later stores. A panic also drops it.
pub(crate) struct Run<'r, 'a>(&'r mut Buffers<'a>);

impl Run<'_, '_> {
    /// Writes `N` consecutive words of output from byte `at` on.
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

    /// As [`Buffers::prefetch_steadily`].
    #[inline(always)]
    pub(crate) fn prefetch_steadily(&mut self, at: usize, len_bytes: usize) {
        self.0.prefetch_steadily(at, len_bytes);
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

/// One buffer in place, as with [`Buffers::in_place`]: a slice, an array or a vector.
impl<'a, T: AsMut<[u8]> + ?Sized> From<&'a mut T> for Buffers<'a> {
    #[inline]
    fn from(data: &'a mut T) -> Self {
        Self::in_place(data.as_mut())
    }
}

/// A number type for which every bit pattern is a value.
///
/// # Safety
/// The type must have no padding and accept every bit pattern.
pub(crate) unsafe trait Number: Copy {}

// SAFETY: an integer.
unsafe impl Number for u64 {}

// SAFETY: every pattern of 64 bits is a number, an infinity or a NaN.
unsafe impl Number for f64 {}

/// The bytes of numbers in memory.
pub(crate) const fn bytes_of_mut<T: Number>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: the bytes are those of the slice, under the same exclusive borrow. Bytes need no alignment, and
    // every pattern that is written is a number.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

impl fmt::Debug for Buffers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.input == self.output { "in place" } else { "apart" };
        write!(f, "Buffers({} bytes, {place})", self.len_bytes)
    }
}
