//! Tracing: turns code over [`Word`] into a graph by running it on symbols. Each operation on a [`Sym`]
//! records a gate.
//!
//! A word must be `Copy`, so a symbol holds only the number of a node. The graph is in thread-local storage
//! while it is traced.

use std::cell::RefCell;
use std::ops::{BitAnd, BitXor, Not};

use zeroize::Zeroizing;

use super::graph::{Builder, Function, Gate, Graph, Operation};
use crate::arch::{Arithmetic, Lanes, Shift, Word, exchange_by_shifts, two_input_gates};

/// How three-input gates are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// Decomposed into the two-input gates that words without `vpternlog` compute.
    #[default]
    Two,
    /// As one gate.
    Three,
}

/// A node of the graph being traced, as a word.
///
/// It is valid only within the call of [`trace`] that created it.
#[derive(Clone, Copy, Debug)]
pub struct Sym(usize);

/// An unfinished trace.
#[derive(Default)]
struct Record {
    width: Width,
    builder: Builder,
    /// The words that the circuit requests at run time, in the order of the requests.
    given: Zeroizing<Vec<u32>>,
}

thread_local! {
    /// The trace in progress on this thread.
    static RECORD: RefCell<Record> = RefCell::default();
}

/// Runs `circuit` once and returns its graph.
pub fn trace<const INPUTS: usize, const OUTPUTS: usize>(
    width: Width,
    circuit: impl FnOnce([Sym; INPUTS]) -> [Sym; OUTPUTS],
) -> Graph {
    trace_words(width, INPUTS, |inputs| circuit(std::array::from_fn(|at| inputs[at])).to_vec())
}

/// Like [`trace`], for a circuit whose numbers of inputs and outputs are known only at run time.
pub fn trace_words(width: Width, inputs: usize, circuit: impl FnOnce(&[Sym]) -> Vec<Sym>) -> Graph {
    trace_given(width, inputs, circuit).0
}

/// Like [`trace_words`], and also returns the words passed to [`Lanes::uniform`]. The graph contains their
/// number and not their values.
pub fn trace_given(
    width: Width,
    inputs: usize,
    circuit: impl FnOnce(&[Sym]) -> Vec<Sym>,
) -> (Graph, Zeroizing<Vec<u32>>) {
    let outer = Outer::interrupted(width, inputs);
    let outputs = circuit(&(0..inputs).map(Sym).collect::<Vec<_>>());
    outer.finish(&outputs)
}

/// The trace that this one interrupted. It is restored on drop, even if the circuit panics.
struct Outer(Record);

impl Outer {
    /// Begins a trace.
    fn interrupted(width: Width, inputs: usize) -> Self {
        let record = Record { width, builder: Builder::new(inputs), given: Zeroizing::default() };
        Self(RECORD.replace(record))
    }

    /// Ends the trace that began with this one's interruption.
    fn finish(self, outputs: &[Sym]) -> (Graph, Zeroizing<Vec<u32>>) {
        let Record { builder, given, .. } = RECORD.take();
        drop(self);
        (builder.finish(outputs.iter().map(|output| output.0).collect()), given)
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        RECORD.set(std::mem::take(&mut self.0));
    }
}

/// Records a Boolean function of symbols. Circuits have thousands of gates, so it is a call.
#[inline(never)]
fn record(inputs: &[Sym], value: &dyn Fn(&[bool]) -> bool) -> Sym {
    let function = Function::new(inputs.iter().map(|input| input.0).collect(), &|bit| {
        value(&inputs.iter().map(|input| bit(input.0)).collect::<Vec<_>>())
    });
    RECORD.with_borrow_mut(|record| Sym(record.builder.add(function)))
}

/// Records a gate of three inputs: bit i of `table` is its value for the inputs with number i, of which the first is
/// the highest bit.
fn record_table(inputs: [Sym; 3], table: i32) -> Sym {
    record(&inputs, &|bits| {
        let index = bits.iter().fold(0, |index, &bit| 2 * index + i32::from(bit));
        table >> index & 1 == 1
    })
}

/// Records an operation on lanes.
#[inline(never)]
fn record_lanes(inputs: &[Sym], operation: Operation) -> Sym {
    let inputs = inputs.iter().map(|input| input.0).collect();
    RECORD.with_borrow_mut(|record| Sym(record.builder.gate(Gate { inputs, operation })))
}

/// Records a shift, unless the count is 0.
fn shifted(input: Sym, count: u32, operation: fn(u32) -> Operation) -> Sym {
    if count == 0 { input } else { record_lanes(&[input], operation(count)) }
}

/// The inputs that an operation reads: one or both.
fn read(operation: Arithmetic, inputs: &[Sym; 2]) -> &[Sym] {
    if operation == Arithmetic::Root { &inputs[..1] } else { inputs }
}

/// Appends a secret word. Reallocates by hand, because a `Vec` that grows leaves a copy of its contents in
/// freed memory.
fn push(words: &mut Zeroizing<Vec<u32>>, word: u32) {
    if words.len() == words.capacity() {
        let mut longer = Zeroizing::new(Vec::with_capacity(2 * words.len() + 64));
        longer.extend_from_slice(words);
        *words = longer;
    }
    words.push(word);
}

impl Sym {
    /// The same value in every 32-bit lane.
    pub fn constant(value: u32) -> Self {
        match value {
            0 | u32::MAX => record(&[], &|_| value != 0),
            _ => record_lanes(&[], Operation::Constant(value)),
        }
    }
}

impl BitXor for Sym {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        record(&[self, other], &|bits| bits[0] ^ bits[1])
    }
}

impl BitAnd for Sym {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        record(&[self, other], &|bits| bits[0] & bits[1])
    }
}

impl Not for Sym {
    type Output = Self;

    fn not(self) -> Self {
        record(&[self], &|bits| !bits[0])
    }
}

impl Word for Sym {
    fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        match RECORD.with_borrow(|record| record.width) {
            Width::Two => two_input_gates::<Self, TABLE>(a, b, c),
            Width::Three => record_table([a, b, c], TABLE),
        }
    }

    fn has_ternary() -> bool {
        RECORD.with_borrow(|record| record.width == Width::Three)
    }
}

impl Lanes for Sym {
    fn add_lanes(self, other: Self) -> Self {
        record_lanes(&[self, other], Operation::Add)
    }

    fn multiply_lanes(self, other: Self) -> Self {
        record_lanes(&[self, other], Operation::Multiply)
    }

    fn shift_lanes_up(self, count: u32) -> Self {
        shifted(self, count, Operation::ShiftLeft)
    }

    fn shift_lanes_down(self, count: u32) -> Self {
        shifted(self, count, Operation::ShiftRight)
    }

    fn rotate_lanes_left<const COUNT: u32>(self) -> Self {
        record_lanes(&[self], Operation::RotateLeft(COUNT))
    }

    fn filled(self, lane: u32) -> Self {
        Self::constant(lane)
    }

    fn uniform(self, lane: u32) -> Self {
        let number = RECORD.with_borrow_mut(|record| {
            push(&mut record.given, lane);
            record.given.len() as u32 - 1
        });
        record_lanes(&[], Operation::Given(number))
    }

    fn multiply_lanes_high(self, other: Self) -> Self {
        record_lanes(&[self, other], Operation::MultiplyHigh)
    }

    fn shift_lanes_left_by(self, counts: Self) -> Self {
        record_lanes(&[self, counts], Operation::ShiftLeftBy)
    }

    fn shift_lanes_right_by(self, counts: Self) -> Self {
        record_lanes(&[self, counts], Operation::ShiftRightBy)
    }

    fn leading_zeros_of_lanes(self) -> Self {
        record_lanes(&[self], Operation::LeadingZeros)
    }

    fn look_up_public(self, table: &[u32]) -> Self {
        assert!(table.len().is_power_of_two(), "a table has 1, 2, 4, 8 … entries");
        let index = self & self.filled(table.len() as u32 - 1);
        let number = RECORD.with_borrow_mut(|record| record.builder.table(table));
        record_lanes(&[index], Operation::LookUp(number))
    }

    fn single(operation: Arithmetic, a: Self, b: Self) -> Self {
        record_lanes(read(operation, &[a, b]), Operation::Single(operation))
    }

    fn double(operation: Arithmetic, a: [Self; 2], b: [Self; 2]) -> [Self; 2] {
        let numbers = [a, b].map(|words| record_lanes(&words, Operation::Pair));
        let result = record_lanes(read(operation, &numbers), Operation::Double(operation));
        match operation {
            Arithmetic::Less | Arithmetic::Equal => [result; 2],
            _ => [Operation::Low, Operation::High].map(|half| record_lanes(&[result], half)),
        }
    }
}

/// The symbol as a 32-bit word.
impl Shift for Sym {
    fn shift_right<const COUNT: u32>(self) -> Self {
        record_lanes(&[self], Operation::ShiftRight(COUNT))
    }

    fn shift_left<const COUNT: u32>(self) -> Self {
        record_lanes(&[self], Operation::ShiftLeft(COUNT))
    }

    fn exchange<const BIT: u32>(self, other: Self, mask: Self) -> (Self, Self) {
        let bytes = |selector| record_lanes(&[self, other], Operation::Bytes(selector));
        match BIT {
            3 => (bytes(0x6240), bytes(0x7351)),
            4 => (bytes(0x5410), bytes(0x7632)),
            _ => exchange_by_shifts::<_, BIT>(self, other, mask),
        }
    }
}
