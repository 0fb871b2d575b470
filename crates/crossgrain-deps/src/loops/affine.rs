//! Affine forms: sums of symbols with integer coefficients. Also systems of equations and inequalities of
//! them.

use std::collections::BTreeMap;

/// A symbol: a parameter, or the base of a loop.
pub(super) type Symbol = usize;

/// A constant, and the nonzero coefficients of symbols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Affine {
    pub(super) constant: i64,
    pub(super) terms: BTreeMap<Symbol, i64>,
}

impl Affine {
    pub(super) fn number(constant: i64) -> Self {
        Self { constant, terms: BTreeMap::new() }
    }

    pub(super) fn symbol(symbol: Symbol) -> Self {
        Self { constant: 0, terms: BTreeMap::from([(symbol, 1)]) }
    }

    /// The value, if the form has no symbols.
    pub(super) fn known(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    pub(super) fn coefficient(&self, symbol: Symbol) -> i64 {
        self.terms.get(&symbol).copied().unwrap_or(0)
    }

    /// `self + factor * other`. `None` on overflow.
    pub(super) fn plus(&self, factor: i64, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(factor.checked_mul(other.constant)?)?;
        for (&symbol, &coefficient) in &other.terms {
            let old = sum.coefficient(symbol);
            match old.checked_add(factor.checked_mul(coefficient)?)? {
                0 => sum.terms.remove(&symbol),
                new => sum.terms.insert(symbol, new),
            };
        }
        Some(sum)
    }

    pub(super) fn minus(&self, other: &Self) -> Option<Self> {
        self.plus(-1, other)
    }

    pub(super) fn plus_number(&self, number: i64) -> Option<Self> {
        self.plus(1, &Self::number(number))
    }

    pub(super) fn times(&self, factor: i64) -> Option<Self> {
        Self::default().plus(factor, self)
    }

    /// The form with its symbols renamed.
    pub(super) fn renamed(&self, name: impl Fn(Symbol) -> Symbol) -> Self {
        let terms = self.terms.iter().map(|(&symbol, &coefficient)| (name(symbol), coefficient)).collect();
        Self { constant: self.constant, terms }
    }

    /// The form with `value` substituted for a symbol.
    pub(super) fn with(&self, symbol: Symbol, value: &Self) -> Option<Self> {
        let mut rest = self.clone();
        match rest.terms.remove(&symbol) {
            Some(coefficient) => rest.plus(coefficient, value),
            None => Some(rest),
        }
    }
}

/// Affine forms that must be 0, and affine forms that must be at least 0.
#[derive(Clone, Debug, Default)]
pub(super) struct System {
    pub(super) zero: Vec<Affine>,
    pub(super) at_least_zero: Vec<Affine>,
    /// Whether an overflow occurred. The system is then meaningless.
    pub(super) is_unknown: bool,
}

impl System {
    /// Adds the equation a = b.
    pub(super) fn equal(&mut self, a: &Affine, b: &Affine) {
        match a.minus(b) {
            Some(difference) => self.zero.push(difference),
            None => self.is_unknown = true,
        }
    }

    /// Adds the inequality a ≥ 0.
    pub(super) fn at_least_zero(&mut self, a: Option<Affine>) {
        match a {
            Some(a) => self.at_least_zero.push(a),
            None => self.is_unknown = true,
        }
    }
}
