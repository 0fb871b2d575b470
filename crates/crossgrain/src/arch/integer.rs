//! Integers of 32 and 64 bits in lanes, with a common trait.
//!
//! A word holds an unsigned 32-bit integer in each lane. [`U64`] holds the low and the high halves of 64-bit
//! integers in two words. [`Integer`] abstracts over both, so that one function emulates `f32` and `f64`.
//!
//! Sums and products are modulo 2³² or 2⁶⁴. Every operation takes the same time for all values.

use std::ops::{Add, BitAnd, BitXor, Mul, Not, Sub};

use super::Lanes;

/// An unsigned 64-bit integer in each lane of two words.
///
/// ```
/// use crossgrain::engine::arch::U64;
///
/// // An integer is a word of one lane.
/// let x = U64 { low: u32::MAX, high: 1 };
/// let y = x + U64 { low: 2, high: 0 };
/// assert_eq!([y.low, y.high], [1, 2]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct U64<W> {
    /// The lower 32 bits.
    pub low: W,
    /// The upper 32 bits.
    pub high: W,
}

impl<W: Lanes> U64<W> {
    /// The integer with these words, the low one first.
    #[inline(always)]
    pub fn new([low, high]: [W; 2]) -> Self {
        Self { low, high }
    }

    /// The words, the low one first.
    #[inline(always)]
    pub fn words(self) -> [W; 2] {
        [self.low, self.high]
    }

    /// `value` in every lane, as with [`Lanes::filled`].
    #[inline(always)]
    pub fn filled(like: W, value: u64) -> Self {
        Self { low: like.filled(value as u32), high: like.filled((value >> 32) as u32) }
    }

    /// `value` in every lane, as with [`Lanes::uniform`].
    #[inline(always)]
    pub fn uniform(like: W, value: u64) -> Self {
        Self { low: like.uniform(value as u32), high: like.uniform((value >> 32) as u32) }
    }

    /// The 32-bit integers of a word, zero-extended.
    #[inline(always)]
    pub fn from_u32(low: W) -> Self {
        Self { low, high: low.zero() }
    }

    /// The 64-bit products of 32-bit integers.
    #[inline(always)]
    pub fn product(a: W, b: W) -> Self {
        Self { low: a.multiply_lanes(b), high: a.multiply_lanes_high(b) }
    }

    /// Shifted towards the high end by `COUNT` bits, 0 to 63.
    #[inline(always)]
    #[must_use]
    pub fn shift_left<const COUNT: u32>(self) -> Self {
        self.shifted_left(COUNT)
    }

    /// Shifted towards the low end by `COUNT` bits, 0 to 63.
    #[inline(always)]
    #[must_use]
    pub fn shift_right<const COUNT: u32>(self) -> Self {
        self.shifted_right(COUNT)
    }

    /// Rotated towards the high end by `COUNT` bits, 1 to 63.
    #[inline(always)]
    #[must_use]
    pub fn rotate_left<const COUNT: u32>(self) -> Self {
        self.shifted_left(COUNT) ^ self.shifted_right(64 - COUNT)
    }

    /// A mask: ones in each lane in which `self` is less than `other`, else zeros.
    #[inline(always)]
    pub fn less(self, other: Self) -> W {
        Integer::less(self, other)
    }

    /// A mask: ones in each lane in which the two are equal, else zeros.
    #[inline(always)]
    pub fn equal(self, other: Self) -> W {
        Integer::equal(self, other)
    }

    /// The integer of `one` in lanes in which the mask is ones, else that of `zero`.
    #[inline(always)]
    pub fn select(mask: W, one: Self, zero: Self) -> Self {
        Self { low: mask.select(one.low, zero.low), high: mask.select(one.high, zero.high) }
    }

    /// The lesser integer of each lane.
    #[inline(always)]
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self::select(self.less(other), self, other)
    }

    /// The greater integer of each lane.
    #[inline(always)]
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self::select(self.less(other), other, self)
    }
}

impl<W: Lanes> BitXor for U64<W> {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self { low: self.low ^ other.low, high: self.high ^ other.high }
    }
}

impl<W: Lanes> BitAnd for U64<W> {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self { low: self.low & other.low, high: self.high & other.high }
    }
}

impl<W: Lanes> Not for U64<W> {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self { low: !self.low, high: !self.high }
    }
}

impl<W: Lanes> Add for U64<W> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let low = self.low.add_lanes(other.low);
        // The carry out of the low word's top bit.
        let carry = W::ternary::<0b1101_0100>(self.low, other.low, low).shift_lanes_right::<31>();
        Self { low, high: self.high.add_lanes(other.high).add_lanes(carry) }
    }
}

impl<W: Lanes> Sub for U64<W> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        !(!self + other)
    }
}

impl<W: Lanes> Mul for U64<W> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let Self { low, high } = Self::product(self.low, other.low);
        let across = self.low.multiply_lanes(other.high).add_lanes(self.high.multiply_lanes(other.low));
        Self { low, high: high.add_lanes(across) }
    }
}

/// The operations by which [`computed_by_integers`](super::computed_by_integers) emulates floating-point
/// numbers.
pub trait Integer<W: Lanes>:
    Copy + BitXor<Output = Self> + BitAnd<Output = Self> + Not<Output = Self>
{
    /// Bits in an integer: 32 or 64.
    const BITS: u32;

    /// `value` in every lane.
    fn constant(like: W, value: u64) -> Self;

    /// Integers with `word` as their lowest 32 bits and zeros above.
    fn from_low(word: W) -> Self;

    /// Integers with `word` as their highest 32 bits and zeros below.
    fn from_top(word: W) -> Self;

    /// The highest 32 bits.
    fn top(self) -> W;

    /// The sum, modulo 2^`BITS`.
    fn plus(self, other: Self) -> Self;

    /// The lower and the upper half of the product, each of `BITS` bits.
    fn whole_product(self, other: Self) -> [Self; 2];

    /// Shifted towards the high end by `count` bits, less than `BITS`.
    fn shifted_left(self, count: u32) -> Self;

    /// Shifted towards the low end by `count` bits, less than `BITS`.
    fn shifted_right(self, count: u32) -> Self;

    /// Shifted towards the high end by `count` modulo `BITS`, lane by lane.
    fn shift_left_by(self, count: W) -> Self;

    /// Shifted towards the low end by `count` modulo `BITS`, lane by lane.
    fn shift_right_by(self, count: W) -> Self;

    /// The number of leading zeros in each lane.
    fn zeros(self) -> W;

    /// A mask: ones in lanes in which `self` is less, else zeros.
    fn less(self, other: Self) -> W;

    /// A mask: ones in lanes in which the two are equal, else zeros.
    fn equal(self, other: Self) -> W;

    /// Selects by a mask, as [`Word::select`](super::Word::select).
    fn chosen(mask: W, one: Self, zero: Self) -> Self;
}

impl<W: Lanes> Integer<W> for W {
    const BITS: u32 = 32;

    #[inline(always)]
    fn constant(like: W, value: u64) -> Self {
        like.filled(value as u32)
    }

    #[inline(always)]
    fn from_low(word: W) -> Self {
        word
    }

    #[inline(always)]
    fn from_top(word: W) -> Self {
        word
    }

    #[inline(always)]
    fn top(self) -> W {
        self
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.add_lanes(other)
    }

    #[inline(always)]
    fn whole_product(self, other: Self) -> [Self; 2] {
        [self.multiply_lanes(other), self.multiply_lanes_high(other)]
    }

    #[inline(always)]
    fn shifted_left(self, count: u32) -> Self {
        self.shift_lanes_up(count)
    }

    #[inline(always)]
    fn shifted_right(self, count: u32) -> Self {
        self.shift_lanes_down(count)
    }

    #[inline(always)]
    fn shift_left_by(self, count: W) -> Self {
        self.shift_lanes_left_by(count)
    }

    #[inline(always)]
    fn shift_right_by(self, count: W) -> Self {
        self.shift_lanes_right_by(count)
    }

    #[inline(always)]
    fn zeros(self) -> W {
        self.leading_zeros_of_lanes()
    }

    #[inline(always)]
    fn less(self, other: Self) -> W {
        self.less_lanes(other)
    }

    #[inline(always)]
    fn equal(self, other: Self) -> W {
        self.equal_lanes(other)
    }

    #[inline(always)]
    fn chosen(mask: W, one: Self, zero: Self) -> Self {
        mask.select(one, zero)
    }
}

impl<W: Lanes> Integer<W> for U64<W> {
    const BITS: u32 = 64;

    #[inline(always)]
    fn constant(like: W, value: u64) -> Self {
        Self::filled(like, value)
    }

    #[inline(always)]
    fn from_low(word: W) -> Self {
        Self::from_u32(word)
    }

    #[inline(always)]
    fn from_top(word: W) -> Self {
        Self { low: word.zero(), high: word }
    }

    #[inline(always)]
    fn top(self) -> W {
        self.high
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn whole_product(self, other: Self) -> [Self; 2] {
        let low = Self::product(self.low, other.low);
        let middle = Self::product(self.high, other.low) + Self::from_u32(low.high);
        let other_middle = Self::product(self.low, other.high) + Self::from_u32(middle.low);
        let high = Self::product(self.high, other.high);
        let carried = Self::from_u32(middle.high) + Self::from_u32(other_middle.high);
        [Self { low: low.low, high: other_middle.low }, high + carried]
    }

    #[inline(always)]
    fn shifted_left(self, count: u32) -> Self {
        match count {
            0 => self,
            1..32 => {
                let moved = self.low.shift_lanes_down(32 - count);
                Self { low: self.low.shift_lanes_up(count), high: self.high.shift_lanes_up(count) ^ moved }
            }
            _ => Self::from_top(self.low.shift_lanes_up(count - 32)),
        }
    }

    #[inline(always)]
    fn shifted_right(self, count: u32) -> Self {
        match count {
            0 => self,
            1..32 => {
                let moved = self.high.shift_lanes_up(32 - count);
                Self {
                    low: self.low.shift_lanes_down(count) ^ moved,
                    high: self.high.shift_lanes_down(count),
                }
            }
            _ => Self::from_low(self.high.shift_lanes_down(count - 32)),
        }
    }

    #[inline(always)]
    fn shift_left_by(self, count: W) -> Self {
        let is_far = count.bit_of_lanes::<5>();
        let low = self.low.shift_lanes_left_by(count);
        // Shifts right by 32 − count in two steps: 1, then 31 − count. A single shift by 32, for count 0, is
        // not possible.
        let moved = self.low.shift_lanes_right::<1>().shift_lanes_right_by(!count);
        let high = self.high.shift_lanes_left_by(count) ^ moved;
        Self { low: !is_far & low, high: is_far.select(low, high) }
    }

    #[inline(always)]
    fn shift_right_by(self, count: W) -> Self {
        let is_far = count.bit_of_lanes::<5>();
        let high = self.high.shift_lanes_right_by(count);
        let moved = self.high.shift_lanes_left::<1>().shift_lanes_left_by(!count);
        let low = self.low.shift_lanes_right_by(count) ^ moved;
        Self { low: is_far.select(high, low), high: !is_far & high }
    }

    #[inline(always)]
    fn zeros(self) -> W {
        let high = self.high.leading_zeros_of_lanes();
        let low = self.low.leading_zeros_of_lanes();
        // If the high word is zero, its 32 zeros count too.
        high.add_lanes(high.bit_of_lanes::<5>() & low)
    }

    #[inline(always)]
    fn less(self, other: Self) -> W {
        let difference = self - other;
        W::ternary::<0b1000_1110>(self.high, other.high, difference.high).top_of_lanes()
    }

    #[inline(always)]
    fn equal(self, other: Self) -> W {
        let different = self ^ other;
        // The OR of both halves: it is zero if the integers are equal.
        (!(!different.low & !different.high)).equal_lanes(different.low.zero())
    }

    #[inline(always)]
    fn chosen(mask: W, one: Self, zero: Self) -> Self {
        Self::select(mask, one, zero)
    }
}
