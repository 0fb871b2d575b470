//! The algebra of symbols. A mode that runs on it leaves a trace: all reads and writes, and the origin of
//! each value.
//!
//! A value is a node of a graph. Nodes are numbered in order of creation, so operands have lower numbers
//! than results. Each place holds a separate leaf node before the mode starts.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::algebra::{Algebra, Op, Place, TAG};
use super::specification::{self, Lengths};
use crossgrain::mode::Mode;
use crossgrain::{Block, Direction};

/// A value, as the number of its node.
pub(super) type Value = usize;

/// The origin of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    /// An initial value, or a constant of the standard.
    Leaf,
    /// The result of an operation on one or two values.
    Made(Op, Value, Option<Value>),
}

/// An iteration of a loop. Both are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Iteration {
    pub(super) in_loop: usize,
    pub(super) i: usize,
}

/// Whether a place is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// A read or write. Events are in order of execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) access: Access,
    pub(super) place: Place,
    pub(super) value: Value,
    /// The iteration of the event. `None` outside loops.
    pub(super) at: Option<Iteration>,
}

/// The trace of a mode.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub(super) nodes: Vec<Node>,
    pub(super) events: Vec<Event>,
    /// The loops in order: name and number of iterations.
    pub(super) loops: Vec<(&'static str, usize)>,
    memory: BTreeMap<Place, Value>,
    now: Option<Iteration>,
}

impl Trace {
    /// Runs a mode on symbols.
    pub(super) fn of(mode: Mode, direction: Direction, lengths: Lengths) -> Self {
        let symbols = Symbols::default();
        specification::run(&symbols, mode, direction, lengths);
        symbols.0.into_inner()
    }

    /// Number of cipher calls.
    pub(super) fn cipher_calls(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node, Node::Made(op, ..) if op.is_cipher_call())).count()
    }

    /// Number of cipher calls in the longest chain of dependent calls that ends in an output or the tag.
    pub(super) fn critical_path(&self) -> usize {
        let mut depths = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let depth = match *node {
                Node::Leaf => 0,
                Node::Made(op, a, b) => {
                    let operands: usize = b.map_or(depths[a], |b: Value| depths[b].max(depths[a]));
                    operands + usize::from(op.is_cipher_call())
                }
            };
            depths.push(depth);
        }
        let leaves = |place: &Place| matches!(place, Place::Output(_)) || *place == TAG;
        let results = self.memory.iter().filter(|(place, _)| leaves(place));
        results.map(|(_, &value)| depths[value]).max().unwrap_or(0)
    }

    fn make(&mut self, node: Node) -> Value {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn note(&mut self, access: Access, place: Place, value: Value) {
        self.events.push(Event { access, place, value, at: self.now });
    }
}

/// The algebra of symbols.
#[derive(Debug, Default)]
struct Symbols(RefCell<Trace>);

impl Algebra for Symbols {
    type Value = Value;

    fn constant(&self, _block: Block) -> Value {
        self.0.borrow_mut().make(Node::Leaf)
    }

    fn read(&self, place: Place) -> Value {
        let mut trace = self.0.borrow_mut();
        let known = trace.memory.get(&place).copied();
        let value = known.unwrap_or_else(|| trace.make(Node::Leaf));
        trace.memory.insert(place, value);
        trace.note(Access::Read, place, value);
        value
    }

    fn write(&self, place: Place, value: Value) {
        let mut trace = self.0.borrow_mut();
        trace.memory.insert(place, value);
        trace.note(Access::Write, place, value);
    }

    fn apply(&self, op: Op, a: Value, b: Option<Value>) -> Value {
        self.0.borrow_mut().make(Node::Made(op, a, b))
    }

    fn each(&self, name: &'static str, iterations: usize, body: &dyn Fn(usize)) {
        let in_loop = self.0.borrow().loops.len();
        self.0.borrow_mut().loops.push((name, iterations));
        for i in 0..iterations {
            self.0.borrow_mut().now = Some(Iteration { in_loop, i });
            body(i);
        }
        self.0.borrow_mut().now = None;
    }
}
