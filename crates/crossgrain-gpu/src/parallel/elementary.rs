//! Exponential, logarithm, sine and cosine of [`F64`], with one source for all places.
//!
//! Arguments are reduced to a short interval around a point with a known value, and a polynomial covers the
//! interval. The code uses only sums, products and one quotient, so every place gives the same bits.
//!
//! Sources: power series, up to terms below a quarter of a unit in the last place. Natural logarithms use
//! the artanh series, and sum its parts as fdlibm does (Sun Microsystems, 1993).
//!
//! Accuracy, for the 130,000 arguments of `tests/typed`: exponentials and logarithms are within one unit in
//! the last place of Rust's functions, sines and cosines within 5·10⁻¹⁶.

use crossgrain::engine::arch::Lanes;

use super::float::{F64, Float};

/// The logarithm of 2 in two parts. The last 21 bits of the first part are zeros, so its product with an
/// exponent is exact.
const LN_2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fee0_0000), 1.908_214_929_270_587_7e-10];

/// 1.5 · 2⁵². Adding and subtracting it rounds to the nearest integer. That integer is also the low word of
/// the sum.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// A polynomial with these coefficients, in order of increasing powers.
#[inline(always)]
fn polynomial<W: Lanes, const COUNT: usize>(x: F64<W>, coefficients: [f64; COUNT]) -> F64<W> {
    let [like, _] = x.raw();
    let mut sum = F64::filled(like, coefficients[COUNT - 1]);
    for at in 1..COUNT {
        sum = sum * x + F64::filled(like, coefficients[COUNT - 1 - at]);
    }
    sum
}

/// 1/n! for every `step`th n from `first`, with alternating signs if `alternate`.
const fn factorials<const COUNT: usize>(first: u32, step: u32, alternate: bool) -> [f64; COUNT] {
    let (mut terms, mut at) = ([0.0; COUNT], 0);
    while at < COUNT {
        let (mut product, mut factor) = (1.0, 2);
        while factor <= first + step * at as u32 {
            product *= factor as f64;
            factor += 1;
        }
        terms[at] = if alternate && at % 2 == 1 { -1.0 / product } else { 1.0 / product };
        at += 1;
    }
    terms
}

impl<W: Lanes> Float<W, 2> {
    /// The exponential function.
    #[inline(always)]
    #[must_use]
    pub fn exp(self) -> Self {
        let [like, _] = self.raw();
        let constant = F64::filled;
        // Outside this range the result is 0 or infinite.
        let x = self.max(constant(like, -746.0)).min(constant(like, 710.0));
        let shifted = x * constant(like, std::f64::consts::LOG2_E) + constant(like, SHIFT);
        let twos = shifted - constant(like, SHIFT);
        let rest = (x - twos * constant(like, LN_2[0])) - twos * constant(like, LN_2[1]);
        let power = polynomial(rest, const { factorials::<14>(0, 1, false) });
        // The exponent is split into two halves, so that each factor is a normal number.
        let [exponent, _] = shifted.raw();
        let half = exponent
            .add_lanes(like.filled(2048))
            .shift_lanes_right::<1>()
            .add_lanes(like.filled(0_u32.wrapping_sub(1024)));
        let other = exponent.add_lanes(!half).add_lanes(like.filled(1));
        let result = power * power_of_two(half) * power_of_two(other);
        Self::select(self.equal(self), result, self)
    }

    /// The natural logarithm. It is minus infinity for 0, and NaN for negative numbers.
    #[inline(always)]
    #[must_use]
    pub fn ln(self) -> Self {
        let [like, _] = self.raw();
        let constant = F64::filled;
        let is_small = self.less(constant(like, f64::MIN_POSITIVE));
        let scaled = Self::select(is_small, self * constant(like, (1_u64 << 54) as f64), self);
        // Write it as 2ⁿ times a number between √½ and √2.
        let [low, high] = scaled.raw();
        let root = like.filled(0x3fe6_a09e);
        let above = high.add_lanes(like.filled(0x3ff0_0000 - 0x3fe6_a09e));
        let bias = Self::select(is_small, constant(like, 1023.0 + 54.0), constant(like, 1023.0));
        let twos = F64::from_u32(above.shift_lanes_right::<20>()) - bias;
        let f = F64::new([low, (above & like.filled(0x000f_ffff)).add_lanes(root)]) - constant(like, 1.0);
        let s = f / (constant(like, 2.0) + f);
        let square = s * s;
        let series = square * polynomial(square, const { odd_parts::<10>() });
        let half = f * f * constant(like, 0.5);
        let parts = s * (half + series) + twos * constant(like, LN_2[1]);
        let result = twos * constant(like, LN_2[0]) - ((half - parts) - f);
        let infinite = constant(like, f64::INFINITY);
        let result = Self::select(self.less(infinite), result, self);
        let result = Self::select(self.less(constant(like, 0.0)), constant(like, f64::NAN), result);
        Self::select(self.equal(constant(like, 0.0)), -infinite, result)
    }

    /// The cosine and sine of 2π times this number. Whole turns are subtracted exactly.
    #[inline(always)]
    pub fn turn(self) -> [Self; 2] {
        let [like, _] = self.raw();
        let constant = F64::filled;
        let within = self - self.round_ties_even();
        let shifted = within * constant(like, 4.0) + constant(like, SHIFT);
        let quarters = shifted - constant(like, SHIFT);
        let angle = (within - quarters * constant(like, 0.25)) * constant(like, std::f64::consts::TAU);
        let square = angle * angle;
        let cos = polynomial(square, const { factorials::<9>(0, 2, true) });
        let sin = angle * polynomial(square, const { factorials::<9>(1, 2, true) });
        // One quarter turn later, the cosine is minus the sine, and the sine is the cosine.
        let [quarter, _] = shifted.raw();
        let is_odd = quarter.bit_of_lanes::<0>();
        let [x, y] = [Self::select(is_odd, sin, cos), Self::select(is_odd, cos, sin)];
        let top = like.filled(1 << 31);
        let is_back = quarter.bit_of_lanes::<1>();
        [x.with_sign_changed((is_odd ^ is_back) & top), y.with_sign_changed(is_back & top)]
    }
}

/// 2/3, 2/5, 2/7 and so on.
const fn odd_parts<const COUNT: usize>() -> [f64; COUNT] {
    let (mut parts, mut at) = ([0.0; COUNT], 0);
    while at < COUNT {
        parts[at] = 2.0 / (2 * at + 3) as f64;
        at += 1;
    }
    parts
}

/// 2 to the power of the lanes as signed integers, which must be exponents of normal numbers.
#[inline(always)]
fn power_of_two<W: Lanes>(exponent: W) -> F64<W> {
    F64::new([exponent.zero(), exponent.add_lanes(exponent.filled(1023)).shift_lanes_left::<20>()])
}
