//! One unsafe trait for the intrinsics of all register widths.
//!
//! [`Raw`] has a method for each operation. The macro `raw!` implements it for `__m128i`, `__m256i` and
//! `__m512i`. If an operation is one intrinsic at every width, the macro takes its name. Otherwise the body
//! is written out for each width.
//!
//! Methods that compute are compiled with their instructions enabled. The compiler then merges each intrinsic
//! into its method before LLVM sees it, and LLVM inlines one small function for each operation. Everything else
//! here is `#[inline(always)]`, also loads, stores, broadcasts, byte shuffles and AES rounds: kernels of AES are
//! slower if LLVM inlines these late. A call to a function without the caller's instructions would pass registers
//! through memory. Closures are avoided for the same reason.

use std::arch::asm;
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _bzhi_u64, _mm_add_epi8, _mm_add_epi32, _mm_add_epi64, _mm_aesdec_si128,
    _mm_aesdeclast_si128, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_and_si128, _mm_castsi128_ps,
    _mm_clmulepi64_si128, _mm_cmpeq_epi8, _mm_cmpeq_epi32, _mm_cvtsi32_si128, _mm_loadu_si128,
    _mm_movemask_epi8, _mm_movemask_ps, _mm_mul_epu32, _mm_or_si128, _mm_set1_epi32, _mm_set1_epi64x,
    _mm_setzero_si128, _mm_shuffle_epi8, _mm_sll_epi32, _mm_sll_epi64, _mm_slli_epi64, _mm_srl_epi32,
    _mm_srl_epi64, _mm_srli_epi64, _mm_storeu_si128, _mm_stream_si128, _mm_unpackhi_epi8, _mm_unpackhi_epi32,
    _mm_unpackhi_epi64, _mm_unpacklo_epi8, _mm_unpacklo_epi32, _mm_unpacklo_epi64, _mm_xor_si128,
    _mm256_add_epi8, _mm256_add_epi32, _mm256_add_epi64, _mm256_aesdec_epi128, _mm256_aesdeclast_epi128,
    _mm256_aesenc_epi128, _mm256_aesenclast_epi128, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_castsi256_ps, _mm256_castsi256_si128, _mm256_clmulepi64_epi128, _mm256_cmpeq_epi8,
    _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_movemask_ps, _mm256_mullo_epi32,
    _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_sll_epi32, _mm256_sll_epi64, _mm256_srl_epi32, _mm256_srl_epi64,
    _mm256_storeu_si256, _mm256_stream_si256, _mm256_unpackhi_epi8, _mm256_unpackhi_epi32,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi8, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
    _mm256_xor_si256, _mm256_zextsi128_si256, _mm512_add_epi8, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_aesdec_epi128, _mm512_aesdeclast_epi128, _mm512_aesenc_epi128, _mm512_aesenclast_epi128,
    _mm512_alignr_epi64, _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_castsi512_si128,
    _mm512_clmulepi64_epi128, _mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_mask_storeu_epi64,
    _mm512_maskz_loadu_epi8, _mm512_maskz_loadu_epi64, _mm512_maskz_mov_epi8, _mm512_mullo_epi32,
    _mm512_rolv_epi32, _mm512_rolv_epi64, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_shuffle_epi8,
    _mm512_shuffle_i64x2, _mm512_sll_epi32, _mm512_sll_epi64, _mm512_srl_epi32, _mm512_srl_epi64,
    _mm512_storeu_si512, _mm512_stream_si512, _mm512_ternarylogic_epi64, _mm512_testn_epi8_mask,
    _mm512_testn_epi32_mask, _mm512_unpackhi_epi8, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi8, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64, _mm512_xor_si512,
    _mm512_zextsi128_si512,
};

use super::numbers::Numbers;
use super::parts;
use crate::arch::ones_then_zeros;

/// The operations of one register width. All methods need the instructions of that width.
pub(super) trait Raw: Numbers + Copy + Send + Sync + 'static {
    const BITS: usize;

    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn splat(pattern: u64) -> Self;
    unsafe fn load(bytes: *const u8) -> Self;
    unsafe fn store(self, bytes: *mut u8);
    /// A streaming store to an address that is a multiple of the register's length. A fence must follow
    /// before these bytes are accessed again.
    unsafe fn store_past_caches(self, bytes: *mut u8);
    unsafe fn shift_right(self, count: u32) -> Self;
    unsafe fn shift_left(self, count: u32) -> Self;
    unsafe fn splat_u32(lane: u32) -> Self;
    unsafe fn add_u32(self, other: Self) -> Self;
    unsafe fn interleave_u32(a: Self, b: Self) -> (Self, Self);
    unsafe fn shift_lanes_right(self, count: u32) -> Self;
    unsafe fn shift_lanes_left(self, count: u32) -> Self;
    unsafe fn interleave(a: Self, b: Self) -> (Self, Self);
    unsafe fn interleave_halves(a: Self, b: Self) -> (Self, Self);
    unsafe fn broadcast(block: __m128i) -> Self;
    unsafe fn shuffle_bytes(self, indices: Self) -> Self;
    unsafe fn add_u64(self, other: Self) -> Self;
    unsafe fn add_u8(self, other: Self) -> Self;
    unsafe fn carryless<const HALVES: i32>(self, other: Self) -> Self;
    unsafe fn aes_enc(self, key: Self) -> Self;
    unsafe fn aes_enc_last(self, key: Self) -> Self;
    unsafe fn aes_dec(self, key: Self) -> Self;
    unsafe fn aes_dec_last(self, key: Self) -> Self;
    unsafe fn multiply_u32(self, other: Self) -> Self;
    /// Bit i is set if byte i is zero.
    unsafe fn zero_bytes(self) -> u64;
    /// Bit i is set if 32-bit lane i is zero.
    unsafe fn zero_u32(self) -> u64;
    /// Moves each 128-bit lane up by one lane. The last lane of `before` becomes the first.
    unsafe fn preceded_by(self, before: Self) -> Self;
    /// The even 128-bit lanes of `a`, then those of `b`. The second result has the odd lanes.
    unsafe fn unzip_lanes(a: Self, b: Self) -> (Self, Self);
    /// Reads `lanes` 128-bit lanes and no further byte.
    unsafe fn load_lanes(bytes: *const u8, lanes: usize) -> Self;
    /// Writes `lanes` 128-bit lanes and no further byte.
    unsafe fn store_lanes(self, bytes: *mut u8, lanes: usize);
    /// The lowest 128 bits.
    unsafe fn lowest_lane(self) -> __m128i;
    /// A register with `lane` as its lowest 128 bits and zeros above.
    unsafe fn from_lowest_lane(lane: __m128i) -> Self;

    /// Reads `len_bytes` bytes and no further byte. The others are zero. `len_bytes` is at least 1 and less than
    /// the register's length.
    unsafe fn load_part(bytes: *const u8, len_bytes: usize) -> Self;
    /// The same without masked loads.
    #[inline(always)]
    unsafe fn load_part_in_pieces(bytes: *const u8, len_bytes: usize) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::load_part(bytes, len_bytes) }
    }
    /// Writes the first `len_bytes` bytes and no further byte. `len_bytes` is at least 1 and less than the
    /// register's length.
    unsafe fn store_part(self, bytes: *mut u8, len_bytes: usize);
    /// The first `len_bytes` bytes, at most the register's length, followed by zeros.
    #[inline(always)]
    unsafe fn first_bytes(self, len_bytes: usize) -> Self {
        // SAFETY: the caller guarantees the instructions of this width. From this offset on the table has
        // `len_bytes` ones, then zeros, for the length of a register.
        unsafe { self.and(Self::load(ONES_THEN_ZEROS.as_ptr().add(64 - len_bytes))) }
    }

    /// The same value, in a register at this point. The compiler keeps the instructions that compute and use
    /// it in program order.
    #[inline(always)]
    unsafe fn pinned(self) -> Self {
        self
    }

    // Operations for which only 512-bit registers have an instruction.

    /// Whether a three-input gate is one instruction.
    const HAS_TERNARY: bool = Self::BITS == 512;

    /// A three-input gate if the CPU has it: bit 4·a + 2·b + c of `TABLE`.
    #[inline(always)]
    unsafe fn ternary<const TABLE: i32>(_a: Self, _b: Self, _c: Self) -> Option<Self> {
        None
    }
    /// For each bit, that of `one` if the bit of `self` is set, else that of `zero`.
    #[inline(always)]
    unsafe fn select(self, one: Self, zero: Self) -> Self {
        // SAFETY: the caller has the instructions of this width.
        unsafe { zero.xor(self.and(one.xor(zero))) }
    }
    /// 32-bit lanes rotated left by `count` bits, 1 to 31.
    #[inline(always)]
    unsafe fn rotate_lanes_left(self, count: u32) -> Self {
        // SAFETY: the caller has the instructions of this width.
        unsafe { self.shift_lanes_left(count).xor(self.shift_lanes_right(32 - count)) }
    }
    /// 64-bit lanes rotated left by `count` bits, 1 to 63.
    #[inline(always)]
    unsafe fn rotate_u64_left(self, count: u32) -> Self {
        // SAFETY: the caller has the instructions of this width.
        unsafe { self.shift_left(count).xor(self.shift_right(64 - count)) }
    }
}

macro_rules! raw {
    ($Raw:ident, $bits:literal, $features:literal,
     xor $xor:ident, and $and:ident, splat $splat:ident, load $load:ident, store $store:ident $stream:ident,
     shift $srl:ident $sll:ident,
     lanes $splat32:ident $add32:ident $lo32:ident $hi32:ident $sll32:ident $srl32:ident,
     unpack $lo8:ident $hi8:ident $lo64:ident $hi64:ident,
     broadcast $broadcast:expr, shuffle $shuffle:ident, add $add64:ident $add8:ident,
     aes $enc:ident $enc_last:ident $dec:ident $dec_last:ident,
     carryless $carryless:ident,
     $(fn $name:ident $(<const $C:ident: i32>)? ($($in:tt)*) $(-> $out:ty)? $body:block)*
     $(long fn $long:ident ($($long_in:tt)*) $(-> $long_out:ty)? $long_body:block)*) => {
        // Every method: the caller guarantees the instructions of this width, and the AES and carry-less
        // instructions that a method uses.
        #[allow(clippy::undocumented_unsafe_blocks, reason = "said once, above")]
        #[allow(unused_unsafe, reason = "not every width needs an instruction for everything")]
        impl Raw for $Raw {
            const BITS: usize = $bits;

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn xor(self, other: Self) -> Self {
                unsafe { $xor(self, other) }
            }
            #[inline]
            #[target_feature(enable = $features)]
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
            unsafe fn store_past_caches(self, bytes: *mut u8) {
                unsafe { $stream(bytes.cast(), self) }
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn shift_right(self, count: u32) -> Self {
                unsafe { $srl(self, _mm_cvtsi32_si128(count.cast_signed())) }
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn shift_left(self, count: u32) -> Self {
                unsafe { $sll(self, _mm_cvtsi32_si128(count.cast_signed())) }
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn splat_u32(lane: u32) -> Self {
                unsafe { $splat32(lane.cast_signed()) }
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn add_u32(self, other: Self) -> Self {
                unsafe { $add32(self, other) }
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn interleave_u32(a: Self, b: Self) -> (Self, Self) {
                unsafe { ($lo32(a, b), $hi32(a, b)) }
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn shift_lanes_right(self, count: u32) -> Self {
                unsafe { $srl32(self, _mm_cvtsi32_si128(count.cast_signed())) }
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn shift_lanes_left(self, count: u32) -> Self {
                unsafe { $sll32(self, _mm_cvtsi32_si128(count.cast_signed())) }
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn interleave(a: Self, b: Self) -> (Self, Self) {
                unsafe { ($lo8(a, b), $hi8(a, b)) }
            }
            #[inline]
            #[target_feature(enable = $features)]
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
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn add_u64(self, other: Self) -> Self {
                unsafe { $add64(self, other) }
            }
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn add_u8(self, other: Self) -> Self {
                unsafe { $add8(self, other) }
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
            $(
                #[inline]
                #[target_feature(enable = $features)]
                unsafe fn $name $(<const $C: i32>)? ($($in)*) $(-> $out)? {
                    unsafe { $body }
                }
            )*
            // LLVM might not inline these without being told to.
            $(
                #[inline(always)]
                unsafe fn $long ($($long_in)*) $(-> $long_out)? {
                    unsafe { $long_body }
                }
            )*
        }
    };
}

raw!(
    __m128i, 128, "sse2,ssse3",
    xor _mm_xor_si128, and _mm_and_si128, splat _mm_set1_epi64x, load _mm_loadu_si128, store _mm_storeu_si128 _mm_stream_si128,
    shift _mm_srl_epi64 _mm_sll_epi64,
    lanes _mm_set1_epi32 _mm_add_epi32 _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_sll_epi32 _mm_srl_epi32,
    unpack _mm_unpacklo_epi8 _mm_unpackhi_epi8 _mm_unpacklo_epi64 _mm_unpackhi_epi64,
    broadcast std::convert::identity, shuffle _mm_shuffle_epi8, add _mm_add_epi64 _mm_add_epi8,
    aes _mm_aesenc_si128 _mm_aesenclast_si128 _mm_aesdec_si128 _mm_aesdeclast_si128,
    carryless _mm_clmulepi64_si128,
    fn multiply_u32(self, other: Self) -> Self {
        let even = _mm_and_si128(_mm_mul_epu32(self, other), _mm_set1_epi64x(0xffff_ffff));
        let odd = _mm_mul_epu32(_mm_srli_epi64::<32>(self), _mm_srli_epi64::<32>(other));
        _mm_or_si128(even, _mm_slli_epi64::<32>(odd))
    }
    fn zero_bytes(self) -> u64 {
        u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(self, _mm_setzero_si128())).cast_unsigned())
    }
    fn zero_u32(self) -> u64 {
        let equal = _mm_cmpeq_epi32(self, _mm_setzero_si128());
        u64::from(_mm_movemask_ps(_mm_castsi128_ps(equal)).cast_unsigned())
    }
    fn preceded_by(self, before: Self) -> Self { before }
    fn unzip_lanes(a: Self, b: Self) -> (Self, Self) { (a, b) }
    fn load_lanes(bytes: *const u8, lanes: usize) -> Self {
        if lanes == 0 { _mm_setzero_si128() } else { _mm_loadu_si128(bytes.cast()) }
    }
    fn store_lanes(self, bytes: *mut u8, lanes: usize) {
        if lanes > 0 { _mm_storeu_si128(bytes.cast(), self); }
    }
    fn lowest_lane(self) -> __m128i { self }
    fn from_lowest_lane(lane: __m128i) -> Self { lane }
    long fn load_part(bytes: *const u8, len_bytes: usize) -> Self { parts::load_part(bytes, len_bytes) }
    long fn store_part(self, bytes: *mut u8, len_bytes: usize) { parts::store_part(self, bytes, len_bytes); }
);
raw!(
    __m256i, 256, "avx2",
    xor _mm256_xor_si256, and _mm256_and_si256, splat _mm256_set1_epi64x, load _mm256_loadu_si256, store _mm256_storeu_si256 _mm256_stream_si256,
    shift _mm256_srl_epi64 _mm256_sll_epi64,
    lanes _mm256_set1_epi32 _mm256_add_epi32 _mm256_unpacklo_epi32 _mm256_unpackhi_epi32 _mm256_sll_epi32 _mm256_srl_epi32,
    unpack _mm256_unpacklo_epi8 _mm256_unpackhi_epi8 _mm256_unpacklo_epi64 _mm256_unpackhi_epi64,
    broadcast _mm256_broadcastsi128_si256, shuffle _mm256_shuffle_epi8, add _mm256_add_epi64 _mm256_add_epi8,
    aes _mm256_aesenc_epi128 _mm256_aesenclast_epi128 _mm256_aesdec_epi128 _mm256_aesdeclast_epi128,
    carryless _mm256_clmulepi64_epi128,
    fn multiply_u32(self, other: Self) -> Self { _mm256_mullo_epi32(self, other) }
    fn zero_bytes(self) -> u64 {
        u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(self, _mm256_setzero_si256())).cast_unsigned())
    }
    fn zero_u32(self) -> u64 {
        let equal = _mm256_cmpeq_epi32(self, _mm256_setzero_si256());
        u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(equal)).cast_unsigned())
    }
    fn preceded_by(self, before: Self) -> Self { _mm256_permute2x128_si256::<0x21>(before, self) }
    fn unzip_lanes(a: Self, b: Self) -> (Self, Self) {
        (_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b))
    }
    fn load_lanes(bytes: *const u8, lanes: usize) -> Self {
        match lanes {
            0 => _mm256_setzero_si256(),
            1 => _mm256_zextsi128_si256(_mm_loadu_si128(bytes.cast())),
            _ => _mm256_loadu_si256(bytes.cast()),
        }
    }
    fn store_lanes(self, bytes: *mut u8, lanes: usize) {
        match lanes {
            0 => {}
            1 => _mm_storeu_si128(bytes.cast(), _mm256_castsi256_si128(self)),
            _ => _mm256_storeu_si256(bytes.cast(), self),
        }
    }
    fn lowest_lane(self) -> __m128i { _mm256_castsi256_si128(self) }
    fn from_lowest_lane(lane: __m128i) -> Self { _mm256_zextsi128_si256(lane) }
    long fn load_part(bytes: *const u8, len_bytes: usize) -> Self { parts::load_part_of_two(bytes, len_bytes) }
    long fn store_part(self, bytes: *mut u8, len_bytes: usize) { parts::store_part_of_two(self, bytes, len_bytes); }
);
raw!(
    __m512i, 512, "avx512f,avx512bw",
    xor _mm512_xor_si512, and _mm512_and_si512, splat _mm512_set1_epi64, load _mm512_loadu_si512, store _mm512_storeu_si512 _mm512_stream_si512,
    shift _mm512_srl_epi64 _mm512_sll_epi64,
    lanes _mm512_set1_epi32 _mm512_add_epi32 _mm512_unpacklo_epi32 _mm512_unpackhi_epi32 _mm512_sll_epi32 _mm512_srl_epi32,
    unpack _mm512_unpacklo_epi8 _mm512_unpackhi_epi8 _mm512_unpacklo_epi64 _mm512_unpackhi_epi64,
    broadcast _mm512_broadcast_i32x4, shuffle _mm512_shuffle_epi8, add _mm512_add_epi64 _mm512_add_epi8,
    aes _mm512_aesenc_epi128 _mm512_aesenclast_epi128 _mm512_aesdec_epi128 _mm512_aesdeclast_epi128,
    carryless _mm512_clmulepi64_epi128,
    fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Option<Self> {
        Some(_mm512_ternarylogic_epi64::<TABLE>(a, b, c))
    }
    fn select(self, one: Self, zero: Self) -> Self { _mm512_ternarylogic_epi64::<0xca>(self, one, zero) }
    fn rotate_lanes_left(self, count: u32) -> Self {
        _mm512_rolv_epi32(self, _mm512_set1_epi32(count.cast_signed()))
    }
    fn rotate_u64_left(self, count: u32) -> Self {
        _mm512_rolv_epi64(self, _mm512_set1_epi64(i64::from(count)))
    }
    fn multiply_u32(self, other: Self) -> Self { _mm512_mullo_epi32(self, other) }
    fn zero_bytes(self) -> u64 { _mm512_testn_epi8_mask(self, self) }
    fn zero_u32(self) -> u64 { u64::from(_mm512_testn_epi32_mask(self, self)) }
    fn preceded_by(self, before: Self) -> Self { _mm512_alignr_epi64::<6>(self, before) }
    fn unzip_lanes(a: Self, b: Self) -> (Self, Self) {
        (_mm512_shuffle_i64x2::<0b10_00_10_00>(a, b), _mm512_shuffle_i64x2::<0b11_01_11_01>(a, b))
    }
    fn load_lanes(bytes: *const u8, lanes: usize) -> Self {
        _mm512_maskz_loadu_epi64(quadwords(lanes), bytes.cast())
    }
    fn store_lanes(self, bytes: *mut u8, lanes: usize) {
        _mm512_mask_storeu_epi64(bytes.cast(), quadwords(lanes), self);
    }
    fn lowest_lane(self) -> __m128i { _mm512_castsi512_si128(self) }
    fn from_lowest_lane(lane: __m128i) -> Self { _mm512_zextsi128_si512(lane) }
    fn first_bytes(self, len_bytes: usize) -> Self { _mm512_maskz_mov_epi8(first_bytes(len_bytes), self) }
    long fn load_part(bytes: *const u8, len_bytes: usize) -> Self {
        _mm512_maskz_loadu_epi8(first_bytes(len_bytes), bytes.cast())
    }
    long fn load_part_in_pieces(bytes: *const u8, len_bytes: usize) -> Self { parts::load_part_of_four(bytes, len_bytes) }
    long fn store_part(self, bytes: *mut u8, len_bytes: usize) {
        _mm512_mask_storeu_epi8(bytes.cast(), first_bytes(len_bytes), self);
    }
    long fn pinned(self) -> Self { pinned(self) }
);

/// [`Raw::pinned`] of 512-bit registers.
#[target_feature(enable = "avx512f")]
#[inline]
fn pinned(mut word: __m512i) -> __m512i {
    // SAFETY: the assembly contains no instruction. The compiler keeps assembly blocks in order.
    unsafe { asm!("/* {} */", inout(zmm_reg) word, options(nomem, nostack, preserves_flags)) };
    word
}

/// 64 bytes with all bits set, then 64 zeros.
static ONES_THEN_ZEROS: [u8; 128] = ones_then_zeros();

/// The mask of the first `len_bytes` bytes.
///
/// # Safety
/// The CPU must have BMI2. Every CPU with AVX-512 has it.
#[inline(always)]
unsafe fn first_bytes(len_bytes: usize) -> u64 {
    // SAFETY: the caller guarantees BMI2.
    unsafe { _bzhi_u64(u64::MAX, len_bytes as u32) }
}

/// The mask of the first `lanes` 128-bit lanes, one bit for each 64 bits.
#[inline(always)]
const fn quadwords(lanes: usize) -> u8 {
    ((1_u32 << (2 * lanes)) - 1) as u8
}
