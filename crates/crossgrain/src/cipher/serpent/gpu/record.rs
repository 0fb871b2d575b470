//! Serpent as a sequence of byte operations, for designs of hardware.
//!
//! A word is its four bytes, lowest first. Rotations and shifts are operations on two neighbouring bytes. An
//! S-box takes byte i of all four words, for each i.

use std::marker::PhantomData;
use std::ops::BitXor;

use super::super::description::{Moves, ROUNDS, Rounds};
use super::super::schedule::{KeyWord, Schedule};
use crate::arch::each;
use crate::block::{Cipher, Direction};
use crate::cipher::{Bytes as _, KeyBytes as _};
use crate::device::recorded::{Operation, Recorded, Recorder, Value, of_functions};

/// Records the cipher.
pub(super) fn recorded(cipher: Cipher, direction: Direction) -> Recorded {
    let recorded = of_functions(
        cipher,
        |recorder| rounds(recorder, direction),
        |recorder, key| schedule(recorder, key, direction),
    );
    Recorded { round_key_bytes: 16 * (ROUNDS + 1), ..recorded }
}

/// Records the rounds.
fn rounds(recorder: Recorder<'_>, direction: Direction) -> [Value; 16] {
    let block = each!(word < 4 => Word { recorder, bytes: each!(i < 4 => Value::Given(4 * word + i)) });
    let mut keys = Keys { next: 0, word: PhantomData };
    let words = match direction {
        Direction::Encrypt => keys.encrypt(block),
        Direction::Decrypt => keys.decrypt(block),
    };
    each!(at < 16 => words[at / 4].bytes[at % 4])
}

/// Records the key schedule.
fn schedule(recorder: Recorder<'_>, key: &[Value], direction: Direction) {
    // Shorter keys are padded to 256 bits with a one bit and zeros.
    let byte =
        |at: usize| key.get(at).copied().unwrap_or_else(|| recorder.constant((at == key.len()).into()));
    let words = each!(word < 8 => Word { recorder, bytes: each!(i < 4 => byte(4 * word + i)) });
    let mut schedule = Schedule::new(recorder, words);
    for round in 0..=ROUNDS {
        let key = schedule.round_key();
        let place = if direction == Direction::Encrypt { round } else { ROUNDS - round };
        for (word, key) in key.iter().enumerate() {
            recorder.keep(16 * place + 4 * word, &key.bytes);
        }
    }
}

/// A word.
#[derive(Clone, Copy)]
struct Word<'a> {
    recorder: Recorder<'a>,
    bytes: [Value; 4],
}

impl BitXor for Word<'_> {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        let Self { recorder, bytes } = self;
        Self { recorder, bytes: each!(i < 4 => recorder.add(bytes[i], other.bytes[i])) }
    }
}

impl Moves for Word<'_> {
    fn rotated<const COUNT: u32>(self) -> Self {
        let Self { recorder, mut bytes } = self;
        // The highest byte comes first.
        bytes.reverse();
        let mut bytes = recorder.rotate_left(bytes, COUNT as usize);
        bytes.reverse();
        Self { recorder, bytes }
    }

    fn shifted<const COUNT: u32>(self) -> Self {
        const { assert!(COUNT < 8, "at most a byte") }
        let Self { recorder, bytes } = self;
        let lowest = recorder.step(Operation::ShiftUp(COUNT), &[bytes[0]], None);
        let bytes =
            each!(i < 4 => if i == 0 { lowest } else { recorder.between(bytes[i], bytes[i - 1], COUNT) });
        Self { recorder, bytes }
    }
}

/// An S-box on all bits of four words.
fn substituted(index: usize, is_inverse: bool, words: [Word<'_>; 4]) -> [Word<'_>; 4] {
    let mut results = words;
    for i in 0..4 {
        let inputs = words.map(|word| word.bytes[i]);
        for (word, result) in results.iter_mut().enumerate() {
            let operation = Operation::Slice { index, is_inverse, word };
            result.bytes[i] = result.recorder.step(operation, &inputs, None);
        }
    }
    results
}

impl<'a> KeyWord for Word<'a> {
    type Isa = Recorder<'a>;

    fn constant(recorder: Recorder<'a>, word: u32) -> Self {
        Self { recorder, bytes: word.to_le_bytes().map(|byte| recorder.constant(byte)) }
    }

    fn sum(self, other: Self) -> Self {
        self ^ other
    }

    fn rotated_by_11(self) -> Self {
        self.rotated::<11>()
    }

    fn substituted(index: usize, words: [Self; 4]) -> [Self; 4] {
        substituted(index, false, words)
    }
}

/// The rounds, and the number of the next byte of the round keys.
struct Keys<'a> {
    next: usize,
    word: PhantomData<Word<'a>>,
}

impl<'a> Rounds for Keys<'a> {
    type Word = Word<'a>;

    fn add_key(&mut self, words: [Word<'a>; 4], _eight: usize, _index: usize) -> [Word<'a>; 4] {
        words.map(|Word { recorder, bytes }| {
            let bytes = bytes.map(|byte| {
                self.next += 1;
                recorder.add_key(byte, &(self.next - 1))
            });
            Word { recorder, bytes }
        })
    }

    fn substitute(direction: Direction, index: usize, words: [Word<'a>; 4]) -> [Word<'a>; 4] {
        substituted(index, direction == Direction::Decrypt, words)
    }
}
