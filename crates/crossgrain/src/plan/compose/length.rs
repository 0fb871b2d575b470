//! Path lengths with exact addition.
//!
//! Floating-point sums depend on the order of the terms, so paths of equal cost would differ by rounding.
//! Costs are therefore rounded to integer multiples of a unit before they are added. The unit is a power of
//! two. It is so small that a cost is exact if it is less than 2³⁵ times smaller than the largest cost.

use std::iter::Sum;
use std::ops::Add;

/// The number of bits of the largest cost, in units. A 128-bit sum can hold 2⁴⁰ of these.
const COST_BITS: i32 = 88;

/// The length of a path: first its cost, then its number of edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Length {
    /// The cost in units.
    pub(super) cost: u128,
    /// The number of edges. Since each edge counts, every cycle has a length, and shortest paths contain
    /// none.
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

/// The cost of one unit, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit(f64);

impl Unit {
    /// The unit for costs of at most `cost_ns`.
    pub(super) fn for_largest(cost_ns: f64) -> Self {
        // The biased exponent is above the 52 bits of the mantissa. A sound cost has no sign bit.
        let exponent = (cost_ns.to_bits() >> 52) as i32;
        // At least 1, the biased exponent of the smallest normal number.
        let unit = (exponent + 1 - COST_BITS).max(1);
        Self(f64::from_bits((unit as u64) << 52))
    }

    /// The length of one edge.
    pub(super) fn length(self, cost_ns: f64) -> Length {
        Length { cost: (cost_ns / self.0).round() as u128, edges: 1 }
    }

    /// The cost of a length.
    pub(super) fn cost_ns(self, length: Length) -> f64 {
        length.cost as f64 * self.0
    }
}
