//! Arithmetic on keys in registers: each byte lane belongs to one key.
//!
//! A lane holds a byte of the key, of its round keys, or of the block under this key. Key searches have another
//! key in each lane, and a single key schedule the same key in all. The layout is `Repr::Bytesliced`. A 32-bit word is four registers, the highest byte first, so rotations by whole bytes
//! only rename registers.
//! Invariant: every function that a kernel calls is `#[inline(always)]`.

use std::fmt;
use std::marker::PhantomData;

use zeroize::Zeroize;

use super::sliced::{BOXES_MAX, Forms};
use super::substitution::Substitution;
use super::{Bytes, Description, KeyBytes, Words};
use crate::arch::{ByteLanes, each, eight};

/// The cipher's constants in the form of the substitution method `Y`, and the S-box constants that `Y` omits.
/// Round keys of many keys cannot absorb the omitted constants, so this arithmetic adds them.
pub struct Constants<W: ByteLanes, Y: Substitution<W>> {
    forms: Forms<W, Y>,
    /// For each S-box, the constants to XOR before and after it, each repeated to fill eight bytes.
    lacks: [[u64; 2]; BOXES_MAX],
}

impl<W: ByteLanes, Y: Substitution<W>> Constants<W, Y> {
    /// The constants of `C`; `None` if `Y` cannot compute all of its S-boxes.
    ///
    /// # Panics
    /// As [`Forms::of`].
    pub fn of<C: Description>() -> Option<Self> {
        let lacks = Forms::<W, Y>::lacks::<C>().map(|lack| [eight(lack.input), eight(lack.output)]);
        Some(Self { forms: Forms::of::<C>()?, lacks })
    }
}

impl<W: ByteLanes, Y: Substitution<W>> fmt::Debug for Constants<W, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Constants")
    }
}

/// One byte for each key.
#[derive(Clone, Copy)]
pub struct Byte<W>(pub W);

impl<W> fmt::Debug for Byte<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Byte(secret)")
    }
}

/// Does nothing. Registers spill to the stack of a kernel, and the kernel's caller wipes that.
impl<W> Zeroize for Byte<W> {
    #[inline(always)]
    fn zeroize(&mut self) {}
}

/// The arithmetic for the schedule and the rounds of `C`.
#[derive(Debug)]
pub struct KeyLanes<'a, C, W: ByteLanes, Y: Substitution<W>> {
    isa: W::Isa,
    constants: &'a Constants<W, Y>,
    cipher: PhantomData<fn() -> C>,
}

impl<C, W: ByteLanes, Y: Substitution<W>> Clone for KeyLanes<'_, C, W, Y> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, W: ByteLanes, Y: Substitution<W>> Copy for KeyLanes<'_, C, W, Y> {}

impl<'a, C: Description, W: ByteLanes, Y: Substitution<W>> KeyLanes<'a, C, W, Y> {
    /// Uses these constants of the cipher.
    #[inline(always)]
    pub const fn new(isa: W::Isa, constants: &'a Constants<W, Y>) -> Self {
        Self { isa, constants, cipher: PhantomData }
    }

    /// A block of the same bytes in all lanes.
    #[inline(always)]
    pub fn same<const BYTES: usize>(self, block: &[u8; BYTES]) -> [Byte<W>; BYTES] {
        each!(i < BYTES => self.constant(block[i]))
    }

    #[inline(always)]
    fn substituted(self, byte: W, sbox: usize) -> W {
        let Self { isa, constants: Constants { forms, lacks }, .. } = self;
        let [before, behind] = lacks[sbox];
        let entering = byte ^ W::splat(isa, before);
        Y::substitute(isa, entering, &forms.boxes[sbox], &C::BOXES[sbox]) ^ W::splat(isa, behind)
    }

    /// Concatenates the low `DOWN` bits of `high` and the top `UP` bits of `low`; `UP + DOWN` is 8.
    #[inline(always)]
    fn shifted<const UP: u32, const DOWN: u32>(self, high: W, low: W) -> W {
        let low_bits = W::splat(self.isa, eight((1 << UP) - 1));
        low_bits.select(low.shift_right::<DOWN>(), high.shift_left::<UP>())
    }
}

impl<C: Description, W: ByteLanes, Y: Substitution<W>> Bytes for KeyLanes<'_, C, W, Y> {
    type Byte = Byte<W>;
    type Key = Byte<W>;

    const IN_REGISTERS: bool = true;

    #[inline(always)]
    fn add(self, a: Byte<W>, b: Byte<W>) -> Byte<W> {
        Byte(a.0 ^ b.0)
    }

    #[inline(always)]
    fn sums_three(self) -> bool {
        W::has_ternary()
    }

    #[inline(always)]
    fn add_key(self, byte: Byte<W>, key: &Byte<W>) -> Byte<W> {
        Byte(byte.0 ^ key.0)
    }

    #[inline(always)]
    fn and_key(self, byte: Byte<W>, key: &Byte<W>) -> Byte<W> {
        Byte(byte.0 & key.0)
    }

    #[inline(always)]
    fn or_key(self, byte: Byte<W>, key: &Byte<W>) -> Byte<W> {
        Byte((byte.0 & !key.0) ^ key.0)
    }

    #[inline(always)]
    fn substitute_sum(self, byte: Byte<W>, key: &Byte<W>, sbox: usize) -> Byte<W> {
        Byte(self.substituted(byte.0 ^ key.0, sbox))
    }

    #[inline(always)]
    fn linear(self, byte: Byte<W>, map: usize) -> Byte<W> {
        Byte(Y::map(self.isa, byte.0, &self.constants.forms.maps[map], &C::MAPS[map]))
    }
}

impl<C: Description, W: ByteLanes, Y: Substitution<W>> KeyBytes for KeyLanes<'_, C, W, Y> {
    #[inline(always)]
    fn constant(self, byte: u8) -> Byte<W> {
        Byte(W::splat(self.isa, eight(byte)))
    }

    #[inline(always)]
    fn substitute(self, choose: impl Fn(usize) -> usize, bytes: &mut [Byte<W>]) {
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = Byte(self.substituted(byte.0, choose(at)));
        }
    }

    #[inline(always)]
    fn between(self, high: Byte<W>, low: Byte<W>, count: u32) -> Byte<W> {
        let (high, low) = (high.0, low.0);
        Byte(match count {
            1 => self.shifted::<1, 7>(high, low),
            2 => self.shifted::<2, 6>(high, low),
            3 => self.shifted::<3, 5>(high, low),
            4 => self.shifted::<4, 4>(high, low),
            5 => self.shifted::<5, 3>(high, low),
            6 => self.shifted::<6, 2>(high, low),
            _ => self.shifted::<7, 1>(high, low),
        })
    }
}

impl<C: Description, W: ByteLanes, Y: Substitution<W>> Words for KeyLanes<'_, C, W, Y> {
    type Word = [Byte<W>; 4];
    type Key = [Byte<W>; 4];

    #[inline(always)]
    fn add(self, a: [Byte<W>; 4], b: [Byte<W>; 4]) -> [Byte<W>; 4] {
        self.sum(a, b)
    }

    #[inline(always)]
    fn substitute_sum(self, word: [Byte<W>; 4], key: &[Byte<W>; 4], sbox: usize) -> [Byte<W>; 4] {
        each!(row < 4 => Bytes::substitute_sum(self, word[row], &key[row], sbox))
    }

    #[inline(always)]
    fn rotate_left<const COUNT: u32>(self, word: [Byte<W>; 4]) -> [Byte<W>; 4] {
        KeyBytes::rotate_left(self, word, COUNT as usize)
    }
}
