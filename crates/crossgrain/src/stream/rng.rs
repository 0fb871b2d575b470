//! A generator that reads a stream in order. Small draws come from a buffer; large ones are written directly
//! to the output.
//!
//! Layout: every draw takes the next bytes of the stream, little-endian, independent of earlier draws. A
//! `u32` takes four bytes; a `u64` or an `f64` takes eight.
//! Source: uniform numbers are the upper 53 bits of a `u64`, times 2⁻⁵³, as in NumPy.
//! Invariants: the buffer is wiped on drop. After construction only plans on tiles allocate memory.

use std::fmt;

use super::Stream;
use crate::arch::{bytes_of_mut, wipe};
use crate::block::BLOCK_BYTES;
use crate::mode::Finish;

/// Bytes in the buffer: one bundle of the widest kernels.
pub(super) const BUFFER_BYTES: usize = 8 * 1024;

/// Blocks in the buffer.
pub(super) const BUFFER_BLOCKS: u128 = (BUFFER_BYTES / BLOCK_BYTES) as u128;

/// Bytes not drawn yet, wiped on drop.
#[derive(Clone)]
#[repr(align(64))]
struct Buffer([u8; BUFFER_BYTES]);

impl Drop for Buffer {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// A generator that reads a stream in order, starting at any byte.
///
/// ```
/// use crossgrain::Cipher;
/// use crossgrain::stream::{Seed, Stream};
///
/// let mut rng = Stream::new(&Seed::new(42).key(Cipher::Aes128))?.rng();
/// let first = rng.next_u64();
/// rng.seek(0);
/// assert_eq!(rng.next_u64(), first);
/// # Ok::<(), crossgrain::Error>(())
/// ```
#[derive(Clone)]
pub struct StreamRng {
    stream: Stream,
    /// The block after those in the buffer.
    block: u128,
    buffer: Box<Buffer>,
    /// The index of the next byte in the buffer, or the buffer's length if it is used up.
    next: usize,
}

impl StreamRng {
    pub(super) fn new(stream: Stream) -> Self {
        let buffer = Box::new(Buffer([0; BUFFER_BYTES]));
        Self { stream, block: 0, buffer, next: BUFFER_BYTES }
    }

    /// The stream.
    pub const fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Moves to a byte of the stream.
    pub fn seek(&mut self, position_bytes: u128) {
        self.seek_block(
            position_bytes / BLOCK_BYTES as u128,
            (position_bytes % BLOCK_BYTES as u128) as usize,
        );
    }

    /// Moves to a byte of a block. This also reaches blocks whose byte positions exceed the 128 bits of
    /// [`StreamRng::seek`].
    ///
    /// # Panics
    /// If `byte` is not less than the length of a block.
    pub fn seek_block(&mut self, block: u128, byte: usize) {
        assert!(byte < BLOCK_BYTES, "a block has {BLOCK_BYTES} bytes");
        (self.block, self.next) = (block, BUFFER_BYTES);
        if byte > 0 {
            self.refill();
            self.next = byte;
        }
    }

    /// The position of the next byte: the number of its block and its index in the block.
    pub const fn position(&self) -> (u128, usize) {
        let left_bytes = BUFFER_BYTES - self.next;
        let blocks = left_bytes.div_ceil(BLOCK_BYTES);
        (self.block.wrapping_sub(blocks as u128), self.next % BLOCK_BYTES)
    }

    /// The next eight bytes, as a little-endian number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        u64::from_le_bytes(self.next_bytes())
    }

    /// The next four bytes, as a little-endian number.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        u32::from_le_bytes(self.next_bytes())
    }

    /// A uniform number in [0, 1): one of the 2⁵³ multiples of 2⁻⁵³.
    #[inline]
    pub fn next_f64(&mut self) -> f64 {
        uniform(self.next_u64())
    }

    /// Fills `output` with the next bytes. Long outputs are distributed over threads.
    pub fn fill_bytes(&mut self, output: &mut [u8]) {
        self.fill(output, None);
    }

    /// Fills `output` with the next numbers, eight bytes each.
    pub fn fill_u64(&mut self, output: &mut [u64]) {
        self.fill_bytes(bytes_of_mut(output));
        for word in output {
            *word = u64::from_le(*word);
        }
    }

    /// Fills `output` with uniform numbers like those of [`StreamRng::next_f64`].
    pub fn fill_f64(&mut self, output: &mut [f64]) {
        let bytes = bytes_of_mut(output);
        if self.next.is_multiple_of(size_of::<f64>()) {
            return self.fill(bytes, Some(&to_uniform));
        }
        // Numbers are not aligned in blocks, so threads cannot convert their pieces.
        self.fill(bytes, None);
        to_uniform(bytes);
    }

    /// Takes bytes in order. `finish` runs on each piece; all pieces except the first and the last consist of
    /// whole blocks.
    fn fill(&mut self, output: &mut [u8], finish: Finish<'_>) {
        let buffered = output.len().min(BUFFER_BYTES - self.next);
        let (head, rest) = output.split_at_mut(buffered);
        let at = rest.len() / BUFFER_BYTES * BUFFER_BYTES;
        let (whole, tail) = rest.split_at_mut(at);
        self.take(head);
        if !whole.is_empty() {
            self.stream.fill_blocks(self.block, whole, finish);
            self.block = self.block.wrapping_add((at / BLOCK_BYTES) as u128);
        }
        if !tail.is_empty() {
            self.refill();
            self.take(tail);
        }
        if let Some(finish) = finish {
            finish(head);
            finish(tail);
        }
    }

    /// Takes bytes from the buffer, which must have enough.
    fn take(&mut self, output: &mut [u8]) {
        output.copy_from_slice(&self.buffer.0[self.next..][..output.len()]);
        self.next += output.len();
    }

    #[inline]
    fn next_bytes<const N: usize>(&mut self) -> [u8; N] {
        match self.buffer.0[self.next..].first_chunk() {
            Some(bytes) => {
                self.next += N;
                *bytes
            }
            None => self.next_bytes_beyond(),
        }
    }

    #[cold]
    #[inline(never)]
    fn next_bytes_beyond<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill_bytes(&mut bytes);
        bytes
    }

    #[inline(never)]
    fn refill(&mut self) {
        self.stream.fill_blocks(self.block, &mut self.buffer.0[..], None);
        self.block = self.block.wrapping_add(BUFFER_BLOCKS);
        self.next = 0;
    }
}

/// Converts the upper 53 bits to a number in [0, 1).
///
/// The upper 21 of these bits become the low mantissa bits of a number just above 2⁸⁴, and the lower 32 those
/// of a number just above 2⁵². Then both powers of two are subtracted. Every step is exact, and every CPU can
/// vectorise it, unlike a conversion of `u64`.
#[inline]
pub fn uniform(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    const BOTH: f64 = ((1_u128 << 84) + (1_u128 << 52)) as f64;
    let high = f64::from_bits(0x4530_0000_0000_0000 | bits >> 43);
    let low = f64::from_bits(0x4330_0000_0000_0000 | bits >> 11 & 0xffff_ffff);
    (high - BOTH + low) * STEP
}

/// Replaces little-endian words by uniform numbers in native byte order.
fn to_uniform(bytes: &mut [u8]) {
    for word in bytes.as_chunks_mut().0 {
        *word = uniform(u64::from_le_bytes(*word)).to_ne_bytes();
    }
}

impl fmt::Debug for StreamRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamRng").field("position", &self.position()).finish_non_exhaustive()
    }
}
