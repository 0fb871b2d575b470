//! Arithmetic on 32-bit lanes: integers, `f32`, and `f64` in two words.
//!
//! A word implements the required methods. Provided methods are written in terms of the required ones, so
//! every word has them, circuits included; a register overrides those for which it has an instruction. A
//! 64-bit number takes two words: the low halves of all lanes and the high halves.
//!
//! Floating-point results follow IEEE 754-2019, rounded to nearest, ties to even. Every word gives the same
//! bits, except for NaNs: CPUs differ in which bits of a NaN they preserve.

use super::{Word, soft_float};

/// A floating-point operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arithmetic {
    /// The sum.
    Add,
    /// The product.
    Multiply,
    /// The first number divided by the second.
    Divide,
    /// The square root of the first number.
    Root,
    /// A mask: ones if the first number is less, else zeros.
    Less,
    /// A mask: ones if the numbers are equal, else zeros.
    Equal,
}

/// Operations on 32-bit lanes, for registers and circuits.
pub trait Lanes: Word {
    /// The sum of each lane with the other's, modulo 2³².
    fn add_lanes(self, other: Self) -> Self;

    /// Each lane shifted towards its high end by `count` bits, 0 to 31.
    fn shift_lanes_up(self, count: u32) -> Self;

    /// Each lane shifted towards its low end by `count` bits, 0 to 31.
    fn shift_lanes_down(self, count: u32) -> Self;

    /// Each lane shifted towards its high end by `COUNT` bits, 0 to 31.
    #[inline(always)]
    fn shift_lanes_left<const COUNT: u32>(self) -> Self {
        self.shift_lanes_up(COUNT)
    }

    /// The product of each lane with the other's, modulo 2³².
    fn multiply_lanes(self, other: Self) -> Self;

    /// Each lane shifted towards its low end by `COUNT` bits, 0 to 31.
    #[inline(always)]
    fn shift_lanes_right<const COUNT: u32>(self) -> Self {
        self.shift_lanes_down(COUNT)
    }

    /// Each lane rotated towards its high end by `COUNT` bits, 1 to 31.
    fn rotate_lanes_left<const COUNT: u32>(self) -> Self;

    /// `lane` in every lane. `self` only proves that the instructions exist.
    fn filled(self, lane: u32) -> Self;

    /// `lane` in every lane, for a value that is not part of the circuit, such as a key. A device program
    /// receives it as an argument at run time. The program's text, which is cached, does not contain it.
    #[inline(always)]
    fn uniform(self, lane: u32) -> Self {
        self.filled(lane)
    }

    /// A mask for [`Word::select`]: ones in each lane that equals the other's, else zeros.
    #[inline(always)]
    fn equal_lanes(self, other: Self) -> Self {
        let different = self ^ other;
        // Zero is the only value without a top bit whose predecessor has it.
        (!different & different.add_lanes(self.filled(u32::MAX))).top_of_lanes()
    }

    /// A mask for [`Word::select`]: ones in each lane that is less than the other's, else zeros. Lanes are
    /// unsigned.
    #[inline(always)]
    fn less_lanes(self, other: Self) -> Self {
        let difference = !(!self).add_lanes(other);
        // The borrow out of the top bit.
        Self::ternary::<0b1000_1110>(self, other, difference).top_of_lanes()
    }

    /// The lesser integer of each lane, unsigned.
    #[inline(always)]
    fn min_lanes(self, other: Self) -> Self {
        self.less_lanes(other).select(self, other)
    }

    /// The greater integer of each lane, unsigned.
    #[inline(always)]
    fn max_lanes(self, other: Self) -> Self {
        self.less_lanes(other).select(other, self)
    }

    /// The top bit of each lane, copied to all bits of the lane.
    #[inline(always)]
    fn top_of_lanes(self) -> Self {
        !self.shift_lanes_right::<31>().add_lanes(self.filled(u32::MAX))
    }

    /// The upper 32 bits of the product of each lane with the other's.
    #[inline(always)]
    fn multiply_lanes_high(self, other: Self) -> Self {
        multiply_high_by_halves(self, other)
    }

    /// Each lane shifted towards its high end by the low five bits of the other's.
    #[inline(always)]
    fn shift_lanes_left_by(self, counts: Self) -> Self {
        let x = counts.bit_of_lanes::<0>().select(self.shift_lanes_left::<1>(), self);
        let x = counts.bit_of_lanes::<1>().select(x.shift_lanes_left::<2>(), x);
        let x = counts.bit_of_lanes::<2>().select(x.shift_lanes_left::<4>(), x);
        let x = counts.bit_of_lanes::<3>().select(x.shift_lanes_left::<8>(), x);
        counts.bit_of_lanes::<4>().select(x.shift_lanes_left::<16>(), x)
    }

    /// Each lane shifted towards its low end by the low five bits of the other's.
    #[inline(always)]
    fn shift_lanes_right_by(self, counts: Self) -> Self {
        let x = counts.bit_of_lanes::<0>().select(self.shift_lanes_right::<1>(), self);
        let x = counts.bit_of_lanes::<1>().select(x.shift_lanes_right::<2>(), x);
        let x = counts.bit_of_lanes::<2>().select(x.shift_lanes_right::<4>(), x);
        let x = counts.bit_of_lanes::<3>().select(x.shift_lanes_right::<8>(), x);
        counts.bit_of_lanes::<4>().select(x.shift_lanes_right::<16>(), x)
    }

    /// The number of leading zeros in each lane: 32 for zero.
    #[inline(always)]
    fn leading_zeros_of_lanes(self) -> Self {
        let (x, count) = without_zeros::<_, 16, 16>(self, self.zero());
        let (x, count) = without_zeros::<_, 24, 8>(x, count);
        let (x, count) = without_zeros::<_, 28, 4>(x, count);
        let (x, count) = without_zeros::<_, 30, 2>(x, count);
        let (x, count) = without_zeros::<_, 31, 1>(x, count);
        count.add_lanes((!x).shift_lanes_right::<31>())
    }

    /// Entry `x modulo 2ⁿ` of a table of 2ⁿ entries, for each lane x. The index must be public: registers
    /// read the entry from memory, so the time depends on it.
    ///
    /// # Panics
    /// If the number of entries is not a power of two.
    #[inline(always)]
    fn look_up_public(self, table: &[u32]) -> Self {
        assert!(table.len().is_power_of_two(), "a table has 1, 2, 4, 8 … entries");
        let mut lanes = self.zero();
        for (at, entry) in (0..).zip(table) {
            let index = self & self.filled(table.len() as u32 - 1);
            lanes = index.equal_lanes(self.filled(at)).select(self.filled(*entry), lanes);
        }
        lanes
    }

    /// Bit `BIT` of each lane, copied to all bits of the lane.
    #[inline(always)]
    fn bit_of_lanes<const BIT: u32>(self) -> Self {
        let bit = self.shift_lanes_right::<BIT>() & self.filled(1);
        !bit.add_lanes(self.filled(u32::MAX))
    }

    /// The result of an operation on lanes as `f32`. A square root ignores `b`.
    #[inline(always)]
    fn single(operation: Arithmetic, a: Self, b: Self) -> Self {
        soft_float::computed(operation, a, b)
    }

    /// The result of an operation on lanes of two words, the low one first, as `f64`. A comparison fills both
    /// words with the mask.
    #[inline(always)]
    fn double(operation: Arithmetic, a: [Self; 2], b: [Self; 2]) -> [Self; 2] {
        let [a, b] = [a, b].map(|[low, high]| super::U64 { low, high });
        let super::U64 { low, high } = soft_float::computed(operation, a, b);
        [low, high]
    }
}

/// One step of counting zeros. Where the upper `COUNT` bits are zeros, it shifts them out and adds `COUNT`.
/// `REST` is 32 − `COUNT`.
#[inline(always)]
fn without_zeros<W: Lanes, const REST: u32, const COUNT: u32>(x: W, count: W) -> (W, W) {
    let is_zero = x.shift_lanes_right::<REST>().equal_lanes(x.zero());
    (is_zero.select(x.shift_lanes_left::<COUNT>(), x), count.add_lanes(is_zero & x.filled(COUNT)))
}

/// [`Lanes::multiply_lanes_high`] from four products of 16-bit halves.
#[inline(always)]
pub fn multiply_high_by_halves<W: Lanes>(x: W, y: W) -> W {
    let mask = x.filled(0xffff);
    let (a, high_a) = (x & mask, x.shift_lanes_right::<16>());
    let (b, high_b) = (y & mask, y.shift_lanes_right::<16>());
    let middle = high_a.multiply_lanes(b).add_lanes(a.multiply_lanes(b).shift_lanes_right::<16>());
    let low = a.multiply_lanes(high_b).add_lanes(middle & mask).shift_lanes_right::<16>();
    high_a.multiply_lanes(high_b).add_lanes(middle.shift_lanes_right::<16>()).add_lanes(low)
}
