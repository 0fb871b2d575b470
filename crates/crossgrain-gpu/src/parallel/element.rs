//! Types of elements other than arrays of numbers, and combining functions for them.
//!
//! A vector has `N` 32-bit numbers per element for any type: one for `u8`, `u32`, `i32` and `f32`, two for
//! `u64` and `f64`, the low one first. An array has the numbers of its items in sequence.

use std::marker::PhantomData;

use crossgrain::engine::arch::{Lanes, U64};

use super::float::{F32, F64};
use super::kernel::{Combine, Max, Min, Sum};

/// A value that consists of `N` 32-bit numbers.
pub trait Element<const N: usize>: Copy {
    /// The numbers of this value.
    fn numbers(self) -> [u32; N];

    /// The value with these numbers.
    fn from_numbers(numbers: [u32; N]) -> Self;
}

impl<const N: usize> Element<N> for [u32; N] {
    fn numbers(self) -> Self {
        self
    }

    fn from_numbers(numbers: Self) -> Self {
        numbers
    }
}

macro_rules! elements {
    ($($of:ty, $count:literal, |$value:ident| $numbers:expr, |$words:ident| $back:expr;)*) => {
        $(impl Element<$count> for $of {
            fn numbers(self) -> [u32; $count] {
                let $value = self;
                $numbers
            }

            fn from_numbers($words: [u32; $count]) -> Self {
                $back
            }
        })*
    };
}

elements! {
    u8, 1, |value| [u32::from(value)], |words| words[0] as Self;
    u32, 1, |value| [value], |words| words[0];
    i32, 1, |value| [value.cast_unsigned()], |words| words[0].cast_signed();
    f32, 1, |value| [value.to_bits()], |words| Self::from_bits(words[0]);
    u64, 2, |value| [value as u32, (value >> 32) as u32], |words| Self::from(words[1]) << 32 | Self::from(words[0]);
    f64, 2, |value| value.to_bits().numbers(), |words| Self::from_bits(u64::from_numbers(words));
    [f64; 2], 4, |value| joined(value), |words| parted(words);
    [f64; 3], 6, |value| joined(value), |words| parted(words);
    [f64; 4], 8, |value| joined(value), |words| parted(words);
    [u64; 2], 4, |value| joined(value), |words| parted(words);
    [f32; 2], 2, |value| joined(value), |words| parted(words);
    [f32; 3], 3, |value| joined(value), |words| parted(words);
    [f32; 4], 4, |value| joined(value), |words| parted(words);
}

/// Concatenates the numbers of several values.
fn joined<T: Element<A>, const A: usize, const COUNT: usize, const N: usize>(values: [T; COUNT]) -> [u32; N] {
    let numbers = values.map(T::numbers);
    std::array::from_fn(|at| numbers.as_flattened()[at])
}

fn parted<T: Element<A>, const A: usize, const COUNT: usize, const N: usize>(
    numbers: [u32; N],
) -> [T; COUNT] {
    std::array::from_fn(|at| T::from_numbers(std::array::from_fn(|p| numbers[A * at + p])))
}

/// [`Sum`], [`Min`] or [`Max`] for elements of type `T`.
///
/// ```
/// use crossgrain_gpu::parallel::{DeviceVec, Element, Policy, Sum, reduce};
///
/// let place = Policy::Auto.open()?;
/// let numbers = DeviceVec::from_values(&place, &[u64::MAX, 3])?;
/// assert_eq!(u64::from_numbers(reduce(&Sum::of::<u64>(), &numbers)?), 2);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Of<C, T>(PhantomData<fn() -> (C, T)>);

macro_rules! of {
    ($($C:ident)*) => {
        $(impl $C {
            /// This function for values of type `T`.
            pub const fn of<T>() -> Of<Self, T> {
                Of(PhantomData)
            }
        })*
    };
}

of!(Sum Min Max);

macro_rules! combined {
    ($($C:ident of $T:ident: $N:literal, $identity:expr, $is_ordered:literal, |$a:ident, $b:ident| $Lane:ident $result:expr;)*) => {
        $(impl Combine<$N> for Of<$C, $T> {
            const IDENTITY: [u32; $N] = $identity;
            const IS_ORDERED: bool = $is_ordered;

            #[inline(always)]
            fn combine<W: Lanes>(&self, a: [W; $N], b: [W; $N]) -> [W; $N] {
                let ($a, $b) = ($Lane::new(a), $Lane::new(b));
                $result.words()
            }
        })*
    };
}

// For floating-point numbers, the identity of a sum is −0, and that of minimum and maximum is NaN.
combined! {
    Sum of u64: 2, [0, 0], false, |a, b| U64 (a + b);
    Min of u64: 2, [u32::MAX, u32::MAX], false, |a, b| U64 a.min(b);
    Max of u64: 2, [0, 0], false, |a, b| U64 a.max(b);
    Sum of f32: 1, [1 << 31], true, |a, b| F32 (a + b);
    Min of f32: 1, [0x7fc0_0000], false, |a, b| F32 a.min(b);
    Max of f32: 1, [0x7fc0_0000], false, |a, b| F32 a.max(b);
    Sum of f64: 2, [0, 1 << 31], true, |a, b| F64 (a + b);
    Min of f64: 2, [0, 0x7ff8_0000], false, |a, b| F64 a.min(b);
    Max of f64: 2, [0, 0x7ff8_0000], false, |a, b| F64 a.max(b);
}
