//! Programs for a device: an algorithm combined with a user's kernel.
//!
//! The kernel's gates are traced and become functions. This part is compiled for each type of kernel.
//! Everything else is in `shape` and compiled once.

use std::any::type_name;

use crossgrain::engine::circuit::trace::{Sym, Width, trace_given};

use super::functions::{Functions, Head, Traced};
use super::kernel::{Bundle, Combine, Rounds};
use super::launch::Launch;
use super::shape::{Form, Shape};
use crate::{Error, Gpu};

/// The part of a kernel that a program contains. `Rounds` and `Last` start from the state that the previous
/// part left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// The whole kernel.
    All,
    /// The computation before its loop.
    First,
    /// Rounds of its loop, all identical.
    Rounds,
    /// The computation after its loop.
    Last,
}

/// The origin of a program's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reads {
    /// Separate memory.
    Source,
    /// The goal.
    Goal,
    /// The elements are the numbers of a range.
    Indices,
    /// Separate memory, indexed: the goal's first number holds each element's index, and the result
    /// overwrites it.
    Indexed,
}

/// The use of a kernel's results.
#[derive(Clone)]
pub(crate) enum Sink {
    /// Writes them.
    Write,
    /// Writes, for each thread, the index of the first element whose result is not zero, or [`NO_HIT`].
    Find,
    /// Writes, for each thread, its results combined by this function. The vector is the function's
    /// identity.
    Combine(Traced, Vec<u32>),
    /// As `Combine`, but each thread takes a run of neighbours in order.
    Totals(Traced, Vec<u32>),
    /// Writes the scan of each thread's run. The initial value of a run is the thread's element of the
    /// source.
    Scan(Traced),
    /// Writes the index of each element to the position that the kernel's result gives.
    Place,
}

/// The result of a thread that found nothing.
pub(super) const NO_HIT: u32 = u32::MAX;

/// Traces a function that combines two elements.
pub(super) fn combined<C: Combine<N>, const N: usize>(combine: &C) -> Traced {
    trace_given(Width::Three, 2 * N, |words| {
        let (mut a, mut b) = ([words[0]; N], [words[0]; N]);
        a.copy_from_slice(&words[..N]);
        b.copy_from_slice(&words[N..]);
        combine.combine(a, b).to_vec()
    })
}

impl Sink {
    /// The text's form, and the combining function, if there is one.
    fn taken_apart(&self) -> (Form, Option<&Traced>) {
        match self {
            Self::Write => (Form::Write, None),
            Self::Find => (Form::Find, None),
            Self::Combine(combined, identity) => (Form::Combine(identity.clone()), Some(combined)),
            Self::Totals(combined, identity) => (Form::Totals(identity.clone()), Some(combined)),
            Self::Scan(combined) => (Form::Scan, Some(combined)),
            Self::Place => (Form::Place, None),
        }
    }
}

/// A program before its text is generated.
pub(crate) struct Program<'a, K, const ROWS: usize, const IN: usize, const OUT: usize> {
    pub(crate) kernel: &'a K,
    pub(crate) reads: Reads,
    pub(crate) sink: Sink,
    pub(crate) part: Part,
    pub(crate) launch: Launch,
}

impl<'a, K, const ROWS: usize, const IN: usize, const OUT: usize> Program<'a, K, ROWS, IN, OUT>
where
    K: Bundle<ROWS, IN, OUT>,
{
    /// A program with the whole kernel and the device's launch configuration. Indexed reads and writes, and
    /// runs of neighbours, use the default configuration, so that they never need several runs.
    pub(super) fn new(gpu: &Gpu, kernel: &'a K, reads: Reads, sink: Sink) -> Self {
        let is_whole =
            sink.taken_apart().0.takes_runs() || matches!(sink, Sink::Place) || reads == Reads::Indexed;
        let launch = if is_whole { Launch::USUAL } else { gpu.launch() };
        Self { kernel, reads, sink, part: Part::All, launch }
    }

    /// The part that does not depend on the kernel's type.
    pub(super) fn shape(&self) -> Shape {
        Shape {
            kernel: type_name::<K>(),
            sink: self.sink.taken_apart().0,
            reads: self.reads,
            part: self.part,
            launch: self.launch,
            kind: K::LOOP,
            rounds: if K::LOOP == Rounds::None { 0 } else { self.kernel.rounds() },
            rows: ROWS,
            numbers: [self.kernel.reads(), OUT, self.kernel.writes()],
        }
    }

    /// The kernel and the functions that it needs.
    pub(super) fn functions(&self) -> Result<Functions, Error> {
        let (shape, mut functions) = (self.shape(), Functions::default());
        shape.add_transposed(&mut functions);
        if shape.has_first() {
            functions.add(shape.head("kernel", "Given", IN), traced(|x, y| self.kernel.inner(x, y)));
        }
        if matches!(self.part, Part::All | Part::Rounds) {
            self.add_rounds(&mut functions, shape.head("round", "Made", OUT))?;
        }
        if shape.has_last() {
            functions.add(shape.head("last", "Made", OUT), traced(|y, made| self.kernel.last(y, made)));
        }
        shape.add_combined(&mut functions, self.sink.taken_apart().1);
        Ok(functions)
    }

    /// Adds the function for a round of the loop.
    fn add_rounds(&self, functions: &mut Functions, head: Head) -> Result<(), Error> {
        let (rounds, round) =
            (self.kernel.rounds(), |number| traced(|y, next| self.kernel.round(number, y, next)));
        match K::LOOP {
            Rounds::None => {}
            Rounds::Each if self.part == Part::All => functions.add_round(head, (0..rounds).map(round))?,
            Rounds::Each => {
                // The loop is long, so the rounds' state would exceed the maximum unless it is empty.
                // Without state, rounds are identical.
                let mut each = Functions::default();
                each.add_round(head.clone(), (0..rounds).map(round))?;
                each.state()?;
                functions.add_alike(head, round(0), rounds as u32);
            }
            Rounds::Alike => functions.add_alike(head, round(0), rounds as u32),
        }
        Ok(())
    }
}

/// Traces a function of the rows of numbers. Words that it leaves unwritten are zero.
fn traced<const ROWS: usize, const IN: usize, const OUT: usize>(
    circuit: impl FnOnce(&[[Sym; ROWS]; IN], &mut [[Sym; ROWS]; OUT]),
) -> Traced {
    trace_given(Width::Three, IN * ROWS, |words| {
        let mut x = [[words[0]; ROWS]; IN];
        x.as_flattened_mut().copy_from_slice(words);
        let mut y = [[Sym::constant(0); ROWS]; OUT];
        circuit(&x, &mut y);
        y.as_flattened().to_vec()
    })
}
