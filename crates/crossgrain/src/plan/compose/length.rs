//! Lengths of paths that add up exactly.
//!
//! Sums of floating-point numbers depend on their order, and paths that cost the same would differ by
//! rounding. So costs become whole multiples of a unit before they are added. The unit is a power of
//! two, so small beside the largest cost that a cost less than 2³⁵ times smaller loses nothing at all.

use std::iter::Sum;
use std::ops::Add;

/// Bits of the largest cost in units. 2⁴⁰ of them can be added in 128 bits.
const COST_BITS: i32 = 88;

/// How long a path is: first by cost, then by its number of edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Length {
    /// Cost in units.
    pub(super) cost: u128,
    /// Edges; as each counts, no cycle is free, and shortest paths have none.
    pub(super) edges: u32,
}

impl Add for Length {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { cost: self.cost + other.cost, edges: self.edges + other.edges }
    }
}

impl Sum for Length {
    fn sum<I: Iterator<Item = Self>>(lengths: I) -> Self {
        lengths.fold(Self::default(), Self::add)
    }
}

/// What one unit costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit(f64);

impl Unit {
    /// The unit for costs that are nowhere larger than this.
    pub(super) fn for_largest(cost_ns: f64) -> Self {
        // The biased exponent stands above the 52 bits of the mantissa; a sound cost has no sign.
        let exponent = (cost_ns.to_bits() >> 52) as i32;
        // Not below 1: there the smallest normal number is.
        let unit = (exponent + 1 - COST_BITS).max(1);
        Self(f64::from_bits((unit as u64) << 52))
    }

    /// The length of one edge.
    pub(super) fn length(self, cost_ns: f64) -> Length {
        Length { cost: (cost_ns / self.0).round() as u128, edges: 1 }
    }

    /// What a length costs.
    pub(super) fn cost_ns(self, length: Length) -> f64 {
        length.cost as f64 * self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Length, Unit};

    #[test]
    fn costs_come_back_unchanged() {
        for largest in [0.0, f64::MIN_POSITIVE, 1e-12, 0.3, 50467.0, 1e18, f64::MAX] {
            let unit = Unit::for_largest(largest);
            for cost in [0.0, 1.0, 0.7, 1e-6].map(|part| part * largest) {
                let error = (unit.cost_ns(unit.length(cost)) - cost).abs();
                assert!(error <= f64::MIN_POSITIVE, "{cost} of {largest}: {error}");
            }
            assert!(unit.length(largest).cost < 1 << 88);
        }
    }

    #[test]
    fn sums_do_not_depend_on_their_order() {
        let unit = Unit::for_largest(1e9);
        let costs = [1e9, 0.1, 0.7, 1e-1, 3e8, 0.1].map(|cost| unit.length(cost));
        let backwards: Length = costs.iter().rev().copied().sum();
        assert_eq!(costs.into_iter().sum::<Length>(), backwards);
    }
}
