//! Traits of a cipher's description: constants, key schedule, and rounds that are generic over the type of
//! the state.

use zeroize::{Zeroize, Zeroizing};

use super::sbox::{Linear, Sbox};
use crate::arch::each;
use crate::block::{Block, Direction, Family};

/// A description's place in the registry.
pub trait Listed {
    /// The family.
    const FAMILY: Family;

    /// The names of its variants.
    const NAMES: Names;
}

/// Names of a family of ciphers, of its parts and of its GPU programs.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// The family.
    pub family: &'static str,
    /// The part that encrypts, and the GPU program that encrypts.
    pub encrypt: &'static str,
    /// The part and the GPU program that decrypt.
    pub decrypt: &'static str,
    /// The GPU program that XORs a keystream.
    pub ctr: &'static str,
    /// The GPU program that writes a keystream.
    pub random: &'static str,
}

/// The constants of a cipher, common to all kinds of descriptions.
pub trait Description: Listed + Send + Sync + 'static {
    /// The S-boxes. Rounds name them by index.
    const BOXES: &'static [Sbox];

    /// Whether every S-box is inversion in AES's field between two affine maps.
    const HAS_STRUCTURE: bool = {
        let (mut all, mut number) = (true, 0);
        while number < Self::BOXES.len() {
            all &= Self::BOXES[number].inversion.is_some();
            number += 1;
        }
        all
    };

    /// Linear maps of bytes. Rounds name them by index.
    const MAPS: &'static [Linear] = &[];

    /// Blocks of the round keys that the last rounds of a key search take: two rounds if they suffice to compute
    /// fewer bytes of the result. A search in steps may change its representation before them.
    const LAST_KEYS: usize;

    /// The place of the first of four neighbouring bytes of the result that take the fewest operations. The last
    /// rounds of a search in steps compute only these, if they are known.
    const EARLY: usize = 0;
}

/// The rounds to compute. Callers give the round keys of these rounds only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portion {
    /// All rounds.
    All,
    /// All but the last rounds.
    First,
    /// The last rounds, which take [`Description::LAST_KEYS`] blocks of the round keys.
    Last,
}

/// A description with a hand-written key schedule and reference.
pub trait ByHand: Description {
    /// The bytes of the round keys in the order in which [`ByHand::crypt_plainly`] takes them.
    fn schedule(key: &[u8], direction: Direction) -> RoundKeys;

    /// Encrypts or decrypts a block in place by table look-ups: the reference.
    fn crypt_plainly(keys: &[u8], direction: Direction, block: &mut Block);
}

/// The bytes of round keys, wiped on drop.
pub type RoundKeys = Zeroizing<Vec<u8>>;

/// Arithmetic for the rounds of a byte-oriented cipher, on one byte of the state of one block or of many.
pub trait Bytes: Copy {
    /// A byte of the state.
    type Byte: Copy;

    /// A byte of a round key.
    type Key;

    /// Whether bytes are in registers of a CPU. Code then needs constant indices; elsewhere a loop takes the compiler
    /// less time.
    const IN_REGISTERS: bool = false;

    /// `a` XOR `b`.
    fn add(self, a: Self::Byte, b: Self::Byte) -> Self::Byte;

    /// Whether an XOR of three values takes as long as an XOR of two.
    #[inline(always)]
    fn sums_three(self) -> bool {
        false
    }

    /// `byte` XOR `key`. Each byte of the round keys may be added only once, either here or in
    /// `substitute_sum`.
    fn add_key(self, byte: Self::Byte, key: &Self::Key) -> Self::Byte;

    /// `byte` AND `key`.
    fn and_key(self, byte: Self::Byte, key: &Self::Key) -> Self::Byte;

    /// `byte` OR `key`.
    fn or_key(self, byte: Self::Byte, key: &Self::Key) -> Self::Byte;

    /// S-box number `sbox` of `byte` XOR `key`.
    fn substitute_sum(self, byte: Self::Byte, key: &Self::Key, sbox: usize) -> Self::Byte;

    /// The image of `byte` under linear map number `map`.
    fn linear(self, byte: Self::Byte, map: usize) -> Self::Byte;
}

/// Arithmetic for a key schedule, on one byte of one key or of many.
pub trait KeyBytes: Bytes<Byte: Zeroize> {
    /// A constant byte, the same for all keys.
    fn constant(self, byte: u8) -> Self::Byte;

    /// Substitutes up to 32 bytes, byte i through S-box number `choose(i)`. Key schedules substitute only by
    /// this method, because keys are secret and [`Bytes::substitute_sum`] may look up a table.
    fn substitute(self, choose: impl Fn(usize) -> usize, bytes: &mut [Self::Byte]);

    /// Concatenates two bytes and returns the eight bits that begin `count` (1 to 7) bits below the top.
    fn between(self, high: Self::Byte, low: Self::Byte, count: u32) -> Self::Byte;

    /// Rotates a big-endian number left.
    #[inline(always)]
    fn rotate_left<const N: usize>(self, number: [Self::Byte; N], count: usize) -> [Self::Byte; N] {
        self.bits_from(&number, count)
    }

    /// `M` bytes of a big-endian number, from `count` bits below its top, cyclically.
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

    /// XOR of two arrays.
    #[inline(always)]
    fn sum<const N: usize>(self, a: [Self::Byte; N], b: [Self::Byte; N]) -> [Self::Byte; N] {
        each!(i < N => self.add(a[i], b[i]))
    }

    /// XOR with constants, which are the same for all keys.
    #[inline(always)]
    fn sum_with<const N: usize>(self, a: [Self::Byte; N], constant: [u8; N]) -> [Self::Byte; N] {
        each!(i < N => self.add(a[i], self.constant(constant[i])))
    }
}

/// A description whose key schedule runs on one key or on many.
///
/// Implementations of [`Scheduled::round_keys`] must be `#[inline(always)]`, without closures that compute
/// with bytes.
pub trait Scheduled: Description {
    /// Length of the round keys in bytes, for a key of `key_bytes` bytes.
    fn round_key_bytes(key_bytes: usize) -> usize;

    /// Computes the round keys. Calls `keep(place, bytes)` for each piece, where `place` is the offset of its
    /// first byte in the order in which the rounds take them. Each call follows directly after the
    /// computation of its bytes, because programs for GPUs record the order of operations here.
    fn round_keys<S: KeyBytes>(
        s: S,
        key: &[S::Byte],
        direction: Direction,
        keep: &mut impl FnMut(usize, &[S::Byte]),
    );
}

/// Arithmetic for the rounds of a word-oriented cipher, on one word of the state of one block or of many.
pub trait Words: Copy {
    /// A 32-bit word of the state.
    type Word: Copy;

    /// A word of a round key.
    type Key;

    /// `a` XOR `b`.
    fn add(self, a: Self::Word, b: Self::Word) -> Self::Word;

    /// S-box number `sbox` of each of the four bytes of `word` XOR `key`. Each word of the round keys may be
    /// added only once.
    fn substitute_sum(self, word: Self::Word, key: &Self::Key, sbox: usize) -> Self::Word;

    /// The word rotated left by `COUNT` bits.
    fn rotate_left<const COUNT: u32>(self, word: Self::Word) -> Self::Word;
}

/// A cipher whose rounds compute with bytes.
///
/// Implementations of [`OnBytes::portion`] must be `#[inline(always)]`.
pub trait OnBytes: Description {
    /// Whether [`OnBytes::passes`] divides the rounds into [`Pass`]es, so that each can run over many blocks
    /// before the next.
    const IN_PASSES: bool = false;

    /// Calls [`Passes::pass`] for each pass in order, given the length of the round keys in bytes.
    /// Implementations must be `#[inline(always)]`.
    fn passes<P: Passes>(_passes: &mut P, _round_keys: usize) {}

    /// Computes a portion of the rounds on the sixteen bytes of a block. `portion` is a compile-time
    /// constant in kernels.
    fn portion<S: Bytes>(
        s: S,
        direction: Direction,
        portion: Portion,
        block: [S::Byte; 16],
        keys: &[S::Key],
    ) -> [S::Byte; 16];

    /// Encrypts or decrypts the sixteen bytes of a block.
    #[inline(always)]
    fn rounds<S: Bytes>(s: S, direction: Direction, block: [S::Byte; 16], keys: &[S::Key]) -> [S::Byte; 16] {
        Self::portion(s, direction, Portion::All, block, keys)
    }
}

/// A piece of a cipher's rounds: it changes a block in place.
///
/// Implementations of [`Pass::run`] must be `#[inline(always)]`.
pub trait Pass {
    /// Bytes of the round keys that this pass consumes, at most 16.
    const KEYS: usize;

    /// Changes the block.
    fn run<S: Bytes>(s: S, block: &mut [S::Byte; 16], keys: &[S::Key]);
}

/// A runner of passes. Each pass takes the round keys that follow those of the previous pass.
///
/// Implementations of [`Passes::pass`] must be `#[inline(always)]`.
pub trait Passes {
    /// Runs the next pass.
    fn pass<P: Pass>(&mut self);
}

/// Runs all passes one after another on blocks in registers.
#[derive(Debug)]
pub struct InRegisters<'a, S: Bytes> {
    /// The arithmetic.
    pub s: S,
    /// The state of the blocks.
    pub block: [S::Byte; 16],
    /// The round keys of the remaining passes.
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

/// A cipher whose rounds compute with four words. Each word is a big-endian number of four bytes of the
/// block.
///
/// Implementations of [`OnWords::portion`] must be `#[inline(always)]`.
pub trait OnWords: Description {
    /// Computes a portion of the rounds on the four words of a block. `portion` is a compile-time
    /// constant in kernels.
    fn portion<S: Words>(
        s: S,
        direction: Direction,
        portion: Portion,
        block: [S::Word; 4],
        keys: &[S::Key],
    ) -> [S::Word; 4];

    /// Encrypts or decrypts the four words of a block.
    #[inline(always)]
    fn rounds<S: Words>(s: S, direction: Direction, block: [S::Word; 4], keys: &[S::Key]) -> [S::Word; 4] {
        Self::portion(s, direction, Portion::All, block, keys)
    }
}

/// A function over all descriptions, for example one that adds their rows to the table of variants.
pub trait Visitor {
    /// Called for each byte-oriented cipher.
    fn bytes<C: OnBytes + Scheduled>(&mut self);

    /// Called for each word-oriented cipher.
    fn words<C: OnWords + Scheduled>(&mut self);
}
