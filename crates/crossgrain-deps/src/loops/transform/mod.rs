//! Transformations that make serial loops parallel: distribution, interchange and skewing.
//!
//! * *Distribution* splits a loop into several, each with a part of the body. Parts that depend on each
//!   other in a cycle stay together, and dependences between parts go forwards.
//! * *Interchange* moves a loop outwards. A parallel outer loop starts its threads once.
//! * *Skewing* replaces the counters `i`, `j` of two nested serial loops by the wave `f*i + j` and `i`. Every
//!   dependence goes to a later wave, so the iterations of one wave are parallel.
//!
//! Dependences decide whether a transformation is legal. The transformed program is then analysed like any
//! other, and a transformation is kept only if it gives a parallel loop.

mod bounds;
mod distribute;
mod nest;
mod tree;

use std::fmt;

use super::program::{Program, Variable};
use super::solve::Budget;
use super::source::At;
use super::verdict::{Facts, Judged};

/// Maximum number of transformations of one program.
const STEPS: usize = 12;

/// A kind of transformation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transformation {
    /// A loop is split into several.
    Distribution,
    /// A loop is moved outwards.
    Interchange,
    /// The iterations of two loops run in waves.
    Skewing,
}

impl Transformation {
    /// `distribution`, `interchange` or `skewing`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Distribution => "distribution",
            Self::Interchange => "interchange",
            Self::Skewing => "skewing",
        }
    }
}

/// A transformation of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind.
    pub kind: Transformation,
    /// The place of the loop's head.
    pub at: At,
    /// The transformation in words.
    pub text: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A program to try, with the loop that must be parallel in it.
struct Candidate {
    program: Program,
    step: Step,
    /// Loops of which at least one must be parallel.
    wanted: Vec<usize>,
}

/// Transforms a program as far as this makes serial loops parallel. Returns it with its facts and the
/// transformations.
pub(super) fn transform(
    program: &Program,
    facts: &Facts,
    budget: &mut Budget,
) -> Option<(Program, Facts, Vec<Step>)> {
    let (mut program, mut facts, first) = improved(program, facts, budget)?;
    let mut steps = vec![first];
    while steps.len() < STEPS {
        let Some((next, next_facts, step)) = improved(&program, &facts, budget) else { break };
        (program, facts) = (next, next_facts);
        steps.push(step);
    }
    Some((program, facts, steps))
}

/// The first transformation that makes a loop parallel whose surrounding loops are serial.
fn improved(program: &Program, facts: &Facts, budget: &mut Budget) -> Option<(Program, Facts, Step)> {
    let is_parallel = |number: &usize| matches!(facts.judged[*number], Judged::Parallel(_));
    let is_serial =
        |number: &usize| !is_parallel(number) && !program.loops[*number].around.iter().any(is_parallel);
    for number in (0..program.loops.len()).filter(is_serial) {
        for kind in [Transformation::Interchange, Transformation::Distribution, Transformation::Skewing] {
            let candidates = match kind {
                Transformation::Interchange => nest::interchanges(program, facts, number, budget),
                Transformation::Distribution => {
                    distribute::distribution(program, facts, number).into_iter().collect()
                }
                Transformation::Skewing => {
                    nest::skewing(program, facts, number, budget).into_iter().collect()
                }
            };
            let improved = candidates.into_iter().find_map(|candidate| candidate.judged(budget));
            if improved.is_some() {
                return improved;
            }
        }
    }
    None
}

impl Candidate {
    /// The program with its facts, if one of the wanted loops is parallel.
    fn judged(self, budget: &mut Budget) -> Option<(Program, Facts, Step)> {
        let facts = Facts::of(&self.program, budget).ok()?;
        let is_parallel = |number: &&usize| matches!(facts.judged[**number], Judged::Parallel(_));
        let parallel = self.wanted.iter().filter(is_parallel).count();
        let mut step = self.step;
        if step.kind == Transformation::Distribution {
            step.text += &format!(", {parallel} of them parallel");
        }
        (parallel > 0).then_some((self.program, facts, step))
    }
}

/// A name for a new counter.
fn unused(variables: &[Variable], name: &str) -> String {
    let names = (1..).map(|number| if number == 1 { name.to_owned() } else { format!("{name}{number}") });
    let is_free = |name: &String| variables.iter().all(|variable| variable.name != *name);
    names.into_iter().find(is_free).unwrap_or_default()
}
