//! Type-erased descriptions of ciphers, and their round keys.

use std::fmt;
use std::sync::OnceLock;

#[cfg(feature = "search")]
use super::many_keys;
use super::{ByHand, Description, Names, OnBytes, OnWords, RoundKeys, Scheduled, of_family, plain};
#[cfg(feature = "search")]
use crate::arch::Tile;
use crate::arch::wiping_stack;
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Family, Key};

/// A description as function pointers, for callers that are not generic over the cipher.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The family.
    pub family: Family,
    /// The names of its variants.
    pub names: Names,
    /// Whether kernels are written by hand. Otherwise they are derived from the description.
    pub by_hand: bool,
    schedule: fn(&[u8], Direction) -> RoundKeys,
    plain: fn(&[u8], Direction, &mut Block),
    #[cfg(feature = "search")]
    many_keys: Option<ManyKeys>,
}

/// The two halves of many keys.
#[cfg(feature = "search")]
type KeyTiles = [Box<Tile>; 2];

/// Computes the round keys of a bundle of keys.
#[cfg(feature = "search")]
type Schedules = fn((&KeyTiles, usize), Direction, &mut [Box<Tile>], usize);

/// Functions on many keys at once: key schedules, and one block under each key.
#[cfg(feature = "search")]
#[derive(Clone, Copy)]
struct ManyKeys {
    schedules: Schedules,
    by_tables: fn(&[u8], Direction) -> RoundKeys,
    under: fn(&[Box<Tile>], Direction, &Block, &mut Tile, usize),
}

impl Entry {
    const fn new<C: Description>(
        schedule: fn(&[u8], Direction) -> RoundKeys,
        plain: fn(&[u8], Direction, &mut Block),
    ) -> Self {
        Self {
            family: C::FAMILY,
            names: C::NAMES,
            by_hand: false,
            schedule,
            plain,
            #[cfg(feature = "search")]
            many_keys: None,
        }
    }

    pub(super) const fn by_hand<C: ByHand>() -> Self {
        Self { by_hand: true, ..Self::new::<C>(C::schedule, C::crypt_plainly) }
    }

    pub(super) const fn bytes<C: OnBytes + Scheduled>() -> Self {
        Self {
            #[cfg(feature = "search")]
            many_keys: Some(ManyKeys {
                schedules: many_keys::schedules::<C>,
                by_tables: plain::schedule_by_tables::<C>,
                under: many_keys::on_bytes::<C>,
            }),
            ..Self::new::<C>(plain::schedule::<C>, plain::on_bytes::<C>)
        }
    }

    pub(super) const fn words<C: OnWords + Scheduled>() -> Self {
        Self {
            #[cfg(feature = "search")]
            many_keys: Some(ManyKeys {
                schedules: many_keys::schedules::<C>,
                by_tables: plain::schedule_by_tables::<C>,
                under: many_keys::on_words::<C>,
            }),
            ..Self::new::<C>(plain::schedule::<C>, plain::on_words::<C>)
        }
    }

    /// The description of a family.
    pub const fn of(family: Family) -> &'static Self {
        of_family(family)
    }

    /// The number of blocks that the round keys of one direction take.
    pub fn round_key_blocks(&self, cipher: Cipher) -> usize {
        (self.schedule)(&[0; 32][..cipher.key_bytes()], Direction::Encrypt).len().div_ceil(BLOCK_BYTES)
    }

    /// The round keys of a key.
    pub fn expand(&'static self, key: &Key) -> Keys {
        Keys { entry: self, key: key.clone(), encrypt: OnceLock::new(), decrypt: OnceLock::new() }
    }

    #[cfg(feature = "search")]
    fn many_keys(&self) -> ManyKeys {
        self.many_keys.expect("a cipher whose kernels are derived")
    }

    /// Computes the round keys of the keys in a bundle of [`super::KEYS_AT_ONCE`] lanes, in one direction. Keys have
    /// `key_bytes` bytes.
    ///
    /// # Panics
    /// If the kernels of the cipher are written by hand. These ciphers have their own steps.
    #[cfg(feature = "search")]
    pub fn schedules(
        &self,
        keys: (&KeyTiles, usize),
        direction: Direction,
        round_keys: &mut [Box<Tile>],
        bundle: usize,
    ) {
        (self.many_keys().schedules)(keys, direction, round_keys, bundle);
    }

    /// Encrypts or decrypts a block under the keys of a bundle.
    ///
    /// # Panics
    /// As [`Entry::schedules`].
    #[cfg(feature = "search")]
    pub fn under_keys(
        &self,
        round_keys: &[Box<Tile>],
        direction: Direction,
        block: &Block,
        state: &mut Tile,
        bundle: usize,
    ) {
        (self.many_keys().under)(round_keys, direction, block, state, bundle);
    }

    /// The round keys of one direction, in order of use, by table look-ups.
    ///
    /// # Panics
    /// As [`Entry::schedules`].
    #[cfg(feature = "search")]
    pub fn round_keys(&self, key: &[u8], direction: Direction) -> RoundKeys {
        (self.many_keys().by_tables)(key, direction)
    }

    /// Encrypts or decrypts a block under one direction's round keys, by table look-ups.
    #[cfg(feature = "search")]
    pub fn under_key(&self, keys: &[u8], direction: Direction, mut block: Block) -> Block {
        (self.plain)(keys, direction, &mut block);
        block
    }

    /// Encrypts or decrypts a block in place by table look-ups: the reference.
    pub fn crypt_plainly(&self, keys: &Keys, direction: Direction, block: &mut Block) {
        (self.plain)(keys.of(direction), direction, block);
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({:?})", self.family)
    }
}

/// The round keys of a described cipher. Those of a direction are computed when they are needed first.
pub struct Keys {
    entry: &'static Entry,
    key: Key,
    encrypt: OnceLock<RoundKeys>,
    decrypt: OnceLock<RoundKeys>,
}

impl Keys {
    /// The family of the cipher.
    pub const fn family(&self) -> Family {
        self.entry.family
    }

    /// The round keys of one direction, in the order in which the rounds take them.
    pub fn of(&self, direction: Direction) -> &[u8] {
        let keys = match direction {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        };
        keys.get_or_init(|| wiping_stack(|| (self.entry.schedule)(self.key.bytes(), direction)))
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({:?}, secret)", self.family())
    }
}
