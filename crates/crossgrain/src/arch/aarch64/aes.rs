//! Carry-less products and rounds of AES.
//!
//! A round of AES in the traits is that of x86: ShiftRows, SubBytes, MixColumns, then XOR of the key. ARM's
//! AESE begins with the XOR, and AESMC is a separate instruction. `AESMC(AESE(state, 0)) ^ key` is the same
//! round. LLVM merges the XOR into the next AESE, so no instruction is left over. This needs both rounds in
//! one function, without assembly between them.

use std::arch::aarch64::{
    poly64x2_t, vaddq_u64, vaesdq_u8, vaeseq_u8, vaesimcq_u8, vaesmcq_u8, vdupq_n_u8, veorq_u8, vextq_u8,
    vgetq_lane_u64, vmull_high_p64, vmull_p64, vreinterpretq_p64_u8, vreinterpretq_u8_p128,
    vreinterpretq_u8_u64, vreinterpretq_u64_u8,
};
use std::marker::PhantomData;

use super::{Gates, NeonAes, Vector, vector};
use crate::arch::{AesLanes, CarrylessLanes};

/// Tokens whose CPUs have AES rounds and carry-less products.
trait AesIsa: Gates {}
impl AesIsa for NeonAes {}

impl<I: AesIsa> CarrylessLanes for Vector<I> {
    #[inline(always)]
    fn low_product(self, other: Self) -> Self {
        vector!({
            let (a, b) = (vreinterpretq_u64_u8(self.0), vreinterpretq_u64_u8(other.0));
            vreinterpretq_u8_p128(vmull_p64(vgetq_lane_u64::<0>(a), vgetq_lane_u64::<0>(b)))
        })
    }

    #[inline(always)]
    fn high_product(self, other: Self) -> Self {
        vector!({
            let [a, b]: [poly64x2_t; 2] = [vreinterpretq_p64_u8(self.0), vreinterpretq_p64_u8(other.0)];
            vreinterpretq_u8_p128(vmull_high_p64(a, b))
        })
    }

    #[inline(always)]
    fn cross_products(self, other: Self) -> Self {
        let swapped = vector!(vextq_u8::<8>(other.0, other.0));
        self.low_product(swapped) ^ self.high_product(swapped)
    }

    #[inline(always)]
    fn preceded_by(self, before: Self) -> Self {
        before
    }

    #[inline(always)]
    fn lowest_in_all(self) -> Self {
        self
    }
}

impl<I: AesIsa> AesLanes for Vector<I> {
    type OneBlock = Self;

    #[inline(always)]
    fn one_block(isa: I) -> I {
        isa
    }

    #[inline(always)]
    fn encrypt_round(self, key: Self) -> Self {
        vector!(veorq_u8(vaesmcq_u8(vaeseq_u8(self.0, vdupq_n_u8(0))), key.0))
    }

    #[inline(always)]
    fn encrypt_last_round(self, key: Self) -> Self {
        vector!(veorq_u8(vaeseq_u8(self.0, vdupq_n_u8(0)), key.0))
    }

    #[inline(always)]
    fn decrypt_round(self, key: Self) -> Self {
        vector!(veorq_u8(vaesimcq_u8(vaesdq_u8(self.0, vdupq_n_u8(0))), key.0))
    }

    #[inline(always)]
    fn decrypt_last_round(self, key: Self) -> Self {
        vector!(veorq_u8(vaesdq_u8(self.0, vdupq_n_u8(0)), key.0))
    }

    const ADDS_KEY_FIRST: bool = true;

    #[inline(always)]
    fn encrypt_after(self, key: Self) -> Self {
        vector!(vaesmcq_u8(vaeseq_u8(self.0, key.0)))
    }

    #[inline(always)]
    fn decrypt_after(self, key: Self) -> Self {
        vector!(vaesimcq_u8(vaesdq_u8(self.0, key.0)))
    }

    #[inline(always)]
    fn add_low_u64(self, other: Self) -> Self {
        vector!(vreinterpretq_u8_u64(vaddq_u64(vreinterpretq_u64_u8(self.0), vreinterpretq_u64_u8(other.0))))
    }

    #[inline(always)]
    fn unzip_blocks(a: Self, b: Self) -> (Self, Self) {
        (a, b)
    }

    /// Assembly here would keep LLVM from merging the XOR of a round into the next AESE.
    #[inline(always)]
    fn pinned(self) -> Self {
        self
    }
}
