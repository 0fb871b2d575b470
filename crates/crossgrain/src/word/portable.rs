//! The language's own integers as words: they are on every machine.

use super::{Features, Isa, Kernel, Lane32, Lanes, Register, Shift, Word};

/// The token that anyone may have.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl super::sealed::Sealed for Portable {}

impl Isa for Portable {
    const NAME: &'static str = "portable";
    const NEEDS: Features = Features::NONE;

    fn detect(_allowed: Features) -> Option<Self> {
        Some(Self)
    }

    fn enter<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.enter_portable()
    }
}

/// As the tokens of other ISAs have it.
trait Enter: Kernel {
    #[inline(never)]
    fn enter_portable(self) -> Self::Output {
        self.run()
    }
}

impl<K: Kernel> Enter for K {}

macro_rules! integer_word {
    ($int:ident) => {
        impl Word for $int {}

        // SAFETY: an integer has no padding, every bit pattern, natural alignment, and needs no token.
        unsafe impl Register for $int {
            type Isa = Portable;

            const BITS: usize = $int::BITS as usize;

            #[inline(always)]
            fn splat(_isa: Portable, pattern: u64) -> Self {
                pattern as $int
            }

            #[inline(always)]
            fn load(_isa: Portable, bytes: &[u8]) -> Self {
                let mut word = [0; Self::BYTES];
                word.copy_from_slice(bytes);
                $int::from_le_bytes(word)
            }

            #[inline(always)]
            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }

        impl Shift for $int {
            #[inline(always)]
            fn shift_right<const COUNT: u32>(self) -> Self {
                self >> COUNT
            }

            #[inline(always)]
            fn shift_left<const COUNT: u32>(self) -> Self {
                self << COUNT
            }
        }
    };
}

integer_word!(u32);
integer_word!(u64);

impl Lane32 for u32 {
    #[inline(always)]
    fn splat_lanes(_isa: Portable, lane: u32) -> Self {
        lane
    }

    #[inline(always)]
    fn reverse_lane_bytes(self) -> Self {
        self.swap_bytes()
    }

    #[inline(always)]
    fn transpose_lanes(words: [Self; 4]) -> [Self; 4] {
        words
    }

    #[inline(always)]
    fn zero_lanes(self) -> u64 {
        u64::from(self == 0)
    }
}

impl Lanes for u32 {
    #[inline(always)]
    fn add_lanes(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn shift_lanes_left<const COUNT: u32>(self) -> Self {
        self << COUNT
    }

    #[inline(always)]
    fn multiply_lanes(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    #[inline(always)]
    fn shift_lanes_right<const COUNT: u32>(self) -> Self {
        self >> COUNT
    }

    #[inline(always)]
    fn rotate_lanes_left<const COUNT: u32>(self) -> Self {
        self.rotate_left(COUNT)
    }

    #[inline(always)]
    fn filled(self, lane: u32) -> Self {
        lane
    }
}
