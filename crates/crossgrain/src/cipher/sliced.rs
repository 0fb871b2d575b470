//! Arithmetic for kernels that run a description's rounds on many blocks under one key.
//!
//! * [`Lanes`]: a register holds one byte of many blocks (`Repr::Bytesliced`), or one 32-bit word of many
//!   blocks (`Repr::Vsliced`). `N` registers are processed together, so that successive instructions are
//!   independent.
//! * [`Gates`]: eight or 32 integers, each with one bit of 32 or 64 blocks (`Repr::Bitsliced`). This serves
//!   machines without byte shuffles. Where a machine has byte shuffles, [`Lanes`] is faster.
//!
//! Invariants: constants are public, and the keys are the same for every block.

use std::fmt;
use std::marker::PhantomData;
use std::ops::BitOr;

use zeroize::Zeroize;

#[cfg(feature = "search")]
use super::KeyBytes;
use super::folded::FoldedConstants;
use super::sbox::{Linear, Sbox};
use super::substitution::Substitution;
use super::{Bytes, Description, Words};
use crate::arch::{ByteLanes, Lane32, Portable, Register, Word, each};

/// The greatest numbers of S-boxes and of linear maps in one cipher.
pub(super) const BOXES_MAX: usize = 4;
const MAPS_MAX: usize = 7;

/// The constants of a cipher's S-boxes and maps, in the form of the substitution method `Y`.
pub struct Forms<W: ByteLanes, Y: Substitution<W>> {
    pub(super) boxes: [Y::Sbox; BOXES_MAX],
    pub(super) maps: [Y::Linear; MAPS_MAX],
}

impl<W: ByteLanes, Y: Substitution<W>> Forms<W, Y> {
    /// The constants of `C`; `None` if `Y` cannot compute all of its S-boxes.
    ///
    /// # Panics
    /// If the cipher has more than `BOXES_MAX` S-boxes or `MAPS_MAX` maps.
    pub fn of<C: Description>() -> Option<Self> {
        let (boxes, maps) = (C::BOXES, C::MAPS);
        assert!(boxes.len() <= BOXES_MAX && maps.len() <= MAPS_MAX, "more than kernels have room for");
        let mut forms = [Y::sbox(boxes.first()?)?; BOXES_MAX];
        for (form, sbox) in forms.iter_mut().zip(boxes) {
            *form = Y::sbox(sbox)?;
        }
        // Rounds never use the entries beyond the cipher's maps.
        let mut of_maps = [Y::linear(&Linear::NOTHING); MAPS_MAX];
        for (form, map) in of_maps.iter_mut().zip(maps) {
            *form = Y::linear(map);
        }
        Some(Self { boxes: forms, maps: of_maps })
    }

    /// The constants that `Y` omits from each S-box of `C`.
    pub fn lacks<C: Description>() -> [FoldedConstants; BOXES_MAX] {
        let mut lacks = [FoldedConstants::NOTHING; BOXES_MAX];
        for (lack, sbox) in lacks.iter_mut().zip(C::BOXES) {
            *lack = Y::lacks(sbox);
        }
        lacks
    }
}

impl<W: ByteLanes, Y: Substitution<W>> fmt::Debug for Forms<W, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Forms")
    }
}

/// Arithmetic on registers whose lanes are bytes, or words, of many blocks.
#[derive(Debug)]
pub struct Lanes<'a, C, W: ByteLanes, Y: Substitution<W>, const N: usize> {
    isa: W::Isa,
    forms: &'a Forms<W, Y>,
    cipher: PhantomData<fn() -> C>,
}

impl<'a, C, W: ByteLanes, Y: Substitution<W>, const N: usize> Lanes<'a, C, W, Y, N> {
    /// Arithmetic for the rounds of `C`, with its constants.
    #[inline(always)]
    pub const fn new(isa: W::Isa, forms: &'a Forms<W, Y>) -> Self {
        Self { isa, forms, cipher: PhantomData }
    }
}

impl<C, W: ByteLanes, Y: Substitution<W>, const N: usize> Clone for Lanes<'_, C, W, Y, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, W: ByteLanes, Y: Substitution<W>, const N: usize> Copy for Lanes<'_, C, W, Y, N> {}

impl<C: Description, W: ByteLanes, Y: Substitution<W>, const N: usize> Bytes for Lanes<'_, C, W, Y, N> {
    type Byte = [W; N];

    /// The byte repeated eight times.
    type Key = u64;

    const IN_REGISTERS: bool = true;

    #[inline(always)]
    fn add(self, a: [W; N], b: [W; N]) -> [W; N] {
        each!(n < N => a[n] ^ b[n])
    }

    #[inline(always)]
    fn sums_three(self) -> bool {
        W::has_ternary()
    }

    #[inline(always)]
    fn add_key(self, byte: [W; N], key: &u64) -> [W; N] {
        each!(n < N => byte[n] ^ W::splat(self.isa, *key))
    }

    #[inline(always)]
    fn and_key(self, byte: [W; N], key: &u64) -> [W; N] {
        each!(n < N => byte[n] & W::splat(self.isa, *key))
    }

    #[inline(always)]
    fn or_key(self, byte: [W; N], key: &u64) -> [W; N] {
        let key = W::splat(self.isa, *key);
        each!(n < N => (byte[n] & !key) ^ key)
    }

    #[inline(always)]
    fn substitute_sum(self, byte: [W; N], key: &u64, sbox: usize) -> [W; N] {
        let key = W::splat(self.isa, *key);
        each!(n < N => Y::substitute(self.isa, byte[n] ^ key, &self.forms.boxes[sbox], &C::BOXES[sbox]))
    }

    #[inline(always)]
    fn linear(self, byte: [W; N], map: usize) -> [W; N] {
        each!(n < N => Y::map(self.isa, byte[n], &self.forms.maps[map], &C::MAPS[map]))
    }
}

/// Shuffle indices that rotate each 32-bit lane left by 0 to 3 bytes.
const ROTATED: [[u8; 16]; 4] = {
    let (mut indices, mut count, mut at) = ([[0; 16]; 4], 0, 0);
    while count < 4 {
        while at < 16 {
            indices[count][at] = (at / 4 * 4 + (at + 4 - count) % 4) as u8;
            at += 1;
        }
        (count, at) = (count + 1, 0);
    }
    indices
};

impl<C: Description, W: ByteLanes + Lane32, Y: Substitution<W>, const N: usize> Words
    for Lanes<'_, C, W, Y, N>
{
    type Word = [W; N];
    type Key = u32;

    #[inline(always)]
    fn add(self, a: [W; N], b: [W; N]) -> [W; N] {
        each!(n < N => a[n] ^ b[n])
    }

    #[inline(always)]
    fn substitute_sum(self, word: [W; N], key: &u32, sbox: usize) -> [W; N] {
        let key = W::splat_lanes(self.isa, *key);
        each!(n < N => Y::substitute(self.isa, word[n] ^ key, &self.forms.boxes[sbox], &C::BOXES[sbox]))
    }

    #[inline(always)]
    fn rotate_left<const COUNT: u32>(self, word: [W; N]) -> [W; N] {
        if COUNT.is_multiple_of(8) {
            let indices = W::broadcast(self.isa, &ROTATED[COUNT as usize / 8 % 4]);
            each!(n < N => word[n].shuffle_bytes(indices))
        } else {
            each!(n < N => word[n].rotate_lanes_left::<COUNT>())
        }
    }
}

/// The integers of [`Gates`]: `u32` and `u64`.
pub trait Integer: Register<Isa = Portable> + BitOr<Output = Self> + Default + Zeroize {}

impl<W: Register<Isa = Portable> + BitOr<Output = Self> + Default + Zeroize> Integer for W {}

/// Arithmetic on integers that each hold one bit of 32 or 64 blocks.
///
/// S-boxes and maps are function calls. Each has hundreds of gates, and inlining them into the rounds would
/// take a compiler minutes.
#[derive(Clone, Copy, Debug)]
pub struct Gates<W = u64> {
    /// The S-boxes.
    pub boxes: &'static [Sbox],
    /// The linear maps.
    pub maps: &'static [Linear],
    word: PhantomData<fn() -> W>,
}

impl<W> Gates<W> {
    /// Arithmetic for the rounds of `C`.
    pub fn of<C: Description>() -> Self {
        Self { boxes: C::BOXES, maps: C::MAPS, word: PhantomData }
    }
}

#[inline(never)]
fn substituted<W: Word>(sbox: &Sbox, byte: [W; 8]) -> [W; 8] {
    sbox.gates(byte)
}

#[inline(never)]
fn mapped<W: Word>(map: &Linear, byte: [W; 8]) -> [W; 8] {
    map.gates(byte)
}

fn sum<W: Word, const N: usize>(a: &[W; N], b: &[W; N]) -> [W; N] {
    each!(i < N => a[i] ^ b[i])
}

/// The bits of a byte of a key, each broadcast to all lanes.
pub fn spread_byte<W: Integer>(byte: u8) -> [W; 8] {
    each!(bit < 8 => W::splat(Portable, 0_u64.wrapping_sub(u64::from(byte >> bit & 1))))
}

/// The bits of a word of a key, each broadcast to all lanes.
pub fn spread_word<W: Integer>(word: u32) -> [W; 32] {
    each!(bit < 32 => W::splat(Portable, 0_u64.wrapping_sub(u64::from(word >> bit & 1))))
}

impl<W: Integer> Bytes for Gates<W> {
    type Byte = [W; 8];

    /// The bits of a byte, each broadcast to all lanes, or one per lane.
    type Key = [W; 8];

    fn add(self, a: [W; 8], b: [W; 8]) -> [W; 8] {
        sum(&a, &b)
    }

    fn add_key(self, byte: [W; 8], key: &[W; 8]) -> [W; 8] {
        sum(&byte, key)
    }

    fn and_key(self, byte: [W; 8], key: &[W; 8]) -> [W; 8] {
        each!(i < 8 => byte[i] & key[i])
    }

    fn or_key(self, byte: [W; 8], key: &[W; 8]) -> [W; 8] {
        each!(i < 8 => byte[i] | key[i])
    }

    fn substitute_sum(self, byte: [W; 8], key: &[W; 8], sbox: usize) -> [W; 8] {
        substituted(&self.boxes[sbox], sum(&byte, key))
    }

    fn linear(self, byte: [W; 8], map: usize) -> [W; 8] {
        mapped(&self.maps[map], byte)
    }
}

#[cfg(feature = "search")]
impl<W: Integer> KeyBytes for Gates<W> {
    fn constant(self, byte: u8) -> [W; 8] {
        spread_byte(byte)
    }

    fn substitute(self, choose: impl Fn(usize) -> usize, bytes: &mut [[W; 8]]) {
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = substituted(&self.boxes[choose(at)], *byte);
        }
    }

    fn between(self, high: [W; 8], low: [W; 8], count: u32) -> [W; 8] {
        let count = count as usize;
        each!(bit < 8 => if bit < count { low[8 - count + bit] } else { high[bit - count] })
    }
}

impl<W: Integer> Words for Gates<W> {
    type Word = [W; 32];

    /// The bits of a word, each broadcast to all lanes, or one per lane.
    type Key = [W; 32];

    fn add(self, a: [W; 32], b: [W; 32]) -> [W; 32] {
        sum(&a, &b)
    }

    fn substitute_sum(self, word: [W; 32], key: &[W; 32], sbox: usize) -> [W; 32] {
        let mut word = sum(&word, key);
        for byte in word.as_chunks_mut().0 {
            *byte = substituted(&self.boxes[sbox], *byte);
        }
        word
    }

    fn rotate_left<const COUNT: u32>(self, word: [W; 32]) -> [W; 32] {
        each!(bit < 32 => word[(bit + 32 - COUNT as usize) % 32])
    }
}
