//! Wide products, and arithmetic on `f64`. WebAssembly rounds to nearest and keeps subnormal numbers.

use std::arch::wasm32::{
    f64x2_add, f64x2_div, f64x2_eq, f64x2_lt, f64x2_mul, f64x2_sqrt, i32x4_shuffle, u64x2_extmul_high_u32x4,
    u64x2_extmul_low_u32x4, v128,
};

use crate::arch::Arithmetic;

/// The upper 32 bits of products of 32-bit lanes.
#[inline(always)]
pub(super) fn multiply_high(a: v128, b: v128) -> v128 {
    i32x4_shuffle::<1, 3, 5, 7>(u64x2_extmul_low_u32x4(a, b), u64x2_extmul_high_u32x4(a, b))
}

/// An `f64` operation on 64-bit lanes.
#[inline(always)]
pub(super) fn double(operation: Arithmetic, a: v128, b: v128) -> v128 {
    match operation {
        Arithmetic::Add => f64x2_add(a, b),
        Arithmetic::Multiply => f64x2_mul(a, b),
        Arithmetic::Divide => f64x2_div(a, b),
        Arithmetic::Root => f64x2_sqrt(a),
        Arithmetic::Less => f64x2_lt(a, b),
        Arithmetic::Equal => f64x2_eq(a, b),
    }
}
