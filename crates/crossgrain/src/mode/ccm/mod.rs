//! CCM (SP 800-38C, RFC 3610): CTR, with a CBC-MAC of the lengths, the associated data and the plaintext as
//! the tag.
//!
//! ```text
//! q = 15 − nonce bytes
//! block(flags, number) = flags | (q − 1) ‖ nonce ‖ number in q bytes, big-endian
//! B₀ = block(64·(A not empty) + 8·(tag bytes / 2 − 1), plaintext bytes)
//! S = CBC-MAC(B₀ ‖ (length of A ‖ A, padded by zeros) ‖ P padded by zeros)
//! tag = first bytes of S ^ E(block(0, 0))
//! C = P ^ E(block(0, 1)) E(block(0, 2)) …
//! ```
//!
//! The CBC-MAC is serial within a message. Therefore many messages run at once, one per lane.
//!
//! `open` decrypts before it can compare the tag. If the tag is wrong, it overwrites the output with zeros.

pub mod reference;
pub(crate) mod serial;

use std::fmt;

use self::serial::CcmJob;
use super::aead::{Aead, Groups, Single, by_groups, is_right, open_those_with_tags};
use super::cmac::absorb;
use super::ctr::counted::apply_counters;
use super::lists::{Lists, add, take_front};
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use crate::arch::Buffers;
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key, part_number};
use crate::kernel::Source;
use crate::kernel::serial::Serial;
use crate::message::{AeadMessage, Tag};
use crate::mode::Options;
use crate::plan::{Fused, Job, Plan};
use crate::run::{Program, Threads};

pub(super) const ENTRY: Entry = Entry {
    name: "ccm",
    summary: "Counter mode with a tag by chaining, where the standard asks for it",
    initial: Initial::Nonce { least: NONCE_BYTES_MIN, usual: 12, most: 13 },
    lengths: Lengths::Any,
    keys: 1,
    cipher_use: CipherUse::Counters,
    fused: Some(Fused::Chains),
    parallel: Parallel::Both,
    any_block_size: false,
    tag_bytes: &[4, 6, 8, 10, 12, 14, 16],
    aad_strings_max: 1,
    reuse: Reuse::Plaintexts,
    admits: every_cipher,
    wipes_forged: true,
    make: Make::Aead(|cipher, key, tag_bytes, options| {
        Ok(Box::new(Ccm::with_options(&Key::new(cipher, key)?, tag_bytes, options)?))
    }),
};

/// The shortest nonce in bytes (SP 800-38C appendix A.1).
const NONCE_BYTES_MIN: usize = 7;

/// CCM: nonces of 7 to 13 bytes, and tags of an even number of bytes from 4 to 16.
///
/// A longer nonce leaves room for a shorter message: less than 2⁶⁴ bytes with a nonce of 7 bytes, less than
/// 64 KiB with 13. Never use a nonce twice with one key: that reveals the XOR of both plaintexts. If the tag
/// is wrong, `open` overwrites the output with zeros. In place, this also destroys the ciphertext.
///
/// ```
/// use crossgrain::mode::{Aead as _, Ccm};
/// use crossgrain::{Cipher, Error, Key};
///
/// let mode = Ccm::new(&Key::generate(Cipher::Aes256)?)?;
/// let mut message = b"meet at noon".to_vec();
/// let tag = mode.seal(b"nonce: once!", b"header", &mut message)?;
/// let mut sealed = message.clone();
/// assert_eq!(mode.open(b"nonce: once!", b"forged", &tag, &mut sealed), Err(Error::Forged));
/// assert_eq!(sealed, [0; 12]);
/// mode.open(b"nonce: once!", b"header", &tag, &mut message)?;
/// assert_eq!(message, b"meet at noon");
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub struct Ccm {
    counter: Program,
    chain: Program,
    tag_bytes: usize,
}

/// B₀, and a block with the start of the associated data if there is any.
struct Front {
    blocks: [Block; 2],
    count: usize,
}

impl Front {
    fn bytes(&self) -> &[u8] {
        self.blocks[..self.count].as_flattened()
    }
}

/// The block with the length of the associated data and its beginning, and the rest of the associated data.
fn second(aad: &[u8]) -> (Option<Block>, &[u8]) {
    let mut second = [0; BLOCK_BYTES];
    let len = aad.len() as u64;
    let count = match len {
        0 => return (None, aad),
        1..0xff00 => put(&mut second, &[], &len.to_be_bytes()[6..]),
        0xff00..=0xffff_ffff => put(&mut second, &[0xff, 0xfe], &len.to_be_bytes()[4..]),
        _ => put(&mut second, &[0xff, 0xff], &len.to_be_bytes()),
    };
    let (beginning, rest) = aad.split_at((BLOCK_BYTES - count).min(aad.len()));
    second[count..][..beginning.len()].copy_from_slice(beginning);
    (Some(second), rest)
}

/// The first blocks of the CBC-MAC's input, and the rest of the associated data.
type Header<'a> = (Front, &'a [u8]);

/// If messages have at most this many blocks on average, the inputs of their CBC-MACs are copied into one
/// string each. Above it, three passes over the separate strings cost less.
const FORMATTED_BLOCKS_MAX: usize = 20;

/// Concatenates strings, each padded with zeros to whole blocks. `blocks` must have the right number of
/// blocks and be zero on entry.
fn format(strings: [&[u8]; 3], blocks: &mut [Block]) {
    let mut rest = blocks.as_flattened_mut();
    for string in strings {
        let (place, later) = rest.split_at_mut(string.len().next_multiple_of(BLOCK_BYTES));
        place[..string.len()].copy_from_slice(string);
        rest = later;
    }
}

impl Ccm {
    /// CCM with 16-byte tags and the default options, bound to a key.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key) -> Result<Self, Error> {
        Self::with_options(key, BLOCK_BYTES, &Options::default())
    }

    /// CCM with tags of `tag_bytes` and these options, bound to a key.
    ///
    /// # Errors
    /// [`Error::TagBytes`] unless tags have 4, 6, 8, 10, 12, 14 or 16 bytes, and as
    /// [`Ctr::with_options`](super::Ctr::with_options).
    pub fn with_options(key: &Key, tag_bytes: usize, options: &Options) -> Result<Self, Error> {
        Mode::Ccm.admits_tag(tag_bytes)?;
        let (cipher, keys) = (key.cipher(), options.keys(key)?);
        let (count, chain) = (Mode::Ccm.job(cipher, Direction::Encrypt), Job::of_chains(cipher));
        let counter = options.for_job(count, chain).program(count, &keys)?;
        let chain = options.for_job(chain, count).program(chain, &keys)?;
        Ok(Self { counter, chain, tag_bytes })
    }

    /// Replaces the key by another one of the same cipher. Tag length, options and plans stay. See
    /// [`Ecb::rekey`](super::Ecb::rekey).
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher or key size. The mode keeps its key then.
    pub fn rekey(&mut self, key: &Key) -> Result<(), Error> {
        let replaced =
            self.counter.replace_key(key).and_then(|is_bound| Ok(is_bound | self.chain.replace_key(key)?));
        Program::wipe_rekeyed_stack([&mut self.counter, &mut self.chain], replaced)
    }

    /// A block of flags, nonce and number, as a big-endian number.
    fn block(nonce: &[u8], flags: u8, number: u64) -> u128 {
        let flags = usize::from(flags) | (BLOCK_BYTES - 2 - nonce.len());
        (flags as u128) << 120 | part_number(nonce).swap_bytes() >> 8 | u128::from(number)
    }

    /// The first counter blocks of messages (SP 800-38C A.3). The counter blocks before these are for the
    /// tags.
    fn counters(messages: &[AeadMessage<'_>]) -> Vec<Block> {
        messages.iter().map(|message| Self::block(message.nonce, 0, 1).to_be_bytes()).collect()
    }

    /// The headers of messages.
    fn headers<'a>(&self, messages: &[AeadMessage<'a>]) -> Vec<Header<'a>> {
        messages.iter().map(|message| self.header(message)).collect()
    }

    /// The CBC-MACs of messages (SP 800-38C A.2). `spare` has a block of scratch memory for each message.
    fn sums(
        &self,
        threads: Threads,
        headers: &[Header<'_>],
        plaintexts: &[&[u8]],
        [sums, spare]: [&mut [Block]; 2],
    ) {
        let strings =
            || headers.iter().zip(plaintexts).map(|((front, aad), plain)| [front.bytes(), aad, *plain]);
        let blocks =
            |strings: [&[u8]; 3]| strings.map(|string| string.len().div_ceil(BLOCK_BYTES)).iter().sum();
        let all = strings().map(blocks).sum();
        if headers.len() > 1 && all <= headers.len() * FORMATTED_BLOCKS_MAX {
            let mut lists = Lists::new(all);
            let [mut rest] = lists.each();
            let formatted: Vec<_> = strings()
                .map(|strings| {
                    let place = take_front(&mut rest, blocks(strings));
                    format(strings, place);
                    place.as_flattened()
                })
                .collect();
            return absorb(&self.chain, threads, sums, &formatted);
        }
        let fronts: Vec<_> = headers.iter().map(|(front, _)| front.bytes()).collect();
        let aads: Vec<_> = headers.iter().map(|(_, aad)| *aad).collect();
        absorb(&self.chain, threads, sums, &fronts);
        self.absorb_padded(threads, &aads, sums, spare);
        self.absorb_padded(threads, plaintexts, sums, spare);
    }

    /// The flags of B₀ about the associated data and the tag.
    fn flags(&self, message: &AeadMessage<'_>) -> u8 {
        u8::from(!message.aad.is_empty()) << 6 | ((self.tag_bytes / 2 - 1) as u8) << 3
    }

    /// B₀ and the start of the associated data after its length, and the rest of the associated data.
    fn header<'a>(&self, message: &AeadMessage<'a>) -> Header<'a> {
        let len_bytes = message.buffers.len_bytes() as u64;
        let first = Self::block(message.nonce, self.flags(message), len_bytes).to_be_bytes();
        let (second, rest) = second(message.aad);
        (
            Front { blocks: [first, second.unwrap_or_default()], count: 1 + usize::from(second.is_some()) },
            rest,
        )
    }

    /// Continues CBC-MACs over strings, each padded with zeros to whole blocks. `spare` has a block of
    /// scratch memory for each string.
    fn absorb_padded(&self, threads: Threads, strings: &[&[u8]], sums: &mut [Block], spare: &mut [Block]) {
        let wholes: Vec<_> = strings.iter().map(|string| &string[..whole_blocks(string.len())]).collect();
        let rests: Vec<_> = strings.iter().map(|string| &string[whole_blocks(string.len())..]).collect();
        absorb(&self.chain, threads, sums, &wholes);
        if rests.iter().all(|rest| rest.is_empty()) {
            return;
        }
        for (block, rest) in spare.iter_mut().zip(&*rests) {
            *block = [0; BLOCK_BYTES];
            block[..rest.len()].copy_from_slice(rest);
        }
        let used = |rest: &[u8]| if rest.is_empty() { 0 } else { BLOCK_BYTES };
        let padded: Vec<_> = spare.iter().zip(&*rests).map(|(block, rest)| &block[..used(rest)]).collect();
        absorb(&self.chain, threads, sums, &padded);
    }

    /// Turns sums into tags: XORs the encrypted counter blocks with number 0.
    fn mask(&self, threads: Threads, messages: &[AeadMessage<'_>], sums: &mut [Block], masks: &mut [Block]) {
        for (mask, message) in masks.iter_mut().zip(messages) {
            *mask = Self::block(message.nonce, 0, 0).to_be_bytes();
        }
        self.chain.run_by(threads, Source::Bytes, Buffers::in_place(masks.as_flattened_mut()));
        add(sums, masks);
    }
}

/// The length of the whole blocks in `len_bytes`.
const fn whole_blocks(len_bytes: usize) -> usize {
    len_bytes / BLOCK_BYTES * BLOCK_BYTES
}

/// Writes a length after its marker. The result is the position after it.
fn put(block: &mut [u8], mark: &[u8], len: &[u8]) -> usize {
    let (of_mark, rest) = block.split_at_mut(mark.len());
    of_mark.copy_from_slice(mark);
    rest[..len.len()].copy_from_slice(len);
    mark.len() + len.len()
}

impl Aead for Ccm {
    fn tag_bytes(&self) -> usize {
        self.tag_bytes
    }

    fn admits(&self, message: &AeadMessage<'_>) -> Result<(), Error> {
        Mode::Ccm.admits_nonce(NONCE_BYTES_MIN, message.nonce)?;
        let number_bits = 8 * (BLOCK_BYTES - 1 - message.nonce.len()) as u32;
        let most_bytes = u64::MAX >> (u64::BITS - number_bits);
        let len_bytes = message.buffers.len_bytes() as u64;
        if len_bytes > most_bytes { Err(Error::TooLong { most_bytes }) } else { Ok(()) }
    }

    fn plans(&self) -> &[Plan] {
        self.counter.plans()
    }

    by_groups!(single);
}

impl Groups for Ccm {
    fn threads(&self) -> Threads {
        self.counter.threads()
    }

    fn group_most(&self) -> usize {
        self.chain.lanes()
    }

    fn seal_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>]) {
        let (counters, headers) = (Self::counters(messages), self.headers(messages));
        let mut lists = Lists::new(messages.len());
        let [sums, spare] = lists.each();
        let plaintexts: Vec<_> = messages.iter().map(|message| message.buffers.input()).collect();
        self.sums(threads, &headers, &plaintexts, [sums, spare]);
        apply_counters([&self.counter, &self.chain], threads, &counters, messages);
        self.mask(threads, messages, sums, spare);
        for (message, sum) in messages.iter_mut().zip(sums) {
            message.tag = Tag::cut(sum, self.tag_bytes);
        }
    }

    fn open_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>], opened: &mut [bool]) {
        if open_those_with_tags(self, threads, messages, opened) {
            return;
        }
        let (counters, headers) = (Self::counters(messages), self.headers(messages));
        let mut lists = Lists::new(messages.len());
        let [sums, spare] = lists.each();
        apply_counters([&self.counter, &self.chain], threads, &counters, messages);
        let plaintexts: Vec<_> = messages.iter_mut().map(|message| &*message.buffers.output_mut()).collect();
        self.sums(threads, &headers, &plaintexts, [sums, spare]);
        self.mask(threads, messages, sums, spare);
        for ((message, sum), opened) in messages.iter_mut().zip(sums).zip(opened) {
            *opened = is_right(message, Tag::cut(sum, self.tag_bytes));
        }
    }
}

impl Single for Ccm {
    fn run_single(&self, _: Threads, direction: Direction, message: &mut AeadMessage<'_>) -> Block {
        let (flags, counter) = (self.flags(message).into(), Self::block(message.nonce, 0, 0));
        let (begun, aad) = second(message.aad);
        let (second, tag) = (begun.as_ref(), [0; BLOCK_BYTES]);
        let (opens, buffers) = (direction == Direction::Decrypt, &mut message.buffers);
        let mut job = CcmJob { opens, flags, second, aad, counter, buffers, tag };
        self.chain.serial(Serial::Ccm(&mut job));
        job.tag
    }
}

impl fmt::Debug for Ccm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ccm")
            .field("tag_bytes", &self.tag_bytes)
            .field("counter", &self.counter)
            .finish_non_exhaustive()
    }
}
