//! An algorithm with a user's kernel as a program for a device.
//!
//! The kernel's gates are traced and become functions. That is done for each type of kernel, and all else in `shape`, once.

use std::any::type_name;

use crossgrain::internal::circuit::trace::{Sym, Width, trace_given};

use super::functions::{Functions, Head, Traced};
use super::kernel::{Bundle, Combine, Rounds};
use super::launch::Launch;
use super::shape::{Form, Shape};
use crate::{Error, Gpu};

/// Which part of a kernel a program is. All but the first two begin with what the one before left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// The kernel as it is.
    All,
    /// What comes before its loop.
    First,
    /// The rounds of its loop, all alike.
    Rounds,
    /// What comes after it.
    Last,
}

/// Where a program's elements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reads {
    /// Memory of its own.
    Source,
    /// Where its results go.
    Goal,
    /// They are the numbers of a range.
    Indices,
    /// Memory of its own, at the index that the first number says which stands where the result goes.
    Indexed,
}

/// What a program does with a kernel's results.
#[derive(Clone)]
pub(crate) enum Sink {
    /// Writes them.
    Write,
    /// Writes the index of the first element of each thread whose result is not zero, or [`NO_HIT`].
    Find,
    /// Writes what those of each thread are when combined: by this function, from this element on.
    Combine(Traced, Vec<u32>),
    /// The same where each thread has taken a run of neighbours, in order.
    Totals(Traced, Vec<u32>),
    /// Writes what each is when combined with all before it in its thread's run, which begins with the thread's element of the source.
    Scan(Traced),
    /// Writes the index of each element where the kernel's result says.
    Place,
}

/// What a thread that found nothing writes.
pub(super) const NO_HIT: u32 = u32::MAX;

/// How two elements are combined, traced.
pub(super) fn combined<C: Combine<N>, const N: usize>(combine: &C) -> Traced {
    trace_given(Width::Three, 2 * N, |words| {
        let (mut a, mut b) = ([words[0]; N], [words[0]; N]);
        a.copy_from_slice(&words[..N]);
        b.copy_from_slice(&words[N..]);
        combine.combine(a, b).to_vec()
    })
}

impl Sink {
    /// What a text says of it, and how elements are combined, if they are.
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

/// A program before it is written.
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
    /// All of a kernel, started as the device's programs are. Where results say where they go, or lie in runs, it is started as ever: then no run is cut.
    pub(super) fn new(gpu: &Gpu, kernel: &'a K, reads: Reads, sink: Sink) -> Self {
        let is_whole =
            sink.taken_apart().0.takes_runs() || matches!(sink, Sink::Place) || reads == Reads::Indexed;
        let launch = if is_whole { Launch::USUAL } else { gpu.launch() };
        Self { kernel, reads, sink, part: Part::All, launch }
    }

    /// What of it does not depend on its kernel's type.
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

    /// The kernel and what it needs, as functions.
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

    /// The function of its loop.
    fn add_rounds(&self, functions: &mut Functions, head: Head) -> Result<(), Error> {
        let (rounds, round) =
            (self.kernel.rounds(), |number| traced(|y, next| self.kernel.round(number, y, next)));
        match K::LOOP {
            Rounds::None => {}
            Rounds::Each if self.part == Part::All => functions.add_round(head, (0..rounds).map(round))?,
            Rounds::Each => {
                // More than there is room for state of, so without any they are alike.
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

/// A function of the rows of numbers, traced. What it leaves unwritten is zero.
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
