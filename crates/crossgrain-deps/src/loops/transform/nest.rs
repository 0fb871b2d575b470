//! Interchange and skewing of perfect nests: loops whose body is a single loop.

use std::collections::BTreeSet;

use super::bounds::{rebound, rows};
use super::tree::{Tree, expression, linear, replaced, trees};
use super::{Candidate, Step, Transformation, unused};
use crate::loops::affine::Affine;
use crate::loops::cover::Covering;
use crate::loops::dependence::{Direction, Found};
use crate::loops::program::{Comparison, Expr, If, Kind, Loop, Node, Program, Variable};
use crate::loops::solve::Budget;
use crate::loops::source::At;
use crate::loops::verdict::{Facts, Judged, reduced};
use crate::loops::walk::Access;

/// Largest factor of the outer counter in a wave.
const FACTOR: i64 = 4;

/// The interchanges that move an inner parallel loop to the place of a serial one.
pub(super) fn interchanges(
    program: &Program,
    facts: &Facts,
    number: usize,
    budget: &mut Budget,
) -> Vec<Candidate> {
    let nest = perfect(program, number);
    let mut candidates = Vec::new();
    for inner in 1..nest.len() {
        let is_parallel = matches!(facts.judged[nest[inner]], Judged::Parallel(_));
        if is_parallel && may_move(program, facts, &nest[..=inner], budget) {
            candidates.extend(moved(program, &nest[..=inner]));
        }
    }
    candidates
}

/// The skewing of two nested serial loops.
pub(super) fn skewing(
    program: &Program,
    facts: &Facts,
    number: usize,
    budget: &mut Budget,
) -> Option<Candidate> {
    let [outer, inner, ..] = perfect(program, number)[..] else { return None };
    let is_within = |other: &usize| program.loops[*other].around.contains(&outer);
    let mut within = (0..program.loops.len()).filter(is_within);
    let has_steps = program.loops[outer].step == 1 && program.loops[inner].step == 1;
    if !has_steps || within.any(|number| matches!(facts.judged[number], Judged::Parallel(_))) {
        return None;
    }
    let restricting = restricting(program, facts, (outer, inner), budget);
    let depth = program.loops[outer].around.len();
    let goes_on = |factor: &i64| {
        restricting.iter().all(|found| {
            let least = |level: usize| found.distances[level].least;
            let wave = |outer: i64, inner: i64| factor.checked_mul(outer)?.checked_add(inner);
            let is_within = found.directions[depth..depth + 2].iter().all(|&level| level == Direction::Same);
            is_within || least(depth).zip(least(depth + 1)).and_then(|(a, b)| wave(a, b)) >= Some(1)
        })
    };
    skewed(program, (outer, inner), (1..=FACTOR).find(goes_on)?)
}

/// The loops of a perfect nest, from a loop inwards.
fn perfect(program: &Program, number: usize) -> Vec<usize> {
    let mut nest = vec![number];
    let mut last = number;
    while let [Node::Loop(inner)] = program.loops[last].body[..] {
        nest.push(inner);
        last = inner;
    }
    nest
}

/// The dependences that restrict the order of the iterations of two loops and of those between them. All
/// accesses in the outer loop are in the inner one.
fn restricting<'a>(
    program: &Program,
    facts: &'a Facts,
    (outer, inner): (usize, usize),
    budget: &mut Budget,
) -> Vec<&'a Found> {
    let depth = program.loops[outer].around.len();
    let is_in = |access: usize| facts.walk.accesses[access].loops.get(depth) == Some(&outer);
    let is_in_one = |found: &&Found| {
        is_in(found.source)
            && is_in(found.sink)
            && found.directions[..depth].iter().all(|&direction| direction == Direction::Same)
    };
    let all: Vec<_> = facts.found.iter().filter(is_in_one).collect();
    let variable = |found: &Found| facts.walk.accesses[found.source].variable;
    let variables: BTreeSet<_> = all.iter().map(|found| variable(found)).collect();
    let free: BTreeSet<_> =
        variables.into_iter().filter(|&own| is_free(program, facts, (outer, inner), own, budget)).collect();
    all.into_iter().filter(|found| !free.contains(&variable(found))).collect()
}

/// Whether the iterations of a nest may run in any order as far as one variable matters: it is reduced, or
/// each iteration writes it before reading and it is not used afterwards.
fn is_free(
    program: &Program,
    facts: &Facts,
    (outer, inner): (usize, usize),
    variable: usize,
    budget: &mut Budget,
) -> bool {
    let of_variable = |access: &&Access| access.variable == variable;
    let (inside, outside): (Vec<_>, Vec<_>) =
        facts.walk.accesses.iter().filter(of_variable).partition(|access| access.loops.contains(&outer));
    let own = &program.variables[variable];
    if !own.is_int() && reduced(program, &inside).is_some() {
        return true;
    }
    let mut covering = Covering { program, walk: &facts.walk, budget };
    own.is_local
        && outside.iter().all(|access| access.is_write)
        && inside.iter().all(|access| access.is_write || covering.is_written_before(inner, access))
}

/// Whether the innermost of these loops may be moved outside the others: no dependence is reversed.
fn may_move(program: &Program, facts: &Facts, nest: &[usize], budget: &mut Budget) -> bool {
    let [outer, .., inner] = nest[..] else { return false };
    let (first, last) = (program.loops[outer].around.len(), program.loops[inner].around.len());
    restricting(program, facts, (outer, inner), budget).iter().all(|found| {
        let levels = [&[found.directions[last]], &found.directions[first..last]].concat();
        let changed = levels.into_iter().find(|&direction| direction != Direction::Same);
        changed.is_none_or(|direction| direction == Direction::Later)
    })
}

/// The program with the innermost of these loops outside the others.
fn moved(program: &Program, nest: &[usize]) -> Option<Candidate> {
    let mut heads: Vec<Loop> = nest.iter().map(|&number| head(&program.loops[number])).collect();
    let mut guards = Vec::new();
    for at in (0..nest.len() - 1).rev() {
        let (outer, inner) = (heads[at].clone(), heads[at + 1].clone());
        let mentions = |bound: &Expr| {
            let sum = linear(bound);
            sum.is_none_or(|sum| sum.coefficient(outer.counter) != 0)
        };
        if !inner.from.iter().chain(&inner.to).any(mentions) {
            heads.swap(at, at + 1);
        } else if outer.step == 1 && inner.step == 1 {
            let rows = [rows(&outer)?, rows(&inner)?].concat();
            let new = rebound(&rows, inner.counter, outer.counter)?;
            heads[at] = Loop { from: new.outer.0, to: new.outer.1, ..inner };
            heads[at + 1] = Loop { from: new.inner.0, to: new.inner.1, ..outer };
            guards.extend(new.guards);
        } else {
            return None;
        }
    }
    let (&number, &last) = nest.first().zip(nest.last())?;
    let body = guarded(trees(program, &program.loops[last].body), &guards, program.loops[last].at);
    let name = |number: usize| program.name(program.loops[number].counter);
    let text = format!("interchange: move the loop over {} outside {}", name(last), name(number));
    let step = Step { kind: Transformation::Interchange, at: program.loops[number].at, text };
    let new = [nested(heads, body)?];
    let program = replaced(program, program.variables.clone(), number, &new);
    Some(Candidate { program, step, wanted: vec![number] })
}

/// The program with the iterations of two loops in waves of `factor * outer + inner`.
fn skewed(program: &Program, (outer, inner): (usize, usize), factor: i64) -> Option<Candidate> {
    let (first, second) = (head(&program.loops[outer]), head(&program.loops[inner]));
    let mut variables = program.variables.clone();
    let wave = variables.len();
    let name = unused(&variables, "wave");
    variables.push(Variable { name, kind: Kind::Counter, is_local: true, spans: Vec::new() });
    let value = Affine::symbol(wave).plus(-factor, &Affine::symbol(first.counter))?;
    let all = [rows(&first)?, rows(&second)?].concat();
    let all: Vec<_> = all.iter().map(|row| row.with(second.counter, &value)).collect::<Option<_>>()?;
    let new = rebound(&all, wave, first.counter)?;
    let mut body = trees(program, &program.loops[inner].body);
    body.iter_mut().for_each(|tree| tree.put(second.counter, &expression(&value)));
    let body = guarded(body, &new.guards, second.at);
    let name = |number: usize| program.name(program.loops[number].counter);
    let (i, j) = (name(outer), name(inner));
    let sum = if factor == 1 { format!("{i} + {j}") } else { format!("{factor}*{i} + {j}") };
    let text = format!("skew: run the loops over {i} and {j} in waves of {sum}, each parallel");
    let step = Step { kind: Transformation::Skewing, at: first.at, text };
    let waves = Loop { counter: wave, from: new.outer.0, to: new.outer.1, ..first.clone() };
    let within = Loop { counter: first.counter, from: new.inner.0, to: new.inner.1, ..second };
    let program = replaced(program, variables, outer, &[nested(vec![waves, within], body)?]);
    Some(Candidate { program, step, wanted: vec![outer + 1] })
}

/// A loop without its body.
fn head(looped: &Loop) -> Loop {
    Loop { body: Vec::new(), ..looped.clone() }
}

/// Loops around a body.
fn nested(heads: Vec<Loop>, body: Vec<Tree>) -> Option<Tree> {
    heads.into_iter().rev().fold(body, |body, head| vec![Tree::Loop(head, body)]).pop()
}

/// A body that runs only where sums are at least 0.
fn guarded(body: Vec<Tree>, guards: &[Affine], at: At) -> Vec<Tree> {
    guards.iter().fold(body, |body, guard| {
        let (left, right, is) = (expression(guard), Expr::Number(0), Comparison::GreaterOrEqual);
        let cost = 1 + guard.terms.len();
        let around = Vec::new();
        let condition = If { left, is, right, at, around, then: Vec::new(), otherwise: Vec::new(), cost };
        vec![Tree::If(condition, body, Vec::new())]
    })
}
