//! Data dependences between the iterations of a mode's loops, read off its trace.
//!
//! Two accesses to one place depend on each other where at least one of them writes: flow (write, then
//! read), anti (read, then write), output (write, then write). Source and sink are neighbours in the
//! place's history; the distance is the sink's iteration less the source's, and 0 (within an iteration)
//! constrains nothing. Terms and tests are those of Kennedy and Allen, "Optimizing Compilers for Modern
//! Architectures" (2002), chapters 2 and 5.
//!
//! In place, block i of output and of input are the same place. A read of input wants what was there
//! before anything was written, so it must come before the write: an anti dependence. Where the loop as
//! written puts it after, the distance is negative and the loop is wrong.
//!
//! What a flow dependence carries is seen from how the value that the sink's iteration leaves in the
//! variable was made of the one that it found there ([`Carried`]): by a step that has a closed form, by a
//! linear map, or through the cipher.

use std::collections::{BTreeMap, BTreeSet};

use super::algebra::{Op, Place};
use super::growth::Growth;
use super::specification::Lengths;
use super::trace::{Access, Event, Node, Trace, Value};
use crate::Kind;
use crossgrain::Direction;
use crossgrain::mode::Mode;

/// The lengths at which loops are traced: enough iterations to see every distance.
const TRACED: Lengths = Lengths { header_blocks: 6, blocks: 6 };

/// What stands behind a dependence, and so what may be done about it: the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Nothing: every iteration writes the variable before it reads it, and may have one of its own.
    Private,
    /// An induction variable: its value in iteration i has a closed form, so every iteration may have one
    /// of its own.
    Induction(Op),
    /// Nothing: what is overwritten is still wanted, and may be saved before.
    Overwritten,
    /// A linear recurrence over GF(2¹²⁸): parts of the loop may be summed each by itself, and put together
    /// by powers of the factor.
    Linear,
    /// A recurrence through the cipher, or one of another shape that nothing is known to be done about.
    Recurrence,
}

/// How a loop may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// All iterations at once, with private and induction variables their own.
    Parallel,
    /// All iterations at once, after what will be overwritten has been saved.
    ParallelSaved,
    /// In parts, whose results are put together afterwards.
    Reduction,
    /// One iteration after another.
    Serial,
}

impl Verdict {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parallel => "parallel",
            Self::ParallelSaved => "parallel once what is overwritten is saved",
            Self::Reduction => "parallel as a reduction",
            Self::Serial => "serial",
        }
    }
}

impl Carried {
    /// What a loop with such a dependence may do.
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Private | Self::Induction(_) => Verdict::Parallel,
            Self::Overwritten => Verdict::ParallelSaved,
            Self::Linear => Verdict::Reduction,
            Self::Recurrence => Verdict::Serial,
        }
    }

    /// In words, for one line of a table.
    pub fn describe(self) -> String {
        match self {
            Self::Private => "storage only: private to each iteration".to_owned(),
            Self::Induction(op) => format!("induction variable: {}", op.closed_form()),
            Self::Overwritten => "storage only: save it before it is overwritten".to_owned(),
            Self::Linear => {
                "linear recurrence: sum parts, put them together by powers of the factor".to_owned()
            }
            Self::Recurrence => "recurrence through the cipher".to_owned(),
        }
    }
}

/// A dependence of some iterations on others of the same loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// Flow, anti or output.
    pub kind: Kind,
    /// The variable; `data` for input and output in place.
    pub variable: &'static str,
    /// By how many iterations the sink comes after the source; every distance that occurs.
    pub distances: Vec<isize>,
    /// What it carries.
    pub carried: Carried,
}

/// What an iteration does with a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touched {
    /// The variable; an array of the message by its own name, even in place.
    pub variable: &'static str,
    /// The element, counted from the iteration's own number; `None` for a scalar.
    pub offset: Option<isize>,
}

/// A loop and its dependences.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Its name: [`super::BLOCKS`] turns input into output.
    pub name: &'static str,
    /// What an iteration in its middle reads.
    pub reads: Vec<Touched>,
    /// What an iteration in its middle writes.
    pub writes: Vec<Touched>,
    /// All dependences between different iterations.
    pub dependences: Vec<Dependence>,
}

impl Loop {
    /// How it may run.
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.dependences.iter().map(|dependence| dependence.carried.verdict());
        verdicts.max().unwrap_or(Verdict::Parallel)
    }

    /// The variables of which every iteration must have one of its own.
    pub fn private(&self) -> Vec<&'static str> {
        let own = |d: &&Dependence| matches!(d.carried, Carried::Private | Carried::Induction(_));
        let variables: BTreeSet<_> = self.dependences.iter().filter(own).map(|d| d.variable).collect();
        variables.into_iter().collect()
    }

    /// The induction variables, each with its step.
    pub fn inductions(&self) -> BTreeMap<&'static str, Op> {
        let step = |dependence: &Dependence| match dependence.carried {
            Carried::Induction(op) => Some((dependence.variable, op)),
            _ => None,
        };
        self.dependences.iter().filter_map(step).collect()
    }
}

/// What is known of a mode in one direction.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The mode.
    pub mode: Mode,
    /// Its direction.
    pub direction: Direction,
    /// Whether input and output are the same memory.
    pub in_place: bool,
    /// The loops that may run more than once, in order.
    pub loops: Vec<Loop>,
    /// Whether the loops as written give the right answer in this storage.
    pub right_as_written: bool,
    /// Cipher calls in all, as a function of the number of blocks, with one block of header.
    pub cipher_calls: Growth,
    /// Cipher calls that must wait for one another, likewise.
    pub critical_path: Growth,
}

impl Analysis {
    /// Traces a mode and reads its dependences off the trace.
    pub fn new(mode: Mode, direction: Direction, in_place: bool) -> Self {
        let trace = Trace::of(mode, direction, TRACED);
        let pairs = pairs(&trace, in_place);
        let loops = (0..trace.loops.len()).filter(|&number| trace.loops[number].1 > 1);
        let grown = |count: fn(&Trace) -> usize| {
            Growth::of(|blocks| count(&Trace::of(mode, direction, Lengths { header_blocks: 1, blocks })))
        };
        Self {
            mode,
            direction,
            in_place,
            loops: loops.map(|number| loop_of(&trace, &pairs, number)).collect(),
            right_as_written: pairs.iter().all(|pair| pair.source <= pair.sink),
            cipher_calls: grown(Trace::cipher_calls),
            critical_path: grown(Trace::critical_path),
        }
    }

    /// A loop by its name.
    pub fn find(&self, name: &str) -> Option<&Loop> {
        self.loops.iter().find(|found| found.name == name)
    }
}

/// Two events that depend on each other, by their number in the trace.
struct Pair {
    kind: Kind,
    source: usize,
    sink: usize,
}

/// Every neighbouring pair in the history of every place, loops or not.
fn pairs(trace: &Trace, in_place: bool) -> Vec<Pair> {
    let mut histories: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    for (number, event) in trace.events.iter().enumerate() {
        histories.entry(memory(event.place, in_place)).or_default().push(number);
    }
    let mut pairs = Vec::new();
    for history in histories.values() {
        let is_write = |&&number: &&usize| trace.events[number].access == Access::Write;
        let writes: Vec<usize> = history.iter().filter(is_write).copied().collect();
        pairs.extend(writes.windows(2).map(|two| Pair { kind: Kind::Output, source: two[0], sink: two[1] }));
        for &read in history.iter().filter(|number| !is_write(number)) {
            let wants_input = matches!(trace.events[read].place, Place::Input(_));
            let version = if wants_input { 0 } else { writes.partition_point(|&write| write < read) };
            if let Some(&write) = version.checked_sub(1).and_then(|last| writes.get(last)) {
                pairs.push(Pair { kind: Kind::Flow, source: write, sink: read });
            }
            if let Some(&write) = writes.get(version) {
                pairs.push(Pair { kind: Kind::Anti, source: read, sink: write });
            }
        }
    }
    pairs
}

/// The place in memory that a place of the specification is.
fn memory(place: Place, in_place: bool) -> Place {
    match place {
        Place::Output(i) if in_place => Place::Input(i),
        other => other,
    }
}

fn loop_of(trace: &Trace, pairs: &[Pair], number: usize) -> Loop {
    let i_of = |event: &Event| event.at.filter(|at| at.in_loop == number).map(|at| at.i);
    let mut found: BTreeMap<(Kind, &'static str), (BTreeSet<isize>, Carried)> = BTreeMap::new();
    for pair in pairs {
        let (source, sink) = (&trace.events[pair.source], &trace.events[pair.sink]);
        let (Some(from), Some(to)) = (i_of(source), i_of(sink)) else { continue };
        if from == to {
            continue;
        }
        let shared = source.place != sink.place;
        let variable = if shared { "data" } else { source.place.variable() };
        let carried = carried(trace, pairs, number, pair);
        let entry = found.entry((pair.kind, variable)).or_insert((BTreeSet::new(), carried));
        entry.0.insert(to as isize - from as isize);
        entry.1 = worse(entry.1, carried);
    }
    let dependence = |((kind, variable), (distances, carried))| Dependence {
        kind,
        variable,
        distances: BTreeSet::into_iter(distances).collect(),
        carried,
    };
    let (name, iterations) = trace.loops[number];
    let touched = |access| touched(trace, access, number, iterations / 2);
    Loop {
        name,
        reads: touched(Access::Read),
        writes: touched(Access::Write),
        dependences: found.into_iter().map(dependence).collect(),
    }
}

fn worse(a: Carried, b: Carried) -> Carried {
    if b.verdict() > a.verdict() { b } else { a }
}

/// What one iteration reads or writes.
fn touched(trace: &Trace, access: Access, in_loop: usize, i: usize) -> Vec<Touched> {
    let here = |event: &&Event| {
        event.access == access && event.at.is_some_and(|at| (at.in_loop, at.i) == (in_loop, i))
    };
    let touched = trace.events.iter().filter(here).map(|event| Touched {
        variable: event.place.variable(),
        offset: event.place.index().map(|index| index as isize - i as isize),
    });
    touched.collect::<BTreeSet<_>>().into_iter().collect()
}

/// What a dependence between two iterations of a loop carries.
fn carried(trace: &Trace, pairs: &[Pair], number: usize, pair: &Pair) -> Carried {
    let (source, sink) = (&trace.events[pair.source], &trace.events[pair.sink]);
    match pair.kind {
        Kind::Flow => recurrence(trace, source, sink),
        // The storage of a scalar: it goes with what the scalar's flow carries.
        _ if matches!(source.place, Place::Scalar(_)) => {
            let flows = pairs.iter().filter(|flow| {
                let events = (&trace.events[flow.source], &trace.events[flow.sink]);
                let reads_here = events.1.at.is_some_and(|at| at.in_loop == number);
                flow.kind == Kind::Flow
                    && events.1.place == source.place
                    && reads_here
                    && events.0.at != events.1.at
            });
            flows
                .map(|flow| recurrence(trace, &trace.events[flow.source], &trace.events[flow.sink]))
                .fold(Carried::Private, worse)
        }
        Kind::Anti => Carried::Overwritten,
        Kind::Output => Carried::Recurrence,
    }
}

/// How what the sink's iteration leaves in the variable was made of what the source left there.
fn recurrence(trace: &Trace, source: &Event, sink: &Event) -> Carried {
    let left = trace.events.iter().filter(|event| {
        event.access == Access::Write
            && event.at == sink.at
            && event.place.variable() == sink.place.variable()
    });
    let forms = left.map(|event| Form::of(trace, source.value, event.value));
    // A value that does not come back could be computed in a loop of its own; no mode here has one.
    forms.map(Form::carried).reduce(worse).unwrap_or(Carried::Recurrence)
}

/// What a value is, as a function of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// It does not depend on it.
    Independent,
    /// It is the same.
    Itself,
    /// It comes of it by one operation with a closed form, once or more.
    Stepped(Op),
    /// A linear map of it, and a sum.
    Linear,
    /// Anything else.
    Other,
}

impl Form {
    fn of(trace: &Trace, old: Value, new: Value) -> Self {
        if new <= old {
            return if new == old { Self::Itself } else { Self::Independent };
        }
        let Node::Made(op, a, b) = trace.nodes[new] else { return Self::Independent };
        let a = Self::of(trace, old, a);
        let b = b.map_or(Self::Independent, |b| Self::of(trace, old, b));
        match (op, a, b) {
            (_, Self::Independent, Self::Independent) => Self::Independent,
            (_, Self::Itself, Self::Independent) if op.has_closed_form() => Self::Stepped(op),
            (_, Self::Stepped(step), Self::Independent) if step == op => a,
            (Op::Xor, ..) if a.is_linear() && b.is_linear() => Self::Linear,
            (Op::Double | Op::DoubleLittle, ..) if a.is_linear() => Self::Linear,
            (Op::Multiply | Op::MultiplyLittle, Self::Independent, other)
            | (Op::Multiply | Op::MultiplyLittle, other, Self::Independent)
                if other.is_linear() =>
            {
                Self::Linear
            }
            _ => Self::Other,
        }
    }

    const fn is_linear(self) -> bool {
        match self {
            Self::Independent | Self::Itself | Self::Linear => true,
            Self::Stepped(op) => matches!(op, Op::Double | Op::DoubleLittle),
            Self::Other => false,
        }
    }

    const fn carried(self) -> Carried {
        match self {
            Self::Stepped(op) => Carried::Induction(op),
            Self::Linear => Carried::Linear,
            Self::Independent | Self::Itself | Self::Other => Carried::Recurrence,
        }
    }
}
