//! The rounds of a described cipher as operations one after another, and the loop that is in them.
//!
//! The rounds are run once on a state that writes down what is done with it ([`recorded`]). What a description says by a loop is by
//! then a list in which a stretch comes again and again, by other round keys and on what the stretch before has left.
//! [`Rolled::of`] finds the stretch: [`Section`]s before, in and after a loop. What it finds is unrolled again and compared with the list, so a loop
//! that is found is right; without one, a program is the list as it is.

use std::cell::RefCell;

use crate::block::{Cipher, Direction};
use crate::cipher::sbox::{Linear, Sbox};
use crate::cipher::{Bytes, Description, OnBytes, OnWords, Visitor, Words, visit};
use crate::word::each;

/// What is done with a byte or a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    Add,
    AddKey,
    AndKey,
    OrKey,
    /// The S-box of this number, on the sum with a key.
    Substitute(usize),
    /// The linear map of this number.
    Linear(usize),
    /// A rotation of a word by so many bits.
    Rotate(u32),
}

/// A value that a step takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// What the section is given, by number.
    Given(usize),
    /// What a step of the section made.
    Made(usize),
}

/// An operation on values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) operation: Operation,
    pub(super) inputs: Vec<Value>,
    /// The byte or word of the round keys, where the operation takes one.
    pub(super) key: Option<usize>,
}

/// Steps in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) steps: Vec<Step>,
    /// What comes of them.
    pub(super) results: Vec<Value>,
}

/// A cipher of one key size and direction as it was run.
pub(super) struct Recorded {
    pub(super) section: Section,
    /// Bytes that a value has: one, or four.
    pub(super) value_bytes: usize,
    pub(super) boxes: &'static [Sbox],
    pub(super) maps: &'static [Linear],
}

/// The rounds of a described cipher; `None` of another.
pub(super) fn recorded(cipher: Cipher, direction: Direction) -> Option<Recorded> {
    let mut recording = Recording { cipher, direction, recorded: None };
    visit(&mut recording);
    recording.recorded
}

struct Recording {
    cipher: Cipher,
    direction: Direction,
    recorded: Option<Recorded>,
}

impl Recording {
    /// Has the rounds of a description write down their steps, if it is the cipher's.
    fn run<C: Description>(
        &mut self,
        value_bytes: usize,
        rounds: impl FnOnce(Recorder<'_>, Direction, &[usize]) -> Vec<Value>,
    ) {
        if self.cipher.family() == C::FAMILY {
            let (steps, key) = (RefCell::default(), vec![0; self.cipher.key_bytes()]);
            let keys: Vec<_> = (0..C::schedule(&key, self.direction).len() / value_bytes).collect();
            let results = rounds(Recorder(&steps), self.direction, &keys);
            let section = Section { steps: steps.into_inner(), results };
            self.recorded = Some(Recorded { section, value_bytes, boxes: C::BOXES, maps: C::MAPS });
        }
    }
}

impl Visitor for Recording {
    fn bytes<C: OnBytes>(&mut self) {
        let block = each!(i < 16 => Value::Given(i));
        self.run::<C>(1, |recorder, direction, keys| C::rounds(recorder, direction, block, keys).to_vec());
    }

    fn words<C: OnWords>(&mut self) {
        let block = each!(i < 4 => Value::Given(i));
        self.run::<C>(4, |recorder, direction, keys| C::rounds(recorder, direction, block, keys).to_vec());
    }
}

/// A state whose values are numbers of steps.
#[derive(Clone, Copy)]
struct Recorder<'a>(&'a RefCell<Vec<Step>>);

impl Recorder<'_> {
    fn step(self, operation: Operation, inputs: &[Value], key: Option<usize>) -> Value {
        let mut steps = self.0.borrow_mut();
        steps.push(Step { operation, inputs: inputs.to_vec(), key });
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

impl Words for Recorder<'_> {
    type Word = Value;
    type Key = usize;

    fn add(self, a: Value, b: Value) -> Value {
        self.step(Operation::Add, &[a, b], None)
    }

    fn substitute_sum(self, word: Value, key: &usize, sbox: usize) -> Value {
        self.step(Operation::Substitute(sbox), &[word], Some(*key))
    }

    fn rotate_left<const COUNT: u32>(self, word: Value) -> Value {
        self.step(Operation::Rotate(COUNT), &[word], None)
    }
}

/// Steps with a loop among them.
#[derive(Clone, Debug)]
pub(super) struct Rolled {
    /// From the block to what the loop begins with.
    pub(super) before: Section,
    /// From what one turn begins with to what the next one does.
    pub(super) turn: Section,
    /// From what the loop ends with to the block.
    pub(super) after: Section,
    /// Keys of a turn. Those of `turn` are the first one's, those of `after` what they would be after no turn.
    pub(super) keys_a_turn: usize,
}

/// A stretch that comes again and again.
#[derive(Clone, Copy)]
struct Stretch {
    start: usize,
    period: usize,
    turns: usize,
    keys_a_turn: usize,
    /// By how many steps it may begin later.
    slack: usize,
}

impl Rolled {
    /// A section with the loop in it that makes it shortest, and how often that turns.
    pub(super) fn of(section: &Section) -> (Self, usize) {
        let mut stretches: Vec<_> =
            (1..=section.steps.len() / 2).filter_map(|period| longest(&section.steps, period)).collect();
        stretches.sort_by_key(|stretch| (usize::MAX - (stretch.turns - 1) * stretch.period, stretch.period));
        for stretch in stretches {
            let starts = stretch.start..=stretch.start + stretch.slack;
            let rolled = starts.filter_map(|start| Slots::rolled(section, Stretch { start, ..stretch }));
            let right = rolled.filter(|rolled| rolled.unrolled(stretch.turns) == *section);
            if let Some(rolled) = right.min_by_key(|rolled| rolled.turn.results.len()) {
                return (rolled, stretch.turns);
            }
        }
        let results = (0..section.results.len()).map(Value::Given).collect();
        let after = Section { steps: Vec::new(), results };
        (Self { before: section.clone(), turn: Section::default(), after, keys_a_turn: 0 }, 0)
    }

    /// All steps, where the loop turns so often.
    pub(super) fn unrolled(&self, turns: usize) -> Section {
        let mut steps = Vec::new();
        let mut state = append(&mut steps, &self.before, None, 0);
        for turn in 0..turns {
            state = append(&mut steps, &self.turn, Some(&state), self.keys_a_turn * turn);
        }
        let results = append(&mut steps, &self.after, Some(&state), self.keys_a_turn * turns);
        Section { steps, results }
    }
}

/// Appends a section that is given values, the block unless others are named, and takes its keys from a number on.
fn append(steps: &mut Vec<Step>, section: &Section, given: Option<&[Value]>, first_key: usize) -> Vec<Value> {
    let first = steps.len();
    let value = |value: &Value| match (*value, given) {
        (Value::Given(at), Some(given)) => given[at],
        (Value::Given(at), None) => Value::Given(at),
        (Value::Made(at), _) => Value::Made(first + at),
    };
    for Step { operation, inputs, key } in &section.steps {
        let inputs = inputs.iter().map(value).collect();
        steps.push(Step { operation: *operation, inputs, key: key.map(|key| first_key + key) });
    }
    section.results.iter().map(value).collect()
}

/// The longest stretch of a period, by operations and keys alone.
fn longest(steps: &[Step], period: usize) -> Option<Stretch> {
    let (mut best, mut start, mut stride) = (None::<(usize, usize, usize)>, 0, None);
    for at in 0..steps.len() - period {
        let (one, next) = (&steps[at], &steps[at + period]);
        let moved = one.key.zip(next.key).and_then(|(one, next)| next.checked_sub(one));
        if one.operation != next.operation || moved.is_some() != one.key.is_some() {
            (start, stride) = (at + 1, None);
        } else if moved.is_some() && stride.is_some() && moved != stride {
            (start, stride) = (at, moved);
        } else {
            stride = stride.or(moved);
        }
        let run = (at + 1).saturating_sub(start);
        if best.is_none_or(|(_, most, _)| run > most) {
            best = Some((start, run, stride.unwrap_or(0)));
        }
    }
    let (start, run, keys_a_turn) = best.filter(|(_, run, _)| *run >= period)?;
    Some(Stretch { start, period, turns: run / period + 1, keys_a_turn, slack: run % period })
}

/// What goes from turn to turn: of each slot the value before every turn and after the last, as a number, as far as it is known.
/// Numbers are those of the block's parts and then of steps.
struct Slots<'a> {
    section: &'a Section,
    stretch: Stretch,
    given: usize,
    values: Vec<Vec<Option<usize>>>,
    /// Where each comes from within a turn.
    next: Vec<Value>,
}

impl Slots<'_> {
    /// The section with this stretch as a loop, unless its turns differ in what they take.
    fn rolled(section: &Section, stretch: Stretch) -> Option<Rolled> {
        let (given, values, next) = (section.results.len(), Vec::new(), Vec::new());
        let mut slots = Slots { section, stretch, given, values, next };
        let Stretch { start, period, turns, keys_a_turn, .. } = stretch;
        let steps = (0..period).map(|at| slots.of_turn(at)).collect::<Option<Vec<_>>>()?;
        slots.trace_back()?;
        let end = start + turns * period;
        let mut after = Section::default();
        for step in &section.steps[end..] {
            let inputs = step.inputs.iter().map(|&input| slots.of_end(input)).collect::<Option<_>>()?;
            let key = match step.key {
                Some(key) => Some(key.checked_sub(keys_a_turn * turns)?),
                None => None,
            };
            after.steps.push(Step { inputs, key, ..step.clone() });
        }
        after.results = section.results.iter().map(|&result| slots.of_end(result)).collect::<Option<_>>()?;
        let begins = |values: &Vec<Option<usize>>| slots.value(values[0].unwrap_or(0));
        let results = slots.values.iter().map(begins).collect();
        let before = Section { steps: section.steps[..start].to_vec(), results };
        let turn = Section { steps, results: slots.next.clone() };
        Some(Rolled { before, turn, after, keys_a_turn })
    }

    const fn number(&self, value: Value) -> usize {
        match value {
            Value::Given(at) => at,
            Value::Made(at) => self.given + at,
        }
    }

    const fn value(&self, number: usize) -> Value {
        match number.checked_sub(self.given) {
            None => Value::Given(number),
            Some(at) => Value::Made(at),
        }
    }

    /// The number of what the first step of a turn makes.
    const fn first_of(&self, turn: usize) -> usize {
        self.given + self.stretch.start + turn * self.stretch.period
    }

    /// A slot that may have these values.
    fn slot(&mut self, wanted: Vec<Option<usize>>) -> usize {
        let may_be = |values: &Vec<Option<usize>>| {
            values.iter().zip(&wanted).all(|(a, b)| a.is_none() || b.is_none() || a == b)
        };
        let Some(found) = self.values.iter().position(may_be) else {
            self.values.push(wanted);
            return self.values.len() - 1;
        };
        for (value, wanted) in self.values[found].iter_mut().zip(wanted) {
            *value = value.or(wanted);
        }
        found
    }

    /// A step of a turn, as all turns have it.
    fn of_turn(&mut self, at: usize) -> Option<Step> {
        let Stretch { start, period, turns, .. } = self.stretch;
        let (section, first) = (self.section, &self.section.steps[start + at]);
        let mut inputs = Vec::new();
        for input in 0..first.inputs.len() {
            let number = |turn: usize| self.number(section.steps[start + turn * period + at].inputs[input]);
            let own: Vec<_> = (0..turns).map(|turn| number(turn).checked_sub(self.first_of(turn))).collect();
            if own.iter().any(|one| *one != own[0]) {
                return None;
            }
            inputs.push(match own[0] {
                Some(own) => Value::Made(own),
                None => {
                    let values = (0..turns).map(|turn| Some(number(turn))).chain([None]).collect();
                    Value::Given(self.slot(values))
                }
            });
        }
        Some(Step { inputs, ..first.clone() })
    }

    /// Finds for every slot what the turn before leaves there: a step's value, or another slot's.
    fn trace_back(&mut self) -> Option<()> {
        let turns = self.stretch.turns;
        while let Some(values) = self.values.get(self.next.len()).cloned() {
            let known: Vec<_> = (0..turns).filter_map(|turn| Some((turn, values[turn + 1]?))).collect();
            let own: Vec<_> =
                known.iter().map(|&(turn, value)| value.checked_sub(self.first_of(turn))).collect();
            if own.iter().any(|one| *one != own[0]) {
                return None;
            }
            let next = match own.first().copied().flatten() {
                Some(own) => Value::Made(own),
                None => {
                    let mut wanted = vec![None; turns + 1];
                    for (turn, value) in known {
                        wanted[turn] = Some(value);
                    }
                    Value::Given(self.slot(wanted))
                }
            };
            self.next.push(next);
        }
        for at in 0..self.next.len() {
            self.values[at][turns] = match self.next[at] {
                Value::Made(own) => Some(self.first_of(turns - 1) + own),
                Value::Given(slot) => self.values[slot][turns - 1],
            };
        }
        Some(())
    }

    /// A value after the loop: a step's there, or a slot's. One that the loop itself needs no more gets a slot.
    fn of_end(&mut self, value: Value) -> Option<Value> {
        let (number, turns) = (self.number(value), self.stretch.turns);
        if let Some(own) = number.checked_sub(self.first_of(turns)) {
            return Some(Value::Made(own));
        }
        let ends_so = |values: &Vec<Option<usize>>, turn: usize| values[turn] == Some(number);
        if let Some(slot) = self.values.iter().position(|values| ends_so(values, turns)) {
            return Some(Value::Given(slot));
        }
        let next = match number.checked_sub(self.first_of(turns - 1)) {
            Some(own) => Value::Made(own),
            None => Value::Given(self.values.iter().position(|values| ends_so(values, turns - 1))?),
        };
        let mut values = vec![None; turns + 1];
        values[turns] = Some(number);
        self.values.push(values);
        self.next.push(next);
        Some(Value::Given(self.next.len() - 1))
    }
}
