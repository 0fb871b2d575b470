//! Lesson 2: addition of 32-bit numbers, modulo 2³².
//!
//! Along the grain the CPU has an adder in every lane. Across it, 32 full adders of five gates each pass the
//! carry from bit to bit.

use crossgrain::engine::arch::{Register, clear_positions};
use crossgrain::engine::layout::convert::{BitGroup, Group};

use crate::lesson::{Lesson, Memory, keep_width};

pub(crate) struct Add;

impl Lesson<32, 32, 32> for Add {
    const TITLE: &'static str =
        "2. Addition of 32-bit numbers: adders along the grain, 32 full adders across";

    fn plain(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }

    /// One number per step if a word holds no more. For vectors the compiler vectorises the same loop.
    #[inline(always)]
    fn along<W: Register>(_isa: W::Isa, memory: &mut Memory) {
        let (a, b, out) = memory.tiles();
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
    fn lay_across<W: Register>(isa: W::Isa, along: &[W; 32], across: &mut [W; 32]) {
        for (upper, eight) in across.as_chunks_mut().0.iter_mut().enumerate() {
            for i in 0..8 {
                eight[i] = along[word_of_row::<W>(8 * upper + i)];
            }
            BitGroup::transpose(isa, eight);
        }
        for i in 0..8 {
            let four = exchange_upper(isa, [across[i], across[i + 8], across[i + 16], across[i + 24]]);
            [across[i], across[i + 8], across[i + 16], across[i + 24]] = four;
        }
    }

    #[inline(always)]
    fn lay_along<W: Register>(isa: W::Isa, across: &mut [W; 32], along: &mut [W; 32]) {
        for eight in across.as_chunks_mut().0 {
            BitGroup::transpose(isa, eight);
        }
        for i in 0..8 {
            let four = exchange_upper(isa, [across[i], across[i + 8], across[i + 16], across[i + 24]]);
            for (upper, word) in four.into_iter().enumerate() {
                along[word_of_row::<W>(8 * upper + i)] = word;
            }
        }
    }
}

/// Sum and carry of three bits, by five gates.
#[inline(always)]
pub(crate) fn full_adder<W: Register>(a: W, b: W, c: W) -> (W, W) {
    let either = a ^ b;
    (either ^ c, (a & b) ^ (c & either))
}

/// The sum on a 16-bit machine: low halves, then high halves with the carry.
#[inline(always)]
fn add_in_halves(a: u32, b: u32) -> u32 {
    let (low, carry) = (a as u16).overflowing_add(b as u16);
    let high = ((a >> 16) as u16).wrapping_add((b >> 16) as u16).wrapping_add(u16::from(carry));
    u32::from(high) << 16 | u32::from(low)
}

/// The index of the word that is row `row` of a matrix. A number takes two 16-bit words: sixteen low halves
/// are transposed as one matrix, sixteen high halves as another.
#[inline(always)]
const fn word_of_row<W: Register>(row: usize) -> usize {
    if W::BITS < 32 { row % 16 * 2 + row / 16 } else { row }
}

/// Exchanges the upper two bits of the word index (for 16-bit words the upper one) with those of the bit
/// index, on words that are eight rows apart. The library's `BitGroup` exchanges the lower three.
#[inline(always)]
fn exchange_upper<W: Register>(isa: W::Isa, [a, b, c, d]: [W; 4]) -> [W; 4] {
    let ((a, b), (c, d)) = (exchange::<W, 8>(isa, a, b), exchange::<W, 8>(isa, c, d));
    if W::BITS < 32 {
        return [a, b, c, d];
    }
    let ((a, c), (b, d)) = (exchange::<W, 16>(isa, a, c), exchange::<W, 16>(isa, b, d));
    [a, b, c, d]
}

/// Exchanges bits `DISTANCE` apart between words that are `DISTANCE` apart.
#[inline(always)]
fn exchange<W: Register, const DISTANCE: u32>(isa: W::Isa, a: W, b: W) -> (W, W) {
    let mask = W::splat(isa, clear_positions(DISTANCE.trailing_zeros()));
    (mask.select(a, b.shift_left::<DISTANCE>()), mask.select(a.shift_right::<DISTANCE>(), b))
}
