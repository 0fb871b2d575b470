//! Key derivation from candidates: by padding, by a hash, or by a password hash.
//!
//! Sources: SHA-256, FIPS 180-4; PBKDF2, RFC 8018 §5.2, with HMAC; scrypt, RFC 7914; Argon2, RFC 9106;
//! OpenSSL's derivation, its manual page `EVP_BytesToKey`.

use argon2::{Algorithm, Argon2, Block, Params, Version};
use sha2::{Digest as _, Sha256};
use zeroize::{Zeroize as _, Zeroizing};

use super::words::Refusal;
use super::{Error, Hash};
use crossgrain::engine as pool;

/// Bytes of a SHA-256 digest.
const SHA256_BYTES: usize = 32;

/// The derivation of a key from a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kdf {
    /// The candidate is the key.
    Exact,
    /// The candidate, padded with zeros.
    Zeros,
    /// The candidate, repeated to the length of the key.
    Repeat,
    /// The first bytes of the candidate's SHA-256 digest.
    Sha256,
    /// OpenSSL's derivation with one iteration: `openssl enc` without `-pbkdf2`.
    BytesToKey {
        /// The hash.
        hash: Hash,
        /// The salt.
        salt: Vec<u8>,
    },
    /// PBKDF2.
    Pbkdf2 {
        /// The hash under HMAC.
        hash: Hash,
        /// The salt.
        salt: Vec<u8>,
        /// The number of iterations.
        iterations: u32,
    },
    /// scrypt.
    Scrypt {
        /// The salt.
        salt: Vec<u8>,
        /// The binary logarithm of the cost N.
        log_n: u8,
        /// The block size r.
        r: u32,
        /// The parallelisation p.
        p: u32,
    },
    /// Argon2id, version 1.3.
    Argon2id {
        /// The salt, at least 8 bytes.
        salt: Vec<u8>,
        /// Memory in KiB.
        memory_kib: u32,
        /// Passes over the memory.
        passes: u32,
        /// Lanes.
        lanes: u32,
    },
    /// Argon2i, version 1.3.
    Argon2i {
        /// The salt, at least 8 bytes.
        salt: Vec<u8>,
        /// Memory in KiB.
        memory_kib: u32,
        /// Passes over the memory.
        passes: u32,
        /// Lanes.
        lanes: u32,
    },
    /// Several derivations with the length of the key of each, in bytes. The key is their keys in sequence.
    Several(Vec<(Kdf, usize)>),
}

/// A KDF prepared to derive keys of one length. It owns its memory, so each thread has one.
pub(super) struct Deriver {
    kind: Kind,
    /// The memory of Argon2, enough for the largest of several derivations.
    memory: Zeroizing<Vec<Block>>,
    /// Which of several derivations are carried out. Empty for all.
    needed: Vec<bool>,
}

enum Kind {
    Padding(Kdf),
    BytesToKey(Hash, Vec<u8>),
    Pbkdf2(Hash, Vec<u8>, u32),
    Scrypt(Vec<u8>, scrypt::Params),
    Argon2(Vec<u8>, Argon2<'static>),
    Several(Vec<(Kind, usize)>),
}

impl Kdf {
    /// Whether padding is linear: the key of an XOR of candidates is the XOR of their keys.
    pub(super) const fn is_padding(&self) -> bool {
        matches!(self, Self::Exact | Self::Zeros | Self::Repeat)
    }

    /// Derives one key.
    ///
    /// # Errors
    /// [`Error::BadKdf`] for invalid parameters, or a key longer than the KDF gives; [`Error::BadCandidate`]
    /// for a candidate from which no key can be derived.
    pub fn derive(&self, candidate: &[u8], key: &mut [u8]) -> Result<(), Error> {
        self.deriver(key.len())?.derive(candidate, key).map_err(Error::BadCandidate)
    }

    /// Derives a key by padding. Halves of a candidate that share no bit give halves of a key that share
    /// none.
    pub(super) fn pad(&self, candidate: &[u8], key: &mut [u8]) -> Result<(), Refusal> {
        pad(self, candidate, key)
    }

    /// Prepares to derive keys of `key_bytes`.
    ///
    /// # Errors
    /// [`Error::BadKdf`] for invalid parameters, or a key longer than the KDF gives.
    pub(super) fn deriver(&self, key_bytes: usize) -> Result<Deriver, Error> {
        let kind = self.kind(key_bytes)?;
        let mut memory = Zeroizing::new(Vec::new());
        let block_count = kind.block_count();
        if memory.try_reserve_exact(block_count).is_err() {
            return bad("there is no memory for argon2 on every thread: use fewer threads");
        }
        memory.resize(block_count, Block::default());
        Ok(Deriver { kind, memory, needed: Vec::new() })
    }

    fn kind(&self, key_bytes: usize) -> Result<Kind, Error> {
        Ok(match self {
            Self::Sha256 if key_bytes > SHA256_BYTES => {
                return bad("sha-256 makes 32 bytes and the key has more: choose another kdf");
            }
            Self::Exact | Self::Zeros | Self::Repeat | Self::Sha256 => Kind::Padding(self.clone()),
            Self::BytesToKey { hash, salt } => Kind::BytesToKey(*hash, salt.clone()),
            Self::Pbkdf2 { iterations: 0, .. } => {
                return bad("pbkdf2 runs once at least: give its iterations");
            }
            Self::Pbkdf2 { hash, salt, iterations } => Kind::Pbkdf2(*hash, salt.clone(), *iterations),
            Self::Scrypt { salt, log_n, r, p } => match scrypt::Params::new(*log_n, *r, *p) {
                Ok(params) if is_there(*log_n, *r) => Kind::Scrypt(salt.clone(), params),
                Ok(_) => {
                    return bad(
                        "there is no memory for scrypt at such a cost: it takes 128 N r bytes on every thread",
                    );
                }
                Err(_) => {
                    return bad(
                        "scrypt takes no such cost: N is a power of two below 2^(16 r), r and p at least 1",
                    );
                }
            },
            Self::Argon2id { salt, memory_kib, passes, lanes } => {
                argon2(Algorithm::Argon2id, salt, [*memory_kib, *passes, *lanes])?
            }
            Self::Argon2i { salt, memory_kib, passes, lanes } => {
                argon2(Algorithm::Argon2i, salt, [*memory_kib, *passes, *lanes])?
            }
            Self::Several(parts) => {
                if parts.iter().map(|(_, part_bytes)| part_bytes).sum::<usize>() != key_bytes {
                    return bad("several derivations do not fill the key: give each the length of its part");
                }
                let kinds = parts.iter().map(|(kdf, part_bytes)| Ok((kdf.kind(*part_bytes)?, *part_bytes)));
                Kind::Several(kinds.collect::<Result<_, Error>>()?)
            }
        })
    }
}

fn bad<T>(reason: &str) -> Result<T, Error> {
    Err(Error::BadKdf { reason: reason.to_owned() })
}

fn argon2(algorithm: Algorithm, salt: &[u8], [memory_kib, passes, lanes]: [u32; 3]) -> Result<Kind, Error> {
    if salt.len() < argon2::MIN_SALT_LEN {
        return bad("argon2id takes a salt of 8 bytes at least");
    }
    let params = Params::new(memory_kib, passes, lanes, None);
    let params = params.map_err(|error| Error::BadKdf { reason: format!("argon2id: {error}") })?;
    Ok(Kind::Argon2(salt.to_vec(), Argon2::new(algorithm, Version::V0x13, params)))
}

impl Deriver {
    /// Derives a key from a candidate.
    pub(super) fn derive(&mut self, candidate: &[u8], key: &mut [u8]) -> Result<(), Refusal> {
        self.kind.derive(&mut self.memory, &self.needed, candidate, key)
    }

    /// Restricts several derivations to those that are needed. The others leave their part of the key as it is.
    pub(super) fn only(self, needed: Vec<bool>) -> Self {
        Self { needed, ..self }
    }
}

impl Kind {
    /// Blocks of memory that Argon2 needs.
    fn block_count(&self) -> usize {
        match self {
            Self::Argon2(_, argon2) => argon2.params().block_count(),
            Self::Several(kinds) => kinds.iter().map(|(kind, _)| kind.block_count()).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn derive(
        &self,
        memory: &mut [Block],
        needed: &[bool],
        candidate: &[u8],
        key: &mut [u8],
    ) -> Result<(), Refusal> {
        match self {
            Self::Padding(kdf) => return pad(kdf, candidate, key),
            Self::BytesToKey(hash, salt) => bytes_to_key(*hash, candidate, salt, key),
            Self::Pbkdf2(hash, salt, iterations) => hash.pbkdf2(candidate, salt, *iterations, key),
            // These fail only for key lengths that no cipher has.
            Self::Scrypt(salt, params) => {
                scrypt::scrypt(candidate, salt, params, key).map_err(|_| Refusal::TooLong)?
            }
            Self::Argon2(salt, argon2) => {
                // Argon2 runs its lanes on rayon's pool.
                pool::ready();
                let memory = &mut memory[..argon2.params().block_count()];
                let made = argon2.hash_password_into_with_memory(candidate, salt, key, memory);
                made.map_err(|_| Refusal::TooLong)?;
            }
            Self::Several(kinds) => {
                let mut rest = key;
                for (at, (kind, part_bytes)) in kinds.iter().enumerate() {
                    let (part, after) = rest.split_at_mut(*part_bytes);
                    if needed.get(at).is_none_or(|is_needed| *is_needed) {
                        kind.derive(memory, &[], candidate, part)?;
                    }
                    rest = after;
                }
            }
        }
        Ok(())
    }
}

/// OpenSSL's derivation. Each digest is of the digest before it, the passphrase and the salt.
fn bytes_to_key(hash: Hash, candidate: &[u8], salt: &[u8], key: &mut [u8]) {
    let mut digest = Zeroizing::new(Vec::new());
    let mut rest = key;
    while !rest.is_empty() {
        digest = hash.digest(&[&digest, candidate, salt]);
        let (part, after) = rest.split_at_mut(digest.len().min(rest.len()));
        part.copy_from_slice(&digest[..part.len()]);
        rest = after;
    }
}

/// The derivations without a cost parameter: padding and SHA-256.
fn pad(kdf: &Kdf, candidate: &[u8], key: &mut [u8]) -> Result<(), Refusal> {
    match kdf {
        Kdf::Sha256 => {
            let mut hash = Sha256::digest(candidate);
            key.copy_from_slice(&hash[..key.len()]);
            hash.as_mut_slice().zeroize();
        }
        _ if candidate.len() > key.len() => return Err(Refusal::TooLong),
        Kdf::Exact if candidate.len() < key.len() => return Err(Refusal::TooShort),
        Kdf::Repeat if candidate.is_empty() => return Err(Refusal::TooShort),
        Kdf::Repeat => {
            for piece in key.chunks_mut(candidate.len()) {
                piece.copy_from_slice(&candidate[..piece.len()]);
            }
        }
        _ => {
            key[..candidate.len()].copy_from_slice(candidate);
            key[candidate.len()..].fill(0);
        }
    }
    Ok(())
}

/// Whether scrypt's memory can be allocated. Its crate allocates in a way that aborts on failure, so this is
/// checked first.
fn is_there(log_n: u8, r: u32) -> bool {
    let blocks = 1_usize.checked_shl(log_n.into()).and_then(|n| n.checked_mul(r as usize));
    let len_bytes = blocks.and_then(|blocks| blocks.checked_mul(128));
    len_bytes.is_some_and(|len_bytes| Vec::<u8>::new().try_reserve_exact(len_bytes).is_ok())
}
