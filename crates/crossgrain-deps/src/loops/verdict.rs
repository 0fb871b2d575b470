//! Decides whether the iterations of a loop may run in any order, and which treatment this needs.
//!
//! For each variable with carried dependences, the first method that fits applies:
//!
//! * *induction*: every iteration adds the same number, so each iteration computes its own value;
//! * *privatisation*: every read finds a value from its own iteration, so each iteration gets a private
//!   variable. If the variable is used after the loop, the last iteration runs on the variable itself. It
//!   must then write everything that any iteration writes;
//! * *reduction*: the loop uses the variable only in `x = x op …`, with one operation that may be
//!   reordered;
//! * *copying*: reads of elements that are overwritten use a copy made before the loop;
//! * *last write*: only the last iteration writes elements that no iteration reads.
//!
//! If none of these removes a flow dependence, the loop is serial.

use std::collections::{BTreeMap, BTreeSet};

use super::cover::Covering;
use super::dependence::{Decided, Found, dependences};
use super::program::{Expr, Op, Program, Statement};
use super::solve::Budget;
use super::source::Fault;
use super::walk::{Access, Walk, walk};
use crate::Kind;

/// The treatment that lets the iterations of a loop run in any order. Variables, references and statements
/// are indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Treatment {
    /// Variables that are private to each iteration.
    pub(super) private: BTreeSet<usize>,
    /// Induction variables, with their change per iteration.
    pub(super) inductions: BTreeMap<usize, i64>,
    pub(super) reductions: BTreeMap<usize, Op>,
    /// For each copied variable, the reads that use the copy.
    pub(super) copied: BTreeMap<usize, BTreeSet<usize>>,
    /// Statements that only the last iteration executes.
    pub(super) last_only: BTreeSet<usize>,
    /// Whether the last iteration runs separately, after all others.
    pub(super) peels: bool,
}

/// The verdict on a loop.
#[derive(Clone, Debug)]
pub(super) enum Judged {
    /// The loop is parallel with this treatment.
    Parallel(Treatment),
    /// The loop is serial.
    Serial {
        /// Because of these dependences, as indices.
        hindrances: Vec<usize>,
        /// Variables that would be private if they were not used after the loop.
        live: BTreeSet<usize>,
    },
}

/// The accesses and dependences of a program, and the verdicts on its loops.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) walk: Walk,
    pub(super) found: Vec<Found>,
    pub(super) judged: Vec<Judged>,
    /// Statistics of the tests.
    pub(super) decided: Decided,
}

impl Facts {
    /// Analyses a program.
    pub(super) fn of(program: &Program, budget: &mut Budget) -> Result<Self, Fault> {
        let walk = walk(program, budget)?;
        let (found, decided) = dependences(program, &walk, budget)?;
        let judged = judge(program, &walk, &found, budget);
        Ok(Self { walk, found, judged, decided })
    }
}

/// Judges all loops.
fn judge(program: &Program, walk: &Walk, found: &[Found], budget: &mut Budget) -> Vec<Judged> {
    (0..program.loops.len())
        .map(|number| {
            let covering = Covering { program, walk, budget };
            let (treatment, live) = (Treatment::default(), BTreeSet::new());
            Judge { program, walk, found, covering, number, treatment, live }.judged()
        })
        .collect()
}

struct Judge<'a> {
    program: &'a Program,
    walk: &'a Walk,
    found: &'a [Found],
    covering: Covering<'a>,
    /// The loop that is judged.
    number: usize,
    treatment: Treatment,
    live: BTreeSet<usize>,
}

impl Judge<'_> {
    fn judged(mut self) -> Judged {
        let carried = |found: &&Found| found.carrier == Some(self.number);
        let variables: BTreeSet<_> = self
            .found
            .iter()
            .filter(carried)
            .map(|found| self.walk.accesses[found.source].variable)
            .collect();
        let mut hindrances = Vec::new();
        for variable in variables {
            hindrances.extend(self.hindrances(variable));
        }
        match hindrances.is_empty() {
            true => Judged::Parallel(self.treatment),
            false => Judged::Serial { hindrances, live: self.live },
        }
    }

    /// The dependences that the loop carries on a variable.
    fn carried(&self, variable: usize) -> impl Iterator<Item = (usize, &Found)> {
        let is = move |found: &Found| {
            found.carrier == Some(self.number) && self.walk.accesses[found.source].variable == variable
        };
        self.found.iter().enumerate().filter(move |(_, found)| is(found))
    }

    fn is_inside(&self, access: &Access) -> bool {
        access.loops.contains(&self.number)
    }

    /// The accesses to a variable within the loop.
    fn accesses(&self, variable: usize) -> Vec<&Access> {
        let is = |access: &&Access| access.variable == variable && self.is_inside(access);
        self.walk.accesses.iter().filter(is).collect()
    }

    /// The dependences on a variable that no method removes.
    fn hindrances(&mut self, variable: usize) -> Vec<usize> {
        if let Some(&step) = self.walk.inductions[self.number].get(&variable) {
            self.treatment.inductions.insert(variable, step);
            return Vec::new();
        }
        if self.becomes_private(variable) || self.is_reduced(variable) || self.is_renamed(variable) {
            self.live.remove(&variable);
            return Vec::new();
        }
        let all: Vec<_> = self.carried(variable).map(|(number, found)| (number, found.kind)).collect();
        let flows: Vec<_> =
            all.iter().filter(|(_, kind)| *kind == Kind::Flow).map(|(number, _)| *number).collect();
        if flows.is_empty() { all.into_iter().map(|(number, _)| number).collect() } else { flows }
    }

    fn becomes_private(&mut self, variable: usize) -> bool {
        let (reads, writes): (Vec<_>, Vec<_>) = {
            let accesses = self.accesses(variable).into_iter().cloned();
            accesses.partition(|access| !access.is_write)
        };
        if !reads.iter().all(|read| self.covering.is_written_before(self.number, read)) {
            return false;
        }
        let is_read_outside =
            |access: &Access| access.variable == variable && !access.is_write && !self.is_inside(access);
        let matters =
            !self.program.variables[variable].is_local || self.walk.accesses.iter().any(is_read_outside);
        // A variable that is only written needs only the last iteration's writes.
        if matters && reads.is_empty() && !self.program.variables[variable].is_int() {
            return false;
        }
        if matters && !writes.iter().all(|write| self.covering.is_written_last(self.number, write)) {
            self.live.insert(variable);
            return false;
        }
        self.treatment.private.insert(variable);
        self.treatment.peels |= matters;
        true
    }

    fn is_reduced(&mut self, variable: usize) -> bool {
        if self.program.variables[variable].is_int() {
            return false;
        }
        let Some(op) = reduced(self.program, &self.accesses(variable)) else { return false };
        self.treatment.reductions.insert(variable, op);
        true
    }

    /// Removes anti and output dependences, if the loop carries no flow dependence on the variable.
    fn is_renamed(&mut self, variable: usize) -> bool {
        let carried: Vec<Found> = self.carried(variable).map(|(_, found)| found.clone()).collect();
        let of = |kind: Kind| carried.iter().filter(move |found| found.kind == kind);
        if of(Kind::Flow).next().is_some() || self.program.variables[variable].is_int() {
            return false;
        }
        let twice: BTreeSet<_> = of(Kind::Output).flat_map(|found| [found.source, found.sink]).collect();
        for &write in &twice {
            let access = self.walk.accesses[write].clone();
            if self.is_used_within(|found| found.source == write)
                || !self.covering.is_written_last(self.number, &access)
            {
                return false;
            }
        }
        let copied: BTreeSet<_> =
            of(Kind::Anti).filter(|found| !twice.contains(&found.sink)).map(|found| found.source).collect();
        for &read in &copied {
            if self.is_used_within(|found| found.sink == read) {
                return false;
            }
        }
        self.treatment.peels |= !twice.is_empty();
        let statements = twice.iter().filter_map(|&write| self.walk.accesses[write].statement);
        self.treatment.last_only.extend(statements);
        if !copied.is_empty() {
            let references = copied.iter().map(|&read| self.walk.accesses[read].number).collect();
            self.treatment.copied.insert(variable, references);
        }
        true
    }

    /// Whether a value passes from a write to a read within one execution of the loop.
    fn is_used_within(&self, is: impl Fn(&Found) -> bool) -> bool {
        let inside = |carrier: usize| {
            carrier == self.number || self.program.loops[carrier].around.contains(&self.number)
        };
        let both = |found: &Found| {
            [found.source, found.sink].iter().all(|&access| self.is_inside(&self.walk.accesses[access]))
        };
        self.found.iter().any(|found| {
            found.kind == Kind::Flow && is(found) && both(found) && found.carrier.is_none_or(inside)
        })
    }
}

/// The operation, if all of these accesses to a variable belong to reductions by one operation.
pub(super) fn reduced(program: &Program, accesses: &[&Access]) -> Option<Op> {
    let statements: BTreeSet<_> = accesses.iter().map(|access| access.statement).collect();
    let ops: BTreeSet<_> = statements
        .iter()
        .map(|&statement| {
            let accessed = accesses.iter().filter(|access| access.statement == statement).count();
            let op = reduction(&program.statements[statement?]).map(|(op, _)| op);
            // The target, and the same reference on the other side.
            op.filter(|_| accessed == 2)
        })
        .collect();
    ops.first().copied().flatten().filter(|_| ops.len() == 1)
}

/// If a statement is `x = x op …` or `x = … op x`, its operation and the value that is combined with x. A
/// difference counts as a sum.
pub(super) fn reduction(statement: &Statement) -> Option<(Op, &Expr)> {
    let Expr::Binary(op, a, b) = &statement.value else { return None };
    let is_target = |value: &Expr| matches!(value, Expr::Read(read) if read.variable == statement.target.variable && read.text == statement.target.text);
    match op {
        Op::Subtract if is_target(a) => Some((Op::Add, b)),
        Op::Subtract => None,
        _ if !op.is_of_reductions() => None,
        _ if is_target(a) => Some((*op, b)),
        _ if is_target(b) => Some((*op, a)),
        _ => None,
    }
}
