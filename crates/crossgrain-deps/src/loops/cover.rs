//! Proofs that a read finds a value written in the same iteration, and that the last iteration writes
//! everything that any iteration writes.
//!
//! Both ask whether a set of accesses is *covered*: for each access, some write reaches the same element
//! within certain iterations. The proof takes the writes one after another:
//!
//! 1. Loops that contain the write but not the access get their counters from the subscripts' equations, or
//!    otherwise their first iteration.
//! 2. The part of the set outside the write's bounds goes to the next write.
//! 3. If the last write leaves a nonempty rest, the set is not covered.
//!
//! The outcome of a condition on words is a symbol. Two writes in both branches of a condition cover an
//! access after it, and one of them alone does not.
//!
//! The test may miss a proof, but every proof that it finds is valid.

use super::affine::{Affine, Symbol, System};
use super::dependence::{common, in_sink, of_condition};
use super::program::Program;
use super::solve::{Answer, Budget, solve};
use super::walk::{Access, Case, Walk, of_params};

/// Maximum number of systems per question.
const SYSTEMS: usize = 2000;

/// The program to which questions refer.
pub(super) struct Covering<'a> {
    pub(super) program: &'a Program,
    pub(super) walk: &'a Walk,
    pub(super) budget: &'a mut Budget,
}

/// Conditions for a write to reach an element: sums that must be 0, and sums that must be at least 0.
#[derive(Default)]
struct Reach {
    zero: Vec<Affine>,
    at_least_zero: Vec<Affine>,
}

impl Covering<'_> {
    /// Whether every read of an access finds a value that the same iteration of a loop wrote.
    pub(super) fn is_written_before(&mut self, number: usize, read: &Access) -> bool {
        let depth = self.program.loops[number].around.len() + 1;
        let is_before = |write: &&Access| {
            write.is_write
                && write.variable == read.variable
                && write.number < read.number
                && write.loops.get(depth - 1) == Some(&number)
        };
        let writes: Vec<_> = self.walk.accesses.iter().filter(is_before).collect();
        read.cases.iter().all(|case| {
            let reaches = writes.iter().flat_map(|write| {
                let same = common(write, read).len();
                write.cases.iter().map(move |from| (*write, from, same))
            });
            let reaches = reaches
                .filter_map(|(write, from, same)| self.reach((write, from), &case.subscripts, same, None));
            let reaches: Vec<_> = reaches.collect();
            let domain = self.domain(read, case);
            self.is_covered(domain, &reaches, &mut SYSTEMS.clone())
        })
    }

    /// Whether the last iteration writes every element that this access writes in any iteration of a loop.
    pub(super) fn is_written_last(&mut self, number: usize, written: &Access) -> bool {
        let Some(last) = self.walk.extents[number].last.clone() else { return false };
        let depth = self.program.loops[number].around.len() + 1;
        let is_in = |write: &&Access| {
            write.is_write
                && write.variable == written.variable
                && write.loops.get(depth - 1) == Some(&number)
        };
        let writes: Vec<_> = self.walk.accesses.iter().filter(is_in).collect();
        written.cases.iter().all(|case| {
            let reaches = writes.iter().flat_map(|write| write.cases.iter().map(move |from| (*write, from)));
            let reaches: Vec<_> = reaches
                .filter_map(|write| self.reach(write, &case.subscripts, depth - 1, Some((number, &last))))
                .collect();
            let domain = self.domain(written, case);
            self.is_covered(domain, &reaches, &mut SYSTEMS.clone())
        })
    }

    fn domain(&self, access: &Access, case: &Case) -> System {
        let mut domain = of_params(self.program);
        self.walk.within(&access.loops, &mut domain, |symbol| symbol);
        domain.zero.extend(case.zero.iter().cloned());
        domain.at_least_zero.extend(case.at_least_zero.iter().cloned());
        domain
    }

    /// The conditions for a write to reach the element with these subscripts. The `same` outermost loops
    /// are in the same iteration, and `given` may fix the iteration of one loop.
    fn reach(
        &self,
        (write, case): (&Access, &Case),
        subscripts: &[Affine],
        same: usize,
        given: Option<(usize, &Affine)>,
    ) -> Option<Reach> {
        let base = |number: usize| self.program.variables.len() + number;
        let bases = write.loops[same..].iter().map(|&number| base(number));
        let outcomes = |least: usize| {
            let is_inner = move |number: usize| self.program.ifs[number].around.len() > least;
            let inner = write.branches.iter().filter(move |(number, _)| is_inner(*number));
            inner.map(|&(number, _)| in_sink(self.program, of_condition(self.program, number)))
        };
        let own: Vec<Symbol> =
            bases.map(|symbol| in_sink(self.program, symbol)).chain(outcomes(same)).collect();
        // Conditions have one outcome in an iteration that is given, but several in loops within it.
        let various: Vec<Symbol> = outcomes(same + usize::from(given.is_some())).collect();
        let rename = |symbol: Symbol| {
            let of_write = in_sink(self.program, symbol);
            if own.contains(&of_write) { of_write } else { symbol }
        };
        let differences =
            case.subscripts.iter().zip(subscripts).map(|(from, to)| from.renamed(rename).minus(to));
        let mut reach = Reach { zero: differences.collect::<Option<_>>()?, at_least_zero: Vec::new() };
        reach.zero.extend(case.zero.iter().map(|sum| sum.renamed(rename)));
        let bounds = write.loops.iter().flat_map(|&number| &self.walk.extents[number].at_least_zero);
        reach.at_least_zero.extend(bounds.chain(&case.at_least_zero).map(|sum| sum.renamed(rename)));
        if let Some((number, value)) = given {
            reach.put(rename(base(number)), value)?;
        }
        while let Some((symbol, value)) = reach.solved(&own) {
            reach.put(symbol, &value)?;
        }
        for &number in write.loops[same..].iter().rev() {
            let symbol = rename(base(number));
            if reach.names(symbol) {
                let first = self.walk.extents[number].first.as_ref()?.renamed(rename);
                reach.put(symbol, &first)?;
            }
        }
        let bases = own.iter().take(write.loops.len() - same);
        (!bases.chain(&various).any(|&symbol| reach.names(symbol))).then_some(reach)
    }

    /// Whether every point of the domain is reached: by the first reach where its conditions hold, and
    /// otherwise by the others.
    fn is_covered(&mut self, domain: System, reaches: &[Reach], left: &mut usize) -> bool {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        if solve(&domain, self.budget) == Answer::No {
            return true;
        }
        let Some((reach, others)) = reaches.split_first() else { return false };
        let mut within = domain;
        for sum in &reach.zero {
            for way in [1, -1] {
                let mut outside = within.clone();
                outside.at_least_zero(sum.times(way).and_then(|sum| sum.plus_number(-1)));
                if !self.is_covered(outside, others, left) {
                    return false;
                }
            }
            within.zero.push(sum.clone());
        }
        for sum in &reach.at_least_zero {
            let mut outside = within.clone();
            outside.at_least_zero(sum.times(-1).and_then(|sum| sum.plus_number(-1)));
            if !self.is_covered(outside, others, left) {
                return false;
            }
            within.at_least_zero.push(sum.clone());
        }
        true
    }
}

impl Reach {
    fn names(&self, symbol: Symbol) -> bool {
        self.zero.iter().chain(&self.at_least_zero).any(|sum| sum.coefficient(symbol) != 0)
    }

    /// A symbol from this list that an equation determines, with its value.
    fn solved(&self, symbols: &[Symbol]) -> Option<(Symbol, Affine)> {
        let given = |sum: &Affine| {
            let symbol = *symbols.iter().find(|&&symbol| sum.coefficient(symbol).abs() == 1)?;
            let mut rest = sum.clone();
            let factor = rest.terms.remove(&symbol)?;
            Some((symbol, rest.times(-factor)?))
        };
        self.zero.iter().find_map(given)
    }

    /// Substitutes a value for a symbol.
    fn put(&mut self, symbol: Symbol, value: &Affine) -> Option<()> {
        for sum in self.zero.iter_mut().chain(&mut self.at_least_zero) {
            *sum = sum.with(symbol, value)?;
        }
        Some(())
    }
}
