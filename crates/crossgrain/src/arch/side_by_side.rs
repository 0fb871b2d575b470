//! The same byte range of several messages, as raw pointers with one common length.
//!
//! Slices have a length each. For a chain of blocks in each of 32 messages, checking 32 lengths in every step
//! costs more than half of the time of the cipher. Here one length holds for all messages, and one check
//! covers all words that are loaded or stored together.

use std::marker::PhantomData;

use super::buffers::bytes_to_line;
use super::{AesLanes, Buffers, Register};

/// Bytes of a lane, which holds a block.
const LANE_BYTES: usize = 16;

/// The first `len_bytes` bytes of up to `N` messages.
pub(crate) struct SideBySide<'a, const N: usize> {
    inputs: [*const u8; N],
    outputs: [*mut u8; N],
    /// Messages pushed.
    count: usize,
    /// Messages with an output: all or none.
    written: usize,
    len_bytes: usize,
    borrow: PhantomData<&'a mut [u8]>,
}

impl<'a, const N: usize> SideBySide<'a, N> {
    /// No messages yet. `len_bytes` bytes of each will be accessible.
    #[inline(always)]
    pub(crate) const fn new(len_bytes: usize) -> Self {
        let (inputs, outputs) = ([std::ptr::null(); N], [std::ptr::null_mut(); N]);
        Self { inputs, outputs, count: 0, written: 0, len_bytes, borrow: PhantomData }
    }

    /// Adds a message without an output.
    ///
    /// # Panics
    /// If the message is shorter than `len_bytes`, or there are `N` already.
    #[inline(always)]
    pub(crate) fn push_input(&mut self, input: &'a [u8]) {
        assert!(input.len() >= self.len_bytes);
        self.inputs[self.count] = input.as_ptr();
        self.count += 1;
    }

    /// Adds a message with an output, in place or apart.
    ///
    /// # Panics
    /// As above, and if an earlier message has no output.
    #[inline(always)]
    pub(crate) fn push(&mut self, buffers: &'a mut Buffers<'_>) {
        assert!(buffers.len_bytes() >= self.len_bytes && self.written == self.count);
        (self.inputs[self.count], self.outputs[self.count]) = buffers.places();
        (self.count, self.written) = (self.count + 1, self.count + 1);
    }

    /// The number of messages.
    #[inline(always)]
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Bytes of the first message's output before its first cache line. The result is 0 if that is no
    /// multiple of `step_bytes`.
    #[inline(always)]
    pub(crate) fn bytes_to_line(&self, step_bytes: usize) -> usize {
        bytes_to_line(self.outputs[0], self.len_bytes, step_bytes)
    }

    /// The input of message `message`.
    ///
    /// # Panics
    /// If that message does not exist.
    #[inline(always)]
    pub(crate) fn input(&self, message: usize) -> &[u8] {
        assert!(message < self.count);
        // SAFETY: the message was borrowed for `'a` and has `len_bytes` bytes. While `&self` is borrowed,
        // `output_mut` cannot be called.
        unsafe { std::slice::from_raw_parts(self.inputs[message], self.len_bytes) }
    }

    /// The output of message `message`.
    ///
    /// # Panics
    /// If that message does not exist or has no output.
    #[inline(always)]
    pub(crate) fn output_mut(&mut self, message: usize) -> &mut [u8] {
        assert!(message < self.written);
        // SAFETY: as above. The output was borrowed exclusively, and while `&mut self` is borrowed there is
        // no other view of it.
        unsafe { std::slice::from_raw_parts_mut(self.outputs[message], self.len_bytes) }
    }

    /// The inputs of messages `M · group` to `M · group + M - 1`. All `N` messages must be there.
    ///
    /// # Panics
    /// If there are fewer messages, or that group does not exist.
    #[inline(always)]
    pub(crate) fn inputs<const M: usize>(&self, group: usize) -> Inputs<'_, M> {
        assert!(self.count == N && group < N / M);
        let places = &self.inputs[M * group..][..M];
        Inputs { places: each!(i < M => places[i]), len_bytes: self.len_bytes, borrow: PhantomData }
    }

    /// Writes a word at byte `at` of the output of each message in a group.
    ///
    /// # Panics
    /// As above, if the messages have no outputs, or if a word would reach past the end.
    #[inline(always)]
    pub(crate) fn store<W: Register, const M: usize>(&mut self, group: usize, at: usize, words: [W; M]) {
        assert!(self.written == N && group < N / M);
        assert!(self.len_bytes.checked_sub(W::BYTES).is_some_and(|last| at <= last));
        let places = &self.outputs[M * group..][..M];
        for (word, place) in words.into_iter().zip(places) {
            // SAFETY: each output has these bytes, as asserted, and `&mut self` excludes every other view of
            // them.
            word.store(unsafe { std::slice::from_raw_parts_mut(place.add(at), W::BYTES) });
        }
    }

    /// Makes the input of the first message that of absent ones, too, so that [`SideBySide::blocks`] can read whole
    /// registers.
    ///
    /// # Panics
    /// If there is no message.
    #[inline(always)]
    pub(crate) fn fill_up(&mut self) {
        assert!(self.count > 0);
        let first = self.inputs[0];
        self.inputs[self.count..].fill(first);
    }

    /// The block at byte `at` of as many messages as a register has lanes: those of register `register`. Call
    /// [`SideBySide::fill_up`] before.
    ///
    /// # Panics
    /// If it would reach past the end, if the register does not exist, or if a message is absent and
    /// [`SideBySide::fill_up`] was not called.
    #[inline(always)]
    pub(crate) fn blocks<W: AesLanes>(&self, isa: W::Isa, register: usize, at: usize) -> W {
        assert!(self.len_bytes.checked_sub(LANE_BYTES).is_some_and(|last| at <= last));
        let places = &self.inputs[register * W::BLOCKS..][..W::BLOCKS];
        // Messages fill the list from its front.
        assert!(!places[W::BLOCKS - 1].is_null());
        // SAFETY: the inputs are there and have these bytes, as asserted.
        let block = |lane: usize| unsafe { &*places[lane].add(at).cast::<[u8; LANE_BYTES]>() };
        let mut word = W::broadcast(isa, block(W::BLOCKS - 1));
        for lane in (0..W::BLOCKS - 1).rev() {
            word = word.preceded_by(W::broadcast(isa, block(lane)));
        }
        word
    }

    /// Writes the lanes of register `register` as the blocks at byte `at` of the outputs. Absent messages have none.
    ///
    /// # Panics
    /// As above.
    #[inline(always)]
    pub(crate) fn store_blocks<W: AesLanes>(&mut self, register: usize, at: usize, word: W) {
        assert!(self.len_bytes.checked_sub(LANE_BYTES).is_some_and(|last| at <= last));
        let first = register * W::BLOCKS;
        let places = &self.outputs[first..][..W::BLOCKS];
        // One comparison instead of one for each lane, for nearly all registers.
        let are_all = first + W::BLOCKS <= self.written;
        let mut turned = word;
        for lane in (0..W::BLOCKS).rev() {
            turned = turned.preceded_by(turned);
            if are_all || first + lane < self.written {
                // SAFETY: the output has these bytes, as asserted, and `&mut self` excludes every other view of them.
                turned.store_lowest(unsafe { &mut *places[lane].add(at).cast::<[u8; LANE_BYTES]>() });
            }
        }
    }
}

/// The inputs of `M` messages.
pub(crate) struct Inputs<'m, const M: usize> {
    places: [*const u8; M],
    len_bytes: usize,
    borrow: PhantomData<&'m [u8]>,
}

impl<const M: usize> Inputs<'_, M> {
    /// The word at byte `at` of each input.
    ///
    /// # Panics
    /// If it would reach past the end.
    #[inline(always)]
    pub(crate) fn load<W: Register>(&self, isa: W::Isa, at: usize) -> [W; M] {
        assert!(self.len_bytes.checked_sub(W::BYTES).is_some_and(|last| at <= last));
        // SAFETY: each input has these bytes, as asserted, and no output is written while `self` borrows the
        // messages.
        each!(i < M => W::load(isa, unsafe { std::slice::from_raw_parts(self.places[i].add(at), W::BYTES) }))
    }

    /// Each input as a slice.
    #[inline(always)]
    pub(crate) fn each(&self) -> [&[u8]; M] {
        // SAFETY: as above, for all `len_bytes` bytes.
        each!(i < M => unsafe { std::slice::from_raw_parts(self.places[i], self.len_bytes) })
    }
}
