//! Lanes of 32 bits: integers, and what they are as numbers with a point.
//!
//! All that is not said to be written out by a word is a text over the rest, so that every word has it. Numbers of 64 bits are
//! two words, the low halves of all lanes and the high ones.
//! Source: IEEE 754-2019 for numbers with a point, rounded to the nearest and of two to the even one. Holds: every word gives the
//! same bits, but for those of a NaN, of which some CPUs keep more than others.

use super::{Word, point};

/// What is computed of numbers with a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arithmetic {
    /// Their sum.
    Add,
    /// Their product.
    Multiply,
    /// The first through the second.
    Divide,
    /// The square root of the first.
    Root,
    /// Whether the first is less: ones or zeros.
    Less,
    /// Whether they are equal: ones or zeros.
    Equal,
}

/// What is computed on lanes of 32 bits, in registers and in circuits alike.
pub trait Lanes: Word {
    /// Sums of lanes, modulo 2³².
    fn add_lanes(self, other: Self) -> Self;

    /// Every lane shifted towards its high end by so many bits, 0 to 31.
    fn shift_lanes_up(self, count: u32) -> Self;

    /// Every lane shifted towards its low end by so many bits, 0 to 31.
    fn shift_lanes_down(self, count: u32) -> Self;

    /// Every lane shifted towards its high end by `COUNT` bits.
    #[inline(always)]
    fn shift_lanes_left<const COUNT: u32>(self) -> Self {
        self.shift_lanes_up(COUNT)
    }

    /// Products of lanes, modulo 2³².
    fn multiply_lanes(self, other: Self) -> Self;

    /// Every lane shifted towards its low end by `COUNT` bits.
    #[inline(always)]
    fn shift_lanes_right<const COUNT: u32>(self) -> Self {
        self.shift_lanes_down(COUNT)
    }

    /// Every lane rotated towards its high end by `COUNT` bits, 1 to 31.
    fn rotate_lanes_left<const COUNT: u32>(self) -> Self;

    /// This value in every lane; of `self` nothing is taken but that there are such words.
    fn filled(self, lane: u32) -> Self;

    /// The same for a value that is no part of the circuit, such as one of a key: a program for a device is given it when it
    /// runs, and its text, which is kept, says nothing of it.
    #[inline(always)]
    fn uniform(self, lane: u32) -> Self {
        self.filled(lane)
    }

    /// Ones in every lane that is equal to the other's, else zeros: a mask for [`Word::select`].
    #[inline(always)]
    fn equal_lanes(self, other: Self) -> Self {
        let different = self ^ other;
        // Only zero has no top bit set, while the number before it has.
        (!different & different.add_lanes(self.filled(u32::MAX))).top_of_lanes()
    }

    /// Ones in every lane that is less than the other's, as numbers without a sign, else zeros: a mask for [`Word::select`].
    #[inline(always)]
    fn less_lanes(self, other: Self) -> Self {
        let difference = !(!self).add_lanes(other);
        // What the top bits borrow.
        Self::ternary::<0b1000_1110>(self, other, difference).top_of_lanes()
    }

    /// The lesser number of each lane.
    #[inline(always)]
    fn min_lanes(self, other: Self) -> Self {
        self.less_lanes(other).select(self, other)
    }

    /// The greater number of each lane.
    #[inline(always)]
    fn max_lanes(self, other: Self) -> Self {
        self.less_lanes(other).select(other, self)
    }

    /// The top bit of every lane in all of its bits.
    #[inline(always)]
    fn top_of_lanes(self) -> Self {
        !self.shift_lanes_right::<31>().add_lanes(self.filled(u32::MAX))
    }

    /// The upper 32 bits of products of lanes.
    #[inline(always)]
    fn multiply_lanes_high(self, other: Self) -> Self {
        multiply_high_by_halves(self, other)
    }

    /// Every lane shifted towards its high end by what the low five bits of the other's say.
    #[inline(always)]
    fn shift_lanes_left_by(self, counts: Self) -> Self {
        let x = counts.bit_of_lanes::<0>().select(self.shift_lanes_left::<1>(), self);
        let x = counts.bit_of_lanes::<1>().select(x.shift_lanes_left::<2>(), x);
        let x = counts.bit_of_lanes::<2>().select(x.shift_lanes_left::<4>(), x);
        let x = counts.bit_of_lanes::<3>().select(x.shift_lanes_left::<8>(), x);
        counts.bit_of_lanes::<4>().select(x.shift_lanes_left::<16>(), x)
    }

    /// Every lane shifted towards its low end by what the low five bits of the other's say.
    #[inline(always)]
    fn shift_lanes_right_by(self, counts: Self) -> Self {
        let x = counts.bit_of_lanes::<0>().select(self.shift_lanes_right::<1>(), self);
        let x = counts.bit_of_lanes::<1>().select(x.shift_lanes_right::<2>(), x);
        let x = counts.bit_of_lanes::<2>().select(x.shift_lanes_right::<4>(), x);
        let x = counts.bit_of_lanes::<3>().select(x.shift_lanes_right::<8>(), x);
        counts.bit_of_lanes::<4>().select(x.shift_lanes_right::<16>(), x)
    }

    /// In every lane how many zeros are above its highest one: 32 where there is none.
    #[inline(always)]
    fn leading_zeros_of_lanes(self) -> Self {
        let (x, count) = without_zeros::<_, 16, 16>(self, self.zero());
        let (x, count) = without_zeros::<_, 24, 8>(x, count);
        let (x, count) = without_zeros::<_, 28, 4>(x, count);
        let (x, count) = without_zeros::<_, 30, 2>(x, count);
        let (x, count) = without_zeros::<_, 31, 1>(x, count);
        count.add_lanes((!x).shift_lanes_right::<31>())
    }

    /// The entry of a table in every lane, by as many of the lowest bits as a table of 2ⁿ entries needs. The index is public: what is read
    /// from memory, and so the time, depends on it.
    ///
    /// # Panics
    /// If the table has no 2ⁿ entries.
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

    /// A bit of every lane in all of its bits.
    #[inline(always)]
    fn bit_of_lanes<const BIT: u32>(self) -> Self {
        let bit = self.shift_lanes_right::<BIT>() & self.filled(1);
        !bit.add_lanes(self.filled(u32::MAX))
    }

    /// Lanes as `f32`: what is computed of two, of which a root takes the first.
    #[inline(always)]
    fn single(operation: Arithmetic, a: Self, b: Self) -> Self {
        point::computed(operation, a, b)
    }

    /// Lanes of two words, the low one first, as `f64`: what is computed of two. Of a comparison both words are the mask.
    #[inline(always)]
    fn double(operation: Arithmetic, a: [Self; 2], b: [Self; 2]) -> [Self; 2] {
        let [a, b] = [a, b].map(|[low, high]| super::U64 { low, high });
        let super::U64 { low, high } = point::computed(operation, a, b);
        [low, high]
    }
}

/// Lanes whose upper `COUNT` bits, which a shift by `REST` leaves, are shifted out and counted where they are zeros.
#[inline(always)]
fn without_zeros<W: Lanes, const REST: u32, const COUNT: u32>(x: W, count: W) -> (W, W) {
    let is_zero = x.shift_lanes_right::<REST>().equal_lanes(x.zero());
    (is_zero.select(x.shift_lanes_left::<COUNT>(), x), count.add_lanes(is_zero & x.filled(COUNT)))
}

/// The upper 32 bits of products of lanes, of products that have no more than 32.
#[inline(always)]
pub fn multiply_high_by_halves<W: Lanes>(x: W, y: W) -> W {
    let mask = x.filled(0xffff);
    let (a, high_a) = (x & mask, x.shift_lanes_right::<16>());
    let (b, high_b) = (y & mask, y.shift_lanes_right::<16>());
    let middle = high_a.multiply_lanes(b).add_lanes(a.multiply_lanes(b).shift_lanes_right::<16>());
    let low = a.multiply_lanes(high_b).add_lanes(middle & mask).shift_lanes_right::<16>();
    high_a.multiply_lanes(high_b).add_lanes(middle.shift_lanes_right::<16>()).add_lanes(low)
}
