//! The registry of modes: one entry for each mode, with the facts that callers need.
//!
//! A mode's entry is in its own file, and [`Mode`] lists the entries. The command line, Python, benchmarks,
//! key search and dependence analysis read names, lengths, tags and constructors from here. A new mode
//! therefore needs one file and one line in the list.

use std::fmt;
use std::str::FromStr;

use super::unauthenticated::{Apply, Unauthenticated};
use super::{Aead, Options, ccm, chained, ctr, eax, ecb, gcm, gcm_siv, ocb, segmented, siv, xts};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
use crate::plan::{Fused, Job, JobSource};

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

            /// The properties of the mode.
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
    /// Cipher feedback of bytes (SP 800-38A §6.3, s = 8).
    Cfb8: segmented::CFB8;
    /// Cipher feedback of bits (SP 800-38A §6.3, s = 1).
    Cfb1: segmented::CFB1;
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
    /// Counter mode from a tag by POLYVAL, under keys derived from each nonce (RFC 8452).
    GcmSiv: gcm_siv::ENTRY;
    /// Masked blocks, with the sum of the plaintext for a tag: OCB3 (RFC 7253).
    Ocb: ocb::ENTRY;
    /// Counter mode from a tag by CMACs, under two keys (RFC 5297).
    Siv: siv::ENTRY;
}

/// The properties of a mode.
#[derive(Debug)]
pub struct Entry {
    /// The name that users type, such as `gcm`.
    pub name: &'static str,
    /// A one-line description for lists.
    pub summary: &'static str,
    /// The value, apart from the key, that a message starts from.
    pub initial: Initial,
    /// The message lengths that the mode accepts.
    pub lengths: Lengths,
    /// The number of cipher keys in a key of the mode.
    pub keys: usize,
    /// The directions of the cipher that the mode uses.
    pub cipher_use: CipherUse,
    /// The computation that kernels may do together with the cipher. For an authenticated mode with
    /// [`Fused::Chains`], the chain gives the tag.
    pub(super) fused: Option<Fused>,
    /// The directions in which the blocks of a message are independent. For an authenticated mode this
    /// concerns the message and not its tag. `tests/modes.rs` of `crossgrain-deps` checks it against the data
    /// dependences.
    pub parallel: Parallel,
    /// Whether the mode is defined for blocks of any size. Otherwise blocks must have 16 bytes.
    pub any_block_size: bool,
    /// The tag lengths in bytes that the mode accepts. Empty for a mode without a tag.
    pub tag_bytes: &'static [usize],
    /// The largest number of strings of associated data that [`Aead::seal_with`] accepts: 0 for a mode
    /// without a tag. If it is more than 1, the mode authenticates each string separately, and no string
    /// differs from one empty string. A nonce counts as one string.
    pub aad_strings_max: usize,
    /// The information that two messages leak if they share a key and an initial value.
    pub reuse: Reuse,
    /// Whether the mode is defined for a cipher with 16-byte blocks.
    pub admits: fn(Cipher) -> bool,
    /// Whether `open` decrypts before it has checked the tag. If the tag is wrong, such a mode overwrites the
    /// output with zeros. Other modes leave the output unchanged.
    pub wipes_forged: bool,
    /// The constructor.
    pub(super) make: Make,
}

/// The shortest nonce in bytes of modes whose standard names none or a shorter one: CCM's (SP 800-38C), which
/// has room for a counter of 56 bits.
const NONCE_BYTES_MIN: usize = 7;

/// [`Entry::admits`] for a mode that is defined for every cipher.
pub(super) const fn every_cipher(_: Cipher) -> bool {
    true
}

/// The kind of value that a message starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    /// None: only the key.
    Nothing,
    /// A block: an initialisation vector, or the first counter.
    Block,
    /// A nonce.
    Nonce {
        /// The shortest length in bytes that the standard defines. [`Mode::nonce_bytes_min`] is the shortest
        /// that the mode accepts.
        least: usize,
        /// The recommended length in bytes.
        usual: usize,
        /// The longest length in bytes, or `usize::MAX` if there is no limit.
        most: usize,
    },
    /// A sector number.
    Sector,
}

/// The message lengths that a mode accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Any number of bytes.
    Any,
    /// Whole blocks.
    WholeBlocks,
    /// Sectors of at least one block each.
    Sectors,
}

/// The directions of the cipher that a mode uses. They determine the job to plan.
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
    /// Only decryption.
    Decryption,
    /// Neither.
    Neither,
}

/// The information that two messages leak if they share a key and an initial value, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reuse {
    /// Whether the messages are equal.
    EqualMessages,
    /// Which blocks are equal at equal positions.
    EqualBlocks,
    /// The number of equal blocks at the start.
    EqualBeginnings,
    /// The same, and the XOR of the first blocks that differ.
    Parting,
    /// Which blocks are equal at equal positions, and enough to forge messages under this initial value.
    EqualBlocksAndForgery,
    /// The XOR of both plaintexts, which often reveals both.
    Plaintexts,
    /// The same, and the authentication key. Anyone can then forge messages.
    Forgery,
}

impl Reuse {
    /// The leaked information as a phrase that ends a sentence.
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

/// The initial value of a message in a mode without a tag. The mode's entry says which field it uses.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The initialisation vector or first counter block. Empty if the mode has none.
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

/// The arguments for a mode without a tag.
pub(super) struct Request<'a> {
    pub(super) cipher: Cipher,
    pub(super) key: &'a [u8],
    pub(super) direction: Direction,
    /// The initial block, or zeros if the mode has none.
    pub(super) iv: Block,
    pub(super) start: Start<'a>,
    pub(super) options: &'a Options,
}

impl Request<'_> {
    /// The key, for a mode with one cipher key.
    pub(super) fn key(&self) -> Result<Key, Error> {
        Key::new(self.cipher, self.key)
    }
}

/// The constructor of a mode.
pub(super) enum Make {
    Unauthenticated(MakeUnauthenticated),
    Aead(MakeAead),
}

type MakeUnauthenticated = fn(&Request<'_>) -> Result<Box<dyn Apply>, Error>;

/// Takes a cipher, the bytes of a key, the tag length in bytes and options.
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
    /// The name that users type, such as `gcm`.
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// Whether the mode has a tag, and so detects changes of a message.
    pub const fn is_authenticated(self) -> bool {
        !self.entry().tag_bytes.is_empty()
    }

    /// Whether the blocks of a message are independent in this direction.
    pub const fn is_parallel(self, direction: Direction) -> bool {
        match self.entry().parallel {
            Parallel::Both => true,
            Parallel::Decryption => matches!(direction, Direction::Decrypt),
            Parallel::Neither => false,
        }
    }

    /// Bytes in a key of this mode with this cipher.
    pub const fn key_bytes(self, cipher: Cipher) -> usize {
        self.entry().keys * cipher.key_bytes()
    }

    /// The direction in which the cipher runs, given the direction of the mode.
    pub const fn cipher_direction(self, direction: Direction) -> Direction {
        match self.entry().cipher_use {
            CipherUse::BothWays => direction,
            CipherUse::Counters | CipherUse::Encrypts => Direction::Encrypt,
        }
    }

    /// The job that the mode plans for its data.
    pub const fn job(self, cipher: Cipher, direction: Direction) -> Job {
        let source = match (self.entry().fused, self.entry().cipher_use) {
            (Some(fused @ (Fused::Gcm | Fused::Ocb)), _) => JobSource::Mode(fused),
            (Some(Fused::Chains), _) if !self.is_authenticated() && !self.is_parallel(direction) => {
                JobSource::Mode(Fused::Chains)
            }
            (_, CipherUse::Counters) => JobSource::Counter,
            (_, CipherUse::Encrypts | CipherUse::BothWays) => JobSource::Bytes,
        };
        Job { cipher, direction: self.cipher_direction(direction), source }
    }

    /// All jobs that the mode plans: that of its data first. A mode whose tag comes from a chain has a second
    /// one.
    pub fn jobs(self, cipher: Cipher, direction: Direction) -> Vec<Job> {
        let mut jobs = vec![self.job(cipher, direction)];
        if self.is_authenticated() && self.entry().fused == Some(Fused::Chains) {
            jobs.push(Job::of_chains(cipher));
        }
        jobs
    }

    /// Whether its counters reveal something about the key. Variants that read tables in the counter's order are
    /// then excluded.
    #[doc(hidden)]
    pub const fn has_secret_counter(self) -> bool {
        matches!(self, Self::Eax | Self::GcmSiv | Self::Siv)
    }

    /// The number of bits that one block of the cipher encrypts in CFB with short segments. `None` for other modes.
    #[doc(hidden)]
    pub const fn segment_bits(self) -> Option<usize> {
        match self {
            Self::Cfb8 => Some(8),
            Self::Cfb1 => Some(1),
            _ => None,
        }
    }

    /// The names of the modes for which `fits` holds, separated by commas.
    #[doc(hidden)]
    pub fn names(fits: impl Fn(Self) -> bool) -> String {
        let fit = Self::ALL.into_iter().filter(|&mode| fits(mode));
        fit.map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// The initial block of a mode without a tag, or zeros if the mode has none.
    ///
    /// # Errors
    /// [`Error::InitialBytes`] unless `iv` has the length of a block, or is empty for a mode without one.
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
    /// [`Error::UnfitMode`] for a mode with a tag, [`Error::InitialBytes`] for an initial value of the wrong
    /// length, and the errors of the mode's own type: [`super::Ecb`], [`super::Chained`], [`super::Segmented`],
    /// [`super::Ctr`], [`super::Xts`].
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

    /// Plans an authenticated mode with tags of `tag_bytes` and binds it to its key.
    ///
    /// # Errors
    /// [`Error::UnfitMode`] for a mode without a tag, [`Error::UnfitCipher`] if the mode is not defined for
    /// the cipher, and the errors of the mode's own type: [`super::Ccm`], [`super::Eax`], [`super::Gcm`],
    /// [`super::GcmSiv`], [`super::Ocb`], [`super::Siv`].
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

    /// The shortest nonce in bytes that the mode accepts with these options. 0 for a mode without nonces.
    ///
    /// It is the standard's, but at least 7 if a nonce used twice reveals more than whether the messages are
    /// equal: shorter ones soon repeat. [`Options::short_nonces`] admits all that the standard defines.
    pub fn nonce_bytes_min(self, options: &Options) -> usize {
        let Entry { initial, reuse, .. } = self.entry();
        match *initial {
            Initial::Nonce { least, .. } if options.short_nonces || *reuse == Reuse::EqualMessages => least,
            Initial::Nonce { least, .. } => least.max(NONCE_BYTES_MIN),
            _ => 0,
        }
    }

    /// Checks the length of a nonce, which has `least` bytes or more.
    pub(super) fn admits_nonce(self, least: usize, nonce: &[u8]) -> Result<(), Error> {
        let len_bytes = nonce.len();
        match self.entry().initial {
            Initial::Nonce { .. } if len_bytes == 0 && least > 0 => Err(Error::EmptyNonce),
            Initial::Nonce { most, .. } if !(least..=most).contains(&len_bytes) => {
                Err(Error::NonceBytes { mode: self.name(), least, most, len_bytes })
            }
            _ => Ok(()),
        }
    }

    /// Checks the length of a tag, in bytes.
    pub(super) fn admits_tag(self, len_bytes: usize) -> Result<(), Error> {
        let admits = self.entry().tag_bytes.contains(&len_bytes);
        if admits { Ok(()) } else { Err(Error::TagBytes { len_bytes }) }
    }

    /// The error for using this mode where only modes that satisfy `fits` are possible.
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
