//! The header: magic, version, suite, and where the input key of the payload comes from.
//!
//! | offset | bytes | version 1 | version 2 |
//! |---|---|---|---|
//! | 0 | 10 | `crossgrain` | the same |
//! | 10 | 1 | 1 | 2 |
//! | 11 | 1 | suite | suite |
//! | 12 | 1 | n, the length of the next field; 0 for a raw key | |
//! | 13 | n | `$argon2id$v=19$m=…,t=…,p=…$salt`, a string of the PHC format | |
//! | 12 | 2 | | s, the length of all slots |
//! | 14 | s | | slots (`slots`) |
//! | 14 + s | 32 | | a tag from the file key over all bytes before it |
//!
//! In version 1 one key opens the file, and all bytes of the header are the payload's context. In version 2
//! the payload has a random file key, and each slot holds this key under another secret. Only the first
//! twelve bytes are the context, so slots can be replaced while the payload stays as it is.
//!
//! A header has exactly one encoding. Any other spelling is refused.

use std::io::Read;

use base64ct::{Base64Unpadded, Encoding as _};

use zeroize::Zeroizing;

use super::derive::{Argon2id, Limits, SALT_BYTES, Secret};
use super::error::Error;
use super::fill;
use super::payload::{PREFIX_BYTES, Payload, Suite};
use super::slots::{Lock, MAC_BYTES, SLOTS_BYTES_MAX, Slots};
use crossgrain::engine::fill_random;
use crossgrain::mode::Options;

const MAGIC: &[u8; 10] = b"crossgrain";

/// The version with one key.
const ONE_KEY: u8 = 1;
/// The version with slots.
const WITH_SLOTS: u8 = 2;

/// Bytes of magic, version and suite.
const CONTEXT_BYTES: usize = MAGIC.len() + 2;

/// Bytes of the shortest header: in version 1 before the PHC string.
const FIXED_BYTES: usize = CONTEXT_BYTES + 1;

/// The longest header in bytes.
pub const HEADER_BYTES_MAX: usize = CONTEXT_BYTES + 2 + SLOTS_BYTES_MAX + MAC_BYTES;

/// The part of a file before the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The suite that encrypts the chunks.
    pub suite: Suite,
    /// The origin of the input key.
    pub kdf: Kdf,
}

/// The origin of the input key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kdf {
    /// The user supplies it.
    RawKey,
    /// It is derived from a passphrase.
    Argon2id(Argon2id),
    /// It is random, and each slot holds it under another secret (version 2).
    Slots(Slots),
}

impl Header {
    /// The header of a file encrypted with a key (version 1).
    pub const fn of_key(suite: Suite) -> Self {
        Self { suite, kdf: Kdf::RawKey }
    }

    /// The header of a file encrypted with a passphrase that cannot be changed (version 1).
    pub const fn of_passphrase(suite: Suite, argon2id: Argon2id) -> Self {
        Self { suite, kdf: Kdf::Argon2id(argon2id) }
    }

    /// The header of a file that each of the locks opens (version 2), and its random file key: the input key of
    /// the payload.
    ///
    /// # Errors
    /// [`Error::SlotCount`] for no lock or too many; [`Error::KeyLength`] for a key of the wrong length;
    /// [`Error::BadArgon2`] or [`Error::OutOfMemory`] for parameters of Argon2id;
    /// [`Error::ManyCosts`] if several passphrases exceed the default limits together; [`Error::Cipher`] if
    /// the system provides no random bytes.
    pub fn locked(suite: Suite, locks: &[Lock<'_>]) -> Result<(Self, Zeroizing<Vec<u8>>), Error> {
        let mut file_key = Zeroizing::new(vec![0; suite.key_bytes()]);
        fill_random(&mut file_key)?;
        let slots = Slots::sealed(suite, &file_key, locks)?;
        Ok((Self { suite, kdf: Kdf::Slots(slots) }, file_key))
    }

    /// Opens a header of version 2. Returns the file key and the numbers of all slots that the secret opens, from
    /// 0 on.
    ///
    /// # Errors
    /// [`Error::OneKey`] for version 1; otherwise as [`Header::input_key`].
    pub fn opened(
        &self,
        secret: Secret<'_>,
        limits: &Limits,
    ) -> Result<(Zeroizing<Vec<u8>>, Vec<usize>), Error> {
        match &self.kdf {
            Kdf::Slots(slots) => slots.open_all(self.suite, secret, limits),
            _ => Err(Error::OneKey),
        }
    }

    /// A header for the same payload with other slots: those with the numbers `kept`, then one for each lock.
    /// Numbers of slots that do not exist are ignored.
    ///
    /// # Errors
    /// [`Error::OneKey`] for version 1; [`Error::ForgedHeader`] if the file key is not that of the header;
    /// otherwise as [`Header::locked`].
    pub fn rekeyed(&self, file_key: &[u8], kept: &[usize], locks: &[Lock<'_>]) -> Result<Self, Error> {
        let Kdf::Slots(slots) = &self.kdf else { return Err(Error::OneKey) };
        let slots = slots.resealed(self.suite, file_key, kept, locks)?;
        Ok(Self { suite: self.suite, kdf: Kdf::Slots(slots) })
    }

    /// The version of the format.
    pub const fn version(&self) -> u8 {
        match self.kdf {
            Kdf::RawKey | Kdf::Argon2id(_) => ONE_KEY,
            Kdf::Slots(_) => WITH_SLOTS,
        }
    }

    /// The encoded header.
    pub fn to_bytes(&self) -> Vec<u8> {
        let kdf = match &self.kdf {
            Kdf::Slots(slots) => return slots.header(self.suite),
            Kdf::RawKey => String::new(),
            Kdf::Argon2id(argon2id) => spelled(argon2id),
        };
        let mut bytes = beginning(ONE_KEY, self.suite).to_vec();
        bytes.push(kdf.len() as u8);
        bytes.extend(kdf.bytes());
        bytes
    }

    /// The payload's context: in version 1 the whole header, in version 2 the part that never changes.
    pub fn context(&self) -> Vec<u8> {
        match self.kdf {
            Kdf::RawKey | Kdf::Argon2id(_) => self.to_bytes(),
            Kdf::Slots(_) => fixed(self.suite).to_vec(),
        }
    }

    /// The payload after this header, for opening. `prefix` is its beginning.
    ///
    /// # Errors
    /// As [`Payload::committed`]; but [`Error::ForgedHeader`] if the input key came from a slot, and the prefix
    /// is not of this file.
    pub fn payload(
        &self,
        input_key: &[u8],
        prefix: &[u8; PREFIX_BYTES],
        options: &Options,
    ) -> Result<Payload, Error> {
        Ok(self.payload_with_key(input_key, prefix, options)?.0)
    }

    /// As [`Header::payload`], with the key of the chunks.
    ///
    /// # Errors
    /// As [`Header::payload`].
    pub fn payload_with_key(
        &self,
        input_key: &[u8],
        prefix: &[u8; PREFIX_BYTES],
        options: &Options,
    ) -> Result<(Payload, Zeroizing<Vec<u8>>), Error> {
        let opened = Payload::committed_with_key(self.suite, input_key, prefix, &self.context(), options);
        opened.map_err(|error| match (error, &self.kdf) {
            (Error::WrongKey, Kdf::Slots(_)) => Error::ForgedHeader,
            (error, _) => error,
        })
    }

    /// Reads a header, and no byte after it.
    ///
    /// # Errors
    /// [`Error::NotEncrypted`], [`Error::Version`], [`Error::BadHeader`] or [`Error::TruncatedHeader`],
    /// depending on the bytes; [`Error::Io`] if reading fails.
    pub fn read(input: &mut impl Read) -> Result<Self, Error> {
        let mut bytes = [0; FIXED_BYTES];
        let read_bytes = fill(input, &mut bytes)?;
        let magic_bytes = read_bytes.min(MAGIC.len());
        if bytes[..magic_bytes] != MAGIC[..magic_bytes] {
            return Err(Error::NotEncrypted);
        }
        let [.., version, suite, len_bytes] = bytes;
        if read_bytes > MAGIC.len() && ![ONE_KEY, WITH_SLOTS].contains(&version) {
            return Err(Error::Version(version));
        }
        if read_bytes < FIXED_BYTES {
            return Err(Error::TruncatedHeader);
        }
        let suite = Suite::of_number(suite)
            .ok_or_else(|| Error::BadHeader(format!("suite {suite} is none of this version")))?;
        let kdf = if version == ONE_KEY {
            one_key(input, usize::from(len_bytes))
        } else {
            with_slots(input, suite, len_bytes)
        };
        Ok(Self { suite, kdf: kdf? })
    }
}

/// Reads the rest of a header of version 1.
fn one_key(input: &mut impl Read, phc_bytes: usize) -> Result<Kdf, Error> {
    let mut phc = [0; u8::MAX as usize];
    let phc = &mut phc[..phc_bytes];
    if fill(input, phc)? < phc_bytes {
        return Err(Error::TruncatedHeader);
    }
    if phc.is_empty() { Ok(Kdf::RawKey) } else { read_kdf(phc).map(Kdf::Argon2id) }
}

/// Reads the rest of a header of version 2, after the high byte of the slots' length.
fn with_slots(input: &mut impl Read, suite: Suite, high: u8) -> Result<Kdf, Error> {
    let mut low = [0];
    if fill(input, &mut low)? < low.len() {
        return Err(Error::TruncatedHeader);
    }
    let slots_bytes = usize::from(u16::from_be_bytes([high, low[0]]));
    if slots_bytes == 0 || slots_bytes > SLOTS_BYTES_MAX {
        return Err(Error::BadHeader(format!("no slots have {slots_bytes} bytes")));
    }
    let (mut body, mut mac) = (vec![0; slots_bytes], [0; MAC_BYTES]);
    if fill(input, &mut body)? < slots_bytes || fill(input, &mut mac)? < MAC_BYTES {
        return Err(Error::TruncatedHeader);
    }
    Slots::read(suite, &body, mac).map(Kdf::Slots)
}

/// Magic, version and suite.
fn beginning(version: u8, suite: Suite) -> [u8; CONTEXT_BYTES] {
    let mut bytes = [0; CONTEXT_BYTES];
    bytes[..MAGIC.len()].copy_from_slice(MAGIC);
    bytes[MAGIC.len()..].copy_from_slice(&[version, suite.number()]);
    bytes
}

/// The beginning of every header of version 2.
pub(super) fn fixed(suite: Suite) -> [u8; CONTEXT_BYTES] {
    beginning(WITH_SLOTS, suite)
}

pub(super) fn spelled(argon2id: &Argon2id) -> String {
    let Argon2id { memory_kib, passes, lanes, salt } = argon2id;
    let salt = Base64Unpadded::encode_string(salt);
    format!("$argon2id$v=19$m={memory_kib},t={passes},p={lanes}${salt}")
}

/// Parses the output of [`spelled`], and accepts nothing else.
pub(super) fn read_kdf(kdf: &[u8]) -> Result<Argon2id, Error> {
    let text = std::str::from_utf8(kdf).ok();
    let read = text.and_then(|text| {
        let (costs, salt) = text.strip_prefix("$argon2id$v=19$m=")?.split_once('$')?;
        let (memory_kib, costs) = costs.split_once(",t=")?;
        let (passes, lanes) = costs.split_once(",p=")?;
        let mut bytes = [0; SALT_BYTES];
        Base64Unpadded::decode(salt, &mut bytes).ok().filter(|salt| salt.len() == SALT_BYTES)?;
        let [memory_kib, passes, lanes] = [memory_kib, passes, lanes].map(|number| number.parse().ok());
        let argon2id = Argon2id { memory_kib: memory_kib?, passes: passes?, lanes: lanes?, salt: bytes };
        (spelled(&argon2id) == text).then_some(argon2id)
    });
    read.ok_or_else(|| Error::BadHeader(format!("'{}' is no Argon2id string", String::from_utf8_lossy(kdf))))
}
