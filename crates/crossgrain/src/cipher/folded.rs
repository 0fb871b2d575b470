//! Round keys that bring the constants of S-boxes: kernels then add none.
//!
//! A way may compute S(x) as B·(A·x)⁻¹, without the constants a and b of S(x) = B·(A·x + a)⁻¹ + b, if what it substitutes lacks A⁻¹·a already; the
//! result lacks b. So the rounds are run once on what each byte lacks, which is the same for every block: sums lack the sum, maps the
//! image, and a key takes up whatever is missing where it is added.
//! Holds: a key is added once, so changing it changes nothing else; the last layer adds keys, so blocks lack nothing in the end.

use std::cell::Cell;

use super::sbox::{Linear, Sbox};
use super::{Bytes, OnBytes, OnWords, Words};
use crate::block::Direction;

/// What the input of an S-box may lack, and its output then lacks.
#[derive(Clone, Copy, Debug)]
pub struct Lacks {
    /// A⁻¹·a.
    pub input: u8,
    /// b.
    pub output: u8,
}

impl Lacks {
    /// Nothing: the way adds the constants itself.
    pub const NOTHING: Self = Self { input: 0, output: 0 };

    /// Both constants of an S-box with structure.
    pub fn of(sbox: &Sbox) -> Option<Self> {
        let found = sbox.inversion?;
        // The byte whose image under the input map is zero: A·x = a.
        Some(Self { input: found.input.inverse()?.constant, output: found.output.constant })
    }
}

/// What each byte or word lacks. Sums with secret keys are secret too, and nothing branches on them.
#[derive(Clone, Copy)]
struct Missing<'a> {
    boxes: &'a [Lacks],
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

/// Has the round keys of a cipher of bytes bring what its S-boxes lack.
pub fn on_bytes<C: OnBytes>(boxes: &[Lacks], direction: Direction, keys: &mut [u8]) {
    let missing = Missing { boxes, maps: C::MAPS };
    // Nothing is missing in the end, for the last layer adds keys.
    let _ = C::rounds(missing, direction, [0; 16], Cell::from_mut(keys).as_slice_of_cells());
}

/// Has the round keys of a cipher of words bring what its S-boxes lack. What the words lack in the end, they are given.
#[must_use]
pub fn on_words<C: OnWords>(boxes: &[Lacks], direction: Direction, keys: &mut [u32]) -> [u32; 4] {
    let missing = Missing { boxes, maps: C::MAPS };
    C::rounds(missing, direction, [0; 4], Cell::from_mut(keys).as_slice_of_cells())
}
