//! The header: magic, version, suite, and the derivation of the key. Its bytes are the payload's context.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 10 | `crossgrain` |
//! | 10 | 1 | version, 1 |
//! | 11 | 1 | suite |
//! | 12 | 1 | n, the length of the next field; 0 for a raw key |
//! | 13 | n | `$argon2id$v=19$m=…,t=…,p=…$salt`, a string of the PHC format |
//!
//! A header has exactly one encoding. Any other spelling is refused.

use std::io::Read;

use base64ct::{Base64Unpadded, Encoding as _};

use super::derive::{Argon2id, SALT_BYTES};
use super::error::Error;
use super::fill;
use super::payload::Suite;

const MAGIC: &[u8; 10] = b"crossgrain";
const VERSION: u8 = 1;

/// Bytes before the PHC string.
const FIXED_BYTES: usize = MAGIC.len() + 3;

/// The longest header in bytes.
pub const HEADER_BYTES_MAX: usize = FIXED_BYTES + u8::MAX as usize;

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
}

impl Header {
    /// The header of a file encrypted with a key.
    pub const fn of_key(suite: Suite) -> Self {
        Self { suite, kdf: Kdf::RawKey }
    }

    /// The header of a file encrypted with a passphrase.
    pub const fn of_passphrase(suite: Suite, argon2id: Argon2id) -> Self {
        Self { suite, kdf: Kdf::Argon2id(argon2id) }
    }

    /// The encoded header.
    pub fn to_bytes(&self) -> Vec<u8> {
        let kdf = match &self.kdf {
            Kdf::RawKey => String::new(),
            Kdf::Argon2id(argon2id) => spelled(argon2id),
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend([VERSION, self.suite.number(), kdf.len() as u8]);
        bytes.extend(kdf.bytes());
        bytes
    }

    /// Reads a header, and no byte after it.
    ///
    /// # Errors
    /// [`Error::NotEncrypted`], [`Error::Version`], [`Error::BadHeader`] or [`Error::TruncatedHeader`],
    /// depending on the bytes; [`Error::Io`] if reading fails.
    pub fn read(input: &mut impl Read) -> Result<Self, Error> {
        let mut bytes = [0; HEADER_BYTES_MAX];
        let (fixed, kdf) = bytes.split_at_mut(FIXED_BYTES);
        let read_bytes = fill(input, fixed)?;
        let magic_bytes = read_bytes.min(MAGIC.len());
        if fixed[..magic_bytes] != MAGIC[..magic_bytes] {
            return Err(Error::NotEncrypted);
        }
        let [.., version, suite, kdf_bytes] = *fixed else { return Err(Error::TruncatedHeader) };
        if read_bytes > MAGIC.len() && version != VERSION {
            return Err(Error::Version(version));
        }
        if read_bytes < FIXED_BYTES {
            return Err(Error::TruncatedHeader);
        }
        let suite = Suite::of_number(suite)
            .ok_or_else(|| Error::BadHeader(format!("suite {suite} is none of this version")))?;
        let kdf = &mut kdf[..usize::from(kdf_bytes)];
        if fill(input, kdf)? < kdf.len() {
            return Err(Error::TruncatedHeader);
        }
        Ok(Self { suite, kdf: if kdf.is_empty() { Kdf::RawKey } else { Kdf::Argon2id(read_kdf(kdf)?) } })
    }
}

fn spelled(argon2id: &Argon2id) -> String {
    let Argon2id { memory_kib, passes, lanes, salt } = argon2id;
    let salt = Base64Unpadded::encode_string(salt);
    format!("$argon2id$v=19$m={memory_kib},t={passes},p={lanes}${salt}")
}

/// Parses the output of [`spelled`], and accepts nothing else.
fn read_kdf(kdf: &[u8]) -> Result<Argon2id, Error> {
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
