//! Lesson 2: addition of 32-bit numbers, modulo 2³².
//!
//! Along the grain the CPU has an adder in every lane. Across, 32 full adders of five gates each hand
//! the carry on from bit to bit.

use crossgrain::word::{Register, clear_positions};

use crate::lesson::{Lesson, Memory, keep_width};

pub(crate) struct Add;

impl Lesson<32, 32, 32> for Add {
    const TITLE: &'static str =
        "2. Addition of 32-bit numbers: adders along the grain, 32 full adders across";

    fn plain(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }

    /// A number a step where a word holds no more; for vectors the compiler widens this same loop.
    #[inline(always)]
    fn along<W: Register>(_isa: W::Isa, memory: &mut Memory) {
        let Memory { a, b, out } = memory;
        let (a, b) = (a.bytes().as_chunks().0, b.bytes().as_chunks().0);
        for ((a, b), out) in a.iter().zip(b).zip(out.bytes_mut().as_chunks_mut().0) {
            let (a, b) = (u32::from_le_bytes(*a), u32::from_le_bytes(*b));
            let sum = if W::BITS < 32 { add_in_halves(a, b) } else { a.wrapping_add(b) };
            *out = sum.to_le_bytes();
            keep_width::<W>();
        }
    }

    #[inline(always)]
    fn circuit<W: Register>(isa: W::Isa, a: &[W; 32], b: &[W; 32], out: &mut [W; 32]) {
        let mut carry = W::splat(isa, 0);
        for i in 0..32 {
            (out[i], carry) = full_adder(a[i], b[i], carry);
        }
    }

    #[inline(always)]
    fn to_across<W: Register>(isa: W::Isa, along: &[W; 32]) -> [W; 32] {
        let mut group = *along;
        for row in 0..32 {
            group[row] = along[word_of_row::<W>(row)];
        }
        transpose(isa, &mut group);
        group
    }

    #[inline(always)]
    fn to_along<W: Register>(isa: W::Isa, across: &[W; 32]) -> [W; 32] {
        let mut group = *across;
        transpose(isa, &mut group);
        let mut along = group;
        for row in 0..32 {
            along[word_of_row::<W>(row)] = group[row];
        }
        along
    }
}

/// Sum and carry of three bits, by five gates.
#[inline(always)]
pub(crate) fn full_adder<W: Register>(a: W, b: W, c: W) -> (W, W) {
    let either = a ^ b;
    (either ^ c, (a & b) ^ (c & either))
}

/// The sum on a machine of 16 bits: low halves, then high halves with the carry.
#[inline(always)]
fn add_in_halves(a: u32, b: u32) -> u32 {
    let (low, carry) = (a as u16).overflowing_add(b as u16);
    let high = ((a >> 16) as u16).wrapping_add((b >> 16) as u16).wrapping_add(u16::from(carry));
    u32::from(high) << 16 | u32::from(low)
}

/// The word that is row `row` of the matrix, or matrices. Words of 16 bits hold a number in two, and
/// sixteen low halves are transposed as one matrix, sixteen high halves as another.
#[inline(always)]
const fn word_of_row<W: Register>(row: usize) -> usize {
    if W::BITS < 32 { row % 16 * 2 + row / 16 } else { row }
}

/// Exchanges the index of a word with the index of a bit in its 32 (or 16) bits: its own inverse.
#[inline(always)]
fn transpose<W: Register>(isa: W::Isa, group: &mut [W; 32]) {
    exchange::<W, 1>(isa, group);
    exchange::<W, 2>(isa, group);
    exchange::<W, 4>(isa, group);
    exchange::<W, 8>(isa, group);
    if W::BITS >= 32 {
        exchange::<W, 16>(isa, group);
    }
}

/// One layer: between words `DISTANCE` apart, the bits that lie `DISTANCE` apart.
#[inline(always)]
fn exchange<W: Register, const DISTANCE: u32>(isa: W::Isa, group: &mut [W; 32]) {
    let mask = W::splat(isa, clear_positions(DISTANCE.trailing_zeros()));
    let distance = DISTANCE as usize;
    for pair in 0..16 {
        let low = pair & (distance - 1);
        let first = (pair - low) << 1 | low;
        let (a, b) = (group[first], group[first | distance]);
        group[first] = mask.select(a, b.shift_left::<DISTANCE>());
        group[first | distance] = mask.select(a.shift_right::<DISTANCE>(), b);
    }
}
