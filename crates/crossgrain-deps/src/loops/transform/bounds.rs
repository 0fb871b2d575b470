//! Bounds of two loops whose iterations run in another order.

use super::tree::{expression, linear};
use crate::loops::affine::{Affine, Symbol};
use crate::loops::program::{Expr, Loop};

/// The bounds of two nested loops, and sums that must be at least 0 in their body.
pub(super) struct Bounds {
    pub(super) outer: (Vec<Expr>, Vec<Expr>),
    pub(super) inner: (Vec<Expr>, Vec<Expr>),
    pub(super) guards: Vec<Affine>,
}

/// Sums that are at least 0 in all iterations of a loop with step 1.
pub(super) fn rows(looped: &Loop) -> Option<Vec<Affine>> {
    let counter = Affine::symbol(looped.counter);
    let from = looped.from.iter().map(|bound| counter.minus(&linear(bound)?));
    let to = looped.to.iter().map(|bound| linear(bound)?.minus(&counter));
    from.chain(to).collect()
}

/// Bounds so that two loops run through all integers for which the rows are at least 0.
///
/// Rows that the inner bounds cannot express become guards. The outer bounds follow from the others by the
/// Fourier-Motzkin method. They may admit empty inner loops.
pub(super) fn rebound(rows: &[Affine], outer: Symbol, inner: Symbol) -> Option<Bounds> {
    let (within, mut outside): (Vec<_>, Vec<_>) =
        rows.iter().cloned().partition(|row| row.coefficient(inner) != 0);
    let (inner_bounds, guards) = bounds(&within, inner)?;
    let mut guards = guards;
    // Rows without the inner counter restrict the outer one, or must be guards.
    guards.extend(bounds(&outside, outer)?.1);
    let (lower, upper): (Vec<_>, Vec<_>) = within.iter().partition(|row| row.coefficient(inner) > 0);
    for low in &lower {
        for high in &upper {
            let (a, b) = (low.coefficient(inner), high.coefficient(inner).checked_neg()?);
            outside.push(tightened(low.times(b)?.plus(a, high)?));
        }
    }
    let (outer_bounds, _) = bounds(&outside, outer)?;
    let all = [&outer_bounds.0, &outer_bounds.1, &inner_bounds.0, &inner_bounds.1];
    let is_complete = all.iter().all(|bounds| !bounds.is_empty());
    is_complete.then_some(Bounds { outer: outer_bounds, inner: inner_bounds, guards })
}

/// First and last values of a counter.
type Range = (Vec<Expr>, Vec<Expr>);

/// The bounds that rows give a counter, and the rows that are no bounds.
fn bounds(rows: &[Affine], counter: Symbol) -> Option<(Range, Vec<Affine>)> {
    let (mut from, mut to, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let rest = row.with(counter, &Affine::number(0))?;
        let (list, bound) = match row.coefficient(counter) {
            1 => (&mut from, rest.times(-1)?),
            -1 => (&mut to, rest),
            _ => (&mut others, row.clone()),
        };
        if !list.contains(&bound) {
            list.push(bound);
        }
    }
    let shown = |bounds: Vec<Affine>| bounds.iter().map(expression).collect();
    Some(((shown(from), shown(to)), others))
}

/// Divides a row by the greatest common divisor of its factors.
fn tightened(row: Affine) -> Affine {
    let gcd = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let divisor = row.terms.values().fold(0, |divisor, factor| gcd(divisor, factor.unsigned_abs()));
    match i64::try_from(divisor) {
        Ok(divisor @ 2..) => Affine {
            constant: row.constant.div_euclid(divisor),
            terms: row.terms.iter().map(|(&symbol, factor)| (symbol, factor / divisor)).collect(),
        },
        _ => row,
    }
}
