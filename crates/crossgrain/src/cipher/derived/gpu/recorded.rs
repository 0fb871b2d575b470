//! The rounds and key schedule of a described cipher, recorded as a sequence of byte operations.
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
pub(super) enum Operation {
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
}

impl Operation {
    /// The array that the step's number refers to: 0 for the round keys, 1 for the constants.
    pub(super) const fn row(self) -> usize {
        matches!(self, Self::Constant) as usize
    }
}

/// An input of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) operation: Operation,
    pub(super) inputs: Vec<Value>,
    /// The index into the round keys or constants, for operations that need one.
    pub(super) number: Option<usize>,
}

/// A sequence of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    /// The number of inputs.
    pub(super) given: usize,
    pub(super) steps: Vec<Step>,
    /// The section's outputs.
    pub(super) results: Vec<Value>,
}

/// A recorded cipher, for one key size and direction.
#[derive(Default)]
pub(super) struct Recorded {
    /// From a block to a block.
    pub(super) rounds: Section,
    /// From a key to the stored round-key bytes.
    pub(super) schedule: Section,
    /// The values of the schedule's constants.
    pub(super) constants: Vec<u8>,
    pub(super) round_key_bytes: usize,
    pub(super) boxes: &'static [Sbox],
    pub(super) maps: &'static [Linear],
}

/// Records a described cipher.
///
/// # Panics
/// If the cipher is not a described one.
pub(super) fn recorded(cipher: Cipher, direction: Direction) -> Recorded {
    let mut recording = Recording { cipher, direction, recorded: None };
    visit(&mut recording);
    recording.recorded.expect("a cipher that is not written by hand is described")
}

struct Recording {
    cipher: Cipher,
    direction: Direction,
    recorded: Option<Recorded>,
}

impl Recording {
    /// Records the steps of description `C`, if it is the cipher's.
    fn run<C: Scheduled>(&mut self, rounds: impl FnOnce(Recorder<'_>, Direction, usize) -> [Value; 16]) {
        let key_bytes = self.cipher.key_bytes();
        if self.cipher.family() != C::FAMILY {
            return;
        }
        let round_key_bytes = C::round_key_bytes(key_bytes);
        let record = Record::default();
        let results = rounds(Recorder(&record), self.direction, round_key_bytes).to_vec();
        let rounds = Section { given: 16, steps: record.steps.into_inner(), results };
        let record = Record::default();
        let key: Vec<_> = (0..key_bytes).map(Value::Given).collect();
        C::round_keys(Recorder(&record), &key, self.direction, &mut |place, bytes| {
            for (at, &byte) in bytes.iter().enumerate() {
                Recorder(&record).step(Operation::Keep, &[byte], Some(place + at));
            }
        });
        let schedule = Section { given: key_bytes, steps: needed(&record.steps.take()), results: Vec::new() };
        let constants = record.constants.take();
        let (boxes, maps) = (C::BOXES, C::MAPS);
        self.recorded = Some(Recorded { rounds, schedule, constants, round_key_bytes, boxes, maps });
    }
}

impl Visitor for Recording {
    fn bytes<C: OnBytes + Scheduled>(&mut self) {
        let block = each!(i < 16 => Value::Given(i));
        self.run::<C>(|recorder, direction, keys| {
            C::rounds(recorder, direction, block, &(0..keys).collect::<Vec<_>>())
        });
    }

    fn words<C: OnWords + Scheduled>(&mut self) {
        let block = each!(i < 4 => each!(row < 4 => Value::Given(4 * i + row)));
        self.run::<C>(|recorder, direction, keys| {
            let words = C::rounds(recorder, direction, block, &(0..keys).step_by(4).collect::<Vec<_>>());
            each!(i < 16 => words[i / 4][i % 4])
        });
    }
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
struct Record {
    steps: RefCell<Vec<Step>>,
    constants: RefCell<Vec<u8>>,
}

/// A state whose values are step numbers.
#[derive(Clone, Copy)]
struct Recorder<'a>(&'a Record);

impl Recorder<'_> {
    fn step(self, operation: Operation, inputs: &[Value], number: Option<usize>) -> Value {
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
