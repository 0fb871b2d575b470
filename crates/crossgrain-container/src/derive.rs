//! Key derivation: from a passphrase by Argon2id (RFC 9106), then to the keys of a payload by HKDF-Expand
//! (RFC 5869 §2.3).

use std::fmt;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use hmac::Hmac;
use hmac::digest::{FixedOutput as _, KeyInit as _, Update as _};
use sha2::Sha512;
use zeroize::{Zeroize as _, Zeroizing};

use super::error::Error;
use super::header::{Header, Kdf};
use super::x25519::Identity;
use crossgrain::engine::{fill_random, ready, wiping_stack};

/// Bytes of an Argon2id salt in this format (RFC 9106 §3.1 recommends 16).
pub(super) const SALT_BYTES: usize = 16;

/// Bytes of a SHA-512 digest.
const HASH_BYTES: usize = 64;

/// Bytes of a SHA-512 block. HMAC pads keys to it with zeros.
const HASH_BLOCK_BYTES: usize = 128;

/// The key or passphrase of a file, or identities of its recipient.
#[derive(Clone, Copy)]
pub enum Secret<'a> {
    /// Uniformly random bytes, of the suite's key length.
    Key(&'a [u8]),
    /// A passphrase as bytes. Only the same bytes open the file; nothing is normalised. A program that reads
    /// text from a person should normalise it first (for example UTF-8 in NFC), because keyboards encode
    /// accented letters differently. It should also remove the line end.
    Passphrase(&'a [u8]),
    /// Identities, one of which may open a file of version 2.
    Identities(&'a [Identity]),
}

/// Argon2id's parameters (RFC 9106 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argon2id {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// The number of passes over the memory.
    pub passes: u32,
    /// The number of lanes, which can run in parallel.
    pub lanes: u32,
    /// The salt. Two files never have the same one.
    pub salt: [u8; SALT_BYTES],
}

/// The most resources that a file may demand before it is known to be authentic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most memory, in KiB.
    pub memory_kib: u32,
    /// The most passes.
    pub passes: u32,
    /// The most lanes.
    pub lanes: u32,
    /// The most memory times passes, in KiB. This bounds the time on one thread.
    pub work_kib: u64,
}

impl Argon2id {
    /// 64 MiB, 3 passes and 4 lanes (the second choice of RFC 9106 §4), with a fresh random salt.
    ///
    /// # Errors
    /// [`Error::Cipher`] if the system provides no random bytes.
    pub fn fresh() -> Result<Self, Error> {
        let mut salt = [0; SALT_BYTES];
        fill_random(&mut salt)?;
        Ok(Self { memory_kib: 64 * 1024, passes: 3, lanes: 4, salt })
    }

    /// Derives a key from a passphrase.
    pub(super) fn key(&self, passphrase: &[u8], key: &mut [u8]) -> Result<(), Error> {
        let bad = |error: argon2::Error| Error::BadArgon2(error.to_string());
        let memory_kib = self.memory_kib;
        if self.lanes > Params::MAX_P_COST || memory_kib / 8 < self.lanes {
            return Err(Error::BadArgon2("8 KiB of memory a lane are the least".to_owned()));
        }
        let params = Params::new(memory_kib, self.passes, self.lanes, None).map_err(bad)?;
        // The memory is allocated here and not by the library, so that it can be wiped and a failed
        // allocation is reported.
        let mut memory = Zeroizing::new(Vec::new());
        memory.try_reserve_exact(params.block_count()).map_err(|_| Error::OutOfMemory { memory_kib })?;
        memory.resize(params.block_count(), Block::default());
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        // Argon2 runs its lanes on rayon's pool.
        ready();
        let memory = memory.as_mut_slice();
        wiping_stack(|| argon2.hash_password_into_with_memory(passphrase, &self.salt, key, memory))
            .map_err(bad)
    }
}

impl Default for Limits {
    /// 1 GiB of memory, 16 passes and 64 lanes, and at most 4 GiB in all passes together. On one thread of a
    /// fast core this takes seconds, on a slow one half a minute. `docs/format.md` has the figures.
    fn default() -> Self {
        Self { memory_kib: 1 << 20, passes: 16, lanes: 64, work_kib: 4 << 20 }
    }
}

impl Limits {
    /// Everything that Argon2id supports, for parameters that the caller chose.
    pub const NONE: Self =
        Self { memory_kib: u32::MAX, passes: u32::MAX, lanes: u32::MAX, work_kib: u64::MAX };

    /// Fails if derivations exceed the limits. The work is that of all of them, because a reader may have to
    /// try each.
    pub(super) fn admit<'a>(&self, all: impl Iterator<Item = &'a Argon2id>) -> Result<(), Error> {
        let mut work_kib = 0_u64;
        for &Argon2id { memory_kib, passes, lanes, .. } in all {
            work_kib = work_kib.saturating_add(u64::from(memory_kib) * u64::from(passes));
            let is_too_much = work_kib > self.work_kib;
            if memory_kib > self.memory_kib || passes > self.passes || lanes > self.lanes || is_too_much {
                return Err(Error::TooDemanding { memory_kib, passes, lanes });
            }
        }
        Ok(())
    }
}

impl Header {
    /// Derives the input key of a file with this header, within `limits`. For version 2 this is the file key
    /// from the first slot that the secret opens. The slots are verified then.
    ///
    /// # Errors
    /// [`Error::WantsKey`], [`Error::WantsPassphrase`] or [`Error::WantsIdentity`] for another kind of secret;
    /// [`Error::KeyLength`] for a key of the wrong length; [`Error::TooDemanding`], [`Error::BadArgon2`] or
    /// [`Error::OutOfMemory`] for the Argon2id parameters. For version 2 also [`Error::WrongKey`] if no slot
    /// opens, and [`Error::ForgedHeader`] if one does and the header was changed.
    pub fn input_key(&self, secret: Secret<'_>, limits: &Limits) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut key = Zeroizing::new(vec![0; self.suite.key_bytes()]);
        match (&self.kdf, secret) {
            (Kdf::Slots(slots), secret) => return slots.open(self.suite, secret, limits),
            (Kdf::RawKey, Secret::Key(bytes)) if bytes.len() == key.len() => key.copy_from_slice(bytes),
            (Kdf::RawKey, Secret::Key(bytes)) => {
                return Err(Error::KeyLength { suite: self.suite, len_bytes: bytes.len() });
            }
            (Kdf::RawKey, Secret::Passphrase(_) | Secret::Identities(_)) => return Err(Error::WantsKey),
            (Kdf::Argon2id(_), Secret::Key(_) | Secret::Identities(_)) => return Err(Error::WantsPassphrase),
            (Kdf::Argon2id(argon2id), Secret::Passphrase(passphrase)) => {
                limits.admit(std::iter::once(argon2id))?;
                argon2id.key(passphrase, &mut key)?;
            }
        }
        Ok(key)
    }
}

/// HKDF-Extract with SHA-512. The parts of the salt have at most one block together. The caller wipes the
/// stack.
pub(super) fn extract(salt: [&[u8]; 2], secret: &[u8]) -> Zeroizing<[u8; HASH_BYTES]> {
    let mut block = [0; HASH_BLOCK_BYTES];
    let salt = salt.concat();
    block[..salt.len()].copy_from_slice(&salt);
    let mut mac: Hmac<Sha512> = Hmac::new((&block).into());
    mac.update(secret);
    let mut made = mac.finalize_fixed();
    let mut extracted = Zeroizing::new([0; HASH_BYTES]);
    extracted.copy_from_slice(&made);
    made.as_mut_slice().zeroize();
    extracted
}

/// HKDF-Expand with SHA-512. The key has at most one block, and the output at most 255 digests. The caller
/// wipes the stack.
///
/// The key is already uniformly random, so HKDF-Extract is omitted, and the key may be shorter than a digest.
pub(super) fn expand(key: &[u8], info: &[&[u8]], expanded: &mut [u8]) {
    let mut block = Zeroizing::new([0; HASH_BLOCK_BYTES]);
    block[..key.len()].copy_from_slice(key);
    let keyed: Hmac<Sha512> = Hmac::new((&*block).into());
    let mut hash = Zeroizing::new([0; HASH_BYTES]);
    for (number, part) in (1_u8..).zip(expanded.chunks_mut(HASH_BYTES)) {
        let mut mac = keyed.clone();
        if number > 1 {
            mac.update(&*hash);
        }
        info.iter().for_each(|info| mac.update(info));
        mac.update(&[number]);
        let mut made = mac.finalize_fixed();
        hash.copy_from_slice(&made);
        made.as_mut_slice().zeroize();
        part.copy_from_slice(&hash[..part.len()]);
    }
}

impl fmt::Debug for Secret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key(secret)",
            Self::Passphrase(_) => "Passphrase(secret)",
            Self::Identities(_) => "Identities(secret)",
        })
    }
}
