//! Profiles: the iterations and operations of each loop. They show which loops are worth the effort.

use super::parse::{LARGEST, resized};
use super::program::{Kind, Program, Variable};
use super::run::count;
use super::source::{At, Fault, quoted};

/// Maximum number of steps in the run of a profile.
const STEPS: u64 = 1 << 27;

/// The work of a loop in one run of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Profiled {
    /// The name of its counter.
    pub counter: String,
    /// The place of its head.
    pub at: At,
    /// The number of loops that contain it.
    pub depth: usize,
    /// How often it was entered.
    pub entered: u64,
    /// The number of iterations in all.
    pub iterations: u64,
    /// The number of operations in its iterations, including those of inner loops. An operation is an
    /// operator, an assignment or a comparison.
    pub operations: u64,
    /// The share of all operations of the program, from 0 to 1.
    pub share: f64,
}

impl Program {
    /// Runs the program serially and counts the work of each loop. The loops with most operations come
    /// first.
    ///
    /// # Errors
    /// If a subscript is out of range, a number overflows, or the run takes too many steps.
    pub fn profile(&self) -> Result<Vec<Profiled>, Fault> {
        let (work, all) = count(self, &mut STEPS.clone())?;
        let profiled = self.loops.iter().zip(work).map(|(looped, work)| Profiled {
            counter: self.name(looped.counter).to_owned(),
            at: looped.at,
            depth: looped.around.len(),
            entered: work.entered,
            iterations: work.iterations,
            operations: work.operations,
            share: work.operations as f64 / all.max(1) as f64,
        });
        let mut profiled: Vec<_> = profiled.collect();
        // The sort is stable: an outer loop stays before an inner one with the same operations.
        profiled.sort_by_key(|profiled| std::cmp::Reverse(profiled.operations));
        Ok(profiled)
    }

    /// Gives a parameter another value for runs, and resizes the arrays.
    ///
    /// # Errors
    /// If there is no such parameter, the value is below its minimum, or an array gets too large or empty.
    /// The program is then unchanged.
    pub fn resize(&mut self, name: &str, value: i64) -> Result<(), String> {
        let is = |variable: &Variable| variable.name == name && matches!(variable.kind, Kind::Param { .. });
        let number = self.variables.iter().position(is);
        let number = number.ok_or_else(|| format!("`{}` is not a parameter of the loops", quoted(name)))?;
        let mut variables = self.variables.clone();
        if let Kind::Param { at_least, run } = &mut variables[number].kind {
            if let Some(least) = at_least.filter(|least| value < *least) {
                return Err(format!("`{name}` is at least {least}"));
            }
            if value.unsigned_abs() > LARGEST.unsigned_abs() {
                return Err("numbers are at most 2^40".to_owned());
            }
            *run = value;
        }
        self.variables = resized(variables)?;
        Ok(())
    }
}
