//! Dependences between iterations of loops: which access must come before which, and how many iterations
//! apart.
//!
//! Two accesses to the same element depend on each other if at least one of them writes. The *source* comes
//! first, the *sink* second. For each loop that contains both:
//!
//! * The *distance* is the change of the counter from source to sink, along the step. If the step is not 1
//!   or -1, the distance counts iterations.
//! * The *direction* is the sign of the distance: `<` if the sink is in a later iteration, `=` in the same,
//!   `>` in an earlier one.
//!
//! The outermost loop whose direction is not `=` *carries* the dependence; its direction is `<`. Without
//! such a loop the dependence is loop-independent. Terms follow Wolfe, "High Performance Compilers for
//! Parallel Computing" (1996).
//!
//! Each pair of accesses goes through the GCD test and Banerjee's inequalities first. The exact test
//! decides the remaining pairs.

use std::collections::BTreeMap;

use super::affine::{Affine, Symbol, System};
use super::program::Program;
use super::quick;
use super::solve::{Answer, Budget, solve};
use super::source::Fault;
use super::walk::{Access, Case, Walk, of_params};
use crate::Kind;

/// Maximum number of dependences.
const DEPENDENCES: usize = 20_000;
/// Distances of at least this size are treated as unbounded.
const FAR: i64 = 1 << 31;

/// Whether the sink is in a later, the same, or an earlier iteration of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// `<`: a later iteration.
    Later,
    /// `=`: the same iteration.
    Same,
    /// `>`: an earlier iteration of an inner loop.
    Earlier,
}

impl Direction {
    /// `<`, `=` or `>`.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Later => "<",
            Self::Same => "=",
            Self::Earlier => ">",
        }
    }
}

/// The range of distances that occur. `None` means unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// The minimum.
    pub least: Option<i64>,
    /// The maximum.
    pub most: Option<i64>,
}

impl Distance {
    /// The distance within one iteration.
    const ZERO: Self = Self { least: Some(0), most: Some(0) };

    /// The distance, if only one occurs.
    pub fn only(self) -> Option<i64> {
        self.least.filter(|_| self.least == self.most)
    }

    /// The smallest range that contains both.
    fn or(self, other: Self) -> Self {
        let both = |a: Option<i64>, b: Option<i64>, of: fn(i64, i64) -> i64| Some(of(a?, b?));
        Self { least: both(self.least, other.least, i64::min), most: both(self.most, other.most, i64::max) }
    }
}

/// A dependence between two accesses, as indices into the accesses.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) source: usize,
    pub(super) sink: usize,
    /// For each loop that contains both accesses, outermost first.
    pub(super) directions: Vec<Direction>,
    pub(super) distances: Vec<Distance>,
    /// The loop that carries it, or `None` if it is loop-independent.
    pub(super) carrier: Option<usize>,
    /// Whether it is certain. If not, the exact test reached its limit.
    pub(super) is_certain: bool,
}

/// Statistics of the tests that decided the pairs of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// Pairs of accesses to one variable, at least one of them a write.
    pub pairs: usize,
    /// Pairs that the GCD test excluded.
    pub by_gcd: usize,
    /// Pairs that Banerjee's inequalities excluded.
    pub by_banerjee: usize,
    /// Pairs that the exact test decided.
    pub exactly: usize,
    /// Undecided pairs, which count as dependent.
    pub unknown: usize,
}

/// Finds all dependences of a program.
///
/// # Errors
/// If there are too many, or the search takes too long.
pub(super) fn dependences(
    program: &Program,
    walk: &Walk,
    budget: &mut Budget,
) -> Result<(Vec<Found>, Decided), Fault> {
    let mut search = Search { program, walk, budget, found: Vec::new(), decided: Decided::default() };
    for (source, a) in walk.accesses.iter().enumerate() {
        for (sink, b) in walk.accesses.iter().enumerate() {
            if a.variable == b.variable && (a.is_write || b.is_write) {
                search.pair(source, sink);
                if search.budget.rows == 0 || search.found.len() > DEPENDENCES {
                    let message = "from here on it takes too long to decide what depends on what: take the loops in question alone";
                    return Err(Fault::new(a.at, message));
                }
            }
        }
    }
    Ok((search.found, search.decided))
}

struct Search<'a> {
    program: &'a Program,
    walk: &'a Walk,
    budget: &'a mut Budget,
    found: Vec<Found>,
    decided: Decided,
}

/// A question about two accesses: a system, and the distances over the loops that contain both.
struct Question {
    system: System,
    distances: Vec<Option<Affine>>,
    directions: Vec<Direction>,
    /// If the accesses are in different branches of one condition, the number of loops around it. They are
    /// then not in the same iteration of these loops.
    apart: Option<usize>,
    is_certain: bool,
}

/// Direction vectors, each with its distances and its certainty.
type Vectors = BTreeMap<Vec<Direction>, (Vec<Distance>, bool)>;

impl Search<'_> {
    fn pair(&mut self, source: usize, sink: usize) {
        let (a, b) = (&self.walk.accesses[source], &self.walk.accesses[sink]);
        self.decided.pairs += 1;
        let common = common(a, b);
        let mut vectors = Vectors::new();
        let (mut by_gcd, mut by_banerjee) = (true, true);
        for (from, to) in a.cases.iter().flat_map(|from| b.cases.iter().map(move |to| (from, to))) {
            let question = self.question(a, b, (from, to), common.len());
            self.budget.rows = self.budget.rows.saturating_sub(question.system.at_least_zero.len() as u64);
            if quick::gcd_excludes(&question.system) {
                by_banerjee = false;
            } else if quick::banerjee_excludes(&question.system) {
                by_gcd = false;
            } else {
                (by_gcd, by_banerjee) = (false, false);
                self.vectors(question, a.number < b.number, &mut vectors);
            }
        }
        let is_certain = vectors.values().all(|(_, is_certain)| *is_certain);
        let count = match (by_gcd, by_banerjee, is_certain) {
            (true, ..) => &mut self.decided.by_gcd,
            (_, true, _) => &mut self.decided.by_banerjee,
            (_, _, true) => &mut self.decided.exactly,
            _ => &mut self.decided.unknown,
        };
        *count += 1;
        let kind = match (a.is_write, b.is_write) {
            (true, false) => Kind::Flow,
            (false, _) => Kind::Anti,
            (true, true) => Kind::Output,
        };
        for (directions, (distances, is_certain)) in vectors {
            let level = directions.iter().position(|&direction| direction != Direction::Same);
            let carrier = level.map(|level| common[level]);
            self.found.push(Found { kind, source, sink, directions, distances, carrier, is_certain });
        }
    }

    /// The system for both accesses, each in its own iteration, with equal elements.
    fn question(&self, a: &Access, b: &Access, (from, to): (&Case, &Case), common: usize) -> Question {
        let sink = |symbol: Symbol| in_sink(self.program, symbol);
        let mut system = of_params(self.program);
        self.walk.within(&a.loops, &mut system, |symbol| symbol);
        self.walk.within(&b.loops, &mut system, sink);
        system.zero.extend(from.zero.iter().cloned());
        system.zero.extend(to.zero.iter().map(|sum| sum.renamed(sink)));
        system.at_least_zero.extend(from.at_least_zero.iter().cloned());
        system.at_least_zero.extend(to.at_least_zero.iter().map(|sum| sum.renamed(sink)));
        for (from, to) in from.subscripts.iter().zip(&to.subscripts) {
            system.equal(from, &to.renamed(sink));
        }
        let base = |number: usize| self.program.variables.len() + number;
        let distance = |number: &usize| {
            let base = base(*number);
            Affine::symbol(sink(base)).minus(&Affine::symbol(base))
        };
        let distances = a.loops[..common].iter().map(distance).collect();
        let opposite = |&(number, side): &(usize, bool)| b.branches.contains(&(number, !side));
        let opposite = a.branches.iter().filter(|branch| opposite(branch));
        let apart = opposite.map(|&(number, _)| self.program.ifs[number].around.len()).min();
        Question { system, distances, directions: Vec::new(), apart, is_certain: true }
    }

    /// Tries all directions, from the outermost loop inwards. While all outer directions are `=`, the next
    /// one cannot be `>`, because the sink would then come first.
    fn vectors(&mut self, question: Question, comes_after: bool, vectors: &mut Vectors) {
        let level = question.directions.len();
        let all_same = question.directions.iter().all(|&direction| direction == Direction::Same);
        if all_same && question.apart == Some(level) {
            return;
        }
        let Some(distance) = question.distances.get(level) else {
            if !all_same || comes_after {
                self.keep(question, vectors);
            }
            return;
        };
        for direction in [Direction::Later, Direction::Same, Direction::Earlier] {
            if all_same && direction == Direction::Earlier {
                continue;
            }
            let mut system = question.system.clone();
            match (distance, direction) {
                (None, _) => system.is_unknown = true,
                (Some(distance), Direction::Same) => system.zero.push(distance.clone()),
                (Some(distance), Direction::Later) => system.at_least_zero(distance.plus_number(-1)),
                (Some(distance), Direction::Earlier) => {
                    system.at_least_zero(distance.times(-1).and_then(|back| back.plus_number(-1)));
                }
            }
            let answer = solve(&system, self.budget);
            if answer == Answer::No {
                continue;
            }
            let directions = [&question.directions[..], &[direction]].concat();
            let distances = question.distances.clone();
            let (apart, is_certain) = (question.apart, answer == Answer::Yes);
            self.vectors(Question { system, distances, directions, apart, is_certain }, comes_after, vectors);
        }
    }

    fn keep(&mut self, question: Question, vectors: &mut Vectors) {
        let Question { system, distances, directions, mut is_certain, .. } = question;
        if directions.is_empty() {
            let answer = solve(&system, self.budget);
            if answer == Answer::No {
                return;
            }
            is_certain = answer == Answer::Yes;
        }
        let known =
            directions.iter().zip(&distances).map(|(&direction, distance)| match (direction, distance) {
                (Direction::Same, _) => Distance::ZERO,
                (_, None) => Distance { least: None, most: None },
                (Direction::Later, Some(distance)) => self.range(&system, distance),
                (Direction::Earlier, Some(distance)) => {
                    let back = distance.times(-1).map(|back| self.range(&system, &back));
                    let Distance { least, most } = back.unwrap_or(Distance { least: None, most: None });
                    Distance { least: most.map(|most| -most), most: least.map(|least| -least) }
                }
            });
        let known: Vec<_> = known.collect();
        let new = (known, is_certain);
        vectors
            .entry(directions)
            .and_modify(|(old, is_old_certain)| {
                old.iter_mut().zip(&new.0).for_each(|(old, new)| *old = old.or(*new));
                *is_old_certain |= new.1;
            })
            .or_insert(new);
    }

    /// The minimum and maximum of a sum that is at least 1.
    fn range(&mut self, system: &System, sum: &Affine) -> Distance {
        let mut may = |least: Option<i64>, most: Option<i64>| {
            let mut system = system.clone();
            if let Some(least) = least {
                system.at_least_zero(sum.plus_number(-least));
            }
            if let Some(most) = most {
                system.at_least_zero(sum.times(-1).and_then(|back| back.plus_number(most)));
            }
            solve(&system, self.budget) != Answer::No
        };
        let least = first(1, |most| may(None, Some(most)));
        let Some(least) = least else { return Distance { least: None, most: None } };
        if !may(Some(least + 1), None) {
            return Distance { least: Some(least), most: Some(least) };
        }
        let most =
            if may(Some(FAR), None) { None } else { first(least + 1, |most| !may(Some(most + 1), None)) };
        Distance { least: Some(least), most }
    }
}

/// The smallest number, from `from`, for which a monotone condition holds: once true, it stays true. `None`
/// if the number would exceed [`FAR`].
fn first(from: i64, mut holds: impl FnMut(i64) -> bool) -> Option<i64> {
    let (mut below, mut at) = (from - 1, from);
    while !holds(at) {
        if at >= FAR {
            return None;
        }
        (below, at) = (at, at.saturating_mul(2).max(at + 1));
    }
    while at - below > 1 {
        let middle = below + (at - below) / 2;
        if holds(middle) { at = middle } else { below = middle }
    }
    Some(at)
}

/// The loops that contain both accesses.
pub(super) fn common(a: &Access, b: &Access) -> Vec<usize> {
    a.loops.iter().zip(&b.loops).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect()
}

/// The symbol for the sink's iteration. Parameters are the same symbol there.
pub(super) fn in_sink(program: &Program, symbol: Symbol) -> Symbol {
    match symbol {
        _ if symbol < program.variables.len() => symbol,
        _ if symbol < of_condition(program, 0) => symbol + program.loops.len(),
        _ => symbol + program.ifs.len(),
    }
}

/// The symbol for the outcome of a condition. It is at least 1 if the condition holds.
pub(super) fn of_condition(program: &Program, number: usize) -> Symbol {
    program.variables.len() + 2 * program.loops.len() + number
}
