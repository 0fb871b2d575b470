//! Registers: traits with contracts, and one folder for each machine.
//!
//! Kernels are generic over these traits and never name a register:
//!
//! ```text
//! Word          XOR, AND, NOT, three-input gates               circuits
//!  └ Shift      shifts, exchange of index bits                 transpositions
//!     └ Register   a token, loads, stores, broadcast
//!        ├ Lane32     32-bit lanes                             Serpent, SHA-256, parallel algorithms
//!        ├ Lane64     64-bit lanes                             SHA-512
//!        └ ByteLanes  128-bit lanes of bytes                   byte-sliced ciphers
//!           ├ GaloisBytes, ByteTables                          S-boxes
//!           └ CarrylessLanes  polynomial products              GHASH, tweaks
//!              └ AesLanes     AES rounds
//! ```
//!
//! Integers of 32 and 64 bits implement these traits on every machine (`portable.rs`). [`machine`] has the vector registers.
//!
//! **Safety.** A token of a type that implements [`Isa`] proves that the CPU has a set of instructions: only `detect` makes
//! tokens, and it asks the CPU. A register value can only be made from a token. So every method on a value is safe.
//!
//! **Speed.** [`Isa::enter`] is the one function that is compiled with the instructions enabled. Everything that a kernel calls
//! must be `#[inline(always)]`, so that it ends up in that function. Otherwise the result stays correct, but each gate becomes
//! a call. `cargo xtask asm` finds such calls.
//!
//! **Contracts.** Each method documents its result for all inputs. If machines differ for some inputs, the contract leaves the
//! result open, and kernels must not use these inputs. `tests/registers.rs` checks every method on every register.

/// An array of words in which element `$i` is `$value`.
///
/// `std::array::from_fn` takes a closure. If the optimiser does not inline the closure, it is compiled without the kernel's
/// instructions, and every gate in it becomes a call.
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

/// The same for 4, 8, 16, 24 or 32 elements, without a loop. Each index is a constant, so elements that it selects stay in registers.
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

/// A loop that is always unrolled, so that an array indexed by `$i` can stay in registers.
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
mod line;
#[cfg(not(target_arch = "x86_64"))]
mod parts;
mod portable;
mod side_by_side;
mod soft_float;
mod tile;
#[cfg_attr(
    crossgrain_integers_only,
    allow(unused_macros, reason = "a machine without registers has no tokens")
)]
mod token;
mod widest;
mod wiped;

/// The machine that this is compiled for. `build.rs` chooses it.
#[cfg_attr(crossgrain_integers_only, path = "integers_only/mod.rs")]
#[cfg_attr(all(target_arch = "x86_64", not(crossgrain_integers_only)), path = "x86_64/mod.rs")]
#[cfg_attr(all(target_arch = "aarch64", not(crossgrain_integers_only)), path = "aarch64/mod.rs")]
#[cfg_attr(all(target_arch = "wasm32", not(crossgrain_integers_only)), path = "wasm32/mod.rs")]
mod machine;

/// The names of the machine's instructions. Unlike [`machine`], unoptimised builds have them too.
#[cfg_attr(target_arch = "x86_64", path = "x86_64/features.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64/features.rs")]
#[cfg_attr(target_arch = "wasm32", path = "wasm32/features.rs")]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32")),
    path = "integers_only/features.rs"
)]
mod named;

use std::ops::{BitAnd, BitXor, Not};

pub use buffers::Buffers;
pub(crate) use buffers::bytes_of_mut;
pub(crate) use clear::ClearRegisters;
pub(crate) use features::known_caps;
pub use features::{CAP_VARIABLE, Features, cpu_model};
pub(crate) use gates::ternary as two_input_gates;
pub use integer::{Integer, U64};
pub use lanes::{Arithmetic, Lanes, multiply_high_by_halves};
pub use line::Line;
#[allow(unused_imports, reason = "a machine without registers has nothing else")]
pub use machine::*;
pub(crate) use machine::{
    clear_registers, fence, fetches_in_place, for_each_register, prefetch, prefetch_for_later,
    shuffles_whole_registers, stores_best_past_caches,
};
pub use named::{BENCHMARKED_CAPS, CAP_WITHOUT_AES, CAPS, NAMES as FEATURE_NAMES};
pub(crate) use named::{CAP_BASES, CAP_REMOVALS};
pub use portable::Portable;
pub(crate) use side_by_side::{Inputs, SideBySide};
pub use soft_float::computed as computed_by_integers;
pub(crate) use tile::{
    DEEP_STACK_BYTES, LONGER_STACK_BYTES, SETUP_STACK_BYTES, SHALLOW_STACK_BYTES, STACK_BYTES, wipe_stack,
};
pub use tile::{TILE_BYTES, TILE_WORDS, Tile};
#[doc(hidden)]
pub use tile::{wipe, wiping_deep_stack, wiping_stack};
pub use widest::{Work, Work64, on_widest, on_widest64};
pub use wiped::Wiped;
pub(crate) use wiped::{WipedBytes, wipe_room};

/// Other crates cannot implement [`Isa`], because a token is a proof.
mod sealed {
    pub trait Sealed {}
}

/// A token: the proof that this CPU has a set of instructions.
pub trait Isa: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The name in variant names, for example `portable`.
    const NAME: &'static str;

    /// The instructions, as features of the CPU.
    const NEEDS: Features;

    /// The token if `allowed` and the CPU both have [`Self::NEEDS`].
    fn detect(allowed: Features) -> Option<Self>;

    /// Runs a kernel that is compiled for these instructions.
    fn enter<K: Kernel>(self, kernel: K) -> K::Output;
}

/// Code that is compiled for an ISA. Its inputs are fields and not captures of a closure, because a closure might not be inlined.
pub trait Kernel: Sized {
    /// The result.
    type Output;

    /// Whether the kernel may have more live words than registers. Then its stack frame is aligned to 64 bytes, which takes a few
    /// instructions.
    const SPILLS: bool = true;

    /// The code. Implementations and all functions that they call must be `#[inline(always)]`.
    fn run(self) -> Self::Output;
}

/// Bits in parallel: the gates of a circuit.
pub trait Word: Copy + BitXor<Output = Self> + BitAnd<Output = Self> + Not<Output = Self> + 'static {
    /// Any function of three bits: for each position, bit 4·a + 2·b + c of `TABLE` (0 to 255).
    #[inline(always)]
    fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        gates::ternary::<Self, TABLE>(a, b, c)
    }

    /// Whether [`Self::ternary`] is one instruction.
    #[inline(always)]
    fn has_ternary() -> bool {
        false
    }

    /// All bits clear. `self` only proves that the instructions exist.
    #[inline(always)]
    #[allow(clippy::eq_op, reason = "it is how a word is cleared")]
    fn zero(self) -> Self {
        self ^ self
    }

    /// For each position, the bit of `one` if the bit of `self` is set, else the bit of `zero`.
    #[inline(always)]
    fn select(self, one: Self, zero: Self) -> Self {
        zero ^ (self & (one ^ zero))
    }
}

/// A word whose bits can move, for transpositions.
pub trait Shift: Word {
    /// Each 64-bit group, or the whole of a 32-bit word, shifted right by `COUNT` bits, 1 to 63 (31). Zeros enter.
    fn shift_right<const COUNT: u32>(self) -> Self;

    /// Each 64-bit group, or the whole of a 32-bit word, shifted left by `COUNT` bits, 1 to 63 (31). Zeros enter.
    fn shift_left<const COUNT: u32>(self) -> Self;

    /// Exchanges bit `BIT` of the index of a bit with the index of the word, 0 for `self` and 1 for `other`.
    ///
    /// `mask` is [`clear_positions`]`(BIT)`: the positions whose index has that bit clear. The first result has these positions of
    /// `self`, and those of `other` moved up by 2^`BIT`. The second has the remaining positions of `other`, and those of `self`
    /// moved down. `BIT` is 0 to 5, or to 4 for 32-bit words.
    #[inline(always)]
    fn exchange<const BIT: u32>(self, other: Self, mask: Self) -> (Self, Self) {
        exchange_by_shifts::<Self, BIT>(self, other, mask)
    }
}

/// [`Shift::exchange`] with two shifts and two selections.
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

/// A byte eight times: a pattern for [`Register::splat`].
#[inline(always)]
pub(crate) const fn eight(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// A word that can be loaded, stored and made from a pattern.
///
/// # Safety
/// The type must have no padding, accept every bit pattern, occupy `BITS / 8` bytes with an alignment
/// of at most 64, and be constructible only where `Isa` could be: [`Tile`] hands out memory as such words.
pub unsafe trait Register: Shift + Send + Sync {
    /// The token that a word is made from.
    type Isa: Isa;

    /// Bits in a register.
    const BITS: usize;

    /// Bytes in a register.
    const BYTES: usize = Self::BITS / 8;

    /// Registers of this kind that instructions can name: the values that a kernel can hold without memory.
    const REGISTERS: usize;

    /// `pattern` in each 64-bit group. A 32-bit word takes its low half.
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

    /// Exchanges the high 64 bits of each 128-bit lane of `a` with the low 64 bits of the same lane of `b`. Words of at most 64 bits
    /// stay as they are.
    #[inline(always)]
    fn exchange_halves(a: Self, b: Self) -> (Self, Self) {
        (a, b)
    }
}

/// A register of 32-bit lanes.
pub trait Lane32: Register + Lanes {
    /// `lane` in every lane.
    fn splat_lanes(isa: Self::Isa, lane: u32) -> Self;

    /// Each lane with its four bytes reversed.
    fn reverse_lane_bytes(self) -> Self;

    /// Transposes four words as a 4 × 4 matrix of lanes, in each 128-bit lane: lane i of result j is lane j of word i. It is its own
    /// inverse. A 32-bit word is one lane, and four of them stay as they are.
    fn transpose_lanes(words: [Self; 4]) -> [Self; 4];

    /// Bit i is set if lane i is zero. Bits above the last lane are clear.
    fn zero_lanes(self) -> u64;
}

/// A register of 64-bit lanes. [`Register::splat`] fills them, and [`Shift`] shifts them.
pub trait Lane64: Register {
    /// The sum of each 64-bit lane with the other's, modulo 2⁶⁴.
    fn add_lanes64(self, other: Self) -> Self;

    /// Each 64-bit lane rotated towards its high end by `COUNT` bits, 1 to 63.
    fn rotate_lanes64_left<const COUNT: u32>(self) -> Self;
}

/// A register of one or more 128-bit lanes of bytes.
pub trait ByteLanes: Register {
    /// Interleaves the bytes of `a` and `b` in each 128-bit lane: the low halves in the first result, the high halves in the second.
    ///
    /// Let p3 p2 p1 p0 be the bits of a byte's index in its lane, and w be 0 for `a` and 1 for `b`. This is the rotation
    /// (w; p3 p2 p1 p0) → (p3; p2 p1 p0 w).
    fn interleave(a: Self, b: Self) -> (Self, Self);

    /// `lane` in every 128-bit lane.
    fn broadcast(isa: Self::Isa, lane: &[u8; 16]) -> Self;

    /// Byte i of each 128-bit lane becomes the lane's byte `indices[i]`, for indices 0 to 15, or zero, for indices 128 to 255.
    ///
    /// Indices 16 to 127 give some byte of the lane, or zero: machines differ.
    fn shuffle_bytes(self, indices: Self) -> Self;

    /// Byte i of each 128-bit lane becomes the lane's byte `indices[i]`, for indices 0 to 15, or zero, for indices 16 to 127.
    ///
    /// Indices 128 to 255 give some byte of the lane, or zero.
    #[inline(always)]
    fn shuffle_bytes_up_to_15(self, isa: Self::Isa, indices: Self) -> Self {
        let raised = indices.add_bytes(Self::splat(isa, eight(0x70)));
        self.shuffle_bytes(raised & Self::splat(isa, eight(0x8f)))
    }

    /// `byte` where the top bit of the selector's byte is clear, zero elsewhere.
    fn byte_where_top_bit_is_clear(isa: Self::Isa, byte: u8, selector: Self) -> Self;

    /// Reads whole lanes into the lowest lanes. The other lanes are zero. It reads no byte beyond the slice.
    ///
    /// # Panics
    /// If `bytes` is longer than a register, or no whole number of lanes.
    fn load_lanes(isa: Self::Isa, bytes: &[u8]) -> Self;

    /// Writes the lowest lanes, as many as `bytes` holds. It writes no byte beyond the slice.
    ///
    /// # Panics
    /// As [`ByteLanes::load_lanes`].
    fn store_lanes(self, bytes: &mut [u8]);

    /// Reads bytes into the lowest bytes. The other bytes are zero. It reads no byte beyond the slice.
    ///
    /// # Panics
    /// If `bytes` is longer than a register.
    fn load_part(isa: Self::Isa, bytes: &[u8]) -> Self;

    /// [`ByteLanes::load_part`] for bytes that were stored shortly before, for example by a caller that
    /// copied its message to where it is sealed. The CPU cannot forward stored bytes to a masked load, so
    /// this reads them in pieces.
    #[inline(always)]
    fn load_part_just_stored(isa: Self::Isa, bytes: &[u8]) -> Self {
        Self::load_part(isa, bytes)
    }

    /// Writes the lowest bytes, as many as `bytes` holds. It writes no byte beyond the slice.
    ///
    /// # Panics
    /// If `bytes` is longer than a register.
    fn store_part(self, bytes: &mut [u8]);

    /// The lowest `len_bytes` bytes. The other bytes are zero.
    ///
    /// # Panics
    /// If `len_bytes` is more than a register has.
    fn first_bytes(self, len_bytes: usize) -> Self;

    /// Writes the register with a streaming store.
    ///
    /// # Panics
    /// If `bytes` has another length than the register, or its address is no multiple of that.
    ///
    /// # Safety
    /// This thread must call `fence` before any thread reads or writes these bytes again.
    unsafe fn store_past_caches(self, bytes: &mut [u8]);

    /// Reads 16 bytes into the lowest lane. The other lanes are zero. Unlike [`ByteLanes::load_lanes`] it uses no mask, so that the CPU
    /// can forward bytes from a recent store.
    fn load_lowest(isa: Self::Isa, lane: &[u8; 16]) -> Self;

    /// Writes the lowest lane.
    fn store_lowest(self, lane: &mut [u8; 16]);

    /// The sum of each byte with the other's, modulo 256.
    fn add_bytes(self, other: Self) -> Self;

    /// Bit i is set if byte i is zero. Bits above the last byte are clear.
    fn zero_bytes(self) -> u64;
}

/// A register whose bytes the CPU multiplies by 8 × 8 bit matrices and in GF(2⁸) (GFNI on x86).
pub trait GaloisBytes: ByteLanes {
    /// Each byte times the matrix, XOR `ADD` (0 to 255). Bit i of the product is the parity of the byte AND byte 7 − i of `matrix`.
    fn affine<const ADD: i32>(self, isa: Self::Isa, matrix: u64) -> Self;

    /// The same for the inverse of each byte in AES's field. The inverse of 0 is 0.
    fn affine_of_inverse<const ADD: i32>(self, isa: Self::Isa, matrix: u64) -> Self;

    /// The product of each byte with the other's in AES's field.
    fn multiply_bytes(self, other: Self) -> Self;
}

/// A register whose bytes index a table of 256 bytes that registers hold (AVX-512 VBMI on x86). Unlike a look-up in memory, this takes
/// the same time for every index.
pub trait ByteTables: ByteLanes {
    /// Replaces each byte x by byte x of the table. The four registers, of 64 bytes each, are the table.
    fn look_up(self, table: &[Self; 4]) -> Self;
}

/// A register of 128-bit lanes whose halves can be multiplied as polynomials over GF(2).
pub trait CarrylessLanes: ByteLanes {
    /// The product of the low 64 bits of each lane with the other's.
    fn low_product(self, other: Self) -> Self;

    /// The product of the high 64 bits of each lane with the other's.
    fn high_product(self, other: Self) -> Self;

    /// The XOR of the two products of a low half with a high half, in each lane.
    fn cross_products(self, other: Self) -> Self;

    /// Each block moved up by one lane. The last block of `before` enters the lowest lane.
    fn preceded_by(self, before: Self) -> Self;

    /// The block of the lowest lane, in every lane.
    fn lowest_in_all(self) -> Self;
}

/// A register of AES states on which the CPU computes AES rounds (FIPS 197 §5). No CPU has these without carry-less products.
pub trait AesLanes: CarrylessLanes {
    /// Blocks in a register.
    const BLOCKS: usize = Self::BITS / 128;

    /// A register of one block. Every CPU with these registers has it.
    type OneBlock: AesLanes;

    /// The token of [`Self::OneBlock`].
    fn one_block(isa: Self::Isa) -> <Self::OneBlock as Register>::Isa;

    /// One round: ShiftRows, SubBytes, MixColumns, then XOR of the round key.
    fn encrypt_round(self, key: Self) -> Self;

    /// The last round, without MixColumns.
    fn encrypt_last_round(self, key: Self) -> Self;

    /// One round of the equivalent inverse cipher (FIPS 197 §5.3.5).
    fn decrypt_round(self, key: Self) -> Self;

    /// The last round of the equivalent inverse cipher.
    fn decrypt_last_round(self, key: Self) -> Self;

    /// Whether the CPU's round begins with the XOR of a key, as [`Self::encrypt_after`] does. Loops over rounds then keep the XOR of
    /// each key for the round after it.
    const ADDS_KEY_FIRST: bool = false;

    /// XOR of the key, then ShiftRows, SubBytes and MixColumns.
    #[inline(always)]
    fn encrypt_after(self, key: Self) -> Self {
        (self ^ key).encrypt_round(self.zero())
    }

    /// XOR of the key, then the inverses of ShiftRows, SubBytes and MixColumns.
    #[inline(always)]
    fn decrypt_after(self, key: Self) -> Self {
        (self ^ key).decrypt_round(self.zero())
    }

    /// The sum of the low 64 bits of each lane with the other's, modulo 2⁶⁴, little-endian. The high 64 bits of `other` must be zero;
    /// those of `self` stay.
    fn add_low_u64(self, other: Self) -> Self;

    /// The first result has the even lanes of `a`, then those of `b`; the second has the odd lanes. Registers of one lane stay as they
    /// are.
    fn unzip_blocks(a: Self, b: Self) -> (Self, Self);

    /// The same value, pinned: the compiler does not move computations across this point. Otherwise it would separate instructions of
    /// different execution ports that are written side by side. It has an effect on registers of 512 bits only.
    #[must_use]
    fn pinned(self) -> Self;
}

/// The positions in a 64-bit group whose index has bit `bit` (0 to 5) clear.
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

/// As many ones as zeros, in this order: from byte `N / 2 - n` on it begins with `n` bytes of ones.
pub(crate) const fn ones_then_zeros<const N: usize>() -> [u8; N] {
    let (mut bytes, mut at) = ([0; N], 0);
    while at < N / 2 {
        bytes[at] = 0xff;
        at += 1;
    }
    bytes
}
