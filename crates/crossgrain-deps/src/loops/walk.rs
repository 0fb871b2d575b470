//! The accesses of all statements: which variables they read and write, in which iterations, with
//! subscripts as affine forms.
//!
//! Symbols are numbered: first the parameters, by variable number, then one *base* per loop, by loop
//! number. The base of a loop increases with its iterations:
//!
//! ```text
//! step  1:      base =  counter
//! step -1:      base = -counter
//! other steps:  base =  number of the iteration
//! ```
//!
//! The walk follows `int` variables that statements change. If every iteration of a loop changes one by the
//! same amount, it is an *induction variable*. Its value at any place is the value before the loop plus
//! this amount times the completed iterations.

use std::collections::{BTreeMap, BTreeSet};

use super::affine::{Affine, Symbol, System};
use super::program::{Expr, Kind, Node, Op, Program, Reference};
use super::solve::{Answer, Budget, solve};
use super::source::{At, Fault, quoted};

/// Maximum number of table entries that a subscript may take.
const ENTRIES: usize = 64;

/// A read or write of a variable, in some iterations.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// The statement that contains it. `None` in a condition.
    pub(super) statement: Option<usize>,
    pub(super) at: At,
    pub(super) is_write: bool,
    pub(super) variable: usize,
    /// The loops that contain it, outermost first.
    pub(super) loops: Vec<usize>,
    /// Its number among all references. Within an iteration, lower numbers come first.
    pub(super) number: usize,
    /// Its subscripts: one case, or several if they go through a table or if conditions have several cases.
    pub(super) cases: Vec<Case>,
    /// The conditions on words around it, and whether each of them holds.
    pub(super) branches: Vec<(usize, bool)>,
}

/// Subscripts, and the sums that are 0 or at least 0 whenever these subscripts apply.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    pub(super) subscripts: Vec<Affine>,
    pub(super) zero: Vec<Affine>,
    pub(super) at_least_zero: Vec<Affine>,
}

/// The iteration range of a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct Extent {
    /// Sums that are at least 0 in every iteration.
    pub(super) at_least_zero: Vec<Affine>,
    /// The first and the last base, if each is a single sum. The loop has an iteration only if `last >=
    /// first`.
    pub(super) first: Option<Affine>,
    pub(super) last: Option<Affine>,
}

/// The accesses and loops of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    pub(super) accesses: Vec<Access>,
    pub(super) extents: Vec<Extent>,
    /// For each loop, the variables that every iteration changes by the same amount, and this amount.
    pub(super) inductions: Vec<BTreeMap<usize, i64>>,
}

/// Collects the accesses of a program.
pub(super) fn walk(program: &Program, budget: &mut Budget) -> Result<Walk, Fault> {
    let count = program.loops.len();
    let mut walker = Walker {
        program,
        budget,
        walk: Walk {
            extents: vec![Extent::default(); count],
            inductions: vec![BTreeMap::new(); count],
            ..Walk::default()
        },
        values: BTreeMap::new(),
        counters: BTreeMap::new(),
        around: Vec::new(),
        conditions: vec![Case::default()],
        branches: Vec::new(),
        is_dry: false,
    };
    for (number, variable) in program.variables.iter().enumerate() {
        if let Kind::Int(first) = variable.kind {
            walker.values.insert(number, Some(Affine::number(first)));
        }
    }
    walker.body(&program.body)?;
    Ok(walker.walk)
}

impl Walk {
    /// Requires that the bases of these loops are within their bounds. `name` renames symbols.
    pub(super) fn within(&self, loops: &[usize], system: &mut System, name: impl Fn(Symbol) -> Symbol) {
        for sum in loops.iter().flat_map(|&number| &self.extents[number].at_least_zero) {
            system.at_least_zero.push(sum.renamed(&name));
        }
    }
}

/// The known lower bounds of the parameters.
pub(super) fn of_params(program: &Program) -> System {
    let mut system = System::default();
    for (number, variable) in program.variables.iter().enumerate() {
        if let Kind::Param { at_least: Some(least), .. } = variable.kind {
            system.at_least_zero(Affine::symbol(number).plus_number(least.saturating_neg()));
        }
    }
    system
}

pub(super) struct Walker<'a> {
    pub(super) program: &'a Program,
    budget: &'a mut Budget,
    walk: Walk,
    /// The present values of changing numbers. `None` if the value is not a sum of symbols.
    pub(super) values: BTreeMap<usize, Option<Affine>>,
    counters: BTreeMap<usize, Affine>,
    around: Vec<usize>,
    /// The cases in which the conditions around the present place hold, without subscripts.
    pub(super) conditions: Vec<Case>,
    /// The conditions on words around the present place, and whether each of them holds.
    pub(super) branches: Vec<(usize, bool)>,
    /// Whether only values are followed, and accesses are not recorded.
    is_dry: bool,
}

impl Walker<'_> {
    fn base(&self, number: usize) -> Symbol {
        self.program.variables.len() + number
    }

    pub(super) fn body(&mut self, body: &[Node]) -> Result<(), Fault> {
        for &node in body {
            match node {
                Node::If(number) => self.branch(number)?,
                Node::Loop(number) => self.looped(number)?,
                Node::Statement(number) => self.statement(number)?,
            }
        }
        Ok(())
    }

    fn statement(&mut self, number: usize) -> Result<(), Fault> {
        let statement = &self.program.statements[number];
        if !self.is_dry {
            for read in statement.reads() {
                self.access(Some(number), read, false)?;
            }
            self.access(Some(number), &statement.target, true)?;
        }
        if self.values.contains_key(&statement.target.variable) {
            let value = self.sum_with(&statement.value, None);
            self.values.insert(statement.target.variable, value);
        }
        Ok(())
    }

    /// Records the reads of a condition.
    pub(super) fn reads(&mut self, reads: Vec<&Reference>) -> Result<(), Fault> {
        if self.is_dry {
            return Ok(());
        }
        reads.into_iter().try_for_each(|read| self.access(None, read, false))
    }

    fn access(&mut self, statement: Option<usize>, of: &Reference, is_write: bool) -> Result<(), Fault> {
        if matches!(self.program.variables[of.variable].kind, Kind::Table(..)) {
            return Ok(());
        }
        let cases = self.conditional(self.cases(of)?);
        let (variable, number, at, loops) = (of.variable, of.number, of.at, self.around.clone());
        let branches = self.branches.clone();
        self.walk.accesses.push(Access { statement, at, is_write, variable, loops, number, cases, branches });
        Ok(())
    }

    /// The subscripts of a reference, with one case for each combination of table entries.
    fn cases(&self, of: &Reference) -> Result<Vec<Case>, Fault> {
        let fault = |why: &str| Fault::new(of.at, format!("`{}`: {why}", quoted(&of.text)));
        let mut tables = Vec::new();
        for subscript in &of.subscripts {
            let mut reads = Vec::new();
            subscript.reads(&mut reads);
            let tabled =
                |read: &&&Reference| matches!(self.program.variables[read.variable].kind, Kind::Table(..));
            tables.extend(reads.into_iter().filter(|read| tabled(&read)));
        }
        if tables.len() > 1 {
            return Err(fault("a subscript may go through one table"));
        }
        let mut choices = vec![(None, Vec::new())];
        if let Some(table) = tables.first() {
            choices = self.entries(table).ok_or_else(|| {
                fault("the table's own subscripts are no sums of counters, or it is too long to go through")
            })?;
        }
        let why =
            "its subscript is not affine, a sum of counters, parameters and numbers with constant factors";
        let case = |(entry, zero): (Option<i64>, Vec<Affine>)| {
            let subscripts = of.subscripts.iter().map(|subscript| self.sum_with(subscript, entry));
            let subscripts = subscripts
                .collect::<Option<_>>()
                .ok_or_else(|| fault(&self.why_not(of).unwrap_or(why.to_owned())));
            Ok(Case { subscripts: subscripts?, zero, at_least_zero: Vec::new() })
        };
        choices.into_iter().map(case).collect()
    }

    /// If a changing number makes a subscript non-affine, a message that says so.
    fn why_not(&self, of: &Reference) -> Option<String> {
        let mut reads = Vec::new();
        of.subscripts.iter().for_each(|subscript| subscript.reads(&mut reads));
        let lost =
            reads.into_iter().find(|read| self.values.get(&read.variable).is_some_and(Option::is_none))?;
        Some(format!(
            "`{}` has no closed form here: it must change by the same amount in every iteration",
            quoted(&lost.text)
        ))
    }

    /// The possible entries of a table at these subscripts, each with the sums that are then 0.
    fn entries(&self, table: &Reference) -> Option<Vec<(Option<i64>, Vec<Affine>)>> {
        let Kind::Table(dims, values) = &self.program.variables[table.variable].kind else { return None };
        let subscripts: Vec<_> =
            table.subscripts.iter().map(|subscript| self.sum_with(subscript, None)).collect::<Option<_>>()?;
        let mut entries = vec![(0, Vec::new())];
        for (subscript, &(from, to)) in subscripts.iter().zip(dims) {
            let extent = usize::try_from(to - from + 1).ok()?;
            let chosen: Vec<i64> = match subscript.known() {
                Some(known) if (from..=to).contains(&known) => vec![known],
                Some(_) => return None,
                None => (from..=to).take(ENTRIES + 1).collect(),
            };
            if entries.len() * chosen.len() > ENTRIES {
                return None;
            }
            let mut next = Vec::new();
            for (place, zero) in entries {
                for &value in &chosen {
                    let mut zero: Vec<Affine> = zero.clone();
                    zero.push(subscript.plus_number(-value)?);
                    next.push((place * extent + (value - from) as usize, zero));
                }
            }
            entries = next;
        }
        Some(entries.into_iter().map(|(place, zero)| (Some(i64::from(values[place])), zero)).collect())
    }

    /// A value as a sum of symbols. A table read has the value `entry`.
    pub(super) fn sum_with(&self, value: &Expr, entry: Option<i64>) -> Option<Affine> {
        match value {
            Expr::Number(number) => Some(Affine::number(*number)),
            Expr::Symbol(variable) => {
                Some(self.counters.get(variable).cloned().unwrap_or_else(|| Affine::symbol(*variable)))
            }
            Expr::Read(read) => match self.program.variables[read.variable].kind {
                Kind::Table(..) => entry.map(Affine::number),
                _ => self.values.get(&read.variable)?.clone(),
            },
            Expr::Negative(inner) => self.sum_with(inner, entry)?.times(-1),
            Expr::Not(_) => None,
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.sum_with(a, entry)?, self.sum_with(b, entry)?);
                match op {
                    Op::Add => a.plus(1, &b),
                    Op::Subtract => a.minus(&b),
                    Op::Multiply => match (a.known(), b.known()) {
                        (Some(factor), _) => b.times(factor),
                        (_, Some(factor)) => a.times(factor),
                        _ => None,
                    },
                    _ => None,
                }
            }
        }
    }

    /// Walks a loop twice: first to find the change of its numbers per iteration, then with this change.
    fn looped(&mut self, number: usize) -> Result<(), Fault> {
        let extent = self.extent(number)?;
        let steps = self.steps(number)?;
        let passed = extent.first.as_ref().and_then(|first| Affine::symbol(self.base(number)).minus(first));
        let before = self.values.clone();
        for (&variable, step) in &steps {
            let moved = |value: &Affine| value.plus((*step)?, passed.as_ref()?);
            let value = before[&variable].as_ref().and_then(moved);
            self.values.insert(variable, value);
        }
        let iterations = self.iterations(&extent);
        self.walk.extents[number] = extent;
        if !self.is_dry {
            let known = steps.iter().filter_map(|(&variable, step)| Some((variable, (*step)?)));
            self.walk.inductions[number] = known.collect();
        }
        self.around.push(number);
        self.body(&self.program.loops[number].body)?;
        self.around.pop();
        for (&variable, step) in &steps {
            let after = |value: &Affine| value.plus((*step)?, iterations.as_ref()?);
            let value = before[&variable].as_ref().and_then(after);
            self.values.insert(variable, value);
        }
        Ok(())
    }

    /// The change per iteration of each number that a loop's statements change. `None` if it varies.
    fn steps(&mut self, number: usize) -> Result<BTreeMap<usize, Option<i64>>, Fault> {
        let targets = self.program.statements_in(number).into_iter();
        let targets = targets.map(|statement| self.program.statements[statement].target.variable);
        let changed: BTreeSet<_> = targets.filter(|variable| self.values.contains_key(variable)).collect();
        let (values, is_dry) = (self.values.clone(), self.is_dry);
        // The variable's own number serves as the symbol of its initial value.
        for &variable in &changed {
            self.values.insert(variable, Some(Affine::symbol(variable)));
        }
        self.is_dry = true;
        if !changed.is_empty() {
            self.around.push(number);
            self.body(&self.program.loops[number].body)?;
            self.around.pop();
        }
        self.is_dry = is_dry;
        let after = std::mem::replace(&mut self.values, values);
        let step = |variable: usize| after[&variable].as_ref()?.minus(&Affine::symbol(variable))?.known();
        Ok(changed.into_iter().map(|variable| (variable, step(variable))).collect())
    }

    fn extent(&mut self, number: usize) -> Result<Extent, Fault> {
        let base = Affine::symbol(self.base(number));
        let looped = &self.program.loops[number];
        let fault = || Fault::new(looped.at, "a bound of this loop is not affine, or too large");
        let sums = |bounds: &[Expr]| {
            bounds.iter().map(|bound| self.sum_with(bound, None)).collect::<Option<Vec<_>>>()
        };
        let from = sums(&looped.from).ok_or_else(fault)?;
        let to = sums(&looped.to).ok_or_else(fault)?;
        let one = |sums: &[Affine]| if let [sum] = sums { Some(sum.clone()) } else { None };
        let made = || {
            let (first, last, counter);
            let mut at_least_zero = Vec::new();
            if looped.step.abs() == 1 {
                counter = base.times(looped.step)?;
                for (bounds, way) in [(&from, looped.step), (&to, -looped.step)] {
                    for bound in bounds {
                        at_least_zero.push(counter.minus(bound)?.times(way)?);
                    }
                }
                first = one(&from).and_then(|sum| sum.times(looped.step));
                last = one(&to).and_then(|sum| sum.times(looped.step));
            } else {
                counter = from.first()?.plus(looped.step, &base)?;
                at_least_zero.push(base.clone());
                for bound in &to {
                    at_least_zero.push(bound.minus(&counter)?.times(looped.step.signum())?);
                }
                first = Some(Affine::number(0));
                let room = |sum: Affine| sum.minus(from.first()?)?.known();
                last = one(&to).and_then(room).map(|room| Affine::number(room.div_euclid(looped.step)));
            }
            Some((Extent { at_least_zero, first, last }, counter))
        };
        let (extent, counter) = made().ok_or_else(fault)?;
        self.counters.insert(looped.counter, counter);
        Ok(extent)
    }

    /// The number of iterations, if it is the same sum for all values of the symbols.
    fn iterations(&mut self, extent: &Extent) -> Option<Affine> {
        let count = extent.last.as_ref()?.minus(extent.first.as_ref()?)?.plus_number(1)?;
        let mut fewer = of_params(self.program);
        for &number in &self.around {
            fewer.at_least_zero.extend(self.walk.extents[number].at_least_zero.iter().cloned());
        }
        fewer.at_least_zero(count.times(-1)?.plus_number(-1));
        (solve(&fewer, self.budget) == Answer::No).then_some(count)
    }
}
