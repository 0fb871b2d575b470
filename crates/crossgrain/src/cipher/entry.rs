//! Type-erased descriptions of ciphers, and their round keys.

use std::fmt;

#[cfg(feature = "search")]
use super::KEYS_AT_ONCE;
#[cfg(feature = "search")]
use super::many_keys;
use super::{ByHand, Description, Names, OnBytes, OnWords, RoundKeys, Scheduled, of_family, plain};
use crate::block::{Block, Direction, Family, Key};

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

/// Functions on many keys at once: key schedules, and one block under each key.
#[cfg(feature = "search")]
#[derive(Clone, Copy)]
struct ManyKeys {
    schedules: fn(&[u8], usize, Direction) -> Vec<RoundKeys>,
    under: fn(&[RoundKeys], Direction, &Block) -> [Block; KEYS_AT_ONCE],
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
                under: many_keys::on_words::<C>,
            }),
            ..Self::new::<C>(plain::schedule::<C>, plain::on_words::<C>)
        }
    }

    /// The description of a family.
    pub const fn of(family: Family) -> &'static Self {
        of_family(family)
    }

    /// Computes the round keys of both directions.
    pub fn expand(&self, key: &Key) -> Keys {
        let of = |direction| (self.schedule)(key.bytes(), direction);
        Keys { family: self.family, encrypt: of(Direction::Encrypt), decrypt: of(Direction::Decrypt) }
    }

    #[cfg(feature = "search")]
    fn many_keys(&self) -> ManyKeys {
        self.many_keys.expect("a cipher whose kernels are derived")
    }

    /// The round keys of one direction for each of up to [`KEYS_AT_ONCE`] keys of `key_bytes` bytes.
    ///
    /// # Panics
    /// As [`Entry::under_keys`].
    #[cfg(feature = "search")]
    pub fn schedules(&self, keys: &[u8], key_bytes: usize, direction: Direction) -> Vec<RoundKeys> {
        (self.many_keys().schedules)(keys, key_bytes, direction)
    }

    /// Encrypts or decrypts a block under each of up to [`KEYS_AT_ONCE`] keys.
    ///
    /// # Panics
    /// If the kernels of the cipher are written by hand. These ciphers have a hand-written search too.
    #[cfg(feature = "search")]
    pub fn under_keys(
        &self,
        keys: &[RoundKeys],
        direction: Direction,
        block: &Block,
    ) -> [Block; KEYS_AT_ONCE] {
        (self.many_keys().under)(keys, direction, block)
    }

    /// Encrypts or decrypts a block under one direction's round keys, by table look-ups.
    #[cfg(feature = "search")]
    pub fn under_key(&self, keys: &RoundKeys, direction: Direction, mut block: Block) -> Block {
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

/// The round keys of a described cipher.
#[derive(Clone)]
pub struct Keys {
    family: Family,
    encrypt: RoundKeys,
    decrypt: RoundKeys,
}

impl Keys {
    /// The family of the cipher.
    pub const fn family(&self) -> Family {
        self.family
    }

    /// The round keys of one direction, in the order in which the rounds take them.
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
