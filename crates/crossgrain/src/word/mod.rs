//! Registers and integers as the ciphers see them, and the proof that the CPU has them.
//!
//! A circuit asks a [`Word`] for XOR, AND and NOT on all its bits at once; a conversion asks a
//! [`Register`] for loads, stores and exchanges of index bits besides. `u32`, `u64` and the vectors
//! of 128, 256 and 512 bits answer. A register value can be made only from an [`Isa`] token, and a
//! token only where the CPU was asked: so holding a value is the proof that its instructions exist,
//! and every gate is safe to call.
//!
//! How kernels stay fast: methods of words and kernels are `#[inline(always)]` and carry no
//! `target_feature` (a safe trait method cannot); [`Isa::enter`] is the one function that does, and
//! everything is inlined into it. Forget one `inline` and answers stay right while each gate becomes
//! a call: `cargo xtask asm` looks for that.

/// An array of words, element `$i` being `$value`.
///
/// `std::array::from_fn` would do the same by a closure, and a closure is compiled without the kernel's
/// instructions where the optimiser declines to inline it: then every gate in it is a call.
macro_rules! each {
    ($i:ident < $count:expr => $value:expr) => {{
        let mut words = {
            let $i = 0;
            [$value; $count]
        };
        for $i in 1..$count {
            words[$i] = $value;
        }
        words
    }};
}
pub(crate) use each;

/// The same of 4, 8, 16, 24 or 32 elements, written out: with an index that is known when this is compiled, what it chooses lies in registers.
macro_rules! written_out {
    ($i:ident < 4 => $value:expr) => { written_out!(@ $i $value; 0 1 2 3) };
    ($i:ident < 8 => $value:expr) => { written_out!(@ $i $value; 0 1 2 3 4 5 6 7) };
    ($i:ident < 16 => $value:expr) => { written_out!(@ $i $value; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15) };
    ($i:ident < 24 => $value:expr) => {
        written_out!(@ $i $value; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23)
    };
    ($i:ident < 32 => $value:expr) => {
        written_out!(
            @ $i $value; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        )
    };
    (@ $i:ident $value:expr; $($at:literal)*) => {
        [$({
            let $i: usize = $at;
            $value
        }),*]
    };
}
pub(crate) use written_out;

/// A loop written out, so that an array indexed by `$i` can live in registers whatever the optimiser
/// thinks of unrolling.
macro_rules! unrolled {
    ($i:ident in [$($value:literal)*] $body:block) => {
        $({
            let $i: usize = $value;
            $body
        })*
    };
}
pub(crate) use unrolled;

mod buffers;
mod clear;
mod features;
mod gates;
#[cfg(feature = "rustcrypto")]
mod inout;
mod integer;
mod lanes;
mod point;
mod portable;
mod side_by_side;
mod tile;
mod widest;
mod wiped;

/// The machine that this is compiled for. `build.rs` chooses it.
#[cfg_attr(not(crossgrain_integers_only), path = "x86/mod.rs")]
#[cfg_attr(crossgrain_integers_only, path = "integers_only.rs")]
mod machine;

use std::ops::{BitAnd, BitXor, Not};

pub use buffers::Buffers;
pub(crate) use buffers::bytes_of_mut;
pub(crate) use clear::ClearRegisters;
pub use features::{CAP_VARIABLE, Features, cpu_model};
pub(crate) use gates::ternary as two_input_gates;
pub use integer::{Integer, U64};
pub use lanes::{Arithmetic, Lanes, multiply_high_by_halves};
#[allow(unused_imports, reason = "a machine without registers has nothing else")]
pub use machine::*;
pub(crate) use machine::{
    clear_registers, fence, for_each_register, prefetch, prefetch_for_later, shuffles_whole_registers,
    stores_best_past_caches,
};
pub use point::computed as computed_by_integers;
pub use portable::Portable;
pub(crate) use side_by_side::{Inputs, SideBySide};
pub use tile::{TILE_BYTES, TILE_WORDS, Tile};
#[doc(hidden)]
pub use tile::{wipe, wipe_deep_stack, wipe_stack};
pub use widest::{Work, on_widest};
pub(crate) use wiped::{Wiped, WipedBytes, wipe_room};

/// What other crates may not implement: a token proves something of the CPU.
mod sealed {
    pub trait Sealed {}
}

/// Proof that this CPU has a set of instructions, and the door through which kernels use them. Only this module makes tokens.
pub trait Isa: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The name used in variant names: `avx2`, `vaes512`, …
    const NAME: &'static str;

    /// The instructions that must be there.
    const NEEDS: Features;

    /// The token, if both `allowed` and the CPU have all that it needs.
    fn detect(allowed: Features) -> Option<Self>;

    /// Runs a kernel compiled for these instructions.
    fn enter<K: Kernel>(self, kernel: K) -> K::Output;
}

/// Code to be compiled for an ISA. Its inputs are fields, so that nothing hides in a closure that
/// might not be inlined.
pub trait Kernel: Sized {
    /// What the kernel gives back.
    type Output;

    /// Whether there may be more words on the way than there are registers. Where they are kept meanwhile has to be aligned, which a call of
    /// few instructions need not ask for.
    const SPILLS: bool = true;

    /// The code itself. Implementations must be `#[inline(always)]`, with all that they call.
    fn run(self) -> Self::Output;
}

/// Bits in parallel: all that a circuit of gates needs.
pub trait Word: Copy + BitXor<Output = Self> + BitAnd<Output = Self> + Not<Output = Self> + 'static {
    /// Any function of three bits: bit 4·a + 2·b + c of `TABLE`. One gate with AVX-512, a few elsewhere.
    #[inline(always)]
    fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        gates::ternary::<Self, TABLE>(a, b, c)
    }

    /// Whether [`Self::ternary`] is one gate.
    #[inline(always)]
    fn has_ternary() -> bool {
        false
    }

    /// No bit set; of `self` nothing is taken but that there are such words.
    #[inline(always)]
    #[allow(clippy::eq_op, reason = "it is how a word is cleared")]
    fn zero(self) -> Self {
        self ^ self
    }

    /// The bits of `one` where `self` is set, else those of `zero`.
    #[inline(always)]
    fn select(self, one: Self, zero: Self) -> Self {
        zero ^ (self & (one ^ zero))
    }
}

/// A word whose bits move, as transposing needs it.
pub trait Shift: Word {
    /// Every 64-bit group shifted towards its low end by `COUNT` bits (32-bit groups in 32-bit words).
    fn shift_right<const COUNT: u32>(self) -> Self;

    /// Every 64-bit group shifted towards its high end by `COUNT` bits (32-bit groups in 32-bit words).
    fn shift_left<const COUNT: u32>(self) -> Self;

    /// Exchanges bit `BIT` of the positions of bits with the choice of the word: `self` keeps its positions with that bit clear,
    /// which are those of `mask`, and takes `other`'s in place of the rest; `other` has the others.
    #[inline(always)]
    fn exchange<const BIT: u32>(self, other: Self, mask: Self) -> (Self, Self) {
        exchange_by_shifts::<Self, BIT>(self, other, mask)
    }
}

/// [`Shift::exchange`] by two shifts and two choices.
#[inline(always)]
pub(crate) fn exchange_by_shifts<W: Shift, const BIT: u32>(a: W, b: W, mask: W) -> (W, W) {
    let (up, down) = match BIT {
        0 => (b.shift_left::<1>(), a.shift_right::<1>()),
        1 => (b.shift_left::<2>(), a.shift_right::<2>()),
        2 => (b.shift_left::<4>(), a.shift_right::<4>()),
        3 => (b.shift_left::<8>(), a.shift_right::<8>()),
        4 => (b.shift_left::<16>(), a.shift_right::<16>()),
        _ => (b.shift_left::<32>(), a.shift_right::<32>()),
    };
    (mask.select(a, up), mask.select(down, b))
}

/// A byte eight times: a pattern, as [`Register::splat`] takes it.
#[inline(always)]
pub(crate) const fn eight(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// A word that lives in memory: it can be loaded, stored and made from a pattern.
///
/// # Safety
/// The type must have no padding, accept every bit pattern, occupy `BITS / 8` bytes with an alignment
/// of at most 64, and be constructible only where `Isa` could be: [`Tile`] hands out memory as such words.
pub unsafe trait Register: Shift + Send + Sync {
    /// The token that a word is made from.
    type Isa: Isa;

    /// Lanes of one bit.
    const BITS: usize;

    /// Bytes in memory.
    const BYTES: usize = Self::BITS / 8;

    /// Registers of this kind that instructions can name: the values that a kernel can hold without memory.
    const REGISTERS: usize;

    /// Every 64-bit group as `pattern` (32-bit words take its low half).
    fn splat(isa: Self::Isa, pattern: u64) -> Self;

    /// Reads `BYTES` bytes, little-endian, at any alignment.
    ///
    /// # Panics
    /// If `bytes` has another length.
    fn load(isa: Self::Isa, bytes: &[u8]) -> Self;

    /// Writes `BYTES` bytes, little-endian, at any alignment.
    ///
    /// # Panics
    /// If `bytes` has another length.
    fn store(self, bytes: &mut [u8]);

    /// `a` with the high 64 bits of each 128-bit part replaced by the low ones of `b`, and `b` with its
    /// low ones replaced by the high ones of `a`. Words of up to 64 bits have no such halves.
    #[inline(always)]
    fn exchange_halves(a: Self, b: Self) -> (Self, Self) {
        (a, b)
    }
}

/// A register as lanes of 32 bits, which Serpent shifts and rotates.
pub trait Lane32: Register + Lanes {
    /// The same value in every lane.
    fn splat_lanes(isa: Self::Isa, lane: u32) -> Self;

    /// The four bytes of every lane in reverse order.
    fn reverse_lane_bytes(self) -> Self;

    /// Exchanges the index of a word and that of a lane in each 128-bit part: word j of block i becomes
    /// lane i of word j. Words of 32 bits are such lanes already. Its own inverse.
    fn transpose_lanes(words: [Self; 4]) -> [Self; 4];

    /// A bit for each lane, from the lowest on: whether it is zero.
    fn zero_lanes(self) -> u64;
}

/// A register of one or more 128-bit lanes whose bytes can be interleaved.
pub trait ByteLanes: Register {
    /// Interleaves the bytes of `a` and `b` in each 128-bit lane: low halves, then high halves.
    ///
    /// On the index of a byte in its lane (bits p3 p2 p1 p0) and the bit w that tells `a` from `b`,
    /// this is the rotation (w; p3 p2 p1 p0) → (p3; p2 p1 p0 w).
    fn interleave(a: Self, b: Self) -> (Self, Self);

    /// The same sixteen bytes in every 128-bit lane.
    fn broadcast(isa: Self::Isa, lane: &[u8; 16]) -> Self;

    /// Byte i of each 128-bit lane becomes the lane's byte `indices[i]`, for indices 0 to 15, or zero, for indices 128 to 255.
    ///
    /// Indices 16 to 127 give some byte of the lane, or zero: machines differ.
    fn shuffle_bytes(self, indices: Self) -> Self;

    /// `byte` where the top bit of the selector's byte is clear, zero elsewhere.
    fn byte_where_top_bit_is_clear(isa: Self::Isa, byte: u8, selector: Self) -> Self;

    /// Reads as many lanes as `bytes` has, from the lowest on, and zeros for the others.
    ///
    /// # Panics
    /// If there are more than a register has, or a part of one.
    fn load_lanes(isa: Self::Isa, bytes: &[u8]) -> Self;

    /// Writes as many lanes as `bytes` has room for, from the lowest on.
    ///
    /// # Panics
    /// As [`ByteLanes::load_lanes`].
    fn store_lanes(self, bytes: &mut [u8]);

    /// Reads bytes, no more than a register has, with zeros behind them.
    ///
    /// # Panics
    /// If there are more.
    fn load_part(isa: Self::Isa, bytes: &[u8]) -> Self;

    /// Writes the first bytes, as many as `bytes` has room for.
    ///
    /// # Panics
    /// If that is more than a register has.
    fn store_part(self, bytes: &mut [u8]);

    /// The first `len_bytes` bytes, with zeros behind them.
    ///
    /// # Panics
    /// If that is more than a register has.
    fn first_bytes(self, len_bytes: usize) -> Self;

    /// Writes the word past the caches.
    ///
    /// # Panics
    /// Unless the bytes are as many as the word has, and begin at a multiple of that in memory.
    ///
    /// # Safety
    /// Before the place is read or written again, by whichever thread, this one fences.
    unsafe fn store_past_caches(self, bytes: &mut [u8]);

    /// Reads the lowest lane, with zeros behind it. Unlike [`ByteLanes::load_lanes`] it takes what was just written without waiting for
    /// the cache.
    fn load_lowest(isa: Self::Isa, lane: &[u8; 16]) -> Self;

    /// Writes the lowest lane.
    fn store_lowest(self, lane: &mut [u8; 16]);

    /// Adds bytes, without carry between them.
    fn add_bytes(self, other: Self) -> Self;

    /// A bit for each byte, from the lowest on: whether it is zero.
    fn zero_bytes(self) -> u64;
}

/// A register in whose bytes the CPU computes in GF(2⁸), and multiplies by 8 × 8 bit matrices (GFNI).
pub trait GaloisBytes: ByteLanes {
    /// Each byte times the matrix, plus `ADD`. Byte 7 − i of `matrix` selects the bits whose sum is bit i.
    fn affine<const ADD: i32>(self, isa: Self::Isa, matrix: u64) -> Self;

    /// The same of each byte's inverse in AES's field (0 for 0).
    fn affine_of_inverse<const ADD: i32>(self, isa: Self::Isa, matrix: u64) -> Self;

    /// Products of bytes in AES's field.
    fn multiply_bytes(self, other: Self) -> Self;
}

/// A register each of whose bytes can be looked up in a table held in registers (AVX-512 VBMI): unlike
/// a look-up in memory, it takes the same time for every index.
pub trait ByteTables: ByteLanes {
    /// Each byte x as `table[x]`; the table's 256 bytes are four registers.
    fn look_up(self, table: &[Self; 4]) -> Self;
}

/// A register whose 8 × 8 bit matrices can be transposed by one instruction (GFNI).
pub trait BitMatrices: ByteLanes {
    /// Transposes each 64-bit group as a matrix, upside down as the instruction has it: bit b of byte r
    /// goes to bit 7 − r of byte b.
    fn transpose_8x8_reversed(self) -> Self;
}

/// A register of 128-bit lanes whose halves can be multiplied as polynomials over bits.
pub trait CarrylessLanes: ByteLanes {
    /// The product of the low 64 bits of each lane.
    fn low_product(self, other: Self) -> Self;

    /// The product of the high 64 bits of each lane.
    fn high_product(self, other: Self) -> Self;

    /// The sum of the two products of a low half and a high one.
    fn cross_products(self, other: Self) -> Self;
}

/// A register of whole AES states on which the CPU computes AES rounds (FIPS 197 §5, in the
/// instruction's order: ShiftRows, SubBytes, MixColumns, AddRoundKey). No CPU has these without carry-less products.
pub trait AesLanes: CarrylessLanes {
    /// Blocks in a register.
    const BLOCKS: usize = Self::BITS / 128;

    /// One round of the cipher.
    fn encrypt_round(self, key: Self) -> Self;

    /// The last round of the cipher, without MixColumns.
    fn encrypt_last_round(self, key: Self) -> Self;

    /// One round of the equivalent inverse cipher (FIPS 197 §5.3.5).
    fn decrypt_round(self, key: Self) -> Self;

    /// The last round of the equivalent inverse cipher.
    fn decrypt_last_round(self, key: Self) -> Self;

    /// Adds to the low 64 bits of every lane (little-endian), without carry into the high ones.
    fn add_low_u64(self, other: Self) -> Self;

    /// Every block moved up by one lane, the last block of `before` in front.
    fn preceded_by(self, before: Self) -> Self;

    /// The block of the lowest lane in every lane.
    fn lowest_in_all(self) -> Self;

    /// The blocks of even lanes of `a`, then of `b`; and those of odd ones. Of one lane each, they stay as they are.
    fn unzip_blocks(a: Self, b: Self) -> (Self, Self);

    /// The same. The compiler leaves the computations between such values in the order in which a program asks for them: it would move
    /// apart what ports of their own compute side by side. On registers of 512 bits.
    #[must_use]
    fn settled(self) -> Self;
}

/// The pattern of positions in a 64-bit group whose index bit `bit` (0 to 5) is clear.
pub const fn clear_positions(bit: u32) -> u64 {
    [
        0x5555_5555_5555_5555,
        0x3333_3333_3333_3333,
        0x0f0f_0f0f_0f0f_0f0f,
        0x00ff_00ff_00ff_00ff,
        0x0000_ffff_0000_ffff,
        0x0000_0000_ffff_ffff,
    ][bit as usize]
}
