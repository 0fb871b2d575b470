//! SIV (RFC 5297): the tag is a MAC of all there is, S2V, and the counter starts from it.
//!
//! S2V sums the CMACs of its strings, doubled one after another; the plaintext, which is the last string, has the sum added to
//! its end. The strings are the associated data and, if there is one, the nonce.
//! Holds: what is opened is decrypted before its tag can be compared, and overwritten with zeros if the tag is wrong.

use std::fmt;

use zeroize::Zeroizing;

use super::aead::{Aead, Groups, by_groups, open_those_with_tags};
use super::cmac::Cmac;
use super::few::{Few, Lists};
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use crate::block::{BLOCK_BYTES, Block, Cipher, Error, Key};
use crate::exec::{Program, Threads};
use crate::message::{AeadMessage, Tag};
use crate::mode::Options;
use crate::part::Source;
use crate::part::counter::Counter;
use crate::part::tweak::double;
use crate::plan::Plan;
use crate::word::{Buffers, wipe};

pub(super) const ENTRY: Entry = Entry {
    name: "siv",
    summary: "Counter mode from a tag by the cipher itself, by two keys: a nonce may be used twice, or left out",
    initial: Initial::Nonce { least: 0, usual: BLOCK_BYTES, most: usize::MAX },
    lengths: Lengths::Any,
    keys: 2,
    cipher_use: CipherUse::Counters,
    parallel: Parallel::Both,
    any_block_size: false,
    tag_bytes: &[BLOCK_BYTES],
    reuse: Reuse::EqualMessages,
    admits: every_cipher,
    wipes_forged: true,
    make: Make::Aead(|cipher, key, tag_bytes, options| {
        Mode::Siv.admits_tag(tag_bytes)?;
        Ok(Box::new(Siv::with_options(&SivKey::new(cipher, key)?, options)?))
    }),
};

/// The bits of a tag that a counter starts from: all but the first of each of the last two words of 32 bits.
const COUNTED: u128 = !(1 << 63 | 1 << 31);

/// The two keys of SIV. Wiped when dropped.
#[derive(Clone, Debug)]
pub struct SivKey {
    mac: Key,
    counter: Key,
}

impl SivKey {
    /// Takes the key of S2V and, after it, the one of the counter, as RFC 5297 lists them.
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

/// SIV: nonces of any length or none, and tags of 16 bytes, which come before the ciphertext in RFC 5297.
///
/// Without a nonce, or with one used twice, two messages show no more than whether they and their associated data are
/// equal. Opening a message whose tag is wrong leaves zeros in the place of its plaintext; in place, the
/// ciphertext is lost.
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
pub struct Siv {
    cmac: Cmac,
    counter: Program,
    /// The CMAC of a block of zeros, which S2V begins with. It stays where it is when this is moved.
    begin: Box<Zeroizing<Block>>,
}

/// What S2V takes before the plaintext: nonce and associated data.
type Header<'a> = (&'a [u8], &'a [u8]);

fn headers<'a>(messages: &[AeadMessage<'a>]) -> Few<Header<'a>> {
    messages.iter().map(|message| (message.nonce, message.aad)).collect()
}

/// The end of a string of S2V, with the sum added: a block, or one and what is left over before it.
type Ending = [Block; 2];

impl Siv {
    /// SIV by the default options, bound to its keys.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &SivKey) -> Result<Self, Error> {
        Self::with_options(key, &Options::default())
    }

    /// SIV by these options, bound to its keys.
    ///
    /// # Errors
    /// As [`Ctr::with_options`](super::Ctr::with_options).
    pub fn with_options(key: &SivKey, options: &Options) -> Result<Self, Error> {
        let cipher = key.mac.cipher();
        let counter = options.program_of_secret_counter(cipher, &options.schedule(&key.counter)?)?;
        let cmac = Cmac::of(cipher, &options.schedule(&key.mac)?, &options.freely())?;
        let mut begin = Box::new(Zeroizing::new([0; BLOCK_BYTES]));
        cmac.tag_block(&mut begin);
        cmac.wipe_stack();
        Ok(Self { cmac, counter, begin })
    }

    /// S2V (RFC 5297 §2.4) of messages by their headers and plaintexts, in the place of zeros.
    fn s2v(&self, threads: Threads, headers: &[Header<'_>], plaintexts: &[&[u8]], tags: &mut [Block]) {
        let count = headers.len();
        let aads: Few<_> = headers.iter().map(|(_, aad)| *aad).collect();
        let nonces: Few<_> = headers.iter().map(|(nonce, _)| *nonce).collect();
        let mut lists = Lists::<4>::new(count);
        let (sums, endings) = lists.all().split_at_mut(2 * count);
        let (of_aads, of_nonces) = sums.split_at_mut(count);
        self.cmac.tags_after(threads, of_aads, &aads);
        self.cmac.tags_after(threads, of_nonces, &nonces);
        let (endings, _) = endings.as_chunks_mut();
        let parts = endings.iter_mut().zip(plaintexts).enumerate().map(|(i, (ending, plaintext))| {
            let mut sum = double(u128::from_be_bytes(**self.begin)) ^ u128::from_be_bytes(of_aads[i]);
            if !nonces[i].is_empty() {
                sum = double(sum) ^ u128::from_be_bytes(of_nonces[i]);
            }
            split_ending(sum, plaintext, ending)
        });
        let parts: Few<_> = parts.collect();
        let heads: Few<_> = parts.iter().map(|(head, _)| *head).collect();
        self.cmac.absorb(threads, tags, &heads);
        let endings = endings.iter().zip(&*parts);
        let endings: Few<_> = endings.map(|(ending, (_, bytes))| &ending.as_flattened()[..*bytes]).collect();
        self.cmac.tags_after(threads, tags, &endings);
    }

    /// CTR from a tag on.
    fn apply(&self, threads: Threads, tag: &Block, buffers: Buffers<'_>) {
        let first = Counter::big_endian(u128::from_be_bytes(*tag) & COUNTED);
        self.counter.run_by(threads, Source::Counter(first), buffers);
    }
}

/// Adds the sum to the end of the last string, and gives the whole blocks before that end, and its length in bytes. A string of less than
/// a block is padded, and the sum doubled.
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

    by_groups!();
}

impl Groups for Siv {
    fn threads(&self) -> Threads {
        self.counter.threads()
    }

    fn group_most(&self) -> usize {
        self.cmac.lanes()
    }

    fn seal_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>]) {
        let plaintexts: Few<_> = messages.iter().map(|message| message.buffers.input()).collect();
        let mut lists = Lists::new(messages.len());
        let [tags] = lists.each();
        self.s2v(threads, &headers(messages), &plaintexts, tags);
        for (message, tag) in messages.iter_mut().zip(tags) {
            self.apply(threads, tag, message.buffers.reborrow());
            message.tag = (*tag).into();
        }
    }

    fn open_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>], opened: &mut [bool]) {
        if open_those_with_tags(self, threads, messages, opened) {
            return;
        }
        for message in &mut *messages {
            if let Ok(tag) = Block::try_from(&message.tag[..]) {
                self.apply(threads, &tag, message.buffers.reborrow());
            }
        }
        let headers = headers(messages);
        let mut lists = Lists::new(messages.len());
        let [tags] = lists.each();
        let plaintexts: Few<_> = messages.iter_mut().map(|message| &*message.buffers.output_mut()).collect();
        self.s2v(threads, &headers, &plaintexts, tags);
        for ((message, tag), opened) in messages.iter_mut().zip(tags).zip(opened) {
            *opened = Tag::from(*tag) == message.tag;
            if !*opened {
                wipe(message.buffers.output_mut());
            }
        }
    }
}

impl fmt::Debug for Siv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Siv").field("counter", &self.counter).finish_non_exhaustive()
    }
}
