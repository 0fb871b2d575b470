//! The vector registers of x86-64: 128, 256 and 512 bits, with and without AES and GFNI.
//!
//! `Raw` names what the intrinsics do, once a width, unsafely. `Vector<R, I>` is a raw register
//! together with the token type that vouches for it; it is what kernels see, and safe.
//! Needs: `std::arch`. Holds: a `Vector<_, I>` exists only where a token `I` was made by `detect`.

mod tokens;

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi8, _mm_add_epi32, _mm_add_epi64, _mm_aesdec_si128,
    _mm_aesdeclast_si128, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_and_si128, _mm_castsi128_ps,
    _mm_clmulepi64_si128, _mm_cmpeq_epi8, _mm_cmpeq_epi32, _mm_cvtsi32_si128, _mm_loadu_si128,
    _mm_movemask_epi8, _mm_movemask_ps, _mm_mul_epu32, _mm_or_si128, _mm_set_epi8, _mm_set1_epi32,
    _mm_set1_epi64x, _mm_setzero_si128, _mm_shuffle_epi8, _mm_sll_epi32, _mm_sll_epi64, _mm_slli_epi64,
    _mm_srl_epi32, _mm_srl_epi64, _mm_srli_epi64, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpackhi_epi32,
    _mm_unpackhi_epi64, _mm_unpacklo_epi8, _mm_unpacklo_epi32, _mm_unpacklo_epi64, _mm_xor_si128,
    _mm256_add_epi8, _mm256_add_epi32, _mm256_add_epi64, _mm256_aesdec_epi128, _mm256_aesdeclast_epi128,
    _mm256_aesenc_epi128, _mm256_aesenclast_epi128, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_castsi256_ps, _mm256_clmulepi64_epi128, _mm256_cmpeq_epi8, _mm256_cmpeq_epi32,
    _mm256_gf2p8affine_epi64_epi8, _mm256_gf2p8affineinv_epi64_epi8, _mm256_gf2p8mul_epi8,
    _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_movemask_ps, _mm256_mullo_epi32, _mm256_or_si256,
    _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_sll_epi32, _mm256_sll_epi64, _mm256_srl_epi32, _mm256_srl_epi64,
    _mm256_storeu_si256, _mm256_unpackhi_epi8, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
    _mm256_unpacklo_epi8, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm256_xor_si256, _mm512_add_epi8,
    _mm512_add_epi32, _mm512_add_epi64, _mm512_aesdec_epi128, _mm512_aesdeclast_epi128, _mm512_aesenc_epi128,
    _mm512_aesenclast_epi128, _mm512_alignr_epi64, _mm512_and_si512, _mm512_broadcast_i32x4,
    _mm512_clmulepi64_epi128, _mm512_gf2p8affine_epi64_epi8, _mm512_gf2p8affineinv_epi64_epi8,
    _mm512_gf2p8mul_epi8, _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_movepi8_mask,
    _mm512_mullo_epi32, _mm512_permutex2var_epi8, _mm512_rolv_epi32, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_shuffle_epi8, _mm512_sll_epi32, _mm512_sll_epi64, _mm512_srl_epi32, _mm512_srl_epi64,
    _mm512_storeu_si512, _mm512_ternarylogic_epi64, _mm512_testn_epi8_mask, _mm512_testn_epi32_mask,
    _mm512_unpackhi_epi8, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi8,
    _mm512_unpacklo_epi32, _mm512_unpacklo_epi64, _mm512_xor_si512,
};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitXor, Not};

pub use self::tokens::{
    AesNi, Avx2, Avx512, Clmul, Gfni256, Gfni512, Sse2, Vaes256, Vaes512, Vbmi512, Vclmul256, Vclmul512,
};
pub(super) use self::tokens::{cpu_model, detect_features};
use super::{
    AesLanes, BitMatrices, ByteLanes, ByteTables, CarrylessLanes, GaloisBytes, Isa, Lane32, Lanes, Register,
    Shift, Word, gates,
};

/// What one register width can do. All of it needs that width's instructions.
trait Raw: Copy + Send + Sync + 'static {
    const BITS: usize;

    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn splat(pattern: u64) -> Self;
    unsafe fn load(bytes: *const u8) -> Self;
    unsafe fn store(self, bytes: *mut u8);
    unsafe fn shift_right(self, count: u32) -> Self;
    unsafe fn shift_left(self, count: u32) -> Self;
    /// A gate of three inputs, if there is one: `TABLE` at 4·a + 2·b + c.
    unsafe fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Option<Self>;
    unsafe fn splat_u32(lane: u32) -> Self;
    unsafe fn add_u32(self, other: Self) -> Self;
    unsafe fn interleave_u32(a: Self, b: Self) -> (Self, Self);
    unsafe fn multiply_u32(self, other: Self) -> Self;
    unsafe fn shift_lanes_left(self, count: u32) -> Self;
    unsafe fn shift_lanes_right(self, count: u32) -> Self;
    unsafe fn rotate_lanes_left(self, count: u32) -> Self;
    unsafe fn select(self, one: Self, zero: Self) -> Self;
    unsafe fn interleave(a: Self, b: Self) -> (Self, Self);
    unsafe fn interleave_halves(a: Self, b: Self) -> (Self, Self);
    unsafe fn broadcast(block: __m128i) -> Self;
    unsafe fn shuffle_bytes(self, indices: Self) -> Self;
    unsafe fn add_u64(self, other: Self) -> Self;
    unsafe fn add_u8(self, other: Self) -> Self;
    unsafe fn zero_bytes(self) -> u64;
    unsafe fn zero_u32(self) -> u64;
    unsafe fn preceded_by(self, before: Self) -> Self;
    unsafe fn carryless<const HALVES: i32>(self, other: Self) -> Self;
    unsafe fn aes_enc(self, key: Self) -> Self;
    unsafe fn aes_enc_last(self, key: Self) -> Self;
    unsafe fn aes_dec(self, key: Self) -> Self;
    unsafe fn aes_dec_last(self, key: Self) -> Self;
}

macro_rules! raw {
    ($Raw:ident, $bits:literal,
     xor $xor:ident, and $and:ident, splat $splat:ident, load $load:ident, store $store:ident,
     shift $srl:ident $sll:ident, lanes $splat32:ident $add32:ident $lo32:ident $hi32:ident $sll32:ident $srl32:ident $rol32:expr, $multiply32:expr, ternary $ternary:expr, unpack $lo8:ident $hi8:ident $lo64:ident $hi64:ident,
     broadcast $broadcast:expr, shuffle $shuffle:ident, add $add:ident $add8:ident,
     precede $precede:expr,
     aes $enc:ident $enc_last:ident $dec:ident $dec_last:ident, select $select:expr, carryless $carryless:ident, zeros $zeros:expr, $zeros32:expr) => {
        // Every method: the caller has the instructions of this width (and AES, where named).
        #[allow(clippy::undocumented_unsafe_blocks, reason = "said once, above")]
        #[allow(unused_unsafe, reason = "not every width needs an instruction for everything")]
        impl Raw for $Raw {
            const BITS: usize = $bits;

            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                unsafe { $xor(self, other) }
            }
            #[inline(always)]
            unsafe fn and(self, other: Self) -> Self {
                unsafe { $and(self, other) }
            }
            #[inline(always)]
            unsafe fn splat(pattern: u64) -> Self {
                unsafe { $splat(pattern.cast_signed()) }
            }
            #[inline(always)]
            unsafe fn load(bytes: *const u8) -> Self {
                unsafe { $load(bytes.cast()) }
            }
            #[inline(always)]
            unsafe fn store(self, bytes: *mut u8) {
                unsafe { $store(bytes.cast(), self) }
            }
            #[inline(always)]
            unsafe fn shift_right(self, count: u32) -> Self {
                unsafe { $srl(self, _mm_cvtsi32_si128(count.cast_signed())) }
            }
            #[inline(always)]
            unsafe fn shift_left(self, count: u32) -> Self {
                unsafe { $sll(self, _mm_cvtsi32_si128(count.cast_signed())) }
            }
            #[inline(always)]
            unsafe fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Option<Self> {
                unsafe { $ternary(a, b, c) }
            }
            #[inline(always)]
            unsafe fn splat_u32(lane: u32) -> Self {
                unsafe { $splat32(lane.cast_signed()) }
            }
            #[inline(always)]
            unsafe fn add_u32(self, other: Self) -> Self {
                unsafe { $add32(self, other) }
            }
            #[inline(always)]
            unsafe fn interleave_u32(a: Self, b: Self) -> (Self, Self) {
                unsafe { ($lo32(a, b), $hi32(a, b)) }
            }
            #[inline(always)]
            unsafe fn shift_lanes_left(self, count: u32) -> Self {
                unsafe { $sll32(self, _mm_cvtsi32_si128(count.cast_signed())) }
            }
            #[inline(always)]
            unsafe fn multiply_u32(self, other: Self) -> Self {
                unsafe { $multiply32(self, other) }
            }
            #[inline(always)]
            unsafe fn shift_lanes_right(self, count: u32) -> Self {
                unsafe { $srl32(self, _mm_cvtsi32_si128(count.cast_signed())) }
            }
            #[inline(always)]
            unsafe fn rotate_lanes_left(self, count: u32) -> Self {
                unsafe { $rol32(self, count.cast_signed()) }
            }
            #[inline(always)]
            unsafe fn select(self, one: Self, zero: Self) -> Self {
                unsafe { $select(self, one, zero) }
            }
            #[inline(always)]
            unsafe fn interleave(a: Self, b: Self) -> (Self, Self) {
                unsafe { ($lo8(a, b), $hi8(a, b)) }
            }
            #[inline(always)]
            unsafe fn interleave_halves(a: Self, b: Self) -> (Self, Self) {
                unsafe { ($lo64(a, b), $hi64(a, b)) }
            }
            #[inline(always)]
            unsafe fn broadcast(block: __m128i) -> Self {
                unsafe { $broadcast(block) }
            }
            #[inline(always)]
            unsafe fn shuffle_bytes(self, indices: Self) -> Self {
                unsafe { $shuffle(self, indices) }
            }
            #[inline(always)]
            unsafe fn add_u64(self, other: Self) -> Self {
                unsafe { $add(self, other) }
            }
            #[inline(always)]
            unsafe fn add_u8(self, other: Self) -> Self {
                unsafe { $add8(self, other) }
            }
            #[inline(always)]
            unsafe fn zero_bytes(self) -> u64 {
                unsafe { $zeros(self) }
            }
            #[inline(always)]
            unsafe fn zero_u32(self) -> u64 {
                unsafe { $zeros32(self) }
            }
            #[inline(always)]
            unsafe fn preceded_by(self, before: Self) -> Self {
                unsafe { $precede(self, before) }
            }
            #[inline(always)]
            unsafe fn carryless<const HALVES: i32>(self, other: Self) -> Self {
                unsafe { $carryless::<HALVES>(self, other) }
            }
            #[inline(always)]
            unsafe fn aes_enc(self, key: Self) -> Self {
                unsafe { $enc(self, key) }
            }
            #[inline(always)]
            unsafe fn aes_enc_last(self, key: Self) -> Self {
                unsafe { $enc_last(self, key) }
            }
            #[inline(always)]
            unsafe fn aes_dec(self, key: Self) -> Self {
                unsafe { $dec(self, key) }
            }
            #[inline(always)]
            unsafe fn aes_dec_last(self, key: Self) -> Self {
                unsafe { $dec_last(self, key) }
            }
        }
    };
}

raw!(
    __m128i, 128,
    xor _mm_xor_si128, and _mm_and_si128, splat _mm_set1_epi64x,
    load _mm_loadu_si128, store _mm_storeu_si128, shift _mm_srl_epi64 _mm_sll_epi64,
    lanes _mm_set1_epi32 _mm_add_epi32 _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_sll_epi32 _mm_srl_epi32
    |lanes: Self, count| {
        let right = _mm_cvtsi32_si128(32 - count);
        _mm_or_si128(_mm_sll_epi32(lanes, _mm_cvtsi32_si128(count)), _mm_srl_epi32(lanes, right))
    },
    |a: Self, b: Self| {
        let even = _mm_and_si128(_mm_mul_epu32(a, b), _mm_set1_epi64x(0xffff_ffff));
        let odd = _mm_mul_epu32(_mm_srli_epi64::<32>(a), _mm_srli_epi64::<32>(b));
        _mm_or_si128(even, _mm_slli_epi64::<32>(odd))
    },
    ternary |_, _, _| None,
    unpack _mm_unpacklo_epi8 _mm_unpackhi_epi8 _mm_unpacklo_epi64 _mm_unpackhi_epi64,
    broadcast std::convert::identity, shuffle _mm_shuffle_epi8, add _mm_add_epi64 _mm_add_epi8,
    precede |_, before| before,
    aes _mm_aesenc_si128 _mm_aesenclast_si128 _mm_aesdec_si128 _mm_aesdeclast_si128,
    select |mask: Self, one: Self, zero: Self| zero.xor(mask.and(one.xor(zero))),
    carryless _mm_clmulepi64_si128,
    zeros |bytes| u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())).cast_unsigned()),
    |lanes| u64::from(_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(lanes, _mm_setzero_si128()))).cast_unsigned())
);
raw!(
    __m256i, 256,
    xor _mm256_xor_si256, and _mm256_and_si256, splat _mm256_set1_epi64x,
    load _mm256_loadu_si256, store _mm256_storeu_si256, shift _mm256_srl_epi64 _mm256_sll_epi64,
    lanes _mm256_set1_epi32 _mm256_add_epi32 _mm256_unpacklo_epi32 _mm256_unpackhi_epi32 _mm256_sll_epi32 _mm256_srl_epi32
    |lanes: Self, count| {
        let right = _mm_cvtsi32_si128(32 - count);
        _mm256_or_si256(_mm256_sll_epi32(lanes, _mm_cvtsi32_si128(count)), _mm256_srl_epi32(lanes, right))
    },
    |a, b| _mm256_mullo_epi32(a, b),
    ternary |_, _, _| None,
    unpack _mm256_unpacklo_epi8 _mm256_unpackhi_epi8 _mm256_unpacklo_epi64 _mm256_unpackhi_epi64,
    broadcast _mm256_broadcastsi128_si256, shuffle _mm256_shuffle_epi8, add _mm256_add_epi64 _mm256_add_epi8,
    precede |word, before| _mm256_permute2x128_si256::<0x21>(before, word),
    aes _mm256_aesenc_epi128 _mm256_aesenclast_epi128 _mm256_aesdec_epi128 _mm256_aesdeclast_epi128,
    select |mask: Self, one: Self, zero: Self| zero.xor(mask.and(one.xor(zero))),
    carryless _mm256_clmulepi64_epi128,
    zeros |bytes| u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256())).cast_unsigned()),
    |lanes| {
        let equal = _mm256_cmpeq_epi32(lanes, _mm256_setzero_si256());
        u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(equal)).cast_unsigned())
    }
);
raw!(
    __m512i, 512,
    xor _mm512_xor_si512, and _mm512_and_si512, splat _mm512_set1_epi64,
    load _mm512_loadu_si512, store _mm512_storeu_si512, shift _mm512_srl_epi64 _mm512_sll_epi64,
    lanes _mm512_set1_epi32 _mm512_add_epi32 _mm512_unpacklo_epi32 _mm512_unpackhi_epi32 _mm512_sll_epi32 _mm512_srl_epi32
    |lanes: Self, count| _mm512_rolv_epi32(lanes, _mm512_set1_epi32(count)),
    |a, b| _mm512_mullo_epi32(a, b),
    ternary |a, b, c| Some(_mm512_ternarylogic_epi64::<TABLE>(a, b, c)),
    unpack _mm512_unpacklo_epi8 _mm512_unpackhi_epi8 _mm512_unpacklo_epi64 _mm512_unpackhi_epi64,
    broadcast _mm512_broadcast_i32x4, shuffle _mm512_shuffle_epi8, add _mm512_add_epi64 _mm512_add_epi8,
    precede |word, before| _mm512_alignr_epi64::<6>(word, before),
    aes _mm512_aesenc_epi128 _mm512_aesenclast_epi128 _mm512_aesdec_epi128 _mm512_aesdeclast_epi128,
    select |mask, one, zero| _mm512_ternarylogic_epi64::<0xca>(mask, one, zero),
    carryless _mm512_clmulepi64_epi128,
    zeros |bytes| _mm512_testn_epi8_mask(bytes, bytes),
    |lanes| u64::from(_mm512_testn_epi32_mask(lanes, lanes))
);

/// A register whose instructions the token type `I` vouches for.
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
}

// SAFETY: a transparent wrapper of a register of `R::BITS` bits; every way to make one takes the token.
unsafe impl<R: Raw, I: Isa> Register for Vector<R, I> {
    type Isa = I;

    const BITS: usize = R::BITS;

    #[inline(always)]
    fn splat(_isa: I, pattern: u64) -> Self {
        // SAFETY: the token is there.
        Self(unsafe { R::splat(pattern) }, PhantomData)
    }

    #[inline(always)]
    fn load(_isa: I, bytes: &[u8]) -> Self {
        assert!(bytes.len() == Self::BYTES);
        // SAFETY: the token is there, and the slice is as long as the register.
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

    #[inline(always)]
    fn select(self, one: Self, zero: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.select(one.0, zero.0) }, PhantomData)
    }
}

impl<R: Raw, I: Isa> Lane32 for Vector<R, I> {
    #[inline(always)]
    fn splat_lanes(_isa: I, lane: u32) -> Self {
        // SAFETY: the token is there.
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

impl<R: Raw, I: Isa> Lanes for Vector<R, I> {
    #[inline(always)]
    fn add_lanes(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.add_u32(other.0) }, PhantomData)
    }

    #[inline(always)]
    fn shift_lanes_left<const COUNT: u32>(self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.shift_lanes_left(COUNT) }, PhantomData)
    }

    #[inline(always)]
    fn multiply_lanes(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.multiply_u32(other.0) }, PhantomData)
    }

    #[inline(always)]
    fn shift_lanes_right<const COUNT: u32>(self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.shift_lanes_right(COUNT) }, PhantomData)
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
        // SAFETY: the token is there, and a lane is as long as a 128-bit register.
        Self(unsafe { R::broadcast(_mm_loadu_si128(lane.as_ptr().cast())) }, PhantomData)
    }

    #[inline(always)]
    fn pick(self, indices: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.shuffle_bytes(indices.0) }, PhantomData)
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

impl BitMatrices for GfniWord512 {
    #[inline(always)]
    fn transpose_8x8_reversed(self) -> Self {
        // SAFETY: a value of this type exists, so AVX-512 and GFNI do. The instruction multiplies its
        // first operand's bytes by the matrix in its second: with unit vectors as bytes (byte j =
        // 1 << j) it reads the data's columns, last row first.
        Self(
            unsafe {
                let units = _mm512_set1_epi64(0x8040_2010_0804_0201_u64.cast_signed());
                _mm512_gf2p8affine_epi64_epi8::<0>(units, self.0)
            },
            PhantomData,
        )
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

impl ByteTables for VbmiWord512 {
    #[inline(always)]
    fn look_up(self, table: &[Self; 4]) -> Self {
        // SAFETY: values of this type exist, so AVX-512 BW and VBMI do. Each permutation reads seven bits
        // of an index in 128 bytes; the eighth chooses between the two.
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

/// Tokens whose CPUs have AES rounds on registers of their width.
trait AesIsa: Isa {}
impl AesIsa for AesNi {}
impl AesIsa for Vaes256 {}
impl AesIsa for Vaes512 {}

impl<R: Raw, I: AesIsa> AesLanes for Vector<R, I> {
    #[inline(always)]
    fn encrypt_round(self, key: Self) -> Self {
        // SAFETY: a value of this type exists, so its AES instructions do.
        Self(unsafe { self.0.aes_enc(key.0) }, PhantomData)
    }

    #[inline(always)]
    fn encrypt_last_round(self, key: Self) -> Self {
        // SAFETY: a value of this type exists, so its AES instructions do.
        Self(unsafe { self.0.aes_enc_last(key.0) }, PhantomData)
    }

    #[inline(always)]
    fn decrypt_round(self, key: Self) -> Self {
        // SAFETY: a value of this type exists, so its AES instructions do.
        Self(unsafe { self.0.aes_dec(key.0) }, PhantomData)
    }

    #[inline(always)]
    fn decrypt_last_round(self, key: Self) -> Self {
        // SAFETY: a value of this type exists, so its AES instructions do.
        Self(unsafe { self.0.aes_dec_last(key.0) }, PhantomData)
    }

    #[inline(always)]
    fn add_low_u64(self, other: Self) -> Self {
        // SAFETY: a value of this type exists; callers keep the high halves of `other` at zero.
        Self(unsafe { self.0.add_u64(other.0) }, PhantomData)
    }

    #[inline(always)]
    fn preceded_by(self, before: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.preceded_by(before.0) }, PhantomData)
    }
}

/// Tokens whose CPUs have carry-less products on registers of their width.
trait CarrylessIsa: Isa {}
impl CarrylessIsa for Clmul {}
impl CarrylessIsa for Vclmul256 {}
impl CarrylessIsa for Vclmul512 {}

impl<R: Raw, I: CarrylessIsa> CarrylessLanes for Vector<R, I> {
    #[inline(always)]
    fn low_product(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its products do.
        Self(unsafe { self.0.carryless::<0x00>(other.0) }, PhantomData)
    }

    #[inline(always)]
    fn high_product(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its products do.
        Self(unsafe { self.0.carryless::<0x11>(other.0) }, PhantomData)
    }

    #[inline(always)]
    fn cross_products(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so its products do.
        Self(unsafe { self.0.carryless::<0x01>(other.0).xor(self.0.carryless::<0x10>(other.0)) }, PhantomData)
    }
}
