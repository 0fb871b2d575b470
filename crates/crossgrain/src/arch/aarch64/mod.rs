//! The vector registers of 64-bit ARM: 128 bits, with several sets of further instructions.
//!
//! A [`Vector<I>`](Vector) is a register with a token type `I`. Its methods are safe, because only a token
//! makes a value, and only `detect` makes tokens. Kernels use it through the traits of the parent module.

#![allow(unused_unsafe, reason = "on some targets the compiler may assume the instructions")]
#![allow(
    unknown_lints,
    inline_always_mismatching_target_features,
    reason = "the methods here end up in the entry function, which has the instructions"
)]

mod aes;
mod clear;
mod list;
mod numbers;
mod tokens;

use std::arch::aarch64::{
    uint8x16_t, vaddq_u8, vaddq_u32, vaddq_u64, vaddv_u8, vaddvq_u32, vandq_u8, vandq_u32, vbcaxq_u8,
    vbicq_u8, vbslq_u8, vceqq_u32, vceqzq_u8, vceqzq_u32, vcltq_u32, vcltzq_s8, vclzq_u32, vcombine_u8,
    vcreate_u8, vdupq_n_s32, vdupq_n_u8, vdupq_n_u32, vdupq_n_u64, veor3q_u8, veorq_u8, vget_high_u8,
    vget_low_u8, vgetq_lane_u64, vld1q_u8, vmaxq_u32, vminq_u32, vmulq_u32, vmvnq_u8, vnegq_s32, vqtbl1q_u8,
    vreinterpretq_s8_u8, vreinterpretq_s32_u8, vreinterpretq_u8_s32, vreinterpretq_u8_u16,
    vreinterpretq_u8_u32, vreinterpretq_u8_u64, vreinterpretq_u16_u8, vreinterpretq_u32_u8,
    vreinterpretq_u64_u8, vrev32q_u8, vshlq_n_u32, vshlq_n_u64, vshlq_u32, vshrq_n_u64, vsriq_n_u32,
    vsriq_n_u64, vst1q_u8, vtrn1q_u8, vtrn1q_u16, vtrn1q_u32, vtrn1q_u64, vtrn2q_u8, vtrn2q_u16, vtrn2q_u32,
    vtrn2q_u64, vzip1q_u8, vzip1q_u32, vzip2q_u8, vzip2q_u32,
};
use std::arch::asm;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitXor, Not};

pub(crate) use self::clear::clear_registers;
pub(crate) use self::list::for_each_register;
pub use self::tokens::{Neon, NeonAes, NeonSha3, hashes_best_in_lanes};
pub(super) use self::tokens::{cpu_model, detect_features};
pub(crate) use self::tokens::{fetches_in_place, shuffles_whole_registers, stores_best_past_caches};
use super::{
    Arithmetic, ByteLanes, Isa, Lane32, Lane64, Lanes, Register, Shift, Word, exchange_by_shifts, gates,
    ones_then_zeros, parts,
};

/// Estimated costs of the kernels on these registers, for the planner. They come from a model, not from
/// measurements: docs/design.md.
pub const ESTIMATES: &str = include_str!("estimates.txt");

/// Orders streaming stores before all later stores. This machine has no streaming stores.
pub(crate) const fn fence() {}

/// Prefetches the cache line of byte `at` as `$operation` says. `at` may be beyond the end.
macro_rules! prefetch {
    ($operation:literal, $place:expr) => {
        // SAFETY: every 64-bit ARM CPU has this instruction. It has no effect that a program could observe.
        unsafe {
            asm!(
                concat!("prfm ", $operation, ", [{}]"),
                in(reg) $place,
                options(nomem, nostack, preserves_flags),
            )
        }
    };
}

/// Prefetches the cache line of byte `at`, which is needed soon. `at` may be beyond the end.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block, reason = "a hint: no byte is read or written")]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    prefetch!("pldl1keep", bytes.as_ptr().wrapping_add(at));
}

/// Prefetches the cache line of byte `at` into the second-level cache, because it is needed later. `at` may
/// be beyond the end.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block, reason = "a hint: no byte is read or written")]
pub(crate) fn prefetch_for_later(bytes: &[u8], at: usize) {
    prefetch!("pldl2keep", bytes.as_ptr().wrapping_add(at));
}

/// Prefetches the cache line of byte `at` to write it soon. `at` may be beyond the end.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block, reason = "a hint: no byte is read or written")]
pub fn prefetch_to_write(bytes: &mut [u8], at: usize) {
    prefetch!("pstl1keep", bytes.as_mut_ptr().wrapping_add(at));
}

/// A register whose instructions the token type `I` guarantees.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Vector<I>(uint8x16_t, PhantomData<I>);

/// 128 bits by NEON.
pub type NeonWord = Vector<Neon>;
/// One block by the AES instructions.
pub type AesWord = Vector<NeonAes>;
/// 128 bits with gates of three inputs.
pub type Sha3Word = Vector<NeonSha3>;

/// A register by NEON intrinsics. Every use is in a method on a value of the same type, or takes its token.
macro_rules! vector {
    ($intrinsics:expr) => {
        // SAFETY: the caller has a value of this type or its token, so the CPU has the instructions.
        Self(unsafe { $intrinsics }, PhantomData)
    };
}
use vector;

/// An intrinsic whose count is a constant, for a count that is a constant of the kernel. Only one arm is
/// compiled.
macro_rules! by_count {
    ($count:expr, $n:ident => $shifted:expr; $($literal:literal)*) => {
        match $count {
            $($literal => {
                const $n: i32 = $literal;
                $shifted
            })*
            _ => unreachable!(),
        }
    };
    (31, $count:expr, $n:ident => $shifted:expr) => {
        by_count!(
            $count, $n => $shifted;
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        )
    };
    (63, $count:expr, $n:ident => $shifted:expr) => {
        by_count!(
            $count, $n => $shifted;
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
        )
    };
}

/// The truth tables of the three inputs of [`Word::ternary`].
const A: i32 = 0xf0;
const B: i32 = 0xcc;
const C: i32 = 0xaa;

/// The truth table of a choice: `one` where `mask` is set, else `zero`.
const fn choice(mask: i32, one: i32, zero: i32) -> i32 {
    mask & one | !mask & zero & 0xff
}

/// Tokens, and whether their CPUs have EOR3 and BCAX.
trait Gates: Isa {
    const HAS_THREE_INPUTS: bool = false;
}
impl Gates for Neon {}
impl Gates for NeonAes {}
impl Gates for NeonSha3 {
    const HAS_THREE_INPUTS: bool = true;
}

impl<I> Vector<I> {
    #[inline(always)]
    fn of_u128(number: u128) -> Self {
        vector!(vcombine_u8(vcreate_u8(number as u64), vcreate_u8((number >> 64) as u64)))
    }

    #[inline(always)]
    fn number(self) -> u128 {
        // SAFETY: a value of this type exists, so its instructions do.
        unsafe {
            let halves = vreinterpretq_u64_u8(self.0);
            u128::from(vgetq_lane_u64::<0>(halves)) | u128::from(vgetq_lane_u64::<1>(halves)) << 64
        }
    }
}

impl<I> fmt::Debug for Vector<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vector(128 bits)")
    }
}

impl<I> BitXor for Vector<I> {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        vector!(veorq_u8(self.0, other.0))
    }
}

impl<I> BitAnd for Vector<I> {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        vector!(vandq_u8(self.0, other.0))
    }
}

impl<I> Not for Vector<I> {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        vector!(vmvnq_u8(self.0))
    }
}

impl<I: Gates> Word for Vector<I> {
    #[inline(always)]
    fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        match TABLE {
            _ if TABLE == choice(A, B, C) => a.select(b, c),
            _ if TABLE == choice(A, C, B) => a.select(c, b),
            _ if TABLE == choice(B, A, C) => b.select(a, c),
            _ if TABLE == choice(B, C, A) => b.select(c, a),
            _ if TABLE == choice(C, A, B) => c.select(a, b),
            _ if TABLE == choice(C, B, A) => c.select(b, a),
            _ if !I::HAS_THREE_INPUTS => gates::ternary::<Self, TABLE>(a, b, c),
            _ if TABLE == A ^ B ^ C => vector!(veor3q_u8(a.0, b.0, c.0)),
            _ if TABLE == A ^ B & !C => vector!(vbcaxq_u8(a.0, b.0, c.0)),
            _ if TABLE == A ^ C & !B => vector!(vbcaxq_u8(a.0, c.0, b.0)),
            _ if TABLE == B ^ A & !C => vector!(vbcaxq_u8(b.0, a.0, c.0)),
            _ if TABLE == B ^ C & !A => vector!(vbcaxq_u8(b.0, c.0, a.0)),
            _ if TABLE == C ^ A & !B => vector!(vbcaxq_u8(c.0, a.0, b.0)),
            _ if TABLE == C ^ B & !A => vector!(vbcaxq_u8(c.0, b.0, a.0)),
            _ => gates::ternary::<Self, TABLE>(a, b, c),
        }
    }

    #[inline(always)]
    fn select(self, one: Self, zero: Self) -> Self {
        vector!(vbslq_u8(self.0, one.0, zero.0))
    }
}

impl<I: Gates> Shift for Vector<I> {
    #[inline(always)]
    fn shift_right<const COUNT: u32>(self) -> Self {
        by_count!(63, COUNT, N => vector!(vreinterpretq_u8_u64(vshrq_n_u64::<N>(vreinterpretq_u64_u8(self.0)))))
    }

    #[inline(always)]
    fn shift_left<const COUNT: u32>(self) -> Self {
        by_count!(63, COUNT, N => vector!(vreinterpretq_u8_u64(vshlq_n_u64::<N>(vreinterpretq_u64_u8(self.0)))))
    }

    /// TRN1 and TRN2 exchange whole bytes, and groups of 16 and 32 bits.
    #[inline(always)]
    fn exchange<const BIT: u32>(self, other: Self, mask: Self) -> (Self, Self) {
        let (a, b) = (self.0, other.0);
        match BIT {
            3 => (vector!(vtrn1q_u8(a, b)), vector!(vtrn2q_u8(a, b))),
            4 => (
                vector!(vreinterpretq_u8_u16(vtrn1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)))),
                vector!(vreinterpretq_u8_u16(vtrn2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)))),
            ),
            5 => (
                vector!(vreinterpretq_u8_u32(vtrn1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)))),
                vector!(vreinterpretq_u8_u32(vtrn2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)))),
            ),
            _ => exchange_by_shifts::<Self, BIT>(self, other, mask),
        }
    }
}

// SAFETY: a transparent wrapper of a register of 128 bits. Every constructor takes the token.
unsafe impl<I: Gates> Register for Vector<I> {
    type Isa = I;

    const BITS: usize = 128;

    const REGISTERS: usize = 32;

    #[inline(always)]
    fn splat(_isa: I, pattern: u64) -> Self {
        vector!(vreinterpretq_u8_u64(vdupq_n_u64(pattern)))
    }

    #[inline(always)]
    fn load(_isa: I, bytes: &[u8]) -> Self {
        assert!(bytes.len() == Self::BYTES);
        // The slice is as long as the register.
        vector!(vld1q_u8(bytes.as_ptr()))
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        assert!(bytes.len() == Self::BYTES);
        // SAFETY: a value of this type exists, and the slice is as long as the register.
        unsafe { vst1q_u8(bytes.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn exchange_halves(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: a value of this type exists, so its instructions do.
        let [a, b] = unsafe { [vreinterpretq_u64_u8(a.0), vreinterpretq_u64_u8(b.0)] };
        (vector!(vreinterpretq_u8_u64(vtrn1q_u64(a, b))), vector!(vreinterpretq_u8_u64(vtrn2q_u64(a, b))))
    }
}

impl<I: Gates> Lane32 for Vector<I> {
    #[inline(always)]
    fn splat_lanes(_isa: I, lane: u32) -> Self {
        vector!(vreinterpretq_u8_u32(vdupq_n_u32(lane)))
    }

    #[inline(always)]
    fn reverse_lane_bytes(self) -> Self {
        vector!(vrev32q_u8(self.0))
    }

    #[inline(always)]
    fn transpose_lanes([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let ((ab_low, ab_high), (cd_low, cd_high)) = (a.interleave_u32(b), c.interleave_u32(d));
        let (w0, w1) = Self::exchange_halves(ab_low, cd_low);
        let (w2, w3) = Self::exchange_halves(ab_high, cd_high);
        [w0, w1, w2, w3]
    }

    #[inline(always)]
    fn zero_lanes(self) -> u64 {
        const BITS: u128 = 0x0000_0008_0000_0004_0000_0002_0000_0001;
        let bits = Self::of_u128(BITS);
        // SAFETY: a value of this type exists, so its instructions do.
        unsafe {
            let zeros = vceqzq_u32(vreinterpretq_u32_u8(self.0));
            u64::from(vaddvq_u32(vandq_u32(zeros, vreinterpretq_u32_u8(bits.0))))
        }
    }
}

impl<I: Gates> Lane64 for Vector<I> {
    #[inline(always)]
    fn add_lanes64(self, other: Self) -> Self {
        vector!(vreinterpretq_u8_u64(vaddq_u64(vreinterpretq_u64_u8(self.0), vreinterpretq_u64_u8(other.0))))
    }

    #[inline(always)]
    fn rotate_lanes64_left<const COUNT: u32>(self) -> Self {
        by_count!(63, COUNT, N => vector!({
            let lanes = vreinterpretq_u64_u8(self.0);
            vreinterpretq_u8_u64(vsriq_n_u64::<{ 64 - N }>(vshlq_n_u64::<N>(lanes), lanes))
        }))
    }
}

/// An operation on 32-bit lanes of one or two registers.
macro_rules! lanes {
    ($intrinsic:ident, $a:expr) => {
        vector!(vreinterpretq_u8_u32($intrinsic(vreinterpretq_u32_u8($a.0))))
    };
    ($intrinsic:ident, $a:expr, $b:expr) => {
        vector!(vreinterpretq_u8_u32($intrinsic(vreinterpretq_u32_u8($a.0), vreinterpretq_u32_u8($b.0))))
    };
}

impl<I> Vector<I> {
    /// The low lanes of both registers in turns, and the high ones.
    #[inline(always)]
    fn interleave_u32(self, other: Self) -> (Self, Self) {
        (lanes!(vzip1q_u32, self, other), lanes!(vzip2q_u32, self, other))
    }

    /// Each 32-bit lane shifted left by a signed count in each lane of `counts`.
    #[inline(always)]
    fn shifted_by(self, counts: Self) -> Self {
        vector!(vreinterpretq_u8_u32(vshlq_u32(vreinterpretq_u32_u8(self.0), vreinterpretq_s32_u8(counts.0))))
    }

    /// A signed number in each 32-bit lane.
    #[inline(always)]
    fn of_i32(self, lane: i32) -> Self {
        vector!(vreinterpretq_u8_s32(vdupq_n_s32(lane)))
    }
}

impl<I: Gates> Lanes for Vector<I> {
    #[inline(always)]
    fn add_lanes(self, other: Self) -> Self {
        lanes!(vaddq_u32, self, other)
    }

    #[inline(always)]
    fn shift_lanes_up(self, count: u32) -> Self {
        self.shifted_by(self.of_i32(count.cast_signed()))
    }

    #[inline(always)]
    fn shift_lanes_down(self, count: u32) -> Self {
        self.shifted_by(self.of_i32(-count.cast_signed()))
    }

    #[inline(always)]
    fn multiply_lanes(self, other: Self) -> Self {
        lanes!(vmulq_u32, self, other)
    }

    #[inline(always)]
    fn rotate_lanes_left<const COUNT: u32>(self) -> Self {
        by_count!(31, COUNT, N => vector!({
            let lanes = vreinterpretq_u32_u8(self.0);
            vreinterpretq_u8_u32(vsriq_n_u32::<{ 32 - N }>(vshlq_n_u32::<N>(lanes), lanes))
        }))
    }

    #[inline(always)]
    fn filled(self, lane: u32) -> Self {
        vector!(vreinterpretq_u8_u32(vdupq_n_u32(lane)))
    }

    #[inline(always)]
    fn equal_lanes(self, other: Self) -> Self {
        lanes!(vceqq_u32, self, other)
    }

    #[inline(always)]
    fn less_lanes(self, other: Self) -> Self {
        lanes!(vcltq_u32, self, other)
    }

    #[inline(always)]
    fn min_lanes(self, other: Self) -> Self {
        lanes!(vminq_u32, self, other)
    }

    #[inline(always)]
    fn max_lanes(self, other: Self) -> Self {
        lanes!(vmaxq_u32, self, other)
    }

    #[inline(always)]
    fn multiply_lanes_high(self, other: Self) -> Self {
        vector!(numbers::multiply_high(self.0, other.0))
    }

    #[inline(always)]
    fn shift_lanes_left_by(self, counts: Self) -> Self {
        self.shifted_by(counts & self.filled(31))
    }

    #[inline(always)]
    fn shift_lanes_right_by(self, counts: Self) -> Self {
        let counts = counts & self.filled(31);
        self.shifted_by(vector!(vreinterpretq_u8_s32(vnegq_s32(vreinterpretq_s32_u8(counts.0)))))
    }

    #[inline(always)]
    fn leading_zeros_of_lanes(self) -> Self {
        lanes!(vclzq_u32, self)
    }

    #[inline(always)]
    fn look_up_public(self, table: &[u32]) -> Self {
        let mut bytes = self.number().to_le_bytes();
        for lane in bytes.as_chunks_mut::<4>().0 {
            *lane = u32::from_le_bytes(*lane).look_up_public(table).to_le_bytes();
        }
        Self::of_u128(u128::from_le_bytes(bytes))
    }

    #[inline(always)]
    fn single(operation: Arithmetic, a: Self, b: Self) -> Self {
        vector!(numbers::single(operation, a.0, b.0))
    }

    #[inline(always)]
    fn double(operation: Arithmetic, [low_a, high_a]: [Self; 2], [low_b, high_b]: [Self; 2]) -> [Self; 2] {
        let ((a0, a1), (b0, b1)) = (low_a.interleave_u32(high_a), low_b.interleave_u32(high_b));
        // SAFETY: values of this type exist, so its instructions do.
        let (low, high) = unsafe {
            numbers::halves(numbers::double(operation, a0.0, b0.0), numbers::double(operation, a1.0, b1.0))
        };
        [Self(low, PhantomData), Self(high, PhantomData)]
    }
}

impl<I: Gates> ByteLanes for Vector<I> {
    parts::one_block!();

    #[inline(always)]
    fn interleave(a: Self, b: Self) -> (Self, Self) {
        (vector!(vzip1q_u8(a.0, b.0)), vector!(vzip2q_u8(a.0, b.0)))
    }

    #[inline(always)]
    fn first_bytes(self, len_bytes: usize) -> Self {
        static ONES_THEN_ZEROS: [u8; 32] = ones_then_zeros();
        assert!(len_bytes <= Self::BYTES);
        let mask = &ONES_THEN_ZEROS[16 - len_bytes..][..16];
        // The slice is as long as the register.
        vector!(vandq_u8(self.0, vld1q_u8(mask.as_ptr())))
    }

    /// TBL gives zero for indices 16 to 127 too.
    #[inline(always)]
    fn shuffle_bytes(self, indices: Self) -> Self {
        vector!(vqtbl1q_u8(self.0, indices.0))
    }

    #[inline(always)]
    fn byte_where_top_bit_is_clear(_isa: I, byte: u8, selector: Self) -> Self {
        vector!(vbicq_u8(vdupq_n_u8(byte), vcltzq_s8(vreinterpretq_s8_u8(selector.0))))
    }

    #[inline(always)]
    fn add_bytes(self, other: Self) -> Self {
        vector!(vaddq_u8(self.0, other.0))
    }

    #[inline(always)]
    fn zero_bytes(self) -> u64 {
        let bits = Self::of_u128(0x8040_2010_0804_0201_8040_2010_0804_0201);
        // SAFETY: a value of this type exists, so its instructions do.
        unsafe {
            let zeros = vandq_u8(vceqzq_u8(self.0), bits.0);
            u64::from(vaddv_u8(vget_low_u8(zeros))) | u64::from(vaddv_u8(vget_high_u8(zeros))) << 8
        }
    }
}
