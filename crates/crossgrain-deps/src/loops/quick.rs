//! Two quick tests that exclude many dependences: the GCD test and Banerjee's inequalities.
//!
//! Both consider one equation at a time (Banerjee, "Dependence Analysis for Supercomputing", 1988). They
//! are conservative: every pair that they exclude, the exact test excludes as well.

use std::collections::HashMap;

use super::affine::{Affine, Symbol, System};

/// Whether an equation has no integer solution because the GCD of its coefficients does not divide its
/// constant.
pub(super) fn gcd_excludes(system: &System) -> bool {
    system.zero.iter().any(|sum| {
        let gcd = sum.terms.values().fold(0_u64, |gcd, factor| greatest_common(gcd, factor.unsigned_abs()));
        match gcd {
            0 => sum.constant != 0,
            _ => !sum.constant.unsigned_abs().is_multiple_of(gcd),
        }
    })
}

/// Whether an equation has no solution because its sum cannot be 0 within the constant bounds of its
/// symbols.
pub(super) fn banerjee_excludes(system: &System) -> bool {
    let mut bounds: HashMap<Symbol, (Option<i64>, Option<i64>)> = HashMap::new();
    for sum in &system.at_least_zero {
        let (Some((&symbol, &factor)), 1) = (sum.terms.first_key_value(), sum.terms.len()) else { continue };
        let (least, most) = bounds.entry(symbol).or_default();
        match factor {
            1 => *least = (*least).max(sum.constant.checked_neg()),
            -1 => *most = Some(most.map_or(sum.constant, |most| most.min(sum.constant))),
            _ => {}
        }
    }
    let bound = |sum: &Affine, is_least: bool| {
        sum.terms.iter().try_fold(i128::from(sum.constant), |total, (symbol, &factor)| {
            let (least, most) = *bounds.get(symbol)?;
            let end = if (factor > 0) == is_least { least? } else { most? };
            Some(total + i128::from(factor) * i128::from(end))
        })
    };
    let excluded = |sum: &Affine| {
        bound(sum, true).is_some_and(|least| least > 0) || bound(sum, false).is_some_and(|most| most < 0)
    };
    system.zero.iter().any(excluded)
}

fn greatest_common(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
