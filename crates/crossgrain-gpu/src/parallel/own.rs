//! Kernels that the algorithms use internally.

use crossgrain::engine::arch::Lanes;

use super::kernel::{Combine, Map};

/// Returns an element unchanged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Same;

impl<const N: usize> Map<N, N> for Same {
    #[inline(always)]
    fn map<W: Lanes>(&self, x: [W; N]) -> [W; N] {
        x
    }
}

/// Returns this element for every index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fill<const N: usize>(pub(super) [u32; N]);

impl<const N: usize> Map<1, N> for Fill<N> {
    #[inline(always)]
    fn map<W: Lanes>(&self, [at]: [W; 1]) -> [W; N] {
        let mut y = [at; N];
        for (word, value) in y.iter_mut().zip(self.0) {
            *word = at.uniform(value);
        }
        y
    }
}

/// Combines an element with the total of all earlier ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct After<'a, C, const N: usize> {
    pub(super) combine: &'a C,
    pub(super) before: [u32; N],
}

impl<C: Combine<N>, const N: usize> Map<N, N> for After<'_, C, N> {
    #[inline(always)]
    fn map<W: Lanes>(&self, x: [W; N]) -> [W; N] {
        let mut before = x;
        for (word, value) in before.iter_mut().zip(self.before) {
            *word = word.uniform(value);
        }
        self.combine.combine(before, x)
    }
}

/// The minimum or maximum key. The last number is the most significant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outermost<const IS_LAST: bool>;

impl<const IS_LAST: bool, const N: usize> Combine<N> for Outermost<IS_LAST> {
    const IDENTITY: [u32; N] = [if IS_LAST { 0 } else { u32::MAX }; N];

    #[inline(always)]
    fn combine<W: Lanes>(&self, a: [W; N], b: [W; N]) -> [W; N] {
        let mut is_less = a[0].zero();
        for (a, b) in a.iter().zip(&b) {
            is_less = a.equal_lanes(*b).select(is_less, a.less_lanes(*b));
        }
        let is_chosen = if IS_LAST { !is_less } else { is_less };
        let mut chosen = b;
        for (word, a) in chosen.iter_mut().zip(&a) {
            *word = is_chosen.select(*a, *word);
        }
        chosen
    }
}

/// Tests whether an element equals this one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Is<const N: usize>(pub(super) [u32; N]);

impl<const N: usize> Map<N, 1> for Is<N> {
    #[inline(always)]
    fn map<W: Lanes>(&self, x: [W; N]) -> [W; 1] {
        let mut is_same = !x[0].zero();
        for (word, value) in x.iter().zip(self.0) {
            is_same = is_same & word.equal_lanes(word.uniform(value));
        }
        [is_same]
    }
}
