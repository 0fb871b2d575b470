//! Messages side by side: the same bytes of each, by their places alone.
//!
//! Slices have lengths of their own, and to look at those of 32 messages in every step costs a chain of blocks more than half of what the cipher does. Here one length holds for all, and
//! is looked at once for all words that are read or written together.

use std::marker::PhantomData;

use super::buffers::bytes_to_line;
use super::{Buffers, Register};

/// The first bytes of up to `N` messages, as many of each.
pub(crate) struct SideBySide<'a, const N: usize> {
    inputs: [*const u8; N],
    outputs: [*mut u8; N],
    /// How many messages there are.
    count: usize,
    /// How many of them have an output: all, or none.
    written: usize,
    len_bytes: usize,
    borrow: PhantomData<&'a mut [u8]>,
}

impl<'a, const N: usize> SideBySide<'a, N> {
    /// No messages yet, of each of which `len_bytes` are to be seen.
    #[inline(always)]
    pub(crate) const fn new(len_bytes: usize) -> Self {
        let (inputs, outputs) = ([std::ptr::null(); N], [std::ptr::null_mut(); N]);
        Self { inputs, outputs, count: 0, written: 0, len_bytes, borrow: PhantomData }
    }

    /// One more, of which nothing is written.
    ///
    /// # Panics
    /// If it is shorter than is to be seen, or there are `N`.
    #[inline(always)]
    pub(crate) fn push_input(&mut self, input: &'a [u8]) {
        assert!(input.len() >= self.len_bytes);
        self.inputs[self.count] = input.as_ptr();
        self.count += 1;
    }

    /// One more, which is replaced, or whose result goes elsewhere.
    ///
    /// # Panics
    /// As above, and if nothing is written of one before.
    #[inline(always)]
    pub(crate) fn push(&mut self, buffers: &'a mut Buffers<'_>) {
        assert!(buffers.len_bytes() >= self.len_bytes && self.written == self.count);
        (self.inputs[self.count], self.outputs[self.count]) = buffers.places();
        (self.count, self.written) = (self.count + 1, self.count + 1);
    }

    /// How many there are.
    #[inline(always)]
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// How many bytes are written of the first message before a line of the cache begins, if these are whole steps of so many bytes; 0 otherwise.
    #[inline(always)]
    pub(crate) fn bytes_to_line(&self, step_bytes: usize) -> usize {
        bytes_to_line(self.outputs[0], self.len_bytes, step_bytes)
    }

    /// The input of a message.
    ///
    /// # Panics
    /// If there is no such message.
    #[inline(always)]
    pub(crate) fn input(&self, message: usize) -> &[u8] {
        assert!(message < self.count);
        // SAFETY: the message was borrowed for `'a` and has as many bytes; `&self` keeps `output_mut` away.
        unsafe { std::slice::from_raw_parts(self.inputs[message], self.len_bytes) }
    }

    /// Where the result of a message goes.
    ///
    /// # Panics
    /// If there is no such message, or nothing is written of it.
    #[inline(always)]
    pub(crate) fn output_mut(&mut self, message: usize) -> &mut [u8] {
        assert!(message < self.written);
        // SAFETY: as above; the output was borrowed exclusively, and `&mut self` keeps every other view of it away.
        unsafe { std::slice::from_raw_parts_mut(self.outputs[message], self.len_bytes) }
    }

    /// The inputs of messages `M · group` to `M · group + M - 1`, where there are `N`.
    ///
    /// # Panics
    /// If there are fewer, or no such group.
    #[inline(always)]
    pub(crate) fn inputs<const M: usize>(&self, group: usize) -> Inputs<'_, M> {
        assert!(self.count == N && group < N / M);
        let places = &self.inputs[M * group..][..M];
        Inputs { places: each!(i < M => places[i]), len_bytes: self.len_bytes, borrow: PhantomData }
    }

    /// Writes a word at byte `at` of each message of such a group.
    ///
    /// # Panics
    /// As above, if nothing is written of them, or if it would reach past their ends.
    #[inline(always)]
    pub(crate) fn store<W: Register, const M: usize>(&mut self, group: usize, at: usize, words: [W; M]) {
        assert!(self.written == N && group < N / M);
        assert!(self.len_bytes.checked_sub(W::BYTES).is_some_and(|last| at <= last));
        let places = &self.outputs[M * group..][..M];
        for (word, place) in words.into_iter().zip(places) {
            // SAFETY: each message has these bytes, and nobody else sees them meanwhile.
            word.store(unsafe { std::slice::from_raw_parts_mut(place.add(at), W::BYTES) });
        }
    }
}

/// The inputs of some messages side by side.
pub(crate) struct Inputs<'m, const M: usize> {
    places: [*const u8; M],
    len_bytes: usize,
    borrow: PhantomData<&'m [u8]>,
}

impl<const M: usize> Inputs<'_, M> {
    /// The word at byte `at` of each.
    ///
    /// # Panics
    /// If it would reach past their ends.
    #[inline(always)]
    pub(crate) fn load<W: Register>(&self, isa: W::Isa, at: usize) -> [W; M] {
        assert!(self.len_bytes.checked_sub(W::BYTES).is_some_and(|last| at <= last));
        // SAFETY: each message has these bytes, and none is written as long as it is borrowed.
        each!(i < M => W::load(isa, unsafe { std::slice::from_raw_parts(self.places[i].add(at), W::BYTES) }))
    }

    /// Each of them.
    #[inline(always)]
    pub(crate) fn each(&self) -> [&[u8]; M] {
        // SAFETY: as above.
        each!(i < M => unsafe { std::slice::from_raw_parts(self.places[i], self.len_bytes) })
    }
}
