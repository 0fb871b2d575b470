//! Kernels that the algorithms use internally, on devices only.

use std::array;

use crossgrain::engine::arch::Lanes;

use super::kernel::{Bundle, Map, Rounds};

/// Tests whether a kernel's result is not zero. Numbers 0 and 1 are 1 if so, and otherwise 0. Number 2, if
/// present, is the opposite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit<'a, K>(pub(super) &'a K);

impl<K, const ROWS: usize, const IN: usize, const N: usize> Bundle<ROWS, IN, N> for Hit<'_, K>
where
    K: Bundle<ROWS, IN, 1>,
{
    const LOOP: Rounds = K::LOOP;

    #[inline(always)]
    fn inner<W: Lanes>(&self, x: &[[W; ROWS]; IN], y: &mut [[W; ROWS]; N]) {
        self.0.inner(x, first_of(y));
        if K::LOOP == Rounds::None {
            *y = hits(y[0]);
        }
    }

    #[inline(always)]
    fn rounds(&self) -> usize {
        self.0.rounds()
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, number: usize, y: &[[W; ROWS]; N], next: &mut [[W; ROWS]; N]) {
        self.0.round(number, array::from_ref(&y[0]), first_of(next));
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, y: &[[W; ROWS]; N], made: &mut [[W; ROWS]; N]) {
        if K::LOOP == Rounds::None {
            return *made = *y;
        }
        self.0.last(array::from_ref(&y[0]), first_of(made));
        *made = hits(made[0]);
    }
}

/// The first number, for a kernel's single result. The others are unchanged.
#[inline(always)]
fn first_of<W: Lanes, const ROWS: usize, const N: usize>(y: &mut [[W; ROWS]; N]) -> &mut [[W; ROWS]; 1] {
    array::from_mut(&mut y[0])
}

/// The numbers of [`Hit`] for a result.
#[inline(always)]
fn hits<W: Lanes, const ROWS: usize, const N: usize>(made: [W; ROWS]) -> [[W; ROWS]; N] {
    let mut any = made[0];
    for row in &made[1..] {
        any = !(!any & !*row);
    }
    // The hit bit is the lowest bit of a 32-bit lane, or the first row.
    if ROWS == 1 {
        any = !any.equal_lanes(any.zero()) & any.filled(1);
    }
    let one = if ROWS == 1 { any.filled(1) } else { !any.zero() };
    let mut y = [[any.zero(); ROWS]; N];
    for (number, rows) in y.iter_mut().enumerate() {
        rows[0] = if number == 2 { any ^ one } else { any };
    }
    y
}

/// The new index of an element in a partition with hits first. Inputs are whether it is a hit, and the
/// numbers of hits and of other elements up to and including it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Total number of hits.
    pub(super) hits: u32,
}

impl Map<3, 1> for Target {
    #[inline(always)]
    fn map<W: Lanes>(&self, [is_hit, hits, others]: [W; 3]) -> [W; 1] {
        let among_others = others.add_lanes(others.uniform(self.hits));
        let after = is_hit.equal_lanes(is_hit.filled(1)).select(hits, among_others);
        [after.add_lanes(after.filled(u32::MAX))]
    }
}

/// Not zero if the bit is clear.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clear {
    pub(super) bit: u32,
}

impl Map<1, 1> for Clear {
    #[inline(always)]
    fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
        [(x & x.uniform(1 << self.bit)).equal_lanes(x.zero())]
    }
}

/// One number of an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number(pub(super) usize);

impl<const N: usize> Map<N, 1> for Number {
    #[inline(always)]
    fn map<W: Lanes>(&self, x: [W; N]) -> [W; 1] {
        [x[self.0]]
    }
}
