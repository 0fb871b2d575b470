//! Carry-less products and rounds of AES, on registers of each width.
//!
//! `raw` has the intrinsics. Here are the tokens that admit them, and the safe methods.

use std::marker::PhantomData;

use super::raw::Raw;
use super::{AesNi, AesWord128, Clmul, Vaes256, Vaes512, Vclmul256, Vclmul512, Vector};
use crate::arch::{AesLanes, CarrylessLanes, Isa};

/// Tokens whose CPUs have AES rounds on registers of their width.
trait AesIsa: CarrylessIsa + Into<AesNi> {}
impl AesIsa for AesNi {}
impl AesIsa for Vaes256 {}
impl AesIsa for Vaes512 {}

impl<R: Raw, I: AesIsa> AesLanes for Vector<R, I> {
    type OneBlock = AesWord128;

    #[inline(always)]
    fn one_block(isa: I) -> AesNi {
        isa.into()
    }

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
    fn unzip_blocks(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: values of this type exist, so its instructions do.
        let (even, odd) = unsafe { R::unzip_lanes(a.0, b.0) };
        (Self(even, PhantomData), Self(odd, PhantomData))
    }

    #[inline(always)]
    fn pinned(self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.pinned() }, PhantomData)
    }
}

/// Tokens whose CPUs have carry-less products on registers of their width.
trait CarrylessIsa: Isa {}
impl CarrylessIsa for Clmul {}
impl CarrylessIsa for Vclmul256 {}
impl CarrylessIsa for Vclmul512 {}
impl CarrylessIsa for AesNi {}
impl CarrylessIsa for Vaes256 {}
impl CarrylessIsa for Vaes512 {}

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

    #[inline(always)]
    fn preceded_by(self, before: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { self.0.preceded_by(before.0) }, PhantomData)
    }

    #[inline(always)]
    fn lowest_in_all(self) -> Self {
        // SAFETY: a value of this type exists, so its instructions do.
        Self(unsafe { R::broadcast(self.0.lowest_lane()) }, PhantomData)
    }
}
