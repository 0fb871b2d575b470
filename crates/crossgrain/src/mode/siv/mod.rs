//! SIV (RFC 5297): S2V, a MAC over strings and the plaintext, gives both the tag and the first counter block
//! of CTR.
//!
//! ```text
//! S2V(A1, …, An, N, P):                                      (§2.4; N only if there is a nonce)
//!     D = CMAC(0)
//!     for each string S in A1, …, An, N:  D = double(D) ^ CMAC(S)
//!     return CMAC(P with D added to its last 16 bytes)       if P has 16 bytes or more
//!     return CMAC(double(D) ^ P padded by 10…0)              otherwise
//! ```
//!
//! No associated string and one empty string therefore give different tags.
//! `open` decrypts before it can compare the tag. If the tag is wrong it overwrites the plaintext with zeros.

pub mod reference;
pub(crate) mod serial;

use std::fmt;

use zeroize::Zeroizing;

use self::serial::S2vJob;
use super::aead::{Aead, Groups, by_groups, is_right, open_those_with_tags, verdict};
use super::cmac::Cmac;
use super::ctr::counter::Counter;
use super::lists::Lists;
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use super::xts::tweak::double;
use crate::arch::{Buffers, ClearRegisters};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
use crate::kernel::Source;
use crate::kernel::serial::Serial;
use crate::message::{AeadMessage, Tag};
use crate::mode::Options;
use crate::plan::{Fused, Job, Plan};
use crate::run::{Program, Threads};

pub(super) const ENTRY: Entry = Entry {
    name: "siv",
    summary: "Counter mode from a tag by the cipher itself, by two keys: a nonce may be used twice, or left out",
    initial: Initial::Nonce { least: 0, usual: BLOCK_BYTES, most: usize::MAX },
    lengths: Lengths::Any,
    keys: 2,
    cipher_use: CipherUse::Counters,
    fused: Some(Fused::Chains),
    parallel: Parallel::Both,
    any_block_size: false,
    tag_bytes: &[BLOCK_BYTES],
    aad_strings_max: STRINGS_MAX,
    reuse: Reuse::EqualMessages,
    admits: every_cipher,
    wipes_forged: true,
    make: Make::Aead(|cipher, key, tag_bytes, options| {
        Mode::Siv.admits_tag(tag_bytes)?;
        Ok(Box::new(Siv::with_options(&SivKey::new(cipher, key)?, options)?))
    }),
};

/// S2V takes 127 strings (RFC 5297 §2.4). One of them is the plaintext.
const STRINGS_MAX: usize = 126;

/// The bits of a tag that the first counter block takes over. The top bits of the last two 32-bit words are
/// cleared.
const COUNTED: u128 = !(1 << 63 | 1 << 31);

/// The two keys of SIV. Wiped when dropped.
#[derive(Clone, Debug)]
pub struct SivKey {
    mac: Key,
    counter: Key,
}

impl SivKey {
    /// Takes the key of S2V followed by the key of CTR, in the order of RFC 5297.
    ///
    /// # Errors
    /// [`Error::TwoKeysLength`] unless `bytes` is exactly twice as long as a key of the cipher.
    pub fn new(cipher: Cipher, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != 2 * cipher.key_bytes() {
            let (mode, len_bytes) = (ENTRY.name, bytes.len());
            return Err(Error::TwoKeysLength { mode, cipher, len_bytes });
        }
        let (mac, counter) = bytes.split_at(cipher.key_bytes());
        Ok(Self { mac: Key::new(cipher, mac)?, counter: Key::new(cipher, counter)? })
    }

    /// Two new keys from the operating system's generator.
    ///
    /// # Errors
    /// As [`Key::generate`].
    pub fn generate(cipher: Cipher) -> Result<Self, Error> {
        Ok(Self { mac: Key::generate(cipher)?, counter: Key::generate(cipher)? })
    }
}

/// SIV: nonces of any length or none, and tags of 16 bytes. RFC 5297 puts the tag before the ciphertext.
///
/// SIV authenticates a list of associated strings. [`Aead::seal`] and [`Aead::open`] pass exactly one string,
/// even if it is empty. [`Aead::seal_with`] and [`Aead::open_with`] pass none, one or many. An empty nonce is
/// the same as no nonce.
///
/// Without a nonce, or with a nonce used twice, two messages only reveal whether they and their associated
/// data are equal. If the tag is wrong, `open` overwrites the output with zeros. In place, this also destroys
/// the ciphertext.
///
/// ```
/// use crossgrain::Cipher;
/// use crossgrain::mode::{Aead as _, Siv, SivKey};
///
/// let mode = Siv::new(&SivKey::generate(Cipher::Aes256)?)?;
/// let (mut first, mut second) = (b"meet at noon".to_vec(), b"meet at noon".to_vec());
/// let tag = mode.seal(b"", b"header", &mut first)?;
/// // Without a nonce the same is sealed equally.
/// assert_eq!((tag, &first), (mode.seal(b"", b"header", &mut second)?, &second));
/// mode.open(b"", b"header", &tag, &mut first)?;
/// assert_eq!(first, b"meet at noon");
/// # Ok::<(), crossgrain::Error>(())
/// ```
///
/// A list of associated strings:
///
/// ```
/// use crossgrain::mode::{Aead as _, Siv, SivKey};
/// use crossgrain::{Buffers, Cipher, Error};
///
/// let mode = Siv::new(&SivKey::generate(Cipher::Aes256)?)?;
/// let mut message = b"meet at noon".to_vec();
/// let tag = mode.seal_with(b"", &[b"from", b"to"], Buffers::in_place(&mut message))?;
/// let mut copy = message.clone();
/// let joined = mode.open_with(b"", &[b"fromto"], &tag, Buffers::in_place(&mut copy));
/// assert_eq!(joined, Err(Error::Forged));
/// mode.open_with(b"", &[b"from", b"to"], &tag, Buffers::in_place(&mut message))?;
/// assert_eq!(message, b"meet at noon");
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub struct Siv {
    cmac: Cmac,
    counter: Program,
    /// CMAC of a block of zeros, the initial value of S2V. Boxed, so that moving `Siv` leaves no copy of it.
    begin: Box<Zeroizing<Block>>,
}

/// The end of the last string of S2V, with the sum added. It is one block, or an incomplete and a whole block
/// together.
type Ending = [Block; 2];

impl Siv {
    /// SIV with the default options, bound to its keys.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &SivKey) -> Result<Self, Error> {
        Self::with_options(key, &Options::default())
    }

    /// SIV with these options, bound to its keys.
    ///
    /// # Errors
    /// As [`Ctr::with_options`](super::Ctr::with_options).
    pub fn with_options(key: &SivKey, options: &Options) -> Result<Self, Error> {
        let cipher = key.mac.cipher();
        let (count, chain) = (Mode::Siv.job(cipher, Direction::Encrypt), Job::of_chains(cipher));
        let of_counter = options.for_job(count, chain);
        let counter = of_counter.program_of_secret_counter(&options.keys(&key.counter)?)?;
        let cmac = Cmac::of(&options.keys(&key.mac)?, &options.for_job(chain, count))?;
        let mut begin = Box::new(Zeroizing::new([0; BLOCK_BYTES]));
        cmac.tag_block(&mut begin);
        cmac.wipe_stack();
        Ok(Self { cmac, counter, begin })
    }

    /// Replaces the keys by others of the same cipher. Options and plans stay. See
    /// [`Ecb::rekey`](super::Ecb::rekey).
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for keys of another cipher or key size. The mode keeps its keys then.
    pub fn rekey(&mut self, key: &SivKey) -> Result<(), Error> {
        let replaced = self.take_key(key);
        let programs = [&mut self.counter, self.cmac.program_mut()];
        Program::wipe_rekeyed_stack(programs, replaced)
    }

    /// A separate function, so that its stack frame can be wiped. Returns whether programs were bound again.
    #[inline(never)]
    fn take_key(&mut self, key: &SivKey) -> Result<bool, Error> {
        let is_bound_again = self.counter.replace_key(&key.counter)? | self.cmac.take_key(&key.mac)?;
        **self.begin = [0; BLOCK_BYTES];
        self.cmac.tag_block(&mut self.begin);
        Ok(is_bound_again)
    }

    /// Adds the associated data and the nonce of each message to `sums`: S2V up to the plaintext. `sums` must
    /// be zero on entry.
    fn add_headers(&self, threads: Threads, messages: &[AeadMessage<'_>], sums: &mut [Block]) {
        let aads: Vec<_> = messages.iter().map(|message| message.aad).collect();
        let nonces: Vec<_> = messages.iter().map(|message| message.nonce).collect();
        let mut lists = Lists::new(messages.len());
        let [of_nonces] = lists.each();
        self.cmac.tags_after(threads, sums, &aads);
        self.cmac.tags_after(threads, of_nonces, &nonces);
        for ((sum, of_nonce), nonce) in sums.iter_mut().zip(of_nonces).zip(&*nonces) {
            *sum = with_string(&self.begin, sum);
            if !nonce.is_empty() {
                *sum = with_string(sum, of_nonce);
            }
        }
    }

    /// S2V of strings and a plaintext.
    fn s2v(&self, strings: &[&[u8]], plaintext: &[u8]) -> Block {
        let (last_keys, tag) = (self.cmac.last_keys(), [0; BLOCK_BYTES]);
        let mut job = S2vJob { last_keys, begin: &self.begin, strings, plaintext, tag };
        self.cmac.program().serial(Serial::S2v(&mut job));
        job.tag
    }

    /// Seals one message with the strings before its plaintext.
    fn seal_single(&self, strings: &[&[u8]], buffers: &mut Buffers<'_>) -> Tag {
        let tag = self.s2v(strings, buffers.input());
        self.apply(self.threads(), &tag, buffers.reborrow());
        tag.into()
    }

    /// Opens one message with the strings before its plaintext.
    fn open_single(&self, strings: &[&[u8]], message: &mut AeadMessage<'_>) -> Result<(), Error> {
        let Ok(tag) = Block::try_from(&message.tag[..]) else { return verdict(self, message, false) };
        self.apply(self.threads(), &tag, message.buffers.reborrow());
        let made = self.s2v(strings, message.buffers.output_mut());
        let right = is_right(message, Tag::from(made));
        verdict(self, message, right)
    }

    /// Completes S2V with the plaintexts. `tags` must be zero on entry.
    fn finish(&self, threads: Threads, sums: &[Block], plaintexts: &[&[u8]], tags: &mut [Block]) {
        let mut lists = Lists::<2>::new(sums.len());
        let (endings, _) = lists.all().as_chunks_mut();
        let parts = endings.iter_mut().zip(plaintexts).zip(sums);
        let parts: Vec<_> = parts
            .map(|((ending, plaintext), sum)| split_ending(u128::from_be_bytes(*sum), plaintext, ending))
            .collect();
        let heads: Vec<_> = parts.iter().map(|(head, _)| *head).collect();
        self.cmac.absorb(threads, tags, &heads);
        let endings = endings.iter().zip(&*parts);
        let endings: Vec<_> = endings.map(|(ending, (_, bytes))| &ending.as_flattened()[..*bytes]).collect();
        self.cmac.tags_after(threads, tags, &endings);
    }

    /// Seals messages. `sums` holds S2V of each message's strings.
    fn seal_after(&self, threads: Threads, sums: &[Block], messages: &mut [AeadMessage<'_>]) {
        let plaintexts: Vec<_> = messages.iter().map(|message| message.buffers.input()).collect();
        let mut lists = Lists::new(messages.len());
        let [tags] = lists.each();
        self.finish(threads, sums, &plaintexts, tags);
        for (message, tag) in messages.iter_mut().zip(tags) {
            self.apply(threads, tag, message.buffers.reborrow());
            message.tag = (*tag).into();
        }
    }

    /// Opens messages with 16-byte tags. `sums` holds S2V of each message's strings. Forged messages are
    /// overwritten with zeros.
    fn open_after(
        &self,
        threads: Threads,
        sums: &[Block],
        messages: &mut [AeadMessage<'_>],
        opened: &mut [bool],
    ) {
        for message in &mut *messages {
            if let Ok(tag) = Block::try_from(&message.tag[..]) {
                self.apply(threads, &tag, message.buffers.reborrow());
            }
        }
        let mut lists = Lists::new(messages.len());
        let [tags] = lists.each();
        let plaintexts: Vec<_> = messages.iter_mut().map(|message| &*message.buffers.output_mut()).collect();
        self.finish(threads, sums, &plaintexts, tags);
        for ((message, tag), opened) in messages.iter_mut().zip(tags).zip(opened) {
            *opened = is_right(message, Tag::from(*tag));
        }
    }

    /// CTR that starts from a tag.
    fn apply(&self, threads: Threads, tag: &Block, buffers: Buffers<'_>) {
        let first = Counter::big_endian(u128::from_be_bytes(*tag) & COUNTED);
        self.counter.run_by(threads, Source::Counter(first), buffers);
    }
}

/// The next sum of S2V: the doubled sum XOR the CMAC of the next string.
const fn with_string(sum: &Block, of_string: &Block) -> Block {
    (double(u128::from_be_bytes(*sum)) ^ u128::from_be_bytes(*of_string)).to_be_bytes()
}

/// The strings of S2V before the plaintext: the associated data, then the nonce unless it is empty.
fn strings_of<'a>(nonce: &'a [u8], aads: &[&'a [u8]]) -> Result<Vec<&'a [u8]>, Error> {
    let nonce = (!nonce.is_empty()).then_some(nonce);
    let strings: Vec<_> = aads.iter().copied().chain(nonce).collect();
    if strings.len() > STRINGS_MAX {
        return Err(Error::AadStrings { most: STRINGS_MAX, count: strings.len() });
    }
    Ok(strings)
}

/// The number of strings before the plaintext, for one associated string. An empty nonce is not a string.
const fn strings_before(nonce: &[u8]) -> usize {
    if nonce.is_empty() { 1 } else { 2 }
}

/// Adds the sum to the end of the last string, in `ending`. The result is the whole blocks before that end,
/// and the length of the end in bytes. A string that is shorter than a block is padded, and the sum is
/// doubled.
fn split_ending<'a>(sum: u128, string: &'a [u8], ending: &mut Ending) -> (&'a [u8], usize) {
    let (head, end) = string.split_at(string.len().saturating_sub(BLOCK_BYTES) / BLOCK_BYTES * BLOCK_BYTES);
    let bytes = ending.as_flattened_mut();
    bytes[..end.len()].copy_from_slice(end);
    let (at, sum) = if let Some(at) = end.len().checked_sub(BLOCK_BYTES) {
        (at, sum)
    } else {
        bytes[end.len()] = 0x80;
        (0, double(sum))
    };
    bytes[at..].iter_mut().zip(sum.to_be_bytes()).for_each(|(byte, sum)| *byte ^= sum);
    (head, at + BLOCK_BYTES)
}

impl Aead for Siv {
    fn tag_bytes(&self) -> usize {
        BLOCK_BYTES
    }

    fn admits(&self, _: &AeadMessage<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn plans(&self) -> &[Plan] {
        self.counter.plans()
    }

    fn seal_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
        let _clear = ClearRegisters;
        let strings = [message.aad, message.nonce];
        let strings = &strings[..strings_before(message.nonce)];
        message.tag = self.seal_single(strings, &mut message.buffers);
        Ok(())
    }

    fn open_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
        let _clear = ClearRegisters;
        let strings = [message.aad, message.nonce];
        self.open_single(&strings[..strings_before(message.nonce)], message)
    }

    fn seal_with(&self, nonce: &[u8], aads: &[&[u8]], mut buffers: Buffers<'_>) -> Result<Tag, Error> {
        let _clear = ClearRegisters;
        Ok(self.seal_single(&strings_of(nonce, aads)?, &mut buffers))
    }

    fn open_with(&self, nonce: &[u8], aads: &[&[u8]], tag: &[u8], buffers: Buffers<'_>) -> Result<(), Error> {
        let _clear = ClearRegisters;
        let strings = strings_of(nonce, aads)?;
        let mut message = AeadMessage::new(&[], &[], buffers);
        message.tag = tag.try_into()?;
        self.open_single(&strings, &mut message)
    }

    by_groups!(many);
}

impl Groups for Siv {
    fn threads(&self) -> Threads {
        self.counter.threads()
    }

    fn group_most(&self) -> usize {
        self.cmac.lanes()
    }

    fn seal_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>]) {
        let mut lists = Lists::new(messages.len());
        let [sums] = lists.each();
        self.add_headers(threads, messages, sums);
        self.seal_after(threads, sums, messages);
    }

    fn open_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>], opened: &mut [bool]) {
        if open_those_with_tags(self, threads, messages, opened) {
            return;
        }
        let mut lists = Lists::new(messages.len());
        let [sums] = lists.each();
        self.add_headers(threads, messages, sums);
        self.open_after(threads, sums, messages, opened);
    }
}

impl fmt::Debug for Siv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Siv").field("counter", &self.counter).finish_non_exhaustive()
    }
}
