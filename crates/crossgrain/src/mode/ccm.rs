//! CCM (SP 800-38C, RFC 3610): CTR, and a CBC-MAC of lengths, associated data and plaintext for a tag.
//!
//! The blocks of a message are chained for the tag and so serial; many messages run side by side.
//! Layout: B₀ and the counters have the nonce between a byte of flags and a number of 15 bytes less the nonce's.
//! Holds: what is opened is decrypted before its tag can be compared, and overwritten with zeros if the tag is wrong.

use std::fmt;

use super::aead::{Aead, Groups, by_groups, open_those_with_tags};
use super::cmac::absorb;
use super::counted::apply_counters;
use super::few::{Few, Lists, add, take_front};
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::exec::{Program, Threads};
use crate::message::{AeadMessage, Tag};
use crate::mode::Options;
use crate::part::Source;
use crate::plan::{Birth, Job, Plan};
use crate::word::{Buffers, wipe};

pub(super) const ENTRY: Entry = Entry {
    name: "ccm",
    summary: "Counter mode with a tag by chaining, where the standard asks for it",
    initial: Initial::Nonce { least: 7, usual: 12, most: 13 },
    lengths: Lengths::Any,
    keys: 1,
    cipher_use: CipherUse::Counters,
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

/// CCM: nonces of 7 to 13 bytes, and tags of 4 to 16 bytes, an even number.
///
/// The longer the nonce, the shorter the message may be: of less than 2⁶⁴ bytes under one of 7, of less than 64 KiB under
/// one of 13. A key must never meet the same nonce twice: that shows the sum of both plaintexts. Opening a message whose
/// tag is wrong leaves zeros in the place of its plaintext; in place, the ciphertext is lost.
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

/// B₀, and a block where associated data begins, if there is any.
struct Front {
    blocks: [u8; 2 * BLOCK_BYTES],
    len_bytes: usize,
}

impl Front {
    fn bytes(&self) -> &[u8] {
        &self.blocks[..self.len_bytes]
    }
}

/// What a message begins with, and the associated data that is left.
type Header<'a> = (Front, &'a [u8]);

/// Blocks of a message, on average, up to which what is authenticated is written down as one string: to go along three costs more.
const FORMATTED_BLOCKS_MAX: usize = 20;

/// Strings one behind another, each with zeros up to whole blocks, of which there are as many as it takes. They are zeros.
fn format(strings: [&[u8]; 3], blocks: &mut [Block]) {
    let mut rest = blocks.as_flattened_mut();
    for string in strings {
        let (place, later) = rest.split_at_mut(string.len().next_multiple_of(BLOCK_BYTES));
        place[..string.len()].copy_from_slice(string);
        rest = later;
    }
}

impl Ccm {
    /// CCM with tags of 16 bytes, by the default options, bound to a key.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key) -> Result<Self, Error> {
        Self::with_options(key, BLOCK_BYTES, &Options::default())
    }

    /// CCM with tags of `tag_bytes`, by these options, bound to a key.
    ///
    /// # Errors
    /// [`Error::TagBytes`] unless tags have 4, 6, 8, 10, 12, 14 or 16 bytes, and as
    /// [`Ctr::with_options`](super::Ctr::with_options).
    pub fn with_options(key: &Key, tag_bytes: usize, options: &Options) -> Result<Self, Error> {
        Mode::Ccm.admits_tag(tag_bytes)?;
        let (cipher, schedule) = (key.cipher(), options.schedule(key)?);
        let counter = options.program(Mode::Ccm.job(cipher, Direction::Encrypt), &schedule)?;
        let job = Job { cipher, direction: Direction::Encrypt, birth: Birth::Bytes };
        let chain = options.freely().program(job, &schedule)?;
        Ok(Self { counter, chain, tag_bytes })
    }

    /// A block of flags, nonce and a number.
    fn block(nonce: &[u8], flags: usize, number: u64) -> Block {
        let mut block = (u128::from(number)).to_be_bytes();
        block[0] = (flags | (BLOCK_BYTES - 2 - nonce.len())) as u8;
        block[1..=nonce.len()].copy_from_slice(nonce);
        block
    }

    /// The counters of messages' first blocks (SP 800-38C A.3); those before are their tags'.
    fn counters(messages: &[AeadMessage<'_>]) -> Few<Block> {
        messages.iter().map(|message| Self::block(message.nonce, 0, 1)).collect()
    }

    /// What messages begin with.
    fn headers<'a>(&self, messages: &[AeadMessage<'a>]) -> Few<Header<'a>> {
        messages.iter().map(|message| self.header(message)).collect()
    }

    /// CBC-MACs of messages (SP 800-38C A.2), for which there are spare blocks.
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
            let formatted: Few<_> = strings()
                .map(|strings| {
                    let place = take_front(&mut rest, blocks(strings));
                    format(strings, place);
                    place.as_flattened()
                })
                .collect();
            return absorb(&self.chain, threads, sums, &formatted);
        }
        let fronts: Few<_> = headers.iter().map(|(front, _)| front.bytes()).collect();
        let aads: Few<_> = headers.iter().map(|(_, aad)| *aad).collect();
        absorb(&self.chain, threads, sums, &fronts);
        self.absorb_padded(threads, &aads, sums, spare);
        self.absorb_padded(threads, plaintexts, sums, spare);
    }

    /// B₀ with the beginning of the associated data behind its length, and the rest of the associated data.
    fn header<'a>(&self, message: &AeadMessage<'a>) -> Header<'a> {
        let (nonce, aad, len_bytes) = (message.nonce, message.aad, message.buffers.len_bytes());
        let flags = usize::from(!aad.is_empty()) << 6 | (self.tag_bytes / 2 - 1) << 3;
        let mut front = [0; 2 * BLOCK_BYTES];
        let (first, second) = front.split_at_mut(BLOCK_BYTES);
        first.copy_from_slice(&Self::block(nonce, flags, len_bytes as u64));
        let len = aad.len() as u64;
        let count = match len {
            0 => return (Front { blocks: front, len_bytes: BLOCK_BYTES }, aad),
            1..0xff00 => put(second, &[], &len.to_be_bytes()[6..]),
            0xff00..=0xffff_ffff => put(second, &[0xff, 0xfe], &len.to_be_bytes()[4..]),
            _ => put(second, &[0xff, 0xff], &len.to_be_bytes()),
        };
        let (beginning, rest) = aad.split_at((BLOCK_BYTES - count).min(aad.len()));
        second[count..][..beginning.len()].copy_from_slice(beginning);
        (Front { blocks: front, len_bytes: 2 * BLOCK_BYTES }, rest)
    }

    /// Takes chains along strings, with zeros behind them up to whole blocks, for which there are spare ones.
    fn absorb_padded(&self, threads: Threads, strings: &[&[u8]], sums: &mut [Block], spare: &mut [Block]) {
        let wholes: Few<_> = strings.iter().map(|string| &string[..whole_blocks(string.len())]).collect();
        let rests: Few<_> = strings.iter().map(|string| &string[whole_blocks(string.len())..]).collect();
        absorb(&self.chain, threads, sums, &wholes);
        if rests.iter().all(|rest| rest.is_empty()) {
            return;
        }
        for (block, rest) in spare.iter_mut().zip(&*rests) {
            *block = [0; BLOCK_BYTES];
            block[..rest.len()].copy_from_slice(rest);
        }
        let used = |rest: &[u8]| if rest.is_empty() { 0 } else { BLOCK_BYTES };
        let padded: Few<_> = spare.iter().zip(&*rests).map(|(block, rest)| &block[..used(rest)]).collect();
        absorb(&self.chain, threads, sums, &padded);
    }

    /// Replaces sums by tags: the blocks of messages' first counters, less one, are added.
    fn mask(&self, threads: Threads, messages: &[AeadMessage<'_>], sums: &mut [Block], masks: &mut [Block]) {
        for (mask, message) in masks.iter_mut().zip(messages) {
            *mask = Self::block(message.nonce, 0, 0);
        }
        self.chain.run_by(threads, Source::Bytes, Buffers::in_place(masks.as_flattened_mut()));
        add(sums, masks);
    }
}

/// Bytes in the whole blocks of so many bytes.
const fn whole_blocks(len_bytes: usize) -> usize {
    len_bytes / BLOCK_BYTES * BLOCK_BYTES
}

/// Puts a length behind what marks its kind, and says where that ends.
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
        Mode::Ccm.admits_nonce(message.nonce.len())?;
        let number_bits = 8 * (BLOCK_BYTES - 1 - message.nonce.len()) as u32;
        let most_bytes = u64::MAX >> (u64::BITS - number_bits);
        let len_bytes = message.buffers.len_bytes() as u64;
        if len_bytes > most_bytes { Err(Error::TooLong { most_bytes }) } else { Ok(()) }
    }

    fn plans(&self) -> &[Plan] {
        self.counter.plans()
    }

    by_groups!();
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
        let plaintexts: Few<_> = messages.iter().map(|message| message.buffers.input()).collect();
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
        let plaintexts: Few<_> = messages.iter_mut().map(|message| &*message.buffers.output_mut()).collect();
        self.sums(threads, &headers, &plaintexts, [sums, spare]);
        self.mask(threads, messages, sums, spare);
        for ((message, sum), opened) in messages.iter_mut().zip(sums).zip(opened) {
            *opened = Tag::cut(sum, self.tag_bytes) == message.tag;
            if !*opened {
                wipe(message.buffers.output_mut());
            }
        }
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
