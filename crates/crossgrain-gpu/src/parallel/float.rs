//! Floating-point numbers in lanes for kernels: [`F32`] in one word, [`F64`] in two.
//!
//! Each operation is rounded separately, to nearest with ties to even, as in Rust. Products and sums are
//! not fused, and subnormal numbers are kept. CPUs and CUDA use their instructions where they have them.
//! WGSL guarantees none of this, so operations there are integer functions.
//!
//! Source: IEEE 754-2019. Conversions from integers place the integer's bits below a power of two, as
//! [`crossgrain::stream::uniform`] does.
//!
//! Every place gives the same bits. All NaNs that leave a kernel through [`Float::words`] have the same
//! bits. A CPU's time for quotients, roots and subnormal numbers depends on the operands, so they must not
//! be secret.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crossgrain::engine::arch::{Arithmetic, Lanes, U64};

/// A floating-point number in every lane of `N` words: an `f32` in one word, an `f64` in two.
#[derive(Clone, Copy, Debug)]
pub struct Float<W, const N: usize>([W; N]);

/// An `f32` in every lane of a word.
///
/// ```
/// use crossgrain_gpu::parallel::{DeviceVec, F32, Lanes, Map, Policy, transform};
///
/// struct Half;
///
/// impl Map<1, 1> for Half {
///     #[inline(always)]
///     fn map<W: Lanes>(&self, x: [W; 1]) -> [W; 1] {
///         (F32::new(x) * F32::filled(x[0], 0.5)).words()
///     }
/// }
///
/// let place = Policy::Auto.open()?;
/// let numbers = DeviceVec::from_values(&place, &[3.0_f32, -0.25])?;
/// assert_eq!(transform(&Half, &numbers)?.to_values::<f32>()?, [1.5, -0.125]);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub type F32<W> = Float<W, 1>;

/// An `f64` in every lane of two words.
///
/// ```
/// use crossgrain_gpu::parallel::{DeviceVec, F64, Lanes, Map, Policy, Sum, reduce, transform};
///
/// /// The length of a vector of two.
/// struct Length;
///
/// impl Map<4, 2> for Length {
///     #[inline(always)]
///     fn map<W: Lanes>(&self, [a, b, c, d]: [W; 4]) -> [W; 2] {
///         let (x, y) = (F64::new([a, b]), F64::new([c, d]));
///         (x * x + y * y).sqrt().words()
///     }
/// }
///
/// let place = Policy::Auto.open()?;
/// let vectors = DeviceVec::from_values(&place, &[[3_f64, 4.0], [5.0, 12.0]])?;
/// let lengths = transform(&Length, &vectors)?;
/// assert_eq!(lengths.to_values::<f64>()?, [5.0, 13.0]);
/// assert_eq!(reduce(&Sum::of::<f64>(), &lengths)?, 18_f64.numbers());
/// # use crossgrain_gpu::parallel::Element;
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub type F64<W> = Float<W, 2>;

/// The bits for either length.
const fn bits<const N: usize>(single: u32, double: u64) -> u64 {
    if N == 1 { single as u64 } else { double }
}

impl<W: Lanes, const N: usize> Float<W, N> {
    /// The number with these words, the low one first.
    #[inline(always)]
    pub fn new(words: [W; N]) -> Self {
        const { assert!(N == 1 || N == 2, "a number with a point has one word or two") };
        Self(words)
    }

    /// The words, the low one first. Every NaN becomes Rust's `NAN`.
    #[inline(always)]
    pub fn words(self) -> [W; N] {
        let nan = Self::of_bits(self.0[0], bits::<N>(f32::NAN.to_bits(), f64::NAN.to_bits()));
        Self::select(self.equal(self), self, nan).0
    }

    /// The words, unchanged.
    #[inline(always)]
    pub(super) fn raw(self) -> [W; N] {
        self.0
    }

    /// XORs `bits` into the highest word.
    #[inline(always)]
    pub(super) fn with_sign_changed(self, bits: W) -> Self {
        self.with_top(self.top() ^ bits)
    }

    /// Broadcasts these bits.
    #[inline(always)]
    fn of_bits(like: W, bits: u64) -> Self {
        let mut words = [like.filled(bits as u32); N];
        if N == 2 {
            words[N - 1] = like.filled((bits >> 32) as u32);
        }
        Self(words)
    }

    #[inline(always)]
    fn computed(operation: Arithmetic, a: Self, b: Self) -> Self {
        let mut words = a.0;
        if N == 1 {
            words[0] = W::single(operation, a.0[0], b.0[0]);
        } else {
            [words[0], words[N - 1]] = W::double(operation, [a.0[0], a.0[N - 1]], [b.0[0], b.0[N - 1]]);
        }
        Self(words)
    }

    /// The word that contains the sign.
    #[inline(always)]
    fn top(self) -> W {
        self.0[N - 1]
    }

    #[inline(always)]
    fn with_top(mut self, top: W) -> Self {
        self.0[N - 1] = top;
        self
    }

    /// The square root. It is NaN for numbers below zero.
    #[inline(always)]
    #[must_use]
    pub fn sqrt(self) -> Self {
        Self::computed(Arithmetic::Root, self, self)
    }

    /// The absolute value.
    #[inline(always)]
    #[must_use]
    pub fn abs(self) -> Self {
        self.with_top(self.top() & self.top().filled(0x7fff_ffff))
    }

    /// This number with the sign of `sign`.
    #[inline(always)]
    #[must_use]
    pub fn copysign(self, sign: Self) -> Self {
        let mask = self.top().filled(1 << 31);
        self.with_top(mask.select(sign.top(), self.top()))
    }

    /// A mask with ones in every lane where this number is less than `other`, for [`Float::select`]. A
    /// comparison with NaN gives zeros.
    #[inline(always)]
    pub fn less(self, other: Self) -> W {
        Self::computed(Arithmetic::Less, self, other).0[0]
    }

    /// A mask with ones in every lane where the numbers are equal. −0 equals 0. A comparison with NaN gives
    /// zeros.
    #[inline(always)]
    pub fn equal(self, other: Self) -> W {
        Self::computed(Arithmetic::Equal, self, other).0[0]
    }

    /// `one` in lanes where `mask` is ones, otherwise `zero`.
    #[inline(always)]
    pub fn select(mask: W, one: Self, zero: Self) -> Self {
        let mut words = zero.0;
        for (word, one) in words.iter_mut().zip(one.0) {
            *word = mask.select(one, *word);
        }
        Self(words)
    }

    /// The minimum, with −0 less than 0. If one operand is NaN, the result is the other one.
    #[inline(always)]
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        // Equal numbers differ at most in the sign of a zero.
        let both = self.with_top(!(!self.top() & !other.top()));
        let is_chosen = !(!self.less(other) & other.equal(other));
        Self::select(self.equal(other), both, Self::select(is_chosen, self, other))
    }

    /// The maximum, with 0 greater than −0. If one operand is NaN, the result is the other one.
    #[inline(always)]
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        -((-self).min(-other))
    }

    /// Rounds to the nearest integer, with ties to even.
    #[inline(always)]
    #[must_use]
    pub fn round_ties_even(self) -> Self {
        // Numbers of at least this magnitude are integers.
        let large = Self::of_bits(self.top(), bits::<N>(0x4b00_0000, 0x4330_0000_0000_0000));
        let shift = large.copysign(self);
        Self::select(self.abs().less(large), ((self + shift) - shift).copysign(self), self)
    }

    /// The largest integer that is not greater.
    #[inline(always)]
    #[must_use]
    pub fn floor(self) -> Self {
        let (near, zero) = (self.round_ties_even(), Self::of_bits(self.top(), 0));
        let one = Self::of_bits(self.top(), bits::<N>(1_f32.to_bits(), 1_f64.to_bits()));
        (near - Self::select(self.less(near), one, zero)).copysign(self)
    }
}

impl<W: Lanes> Float<W, 1> {
    /// Broadcasts a constant, as [`Lanes::filled`].
    #[inline(always)]
    pub fn filled(like: W, value: f32) -> Self {
        Self([like.filled(value.to_bits())])
    }

    /// Broadcasts a value as program state, as [`Lanes::uniform`].
    #[inline(always)]
    pub fn uniform(like: W, value: f32) -> Self {
        Self([like.uniform(value.to_bits())])
    }

    /// The nearest number to an unsigned integer.
    #[inline(always)]
    pub fn from_u32(word: W) -> Self {
        // Each half is placed in the lowest bits of the mantissa of 2³⁹ or 2²³. Only the final sum is
        // rounded.
        let high = Self([word.shift_lanes_right::<16>() ^ word.filled(0x5300_0000)]);
        let low = Self([(word & word.filled(0xffff)) ^ word.filled(0x4b00_0000)]);
        high - Self::filled(word, ((1_u64 << 39) + (1 << 23)) as f32) + low
    }

    /// A uniform number in [0, 1): the upper 24 bits of a random word, times 2⁻²⁴.
    #[inline(always)]
    pub fn unit(random: W) -> Self {
        Self::from_u32(random.shift_lanes_right::<8>()) * Self::filled(random, 1.0 / (1 << 24) as f32)
    }

    /// A sort key that orders the numbers. −0 comes before 0, and NaN comes last.
    #[inline(always)]
    pub fn key(self) -> [W; 1] {
        let [word] = self.words();
        [word ^ (word.top_of_lanes() ^ (!word.top_of_lanes() & word.filled(1 << 31)))]
    }
}

impl<W: Lanes> Float<W, 2> {
    /// Broadcasts a constant, as [`Lanes::filled`].
    #[inline(always)]
    pub fn filled(like: W, value: f64) -> Self {
        Self::of_bits(like, value.to_bits())
    }

    /// Broadcasts a value as program state, as [`Lanes::uniform`].
    #[inline(always)]
    pub fn uniform(like: W, value: f64) -> Self {
        Self(U64::uniform(like, value.to_bits()).words())
    }

    /// Converts an unsigned integer exactly.
    #[inline(always)]
    pub fn from_u32(word: W) -> Self {
        Self([word, word.filled(0x4330_0000)]) - Self::filled(word, (1_u64 << 52) as f64)
    }

    /// Converts a signed integer exactly.
    #[inline(always)]
    pub fn from_i32(word: W) -> Self {
        let above = word ^ word.filled(1 << 31);
        Self([above, word.filled(0x4330_0000)]) - Self::filled(word, ((1_u64 << 52) + (1 << 31)) as f64)
    }

    /// Converts an `f32` exactly.
    #[inline(always)]
    pub fn from_f32(single: F32<W>) -> Self {
        let [word] = single.0;
        let magnitude = word & word.filled(0x7fff_ffff);
        let (low, high) = (magnitude.shift_lanes_left::<29>(), magnitude.shift_lanes_right::<3>());
        // The exponent biases differ by 896. Infinity and NaN have all exponent bits set.
        let scaled = Self([low, high]) * Self::filled(word, f64::from_bits((1023 + 896) << 52));
        let others = Self([low, high ^ word.filled(0x7000_0000)]);
        let is_finite = magnitude.less_lanes(word.filled(0x7f80_0000));
        Self::select(is_finite, scaled, others).with_sign_changed(word & word.filled(1 << 31))
    }

    /// The nearest number to an unsigned integer.
    #[inline(always)]
    pub fn from_u64(integer: U64<W>) -> Self {
        let high = Self([integer.high, integer.high.filled(0x4530_0000)]);
        let low = Self([integer.low, integer.low.filled(0x4330_0000)]);
        high - Self::filled(integer.low, ((1_u128 << 84) + (1_u128 << 52)) as f64) + low
    }

    /// A uniform number in [0, 1) from a random integer, as in [`crossgrain::stream::uniform`].
    #[inline(always)]
    pub fn unit(random: U64<W>) -> Self {
        Self::from_u64(random.shift_right::<11>()) * Self::filled(random.low, 1.0 / (1_u64 << 53) as f64)
    }

    /// Truncates to an integer, as Rust's `as u32`: negative numbers and NaN give 0, and too large numbers
    /// give the maximum.
    #[inline(always)]
    pub fn to_u32(self) -> W {
        let (like, zero) = (self.top(), Self::of_bits(self.top(), 0));
        let within = self.max(zero).min(Self::filled(like, f64::from(u32::MAX)));
        (within.floor() + Self::filled(like, (1_u64 << 52) as f64)).0[0]
    }

    /// A sort key that orders the numbers. −0 comes before 0, and NaN comes last.
    #[inline(always)]
    pub fn key(self) -> [W; 2] {
        let [low, high] = self.words();
        let sign = high.top_of_lanes();
        [low ^ sign, high ^ (sign ^ (!sign & high.filled(1 << 31)))]
    }
}

impl<W: Lanes, const N: usize> Add for Float<W, N> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::computed(Arithmetic::Add, self, other)
    }
}

impl<W: Lanes, const N: usize> Sub for Float<W, N> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<W: Lanes, const N: usize> Mul for Float<W, N> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self::computed(Arithmetic::Multiply, self, other)
    }
}

impl<W: Lanes, const N: usize> Div for Float<W, N> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self::computed(Arithmetic::Divide, self, other)
    }
}

impl<W: Lanes, const N: usize> Neg for Float<W, N> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self.with_top(self.top() ^ self.top().filled(1 << 31))
    }
}
