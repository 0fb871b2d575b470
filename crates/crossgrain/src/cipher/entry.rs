//! Type-erased descriptions of ciphers, and their round keys.

use std::fmt;
use std::sync::OnceLock;

#[cfg(feature = "search")]
use super::Portion;
#[cfg(feature = "search")]
use super::many_keys;
use super::{
    ByHand, Description, Names, OnBytes, OnWords, RoundKeys, Scheduled, key_schedule, of_family, plain,
};
#[cfg(feature = "search")]
use crate::arch::Tile;
use crate::arch::{Features, wiping_stack};
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
    /// Blocks of the round keys that the last rounds of a key search take.
    pub last_keys: usize,
    schedule: fn(&[u8], Direction) -> RoundKeys,
    on_registers: OnRegisters,
    plain: fn(&[u8], Direction, &mut Block),
    #[cfg(feature = "search")]
    many_keys: Option<ManyKeys>,
}

/// Computes a key schedule on registers. `None` if none of the allowed instructions helps.
type OnRegisters = fn(Features, &[u8], Direction) -> Option<RoundKeys>;

/// The two halves of many keys.
#[cfg(feature = "search")]
type KeyTiles = [Box<Tile>; 2];

/// Computes the round keys of a bundle of keys.
#[cfg(feature = "search")]
type Schedules = fn((&KeyTiles, usize), Direction, &mut [Box<Tile>], usize);

/// Computes a portion of the rounds on the block under each key of a bundle.
#[cfg(feature = "search")]
type UnderKeys = fn(Portion, &[Box<Tile>], (Direction, &Block), &mut Tile, usize);

/// Functions for key search: key schedules, and portions of the rounds, on many keys at once and by table look-ups.
#[cfg(feature = "search")]
#[derive(Clone, Copy)]
struct ManyKeys {
    schedules: Schedules,
    schedule_by_tables: fn(&[u8], Direction) -> RoundKeys,
    under: UnderKeys,
    by_tables: fn(Portion, &[u8], Direction, &mut Block),
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
            last_keys: C::LAST_KEYS,
            schedule,
            on_registers: |_, _, _| None,
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
            on_registers: key_schedule::on_registers::<C>,
            #[cfg(feature = "search")]
            many_keys: Some(ManyKeys {
                schedules: many_keys::schedules::<C>,
                schedule_by_tables: plain::schedule_by_tables::<C>,
                under: many_keys::on_bytes::<C>,
                by_tables: plain::portion_on_bytes::<C>,
            }),
            ..Self::new::<C>(plain::schedule::<C>, plain::on_bytes::<C>)
        }
    }

    pub(super) const fn words<C: OnWords + Scheduled>() -> Self {
        Self {
            on_registers: key_schedule::on_registers::<C>,
            #[cfg(feature = "search")]
            many_keys: Some(ManyKeys {
                schedules: many_keys::schedules::<C>,
                schedule_by_tables: plain::schedule_by_tables::<C>,
                under: many_keys::on_words::<C>,
                by_tables: plain::portion_on_words::<C>,
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

    /// The round keys of a key, to be computed by these instructions if they help.
    pub fn expand(&'static self, key: &Key, features: Features) -> Keys {
        let [encrypt, decrypt] = Direction::ALL.map(|_| OnceLock::new());
        Keys { entry: self, key: key.clone(), features, encrypt, decrypt }
    }

    /// The same by gates: the reference.
    pub fn expand_by_gates(&'static self, key: &Key) -> Keys {
        self.expand(key, Features::NONE)
    }

    fn schedule(&self, features: Features, key: &[u8], direction: Direction) -> RoundKeys {
        (self.on_registers)(features, key, direction).unwrap_or_else(|| (self.schedule)(key, direction))
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

    /// Computes a portion of the rounds on the block under each key of a bundle. The first portion begins with the
    /// known block `input`, the last one with `state`.
    ///
    /// # Panics
    /// As [`Entry::schedules`].
    #[cfg(feature = "search")]
    pub fn under_keys(
        &self,
        portion: Portion,
        round_keys: &[Box<Tile>],
        (direction, input): (Direction, &Block),
        state: &mut Tile,
        bundle: usize,
    ) {
        (self.many_keys().under)(portion, round_keys, (direction, input), state, bundle);
    }

    /// The round keys of one direction, in order of use, by table look-ups.
    ///
    /// # Panics
    /// As [`Entry::schedules`].
    #[cfg(feature = "search")]
    pub fn round_keys(&self, key: &[u8], direction: Direction) -> RoundKeys {
        (self.many_keys().schedule_by_tables)(key, direction)
    }

    /// Computes a portion of the rounds in place, by table look-ups.
    ///
    /// # Panics
    /// As [`Entry::schedules`].
    #[cfg(feature = "search")]
    pub fn under_key(&self, portion: Portion, keys: &[u8], direction: Direction, block: &mut Block) {
        (self.many_keys().by_tables)(portion, keys, direction, block);
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
    features: Features,
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
        keys.get_or_init(|| wiping_stack(|| self.entry.schedule(self.features, self.key.bytes(), direction)))
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({:?}, secret)", self.family())
    }
}
