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
