//! What a description says: its constants and key schedule, and its rounds over any state.

use zeroize::{Zeroize, Zeroizing};

use super::sbox::{Linear, Sbox};
use crate::block::{Block, Direction, Family};
use crate::word::each;

/// What the registry says of a description.
pub trait Listed {
    /// The cipher, with keys of any size.
    const FAMILY: Family;

    /// What it is called.
    const NAMES: Names;
}

/// What a family of ciphers is called, and what is made of it.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// The family.
    pub family: &'static str,
    /// Encryption as a part, and as a program for GPUs.
    pub encrypt: &'static str,
    /// Decryption.
    pub decrypt: &'static str,
    /// The program that adds a keystream.
    pub ctr: &'static str,
    /// The program that writes one.
    pub random: &'static str,
}

/// What every description says, whatever its rounds compute with.
pub trait Description: Listed + Send + Sync + 'static {
    /// The S-boxes, by number.
    const BOXES: &'static [Sbox];

    /// Whether all S-boxes are inversions between affine maps.
    const HAS_STRUCTURE: bool = {
        let (mut all, mut number) = (true, 0);
        while number < Self::BOXES.len() {
            all &= Self::BOXES[number].inversion.is_some();
            number += 1;
        }
        all
    };

    /// Linear maps of bytes, by number.
    const MAPS: &'static [Linear] = &[];
}

/// A description whose key schedule, and reference, are texts of their own.
pub trait ByHand: Description {
    /// The bytes of the round keys in the order in which [`ByHand::crypt_plainly`] takes them.
    fn schedule(key: &[u8], direction: Direction) -> RoundKeys;

    /// Replaces a block by look-ups: the reference.
    fn crypt_plainly(keys: &[u8], direction: Direction, block: &mut Block);
}

/// The bytes of round keys. They are wiped when dropped.
pub type RoundKeys = Zeroizing<Vec<u8>>;

/// What the rounds of a cipher of bytes compute with: a byte of the state, of one block or of many.
pub trait Bytes: Copy {
    /// A byte of the state.
    type Byte: Copy;

    /// A byte of a round key.
    type Key;

    /// The sum of two bytes.
    fn add(self, a: Self::Byte, b: Self::Byte) -> Self::Byte;

    /// Whether a sum of three takes as long as one of two.
    #[inline(always)]
    fn sums_three(self) -> bool {
        false
    }

    /// The sum with a byte of a key. No key is added twice, here or by `substitute_sum`.
    fn add_key(self, byte: Self::Byte, key: &Self::Key) -> Self::Byte;

    /// The bits that both have.
    fn and_key(self, byte: Self::Byte, key: &Self::Key) -> Self::Byte;

    /// The bits that either has.
    fn or_key(self, byte: Self::Byte, key: &Self::Key) -> Self::Byte;

    /// The sum with a byte of a key through S-box number `sbox`.
    fn substitute_sum(self, byte: Self::Byte, key: &Self::Key, sbox: usize) -> Self::Byte;

    /// The byte through linear map number `map`.
    fn linear(self, byte: Self::Byte, map: usize) -> Self::Byte;
}

/// What a key schedule computes with: a byte of one key, or of many.
pub trait KeyBytes: Bytes<Byte: Zeroize> {
    /// A byte that is the same for all keys.
    fn constant(self, byte: u8) -> Self::Byte;

    /// Puts up to 32 bytes through S-boxes, byte i through number `choose(i)`. A schedule substitutes by this alone: keys are
    /// secret where [`Bytes::substitute_sum`] may look up.
    fn substitute(self, choose: impl Fn(usize) -> usize, bytes: &mut [Self::Byte]);

    /// The eight bits that begin `count`, 1 to 7, below the highest of two bytes.
    fn between(self, high: Self::Byte, low: Self::Byte, count: u32) -> Self::Byte;

    /// A big-endian number rotated towards its high end.
    #[inline(always)]
    fn rotate_left<const N: usize>(self, number: [Self::Byte; N], count: usize) -> [Self::Byte; N] {
        self.bits_from(&number, count)
    }

    /// As many bytes of a big-endian number as are asked for, from so many bits below its highest on, and around.
    #[inline(always)]
    fn bits_from<const N: usize, const M: usize>(
        self,
        number: &[Self::Byte; N],
        count: usize,
    ) -> [Self::Byte; M] {
        let (bytes, bits) = (count / 8, (count % 8) as u32);
        each!(i < M => {
            let high = number[(i + bytes) % N];
            if bits == 0 { high } else { self.between(high, number[(i + bytes + 1) % N], bits) }
        })
    }

    /// The sums of bytes in the same places.
    #[inline(always)]
    fn sum<const N: usize>(self, a: [Self::Byte; N], b: [Self::Byte; N]) -> [Self::Byte; N] {
        each!(i < N => self.add(a[i], b[i]))
    }

    /// The sums with bytes that are the same for all keys.
    #[inline(always)]
    fn sum_with<const N: usize>(self, a: [Self::Byte; N], constant: [u8; N]) -> [Self::Byte; N] {
        each!(i < N => self.add(a[i], self.constant(constant[i])))
    }
}

/// A description whose key schedule may be of any number of keys.
///
/// Implementations of [`Scheduled::round_keys`] must be `#[inline(always)]`, without closures that compute with bytes.
pub trait Scheduled: Description {
    /// Bytes of the round keys of a key of so many bytes.
    fn round_key_bytes(key_bytes: usize) -> usize;

    /// Works out the round keys and gives `keep` their bytes, behind the place of the first of these as the rounds take them. They are given
    /// as soon as they are there: programs for GPUs take the order of operations from here.
    fn round_keys<S: KeyBytes>(
        s: S,
        key: &[S::Byte],
        direction: Direction,
        keep: &mut impl FnMut(usize, &[S::Byte]),
    );
}

/// What the rounds of a cipher of 32-bit words compute with: a word of the state, of one block or of many.
pub trait Words: Copy {
    /// A word of the state: a number of 32 bits.
    type Word: Copy;

    /// A word of a round key.
    type Key;

    /// The sum of two words, without carries.
    fn add(self, a: Self::Word, b: Self::Word) -> Self::Word;

    /// The four bytes of the sum with a word of a key, without carries, through S-box number `sbox`. No key is added twice.
    fn substitute_sum(self, word: Self::Word, key: &Self::Key, sbox: usize) -> Self::Word;

    /// The word rotated towards its high end by `COUNT` bits.
    fn rotate_left<const COUNT: u32>(self, word: Self::Word) -> Self::Word;
}

/// A cipher whose rounds compute with bytes.
///
/// Implementations of [`OnBytes::rounds`] must be `#[inline(always)]`.
pub trait OnBytes: Description {
    /// Whether the rounds are [`Pass`]es, which may go over many blocks one after another.
    const IN_PASSES: bool = false;

    /// Has them run, if they are, by so many bytes of round keys. Implementations must be `#[inline(always)]`.
    fn passes<P: Passes>(_passes: &mut P, _round_keys: usize) {}

    /// The whole cipher on the sixteen bytes of a block.
    fn rounds<S: Bytes>(s: S, direction: Direction, block: [S::Byte; 16], keys: &[S::Key]) -> [S::Byte; 16];
}

/// A piece of a cipher's rounds: it changes bytes of a block, by bytes of round keys.
///
/// Implementations of [`Pass::run`] must be `#[inline(always)]`.
pub trait Pass {
    /// Bytes of round keys that it takes, 16 at most.
    const KEYS: usize;

    /// Changes the block.
    fn run<S: Bytes>(s: S, block: &mut [S::Byte; 16], keys: &[S::Key]);
}

/// What runs passes, each by the round keys that come behind those of the one before.
///
/// Implementations of [`Passes::pass`] must be `#[inline(always)]`.
pub trait Passes {
    /// The next one.
    fn pass<P: Pass>(&mut self);
}

/// Passes on blocks that are in registers: all of them, one after another.
#[derive(Debug)]
pub struct InRegisters<'a, S: Bytes> {
    /// What they compute with.
    pub s: S,
    /// The blocks.
    pub block: [S::Byte; 16],
    /// The round keys of those that are left.
    pub keys: &'a [S::Key],
}

impl<S: Bytes> Passes for InRegisters<'_, S> {
    #[inline(always)]
    fn pass<P: Pass>(&mut self) {
        let (keys, rest) = self.keys.split_at(P::KEYS);
        P::run(self.s, &mut self.block, keys);
        self.keys = rest;
    }
}

/// A cipher whose rounds compute with four words, each the big-endian number that four bytes of the block are.
///
/// Implementations of [`OnWords::rounds`] must be `#[inline(always)]`.
pub trait OnWords: Description {
    /// The whole cipher on the four words of a block.
    fn rounds<S: Words>(s: S, direction: Direction, block: [S::Word; 4], keys: &[S::Key]) -> [S::Word; 4];
}

/// What asks for every description in turn: the table of variants, say.
pub trait Visitor {
    /// A cipher of bytes.
    fn bytes<C: OnBytes + Scheduled>(&mut self);

    /// A cipher of words.
    fn words<C: OnWords + Scheduled>(&mut self);
}
