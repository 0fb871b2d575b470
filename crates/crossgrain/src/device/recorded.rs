//! The rounds and the key schedule of a described cipher as operations on bytes, one after another.
//!
//! Both are run once on a state that writes down what is done with it. A word of 32 bits is its four bytes, the highest first, as in memory:
//! rotations by whole bytes are then no operations. Nothing that is secret takes part: values are numbers of steps.

use std::cell::RefCell;

use zeroize::Zeroize;

use crate::block::{Cipher, Direction};
use crate::cipher::sbox::{Linear, Sbox};
use crate::cipher::{Bytes, KeyBytes, OnBytes, OnWords, Scheduled, Visitor, Words, visit};
use crate::word::each;

/// What is done with a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    Add,
    AddKey,
    AndKey,
    OrKey,
    /// The S-box of this number, on the sum with a key.
    Substitute(usize),
    /// The same without a key: key schedules have that.
    SubstituteAlone(usize),
    /// The linear map of this number.
    Linear(usize),
    /// Eight bits of two bytes, from so many below the highest on.
    Between(u32),
    /// A byte that is the same for all keys.
    Constant,
    /// Keeps a byte of the round keys.
    Keep,
}

impl Operation {
    /// Which of two rows of bytes its number is one of: those of the round keys, or the constants.
    pub(super) const fn row(self) -> usize {
        matches!(self, Self::Constant) as usize
    }
}

/// A value that a step takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// What the section is given, by number.
    Given(usize),
    /// What a step of the section made.
    Made(usize),
}

/// A number is no secret.
impl Zeroize for Value {
    fn zeroize(&mut self) {}
}

/// An operation on values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) operation: Operation,
    pub(super) inputs: Vec<Value>,
    /// The byte of the round keys or of the constants, where the operation takes one.
    pub(super) number: Option<usize>,
}

/// Steps in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    /// How many values it is given.
    pub(super) given: usize,
    pub(super) steps: Vec<Step>,
    /// What comes of them.
    pub(super) results: Vec<Value>,
}

/// A cipher of one key size and direction as it was run.
#[derive(Default)]
pub(super) struct Recorded {
    /// From a block to a block.
    pub(super) rounds: Section,
    /// From a key; what comes of it is kept.
    pub(super) schedule: Section,
    /// What the schedule's constants are.
    pub(super) constants: Vec<u8>,
    pub(super) round_key_bytes: usize,
    pub(super) boxes: &'static [Sbox],
    pub(super) maps: &'static [Linear],
}

/// A described cipher.
///
/// # Panics
/// If it is another.
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
    /// Has a description write down its steps, if it is the cipher's.
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

/// The steps without those of which nothing comes that is kept.
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

/// What a state writes down.
#[derive(Default)]
struct Record {
    steps: RefCell<Vec<Step>>,
    constants: RefCell<Vec<u8>>,
}

/// A state whose values are numbers of steps.
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

    /// The first of its bytes.
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
