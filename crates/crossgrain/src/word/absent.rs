//! The twin of `x86` for machines without x86's registers: the same names, and nothing behind them.
//!
//! Tokens hold an impossible value, so none is ever detected, no word exists, and no method can be
//! reached. The table still lists the variants, as not available here.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitXor, Not};

use super::{
    AesLanes, BitMatrices, ByteLanes, ByteTables, CarrylessLanes, Features, GaloisBytes, Isa, Kernel, Lane32,
    Lanes, Register, Shift, Word,
};

pub(super) fn detect_features() -> Features {
    Features::NONE
}

pub(super) fn cpu_model() -> Option<String> {
    None
}

pub(crate) const fn fence() {}

pub(crate) const fn stores_best_past_caches() -> bool {
    false
}

/// There is none to shuffle.
pub(crate) const fn shuffles_whole_registers() -> bool {
    false
}

pub(crate) const fn prefetch(_bytes: &[u8], _at: usize) {}

pub(crate) const fn prefetch_for_later(_bytes: &[u8], _at: usize) {}

/// Clears the registers that a function need not preserve: general ones, and vector registers, which the compiler may use by
/// itself. On other machines than 64-bit ARM it clears none.
#[inline(never)]
pub(crate) fn clear_registers() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every such CPU that Rust's targets admit has these instructions, and the clobbers name all registers written to.
    unsafe {
        std::arch::asm!(
            "movi v0.2d, #0", "movi v1.2d, #0", "movi v2.2d, #0", "movi v3.2d, #0",
            "movi v4.2d, #0", "movi v5.2d, #0", "movi v6.2d, #0", "movi v7.2d, #0",
            "movi v16.2d, #0", "movi v17.2d, #0", "movi v18.2d, #0", "movi v19.2d, #0",
            "movi v20.2d, #0", "movi v21.2d, #0", "movi v22.2d, #0", "movi v23.2d, #0",
            "movi v24.2d, #0", "movi v25.2d, #0", "movi v26.2d, #0", "movi v27.2d, #0",
            "movi v28.2d, #0", "movi v29.2d, #0", "movi v30.2d, #0", "movi v31.2d, #0",
            "mov x0, #0", "mov x1, #0", "mov x2, #0", "mov x3, #0", "mov x4, #0", "mov x5, #0",
            "mov x6, #0", "mov x7, #0", "mov x8, #0", "mov x9, #0", "mov x10, #0", "mov x11, #0",
            "mov x12, #0", "mov x13, #0", "mov x14, #0", "mov x15, #0", "mov x16, #0", "mov x17, #0",
            clobber_abi("C"),
            options(nomem, nostack, preserves_flags),
        );
    }
}

/// None is asked for.
pub const fn prefetch_to_write(_bytes: &mut [u8], _at: usize) {}

macro_rules! isa {
    ($Isa:ident, $name:literal, $needs:expr) => {
        /// Instructions that this machine has not.
        #[derive(Clone, Copy, Debug)]
        pub struct $Isa(Infallible);

        impl crate::word::sealed::Sealed for $Isa {}

        impl Isa for $Isa {
            const NAME: &'static str = $name;
            const NEEDS: Features = $needs;

            fn detect(_allowed: Features) -> Option<Self> {
                None
            }

            fn enter<K: Kernel>(self, _kernel: K) -> K::Output {
                match self.0 {}
            }
        }

        impl Nowhere for $Isa {
            fn nowhere(self) -> Infallible {
                self.0
            }
        }
    };
}

/// A token that cannot be.
trait Nowhere: Isa {
    fn nowhere(self) -> Infallible;
}

isa!(Sse2, "sse2", Features::SSE2);
isa!(Avx2, "avx2", Features::AVX2);
isa!(Avx512, "avx512", Features::AVX512);
isa!(Gfni512, "gfni512", Features::AVX512.with(Features::GFNI));
isa!(Gfni256, "gfni256", Features::AVX2.with(Features::GFNI));
isa!(Vbmi512, "vbmi512", Features::AVX512.with(Features::VBMI));
isa!(GfniVbmi512, "gfnivbmi512", Features::AVX512.with(Features::GFNI).with(Features::VBMI));
isa!(AesNi, "aesni", Features::SSE2.with(Features::AES_ROUNDS));
isa!(Vaes256, "vaes256", Features::AVX2.with(Features::VAES_ROUNDS));
isa!(Vaes512, "vaes512", Features::AVX512.with(Features::VAES_ROUNDS));
isa!(Clmul, "clmul", Features::SSE2.with(Features::CLMUL));
isa!(Vclmul256, "vclmul256", Features::AVX2.with(Features::CLMUL).with(Features::VCLMUL));
isa!(Vclmul512, "vclmul512", Features::AVX512.with(Features::CLMUL).with(Features::VCLMUL));

/// A register that cannot be, of the size it would have.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Vector<I, const BYTES: usize>([u8; BYTES], Infallible, PhantomData<I>);

/// 128 bits by SSE2.
pub type Word128 = Vector<Sse2, 16>;
/// 256 bits by AVX2.
pub type Word256 = Vector<Avx2, 32>;
/// 512 bits by AVX-512.
pub type Word512 = Vector<Avx512, 64>;
/// 512 bits by AVX-512 with GFNI.
pub type GfniWord512 = Vector<Gfni512, 64>;
/// 256 bits by AVX2 with GFNI.
pub type GfniWord256 = Vector<Gfni256, 32>;
/// 512 bits by AVX-512 with VBMI.
pub type VbmiWord512 = Vector<Vbmi512, 64>;
/// 512 bits by AVX-512 with VBMI and GFNI.
pub type GfniVbmiWord512 = Vector<GfniVbmi512, 64>;
/// One block by AES-NI.
pub type AesWord128 = Vector<AesNi, 16>;
/// Two blocks by VAES.
pub type AesWord256 = Vector<Vaes256, 32>;
/// Four blocks by VAES and AVX-512.
pub type AesWord512 = Vector<Vaes512, 64>;
/// 128 bits with carry-less products.
pub type ClmulWord128 = Vector<Clmul, 16>;
/// 256 bits with carry-less products.
pub type ClmulWord256 = Vector<Vclmul256, 32>;
/// 512 bits with carry-less products.
pub type ClmulWord512 = Vector<Vclmul512, 64>;

impl<I, const BYTES: usize> fmt::Debug for Vector<I, BYTES> {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {}
    }
}

impl<I, const BYTES: usize> BitXor for Vector<I, BYTES> {
    type Output = Self;

    fn bitxor(self, _other: Self) -> Self {
        match self.1 {}
    }
}

impl<I, const BYTES: usize> BitAnd for Vector<I, BYTES> {
    type Output = Self;

    fn bitand(self, _other: Self) -> Self {
        match self.1 {}
    }
}

impl<I, const BYTES: usize> Not for Vector<I, BYTES> {
    type Output = Self;

    fn not(self) -> Self {
        match self.1 {}
    }
}

impl<I: Nowhere, const BYTES: usize> Word for Vector<I, BYTES> {}

// SAFETY: no token exists, so no memory is ever seen as this type.
unsafe impl<I: Nowhere, const BYTES: usize> Register for Vector<I, BYTES> {
    type Isa = I;

    const BITS: usize = 8 * BYTES;

    fn splat(isa: I, _pattern: u64) -> Self {
        match isa.nowhere() {}
    }

    fn load(isa: I, _bytes: &[u8]) -> Self {
        match isa.nowhere() {}
    }

    fn store(self, _bytes: &mut [u8]) {
        match self.1 {}
    }
}

impl<I: Nowhere, const BYTES: usize> Shift for Vector<I, BYTES> {
    fn shift_right<const COUNT: u32>(self) -> Self {
        match self.1 {}
    }

    fn shift_left<const COUNT: u32>(self) -> Self {
        match self.1 {}
    }
}

impl<I: Nowhere, const BYTES: usize> Lane32 for Vector<I, BYTES> {
    fn splat_lanes(isa: I, _lane: u32) -> Self {
        match isa.nowhere() {}
    }

    fn reverse_lane_bytes(self) -> Self {
        match self.1 {}
    }

    fn transpose_lanes([word, ..]: [Self; 4]) -> [Self; 4] {
        match word.1 {}
    }

    fn zero_lanes(self) -> u64 {
        match self.1 {}
    }
}

impl<I: Nowhere, const BYTES: usize> Lanes for Vector<I, BYTES> {
    fn add_lanes(self, _other: Self) -> Self {
        match self.1 {}
    }

    fn shift_lanes_up(self, _count: u32) -> Self {
        match self.1 {}
    }

    fn multiply_lanes(self, _other: Self) -> Self {
        match self.1 {}
    }

    fn shift_lanes_down(self, _count: u32) -> Self {
        match self.1 {}
    }

    fn rotate_lanes_left<const COUNT: u32>(self) -> Self {
        match self.1 {}
    }

    fn filled(self, _lane: u32) -> Self {
        match self.1 {}
    }
}

impl<I: Nowhere, const BYTES: usize> ByteLanes for Vector<I, BYTES> {
    fn interleave(a: Self, _b: Self) -> (Self, Self) {
        match a.1 {}
    }

    fn broadcast(isa: I, _lane: &[u8; 16]) -> Self {
        match isa.nowhere() {}
    }

    fn load_lanes(isa: I, _bytes: &[u8]) -> Self {
        match isa.nowhere() {}
    }

    fn store_lanes(self, _bytes: &mut [u8]) {
        match self.1 {}
    }

    fn load_part(isa: I, _bytes: &[u8]) -> Self {
        match isa.nowhere() {}
    }

    fn first_bytes(self, _len_bytes: usize) -> Self {
        match self.1 {}
    }

    fn store_part(self, _bytes: &mut [u8]) {
        match self.1 {}
    }

    unsafe fn store_past_caches(self, _bytes: &mut [u8]) {
        match self.1 {}
    }

    fn load_lowest(isa: I, _lane: &[u8; 16]) -> Self {
        match isa.nowhere() {}
    }

    fn store_lowest(self, _lane: &mut [u8; 16]) {
        match self.1 {}
    }

    fn pick(self, _indices: Self) -> Self {
        match self.1 {}
    }

    fn add_bytes(self, _other: Self) -> Self {
        match self.1 {}
    }

    fn zero_bytes(self) -> u64 {
        match self.1 {}
    }
}

impl BitMatrices for GfniWord512 {
    fn transpose_8x8_reversed(self) -> Self {
        match self.1 {}
    }
}

impl<I: Nowhere, const BYTES: usize> GaloisBytes for Vector<I, BYTES> {
    fn affine<const ADD: i32>(self, _isa: I, _matrix: u64) -> Self {
        match self.1 {}
    }

    fn affine_of_inverse<const ADD: i32>(self, _isa: I, _matrix: u64) -> Self {
        match self.1 {}
    }

    fn multiply_bytes(self, _other: Self) -> Self {
        match self.1 {}
    }
}

impl<I: Nowhere, const BYTES: usize> ByteTables for Vector<I, BYTES> {
    fn look_up(self, _table: &[Self; 4]) -> Self {
        match self.1 {}
    }
}

impl<I: Nowhere, const BYTES: usize> AesLanes for Vector<I, BYTES> {
    fn encrypt_round(self, _key: Self) -> Self {
        match self.1 {}
    }

    fn encrypt_last_round(self, _key: Self) -> Self {
        match self.1 {}
    }

    fn decrypt_round(self, _key: Self) -> Self {
        match self.1 {}
    }

    fn decrypt_last_round(self, _key: Self) -> Self {
        match self.1 {}
    }

    fn add_low_u64(self, _other: Self) -> Self {
        match self.1 {}
    }

    fn preceded_by(self, _before: Self) -> Self {
        match self.1 {}
    }

    fn lowest_in_all(self) -> Self {
        match self.1 {}
    }

    fn unzip_blocks(a: Self, _b: Self) -> (Self, Self) {
        match a.1 {}
    }

    fn settled(self) -> Self {
        match self.1 {}
    }
}

impl<I: Nowhere, const BYTES: usize> CarrylessLanes for Vector<I, BYTES> {
    fn low_product(self, _other: Self) -> Self {
        match self.1 {}
    }

    fn high_product(self, _other: Self) -> Self {
        match self.1 {}
    }

    fn cross_products(self, _other: Self) -> Self {
        match self.1 {}
    }
}
