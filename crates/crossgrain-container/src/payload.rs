//! The payload: C2SP chunked-encryption, version 1, with SHA-512 (<https://c2sp.org/chunked-encryption>).
//!
//! ```text
//! key ‖ base nonce ‖ commitment = HKDF-Expand(input key, label ‖ name of the AEAD ‖ 0 ‖ salt ‖ context)
//! nonce of chunk k              = base nonce XOR k, big-endian
//! chunk k                       = seal(key, nonce, no associated data, 16 KiB of plaintext) ‖ tag
//! ```
//!
//! Invariants: exactly one chunk is shorter than 16 KiB, and it is the last; k is below 2³⁸.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::derive::expand;
use super::error::{Damage, Error};
use crossgrain::engine::wiping_stack;
use crossgrain::mode::{Aead, AeadMessage, Mode, Options};
use crossgrain::{BLOCK_BYTES, Block, Cipher};

/// Bytes of plaintext in each chunk except the last.
pub const CHUNK_BYTES: usize = 16 * 1024;

/// Bytes of the tag after each chunk.
pub const TAG_BYTES: usize = BLOCK_BYTES;

/// Bytes of each chunk except the last, including its tag.
pub const SEALED_CHUNK_BYTES: usize = CHUNK_BYTES + TAG_BYTES;

/// The most chunks of a payload.
pub const CHUNKS_MAX: u64 = 1 << 38;

/// Bytes before the chunks: salt and commitment.
pub const PREFIX_BYTES: usize = SALT_BYTES + COMMITMENT_BYTES;

pub(super) const SALT_BYTES: usize = 24;
const COMMITMENT_BYTES: usize = 32;
const LABEL: &[u8] = b"c2sp.org/chunked-encryption@v1+";

/// Bytes of the longest key, nonce and commitment together.
const DERIVED_BYTES_MAX: usize = 32 + BLOCK_BYTES + COMMITMENT_BYTES;

/// The cipher and mode that encrypt the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// AES-256-GCM. Other programs call it Cobblestone-256.
    Aes256Gcm,
    /// AES-128-GCM. Other programs call it Cobblestone-128.
    Aes128Gcm,
    /// Serpent with 256-bit keys in EAX mode.
    Serpent256Eax,
    /// AES-256 in EAX mode.
    Aes256Eax,
    /// AES-256 in OCB mode.
    Aes256Ocb,
    /// Serpent with 256-bit keys in OCB mode.
    Serpent256Ocb,
    /// AES-256 in GCM-SIV mode.
    Aes256GcmSiv,
}

/// The properties of a suite.
struct Row {
    name: &'static str,
    aead_name: &'static str,
    cipher: Cipher,
    mode: Mode,
    nonce_bytes: usize,
}

/// One row per suite, in the order of their numbers.
const ROWS: [Row; Suite::ALL.len()] = [
    Row {
        name: "aes-256-gcm",
        aead_name: "AEAD_AES_256_GCM",
        cipher: Cipher::Aes256,
        mode: Mode::Gcm,
        nonce_bytes: 12,
    },
    Row {
        name: "aes-128-gcm",
        aead_name: "AEAD_AES_128_GCM",
        cipher: Cipher::Aes128,
        mode: Mode::Gcm,
        nonce_bytes: 12,
    },
    Row {
        name: "serpent-256-eax",
        aead_name: "AEAD_SERPENT_256_EAX@crossgrain",
        cipher: Cipher::Serpent256,
        mode: Mode::Eax,
        nonce_bytes: BLOCK_BYTES,
    },
    Row {
        name: "aes-256-eax",
        aead_name: "AEAD_AES_256_EAX@crossgrain",
        cipher: Cipher::Aes256,
        mode: Mode::Eax,
        nonce_bytes: BLOCK_BYTES,
    },
    Row {
        name: "aes-256-ocb",
        aead_name: "AEAD_AES_256_OCB_TAGLEN128",
        cipher: Cipher::Aes256,
        mode: Mode::Ocb,
        nonce_bytes: 12,
    },
    Row {
        name: "serpent-256-ocb",
        aead_name: "AEAD_SERPENT_256_OCB_TAGLEN128@crossgrain",
        cipher: Cipher::Serpent256,
        mode: Mode::Ocb,
        nonce_bytes: 12,
    },
    Row {
        name: "aes-256-gcm-siv",
        aead_name: "AEAD_AES_256_GCM_SIV",
        cipher: Cipher::Aes256,
        mode: Mode::GcmSiv,
        nonce_bytes: 12,
    },
];

impl Suite {
    /// All suites.
    pub const ALL: [Self; 7] = [
        Self::Aes256Gcm,
        Self::Aes128Gcm,
        Self::Serpent256Eax,
        Self::Aes256Eax,
        Self::Aes256Ocb,
        Self::Serpent256Ocb,
        Self::Aes256GcmSiv,
    ];

    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The name for users, for example `aes-256-gcm`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The name in the key derivation: from the IANA registry, or a private one with an `@`.
    pub const fn aead_name(self) -> &'static str {
        self.row().aead_name
    }

    /// The number in headers.
    pub(super) const fn number(self) -> u8 {
        self as u8 + 1
    }

    pub(super) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|suite| suite.number() == number)
    }

    /// The block cipher.
    pub const fn cipher(self) -> Cipher {
        self.row().cipher
    }

    /// The mode of operation.
    pub const fn mode(self) -> Mode {
        self.row().mode
    }

    /// Bytes of an input key, and of the key derived from it.
    pub const fn key_bytes(self) -> usize {
        self.mode().key_bytes(self.cipher())
    }

    /// Bytes of a nonce.
    pub(super) const fn nonce_bytes(self) -> usize {
        self.row().nonce_bytes
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Suite {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|suite| suite.name() == name);
        found.ok_or_else(|| Error::UnknownSuite(name.to_owned()))
    }
}

/// The keys of a payload. They open any chunk on any thread. If the salt is fresh, they also seal each chunk
/// once.
///
/// A salt must be used for one plaintext only: a second plaintext would be encrypted under the same keys and
/// nonces, and both would leak. A payload from [`Payload::committed`] has a used salt and therefore refuses
/// to seal.
pub struct Payload {
    suite: Suite,
    aead: Box<dyn Aead>,
    /// The base nonce as a number, to be XORed with chunk numbers. It is boxed so that a move of the payload
    /// leaves no copy.
    base_nonce: Box<Zeroizing<u128>>,
    prefix: [u8; PREFIX_BYTES],
    /// The chunks that were sealed. `None` if none may be.
    sealed: Option<Mutex<Sealed>>,
}

/// Sorted ranges of chunk numbers that do not touch. Usually there is one range, or a few while threads seal
/// groups out of order.
#[derive(Default)]
struct Sealed(Vec<Range<u64>>);

impl Sealed {
    /// Adds chunks. If one of them is already present, adds none and returns its number.
    fn add(&mut self, chunks: Range<u64>) -> Result<(), u64> {
        let from = self.0.partition_point(|range| range.end < chunks.start);
        let to = self.0.partition_point(|range| range.start <= chunks.end);
        let meets = |range: &&Range<u64>| range.start < chunks.end && chunks.start < range.end;
        if let Some(range) = self.0[from..to].iter().find(meets) {
            return Err(range.start.max(chunks.start));
        }
        // The remaining ranges touch the new one at one end or at both.
        let start = self.0[from..to].first().map_or(chunks.start, |range| range.start.min(chunks.start));
        let end = self.0[from..to].last().map_or(chunks.end, |range| range.end.max(chunks.end));
        self.0.splice(from..to, std::iter::once(start..end));
        Ok(())
    }
}

impl Payload {
    /// A new payload with a fresh salt.
    ///
    /// # Errors
    /// [`Error::KeyLength`]; [`Error::Cipher`] if `options` do not permit the suite, or the system provides
    /// no random bytes.
    pub fn fresh(suite: Suite, input_key: &[u8], context: &[u8], options: &Options) -> Result<Self, Error> {
        Ok(Self::fresh_with_key(suite, input_key, context, options)?.0)
    }

    /// A new payload with a given salt, only for known-answer tests. Two plaintexts under one salt leak both.
    ///
    /// # Errors
    /// As [`Payload::fresh`].
    #[doc(hidden)]
    pub fn with_salt(
        suite: Suite,
        input_key: &[u8],
        salt: [u8; SALT_BYTES],
        context: &[u8],
        options: &Options,
    ) -> Result<Self, Error> {
        Ok(Self::with_salt_and_key(suite, input_key, salt, context, options)?.0)
    }

    /// A new payload with a given salt, and the key of its chunks.
    pub(super) fn with_salt_and_key(
        suite: Suite,
        input_key: &[u8],
        salt: [u8; SALT_BYTES],
        context: &[u8],
        options: &Options,
    ) -> Result<(Self, Zeroizing<Vec<u8>>), Error> {
        let made = wiping_stack(|| Self::derived(suite, input_key, salt, context, options, None));
        made.map(|(payload, key)| (Self { sealed: Some(Mutex::default()), ..payload }, key))
    }

    /// The payload that begins with `prefix`, for opening. It refuses to seal.
    ///
    /// # Errors
    /// [`Error::WrongKey`] if the commitment does not match this key, suite and context; otherwise as
    /// [`Payload::fresh`].
    pub fn committed(
        suite: Suite,
        input_key: &[u8],
        prefix: &[u8; PREFIX_BYTES],
        context: &[u8],
        options: &Options,
    ) -> Result<Self, Error> {
        Ok(Self::committed_with_key(suite, input_key, prefix, context, options)?.0)
    }

    /// A payload that does not seal, and the key of its chunks. If the payload exists, its commitment is compared
    /// before the cipher's key is set up. The caller wipes the stack.
    pub(super) fn derived(
        suite: Suite,
        input_key: &[u8],
        salt: [u8; SALT_BYTES],
        context: &[u8],
        options: &Options,
        right: Option<&[u8; PREFIX_BYTES]>,
    ) -> Result<(Self, Zeroizing<Vec<u8>>), Error> {
        if input_key.len() != suite.key_bytes() {
            return Err(Error::KeyLength { suite, len_bytes: input_key.len() });
        }
        let info = [LABEL, suite.aead_name().as_bytes(), &[0], &salt, context];
        // Allocated in its final place, because a move would leave a copy of secret bytes.
        let mut derived = Zeroizing::new(vec![0; DERIVED_BYTES_MAX]);
        let mut base_nonce = Box::new(Zeroizing::new(0));
        // Memory that is allocated later would take old stack contents into its gaps.
        wiping_stack(|| expand(input_key, &info, &mut derived));
        let (key, rest) = derived.split_at(suite.key_bytes());
        let (nonce, rest) = rest.split_at(suite.nonce_bytes());
        **base_nonce = nonce.iter().fold(0, |number, &byte| number << 8 | u128::from(byte));
        let mut prefix = [0; PREFIX_BYTES];
        prefix[..SALT_BYTES].copy_from_slice(&salt);
        prefix[SALT_BYTES..].copy_from_slice(&rest[..COMMITMENT_BYTES]);
        if right.is_some_and(|right| !bool::from(prefix.ct_eq(right))) {
            return Err(Error::WrongKey);
        }
        let aead = suite.mode().aead(suite.cipher(), key, TAG_BYTES, options)?;
        // The bytes after the key are overwritten together with it.
        derived.truncate(suite.key_bytes());
        Ok((Self { suite, aead, base_nonce, prefix, sealed: None }, derived))
    }

    /// The bytes before the chunks: salt and commitment.
    pub const fn prefix(&self) -> &[u8; PREFIX_BYTES] {
        &self.prefix
    }

    /// The suite that encrypts the chunks.
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// Seals consecutive chunks from number `first` on. Returns the number of bytes written.
    ///
    /// `plaintext` consists of whole chunks. If `is_last` is set, the last, short or empty chunk follows
    /// them. Chunks may be sealed in any order, but each only once, even if sealing it failed.
    ///
    /// # Errors
    /// [`Error::TooLong`] beyond [`CHUNKS_MAX`]; [`Error::SealedChunk`] for a chunk that was sealed before;
    /// [`Error::UsedSalt`] for a payload from [`Payload::committed`]. In these cases nothing is written.
    ///
    /// # Panics
    /// If `plaintext` ends within a chunk and `is_last` is not set, or `sealed` is shorter than
    /// [`sealed_bytes`] requires.
    pub fn seal(
        &self,
        first: u64,
        is_last: bool,
        plaintext: &[u8],
        sealed: &mut [u8],
    ) -> Result<usize, Error> {
        assert!(is_last || plaintext.len().is_multiple_of(CHUNK_BYTES));
        let chunks = plaintext.len() / CHUNK_BYTES + usize::from(is_last);
        let nonces = self.nonces(first, chunks)?;
        self.reserve(first..first + chunks as u64)?;
        let written_bytes = plaintext.len() + chunks * TAG_BYTES;
        let mut rest = &mut sealed[..written_bytes];
        let mut messages = Vec::with_capacity(chunks);
        let mut tags = Vec::with_capacity(chunks);
        let plaintexts = plaintext.chunks(CHUNK_BYTES).chain(std::iter::repeat(&[][..]));
        for (nonce, plaintext) in nonces.iter().zip(plaintexts) {
            let (sealed, after) = rest.split_at_mut(plaintext.len());
            let (tag, after) = after.split_at_mut(TAG_BYTES);
            messages.push(self.message(nonce, (plaintext, sealed)));
            tags.push(tag);
            rest = after;
        }
        self.aead.seal_many(&mut messages)?;
        for (tag, message) in tags.into_iter().zip(&messages) {
            tag.copy_from_slice(&message.tag);
        }
        Ok(written_bytes)
    }

    /// Marks chunks as sealed. Fails if one already is.
    pub(super) fn reserve(&self, chunks: Range<u64>) -> Result<(), Error> {
        let sealed = self.sealed.as_ref().ok_or(Error::UsedSalt)?;
        if chunks.is_empty() {
            return Ok(());
        }
        let mut sealed = sealed.lock().unwrap_or_else(PoisonError::into_inner);
        sealed.add(chunks).map_err(|chunk| Error::SealedChunk { chunk })
    }

    /// Opens consecutive chunks from number `first` on. Returns the number of authentic bytes at the
    /// beginning of `plaintext`, and the error after them, if any.
    ///
    /// `sealed` consists of whole chunks with their tags. If `is_last` is set, the last chunk follows them.
    /// Do not use the bytes of `plaintext` after the authentic ones.
    ///
    /// # Panics
    /// If `sealed` ends within a chunk and `is_last` is not set, or `plaintext` is shorter than the chunks
    /// without tags.
    pub fn open(
        &self,
        first: u64,
        is_last: bool,
        sealed: &[u8],
        plaintext: &mut [u8],
    ) -> (usize, Result<(), Error>) {
        assert!(is_last || sealed.len().is_multiple_of(SEALED_CHUNK_BYTES));
        let whole = sealed.len() / SEALED_CHUNK_BYTES;
        let last_bytes = (sealed.len() % SEALED_CHUNK_BYTES).checked_sub(TAG_BYTES);
        let chunks = whole + usize::from(is_last && last_bytes.is_some());
        let opened = match self.open_chunks(
            first,
            &sealed[..sealed.len().min(chunks * SEALED_CHUNK_BYTES)],
            plaintext,
        ) {
            Ok(opened) => opened,
            Err(error) => return (0, Err(error)),
        };
        if let Some(bad) = opened.iter().position(Result::is_err) {
            let chunk = first + bad as u64;
            let is_last = is_last && bad + 1 == chunks;
            let len_bytes = if bad < whole { CHUNK_BYTES } else { last_bytes.unwrap_or(0) };
            let from = chunk * CHUNK_BYTES as u64;
            let range = (from, from + len_bytes as u64);
            return (bad * CHUNK_BYTES, Err(Damage::Corrupt { chunk, range, is_last }.into()));
        }
        if is_last && last_bytes.is_none() {
            let plaintext_bytes = (first + whole as u64) * CHUNK_BYTES as u64;
            return (whole * CHUNK_BYTES, Err(Damage::Truncated { plaintext_bytes }.into()));
        }
        (whole * CHUNK_BYTES + last_bytes.filter(|_| is_last).unwrap_or(0), Ok(()))
    }

    /// Opens chunks that all have tags. Returns for each whether it is authentic.
    fn open_chunks(
        &self,
        first: u64,
        sealed: &[u8],
        plaintext: &mut [u8],
    ) -> Result<Vec<Result<(), crossgrain::Error>>, Error> {
        let nonces = self.nonces(first, sealed.len().div_ceil(SEALED_CHUNK_BYTES))?;
        let mut rest = plaintext;
        let mut messages = Vec::with_capacity(nonces.len());
        for (nonce, sealed) in nonces.iter().zip(sealed.chunks(SEALED_CHUNK_BYTES)) {
            let (sealed, right_tag) = sealed.split_at(sealed.len() - TAG_BYTES);
            let (plaintext, after) = rest.split_at_mut(sealed.len());
            let tag = right_tag.try_into()?;
            messages.push(AeadMessage { tag, ..self.message(nonce, (sealed, plaintext)) });
            rest = after;
        }
        Ok(self.aead.open_many(&mut messages)?)
    }

    fn message<'a>(&self, nonce: &'a Block, places: (&'a [u8], &'a mut [u8])) -> AeadMessage<'a> {
        AeadMessage::new(&nonce[BLOCK_BYTES - self.suite.nonce_bytes()..], &[], places)
    }

    /// The nonces of consecutive chunks, right-aligned in blocks.
    pub(super) fn nonces(&self, first: u64, chunks: usize) -> Result<Vec<Block>, Error> {
        let after =
            first.checked_add(chunks as u64).filter(|&after| after <= CHUNKS_MAX).ok_or(Error::TooLong)?;
        Ok((first..after).map(|chunk| (**self.base_nonce ^ u128::from(chunk)).to_be_bytes()).collect())
    }
}

/// Bytes of all chunks and tags of a payload, without its prefix, for this length of plaintext.
pub const fn sealed_bytes(plaintext_bytes: u64) -> u64 {
    plaintext_bytes + (plaintext_bytes / CHUNK_BYTES as u64 + 1) * TAG_BYTES as u64
}

/// Bytes of plaintext, given the bytes of all chunks and tags. `None` if no complete payload has this length.
pub const fn plaintext_bytes(sealed_bytes: u64) -> Option<u64> {
    let (whole, rest_bytes) =
        (sealed_bytes / SEALED_CHUNK_BYTES as u64, sealed_bytes % SEALED_CHUNK_BYTES as u64);
    match rest_bytes.checked_sub(TAG_BYTES as u64) {
        Some(last_bytes) if whole < CHUNKS_MAX => Some(whole * CHUNK_BYTES as u64 + last_bytes),
        _ => None,
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload").field("suite", &self.suite).finish_non_exhaustive()
    }
}
