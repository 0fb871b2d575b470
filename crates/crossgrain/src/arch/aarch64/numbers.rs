//! Wide products and floating-point arithmetic.
//!
//! The CPU's rounding mode is to nearest and it does not flush subnormal numbers: Rust requires both.

use std::arch::aarch64::{
    uint8x16_t, vaddq_f32, vaddq_f64, vceqq_f32, vceqq_f64, vcltq_f32, vcltq_f64, vdivq_f32, vdivq_f64,
    vget_low_u32, vmull_high_u32, vmull_u32, vmulq_f32, vmulq_f64, vreinterpretq_f32_u8,
    vreinterpretq_f64_u8, vreinterpretq_u8_f32, vreinterpretq_u8_f64, vreinterpretq_u8_u32,
    vreinterpretq_u8_u64, vreinterpretq_u32_u8, vreinterpretq_u32_u64, vsqrtq_f32, vsqrtq_f64, vuzp1q_u32,
    vuzp2q_u32,
};

use crate::arch::Arithmetic;

/// The upper 32 bits of products of 32-bit lanes.
///
/// # Safety
/// The CPU must have NEON.
#[inline(always)]
pub(super) unsafe fn multiply_high(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller guarantees the instructions.
    unsafe {
        let (a, b) = (vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b));
        let low = vreinterpretq_u32_u64(vmull_u32(vget_low_u32(a), vget_low_u32(b)));
        let high = vreinterpretq_u32_u64(vmull_high_u32(a, b));
        vreinterpretq_u8_u32(vuzp2q_u32(low, high))
    }
}

/// An `f32` operation on 32-bit lanes.
///
/// # Safety
/// The CPU must have NEON.
#[inline(always)]
pub(super) unsafe fn single(operation: Arithmetic, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller guarantees the instructions.
    unsafe {
        let (x, y) = (vreinterpretq_f32_u8(a), vreinterpretq_f32_u8(b));
        match operation {
            Arithmetic::Add => vreinterpretq_u8_f32(vaddq_f32(x, y)),
            Arithmetic::Multiply => vreinterpretq_u8_f32(vmulq_f32(x, y)),
            Arithmetic::Divide => vreinterpretq_u8_f32(vdivq_f32(x, y)),
            Arithmetic::Root => vreinterpretq_u8_f32(vsqrtq_f32(x)),
            Arithmetic::Less => vreinterpretq_u8_u32(vcltq_f32(x, y)),
            Arithmetic::Equal => vreinterpretq_u8_u32(vceqq_f32(x, y)),
        }
    }
}

/// An `f64` operation on 64-bit lanes.
///
/// # Safety
/// The CPU must have NEON.
#[inline(always)]
pub(super) unsafe fn double(operation: Arithmetic, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller guarantees the instructions.
    unsafe {
        let (x, y) = (vreinterpretq_f64_u8(a), vreinterpretq_f64_u8(b));
        match operation {
            Arithmetic::Add => vreinterpretq_u8_f64(vaddq_f64(x, y)),
            Arithmetic::Multiply => vreinterpretq_u8_f64(vmulq_f64(x, y)),
            Arithmetic::Divide => vreinterpretq_u8_f64(vdivq_f64(x, y)),
            Arithmetic::Root => vreinterpretq_u8_f64(vsqrtq_f64(x)),
            Arithmetic::Less => vreinterpretq_u8_u64(vcltq_f64(x, y)),
            Arithmetic::Equal => vreinterpretq_u8_u64(vceqq_f64(x, y)),
        }
    }
}

/// The low and the high halves of 64-bit lanes.
///
/// # Safety
/// The CPU must have NEON.
#[inline(always)]
pub(super) unsafe fn halves(a: uint8x16_t, b: uint8x16_t) -> (uint8x16_t, uint8x16_t) {
    // SAFETY: the caller guarantees the instructions.
    unsafe {
        let (a, b) = (vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b));
        (vreinterpretq_u8_u32(vuzp1q_u32(a, b)), vreinterpretq_u8_u32(vuzp2q_u32(a, b)))
    }
}
