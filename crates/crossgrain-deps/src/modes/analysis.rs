//! Data dependences between the iterations of a mode's loops, read from its trace.
//!
//! Two accesses to the same place depend on each other if at least one of them writes: flow (write, then
//! read), anti (read, then write), or output (write, then write). Source and sink are neighbours in the
//! history of the place. The distance is the sink's iteration minus the source's. A distance of 0, within
//! one iteration, is no constraint. Terms and tests follow Kennedy and Allen, "Optimizing Compilers for
//! Modern Architectures" (2002), chapters 2 and 5.
//!
//! In place, block i of the output and of the input are the same place. A read of the input needs the
//! original contents, so it must come before the write: an anti dependence. If the loop as written reads
//! later, the distance is negative and the loop is wrong.
//!
//! [`Carried`] classifies a flow dependence. It depends on how the value that the sink's iteration leaves
//! in the variable was computed from the source's value: by a step with a closed form, by a linear map, or
//! through the cipher.

use std::collections::{BTreeMap, BTreeSet};

use super::algebra::{Op, Place};
use super::growth::Growth;
use super::specification::Lengths;
use super::trace::{Access, Event, Node, Trace, Value};
use crate::Kind;
use crossgrain::Direction;
use crossgrain::mode::Mode;

/// The lengths for traces. They give enough iterations to show every distance.
const TRACED: Lengths = Lengths { header_blocks: 6, blocks: 6 };

/// The cause of a dependence, which determines the possible treatment. The mildest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// No value: every iteration writes the variable before it reads it, so the variable can be private.
    Private,
    /// An induction variable: its value in iteration i has a closed form, so it can be private and computed
    /// in each iteration.
    Induction(Op),
    /// No value: a block is overwritten that a later read still needs. It can be saved before the loop.
    Overwritten,
    /// A linear recurrence over GF(2¹²⁸). Parts of the loop can run separately, and powers of the factor
    /// combine their results.
    Linear,
    /// A recurrence through the cipher, or one of another form for which no treatment is known.
    Recurrence,
}

/// How a loop may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// All iterations in parallel, with private and induction variables.
    Parallel,
    /// All iterations in parallel, after saving the blocks that will be overwritten.
    ParallelSaved,
    /// In separate parts, whose results are combined afterwards.
    Reduction,
    /// One iteration after another.
    Serial,
}

impl Verdict {
    /// The verdict in words.
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
    /// How a loop with this dependence may run.
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Private | Self::Induction(_) => Verdict::Parallel,
            Self::Overwritten => Verdict::ParallelSaved,
            Self::Linear => Verdict::Reduction,
            Self::Recurrence => Verdict::Serial,
        }
    }

    /// The dependence in words, for one table row.
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

/// A dependence between iterations of one loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// Flow, anti or output.
    pub kind: Kind,
    /// The variable. It is `data` for in-place input and output.
    pub variable: &'static str,
    /// The distances in iterations from source to sink that occur.
    pub distances: Vec<isize>,
    /// The cause of the dependence.
    pub carried: Carried,
}

/// An access of an iteration to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touched {
    /// The variable. Message arrays have separate names, even in place.
    pub variable: &'static str,
    /// The element's index minus the iteration's number. `None` for a scalar.
    pub offset: Option<isize>,
}

/// A loop and its dependences.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Its name. [`super::BLOCKS`] turns input into output.
    pub name: &'static str,
    /// Reads of an iteration in the middle.
    pub reads: Vec<Touched>,
    /// Writes of an iteration in the middle.
    pub writes: Vec<Touched>,
    /// All dependences between different iterations.
    pub dependences: Vec<Dependence>,
}

impl Loop {
    /// How the loop may run.
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.dependences.iter().map(|dependence| dependence.carried.verdict());
        verdicts.max().unwrap_or(Verdict::Parallel)
    }

    /// The variables that must be private to each iteration.
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

/// The analysis of a mode in one direction.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The mode.
    pub mode: Mode,
    /// Its direction.
    pub direction: Direction,
    /// Whether input and output are the same memory.
    pub in_place: bool,
    /// The loops that may have several iterations, in order.
    pub loops: Vec<Loop>,
    /// Whether the loops as written are correct with this storage.
    pub right_as_written: bool,
    /// Total number of cipher calls, as a function of the number of blocks, with one header block.
    pub cipher_calls: Growth,
    /// Number of cipher calls in the longest dependent chain, likewise.
    pub critical_path: Growth,
}

impl Analysis {
    /// Traces a mode and reads its dependences from the trace.
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

    /// The loop with this name.
    pub fn find(&self, name: &str) -> Option<&Loop> {
        self.loops.iter().find(|found| found.name == name)
    }
}

/// Two dependent events, as indices into the trace.
struct Pair {
    kind: Kind,
    source: usize,
    sink: usize,
}

/// All pairs of neighbouring accesses in the history of each place, inside and outside loops.
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

/// The memory place of a place of the specification.
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

/// The accesses of one iteration.
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

/// The cause of a dependence between two iterations of a loop.
fn carried(trace: &Trace, pairs: &[Pair], number: usize, pair: &Pair) -> Carried {
    let (source, sink) = (&trace.events[pair.source], &trace.events[pair.sink]);
    match pair.kind {
        Kind::Flow => recurrence(trace, source, sink),
        // A scalar's storage dependence has the same cause as the scalar's flow dependences.
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

/// The relation between the value that the sink's iteration leaves in the variable and the value from the
/// source.
fn recurrence(trace: &Trace, source: &Event, sink: &Event) -> Carried {
    let left = trace.events.iter().filter(|event| {
        event.access == Access::Write
            && event.at == sink.at
            && event.place.variable() == sink.place.variable()
    });
    let forms = left.map(|event| Form::of(trace, source.value, event.value));
    // A value that does not return to the variable could move to a separate loop. No mode here has one.
    forms.map(Form::carried).reduce(worse).unwrap_or(Carried::Recurrence)
}

/// A value as a function of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// It does not depend on the earlier one.
    Independent,
    /// It equals the earlier one.
    Itself,
    /// It results from one or more applications of an operation with a closed form.
    Stepped(Op),
    /// It is a linear map of the earlier one, plus a constant.
    Linear,
    /// Any other function.
    Other,
}

impl Form {
    /// Computes the form of each value between the two once, because values share operands.
    fn of(trace: &Trace, old: Value, new: Value) -> Self {
        let mut forms = vec![Self::Itself];
        for node in trace.nodes.iter().take(new + 1).skip(old + 1) {
            let of = |value: Value| value.checked_sub(old).map_or(Self::Independent, |later| forms[later]);
            let form = match *node {
                Node::Leaf => Self::Independent,
                Node::Made(op, a, b) => Self::made(op, of(a), b.map_or(Self::Independent, of)),
            };
            forms.push(form);
        }
        new.checked_sub(old).map_or(Self::Independent, |later| forms[later])
    }

    /// The form of the result of an operation, from those of its operands.
    fn made(op: Op, a: Self, b: Self) -> Self {
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
