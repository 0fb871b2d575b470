//! Folds the constants of S-boxes into round keys, so that kernels need not add them.
//!
//! Let S(x) = B·(A·x + a)⁻¹ + b. A kernel may compute only B·(A·x)⁻¹. This gives S(x) + b for the input x +
//! A⁻¹·a. So each byte in the kernel differs from the true byte by a constant, called its lack, which is
//! the same for every block. This file runs the rounds once on these differences. The difference of an XOR is
//! the XOR of the differences, and a linear map applies to the difference. Where a key is added, the key
//! absorbs the difference.
//! Invariants: each key is added only once, so changing it affects nothing else. In byte-oriented ciphers the
//! last layer adds keys, so no difference remains at the end.

use std::cell::Cell;

use super::sbox::Linear;
use super::{Bytes, OnBytes, OnWords, Words};
use crate::block::Direction;
use crate::circuit::affine::Inversion;

/// The constants of an S-box that a kernel omits: the difference in its input, and the resulting difference
/// in its output.
#[derive(Clone, Copy, Debug)]
pub struct FoldedConstants {
    /// A⁻¹·a.
    pub input: u8,
    /// b.
    pub output: u8,
}

impl FoldedConstants {
    /// No difference: the kernel adds the constants.
    pub const NOTHING: Self = Self { input: 0, output: 0 };

    const fn is_nothing(&self) -> bool {
        self.input == 0 && self.output == 0
    }

    /// Both constants of an S-box with this structure. The maps that [`Inversion::of`] finds are invertible.
    pub const fn of(found: &Inversion) -> Self {
        match found.input.inverse() {
            // The byte whose image under the input map is zero: A·x = a.
            Some(inverse) => Self { input: inverse.constant, output: found.output.constant },
            None => Self::NOTHING,
        }
    }
}

/// Arithmetic on differences. ANDs with secret keys make some of them secret, but nothing branches on them.
#[derive(Clone, Copy)]
struct Missing<'a> {
    boxes: &'a [FoldedConstants],
    maps: &'static [Linear],
}

impl Bytes for Missing<'_> {
    type Byte = u8;
    type Key = Cell<u8>;

    fn add(self, a: u8, b: u8) -> u8 {
        a ^ b
    }

    fn add_key(self, byte: u8, key: &Cell<u8>) -> u8 {
        key.set(key.get() ^ byte);
        0
    }

    fn and_key(self, byte: u8, key: &Cell<u8>) -> u8 {
        byte & key.get()
    }

    fn or_key(self, byte: u8, key: &Cell<u8>) -> u8 {
        byte & !key.get()
    }

    fn substitute_sum(self, byte: u8, key: &Cell<u8>, sbox: usize) -> u8 {
        key.set(key.get() ^ byte ^ self.boxes[sbox].input);
        self.boxes[sbox].output
    }

    fn linear(self, byte: u8, map: usize) -> u8 {
        self.maps[map].of(byte)
    }
}

impl Words for Missing<'_> {
    type Word = u32;
    type Key = Cell<u32>;

    fn add(self, a: u32, b: u32) -> u32 {
        a ^ b
    }

    fn substitute_sum(self, word: u32, key: &Cell<u32>, sbox: usize) -> u32 {
        let all = |byte| u32::from_ne_bytes([byte; 4]);
        key.set(key.get() ^ word ^ all(self.boxes[sbox].input));
        all(self.boxes[sbox].output)
    }

    fn rotate_left<const COUNT: u32>(self, word: u32) -> u32 {
        word.rotate_left(COUNT)
    }
}

/// Folds the omitted constants of the S-boxes into the round keys of a byte-oriented cipher.
/// Not inlined: it depends on the cipher alone, and each of its many kernels has a caller.
#[inline(never)]
pub fn on_bytes<C: OnBytes>(boxes: &[FoldedConstants], direction: Direction, keys: &mut [u8]) {
    if boxes.iter().all(FoldedConstants::is_nothing) {
        return;
    }
    let missing = Missing { boxes, maps: C::MAPS };
    // The last layer adds keys, so no difference remains.
    let _ = C::rounds(missing, direction, [0; 16], Cell::from_mut(keys).as_slice_of_cells());
}

/// Folds the omitted constants of the S-boxes into the round keys of a word-oriented cipher. Returns the
/// difference that remains in the state; the caller must XOR it.
#[inline(never)]
#[must_use]
pub fn on_words<C: OnWords>(boxes: &[FoldedConstants], direction: Direction, keys: &mut [u32]) -> [u32; 4] {
    let missing = Missing { boxes, maps: C::MAPS };
    C::rounds(missing, direction, [0; 4], Cell::from_mut(keys).as_slice_of_cells())
}
