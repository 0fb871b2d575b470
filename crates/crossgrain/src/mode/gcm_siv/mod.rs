//! AES-GCM-SIV (RFC 8452): the tag is an encrypted hash of the message, and the counter starts from the tag.
//!
//! ```text
//! H ‖ K' = first halves of E(K, i ‖ nonce), i = 0, 1, …          i has 32 bits
//! S = POLYVAL(H, A padded ‖ P padded ‖ bits of A ‖ bits of P)     padded by zeros; lengths have 64 bits
//! tag = E(K', (S ^ nonce) with its top bit, 127, clear)
//! C = P ^ CTR(K', tag with its top bit set)                     only the first 32 bits count
//! ```
//!
//! All integers are little-endian, counters included. A nonce's keys replace those of another nonce in place,
//! because setting up new ones costs as much as the rest of a short message.
//!
//! `open` decrypts before it can compare the tag. If the tag is wrong, it overwrites the output with zeros.

pub(crate) mod kernel;
pub mod reference;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use self::kernel::GcmSivJob;
use super::aead::{Aead, Groups, by_groups, is_right};
use super::ctr::counter::Counter;
use super::gcm::ghash::Ghash;
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse};
use crate::arch::{Buffers, Features, WipedBytes, wipe};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
use crate::kernel::{Keys, Source};
use crate::message::AeadMessage;
use crate::mode::Options;
use crate::plan::{Limits, Plan};
use crate::run::{Program, Threads};

pub(super) const ENTRY: Entry = Entry {
    name: "gcm-siv",
    summary: "Counter mode from a tag by multiplication: a nonce used twice shows equal messages alone",
    initial: Initial::Nonce { least: NONCE_BYTES, usual: NONCE_BYTES, most: NONCE_BYTES },
    lengths: Lengths::Any,
    keys: 1,
    cipher_use: CipherUse::Counters,
    fused: None,
    parallel: Parallel::Both,
    any_block_size: false,
    tag_bytes: &[BLOCK_BYTES],
    aad_strings_max: 1,
    reuse: Reuse::EqualMessages,
    admits: |cipher| matches!(cipher, Cipher::Aes128 | Cipher::Aes256),
    wipes_forged: true,
    make: Make::Aead(|cipher, key, tag_bytes, options| {
        Mode::GcmSiv.admits_tag(tag_bytes)?;
        Ok(Box::new(GcmSiv::with_options(&Key::new(cipher, key)?, options)?))
    }),
};

/// The largest length in bytes of a message, and of its associated data (RFC 8452 §6).
const MESSAGE_BYTES_MAX: u64 = 1 << 36;

const NONCE_BYTES: usize = GcmSivJob::NONCE_BYTES;

/// The longest message in bytes, and the longest associated data, that is computed block by block in
/// registers.
const SHORT_BYTES: usize = 768;

/// Bytes that are decrypted and then hashed while they are in cache.
const PIECE_BYTES: usize = 128 * 1024;

/// The largest number of blocks whose first halves make up a nonce's keys: two for POLYVAL and four for the
/// cipher.
const HALVES_MOST: usize = 6;

/// GCM-SIV with AES-128 or AES-256: nonces of 12 bytes, and tags of 16.
///
/// Two messages under one nonce only reveal whether they are equal. Use different nonces nevertheless:
/// otherwise a key can safely seal fewer messages (RFC 8452 §9). If the tag is wrong, `open` overwrites the
/// output with zeros. In place, this also destroys the ciphertext.
///
/// ```
/// use crossgrain::mode::{Aead as _, GcmSiv};
/// use crossgrain::{Cipher, Error, Key};
///
/// let mode = GcmSiv::new(&Key::generate(Cipher::Aes256)?)?;
/// let mut message = b"meet at noon".to_vec();
/// let tag = mode.seal(b"nonce: once!", b"header", &mut message)?;
/// let mut sealed = message.clone();
/// assert_eq!(mode.open(b"nonce: once!", b"forged", &tag, &mut sealed), Err(Error::Forged));
/// assert_eq!(sealed, [0; 12]);
/// mode.open(b"nonce: once!", b"header", &tag, &mut message)?;
/// assert_eq!(message, b"meet at noon");
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub struct GcmSiv {
    cipher: Cipher,
    /// Derives the keys of nonces.
    deriver: Program,
    /// Plans for encrypting messages under the keys of their nonces.
    plans: Arc<[Plan]>,
    features: Features,
    threads: Threads,
    /// Key states that are not in use. Making a new one takes as long as the rest of a short message.
    idle: Mutex<Vec<Keyed>>,
}

/// The keys of a nonce, ready for use. They stay in memory until those of another nonce replace them or the
/// mode is dropped, which wipes them.
struct Keyed {
    polyval: Ghash,
    counter: Program,
}

impl GcmSiv {
    /// GCM-SIV with the default options, bound to a key.
    ///
    /// # Errors
    /// [`Error::UnfitCipher`] unless the key is for AES-128 or AES-256, [`Error::BadIsaCap`] for an
    /// unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key) -> Result<Self, Error> {
        Self::with_options(key, &Options::default())
    }

    /// GCM-SIV with these options, bound to a key.
    ///
    /// # Errors
    /// [`Error::UnfitCipher`] unless the key is for AES-128 or AES-256, and as
    /// [`Ctr::with_options`](super::Ctr::with_options).
    pub fn with_options(key: &Key, options: &Options) -> Result<Self, Error> {
        let cipher = key.cipher();
        Mode::GcmSiv.admits(cipher)?;
        let (job, keys) = (Mode::GcmSiv.job(cipher, Direction::Encrypt), options.keys(key)?);
        let deriver = options.freely().program(job, &keys)?;
        // Counters start from tags, which depend on the key.
        let limits = Limits { secret_counter: true, ..options.limits()? };
        let (plans, threads) = (options.planned(job, &limits)?, Threads::at_most(options.threads));
        // A trial binding: if it succeeds, binding succeeds for every nonce.
        drop(Program::of(Arc::clone(&plans), &keys, threads)?);
        let idle = Mutex::default();
        Ok(Self { cipher, deriver, plans, features: limits.features, threads, idle })
    }

    /// Replaces the key by another one of the same cipher. Options and plans stay. See
    /// [`Ecb::rekey`](super::Ecb::rekey).
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher or key size. The mode keeps its key then.
    pub fn rekey(&mut self, key: &Key) -> Result<(), Error> {
        self.deriver.take_key(key)?;
        // They hold keys of nonces that the replaced key derived.
        self.idle.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    /// Seals a short message by the kernel, or opens it with a tag, and returns its tag. `None` if the
    /// message is not short or no kernel can.
    fn short(&self, opens: Option<&Block>, message: &mut AeadMessage<'_>) -> Option<Block> {
        if message.buffers.len_bytes().max(message.aad.len()) > SHORT_BYTES {
            return None;
        }
        let nonce = message.nonce.try_into().ok()?;
        let mut job = GcmSivJob { opens, nonce, message, tag: [0; BLOCK_BYTES] };
        self.deriver.gcm_siv(&mut job).then_some(job.tag)
    }

    /// The keys of a nonce (RFC 8452 §4): the first halves of encrypted blocks that hold a number and the
    /// nonce.
    fn keyed(&self, AeadMessage { nonce, aad, buffers, .. }: &AeadMessage<'_>) -> Keyed {
        let mut block = [0; BLOCK_BYTES];
        block[BLOCK_BYTES - NONCE_BYTES..].copy_from_slice(nonce);
        let mut halves = WipedBytes([0; HALVES_MOST * BLOCK_BYTES]);
        let halves = &mut halves[..(2 + self.cipher.key_bytes() / 8) * BLOCK_BYTES];
        let first = Counter::little_endian(u128::from_le_bytes(block));
        self.deriver.run_by(Threads::ONE, Source::Counter(first), Buffers::in_place(halves));
        let mut keys = WipedBytes([0; HALVES_MOST * BLOCK_BYTES / 2]);
        for (place, [half, _]) in
            keys.as_chunks_mut::<8>().0.iter_mut().zip(halves.as_chunks().0.as_chunks().0)
        {
            *place = *half;
        }
        let Some((hash_key, key)) = keys.split_first_chunk() else { unreachable!("there are more bytes") };
        let mut keyed = self.keyed_by(&key[..self.cipher.key_bytes()]);
        let hashed_bytes = aad.len().max(buffers.len_bytes());
        self.deriver.ran(hashed_bytes);
        keyed.polyval.bind_polyval(hash_key, hashed_bytes, self.features);
        keyed
    }

    /// A key state with this cipher key. Its hash key is not set yet.
    fn keyed_by(&self, key: &[u8]) -> Keyed {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let polyval = if let Some(mut keyed) = idle {
            if keyed.counter.rekey(key) {
                return keyed;
            }
            keyed.polyval
        } else {
            Ghash::unbound()
        };
        let counter = Key::new(self.cipher, key).and_then(|key| {
            Program::of_message(Arc::clone(&self.plans), &Keys::of(&key, self.features), self.threads)
        });
        let Ok(counter) = counter else { unreachable!("the same plans were bound when the mode was made") };
        Keyed { polyval, counter }
    }

    /// Keeps the key state for the next message.
    fn put_back(&self, keyed: Keyed) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(keyed);
    }

    fn seal_one(&self, threads: Threads, message: &mut AeadMessage<'_>) {
        if let Some(tag) = self.short(None, message) {
            message.tag = tag.into();
            return;
        }
        let keyed = self.keyed(message);
        let AeadMessage { nonce, aad, buffers, tag } = message;
        let mut sum = [0; BLOCK_BYTES];
        keyed.polyval.absorb(&mut sum, aad);
        keyed.polyval.absorb(&mut sum, buffers.input());
        let block = keyed.tag(sum, nonce, aad.len(), buffers.len_bytes());
        keyed.apply(threads, &block, 0, buffers.reborrow());
        *tag = block.into();
        self.put_back(keyed);
    }

    fn open_one(&self, threads: Threads, message: &mut AeadMessage<'_>) -> bool {
        let Ok(given) = Block::try_from(&message.tag[..]) else { return false };
        let tag = match self.short(Some(&given), message) {
            Some(tag) => tag,
            None => self.open_long(threads, &given, message),
        };
        is_right(message, tag.into())
    }

    /// Decrypts a message that has this tag, and returns the tag that it should have.
    fn open_long(&self, threads: Threads, given: &Block, message: &mut AeadMessage<'_>) -> Block {
        let keyed = self.keyed(message);
        let AeadMessage { nonce, aad, buffers, .. } = message;
        let mut sum = [0; BLOCK_BYTES];
        keyed.polyval.absorb(&mut sum, aad);
        let piece_bytes = PIECE_BYTES * threads.for_bytes(buffers.len_bytes()).pieces_at_once();
        for (number, mut piece) in buffers.reborrow().parts(piece_bytes).enumerate() {
            keyed.apply(threads, given, number * piece_bytes, piece.reborrow());
            keyed.polyval.absorb(&mut sum, piece.output_mut());
        }
        let tag = keyed.tag(sum, nonce, aad.len(), buffers.len_bytes());
        self.put_back(keyed);
        tag
    }
}

impl Keyed {
    /// The tag, after associated data and plaintext have been hashed (RFC 8452 §4).
    fn tag(&self, mut sum: Block, nonce: &[u8], aad_bytes: usize, len_bytes: usize) -> Block {
        let bits = |bytes: usize| 8 * bytes as u128;
        self.polyval.absorb(&mut sum, &(bits(aad_bytes) | bits(len_bytes) << 64).to_le_bytes());
        sum.iter_mut().zip(nonce).for_each(|(byte, nonce)| *byte ^= nonce);
        sum[BLOCK_BYTES - 1] &= 0x7f;
        let (mut tag, counter) = ([0; BLOCK_BYTES], Counter::little_endian(u128::from_le_bytes(sum)));
        self.counter.run(Source::Counter(counter), Buffers::in_place(&mut tag));
        wipe(&mut sum);
        tag
    }

    /// CTR that starts from a tag, at `position_bytes` of the message. Only the first 32 bits of the counter
    /// count. Where they wrap, a new run begins.
    fn apply(&self, threads: Threads, tag: &Block, position_bytes: usize, mut rest: Buffers<'_>) {
        let first = u128::from_le_bytes(*tag) | 1 << 127;
        let mut low = (first as u32).wrapping_add((position_bytes / BLOCK_BYTES) as u32);
        while !rest.is_empty() {
            let blocks_left = (1_u64 << 32) - u64::from(low);
            let most_bytes = usize::try_from(blocks_left * BLOCK_BYTES as u64).unwrap_or(usize::MAX);
            let counter = Counter::little_endian(first >> 32 << 32 | u128::from(low));
            let at = most_bytes.min(rest.len_bytes());
            self.counter.run_by(threads, Source::Counter(counter), rest.take_front(at));
            low = 0;
        }
    }
}

impl Aead for GcmSiv {
    fn tag_bytes(&self) -> usize {
        BLOCK_BYTES
    }

    fn admits(&self, message: &AeadMessage<'_>) -> Result<(), Error> {
        Mode::GcmSiv.admits_nonce(NONCE_BYTES, message.nonce)?;
        if message.buffers.len_bytes().max(message.aad.len()) as u64 > MESSAGE_BYTES_MAX {
            return Err(Error::TooLong { most_bytes: MESSAGE_BYTES_MAX });
        }
        Ok(())
    }

    fn plans(&self) -> &[Plan] {
        &self.plans
    }

    by_groups!();
}

impl Groups for GcmSiv {
    fn threads(&self) -> Threads {
        self.threads
    }

    fn group_most(&self) -> usize {
        1
    }

    fn seal_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>]) {
        messages.iter_mut().for_each(|message| self.seal_one(threads, message));
    }

    fn open_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>], right: &mut [bool]) {
        let both = messages.iter_mut().zip(right);
        both.for_each(|(message, right)| *right = self.open_one(threads, message));
    }
}

impl fmt::Debug for GcmSiv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcmSiv").field("deriver", &self.deriver).finish_non_exhaustive()
    }
}
