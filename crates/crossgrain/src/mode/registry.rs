//! The registry of modes: what a caller has to know of each besides its arithmetic, one entry per mode.
//!
//! A mode's entry is in the mode's own file, and [`Mode`] below lists them. The command line, Python, benchmarks, key
//! search and dependence analysis read from here which modes there are, what each needs, and how to make one; so a new
//! mode is its file and a line in the list.

use std::fmt;
use std::str::FromStr;

use super::unauthenticated::{Apply, Unauthenticated};
use super::{Aead, Options, ccm, chained, ctr, eax, ecb, gcm, gcm_siv, ocb, siv, xts};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
use crate::plan::{Birth, Job};

/// Declares [`Mode`] from its names and entries.
macro_rules! modes {
    ($($(#[$doc:meta])* $name:ident: $entry:path;)*) => {
        /// A mode of operation.
        ///
        /// ```
        /// use crossgrain::mode::{Aead as _, Mode, Options};
        /// use crossgrain::Cipher;
        ///
        /// let gcm = Mode::Gcm.aead(Cipher::Aes256, &[7; 32], 16, &Options::default())?;
        /// let mut data = b"some secret text".to_vec();
        /// let tag = gcm.seal(b"twelve bytes", b"", &mut data)?;
        /// gcm.open(b"twelve bytes", b"", &tag, &mut data)?;
        /// assert_eq!(data, b"some secret text");
        /// # Ok::<(), crossgrain::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mode {
            $($(#[$doc])* $name,)*
        }

        impl Mode {
            /// Every mode, in the order in which tables list them.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            /// What there is to know of the mode.
            pub const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$name => &$entry,)*
                }
            }
        }
    };
}

modes! {
    /// Electronic codebook (SP 800-38A §6.1).
    Ecb: ecb::ENTRY;
    /// Cipher block chaining (SP 800-38A §6.2).
    Cbc: chained::CBC;
    /// Cipher feedback of whole blocks (SP 800-38A §6.3).
    Cfb: chained::CFB;
    /// Output feedback (SP 800-38A §6.4).
    Ofb: chained::OFB;
    /// Counter mode (SP 800-38A §6.5).
    Ctr: ctr::ENTRY;
    /// XEX with a tweak for every block of a sector (IEEE 1619).
    Xts: xts::ENTRY;
    /// Counter mode with three OMACs for a tag (Bellare, Rogaway and Wagner).
    Eax: eax::ENTRY;
    /// Counter mode with GHASH for a tag (SP 800-38D).
    Gcm: gcm::ENTRY;
    /// Counter mode with a CBC-MAC for a tag (SP 800-38C).
    Ccm: ccm::ENTRY;
    /// Counter mode from a tag by POLYVAL, under keys of each nonce's own (RFC 8452).
    GcmSiv: gcm_siv::ENTRY;
    /// Masked blocks, with the sum of the plaintext for a tag: OCB3 (RFC 7253).
    Ocb: ocb::ENTRY;
    /// Counter mode from a tag by CMACs, under two keys (RFC 5297).
    Siv: siv::ENTRY;
}

/// What there is to know of a mode.
#[derive(Debug)]
pub struct Entry {
    /// The name users type, such as `gcm`.
    pub name: &'static str,
    /// What it is, in a line for lists.
    pub summary: &'static str,
    /// What a message starts from, besides the key.
    pub initial: Initial,
    /// The lengths of messages it takes.
    pub lengths: Lengths,
    /// How many keys of the cipher its key consists of.
    pub keys: usize,
    /// How it uses the cipher.
    pub cipher_use: CipherUse,
    /// In which directions the blocks of a message are computed side by side; of an authenticated mode, those of the
    /// message and not its tag. `tests/modes.rs` of `crossgrain-deps` holds each to what its data dependences allow.
    pub parallel: Parallel,
    /// Whether it is defined for blocks of any size, or of 16 bytes alone.
    pub any_block_size: bool,
    /// The bytes that tags may have; none for a mode without a tag.
    pub tag_bytes: &'static [usize],
    /// The most strings of associated data that [`Aead::seal_with`] takes: 0 for a mode without a tag. If it is more than
    /// 1, the mode authenticates each string separately, and none differs from one that is empty. A nonce counts as one.
    pub aad_strings_max: usize,
    /// What two messages give away that share a key and what they start from.
    pub reuse: Reuse,
    /// Whether it is defined for a cipher with blocks of 16 bytes.
    pub admits: fn(Cipher) -> bool,
    /// Whether it decrypts before it knows whether the tag is right, and so leaves zeros in the place of a message whose
    /// tag is wrong. Other modes leave that place as it was.
    pub wipes_forged: bool,
    /// How to make one.
    pub(super) make: Make,
}

/// What [`Entry::admits`] says of a mode that is defined for every cipher.
pub(super) const fn every_cipher(_: Cipher) -> bool {
    true
}

/// What a message starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    /// Nothing but the key.
    Nothing,
    /// A block: an initialisation vector, or the first counter.
    Block,
    /// A nonce of so many bytes.
    Nonce {
        /// The fewest.
        least: usize,
        /// What is best.
        usual: usize,
        /// The most; `usize::MAX` where there is no limit.
        most: usize,
    },
    /// The number of a sector.
    Sector,
}

/// The lengths of messages that a mode takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Any number of bytes.
    Any,
    /// Whole blocks.
    WholeBlocks,
    /// Sectors, each of a block at least.
    Sectors,
}

/// How a mode uses the cipher: which job it plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CipherUse {
    /// It encrypts counters, in both directions.
    Counters,
    /// It encrypts blocks, in both directions.
    Encrypts,
    /// It encrypts blocks when encrypting and decrypts blocks when decrypting.
    BothWays,
}

/// The directions in which a mode is parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parallel {
    /// Encryption and decryption.
    Both,
    /// Decryption alone.
    Decryption,
    /// Neither.
    Neither,
}

/// What two messages give away that share a key and what they start from, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reuse {
    /// Whether the messages are equal.
    EqualMessages,
    /// Which blocks are equal at equal places.
    EqualBlocks,
    /// How far they are equal from their beginning on.
    EqualBeginnings,
    /// That, and the sum of the blocks where they part.
    Parting,
    /// Which blocks are equal at equal places, and what forges messages under what they start from.
    EqualBlocksAndForgery,
    /// The sum of both plaintexts, and so mostly both.
    Plaintexts,
    /// That, and what makes tags: anyone can forge messages from then on.
    Forgery,
}

impl Reuse {
    /// The same as the end of a sentence.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::EqualMessages => "whether the messages are equal",
            Self::EqualBlocks => "which blocks are equal at equal places",
            Self::EqualBeginnings => "how far the messages are equal",
            Self::Parting => "how far the messages are equal, and the sum of the blocks where they part",
            Self::EqualBlocksAndForgery => {
                "which blocks are equal at equal places, and how to forge messages"
            }
            Self::Plaintexts => "the sum of both plaintexts",
            Self::Forgery => "the sum of both plaintexts and the key of the tags",
        }
    }
}

/// What a message of a mode without a tag starts from: the mode's entry says which part of it counts.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The initialisation vector or first counter; empty for a mode that has none.
    pub iv: &'a [u8],
    /// The number of the first sector.
    pub sector: u128,
    /// Bytes in a sector.
    pub sector_bytes: usize,
}

impl Default for Start<'_> {
    /// No initialisation vector, and sectors of 512 bytes from number 0 on.
    fn default() -> Self {
        Self { iv: &[], sector: 0, sector_bytes: 512 }
    }
}

/// What a mode without a tag is made from.
pub(super) struct Request<'a> {
    pub(super) cipher: Cipher,
    pub(super) key: &'a [u8],
    pub(super) direction: Direction,
    /// The initial block; zeros for a mode that has none.
    pub(super) iv: Block,
    pub(super) start: Start<'a>,
    pub(super) options: &'a Options,
}

impl Request<'_> {
    /// The key of a mode that has one.
    pub(super) fn key(&self) -> Result<Key, Error> {
        Key::new(self.cipher, self.key)
    }
}

/// How a mode is made.
pub(super) enum Make {
    Unauthenticated(MakeUnauthenticated),
    Aead(MakeAead),
}

type MakeUnauthenticated = fn(&Request<'_>) -> Result<Box<dyn Apply>, Error>;

/// From a cipher, the bytes of a key, and how many a tag has.
type MakeAead = fn(Cipher, &[u8], usize, &Options) -> Result<Box<dyn Aead>, Error>;

impl fmt::Debug for Make {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unauthenticated(_) => "Unauthenticated",
            Self::Aead(_) => "Aead",
        })
    }
}

impl Mode {
    /// The name users type, such as `gcm`.
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// Whether a change of the message is found out: whether there is a tag.
    pub const fn is_authenticated(self) -> bool {
        !self.entry().tag_bytes.is_empty()
    }

    /// Whether the blocks of a message are computed side by side in this direction.
    pub const fn is_parallel(self, direction: Direction) -> bool {
        match self.entry().parallel {
            Parallel::Both => true,
            Parallel::Decryption => matches!(direction, Direction::Decrypt),
            Parallel::Neither => false,
        }
    }

    /// Bytes in a key of this mode by a cipher.
    pub const fn key_bytes(self, cipher: Cipher) -> usize {
        self.entry().keys * cipher.key_bytes()
    }

    /// The direction of the cipher in this direction of the mode.
    pub const fn cipher_direction(self, direction: Direction) -> Direction {
        match self.entry().cipher_use {
            CipherUse::BothWays => direction,
            CipherUse::Counters | CipherUse::Encrypts => Direction::Encrypt,
        }
    }

    /// What the mode has the cipher do for data.
    pub const fn job(self, cipher: Cipher, direction: Direction) -> Job {
        let birth = match self.entry().cipher_use {
            CipherUse::Counters => Birth::Counter,
            CipherUse::Encrypts | CipherUse::BothWays => Birth::Bytes,
        };
        Job { cipher, direction: self.cipher_direction(direction), birth }
    }

    /// The names of the modes that fit, as a list for a sentence.
    #[doc(hidden)]
    pub fn names(fits: impl Fn(Self) -> bool) -> String {
        let fit = Self::ALL.into_iter().filter(|&mode| fits(mode));
        fit.map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// The initial block of a mode without a tag; zeros for one that has none.
    ///
    /// # Errors
    /// [`Error::InitialBytes`] unless `iv` has a block's bytes, or none.
    pub fn initial_block(self, iv: &[u8]) -> Result<Block, Error> {
        let takes_bytes = if self.entry().initial == Initial::Block { BLOCK_BYTES } else { 0 };
        if iv.len() != takes_bytes {
            return Err(Error::InitialBytes { mode: self.name(), takes_bytes, len_bytes: iv.len() });
        }
        let mut block = [0; BLOCK_BYTES];
        block[..takes_bytes].copy_from_slice(iv);
        Ok(block)
    }

    /// Plans a mode without a tag and binds it to its key.
    ///
    /// # Errors
    /// [`Error::UnfitMode`] for a mode with a tag, [`Error::InitialBytes`] for an initial value of the wrong length, and as
    /// the mode's own type: [`super::Ecb`], [`super::Chained`], [`super::Ctr`], [`super::Xts`].
    pub fn unauthenticated(
        self,
        cipher: Cipher,
        key: &[u8],
        direction: Direction,
        start: &Start<'_>,
        options: &Options,
    ) -> Result<Unauthenticated, Error> {
        let Make::Unauthenticated(make) = self.entry().make else {
            return Err(self.unfit(|mode| !mode.is_authenticated()));
        };
        self.admits(cipher)?;
        let iv = self.initial_block(start.iv)?;
        let bound = make(&Request { cipher, key, direction, iv, start: *start, options })?;
        Ok(Unauthenticated::new(bound, iv))
    }

    /// Plans an authenticated mode and binds it to its key; its tags have `tag_bytes`.
    ///
    /// # Errors
    /// [`Error::UnfitMode`] for a mode without a tag, [`Error::UnfitCipher`] for a cipher that it is not defined for, and as
    /// the mode's own type: [`super::Ccm`], [`super::Eax`], [`super::Gcm`], [`super::GcmSiv`],
    /// [`super::Ocb`], [`super::Siv`].
    pub fn aead(
        self,
        cipher: Cipher,
        key: &[u8],
        tag_bytes: usize,
        options: &Options,
    ) -> Result<Box<dyn Aead>, Error> {
        let Make::Aead(make) = self.entry().make else {
            return Err(self.unfit(Self::is_authenticated));
        };
        self.admits(cipher)?;
        make(cipher, key, tag_bytes, options)
    }

    /// Whether the mode is defined for a cipher.
    ///
    /// # Errors
    /// [`Error::UnfitCipher`] if it is not.
    pub fn admits(self, cipher: Cipher) -> Result<(), Error> {
        let Entry { name, admits, .. } = self.entry();
        if admits(cipher) {
            return Ok(());
        }
        let fit = Cipher::ALL.into_iter().filter(|&cipher| admits(cipher)).map(Cipher::name);
        Err(Error::UnfitCipher { mode: name, cipher, fit: fit.collect::<Vec<_>>().join(", ") })
    }

    /// Whether the mode takes a nonce of so many bytes.
    pub(super) fn admits_nonce(self, len_bytes: usize) -> Result<(), Error> {
        match self.entry().initial {
            Initial::Nonce { least: 1.., .. } if len_bytes == 0 => Err(Error::EmptyNonce),
            Initial::Nonce { least, most, .. } if !(least..=most).contains(&len_bytes) => {
                Err(Error::NonceBytes { mode: self.name(), least, most, len_bytes })
            }
            _ => Ok(()),
        }
    }

    /// Whether the mode's tags may have so many bytes.
    pub(super) fn admits_tag(self, len_bytes: usize) -> Result<(), Error> {
        let admits = self.entry().tag_bytes.contains(&len_bytes);
        if admits { Ok(()) } else { Err(Error::TagBytes { len_bytes }) }
    }

    /// Why a mode cannot be used where others fit.
    #[doc(hidden)]
    pub fn unfit(self, fits: impl Fn(Self) -> bool) -> Error {
        Error::UnfitMode { mode: self.name(), fit: Self::names(fits) }
    }
}

/// The name, such as `gcm`.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == name);
        let unknown = || Error::UnknownMode { name: name.to_owned(), known: Self::names(|_| true) };
        found.ok_or_else(unknown)
    }
}
