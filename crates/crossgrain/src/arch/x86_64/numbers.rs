//! Wide products and floating-point arithmetic, on registers of each width.
//!
//! [`Numbers`] has one unsafe method for each operation. As in `raw`, the macro takes the intrinsics' names
//! for each width. The CPU's rounding mode is to nearest and it does not flush subnormal numbers: Rust
//! requires both.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _CMP_EQ_OQ, _CMP_LT_OQ, _mm_add_pd, _mm_add_ps, _mm_castpd_si128,
    _mm_castps_si128, _mm_castsi128_pd, _mm_castsi128_ps, _mm_cmpeq_pd, _mm_cmpeq_ps, _mm_cmplt_pd,
    _mm_cmplt_ps, _mm_div_pd, _mm_div_ps, _mm_mul_epu32, _mm_mul_pd, _mm_mul_ps, _mm_shuffle_ps, _mm_sqrt_pd,
    _mm_sqrt_ps, _mm256_add_pd, _mm256_add_ps, _mm256_castpd_si256, _mm256_castps_si256, _mm256_castsi256_pd,
    _mm256_castsi256_ps, _mm256_cmp_pd, _mm256_cmp_ps, _mm256_div_pd, _mm256_div_ps, _mm256_mul_epu32,
    _mm256_mul_pd, _mm256_mul_ps, _mm256_shuffle_ps, _mm256_sqrt_pd, _mm256_sqrt_ps, _mm512_add_pd,
    _mm512_add_ps, _mm512_castpd_si512, _mm512_castps_si512, _mm512_castsi512_pd, _mm512_castsi512_ps,
    _mm512_cmp_pd_mask, _mm512_cmp_ps_mask, _mm512_div_pd, _mm512_div_ps, _mm512_movm_epi32,
    _mm512_movm_epi64, _mm512_mul_epu32, _mm512_mul_pd, _mm512_mul_ps, _mm512_shuffle_ps, _mm512_sqrt_pd,
    _mm512_sqrt_ps,
};

use super::super::Arithmetic;
use super::raw::Raw;

/// The numeric operations of one register width. All methods need the instructions of that width.
pub(super) trait Numbers: Sized {
    /// The upper 32 bits of products of 32-bit lanes.
    unsafe fn multiply_high_u32(self, other: Self) -> Self;
    /// An `f32` operation on 32-bit lanes.
    unsafe fn single(operation: Arithmetic, a: Self, b: Self) -> Self;
    /// An `f64` operation on 64-bit lanes.
    unsafe fn double(operation: Arithmetic, a: Self, b: Self) -> Self;
    /// The low and the high halves of 64-bit lanes. It undoes `interleave_u32`.
    unsafe fn halves(a: Self, b: Self) -> (Self, Self);
}

macro_rules! numbers {
    ($Raw:ident, product $product:ident, halves $shuffle:ident,
     single $to_ps:ident $of_ps:ident $add_ps:ident $mul_ps:ident $div_ps:ident $sqrt_ps:ident,
     double $to_pd:ident $of_pd:ident $add_pd:ident $mul_pd:ident $div_pd:ident $sqrt_pd:ident,
     compare |$x:ident, $y:ident| $less_ps:expr, $equal_ps:expr, $less_pd:expr, $equal_pd:expr) => {
        // Every method: the caller guarantees the instructions of this width.
        #[allow(clippy::undocumented_unsafe_blocks, reason = "said once, above")]
        impl Numbers for $Raw {
            #[inline(always)]
            unsafe fn multiply_high_u32(self, other: Self) -> Self {
                unsafe {
                    let even = $product(self, other).shift_right(32);
                    let odd = $product(self.shift_right(32), other.shift_right(32));
                    even.xor(odd.and(Self::splat(0xffff_ffff_0000_0000)))
                }
            }
            #[inline(always)]
            unsafe fn single(operation: Arithmetic, a: Self, b: Self) -> Self {
                unsafe {
                    let ($x, $y) = ($to_ps(a), $to_ps(b));
                    match operation {
                        Arithmetic::Add => $of_ps($add_ps($x, $y)),
                        Arithmetic::Multiply => $of_ps($mul_ps($x, $y)),
                        Arithmetic::Divide => $of_ps($div_ps($x, $y)),
                        Arithmetic::Root => $of_ps($sqrt_ps($x)),
                        Arithmetic::Less => $less_ps,
                        Arithmetic::Equal => $equal_ps,
                    }
                }
            }
            #[inline(always)]
            unsafe fn double(operation: Arithmetic, a: Self, b: Self) -> Self {
                unsafe {
                    let ($x, $y) = ($to_pd(a), $to_pd(b));
                    match operation {
                        Arithmetic::Add => $of_pd($add_pd($x, $y)),
                        Arithmetic::Multiply => $of_pd($mul_pd($x, $y)),
                        Arithmetic::Divide => $of_pd($div_pd($x, $y)),
                        Arithmetic::Root => $of_pd($sqrt_pd($x)),
                        Arithmetic::Less => $less_pd,
                        Arithmetic::Equal => $equal_pd,
                    }
                }
            }
            #[inline(always)]
            unsafe fn halves(a: Self, b: Self) -> (Self, Self) {
                unsafe {
                    let (a, b) = ($to_ps(a), $to_ps(b));
                    ($of_ps($shuffle::<0b10_00_10_00>(a, b)), $of_ps($shuffle::<0b11_01_11_01>(a, b)))
                }
            }
        }
    };
}

numbers!(
    __m128i, product _mm_mul_epu32, halves _mm_shuffle_ps,
    single _mm_castsi128_ps _mm_castps_si128 _mm_add_ps _mm_mul_ps _mm_div_ps _mm_sqrt_ps,
    double _mm_castsi128_pd _mm_castpd_si128 _mm_add_pd _mm_mul_pd _mm_div_pd _mm_sqrt_pd,
    compare |x, y|
    _mm_castps_si128(_mm_cmplt_ps(x, y)),
    _mm_castps_si128(_mm_cmpeq_ps(x, y)),
    _mm_castpd_si128(_mm_cmplt_pd(x, y)),
    _mm_castpd_si128(_mm_cmpeq_pd(x, y))
);
numbers!(
    __m256i, product _mm256_mul_epu32, halves _mm256_shuffle_ps,
    single _mm256_castsi256_ps _mm256_castps_si256 _mm256_add_ps _mm256_mul_ps _mm256_div_ps _mm256_sqrt_ps,
    double _mm256_castsi256_pd _mm256_castpd_si256 _mm256_add_pd _mm256_mul_pd _mm256_div_pd _mm256_sqrt_pd,
    compare |x, y|
    _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LT_OQ>(x, y)),
    _mm256_castps_si256(_mm256_cmp_ps::<_CMP_EQ_OQ>(x, y)),
    _mm256_castpd_si256(_mm256_cmp_pd::<_CMP_LT_OQ>(x, y)),
    _mm256_castpd_si256(_mm256_cmp_pd::<_CMP_EQ_OQ>(x, y))
);
numbers!(
    __m512i, product _mm512_mul_epu32, halves _mm512_shuffle_ps,
    single _mm512_castsi512_ps _mm512_castps_si512 _mm512_add_ps _mm512_mul_ps _mm512_div_ps _mm512_sqrt_ps,
    double _mm512_castsi512_pd _mm512_castpd_si512 _mm512_add_pd _mm512_mul_pd _mm512_div_pd _mm512_sqrt_pd,
    compare |x, y|
    _mm512_movm_epi32(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(x, y)),
    _mm512_movm_epi32(_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(x, y)),
    _mm512_movm_epi64(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(x, y)),
    _mm512_movm_epi64(_mm512_cmp_pd_mask::<_CMP_EQ_OQ>(x, y))
);
