//! One byte of many states or keys, one key per lane: as bits in eight words, or as bytes in one word.
//!
//! All functions that kernels call are `#[inline(always)]`.

use std::fmt;
use std::marker::PhantomData;

use super::substitute::{Substitute, inv_mix_column, mix_column, mixing_adds};
use crate::arch::{ByteLanes, Isa, Register, TILE_WORDS, Tile, Word, each, eight};
use crate::block::{BLOCK_BYTES, Direction};
use crate::cipher::aes::lane_schedule::ROUND_CONSTANTS;
use crate::cipher::aes::linear_circuit;
use crate::circuit::{Bits, aes_sbox};
use crate::kernel::search::transposed;
use crate::layout::convert::{BlocksToBits, Load, Network};
use crate::layout::repr::block_of_lane;

/// A byte of every key, in registers or in a program's text, with the steps of AES on it.
pub trait CipherByte: Copy {
    /// Whether the state and schedule are kept in memory, because they exceed the available registers.
    const IN_MEMORY: bool = false;

    /// The token from which bytes are made. It proves that the instructions exist.
    type Isa: Copy;

    /// Constants that the steps need.
    type Substitution: Copy;

    /// A byte that can be broadcast to all lanes.
    type Pattern: Copy;

    /// The same byte in all lanes.
    fn of(isa: Self::Isa, pattern: &Self::Pattern) -> Self;

    /// The key schedule's round constant with this number, from 1 on (FIPS 197 §5.2).
    fn round_constant(isa: Self::Isa, number: usize) -> Self;

    /// The XOR of two bytes.
    #[must_use]
    fn sum(self, other: Self) -> Self;

    /// The bits that are set in `mask`.
    #[must_use]
    fn kept(self, mask: Self) -> Self;

    /// SubBytes.
    #[must_use]
    fn substituted(self, isa: Self::Isa, way: Self::Substitution) -> Self;

    /// MixColumns on a column.
    #[must_use]
    fn mixed(isa: Self::Isa, way: Self::Substitution, column: [Self; 4]) -> [Self; 4];

    /// InvSubBytes, with the constants for decryption.
    #[must_use]
    fn inv_substituted(self, isa: Self::Isa, way: Self::Substitution) -> Self;

    /// InvMixColumns on a column, with the constants for decryption.
    #[must_use]
    fn inv_mixed(isa: Self::Isa, way: Self::Substitution, column: [Self; 4]) -> [Self; 4];
}

/// A byte of every lane in registers.
pub trait LaneByte: CipherByte<Isa: Isa, Pattern: Send + Sync> + Send + Sync + 'static {
    /// The number of lanes.
    const LANES: usize;

    /// The constants for the steps of one direction.
    fn way(isa: Self::Isa, direction: Direction) -> Self::Substitution;

    /// A byte as a pattern.
    fn pattern(byte: u8) -> Self::Pattern;

    /// The sixteen bytes of as many blocks as there are lanes.
    fn load(isa: Self::Isa, blocks: &[u8]) -> [Self; 16];

    /// Byte `byte` of the blocks in a bundle of a tile.
    fn read(isa: Self::Isa, tile: &Tile, bundle: usize, byte: usize) -> Self;

    /// Replaces byte `byte` of the blocks in a bundle of a tile.
    fn write(self, isa: Self::Isa, tile: &mut Tile, bundle: usize, byte: usize);

    /// The lanes in which both bytes are zero, 64 lanes per word of `found`.
    fn zeros(bytes: [Self; 2], found: &mut [u64]);

    /// The index of a lane's block among the loaded ones.
    fn key_of(lane: usize) -> usize;
}

impl<W: Register> CipherByte for Bits<W> {
    const IN_MEMORY: bool = true;
    type Isa = W::Isa;
    type Substitution = ();
    type Pattern = Bits<u64>;

    #[inline(always)]
    fn of(isa: W::Isa, pattern: &Bits<u64>) -> Self {
        each!(bit < 8 => W::splat(isa, pattern[bit]))
    }

    #[inline(always)]
    fn round_constant(isa: W::Isa, number: usize) -> Self {
        Self::of(isa, &Self::pattern(ROUND_CONSTANTS[number]))
    }

    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        linear_circuit::add(self, other)
    }

    #[inline(always)]
    fn kept(self, mask: Self) -> Self {
        each!(bit < 8 => self[bit] & mask[bit])
    }

    #[inline(always)]
    fn substituted(self, _isa: W::Isa, (): ()) -> Self {
        sub_byte(self)
    }

    #[inline(always)]
    fn mixed(_isa: W::Isa, (): (), column: [Self; 4]) -> [Self; 4] {
        linear_circuit::mix_column(column)
    }

    #[inline(always)]
    fn inv_substituted(self, _isa: W::Isa, (): ()) -> Self {
        inv_sub_byte(self)
    }

    #[inline(always)]
    fn inv_mixed(_isa: W::Isa, (): (), column: [Self; 4]) -> [Self; 4] {
        linear_circuit::inv_mix_column(column)
    }
}

impl<W: Register> LaneByte for Bits<W> {
    const LANES: usize = W::BITS;

    #[inline(always)]
    fn way(_isa: W::Isa, _direction: Direction) {}

    #[inline(always)]
    fn pattern(byte: u8) -> Bits<u64> {
        each!(bit < 8 => 0_u64.wrapping_sub(u64::from(byte >> bit & 1)))
    }

    fn load(isa: W::Isa, blocks: &[u8]) -> [Self; 16] {
        let (mut tile, mut scratch) = (Tile::new(), Tile::new());
        BlocksToBits::<W, Network>::new(isa).load(blocks, &mut tile, &mut scratch);
        each!(i < 16 => Self::read(isa, &tile, 0, i))
    }

    #[inline(always)]
    fn read(isa: W::Isa, tile: &Tile, bundle: usize, byte: usize) -> Self {
        let words: &[W; TILE_WORDS] = tile.bundle(isa, bundle);
        each!(bit < 8 => words[8 * byte + bit])
    }

    #[inline(always)]
    fn write(self, isa: W::Isa, tile: &mut Tile, bundle: usize, byte: usize) {
        let words: &mut [W; TILE_WORDS] = tile.bundle_mut(isa, bundle);
        words[8 * byte..][..8].copy_from_slice(&self);
    }

    #[inline(always)]
    fn zeros(both: [Self; 2], found: &mut [u64]) {
        let mut bytes = [0; 64];
        are_zero(both).store(&mut bytes[..W::BYTES]);
        let words = bytes.as_chunks::<8>().0;
        for (found, word) in found.iter_mut().zip(words) {
            *found = u64::from_le_bytes(*word);
        }
    }

    fn key_of(lane: usize) -> usize {
        block_of_lane(W::BITS, W::BITS, lane)
    }
}

/// The lanes in which all these bytes are zero.
#[inline(always)]
pub(crate) fn are_zero<W: Word, const N: usize>(bytes: [Bits<W>; N]) -> W {
    let mut none = !bytes[0][0];
    for bit in 1..8 * N {
        none = none & !bytes[bit / 8][bit % 8];
    }
    none
}

/// SubBytes with its constant.
#[inline(always)]
pub(crate) fn sub_byte<W: Word>(byte: Bits<W>) -> Bits<W> {
    with_constant(aes_sbox::forward(byte))
}

/// InvSubBytes with its constant.
#[inline(always)]
pub(crate) fn inv_sub_byte<W: Word>(byte: Bits<W>) -> Bits<W> {
    aes_sbox::inverse(with_constant(byte))
}

/// Adds the S-box's constant, which its circuits omit.
#[inline(always)]
fn with_constant<W: Word>(mut byte: Bits<W>) -> Bits<W> {
    for (bit, word) in byte.iter_mut().enumerate() {
        if aes_sbox::CONSTANT >> bit & 1 == 1 {
            *word = !*word;
        }
    }
    byte
}

/// A byte of every lane in one word. `S` is the form of its S-box, one of those in `substitute`.
pub struct Byte<W, S>(W, PhantomData<fn() -> S>);

impl<W: Copy, S> Clone for Byte<W, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: Copy, S> Copy for Byte<W, S> {}

impl<W, S> fmt::Debug for Byte<W, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Byte(secret)")
    }
}

impl<W, S> Byte<W, S> {
    #[inline(always)]
    const fn new(word: W) -> Self {
        Self(word, PhantomData)
    }
}

impl<W: ByteLanes, S: Substitute<W> + 'static> Byte<W, S> {
    /// Removes the constant that MixColumns added to a column.
    #[inline(always)]
    fn made_good(isa: W::Isa, column: [W; 4], adds: u8) -> [Self; 4] {
        let adds_everywhere = W::splat(isa, Self::pattern(adds));
        each!(row < 4 => Self::new(if adds == 0 { column[row] } else { column[row] ^ adds_everywhere }))
    }
}

impl<W: ByteLanes, S: Substitute<W> + 'static> CipherByte for Byte<W, S> {
    type Isa = W::Isa;
    type Substitution = S;
    type Pattern = u64;

    #[inline(always)]
    fn of(isa: W::Isa, pattern: &u64) -> Self {
        Self::new(W::splat(isa, *pattern))
    }

    #[inline(always)]
    fn round_constant(isa: W::Isa, number: usize) -> Self {
        Self::of(isa, &Self::pattern(ROUND_CONSTANTS[number]))
    }

    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        Self::new(self.0 ^ other.0)
    }

    #[inline(always)]
    fn kept(self, mask: Self) -> Self {
        Self::new(self.0 & mask.0)
    }

    #[inline(always)]
    fn substituted(self, isa: W::Isa, way: S) -> Self {
        Self::new(way.substitute(isa, self.0))
    }

    #[inline(always)]
    fn mixed(isa: W::Isa, way: S, column: [Self; 4]) -> [Self; 4] {
        let mixed = mix_column(isa, way, each!(row < 4 => column[row].0));
        Self::made_good(isa, mixed, mixing_adds::<W, S>(Direction::Encrypt))
    }

    #[inline(always)]
    fn inv_substituted(self, isa: W::Isa, way: S) -> Self {
        // The constants determine the direction.
        self.substituted(isa, way)
    }

    #[inline(always)]
    fn inv_mixed(isa: W::Isa, way: S, column: [Self; 4]) -> [Self; 4] {
        let mixed = inv_mix_column(isa, way, each!(row < 4 => column[row].0));
        Self::made_good(isa, mixed, mixing_adds::<W, S>(Direction::Decrypt))
    }
}

impl<W: ByteLanes, S: Substitute<W> + 'static> LaneByte for Byte<W, S> {
    const LANES: usize = W::BYTES;

    #[inline(always)]
    fn way(isa: W::Isa, direction: Direction) -> S {
        S::new(isa, direction == Direction::Decrypt)
    }

    #[inline(always)]
    fn pattern(byte: u8) -> u64 {
        eight(byte)
    }

    fn load(isa: W::Isa, blocks: &[u8]) -> [Self; 16] {
        let words = transposed::<W>(isa, blocks);
        each!(i < 16 => Self::new(words[i]))
    }

    #[inline(always)]
    fn read(isa: W::Isa, tile: &Tile, bundle: usize, byte: usize) -> Self {
        Self::new(tile.bundle::<W, BLOCK_BYTES>(isa, bundle)[byte])
    }

    #[inline(always)]
    fn write(self, isa: W::Isa, tile: &mut Tile, bundle: usize, byte: usize) {
        tile.bundle_mut::<W, BLOCK_BYTES>(isa, bundle)[byte] = self.0;
    }

    #[inline(always)]
    fn zeros([a, b]: [Self; 2], found: &mut [u64]) {
        found[0] = W::ternary::<0xfc>(a.0, b.0, b.0).zero_bytes();
    }

    fn key_of(lane: usize) -> usize {
        block_of_lane(W::BITS, W::BYTES, lane)
    }
}
