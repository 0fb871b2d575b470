//! The language's integers as words: `u32` and `u64`. Every machine has them, so their token [`Portable`]
//! needs no detection.

use super::{Arithmetic, Features, Isa, Kernel, Lane32, Lane64, Lanes, Register, Shift, U64, Word};

/// The token for plain integers. Anyone may construct it.
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

/// The entry function as a method of the kernel, as with the tokens of machines.
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

        // SAFETY: an integer has no padding, accepts every bit pattern, is naturally aligned and needs no
        // token.
        unsafe impl Register for $int {
            type Isa = Portable;

            const BITS: usize = $int::BITS as usize;

            const REGISTERS: usize = 16;

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

impl Lane64 for u64 {
    #[inline(always)]
    fn add_lanes64(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn rotate_lanes64_left<const COUNT: u32>(self) -> Self {
        self.rotate_left(COUNT)
    }
}

impl Lanes for u32 {
    #[inline(always)]
    fn add_lanes(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn shift_lanes_up(self, count: u32) -> Self {
        self << count
    }

    #[inline(always)]
    fn multiply_lanes(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    #[inline(always)]
    fn shift_lanes_down(self, count: u32) -> Self {
        self >> count
    }

    #[inline(always)]
    fn rotate_lanes_left<const COUNT: u32>(self) -> Self {
        self.rotate_left(COUNT)
    }

    #[inline(always)]
    fn filled(self, lane: u32) -> Self {
        lane
    }

    #[inline(always)]
    fn multiply_lanes_high(self, other: Self) -> Self {
        ((u64::from(self) * u64::from(other)) >> 32) as u32
    }

    #[inline(always)]
    fn shift_lanes_left_by(self, counts: Self) -> Self {
        self.wrapping_shl(counts)
    }

    #[inline(always)]
    fn shift_lanes_right_by(self, counts: Self) -> Self {
        self.wrapping_shr(counts)
    }

    #[inline(always)]
    fn leading_zeros_of_lanes(self) -> Self {
        self.leading_zeros()
    }

    #[inline(always)]
    fn look_up_public(self, table: &[u32]) -> Self {
        assert!(table.len().is_power_of_two(), "a table has 1, 2, 4, 8 … entries");
        table[self as usize & (table.len() - 1)]
    }

    #[inline(always)]
    fn single(operation: Arithmetic, a: Self, b: Self) -> Self {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        match operation {
            Arithmetic::Add => (x + y).to_bits(),
            Arithmetic::Multiply => (x * y).to_bits(),
            Arithmetic::Divide => (x / y).to_bits(),
            Arithmetic::Root => x.sqrt().to_bits(),
            Arithmetic::Less => mask(x < y),
            Arithmetic::Equal => mask(x == y),
        }
    }

    #[inline(always)]
    fn double(operation: Arithmetic, a: [Self; 2], b: [Self; 2]) -> [Self; 2] {
        let [x, y] = [number(a), number(b)];
        let bits = match operation {
            Arithmetic::Add => (x + y).to_bits(),
            Arithmetic::Multiply => (x * y).to_bits(),
            Arithmetic::Divide => (x / y).to_bits(),
            Arithmetic::Root => x.sqrt().to_bits(),
            Arithmetic::Less => return [mask(x < y); 2],
            Arithmetic::Equal => return [mask(x == y); 2],
        };
        U64::filled(0, bits).words()
    }
}

/// All bits set if `is_so`, else zero.
#[inline(always)]
fn mask(is_so: bool) -> u32 {
    0_u32.wrapping_sub(u32::from(is_so))
}

/// The `f64` whose bits are two words.
#[inline(always)]
fn number([low, high]: [u32; 2]) -> f64 {
    f64::from_bits(u64::from(high) << 32 | u64::from(low))
}
