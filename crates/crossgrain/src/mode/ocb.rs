//! OCB3 (RFC 7253): blocks under the cipher, an offset added before and after; the tag is the encrypted sum of the plaintext.
//!
//! The offset of any block follows from its number (`part::mask`), so blocks run side by side, in groups that share a
//! table of offsets. Groups begin where messages do, so that their blocks lie in lines as the message does.
//! Layout: offsets are big-endian numbers, as in the RFC; blocks have numbers from 1 on.
//! Holds: what is opened is decrypted before its tag can be compared, and overwritten with zeros if the tag is wrong.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use zeroize::Zeroizing;

use super::aead::{Aead, Groups, by_groups, open_those_with_tags};
use super::few::{Lists, add};
use super::offsets::{GROUP_BLOCKS, Offsets};
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::exec::{Program, Threads};
use crate::message::{AeadMessage, Tag};
use crate::mode::Options;
use crate::part::Source;
use crate::part::sum::{sum, total};
use crate::plan::Plan;
use crate::word::{Buffers, ClearRegisters, Features, WipedBytes, wipe};

pub(super) const ENTRY: Entry = Entry {
    name: "ocb",
    summary: "Masked blocks with the sum of the plaintext for a tag: one pass",
    initial: Initial::Nonce { least: 1, usual: 12, most: NONCE_BYTES_MAX },
    lengths: Lengths::Any,
    keys: 1,
    cipher_use: CipherUse::BothWays,
    parallel: Parallel::Both,
    any_block_size: false,
    tag_bytes: &[8, 12, 16],
    aad_strings_max: 1,
    reuse: Reuse::EqualBlocksAndForgery,
    admits: every_cipher,
    wipes_forged: true,
    make: Make::Aead(|cipher, key, tag_bytes, options| {
        Ok(Box::new(Ocb::with_options(&Key::new(cipher, key)?, tag_bytes, options)?))
    }),
};

/// The longest nonce: a bit of its block is a mark, and seven tell the length of tags.
const NONCE_BYTES_MAX: usize = BLOCK_BYTES - 1;

/// What a thread takes of a long message at a time.
const PART_BLOCKS: usize = 8 * GROUP_BLOCKS;

/// Messages whose first and last blocks are enciphered together.
const GROUP_MESSAGES: usize = 64;

/// Blocks that are enciphered together before messages are.
const WAITING_MAX: usize = 32;

/// OCB3: nonces of 1 to 15 bytes, and tags of 8, 12 or 16 bytes.
///
/// A key must never meet the same nonce twice: that shows which blocks are equal at equal places, and lets messages be
/// forged. Opening a message whose tag is wrong leaves zeros in the place of its plaintext; in place, the
/// ciphertext is lost.
///
/// ```
/// use crossgrain::mode::{Aead as _, Ocb};
/// use crossgrain::{Cipher, Error, Key};
///
/// let mode = Ocb::new(&Key::generate(Cipher::Aes256)?)?;
/// let mut message = b"meet at noon".to_vec();
/// let tag = mode.seal(b"nonce: once!", b"header", &mut message)?;
/// let mut sealed = message.clone();
/// assert_eq!(mode.open(b"nonce: once!", b"forged", &tag, &mut sealed), Err(Error::Forged));
/// assert_eq!(sealed, [0; 12]);
/// mode.open(b"nonce: once!", b"header", &tag, &mut message)?;
/// assert_eq!(message, b"meet at noon");
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub struct Ocb {
    enciphers: Program,
    deciphers: Program,
    /// They stay where they are when this is moved.
    offsets: Box<Offsets>,
    features: Features,
    tag_bytes: usize,
}

impl Ocb {
    /// OCB with tags of 16 bytes, by the default options, bound to a key.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key) -> Result<Self, Error> {
        Self::with_options(key, BLOCK_BYTES, &Options::default())
    }

    /// OCB with tags of `tag_bytes`, by these options, bound to a key. Variants and plans that are named count for the
    /// direction of the cipher that they fit.
    ///
    /// # Errors
    /// [`Error::TagBytes`] unless tags have 8, 12 or 16 bytes, and as [`Ctr::with_options`](super::Ctr::with_options).
    pub fn with_options(key: &Key, tag_bytes: usize, options: &Options) -> Result<Self, Error> {
        let _clear = ClearRegisters;
        Mode::Ocb.admits_tag(tag_bytes)?;
        let features = options.limits()?.features;
        let schedule = options.schedule(key)?;
        let [encrypt, decrypt] = Direction::ALL.map(|direction| Mode::Ocb.job(key.cipher(), direction));
        let enciphers = options.for_job(encrypt, decrypt).program(encrypt, &schedule)?;
        let deciphers = options.for_job(decrypt, encrypt).program(decrypt, &schedule)?;
        let offsets = Offsets::new(&enciphers);
        enciphers.wipe_stack();
        Ok(Self { enciphers, deciphers, offsets, features, tag_bytes })
    }

    /// Adds to zeros the offsets before messages' first blocks (RFC 7253 §4.2), and behind these HASH of their associated data (§4.1). None waits
    /// for another, so all that is enciphered for them is enciphered together.
    fn begin(&self, messages: &[AeadMessage<'_>], sums: &mut [Block]) {
        let blocks = [[0; BLOCK_BYTES]; WAITING_MAX];
        let mut waiting = Waiting { enciphers: &self.enciphers, sums, blocks, places: [0; _], count: 0 };
        for (i, message) in messages.iter().enumerate() {
            waiting.push(self.nonce_block(message.nonce), i);
            for (number, block) in message.aad.chunks(BLOCK_BYTES).enumerate() {
                let offset = match block.len() {
                    BLOCK_BYTES => self.offsets.of(0, number + 1),
                    _ => self.offsets.of_rest(0, number),
                };
                waiting.push((offset ^ padded(block)).to_be_bytes(), messages.len() + i);
            }
        }
        waiting.go();
        for (first, message) in waiting.sums.iter_mut().zip(messages) {
            *first = stretched(first, bottom(message.nonce)).to_be_bytes();
        }
    }

    /// A nonce as a block, without its lowest six bits.
    fn nonce_block(&self, nonce: &[u8]) -> Block {
        let mut block = [0; BLOCK_BYTES];
        let (front, back) = block.split_at_mut(BLOCK_BYTES - nonce.len());
        back.copy_from_slice(nonce);
        front[0] = ((8 * self.tag_bytes % 128) << 1) as u8;
        front[front.len() - 1] |= 1;
        block[BLOCK_BYTES - 1] &= !LOW_BITS;
        block
    }

    /// The sum of whole blocks.
    fn total(&self, blocks: &[u8]) -> u128 {
        u128::from_be_bytes(total(self.features, blocks))
    }

    /// Replaces the whole blocks of a message, and gives the sum of their plaintext.
    fn replace(&self, threads: Threads, direction: Direction, first: u128, buffers: Buffers<'_>) -> u128 {
        if !threads.pays(buffers.len_bytes()) {
            return self.replace_part(direction, first, 0, buffers);
        }
        let sum = Mutex::new(0);
        let (len_bytes, parts) = (buffers.len_bytes(), in_groups(PART_BLOCKS, 0, buffers));
        threads.each(len_bytes, parts, &|(before, part)| {
            let of_part = self.replace_part(direction, first, before, part);
            *sum.lock().unwrap_or_else(PoisonError::into_inner) ^= of_part;
        });
        sum.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same of blocks behind so many others: at once where a kernel does that, or group by group, while each is in the first cache.
    fn replace_part(&self, direction: Direction, first: u128, before: usize, mut part: Buffers<'_>) -> u128 {
        let program = match direction {
            Direction::Encrypt => &self.enciphers,
            Direction::Decrypt => &self.deciphers,
        };
        if let Some(sum) = program.run_summed(self.offsets.long_masks(first, before), part.reborrow()) {
            return u128::from_be_bytes(sum);
        }
        let mut sum = 0;
        for (before, mut group) in in_groups(GROUP_BLOCKS, before, part) {
            if direction == Direction::Encrypt {
                sum ^= self.total(group.input());
            }
            let masks = self.offsets.masks(first, before);
            program.run_by(Threads::ONE, Source::Masked(masks), group.reborrow());
            if direction == Direction::Decrypt {
                sum ^= self.total(group.output_mut());
            }
        }
        sum
    }

    /// Replaces messages, and gives their tags as whole blocks, in a list of three.
    fn run<'l>(
        &self,
        threads: Threads,
        direction: Direction,
        messages: &mut [AeadMessage<'_>],
        lists: &'l mut Lists<3>,
    ) -> &'l [Block] {
        let count = messages.len();
        let (sums, tags) = lists.all().split_at_mut(2 * count);
        self.begin(messages, sums);
        let (firsts, hashes) = sums.split_at(count);
        for ((message, first), tag) in messages.iter_mut().zip(firsts).zip(&mut *tags) {
            let sum = self.replace_message(
                threads,
                direction,
                u128::from_be_bytes(*first),
                message.buffers.reborrow(),
            );
            *tag = sum.to_be_bytes();
        }
        self.enciphers.run_by(Threads::ONE, Source::Bytes, Buffers::in_place(tags.as_flattened_mut()));
        add(tags, hashes);
        tags
    }

    /// Replaces a message by the offset before its first block, and gives what its tag is enciphered from.
    fn replace_message(
        &self,
        threads: Threads,
        direction: Direction,
        first: u128,
        buffers: Buffers<'_>,
    ) -> u128 {
        let blocks = buffers.len_bytes() / BLOCK_BYTES;
        let (whole, rest) = buffers.split_at(blocks * BLOCK_BYTES);
        let mut sum = self.replace(threads, direction, first, whole);
        let mut offset = self.offsets.of(first, blocks);
        if !rest.is_empty() {
            offset = self.offsets.of_rest(first, blocks);
            sum ^= self.replace_rest(direction, offset, rest);
        }
        sum ^ offset ^ self.offsets.sum()
    }

    /// Replaces what is left of a message after its whole blocks, and gives its padded plaintext.
    fn replace_rest(&self, direction: Direction, offset: u128, mut rest: Buffers<'_>) -> u128 {
        let mut pad = WipedBytes(offset.to_be_bytes());
        self.enciphers.block(&mut pad);
        let input = Zeroizing::new(padded(rest.input()));
        let output = rest.output_mut();
        output.copy_from_slice(&input.to_be_bytes()[..output.len()]);
        output.iter_mut().zip(pad.iter()).for_each(|(byte, pad)| *byte ^= pad);
        match direction {
            Direction::Encrypt => *input,
            Direction::Decrypt => padded(output),
        }
    }
}

impl Aead for Ocb {
    fn tag_bytes(&self) -> usize {
        self.tag_bytes
    }

    fn admits(&self, message: &AeadMessage<'_>) -> Result<(), Error> {
        Mode::Ocb.admits_nonce(message.nonce.len())
    }

    fn plans(&self) -> &[Plan] {
        self.enciphers.plans()
    }

    by_groups!();
}

impl Groups for Ocb {
    fn threads(&self) -> Threads {
        self.enciphers.threads()
    }

    fn group_most(&self) -> usize {
        GROUP_MESSAGES
    }

    fn seal_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>]) {
        let mut lists = Lists::new(messages.len());
        let tags = self.run(threads, Direction::Encrypt, messages, &mut lists);
        for (message, tag) in messages.iter_mut().zip(tags) {
            message.tag = Tag::cut(tag, self.tag_bytes);
        }
    }

    fn open_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>], right: &mut [bool]) {
        if open_those_with_tags(self, threads, messages, right) {
            return;
        }
        let mut lists = Lists::new(messages.len());
        let tags = self.run(threads, Direction::Decrypt, messages, &mut lists);
        for ((message, tag), right) in messages.iter_mut().zip(tags).zip(right) {
            *right = Tag::cut(tag, self.tag_bytes) == message.tag;
            if !*right {
                wipe(message.buffers.output_mut());
            }
        }
    }
}

impl fmt::Debug for Ocb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ocb")
            .field("tag_bytes", &self.tag_bytes)
            .field("enciphers", &self.enciphers)
            .finish_non_exhaustive()
    }
}

/// Blocks that wait to be enciphered together, each with the place of the sum that it goes to. Wiped when dropped.
struct Waiting<'a> {
    enciphers: &'a Program,
    sums: &'a mut [Block],
    blocks: [Block; WAITING_MAX],
    places: [u16; WAITING_MAX],
    count: usize,
}

impl Waiting<'_> {
    fn push(&mut self, block: Block, place: usize) {
        if self.count == WAITING_MAX {
            self.go();
        }
        (self.blocks[self.count], self.places[self.count]) = (block, place as u16);
        self.count += 1;
    }

    /// Enciphers and adds them.
    fn go(&mut self) {
        let blocks = &mut self.blocks[..self.count];
        self.enciphers.run_by(Threads::ONE, Source::Bytes, Buffers::in_place(blocks.as_flattened_mut()));
        for (block, place) in blocks.iter().zip(self.places) {
            let total = &mut self.sums[usize::from(place)];
            *total = sum(*total, *block);
        }
        self.count = 0;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        wipe(self.blocks.as_flattened_mut());
    }
}

/// The lowest six bits of a nonce, which say where in the stretched block its offset begins.
const LOW_BITS: u8 = 63;

fn bottom(nonce: &[u8]) -> u32 {
    // Before an empty one stands a bit that is 1.
    u32::from(nonce.last().unwrap_or(&1) & LOW_BITS)
}

/// The offset before the first block (RFC 7253 §4.2): of the enciphered block of a nonce, and 64 bits more, 128 from bit `bottom` on.
fn stretched(top: &Block, bottom: u32) -> u128 {
    let top = u128::from_be_bytes(*top);
    let more = (top ^ top << 8) >> 64;
    top << bottom | (more << bottom) >> 64
}

/// Blocks from a number on, cut where numbers are multiples of `group_blocks`, each part with the number of its first.
fn in_groups(
    group_blocks: usize,
    mut number: usize,
    mut rest: Buffers<'_>,
) -> impl Iterator<Item = (usize, Buffers<'_>)> + Send {
    std::iter::from_fn(move || {
        let first = number;
        let left = group_blocks - first % group_blocks;
        let at = (left * BLOCK_BYTES).min(rest.len_bytes());
        number += left;
        (at > 0).then(|| (first, rest.take_front(at)))
    })
}

/// A block as a number; one that is not whole with a one and zeros behind it.
fn padded(bytes: &[u8]) -> u128 {
    let mut block = [0; BLOCK_BYTES];
    block[..bytes.len()].copy_from_slice(bytes);
    if let Some(end) = block.get_mut(bytes.len()) {
        *end = 0x80;
    }
    u128::from_be_bytes(block)
}
