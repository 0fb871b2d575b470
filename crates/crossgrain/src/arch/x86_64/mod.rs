//! The vector registers of x86-64: 128, 256 and 512 bits, each with several sets of further instructions.
//!
//! `raw` has the intrinsics of each width as unsafe methods. [`Vector<R, I>`](Vector) is a raw register with
//! a token type `I`, and its methods are safe. Kernels use only `Vector`, through the traits of the parent
//! module.
//!
//! Invariant: a `Vector<_, I>` is only made from a token `I`, and only `detect` makes tokens.

mod aes;
mod clear;
mod list;
mod numbers;
mod parts;
mod raw;
mod tokens;

use std::arch::asm;
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _MM_HINT_T0, _MM_HINT_T1, _mm_loadu_si128, _mm_prefetch, _mm_set_epi8,
    _mm_sfence, _mm_storeu_si128, _mm256_gf2p8affine_epi64_epi8, _mm256_gf2p8affineinv_epi64_epi8,
    _mm256_gf2p8mul_epi8, _mm512_gf2p8affine_epi64_epi8, _mm512_gf2p8affineinv_epi64_epi8,
    _mm512_gf2p8mul_epi8, _mm512_mask_blend_epi8, _mm512_movepi8_mask, _mm512_permutex2var_epi8,
};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitXor, Not};

pub(crate) use self::clear::clear_registers;
pub(crate) use self::list::for_each_register;
use self::raw::Raw;
pub use self::tokens::{
    AesNi, Avx2, Avx512, Clmul, Gfni256, Gfni512, GfniVbmi512, Sse2, Vaes256, Vaes512, Vbmi512, Vclmul256,
    Vclmul512, hashes_best_in_lanes,
};
pub(super) use self::tokens::{cpu_model, detect_features};
pub(crate) use self::tokens::{fetches_in_place, shuffles_whole_registers, stores_best_past_caches};
use super::{
    Arithmetic, ByteLanes, ByteTables, GaloisBytes, Isa, Lane32, Lane64, Lanes, Register, Shift, Word, eight,
    gates,
};

/// Estimated costs of the kernels on these registers, for the planner. The cores were AMD's Zen 4.
pub const ESTIMATES: &str = include_str!("estimates.txt");

/// Orders streaming stores before all later stores.
#[inline(always)]
pub(crate) fn fence() {
    // SAFETY: every x86-64 has this instruction.
    unsafe { _mm_sfence() };
}

/// Prefetches the cache line of byte `at`, which is needed soon. `at` may be beyond the end.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    // SAFETY: every x86-64 has this instruction. It has no effect that a program could observe.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(at).cast()) };
}

/// Prefetches the cache line of byte `at` into the second-level cache, because it is needed later. `at` may
/// be beyond the end.
#[inline(always)]
pub(crate) fn prefetch_for_later(bytes: &[u8], at: usize) {
    // SAFETY: as above.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(bytes.as_ptr().wrapping_add(at).cast()) };
}

/// Prefetches the cache line of byte `at` to write it soon. `at` may be beyond the end.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block, reason = "a hint: no byte is read or written")]
pub fn prefetch_to_write(bytes: &mut [u8], at: usize) {
    let byte = bytes.as_mut_ptr().wrapping_add(at);
    // Assembly, because `_mm_prefetch` prefetches for reading unless the compiler is built to assume a newer
    // CPU.
    // SAFETY: it has no effect that a program could observe. An x86-64 CPU without this instruction ignores
    // it.
    unsafe { asm!("prefetchw [{}]", in(reg) byte, options(nomem, nostack, preserves_flags)) };
}

/// A register whose instructions the token type `I` guarantees.
#[derive(Clone, Copy)]
#[repr(transparent)]
#[allow(private_bounds, reason = "only the aliases below are to be used")]
pub struct Vector<R: Raw, I>(R, PhantomData<I>);

/// 128 bits by SSE2.
pub type Word128 = Vector<__m128i, Sse2>;
/// 256 bits by AVX2.
pub type Word256 = Vector<__m256i, Avx2>;
/// 512 bits by AVX-512.
pub type Word512 = Vector<__m512i, Avx512>;
/// 512 bits by AVX-512 with GFNI.
pub type GfniWord512 = Vector<__m512i, Gfni512>;
/// 256 bits by AVX2 with GFNI.
pub type GfniWord256 = Vector<__m256i, Gfni256>;
/// 512 bits by AVX-512 with VBMI.
pub type VbmiWord512 = Vector<__m512i, Vbmi512>;
/// 512 bits by AVX-512 with VBMI and GFNI.
pub type GfniVbmiWord512 = Vector<__m512i, GfniVbmi512>;
/// One block by AES-NI.
pub type AesWord128 = Vector<__m128i, AesNi>;
/// Two blocks by VAES.
pub type AesWord256 = Vector<__m256i, Vaes256>;
/// Four blocks by VAES and AVX-512.
pub type AesWord512 = Vector<__m512i, Vaes512>;
/// 128 bits with carry-less products.
pub type ClmulWord128 = Vector<__m128i, Clmul>;
/// 256 bits with carry-less products.
pub type ClmulWord256 = Vector<__m256i, Vclmul256>;
/// 512 bits with carry-less products.
pub type ClmulWord512 = Vector<__m512i, Vclmul512>;

impl<R: Raw, I> fmt::Debug for Vector<R, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vector({} bits)", R::BITS)
    }
}

impl<R: Raw, I> BitXor for Vector<R, I> {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.xor(other.0) }, PhantomData)
    }
}

impl<R: Raw, I> BitAnd for Vector<R, I> {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.and(other.0) }, PhantomData)
    }
}

impl<R: Raw, I> Not for Vector<R, I> {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.xor(R::splat(u64::MAX)) }, PhantomData)
    }
}

impl<R: Raw, I: Isa> Word for Vector<R, I> {
    #[inline(always)]
    fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        // SAFETY: values of this type exist, so its instructions do.
        match unsafe { R::ternary::<TABLE>(a.0, b.0, c.0) } {
            Some(word) => Self(word, PhantomData),
            None => gates::ternary::<Self, TABLE>(a, b, c),
        }
    }
    #[inline(always)]
    fn has_ternary() -> bool {
        R::HAS_TERNARY
    }

    #[inline(always)]
    fn select(self, one: Self, zero: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.select(one.0, zero.0) }, PhantomData)
    }
}

// SAFETY: a transparent wrapper of a register of `R::BITS` bits. Every constructor takes the token.
unsafe impl<R: Raw, I: Isa> Register for Vector<R, I> {
    type Isa = I;

    const BITS: usize = R::BITS;

    const REGISTERS: usize = if R::BITS == 512 { 32 } else { 16 };

    #[inline(always)]
    fn splat(_isa: I, pattern: u64) -> Self {
        // SAFETY: the caller has the token.
        Self(unsafe { R::splat(pattern) }, PhantomData)
    }

    #[inline(always)]
    fn load(_isa: I, bytes: &[u8]) -> Self {
        assert!(bytes.len() == Self::BYTES);
        // SAFETY: the caller has the token, and the slice is as long as the register.
        Self(unsafe { R::load(bytes.as_ptr()) }, PhantomData)
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        assert!(bytes.len() == Self::BYTES);
        // SAFETY: a value of this type exists, and the slice is as long as the register.
        unsafe { self.0.store(bytes.as_mut_ptr()) }
    }

    #[inline(always)]
    fn exchange_halves(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: a value of this type exists, so its instructions do.
        let (low, high) = unsafe { R::interleave_halves(a.0, b.0) };
        (Self(low, PhantomData), Self(high, PhantomData))
    }
}

impl<R: Raw, I: Isa> Shift for Vector<R, I> {
    #[inline(always)]
    fn shift_right<const COUNT: u32>(self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.shift_right(COUNT) }, PhantomData)
    }

    #[inline(always)]
    fn shift_left<const COUNT: u32>(self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.shift_left(COUNT) }, PhantomData)
    }
}

impl<R: Raw, I: Isa> Lane32 for Vector<R, I> {
    #[inline(always)]
    fn splat_lanes(_isa: I, lane: u32) -> Self {
        // SAFETY: the caller has the token.
        Self(unsafe { R::splat_u32(lane) }, PhantomData)
    }

    #[inline(always)]
    fn reverse_lane_bytes(self) -> Self {
        // SAFETY: a value of this type exists, and every vector here has the byte shuffle.
        Self(
            unsafe {
                let indices = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
                self.0.shuffle_bytes(R::broadcast(indices))
            },
            PhantomData,
        )
    }

    #[inline(always)]
    fn transpose_lanes([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: a value of this type exists, so its instructions do.
        let words = unsafe {
            let (ab_low, ab_high) = R::interleave_u32(a.0, b.0);
            let (cd_low, cd_high) = R::interleave_u32(c.0, d.0);
            let (w0, w1) = R::interleave_halves(ab_low, cd_low);
            let (w2, w3) = R::interleave_halves(ab_high, cd_high);
            [w0, w1, w2, w3]
        };
        each!(i < 4 => Self(words[i], PhantomData))
    }

    #[inline(always)]
    fn zero_lanes(self) -> u64 {
        // SAFETY: a value of this type exists, so its instructions do.
        unsafe { self.0.zero_u32() }
    }
}

impl<R: Raw, I: Isa> Lane64 for Vector<R, I> {
    #[inline(always)]
    fn add_lanes64(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.add_u64(other.0) }, PhantomData)
    }

    #[inline(always)]
    fn rotate_lanes64_left<const COUNT: u32>(self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.rotate_u64_left(COUNT) }, PhantomData)
    }
}

impl<R: Raw, I: Isa> Lanes for Vector<R, I> {
    #[inline(always)]
    fn add_lanes(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.add_u32(other.0) }, PhantomData)
    }

    #[inline(always)]
    fn shift_lanes_up(self, count: u32) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.shift_lanes_left(count) }, PhantomData)
    }

    #[inline(always)]
    fn multiply_lanes(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.multiply_u32(other.0) }, PhantomData)
    }

    #[inline(always)]
    fn shift_lanes_down(self, count: u32) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.shift_lanes_right(count) }, PhantomData)
    }

    #[inline(always)]
    fn rotate_lanes_left<const COUNT: u32>(self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.rotate_lanes_left(COUNT) }, PhantomData)
    }

    #[inline(always)]
    fn filled(self, lane: u32) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { R::splat_u32(lane) }, PhantomData)
    }

    #[inline(always)]
    fn multiply_lanes_high(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.multiply_high_u32(other.0) }, PhantomData)
    }

    #[inline(always)]
    fn look_up_public(self, table: &[u32]) -> Self {
        let mut bytes = [0; 64];
        self.store(&mut bytes[..Self::BYTES]);
        for lane in bytes[..Self::BYTES].as_chunks_mut::<4>().0 {
            *lane = u32::from_le_bytes(*lane).look_up_public(table).to_le_bytes();
        }
        // SAFETY: a value of this type exists, so its instructions do. The array holds any register.
        Self(unsafe { R::load(bytes.as_ptr()) }, PhantomData)
    }

    #[inline(always)]
    fn single(operation: Arithmetic, a: Self, b: Self) -> Self {
        // SAFETY: values of this type exist, so its instructions do.
        Self(unsafe { R::single(operation, a.0, b.0) }, PhantomData)
    }

    #[inline(always)]
    fn double(operation: Arithmetic, [low_a, high_a]: [Self; 2], [low_b, high_b]: [Self; 2]) -> [Self; 2] {
        // SAFETY: values of this type exist, so its instructions do.
        let (low, high) = unsafe {
            let (a0, a1) = R::interleave_u32(low_a.0, high_a.0);
            let (b0, b1) = R::interleave_u32(low_b.0, high_b.0);
            R::halves(R::double(operation, a0, b0), R::double(operation, a1, b1))
        };
        [Self(low, PhantomData), Self(high, PhantomData)]
    }
}

impl<R: Raw, I: Isa> ByteLanes for Vector<R, I> {
    #[inline(always)]
    fn interleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: a value of this type exists, so its instructions do.
        let (low, high) = unsafe { R::interleave(a.0, b.0) };
        (Self(low, PhantomData), Self(high, PhantomData))
    }

    #[inline(always)]
    fn broadcast(_isa: I, lane: &[u8; 16]) -> Self {
        // SAFETY: the caller has the token, and a lane is as long as a 128-bit register.
        Self(unsafe { R::broadcast(_mm_loadu_si128(lane.as_ptr().cast())) }, PhantomData)
    }

    #[inline(always)]
    fn load_lanes(_isa: I, bytes: &[u8]) -> Self {
        assert!(bytes.len() <= Self::BYTES && bytes.len().is_multiple_of(16));
        // SAFETY: the caller has the token, and the slice has this number of lanes.
        Self(unsafe { R::load_lanes(bytes.as_ptr(), bytes.len() / 16) }, PhantomData)
    }

    #[inline(always)]
    fn store_lanes(self, bytes: &mut [u8]) {
        assert!(bytes.len() <= Self::BYTES && bytes.len().is_multiple_of(16));
        // SAFETY: a value of this type exists, and the slice has this number of lanes.
        unsafe { self.0.store_lanes(bytes.as_mut_ptr(), bytes.len() / 16) }
    }

    #[inline(always)]
    fn load_part(isa: I, bytes: &[u8]) -> Self {
        assert!(bytes.len() <= Self::BYTES);
        // A full load can be forwarded from a recent store. A masked load cannot.
        if bytes.len() == Self::BYTES {
            return Self::load(isa, bytes);
        }
        // An empty slice may point to unmapped memory. There a masked load takes the CPU hundreds of cycles.
        if bytes.is_empty() {
            return Self::splat(isa, 0);
        }
        // SAFETY: the caller has the token, and the slice has this number of bytes.
        Self(unsafe { R::load_part(bytes.as_ptr(), bytes.len()) }, PhantomData)
    }

    #[inline(always)]
    fn load_part_just_stored(isa: I, bytes: &[u8]) -> Self {
        assert!(bytes.len() <= Self::BYTES);
        if bytes.len() == Self::BYTES {
            return Self::load(isa, bytes);
        }
        if bytes.is_empty() {
            return Self::splat(isa, 0);
        }
        // SAFETY: the caller has the token, and the slice has this number of bytes.
        Self(unsafe { R::load_part_in_pieces(bytes.as_ptr(), bytes.len()) }, PhantomData)
    }

    #[inline(always)]
    fn store_part(self, bytes: &mut [u8]) {
        assert!(bytes.len() <= Self::BYTES);
        if bytes.len() == Self::BYTES {
            return self.store(bytes);
        }
        if bytes.is_empty() {
            return;
        }
        // SAFETY: a value of this type exists, and the slice has this number of bytes.
        unsafe { self.0.store_part(bytes.as_mut_ptr(), bytes.len()) }
    }

    #[inline(always)]
    fn first_bytes(self, len_bytes: usize) -> Self {
        assert!(len_bytes <= Self::BYTES);
        // SAFETY: a value of this type exists, and it has at least this number of bytes.
        Self(unsafe { self.0.first_bytes(len_bytes) }, PhantomData)
    }

    #[inline(always)]
    unsafe fn store_past_caches(self, bytes: &mut [u8]) {
        assert!(bytes.len() == Self::BYTES && bytes.as_ptr().addr().is_multiple_of(Self::BYTES));
        // SAFETY: a value of this type exists, and the slice is as long as the register and aligned.
        unsafe { self.0.store_past_caches(bytes.as_mut_ptr()) }
    }

    #[inline(always)]
    fn load_lowest(_isa: I, lane: &[u8; 16]) -> Self {
        // SAFETY: the caller has the token, and a lane is as long as a 128-bit register.
        Self(unsafe { R::from_lowest_lane(_mm_loadu_si128(lane.as_ptr().cast())) }, PhantomData)
    }

    #[inline(always)]
    fn store_lowest(self, lane: &mut [u8; 16]) {
        // SAFETY: a value of this type exists, and a lane is as long as a 128-bit register.
        unsafe { _mm_storeu_si128(lane.as_mut_ptr().cast(), self.0.lowest_lane()) }
    }

    #[inline(always)]
    fn shuffle_bytes(self, indices: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.shuffle_bytes(indices.0) }, PhantomData)
    }

    #[inline(always)]
    fn shuffle_bytes_up_to_15(self, isa: I, indices: Self) -> Self {
        // PSHUFB takes indices below 128 modulo 16.
        self.shuffle_bytes(indices.add_bytes(Self::splat(isa, eight(0x70))))
    }

    #[inline(always)]
    fn byte_where_top_bit_is_clear(isa: I, byte: u8, selector: Self) -> Self {
        // PSHUFB takes indices below 128 modulo 16, and all bytes are equal.
        Self::splat(isa, eight(byte)).shuffle_bytes(selector)
    }

    #[inline(always)]
    fn add_bytes(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.add_u8(other.0) }, PhantomData)
    }

    #[inline(always)]
    fn zero_bytes(self) -> u64 {
        // SAFETY: a value of this type exists, so its instructions do.
        unsafe { self.0.zero_bytes() }
    }
}

macro_rules! galois_bytes {
    ($Word:ident, $affine:ident, $affine_of_inverse:ident, $multiply:ident) => {
        impl GaloisBytes for $Word {
            #[inline(always)]
            fn affine<const ADD: i32>(self, isa: Self::Isa, matrix: u64) -> Self {
                // SAFETY: a value of this type exists, so GFNI on its width does.
                Self(unsafe { $affine::<ADD>(self.0, Self::splat(isa, matrix).0) }, PhantomData)
            }

            #[inline(always)]
            fn affine_of_inverse<const ADD: i32>(self, isa: Self::Isa, matrix: u64) -> Self {
                // SAFETY: a value of this type exists, so GFNI on its width does.
                Self(unsafe { $affine_of_inverse::<ADD>(self.0, Self::splat(isa, matrix).0) }, PhantomData)
            }

            #[inline(always)]
            fn multiply_bytes(self, other: Self) -> Self {
                // SAFETY: a value of this type exists, so GFNI on its width does.
                Self(unsafe { $multiply(self.0, other.0) }, PhantomData)
            }
        }
    };
}

galois_bytes!(
    GfniWord256,
    _mm256_gf2p8affine_epi64_epi8,
    _mm256_gf2p8affineinv_epi64_epi8,
    _mm256_gf2p8mul_epi8
);
galois_bytes!(
    GfniWord512,
    _mm512_gf2p8affine_epi64_epi8,
    _mm512_gf2p8affineinv_epi64_epi8,
    _mm512_gf2p8mul_epi8
);

galois_bytes!(
    GfniVbmiWord512,
    _mm512_gf2p8affine_epi64_epi8,
    _mm512_gf2p8affineinv_epi64_epi8,
    _mm512_gf2p8mul_epi8
);

/// Tokens whose CPUs have VBMI on 512-bit registers.
trait VbmiIsa: Isa {}
impl VbmiIsa for Vbmi512 {}
impl VbmiIsa for GfniVbmi512 {}

impl<I: VbmiIsa> ByteTables for Vector<__m512i, I> {
    #[inline(always)]
    fn look_up(self, table: &[Self; 4]) -> Self {
        // SAFETY: values of this type exist, so the CPU has AVX-512 BW and VBMI.
        //
        // Each permutation looks up the low seven bits of an index in 128 bytes. The eighth bit chooses
        // between the two results.
        Self(
            unsafe {
                let low = _mm512_permutex2var_epi8(table[0].0, self.0, table[1].0);
                let high = _mm512_permutex2var_epi8(table[2].0, self.0, table[3].0);
                _mm512_mask_blend_epi8(_mm512_movepi8_mask(self.0), low, high)
            },
            PhantomData,
        )
    }
}
