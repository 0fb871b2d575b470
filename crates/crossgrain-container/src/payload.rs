//! The payload: C2SP chunked-encryption, version 1, with SHA-512 (<https://c2sp.org/chunked-encryption>).
//!
//! key ‖ base nonce ‖ commitment = HKDF-Expand(input key, label ‖ name of the AEAD ‖ 0 ‖ salt ‖ context); the nonce
//! of chunk k is the base nonce XOR k, big-endian; chunks have no associated data.
//!
//! Must hold: a chunk that is not 16 KiB long is the last, and there is one; k stays below 2³⁸.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::derive::expand;
use super::error::{Damage, Error};
use crossgrain::internal::{fill_random, wipe_stack};
use crossgrain::mode::{Aead, AeadMessage, Mode, Options};
use crossgrain::{BLOCK_BYTES, Block, Cipher};

/// Bytes of plaintext in a chunk that is not the last.
pub const CHUNK_BYTES: usize = 16 * 1024;

/// Bytes in the tag behind every chunk.
pub const TAG_BYTES: usize = BLOCK_BYTES;

/// Bytes in a chunk that is not the last, with its tag.
pub const SEALED_CHUNK_BYTES: usize = CHUNK_BYTES + TAG_BYTES;

/// Chunks in a payload at most.
pub const CHUNKS_MAX: u64 = 1 << 38;

/// Bytes before the chunks: salt and commitment.
pub const PREFIX_BYTES: usize = SALT_BYTES + COMMITMENT_BYTES;

const SALT_BYTES: usize = 24;
const COMMITMENT_BYTES: usize = 32;
const LABEL: &[u8] = b"c2sp.org/chunked-encryption@v1+";

/// Bytes in the longest key, nonce and commitment.
const DERIVED_BYTES_MAX: usize = 32 + BLOCK_BYTES + COMMITMENT_BYTES;

/// How chunks are sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// AES-256 in GCM: Cobblestone-256 to other programs.
    Aes256Gcm,
    /// AES-128 in GCM: Cobblestone-128 to other programs.
    Aes128Gcm,
    /// Serpent with 256-bit keys in EAX.
    Serpent256Eax,
    /// AES-256 in EAX.
    Aes256Eax,
    /// AES-256 in OCB.
    Aes256Ocb,
    /// Serpent with 256-bit keys in OCB.
    Serpent256Ocb,
    /// AES-256 in GCM-SIV.
    Aes256GcmSiv,
}

/// What a suite consists of.
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
    /// All of them.
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

    /// The name users type, such as `aes-256-gcm`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The name that keys are derived under: IANA's, or one of our own, which has an `@`.
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

    /// Bytes in an input key, and in the keys derived from it.
    pub const fn key_bytes(self) -> usize {
        self.mode().key_bytes(self.cipher())
    }

    /// Bytes in a nonce.
    const fn nonce_bytes(self) -> usize {
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

/// A payload's keys: opens its chunks, any of them, on any thread; and seals them, each once, where the salt is fresh.
///
/// A salt serves one plaintext: a second one under the same keys and nonces would give both away. So a payload that
/// [`Payload::committed`] makes, whose salt has served before, seals nothing.
pub struct Payload {
    suite: Suite,
    aead: Box<dyn Aead>,
    /// The base nonce as a number, which chunk numbers are added to. It stays where it is when the payload moves.
    base_nonce: Box<Zeroizing<u128>>,
    prefix: [u8; PREFIX_BYTES],
    /// The chunks that are sealed; `None` where none may be.
    sealed: Option<Mutex<Sealed>>,
}

/// Chunk numbers as ranges, in order, that do not touch one another: one range for most of the time, and a few while
/// threads seal groups out of order.
#[derive(Default)]
struct Sealed(Vec<Range<u64>>);

impl Sealed {
    /// Adds chunks, or none of them if one is there already, and gives its number.
    fn add(&mut self, chunks: Range<u64>) -> Result<(), u64> {
        let from = self.0.partition_point(|range| range.end < chunks.start);
        let to = self.0.partition_point(|range| range.start <= chunks.end);
        let meets = |range: &&Range<u64>| range.start < chunks.end && chunks.start < range.end;
        if let Some(range) = self.0[from..to].iter().find(meets) {
            return Err(range.start.max(chunks.start));
        }
        // What is left touches at one end or both.
        let start = self.0[from..to].first().map_or(chunks.start, |range| range.start.min(chunks.start));
        let end = self.0[from..to].last().map_or(chunks.end, |range| range.end.max(chunks.end));
        self.0.splice(from..to, std::iter::once(start..end));
        Ok(())
    }
}

impl Payload {
    /// A new payload, under a fresh salt.
    ///
    /// # Errors
    /// [`Error::KeyLength`]; [`Error::Cipher`] if the suite cannot be had as `options` want, or the system gives no salt.
    pub fn fresh(suite: Suite, input_key: &[u8], context: &[u8], options: &Options) -> Result<Self, Error> {
        let mut salt = [0; SALT_BYTES];
        fill_random(&mut salt)?;
        Self::with_salt(suite, input_key, salt, context, options)
    }

    /// A new payload under a salt of the caller's: for known answers alone. Two plaintexts under one salt give both away.
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
        let payload = Self::derived(suite, input_key, salt, context, options)?;
        Ok(Self { sealed: Some(Mutex::default()), ..payload })
    }

    /// The payload that begins with `prefix`, to be opened: it seals nothing.
    ///
    /// # Errors
    /// [`Error::WrongKey`] if the commitment is not that of this key, suite and context; else as
    /// [`Payload::fresh`].
    pub fn committed(
        suite: Suite,
        input_key: &[u8],
        prefix: &[u8; PREFIX_BYTES],
        context: &[u8],
        options: &Options,
    ) -> Result<Self, Error> {
        let mut salt = [0; SALT_BYTES];
        salt.copy_from_slice(&prefix[..SALT_BYTES]);
        let payload = Self::derived(suite, input_key, salt, context, options)?;
        if bool::from(payload.prefix.ct_eq(prefix)) { Ok(payload) } else { Err(Error::WrongKey) }
    }

    fn derived(
        suite: Suite,
        input_key: &[u8],
        salt: [u8; SALT_BYTES],
        context: &[u8],
        options: &Options,
    ) -> Result<Self, Error> {
        if input_key.len() != suite.key_bytes() {
            return Err(Error::KeyLength { suite, len_bytes: input_key.len() });
        }
        let info = [LABEL, suite.aead_name().as_bytes(), &[0], &salt, context];
        // Written where they stay: what is moved leaves copies.
        let mut derived = Zeroizing::new(vec![0; DERIVED_BYTES_MAX]);
        let mut base_nonce = Box::new(Zeroizing::new(0));
        expand(input_key, &info, &mut derived);
        let (key, derived) = derived.split_at(suite.key_bytes());
        let (nonce, derived) = derived.split_at(suite.nonce_bytes());
        **base_nonce = nonce.iter().fold(0, |number, &byte| number << 8 | u128::from(byte));
        let aead = suite.mode().aead(suite.cipher(), key, TAG_BYTES, options)?;
        let mut prefix = [0; PREFIX_BYTES];
        prefix[..SALT_BYTES].copy_from_slice(&salt);
        prefix[SALT_BYTES..].copy_from_slice(&derived[..COMMITMENT_BYTES]);
        wipe_stack();
        Ok(Self { suite, aead, base_nonce, prefix, sealed: None })
    }

    /// What stands before the chunks: salt and commitment.
    pub const fn prefix(&self) -> &[u8; PREFIX_BYTES] {
        &self.prefix
    }

    /// How chunks are sealed.
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// Seals consecutive chunks, the first of which has the number `first`; gives the bytes written.
    ///
    /// `plaintext` is whole chunks, and if `is_last` the last chunk besides, if need be empty. Chunks may be sealed in any
    /// order, but none of them twice, even where sealing it failed.
    ///
    /// # Errors
    /// [`Error::TooLong`] beyond [`CHUNKS_MAX`], [`Error::SealedChunk`] for a chunk that was sealed before,
    /// [`Error::UsedSalt`] if the payload is one of [`Payload::committed`]; nothing is written then.
    ///
    /// # Panics
    /// If `plaintext` is cut within a chunk and not the last, or `sealed` is shorter than [`sealed_bytes`] says.
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

    /// Sees to it that chunks are sealed once.
    fn reserve(&self, chunks: Range<u64>) -> Result<(), Error> {
        let sealed = self.sealed.as_ref().ok_or(Error::UsedSalt)?;
        if chunks.is_empty() {
            return Ok(());
        }
        let mut sealed = sealed.lock().unwrap_or_else(PoisonError::into_inner);
        sealed.add(chunks).map_err(|chunk| Error::SealedChunk { chunk })
    }

    /// Opens consecutive chunks, the first of which has the number `first`; gives the bytes of plaintext that are
    /// authentic, which are the first of `plaintext`, and what is wrong after them.
    ///
    /// `sealed` is whole chunks with their tags, and if `is_last` the last chunk besides. What `plaintext` holds
    /// after the authentic bytes must not be used.
    ///
    /// # Panics
    /// If `sealed` is cut within a chunk and not the last, or `plaintext` is shorter than the chunks without tags.
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

    /// Opens chunks that all have tags, and tells of each whether it was authentic.
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

    /// The nonces of consecutive chunks, at the end of their blocks.
    fn nonces(&self, first: u64, chunks: usize) -> Result<Vec<Block>, Error> {
        let after =
            first.checked_add(chunks as u64).filter(|&after| after <= CHUNKS_MAX).ok_or(Error::TooLong)?;
        Ok((first..after).map(|chunk| (**self.base_nonce ^ u128::from(chunk)).to_be_bytes()).collect())
    }
}

/// Bytes of chunks and tags for so many bytes of plaintext, all of a payload but its prefix.
pub const fn sealed_bytes(plaintext_bytes: u64) -> u64 {
    plaintext_bytes + (plaintext_bytes / CHUNK_BYTES as u64 + 1) * TAG_BYTES as u64
}

/// Bytes of plaintext in so many bytes of chunks and tags; `None` where no whole payload has as many.
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
