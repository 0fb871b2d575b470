//! Lists for groups of messages. A group of one, such as a single sector, needs no allocation.

use std::{array, mem};

use crate::arch::wipe;
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::sum::sum;

/// `N` lists of equal length. They are wiped when dropped. Do not move them while they hold secrets, because
/// that leaves a copy.
pub(super) struct Lists<const N: usize> {
    one: [Block; N],
    many: Vec<Block>,
    count: usize,
}

impl<const N: usize> Lists<N> {
    /// Lists of `count` blocks each, all zeros.
    #[inline(always)]
    pub(super) fn new(count: usize) -> Self {
        let many = if count > 1 { vec![[0; BLOCK_BYTES]; N * count] } else { Vec::new() };
        Self { one: [[0; BLOCK_BYTES]; N], many, count }
    }

    /// All lists as one slice, one list after another.
    #[inline(always)]
    pub(super) fn all(&mut self) -> &mut [Block] {
        if self.count > 1 { &mut self.many } else { &mut self.one[..N * self.count] }
    }

    /// Each list.
    #[inline(always)]
    pub(super) fn each(&mut self) -> [&mut [Block]; N] {
        let count = self.count;
        let mut rest = self.all();
        array::from_fn(|_| take_front(&mut rest, count))
    }
}

impl<const N: usize> Drop for Lists<N> {
    fn drop(&mut self) {
        wipe(self.one.as_flattened_mut());
        if self.count > 1 {
            wipe(self.many.as_flattened_mut());
        }
    }
}

/// Removes the first `count` blocks from a slice and returns them.
#[inline(always)]
pub(super) fn take_front<'a>(rest: &mut &'a mut [Block], count: usize) -> &'a mut [Block] {
    let (front, later) = mem::take(rest).split_at_mut(count);
    *rest = later;
    front
}

/// XORs each block of `others` into the block of `totals` at the same index.
pub(super) fn add(totals: &mut [Block], others: &[Block]) {
    for (total, other) in totals.iter_mut().zip(others) {
        *total = sum(*total, *other);
    }
}
