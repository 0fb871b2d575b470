//! Conditions: the iterations in which each branch runs.
//!
//! A condition on numbers adds equations and inequalities to the iterations of its branches. `!=` has two
//! cases, less and greater. A condition on words, or on numbers that are not affine, has a symbol as its
//! outcome: the analysis then assumes nothing except that only one branch runs.

use super::affine::Affine;
use super::dependence::of_condition;
use super::program::Comparison;
use super::source::Fault;
use super::walk::{Case, Walker};

/// Maximum number of cases of the conditions around a place. Further conditions have symbols as outcomes.
const CASES: usize = 16;

impl Walker<'_> {
    /// Walks both branches of a condition.
    pub(super) fn branch(&mut self, number: usize) -> Result<(), Fault> {
        let condition = &self.program.ifs[number];
        self.reads(condition.reads())?;
        let before = self.values.clone();
        self.side(number, true)?;
        let after = std::mem::replace(&mut self.values, before);
        self.side(number, false)?;
        // A number has a known value afterwards only if both branches leave the same.
        for (variable, value) in &mut self.values {
            if *value != after[variable] {
                *value = None;
            }
        }
        Ok(())
    }

    fn side(&mut self, number: usize, holds: bool) -> Result<(), Fault> {
        let condition = &self.program.ifs[number];
        let outer = self.conditions.clone();
        let is = if holds { condition.is } else { condition.is.negated() };
        let is_affine = self.difference(number).and_then(|difference| cases(is, &difference));
        let inner = is_affine.and_then(|cases| both(&outer, &cases));
        let is_symbol = inner.is_none();
        self.conditions = match inner {
            Some(inner) => inner,
            None => {
                self.branches.push((number, holds));
                both(&outer, &[self.outcome(number, holds)]).unwrap_or_default()
            }
        };
        self.body(if holds { &condition.then } else { &condition.otherwise })?;
        if is_symbol {
            self.branches.pop();
        }
        self.conditions = outer;
        Ok(())
    }

    /// The difference of a condition's sides, if both are affine.
    fn difference(&self, number: usize) -> Option<Affine> {
        let condition = &self.program.ifs[number];
        let are_ints = condition.left.is_int(self.program) && condition.right.is_int(self.program);
        let side = |side| self.sum_with(side, None).filter(|_| are_ints);
        side(&condition.left)?.minus(&side(&condition.right)?)
    }

    /// The case in which a condition on words holds or does not hold.
    fn outcome(&self, number: usize, holds: bool) -> Case {
        let outcome = Affine::symbol(of_condition(self.program, number));
        let sum = if holds { outcome.plus_number(-1) } else { outcome.times(-1) };
        Case { at_least_zero: sum.into_iter().collect(), ..Case::default() }
    }

    /// The cases of an access under the present conditions.
    pub(super) fn conditional(&self, cases: Vec<Case>) -> Vec<Case> {
        let under = |case: &Case| {
            let subscripts = case.subscripts.clone();
            let all = self.conditions.iter().map(move |condition| joined(condition, case));
            all.map(|case| Case { subscripts: subscripts.clone(), ..case }).collect::<Vec<_>>()
        };
        cases.iter().flat_map(under).collect()
    }
}

/// The cases in which `difference` compares with 0 in this way. `None` on overflow.
fn cases(is: Comparison, difference: &Affine) -> Option<Vec<Case>> {
    let zero = |sum: Affine| Case { zero: vec![sum], ..Case::default() };
    let at_least_zero = |sum: Affine| Case { at_least_zero: vec![sum], ..Case::default() };
    let greater = || difference.plus_number(-1).map(at_least_zero);
    let less = || difference.times(-1)?.plus_number(-1).map(at_least_zero);
    Some(match is {
        Comparison::Equal => vec![zero(difference.clone())],
        Comparison::Unequal => vec![less()?, greater()?],
        Comparison::Less => vec![less()?],
        Comparison::LessOrEqual => vec![at_least_zero(difference.times(-1)?)],
        Comparison::Greater => vec![greater()?],
        Comparison::GreaterOrEqual => vec![at_least_zero(difference.clone())],
    })
}

/// Both conditions hold. `None` if there are too many cases.
fn both(outer: &[Case], inner: &[Case]) -> Option<Vec<Case>> {
    let all = outer.iter().flat_map(|outer| inner.iter().map(|inner| joined(outer, inner)));
    (outer.len() * inner.len() <= CASES).then(|| all.collect())
}

/// The equations and inequalities of both cases, without subscripts.
fn joined(a: &Case, b: &Case) -> Case {
    let zero = [&a.zero[..], &b.zero].concat();
    Case { subscripts: Vec::new(), zero, at_least_zero: [&a.at_least_zero[..], &b.at_least_zero].concat() }
}
