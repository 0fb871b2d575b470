//! Ciphers that are described once, and all that is made of a description.
//!
//! A description is a key schedule, S-boxes as tables, linear maps of bytes, and the rounds: a function generic over what a
//! byte or a 32-bit word of the state is ([`Bytes`], [`Words`]). What it is run on decides what comes out:
//!
//! * a plain byte, looked up in the tables: the reference ([`plain`]);
//! * a register that holds that byte of many blocks, substituted by one of several [`ways`]: a kernel ([`sliced`]);
//! * eight words, each of them one bit of many blocks, by gates: a bit-sliced kernel ([`sliced`]), and the key schedule;
//! * the constants that a kernel's S-boxes leave out: round keys that bring them ([`folded`]).
//!
//! Nothing outside a cipher's file names it, but for its lines in the two registries: names and sizes in `block`, and the
//! description at the end of this file.
//! Holds: rounds and schedules branch and index on nothing secret; they leave that to what they are run on.

#[cfg(feature = "aria")]
pub mod aria;
#[cfg(feature = "camellia")]
pub mod camellia;
pub mod folded;
#[cfg(feature = "kuznyechik")]
pub mod kuznyechik;
#[cfg(feature = "search")]
mod many_keys;
pub mod plain;
pub mod sbox;
pub mod sliced;
#[cfg(feature = "sm4")]
pub mod sm4;
pub mod ways;

use std::fmt;

use zeroize::Zeroizing;

#[cfg(feature = "search")]
pub use self::many_keys::LANES as KEYS_AT_ONCE;
use self::sbox::{Linear, Sbox};
use crate::block::{BLOCK_BYTES, Block, Direction, Family, Key};

/// What every description says, whatever its rounds compute with.
pub trait Description: Send + Sync + 'static {
    /// The cipher, with keys of any size.
    const FAMILY: Family;

    /// The names of the whole cipher as a part: encryption, decryption.
    const NAMES: [&'static str; 2];

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
    fn maps() -> &'static [Linear] {
        &[]
    }

    /// The bytes of the round keys in the order in which the rounds of a direction take them.
    fn schedule(key: &[u8], direction: Direction) -> RoundKeys;
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
    /// The whole cipher on the sixteen bytes of a block.
    fn rounds<S: Bytes>(s: S, direction: Direction, block: [S::Byte; 16], keys: &[S::Key]) -> [S::Byte; 16];
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
    fn bytes<C: OnBytes>(&mut self);

    /// A cipher of words.
    fn words<C: OnWords>(&mut self);
}

/// A described cipher where its rounds need not be known.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The cipher, with keys of any size.
    pub family: Family,
    /// The names of the whole cipher as a part: encryption, decryption.
    pub names: [&'static str; 2],
    schedule: fn(&[u8], Direction) -> RoundKeys,
    plain: fn(&[u8], Direction, &mut Block),
    #[cfg(feature = "search")]
    under_keys: fn(&[RoundKeys], Direction, &Block) -> [Block; KEYS_AT_ONCE],
}

impl Entry {
    const fn on_bytes<C: OnBytes>() -> Self {
        Self {
            family: C::FAMILY,
            names: C::NAMES,
            schedule: C::schedule,
            plain: plain::on_bytes::<C>,
            #[cfg(feature = "search")]
            under_keys: many_keys::on_bytes::<C>,
        }
    }

    const fn on_words<C: OnWords>() -> Self {
        Self {
            family: C::FAMILY,
            names: C::NAMES,
            schedule: C::schedule,
            plain: plain::on_words::<C>,
            #[cfg(feature = "search")]
            under_keys: many_keys::on_words::<C>,
        }
    }

    /// The description of a family; `None` for those that are written by hand.
    pub fn of(family: Family) -> Option<&'static Self> {
        ENTRIES.iter().find(|entry| entry.family == family)
    }

    /// The same of a family that is not written by hand.
    ///
    /// # Panics
    /// If it is: every other family is described.
    pub fn described(family: Family) -> &'static Self {
        Self::of(family).expect("a cipher that is not written by hand is described")
    }

    /// Both directions' round keys.
    pub fn expand(&self, key: &Key) -> Keys {
        let of = |direction| (self.schedule)(key.bytes(), direction);
        Keys { family: self.family, encrypt: of(Direction::Encrypt), decrypt: of(Direction::Decrypt) }
    }

    /// The bytes of one direction's round keys.
    #[cfg(feature = "search")]
    pub fn schedule(&self, key: &[u8], direction: Direction) -> RoundKeys {
        (self.schedule)(key, direction)
    }

    /// What a block becomes under each of up to [`KEYS_AT_ONCE`] keys.
    #[cfg(feature = "search")]
    pub fn under_keys(
        &self,
        keys: &[RoundKeys],
        direction: Direction,
        block: &Block,
    ) -> [Block; KEYS_AT_ONCE] {
        (self.under_keys)(keys, direction, block)
    }

    /// Replaces a block by look-ups: the reference.
    pub fn crypt_plainly(&self, keys: &Keys, direction: Direction, block: &mut Block) {
        (self.plain)(keys.of(direction), direction, block);
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({:?})", self.family)
    }
}

/// The round keys of a described cipher.
#[derive(Clone)]
pub struct Keys {
    family: Family,
    encrypt: RoundKeys,
    decrypt: RoundKeys,
}

impl Keys {
    /// The ciphers they are for.
    pub const fn family(&self) -> Family {
        self.family
    }

    /// The bytes in the order in which the rounds of a direction take them.
    pub fn of(&self, direction: Direction) -> &[u8] {
        match direction {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        }
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({:?}, secret)", self.family)
    }
}

/// Blocks of 16 bytes as an array, whose length a round key may have.
const _: () = assert!(BLOCK_BYTES == 16);

/// The registry: every description, by how its rounds compute.
macro_rules! descriptions {
    ($($(#[$feature:meta])* $on:ident($description:ty);)*) => {
        static ENTRIES: &[Entry] = &[$( $(#[$feature])* descriptions!(@entry $on $description) ),*];

        /// Has a visitor see every description.
        pub fn visit(visitor: &mut impl Visitor) {
            $( $(#[$feature])* visitor.$on::<$description>(); )*
            let _ = visitor;
        }
    };
    (@entry bytes $description:ty) => { Entry::on_bytes::<$description>() };
    (@entry words $description:ty) => { Entry::on_words::<$description>() };
}

descriptions! {
    #[cfg(feature = "sm4")]
    words(sm4::Sm4);
    #[cfg(feature = "camellia")]
    bytes(camellia::Camellia);
    #[cfg(feature = "aria")]
    bytes(aria::Aria);
    #[cfg(feature = "kuznyechik")]
    bytes(kuznyechik::Kuznyechik);
}
