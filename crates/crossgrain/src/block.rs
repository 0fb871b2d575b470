//! What every layer shares: the block, the ciphers by name, the key, the direction, the errors.

use std::fmt;
use std::io;
use std::str::FromStr;

use zeroize::Zeroizing;

use crate::text::{quoted, reason as reason_of};
use crate::word::ClearRegisters;

/// Bytes in one block.
pub const BLOCK_BYTES: usize = 16;

/// The longest key of any cipher here, in bytes.
const KEY_BYTES_MAX: usize = 32;

/// Sixteen bytes of cipher state, in the order in which they stand in a file.
pub type Block = [u8; BLOCK_BYTES];

/// Whether blocks are enciphered or deciphered.
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

    /// `encrypt` or `decrypt`, as it stands in variant names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
        }
    }
}

/// [`Family`] and [`Cipher`] as the registry of ciphers has them.
macro_rules! names {
    ($(
        $(#[doc = $about:literal])+
        $family:ident $name:literal if $of:meta, $on:ident($description:path) {$(
            $cipher:ident $text:literal $title:literal: $key_bytes:tt bytes, $rounds:literal rounds, $($type:ident)+;
        )+}
    )+) => {
        /// Ciphers that differ in nothing but the size of the key: they share their steps, and so their variants.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Family {
            $( $(#[doc = $about])+ #[cfg($of)] $family, )+
        }

        impl Family {
            /// The first of its ciphers, for which costs are estimated.
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

            /// The ciphers that it shares its steps with.
            #[doc(hidden)]
            pub const fn family(self) -> Family {
                match self { $($( #[cfg($of)] Self::$cipher => Family::$family, )+)+ }
            }

            /// The name users type, such as `aes-256`.
            pub const fn name(self) -> &'static str {
                match self { $($( #[cfg($of)] Self::$cipher => $text, )+)+ }
            }

            /// Bytes in a key.
            pub const fn key_bytes(self) -> usize {
                match self { $($( #[cfg($of)] Self::$cipher => $key_bytes, )+)+ }
            }

            /// Rounds, as the cipher's standard counts them: for AES, Nr of FIPS 197, table 3.
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

/// A secret key and the cipher it belongs to. Wiped from memory when dropped; never printed. Its bytes stay where they are when
/// it is moved, so that no copies are left behind.
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
    bytes: Box<Zeroizing<[u8; KEY_BYTES_MAX]>>,
}

impl Key {
    /// Takes the key's bytes in the order in which FIPS 197, and NESSIE's vectors of Serpent, list them.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless `bytes` is exactly [`Cipher::key_bytes`] long.
    pub fn new(cipher: Cipher, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != cipher.key_bytes() {
            return Err(Error::KeyLength { cipher, len_bytes: bytes.len() });
        }
        let _clear = ClearRegisters;
        let mut key = Box::new(Zeroizing::new([0; KEY_BYTES_MAX]));
        key[..bytes.len()].copy_from_slice(bytes);
        Ok(Self { cipher, bytes: key })
    }

    /// A new key from the operating system's generator.
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
    /// [`Error::NoRandom`] if the system gives no random bytes.
    pub fn generate(cipher: Cipher) -> Result<Self, Error> {
        let _clear = ClearRegisters;
        let mut key = Box::new(Zeroizing::new([0; KEY_BYTES_MAX]));
        fill_random(&mut key[..cipher.key_bytes()])?;
        Ok(Self { cipher, bytes: key })
    }

    /// The cipher this key is for.
    pub const fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// The key itself: [`Cipher::key_bytes`] secret bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.cipher.key_bytes()]
    }
}

impl Clone for Key {
    fn clone(&self) -> Self {
        let _clear = ClearRegisters;
        let mut bytes = Box::new(Zeroizing::new([0; KEY_BYTES_MAX]));
        bytes.copy_from_slice(&self.bytes[..]);
        Self { cipher: self.cipher, bytes }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}, secret)", self.cipher)
    }
}

/// Fills bytes by the operating system's generator.
///
/// # Errors
/// [`Error::NoRandom`] if the system gives no random bytes.
pub fn fill_random(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(|error| Error::NoRandom(error.to_string()))
}

/// What can be wrong with a request. Each prints as one line that says how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No cipher has this name.
    UnknownCipher(String),
    /// A key of the wrong length for its cipher.
    KeyLength {
        /// The cipher asked for.
        cipher: Cipher,
        /// The length given, in bytes.
        len_bytes: usize,
    },
    /// A key of another cipher than that of the call.
    OtherCipher {
        /// The cipher of the call.
        cipher: Cipher,
        /// The cipher of the key.
        given: Cipher,
    },
    /// A mode of whole blocks was given a length that is no multiple of 16 bytes.
    PartialBlock {
        /// The length given, in bytes.
        len_bytes: usize,
    },
    /// Input and output buffers of different lengths.
    LengthMismatch {
        /// Bytes of input.
        input_bytes: usize,
        /// Bytes of output.
        output_bytes: usize,
    },
    /// No variant has this name.
    UnknownVariant(String),
    /// A variant that cannot run here, with the reason.
    Unavailable {
        /// The variant's name.
        variant: String,
        /// Why it cannot be had.
        reason: String,
    },
    /// No policy has this name.
    UnknownPolicy(String),
    /// No effort has this name.
    UnknownEffort(String),
    /// An ISA cap that cannot be read.
    BadIsaCap(String),
    /// No path leads from a job's source to its sink, with the reason.
    NoPlan(String),
    /// A stored plan that cannot be understood, or does not compute its job.
    CorruptPlan(String),
    /// A stored plan that is of no use here, with the reason.
    UnfitPlan(String),
    /// A key that is not two keys of its cipher, for a mode that takes two.
    TwoKeysLength {
        /// The mode's name.
        mode: &'static str,
        /// The cipher asked for.
        cipher: Cipher,
        /// The length given, in bytes.
        len_bytes: usize,
    },
    /// A key of XTS whose halves are the same.
    EqualXtsKeys,
    /// A size that sectors cannot have.
    SectorBytes {
        /// The size asked for.
        len_bytes: usize,
    },
    /// A last sector of less than a block.
    ShortSector {
        /// What it has, in bytes.
        len_bytes: usize,
    },
    /// A length that a mode's tags cannot have, or a tag of another length than the mode was made for.
    TagBytes {
        /// The length given.
        len_bytes: usize,
    },
    /// A mode that needs a nonce was given an empty one.
    EmptyNonce,
    /// A nonce of a length that its mode does not take.
    NonceBytes {
        /// The mode's name.
        mode: &'static str,
        /// The fewest bytes that it takes.
        least: usize,
        /// The most.
        most: usize,
        /// The length given, in bytes.
        len_bytes: usize,
    },
    /// More strings of associated data than the mode takes.
    AadStrings {
        /// The most that it takes, a nonce of SIV included.
        most: usize,
        /// The number given.
        count: usize,
    },
    /// A cipher that a mode is not defined for.
    UnfitCipher {
        /// The mode's name.
        mode: &'static str,
        /// The cipher given.
        cipher: Cipher,
        /// The ciphers that it is defined for.
        fit: String,
    },
    /// No mode has this name.
    UnknownMode {
        /// The name given.
        name: String,
        /// The modes there are.
        known: String,
    },
    /// A mode that has no use where it was given.
    UnfitMode {
        /// The mode's name.
        mode: &'static str,
        /// The modes that have.
        fit: String,
    },
    /// An initial value of the wrong length for its mode.
    InitialBytes {
        /// The mode's name.
        mode: &'static str,
        /// What it takes, in bytes; nothing for a mode without one.
        takes_bytes: usize,
        /// The length given, in bytes.
        len_bytes: usize,
    },
    /// A piece of a message that begins within a sector.
    SplitSector {
        /// Where it begins, in bytes.
        position_bytes: u128,
    },
    /// More than a mode may encrypt under one nonce, or vouch for besides.
    TooLong {
        /// The most it may, in bytes.
        most_bytes: u64,
    },
    /// A part of a random stream that there is not.
    NoSuchPart {
        /// The binary logarithm of the number of parts.
        log_parts: u32,
        /// The number of the part asked for.
        index: u128,
    },
    /// A key of the wrong length for a cipher with wide blocks.
    WideKeyLength {
        /// The cipher's name.
        cipher: &'static str,
        /// What its keys have, in bytes.
        key_bytes: usize,
        /// The length given, in bytes.
        len_bytes: usize,
    },
    /// An initial value of the wrong length for a cipher with wide blocks.
    WideInitialLength {
        /// The cipher's name.
        cipher: &'static str,
        /// What its blocks have, in bytes.
        block_bytes: usize,
        /// The length given, in bytes.
        len_bytes: usize,
    },
    /// A mode of whole blocks was given a part of a wide one.
    PartialWideBlock {
        /// The cipher's name.
        cipher: &'static str,
        /// What its blocks have, in bytes.
        block_bytes: usize,
        /// The length given, in bytes.
        len_bytes: usize,
    },
    /// A tag that is wrong: the message, what it was sealed with, or the key is not what it was.
    Forged,
    /// The operating system gives no random bytes, with the reason.
    NoRandom(String),
    /// Wisdom that is of no use here, with the reason.
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
                "ISA cap '{}' of the environment variable CROSSGRAIN_ISA cannot be read: give portable, sse2, avx2 or avx512, \
                 then -aes, -vaes, -gfni, -vbmi, -clmul or -vclmul to leave those instructions out, as in avx512-aes",
                quoted(cap)
            ),
        }
    }
}

impl std::error::Error for Error {}

/// `InvalidData` for data that is not what it was, else `InvalidInput`. The error can be had back by `downcast`.
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
