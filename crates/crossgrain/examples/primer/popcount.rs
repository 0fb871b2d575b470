//! Lesson 3: a constant table whose structure is obvious: the number of set bits in a byte.
//!
//! As a circuit it is four full adders and a few gates, 26 in all. Bit 3 of the result is the AND of all
//! eight inputs, and bits 7 to 4 are zero. Across the grain, constant bits cost nothing.

use crossgrain::engine::arch::{Register, Word};
use crossgrain::engine::layout::convert::{BitGroup, Group};

use crate::add::full_adder;
use crate::lesson::{Lesson, Memory};

pub(crate) struct Popcount;

/// The table of results.
const TABLE: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).count_ones() as u8;
        byte += 1;
    }
    table
};

impl Lesson<8, 8, 4> for Popcount {
    const TITLE: &'static str = "3. Population count of a byte: a table along the grain, 26 gates across";

    fn plain(a: u32, _b: u32) -> u32 {
        (0..8).map(|bit| a >> bit & 1).sum()
    }

    #[inline(always)]
    fn along<W: Register>(_isa: W::Isa, memory: &mut Memory) {
        look_up(&TABLE, memory);
    }

    #[inline(always)]
    fn circuit<W: Register>(_isa: W::Isa, x: &[W; 8], _b: &[W; 8], out: &mut [W; 4]) {
        *out = count(x);
    }

    #[inline(always)]
    fn lay_across<W: Register>(isa: W::Isa, along: &[W; 8], across: &mut [W; 8]) {
        let mut group = *along;
        BitGroup::transpose(isa, &mut group);
        *across = group;
    }

    #[inline(always)]
    fn lay_along<W: Register>(isa: W::Isa, across: &mut [W; 4], along: &mut [W; 8]) {
        let zero = W::splat(isa, 0);
        let [ones, twos, fours, eights] = *across;
        let mut group = [ones, twos, fours, eights, zero, zero, zero, zero];
        BitGroup::transpose(isa, &mut group);
        *along = group;
    }
}

/// Looks up every byte, one at a time at any word width. The address depends on the byte, so the cache
/// reveals its value to an observer.
#[inline(always)]
pub(crate) fn look_up(table: &[u8; 256], memory: &mut Memory) {
    for (byte, out) in memory.a.bytes().iter().zip(memory.out.bytes_mut()) {
        *out = table[usize::from(*byte)];
    }
}

/// Bits 0 to 3 of the number of set bits.
#[inline(always)]
pub(crate) fn count<W: Register>(x: &[W; 8]) -> [W; 4] {
    let (ones0, twos0) = full_adder(x[0], x[1], x[2]);
    let (ones1, twos1) = full_adder(x[3], x[4], x[5]);
    let (ones2, twos2) = half_adder(x[6], x[7]);
    let (ones, twos3) = full_adder(ones0, ones1, ones2);
    let (twos, fours0) = full_adder(twos0, twos1, twos2);
    let (twos, fours1) = half_adder(twos, twos3);
    let (fours, eights) = half_adder(fours0, fours1);
    [ones, twos, fours, eights]
}

/// Sum and carry of two bits.
#[inline(always)]
fn half_adder<W: Word>(a: W, b: W) -> (W, W) {
    (a ^ b, a & b)
}
