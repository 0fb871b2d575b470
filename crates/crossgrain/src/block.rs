//! Types that all layers share: the block, cipher names, keys, directions and errors.

use std::fmt;
use std::io;
use std::str::FromStr;

use crate::arch::{ClearRegisters, Wiped, known_caps};
use crate::text::{quoted, reason as reason_of};

/// The size of a block, in bytes.
pub const BLOCK_BYTES: usize = 16;

/// The longest key of any cipher in the registry, in bytes.
const KEY_BYTES_MAX: usize = 32;

/// Sixteen bytes of cipher state, in the order of bytes in a file.
pub type Block = [u8; BLOCK_BYTES];

/// The direction of a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Plaintext to ciphertext.
    Encrypt,
    /// Ciphertext to plaintext.
    Decrypt,
}

impl Direction {
    /// Both directions, in the order in which tables list them.
    pub const ALL: [Self; 2] = [Self::Encrypt, Self::Decrypt];

    /// `encrypt` or `decrypt`, as in variant names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
        }
    }
}

/// Defines [`Family`] and [`Cipher`] from the registry of ciphers.
macro_rules! names {
    ($(
        $(#[doc = $about:literal])+
        $family:ident $name:literal if $of:meta, $on:ident($description:path) {$(
            $cipher:ident $text:literal $title:literal: $key_bytes:tt bytes, $rounds:literal rounds;
        )+}
    )+) => {
        /// Ciphers that differ only in key size. They share their steps, and therefore their variants.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Family {
            $( $(#[doc = $about])+ #[cfg($of)] $family, )+
        }

        impl Family {
            /// The family's first cipher. The shipped cost estimates are for it.
            pub(crate) fn first(self) -> Cipher {
                Cipher::ALL.into_iter().find(|cipher| cipher.family() == self).expect("no family is empty")
            }
        }

        /// A block cipher with its key size.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Cipher {
            $( $( #[doc = concat!($title, ".")] #[cfg($of)] $cipher, )+ )+
        }

        impl Cipher {
            /// Every cipher, in the order in which tables list them.
            pub const ALL: [Self; [$($( #[cfg($of)] Self::$cipher, )+)+].len()] =
                [$($( #[cfg($of)] Self::$cipher, )+)+];

            /// The cipher's family.
            #[doc(hidden)]
            pub const fn family(self) -> Family {
                match self { $($( #[cfg($of)] Self::$cipher => Family::$family, )+)+ }
            }

            /// The name that users type, for example `aes-256`.
            pub const fn name(self) -> &'static str {
                match self { $($( #[cfg($of)] Self::$cipher => $text, )+)+ }
            }

            /// The size of a key, in bytes.
            pub const fn key_bytes(self) -> usize {
                match self { $($( #[cfg($of)] Self::$cipher => $key_bytes, )+)+ }
            }

            /// The number of rounds, counted as in the cipher's standard. For AES it is Nr of FIPS 197, table
            /// 3.
            pub const fn rounds(self) -> usize {
                match self { $($( #[cfg($of)] Self::$cipher => $rounds, )+)+ }
            }
        }
    };
}

ciphers!(names);

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Cipher {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|cipher| cipher.name() == name)
            .ok_or_else(|| Error::UnknownCipher(name.to_owned()))
    }
}

/// A secret key and its cipher. The key is wiped from memory when it is dropped and is never printed. Its
/// bytes are on the heap, so moving the value leaves no copies in memory.
///
/// ```
/// use crossgrain::{Cipher, Key};
///
/// let key = Key::new("aes-256".parse()?, &[7; 32])?;
/// assert_eq!(key.cipher(), Cipher::Aes256);
/// assert_eq!(format!("{key:?}"), "Key(aes-256, secret)");
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub struct Key {
    cipher: Cipher,
    bytes: Wiped<[u8; KEY_BYTES_MAX]>,
}

impl Key {
    /// Copies the key from bytes in the order of FIPS 197 and of NESSIE's Serpent vectors.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless `bytes` is exactly [`Cipher::key_bytes`] long.
    pub fn new(cipher: Cipher, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != cipher.key_bytes() {
            return Err(Error::KeyLength { cipher, len_bytes: bytes.len() });
        }
        let _clear = ClearRegisters;
        let mut key = Wiped::new([0; KEY_BYTES_MAX]);
        key[..bytes.len()].copy_from_slice(bytes);
        Ok(Self { cipher, bytes: key })
    }

    /// Creates a key with the operating system's random generator.
    ///
    /// ```
    /// use crossgrain::{Cipher, Key};
    ///
    /// let key = Key::generate(Cipher::Aes256)?;
    /// assert_eq!(key.bytes().len(), 32);
    /// # Ok::<(), crossgrain::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoRandom`] if the system returns no random bytes.
    pub fn generate(cipher: Cipher) -> Result<Self, Error> {
        let _clear = ClearRegisters;
        let mut key = Wiped::new([0; KEY_BYTES_MAX]);
        fill_random(&mut key[..cipher.key_bytes()])?;
        Ok(Self { cipher, bytes: key })
    }

    /// The cipher of this key.
    pub const fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// The key: [`Cipher::key_bytes`] secret bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.cipher.key_bytes()]
    }
}

impl Clone for Key {
    fn clone(&self) -> Self {
        let _clear = ClearRegisters;
        let mut bytes = Wiped::new([0; KEY_BYTES_MAX]);
        bytes.copy_from_slice(&self.bytes[..]);
        Self { cipher: self.cipher, bytes }
    }

    /// Overwrites the key with another one, without new memory.
    fn clone_from(&mut self, other: &Self) {
        let _clear = ClearRegisters;
        self.cipher = other.cipher;
        self.bytes.copy_from_slice(&other.bytes[..]);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}, secret)", self.cipher)
    }
}

/// Fills a buffer from the operating system's random generator.
///
/// # Errors
/// [`Error::NoRandom`] if the system returns no random bytes.
pub fn fill_random(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(|error| Error::NoRandom(error.to_string()))
}

/// Errors of requests. Each prints as one line with a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No cipher has this name.
    UnknownCipher(String),
    /// The key has the wrong length for its cipher.
    KeyLength {
        /// The requested cipher.
        cipher: Cipher,
        /// The given length, in bytes.
        len_bytes: usize,
    },
    /// The key belongs to another cipher than the call.
    OtherCipher {
        /// The cipher of the call.
        cipher: Cipher,
        /// The cipher of the key.
        given: Cipher,
    },
    /// The length is not a multiple of 16 bytes, but the mode needs whole blocks.
    PartialBlock {
        /// The given length, in bytes.
        len_bytes: usize,
    },
    /// The input and output buffers have different lengths.
    LengthMismatch {
        /// The length of the input, in bytes.
        input_bytes: usize,
        /// The length of the output, in bytes.
        output_bytes: usize,
    },
    /// No variant has this name.
    UnknownVariant(String),
    /// The variant cannot run here, with the reason.
    Unavailable {
        /// The variant's name.
        variant: String,
        /// The reason.
        reason: String,
    },
    /// No policy has this name.
    UnknownPolicy(String),
    /// No effort has this name.
    UnknownEffort(String),
    /// The ISA cap cannot be parsed.
    BadIsaCap(String),
    /// No path leads from a job's source to its sink, with the reason.
    NoPlan(String),
    /// The stored plan cannot be parsed, or does not compute its job.
    CorruptPlan(String),
    /// The stored plan cannot be used here, with the reason.
    UnfitPlan(String),
    /// The mode takes two keys of its cipher, and the given key has another length.
    TwoKeysLength {
        /// The mode's name.
        mode: &'static str,
        /// The requested cipher.
        cipher: Cipher,
        /// The given length, in bytes.
        len_bytes: usize,
    },
    /// The two halves of an XTS key are equal.
    EqualXtsKeys,
    /// Sectors cannot have this size.
    SectorBytes {
        /// The requested size, in bytes.
        len_bytes: usize,
    },
    /// The last sector is shorter than a block.
    ShortSector {
        /// The length of the last sector, in bytes.
        len_bytes: usize,
    },
    /// The mode has no tags of this length, or was created with another tag length.
    TagBytes {
        /// The given length, in bytes.
        len_bytes: usize,
    },
    /// The nonce is empty, but the mode needs one.
    EmptyNonce,
    /// The mode does not accept a nonce of this length.
    NonceBytes {
        /// The mode's name.
        mode: &'static str,
        /// The minimum length, in bytes.
        least: usize,
        /// The maximum length, in bytes.
        most: usize,
        /// The given length, in bytes.
        len_bytes: usize,
    },
    /// There are more strings of associated data than the mode takes.
    AadStrings {
        /// The maximum number, including SIV's nonce.
        most: usize,
        /// The given number.
        count: usize,
    },
    /// The mode is not defined for this cipher.
    UnfitCipher {
        /// The mode's name.
        mode: &'static str,
        /// The given cipher.
        cipher: Cipher,
        /// The ciphers that the mode is defined for.
        fit: String,
    },
    /// No mode has this name.
    UnknownMode {
        /// The given name.
        name: String,
        /// The known modes.
        known: String,
    },
    /// The mode cannot be used for this purpose.
    UnfitMode {
        /// The mode's name.
        mode: &'static str,
        /// The modes that can.
        fit: String,
    },
    /// The initial value has the wrong length for its mode.
    InitialBytes {
        /// The mode's name.
        mode: &'static str,
        /// The length that the mode takes, in bytes; 0 if it takes no initial value.
        takes_bytes: usize,
        /// The given length, in bytes.
        len_bytes: usize,
    },
    /// A piece of a message begins inside a sector.
    SplitSector {
        /// The start of the piece, in bytes.
        position_bytes: u128,
    },
    /// The message or its associated data is longer than the mode allows under one nonce.
    TooLong {
        /// The maximum length, in bytes.
        most_bytes: u64,
    },
    /// The part index of a random stream is out of range.
    NoSuchPart {
        /// The binary logarithm of the number of parts.
        log_parts: u32,
        /// The requested part index.
        index: u128,
    },
    /// The key has the wrong length for a cipher with wide blocks.
    WideKeyLength {
        /// The cipher's name.
        cipher: &'static str,
        /// The length of its keys, in bytes.
        key_bytes: usize,
        /// The given length, in bytes.
        len_bytes: usize,
    },
    /// The initial value has the wrong length for a cipher with wide blocks.
    WideInitialLength {
        /// The cipher's name.
        cipher: &'static str,
        /// The size of its blocks, in bytes.
        block_bytes: usize,
        /// The given length, in bytes.
        len_bytes: usize,
    },
    /// The length is not a multiple of the wide block size, but the mode needs whole blocks.
    PartialWideBlock {
        /// The cipher's name.
        cipher: &'static str,
        /// The size of its blocks, in bytes.
        block_bytes: usize,
        /// The given length, in bytes.
        len_bytes: usize,
    },
    /// The tag is wrong: the message, its nonce or associated data, or the key differs from the sealer's.
    Forged,
    /// The operating system returned no random bytes, with the reason.
    NoRandom(String),
    /// The wisdom cannot be used here, with the reason.
    UnfitWisdom(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCipher(name) => {
                let known = Cipher::ALL.map(Cipher::name).join(", ");
                write!(f, "no cipher is called '{}': choose one of {known}", quoted(name))
            }
            Self::KeyLength { cipher, len_bytes } => {
                let want = cipher.key_bytes();
                write!(f, "a key of {cipher} has {want} bytes ({} hex digits), not {len_bytes}", 2 * want)
            }
            Self::OtherCipher { cipher, given } => {
                write!(f, "a key of {given} was given with keys of {cipher}: make a call for each cipher")
            }
            Self::PartialBlock { len_bytes } => {
                write!(f, "{len_bytes} bytes are no whole number of 16-byte blocks: pad the data or use ctr")
            }
            Self::LengthMismatch { input_bytes, output_bytes } => {
                write!(f, "the output has {output_bytes} bytes and the input {input_bytes}: make them equal")
            }
            Self::UnknownVariant(name) => {
                write!(f, "no variant is called '{}': `crossgrain variants` lists them", quoted(name))
            }
            Self::Unavailable { variant, reason } => {
                write!(f, "variant '{variant}' cannot be used: {reason}")
            }
            Self::UnknownPolicy(name) => {
                write!(f, "no policy is called '{}': choose constant-time or any", quoted(name))
            }
            Self::UnknownEffort(name) => {
                let known = "estimate, measure or exhaustive";
                write!(f, "no effort is called '{}': choose {known}", quoted(name))
            }
            Self::NoPlan(reason) => write!(f, "no plan can be made: {reason}"),
            Self::CorruptPlan(reason) => write!(f, "the plan is corrupt: {}", reason_of(reason)),
            Self::UnfitPlan(reason) => write!(f, "the plan cannot be used here: {reason}"),
            Self::TwoKeysLength { mode, cipher, len_bytes } => {
                let want = 2 * cipher.key_bytes();
                let digits = 2 * want;
                write!(
                    f,
                    "{mode} takes two keys of {cipher}, {want} bytes ({digits} hex digits), not {len_bytes}"
                )
            }
            Self::EqualXtsKeys => {
                f.write_str("both halves of the xts key are the same: make them independently of one another")
            }
            Self::SectorBytes { len_bytes } => {
                write!(
                    f,
                    "a sector cannot have {len_bytes} bytes: choose 16 to 16777216, most often 512 or 4096"
                )
            }
            Self::ShortSector { len_bytes } => {
                write!(f, "the last sector has {len_bytes} bytes and must have 16 at least: pad the data")
            }
            Self::TagBytes { len_bytes } => write!(
                f,
                "a tag of {len_bytes} bytes does not fit: give as many as the sealer did, 16 in most cases"
            ),
            Self::EmptyNonce => f.write_str("the nonce is empty: give one, best of 12 bytes"),
            Self::NonceBytes { mode, least, most, len_bytes } if least == most => {
                write!(f, "a nonce of {mode} has {least} bytes ({} hex digits), not {len_bytes}", 2 * least)
            }
            Self::NonceBytes { mode, least, most: usize::MAX, len_bytes } => write!(
                f,
                "a nonce of {mode} has {least} bytes at least, not {len_bytes}: give one, best of 12 bytes"
            ),
            Self::NonceBytes { mode, least, most, len_bytes } => {
                write!(f, "a nonce of {mode} has {least} to {most} bytes, not {len_bytes}")
            }
            Self::AadStrings { most: 1, count } => write!(
                f,
                "the mode takes one string of associated data, not {count}: encode them as one, or use siv"
            ),
            Self::AadStrings { most, count } => write!(
                f,
                "the mode takes {most} strings of associated data, the nonce included, not {count}: join some of them"
            ),
            Self::UnfitCipher { mode, cipher, fit } => {
                write!(f, "{mode} is not defined for {cipher}: choose one of {fit}")
            }
            Self::UnknownMode { name, known } => {
                write!(f, "no mode is called '{}': choose one of {known}", quoted(name))
            }
            Self::UnfitMode { mode, fit } => write!(f, "{mode} cannot be used for this: choose one of {fit}"),
            Self::InitialBytes { mode, takes_bytes: 0, .. } => {
                write!(f, "{mode} takes no iv: leave it out")
            }
            Self::InitialBytes { mode, takes_bytes, len_bytes } => write!(
                f,
                "{mode} takes an iv of {takes_bytes} bytes ({} hex digits), not {len_bytes}",
                2 * takes_bytes
            ),
            Self::SplitSector { position_bytes } => {
                write!(f, "byte {position_bytes} is within a sector: cut messages where sectors end")
            }
            Self::TooLong { most_bytes } => {
                write!(
                    f,
                    "the message or its additional data is too long for one nonce: split it into pieces of {most_bytes} bytes at most"
                )
            }
            Self::NoSuchPart { log_parts, index } => write!(
                f,
                "a stream of 2^128 blocks has no part {index} of 2^{log_parts}: number parts from 0 on, and cut no block"
            ),
            Self::WideKeyLength { cipher, key_bytes, len_bytes } => {
                write!(
                    f,
                    "a key of {cipher} has {key_bytes} bytes ({} hex digits), not {len_bytes}",
                    2 * key_bytes
                )
            }
            Self::WideInitialLength { cipher, block_bytes, len_bytes } => write!(
                f,
                "{cipher} starts from a block of {block_bytes} bytes ({} hex digits), not {len_bytes}",
                2 * block_bytes
            ),
            Self::PartialWideBlock { cipher, block_bytes, len_bytes } => write!(
                f,
                "{len_bytes} bytes are no whole number of {cipher}'s {block_bytes}-byte blocks: pad the data or use ctr"
            ),
            Self::Forged => f.write_str(
                "the tag is wrong: the data, its nonce or associated data, or the key is not the right one",
            ),
            Self::NoRandom(reason) => write!(f, "the system gives no random bytes: {reason}"),
            Self::UnfitWisdom(reason) => write!(f, "the wisdom cannot be used: {reason}"),
            Self::BadIsaCap(cap) => write!(
                f,
                "ISA cap '{}' of the environment variable CROSSGRAIN_ISA cannot be read: {}",
                quoted(cap),
                known_caps()
            ),
        }
    }
}

impl std::error::Error for Error {}

/// Maps forged data and corrupt plans to `InvalidData`, missing random bytes to `Other`, and all other errors
/// to `InvalidInput`. `downcast` returns the original error.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::Forged | Error::CorruptPlan(_) => io::ErrorKind::InvalidData,
            Error::NoRandom(_) => io::ErrorKind::Other,
            _ => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}

/// At most 16 bytes as a little-endian number.
///
/// It is read in two overlapping pieces. A copy into a block would be stored in pieces and loaded as a whole,
/// which defeats store forwarding.
#[inline(always)]
pub(crate) fn part_number(bytes: &[u8]) -> u128 {
    let len_bytes = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        return u128::from(first) | u128::from(last) << (8 * (len_bytes - 8));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u128::from(u64::from(first) | u64::from(last) << (8 * (len_bytes - 4)));
    }
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
}
