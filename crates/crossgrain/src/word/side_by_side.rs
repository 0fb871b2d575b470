//! Messages side by side: the same bytes of each, by their places alone.
//!
//! Slices have lengths of their own, and to look at those of 32 messages in every step costs a chain of blocks more than half of what the cipher does. Here one length holds for all, and
//! is looked at once for all words that are read or written together.

use std::marker::PhantomData;

use super::{Buffers, Register, each, prefetch, prefetch_for_later};

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
        self.inputs[self.count] = buffers.input().as_ptr();
        self.outputs[self.count] = buffers.output_mut().as_mut_ptr();
        (self.count, self.written) = (self.count + 1, self.count + 1);
    }

    /// How many there are.
    #[inline(always)]
    pub(crate) const fn count(&self) -> usize {
        self.count
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

    /// The word at byte `at` of each of `M` messages from the `first` on.
    ///
    /// # Panics
    /// If there are no such messages, or it would reach past their ends.
    #[inline(always)]
    pub(crate) fn load<W: Register, const M: usize>(&self, isa: W::Isa, first: usize, at: usize) -> [W; M] {
        assert!(first < N && first + M <= self.count);
        assert!(at < self.len_bytes && at + W::BYTES <= self.len_bytes);
        // SAFETY: such a message has these bytes, and none is being written.
        each!(i < M => W::load(isa, unsafe { std::slice::from_raw_parts(self.inputs[first + i].add(at), W::BYTES) }))
    }

    /// Writes a word at byte `at` of each of `M` messages from the `first` on.
    ///
    /// # Panics
    /// As for reading, and if nothing is written of them.
    #[inline(always)]
    pub(crate) fn store<W: Register, const M: usize>(&mut self, first: usize, at: usize, words: [W; M]) {
        assert!(first < N && first + M <= self.written);
        assert!(at < self.len_bytes && at + W::BYTES <= self.len_bytes);
        for (i, word) in words.into_iter().enumerate() {
            // SAFETY: such a message has these bytes, and nobody else sees them meanwhile.
            word.store(unsafe { std::slice::from_raw_parts_mut(self.outputs[first + i].add(at), W::BYTES) });
        }
    }

    /// Asks for the line that byte `at` of a message is in, which is needed soon. Past the end nothing comes of it.
    #[inline(always)]
    pub(crate) fn expect(&self, message: usize, at: usize) {
        prefetch(self.input(message), at);
    }

    /// Asks for the same, to be needed later.
    #[inline(always)]
    pub(crate) fn expect_later(&self, message: usize, at: usize) {
        prefetch_for_later(self.input(message), at);
    }
}
