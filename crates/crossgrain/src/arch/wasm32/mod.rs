//! The vector register of 32-bit WebAssembly: 128 bits.
//!
//! A [`SimdWord`] is a `v128`. The whole program is compiled with simd128, so its intrinsics are safe
//! functions. Kernels use it through the traits of the parent module.
//!
//! The engine compiles these instructions for the CPU. Where x86-64 has no such instruction, the comments
//! give the number of instructions that V8 compiles it to. `i8x16_swizzle` takes two instructions there instead of one, because
//! PSHUFB looks only at the low four bits of an index. The relaxed swizzle takes one, but programs with it
//! need a newer engine.

mod list;
mod numbers;
mod tokens;

use std::arch::wasm32::{
    f32x4_add, f32x4_div, f32x4_eq, f32x4_lt, f32x4_mul, f32x4_sqrt, i8x16_eq, i8x16_shr, i8x16_shuffle,
    i8x16_swizzle, i16x8_shuffle, i32x4_shuffle, i64x2_shuffle, u8x16_add, u8x16_bitmask, u8x16_splat,
    u32x4_add, u32x4_bitmask, u32x4_eq, u32x4_lt, u32x4_max, u32x4_min, u32x4_mul, u32x4_shl, u32x4_shr,
    u32x4_splat, u64x2_add, u64x2_extract_lane, u64x2_shl, u64x2_shr, u64x2_splat, v128, v128_and,
    v128_andnot, v128_bitselect, v128_load, v128_not, v128_or, v128_store, v128_xor,
};
use std::fmt;
use std::ops::{BitAnd, BitXor, Not};

pub(crate) use self::list::for_each_register;
pub use self::tokens::{Simd128, hashes_best_in_lanes};
pub(super) use self::tokens::{cpu_model, detect_features};
pub(crate) use self::tokens::{fetches_in_place, shuffles_whole_registers, stores_best_past_caches};
use super::{
    Arithmetic, ByteLanes, Lane32, Lane64, Lanes, Register, Shift, Word, gates, ones_then_zeros, parts,
};

/// Estimated costs of the kernels on these registers, for the planner. docs/measuring.md says where they were measured.
pub const ESTIMATES: &str = include_str!("estimates.txt");

/// Orders streaming stores before all later stores. WebAssembly has no streaming stores.
pub(crate) const fn fence() {}

pub(crate) const fn prefetch(_bytes: &[u8], _at: usize) {}

pub(crate) const fn prefetch_for_later(_bytes: &[u8], _at: usize) {}

/// Does nothing: WebAssembly has no prefetch.
pub const fn prefetch_to_write(_bytes: &mut [u8], _at: usize) {}

/// Does nothing: a program cannot name the registers that the engine uses.
pub(crate) const fn clear_registers() {}

/// A register of 128 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct SimdWord(v128);

/// The truth tables of the three inputs of [`Word::ternary`].
const A: i32 = 0xf0;
const B: i32 = 0xcc;
const C: i32 = 0xaa;

/// The truth table of a choice: `one` where `mask` is set, else `zero`.
const fn choice(mask: i32, one: i32, zero: i32) -> i32 {
    mask & one | !mask & zero & 0xff
}

impl fmt::Debug for SimdWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimdWord(128 bits)")
    }
}

impl BitXor for SimdWord {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(v128_xor(self.0, other.0))
    }
}

impl BitAnd for SimdWord {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(v128_and(self.0, other.0))
    }
}

impl Not for SimdWord {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self(v128_not(self.0))
    }
}

impl Word for SimdWord {
    #[inline(always)]
    fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        match TABLE {
            _ if TABLE == choice(A, B, C) => a.select(b, c),
            _ if TABLE == choice(A, C, B) => a.select(c, b),
            _ if TABLE == choice(B, A, C) => b.select(a, c),
            _ if TABLE == choice(B, C, A) => b.select(c, a),
            _ if TABLE == choice(C, A, B) => c.select(a, b),
            _ if TABLE == choice(C, B, A) => c.select(b, a),
            _ => gates::ternary::<Self, TABLE>(a, b, c),
        }
    }

    /// One instruction on ARM, three on x86-64.
    #[inline(always)]
    fn select(self, one: Self, zero: Self) -> Self {
        Self(v128_bitselect(one.0, zero.0, self.0))
    }
}

impl Shift for SimdWord {
    #[inline(always)]
    fn shift_right<const COUNT: u32>(self) -> Self {
        Self(u64x2_shr(self.0, COUNT))
    }

    #[inline(always)]
    fn shift_left<const COUNT: u32>(self) -> Self {
        Self(u64x2_shl(self.0, COUNT))
    }

    /// Groups of 16 and 32 bits take a shift and a blend for each result. Smaller ones are exchanged by the
    /// XOR of those that differ: six instructions in all, where two selections would take eight.
    #[inline(always)]
    fn exchange<const BIT: u32>(self, other: Self, mask: Self) -> (Self, Self) {
        let (a, b) = (self, other);
        match BIT {
            4 => {
                let (up, down) = (b.shift_left::<16>().0, a.shift_right::<16>().0);
                (
                    Self(i16x8_shuffle::<0, 9, 2, 11, 4, 13, 6, 15>(a.0, up)),
                    Self(i16x8_shuffle::<0, 9, 2, 11, 4, 13, 6, 15>(down, b.0)),
                )
            }
            5 => {
                let (up, down) = (b.shift_left::<32>().0, a.shift_right::<32>().0);
                (Self(i32x4_shuffle::<0, 5, 2, 7>(a.0, up)), Self(i32x4_shuffle::<0, 5, 2, 7>(down, b.0)))
            }
            _ => {
                let count = 1 << BIT;
                let differ = (Self(u64x2_shr(a.0, count)) ^ b) & mask;
                (a ^ Self(u64x2_shl(differ.0, count)), b ^ differ)
            }
        }
    }
}

// SAFETY: a transparent wrapper of a register of 128 bits. Every constructor takes the token.
unsafe impl Register for SimdWord {
    type Isa = Simd128;

    const BITS: usize = 128;

    /// As many as x86-64 has. A program can name more, and the engine then stores some of them.
    const REGISTERS: usize = 16;

    #[inline(always)]
    fn splat(_isa: Simd128, pattern: u64) -> Self {
        Self(u64x2_splat(pattern))
    }

    #[inline(always)]
    fn load(_isa: Simd128, bytes: &[u8]) -> Self {
        assert!(bytes.len() == Self::BYTES);
        // SAFETY: the slice is as long as the register. The load has no alignment.
        Self(unsafe { v128_load(bytes.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        assert!(bytes.len() == Self::BYTES);
        // SAFETY: the slice is as long as the register. The store has no alignment.
        unsafe { v128_store(bytes.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn exchange_halves(a: Self, b: Self) -> (Self, Self) {
        (Self(i64x2_shuffle::<0, 2>(a.0, b.0)), Self(i64x2_shuffle::<1, 3>(a.0, b.0)))
    }
}

impl Lane32 for SimdWord {
    #[inline(always)]
    fn splat_lanes(_isa: Simd128, lane: u32) -> Self {
        Self(u32x4_splat(lane))
    }

    #[inline(always)]
    fn reverse_lane_bytes(self) -> Self {
        let word = self.0;
        Self(i8x16_shuffle::<3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12>(word, word))
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
        u32x4_bitmask(u32x4_eq(self.0, u32x4_splat(0))).into()
    }
}

impl Lane64 for SimdWord {
    #[inline(always)]
    fn add_lanes64(self, other: Self) -> Self {
        Self(u64x2_add(self.0, other.0))
    }

    #[inline(always)]
    fn rotate_lanes64_left<const COUNT: u32>(self) -> Self {
        Self(v128_or(u64x2_shl(self.0, COUNT), u64x2_shr(self.0, 64 - COUNT)))
    }
}

impl SimdWord {
    /// The low lanes of both registers in turns, and the high ones.
    #[inline(always)]
    fn interleave_u32(self, other: Self) -> (Self, Self) {
        (
            Self(i32x4_shuffle::<0, 4, 1, 5>(self.0, other.0)),
            Self(i32x4_shuffle::<2, 6, 3, 7>(self.0, other.0)),
        )
    }

    #[inline(always)]
    fn of_u128(number: u128) -> Self {
        Self::load(Simd128::here(), &number.to_le_bytes())
    }

    /// The register as an integer.
    #[inline(always)]
    fn number(self) -> u128 {
        u128::from(u64x2_extract_lane::<0>(self.0)) | u128::from(u64x2_extract_lane::<1>(self.0)) << 64
    }
}

impl Lanes for SimdWord {
    #[inline(always)]
    fn add_lanes(self, other: Self) -> Self {
        Self(u32x4_add(self.0, other.0))
    }

    #[inline(always)]
    fn shift_lanes_up(self, count: u32) -> Self {
        Self(u32x4_shl(self.0, count))
    }

    #[inline(always)]
    fn shift_lanes_down(self, count: u32) -> Self {
        Self(u32x4_shr(self.0, count))
    }

    #[inline(always)]
    fn multiply_lanes(self, other: Self) -> Self {
        Self(u32x4_mul(self.0, other.0))
    }

    /// A rotation by whole bytes is one shuffle, any other two shifts and OR.
    #[inline(always)]
    fn rotate_lanes_left<const COUNT: u32>(self) -> Self {
        let word = self.0;
        match COUNT {
            8 => Self(i8x16_shuffle::<3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14>(word, word)),
            16 => Self(i8x16_shuffle::<2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13>(word, word)),
            24 => Self(i8x16_shuffle::<1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12>(word, word)),
            _ => Self(v128_or(u32x4_shl(word, COUNT), u32x4_shr(word, 32 - COUNT))),
        }
    }

    #[inline(always)]
    fn filled(self, lane: u32) -> Self {
        Self(u32x4_splat(lane))
    }

    #[inline(always)]
    fn equal_lanes(self, other: Self) -> Self {
        Self(u32x4_eq(self.0, other.0))
    }

    #[inline(always)]
    fn less_lanes(self, other: Self) -> Self {
        Self(u32x4_lt(self.0, other.0))
    }

    #[inline(always)]
    fn min_lanes(self, other: Self) -> Self {
        Self(u32x4_min(self.0, other.0))
    }

    #[inline(always)]
    fn max_lanes(self, other: Self) -> Self {
        Self(u32x4_max(self.0, other.0))
    }

    #[inline(always)]
    fn multiply_lanes_high(self, other: Self) -> Self {
        Self(numbers::multiply_high(self.0, other.0))
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
    fn single(operation: Arithmetic, Self(a): Self, Self(b): Self) -> Self {
        Self(match operation {
            Arithmetic::Add => f32x4_add(a, b),
            Arithmetic::Multiply => f32x4_mul(a, b),
            Arithmetic::Divide => f32x4_div(a, b),
            Arithmetic::Root => f32x4_sqrt(a),
            Arithmetic::Less => f32x4_lt(a, b),
            Arithmetic::Equal => f32x4_eq(a, b),
        })
    }

    #[inline(always)]
    fn double(operation: Arithmetic, [low_a, high_a]: [Self; 2], [low_b, high_b]: [Self; 2]) -> [Self; 2] {
        let ((a0, a1), (b0, b1)) = (low_a.interleave_u32(high_a), low_b.interleave_u32(high_b));
        let (x, y) = (numbers::double(operation, a0.0, b0.0), numbers::double(operation, a1.0, b1.0));
        [Self(i32x4_shuffle::<0, 2, 4, 6>(x, y)), Self(i32x4_shuffle::<1, 3, 5, 7>(x, y))]
    }
}

impl ByteLanes for SimdWord {
    parts::one_block!();

    #[inline(always)]
    fn interleave(Self(a): Self, Self(b): Self) -> (Self, Self) {
        (
            Self(i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b)),
            Self(i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b)),
        )
    }

    #[inline(always)]
    fn first_bytes(self, len_bytes: usize) -> Self {
        static ONES_THEN_ZEROS: [u8; 32] = ones_then_zeros();
        assert!(len_bytes <= Self::BYTES);
        self & Self::load(Simd128::here(), &ONES_THEN_ZEROS[16 - len_bytes..][..16])
    }

    /// A swizzle gives zero for indices 16 to 127 too.
    #[inline(always)]
    fn shuffle_bytes(self, indices: Self) -> Self {
        Self(i8x16_swizzle(self.0, indices.0))
    }

    #[inline(always)]
    fn byte_where_top_bit_is_clear(_isa: Simd128, byte: u8, selector: Self) -> Self {
        Self(v128_andnot(u8x16_splat(byte), i8x16_shr(selector.0, 7)))
    }

    #[inline(always)]
    fn add_bytes(self, other: Self) -> Self {
        Self(u8x16_add(self.0, other.0))
    }

    #[inline(always)]
    fn zero_bytes(self) -> u64 {
        u8x16_bitmask(i8x16_eq(self.0, u8x16_splat(0))).into()
    }
}
