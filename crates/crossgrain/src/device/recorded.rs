//! The rounds and key schedule of a cipher, recorded as a sequence of byte operations.
//!
//! The description is run once on a state whose values are step numbers, and every operation is recorded. A
//! 32-bit word is its four bytes in memory order, highest first, so rotations by whole bytes need no
//! operation. Recording handles no secrets.

use std::cell::RefCell;

use zeroize::Zeroize;

use crate::arch::each;
use crate::block::{Cipher, Direction};
use crate::cipher::sbox::{Linear, Sbox};
use crate::cipher::{Bytes, KeyBytes, OnBytes, OnWords, Scheduled, Visitor, Words, visit};

/// An operation on a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Add,
    AddKey,
    AndKey,
    OrKey,
    /// The S-box with this number, applied to the byte XOR a key byte.
    Substitute(usize),
    /// The S-box with this number, without a key. Key schedules use it.
    SubstituteAlone(usize),
    /// The linear map with this number.
    Linear(usize),
    /// Eight bits of two bytes: the first shifted left by this count, filled with the top bits of the second.
    Between(u32),
    /// A byte that is the same for all keys.
    Constant,
    /// Stores a byte of the round keys.
    Keep,
    /// Byte `word` of four that a four-bit S-box of Serpent gives for four bytes. Bit i of the four is the
    /// input of copy i.
    Slice {
        /// The number of the S-box.
        index: usize,
        /// Whether it is the inverse S-box.
        is_inverse: bool,
        /// The number of the result, which is the number of its bit in a copy.
        word: usize,
    },
    /// A byte shifted left by this count, filled with zeros.
    ShiftUp(u32),
}

impl Operation {
    /// Whether it is a substitution.
    pub(crate) const fn substitutes(self) -> bool {
        matches!(self, Self::Substitute(_) | Self::SubstituteAlone(_) | Self::Slice { .. })
    }

    /// Whether its number is that of a byte of the round keys which it reads.
    pub(crate) const fn reads_key(self) -> bool {
        matches!(self, Self::AddKey | Self::AndKey | Self::OrKey | Self::Substitute(_))
    }

    /// The array that the step's number refers to: 0 for the round keys, 1 for the constants.
    pub(crate) const fn row(self) -> usize {
        matches!(self, Self::Constant) as usize
    }
}

/// An input of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// The section's input with this number.
    Given(usize),
    /// The result of the section's step with this number.
    Made(usize),
}

/// Step numbers are not secret.
impl Zeroize for Value {
    fn zeroize(&mut self) {}
}

/// An operation with its inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    pub(crate) operation: Operation,
    pub(crate) inputs: Vec<Value>,
    /// The index into the round keys or constants, for operations that need one.
    pub(crate) number: Option<usize>,
}

/// A sequence of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Section {
    /// The number of inputs.
    pub(crate) given: usize,
    pub(crate) steps: Vec<Step>,
    /// The section's outputs.
    pub(crate) results: Vec<Value>,
}

/// A recorded cipher, for one key size and direction.
#[derive(Default)]
pub(crate) struct Recorded {
    /// From a block to a block.
    pub(crate) rounds: Section,
    /// From a key to the stored round-key bytes.
    pub(crate) schedule: Section,
    /// The values of the schedule's constants.
    pub(crate) constants: Vec<u8>,
    pub(crate) round_key_bytes: usize,
    pub(crate) boxes: &'static [Sbox],
    pub(crate) maps: &'static [Linear],
}

/// Records a described cipher.
///
/// # Panics
/// If the cipher is not a described one.
pub(crate) fn recorded(cipher: Cipher, direction: Direction) -> Recorded {
    let mut recording = Recording { cipher, direction, recorded: None };
    visit(&mut recording);
    recording.recorded.expect("a cipher that is not written by hand is described")
}

struct Recording {
    cipher: Cipher,
    direction: Direction,
    recorded: Option<Recorded>,
}

impl Visitor for Recording {
    fn bytes<C: OnBytes + Scheduled>(&mut self) {
        if self.cipher.family() == C::FAMILY {
            self.recorded = Some(on_bytes::<C>(self.cipher, self.direction));
        }
    }

    fn words<C: OnWords + Scheduled>(&mut self) {
        if self.cipher.family() == C::FAMILY {
            self.recorded = Some(on_words::<C>(self.cipher, self.direction));
        }
    }
}

/// Records a cipher of bytes.
pub(crate) fn on_bytes<C: OnBytes + Scheduled>(cipher: Cipher, direction: Direction) -> Recorded {
    let block = each!(i < 16 => Value::Given(i));
    of_description::<C>(cipher, direction, |recorder, keys| {
        C::rounds(recorder, direction, block, &(0..keys).collect::<Vec<_>>())
    })
}

/// Records a cipher of words.
fn on_words<C: OnWords + Scheduled>(cipher: Cipher, direction: Direction) -> Recorded {
    let block = each!(i < 4 => each!(row < 4 => Value::Given(4 * i + row)));
    of_description::<C>(cipher, direction, |recorder, keys| {
        let words = C::rounds(recorder, direction, block, &(0..keys).step_by(4).collect::<Vec<_>>());
        each!(i < 16 => words[i / 4][i % 4])
    })
}

fn of_description<C: Scheduled>(
    cipher: Cipher,
    direction: Direction,
    rounds: impl FnOnce(Recorder<'_>, usize) -> [Value; 16],
) -> Recorded {
    let round_key_bytes = C::round_key_bytes(cipher.key_bytes());
    let rounds = |recorder: Recorder<'_>| rounds(recorder, round_key_bytes);
    let schedule = |recorder: Recorder<'_>, key: &[Value]| {
        C::round_keys(recorder, key, direction, &mut |place, bytes| recorder.keep(place, bytes));
    };
    let recorded = of_functions(cipher, rounds, schedule);
    Recorded { round_key_bytes, boxes: C::BOXES, maps: C::MAPS, ..recorded }
}

/// Records rounds and a key schedule. The result has no S-boxes and no maps.
pub(crate) fn of_functions(
    cipher: Cipher,
    rounds: impl FnOnce(Recorder<'_>) -> [Value; 16],
    schedule: impl FnOnce(Recorder<'_>, &[Value]),
) -> Recorded {
    let key_bytes = cipher.key_bytes();
    let record = Record::default();
    let results = rounds(Recorder(&record)).to_vec();
    let rounds = Section { given: 16, steps: record.steps.into_inner(), results };
    let record = Record::default();
    schedule(Recorder(&record), &(0..key_bytes).map(Value::Given).collect::<Vec<_>>());
    let schedule = Section { given: key_bytes, steps: needed(&record.steps.take()), results: Vec::new() };
    Recorded { rounds, schedule, constants: record.constants.take(), ..Recorded::default() }
}

/// Removes the steps whose results are never used for a stored byte.
fn needed(steps: &[Step]) -> Vec<Step> {
    let mut is_needed: Vec<_> = steps.iter().map(|step| step.operation == Operation::Keep).collect();
    for (at, step) in steps.iter().enumerate().rev() {
        for input in step.inputs.iter().filter(|_| is_needed[at]).copied().collect::<Vec<_>>() {
            if let Value::Made(from) = input {
                is_needed[from] = true;
            }
        }
    }
    let numbers: Vec<_> = is_needed
        .iter()
        .scan(0, |next, &is_needed| Some(std::mem::replace(next, *next + usize::from(is_needed))))
        .collect();
    let moved = |input: &Value| match *input {
        Value::Made(at) => Value::Made(numbers[at]),
        given @ Value::Given(_) => given,
    };
    let kept = steps.iter().zip(is_needed).filter(|(_, is_needed)| *is_needed);
    kept.map(|(step, _)| Step { inputs: step.inputs.iter().map(moved).collect(), ..step.clone() }).collect()
}

/// The recorded steps and constants.
#[derive(Default)]
pub(crate) struct Record {
    steps: RefCell<Vec<Step>>,
    constants: RefCell<Vec<u8>>,
}

/// A state whose values are step numbers.
#[derive(Clone, Copy)]
pub(crate) struct Recorder<'a>(&'a Record);

impl Recorder<'_> {
    /// Stores bytes of the round keys from `place` on.
    pub(crate) fn keep(self, place: usize, bytes: &[Value]) {
        for (at, &byte) in bytes.iter().enumerate() {
            self.step(Operation::Keep, &[byte], Some(place + at));
        }
    }

    /// Records a step. Descriptions call it thousands of times, so it is a call.
    #[inline(never)]
    pub(crate) fn step(self, operation: Operation, inputs: &[Value], number: Option<usize>) -> Value {
        let mut steps = self.0.steps.borrow_mut();
        steps.push(Step { operation, inputs: inputs.to_vec(), number });
        Value::Made(steps.len() - 1)
    }
}

impl Bytes for Recorder<'_> {
    type Byte = Value;
    type Key = usize;

    fn add(self, a: Value, b: Value) -> Value {
        self.step(Operation::Add, &[a, b], None)
    }

    fn add_key(self, byte: Value, key: &usize) -> Value {
        self.step(Operation::AddKey, &[byte], Some(*key))
    }

    fn and_key(self, byte: Value, key: &usize) -> Value {
        self.step(Operation::AndKey, &[byte], Some(*key))
    }

    fn or_key(self, byte: Value, key: &usize) -> Value {
        self.step(Operation::OrKey, &[byte], Some(*key))
    }

    fn substitute_sum(self, byte: Value, key: &usize, sbox: usize) -> Value {
        self.step(Operation::Substitute(sbox), &[byte], Some(*key))
    }

    fn linear(self, byte: Value, map: usize) -> Value {
        self.step(Operation::Linear(map), &[byte], None)
    }
}

impl KeyBytes for Recorder<'_> {
    fn constant(self, byte: u8) -> Value {
        let mut constants = self.0.constants.borrow_mut();
        constants.push(byte);
        self.step(Operation::Constant, &[], Some(constants.len() - 1))
    }

    fn substitute(self, choose: impl Fn(usize) -> usize, bytes: &mut [Value]) {
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = self.step(Operation::SubstituteAlone(choose(at)), &[*byte], None);
        }
    }

    fn between(self, high: Value, low: Value, count: u32) -> Value {
        self.step(Operation::Between(count), &[high, low], None)
    }
}

impl Words for Recorder<'_> {
    type Word = [Value; 4];

    /// The number of its first byte.
    type Key = usize;

    fn add(self, a: [Value; 4], b: [Value; 4]) -> [Value; 4] {
        self.sum(a, b)
    }

    fn substitute_sum(self, word: [Value; 4], key: &usize, sbox: usize) -> [Value; 4] {
        each!(row < 4 => Bytes::substitute_sum(self, word[row], &(key + row), sbox))
    }

    fn rotate_left<const COUNT: u32>(self, word: [Value; 4]) -> [Value; 4] {
        KeyBytes::rotate_left(self, word, COUNT as usize)
    }
}
