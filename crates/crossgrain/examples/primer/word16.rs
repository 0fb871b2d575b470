//! A 16-bit word, which the library does not have. The traits are open, so every circuit and the
//! transposition run on it unchanged.

use std::ops::{BitAnd, BitXor, Not};

use crossgrain::engine::arch::{Portable, Register, Shift, Word};

/// Sixteen bits in parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Word16(u16);

impl BitXor for Word16 {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

impl BitAnd for Word16 {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Word16 {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0)
    }
}

impl Word for Word16 {}

// SAFETY: a transparent wrapper of an integer. It has no padding, allows every bit pattern, takes two bytes
// and has natural alignment. Its token is the one that any code may hold.
unsafe impl Register for Word16 {
    type Isa = Portable;

    const BITS: usize = 16;
    const REGISTERS: usize = 16;

    #[inline(always)]
    fn splat(_isa: Portable, pattern: u64) -> Self {
        Self(pattern as u16)
    }

    #[inline(always)]
    fn load(_isa: Portable, bytes: &[u8]) -> Self {
        let mut word = [0; 2];
        word.copy_from_slice(bytes);
        Self(u16::from_le_bytes(word))
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.0.to_le_bytes());
    }
}

impl Shift for Word16 {
    #[inline(always)]
    fn shift_right<const COUNT: u32>(self) -> Self {
        Self(self.0 >> COUNT)
    }

    #[inline(always)]
    fn shift_left<const COUNT: u32>(self) -> Self {
        Self(self.0 << COUNT)
    }
}
