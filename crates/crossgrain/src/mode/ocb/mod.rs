//! OCB3 (RFC 7253): one pass of masked blocks, with the encrypted checksum of the plaintext as the tag.
//!
//! ```text
//! L_* = E(0)    L_$ = double(L_*)    L₀ = double(L_$)    Lⱼ₊₁ = double(Lⱼ)
//! Offset₀ = 128 bits of the stretched E(nonce block), from a bit that the nonce chooses     (§4.2)
//! for each whole block i = 1, 2, …, m:
//!     Offsetᵢ = Offsetᵢ₋₁ ^ L_ntz(i)             ntz: number of trailing zeros
//!     Cᵢ = Offsetᵢ ^ E(Pᵢ ^ Offsetᵢ)
//! Offset_* = Offsetₘ ^ L_*                       only if bytes are left
//! C_* = P_* ^ first bytes of E(Offset_*)
//! checksum = P₁ ^ … ^ Pₘ ^ (P_* padded by 10…0)
//! tag = E(checksum ^ last offset ^ L_$) ^ HASH(associated data)
//! ```
//!
//! HASH XORs E(block ^ offset) of all blocks of the associated data, with offsets from zero. Offsets are
//! big-endian integers.
//!
//! The offset of a block follows from its number, so groups of blocks run in any order and on any thread (see
//! `offsets` and `mask`). Groups are cut at multiples of their length from the start of the message, so
//! they keep the message's alignment.
//!
//! `open` decrypts before it can compare the tag. If the tag is wrong, it overwrites the output with zeros.

pub mod kernel;
pub mod mask;
mod offsets;
pub mod reference;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use zeroize::Zeroizing;

use self::offsets::{GROUP_BLOCKS, Offsets};
use super::aead::{Aead, Groups, SHORT_BYTES, Short, by_groups, open_those_with_tags};
use super::few::{Lists, add};
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use crate::arch::{Buffers, ClearRegisters, Features, Wiped, WipedBytes, wipe};
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::kernel::Source;
use crate::kernel::sum::{sum, total};
use crate::message::{AeadMessage, Tag};
use crate::mode::Options;
use crate::plan::{Fused, Plan};
use crate::run::{Program, Threads};

pub(super) const ENTRY: Entry = Entry {
    name: "ocb",
    summary: "Masked blocks with the sum of the plaintext for a tag: one pass",
    initial: Initial::Nonce { least: 1, usual: 12, most: NONCE_BYTES_MAX },
    lengths: Lengths::Any,
    keys: 1,
    cipher_use: CipherUse::BothWays,
    fused: Some(Fused::Ocb),
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

/// The longest nonce. The nonce block also holds a marker bit and seven bits for the length of the tag.
const NONCE_BYTES_MAX: usize = BLOCK_BYTES - 1;

/// Blocks of a long message that a thread takes at a time.
const PART_BLOCKS: usize = 8 * GROUP_BLOCKS;

/// Messages whose first and last blocks are encrypted together.
const GROUP_MESSAGES: usize = 64;

/// Blocks that are encrypted together for the headers of messages.
const WAITING_MAX: usize = 32;

/// OCB3: nonces of 1 to 15 bytes, and tags of 8, 12 or 16 bytes.
///
/// Never use a nonce twice with one key. Otherwise an attacker sees equal blocks at equal positions and can
/// forge messages. If the tag is wrong, `open` overwrites the output with zeros. In place, this also destroys
/// the ciphertext.
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
    offsets: Wiped<Offsets>,
    features: Features,
    tag_bytes: usize,
}

impl Ocb {
    /// OCB with 16-byte tags and the default options, bound to a key.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key) -> Result<Self, Error> {
        Self::with_options(key, BLOCK_BYTES, &Options::default())
    }

    /// OCB with tags of `tag_bytes` and these options, bound to a key. Variants and plans in the options
    /// apply to the direction of the cipher that they fit.
    ///
    /// # Errors
    /// [`Error::TagBytes`] unless tags have 8, 12 or 16 bytes, and as
    /// [`Ctr::with_options`](super::Ctr::with_options).
    pub fn with_options(key: &Key, tag_bytes: usize, options: &Options) -> Result<Self, Error> {
        let _clear = ClearRegisters;
        Mode::Ocb.admits_tag(tag_bytes)?;
        let features = options.limits()?.features;
        let keys = options.keys(key)?;
        let [encrypt, decrypt] = Direction::ALL.map(|direction| Mode::Ocb.job(key.cipher(), direction));
        let enciphers = options.for_job(encrypt, decrypt).program(encrypt, &keys)?;
        let deciphers = options.for_job(decrypt, encrypt).program(decrypt, &keys)?;
        let offsets = Offsets::new(&enciphers);
        enciphers.wipe_stack();
        Ok(Self { enciphers, deciphers, offsets, features, tag_bytes })
    }

    /// Writes the initial offset of each message (RFC 7253 §4.2) to `sums`, then HASH of each message's
    /// associated data (§4.1). `sums` must be zero on entry. All these blocks are independent, so they are
    /// encrypted together.
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

    /// The nonce block without its lowest six bits.
    fn nonce_block(&self, nonce: &[u8]) -> Block {
        let mut block = [0; BLOCK_BYTES];
        let (front, back) = block.split_at_mut(BLOCK_BYTES - nonce.len());
        back.copy_from_slice(nonce);
        front[0] = ((8 * self.tag_bytes % 128) << 1) as u8;
        front[front.len() - 1] |= 1;
        block[BLOCK_BYTES - 1] &= !LOW_BITS;
        block
    }

    /// The XOR of whole blocks.
    fn total(&self, blocks: &[u8]) -> u128 {
        u128::from_be_bytes(total(self.features, blocks))
    }

    /// Encrypts or decrypts the whole blocks of a message. The result is the XOR of the plaintext.
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

    /// The same for one part, after `before` blocks of the message. If a kernel also computes the checksum,
    /// it takes the part at once. Otherwise the part runs group by group, while each group is in L1.
    fn replace_part(&self, direction: Direction, first: u128, before: usize, part: Buffers<'_>) -> u128 {
        let program = match direction {
            Direction::Encrypt => &self.enciphers,
            Direction::Decrypt => &self.deciphers,
        };
        program.ran(part.len_bytes());
        if let Some(kernel) = program.ocb() {
            let masks = self.offsets.long_masks(first, before);
            return u128::from_be_bytes(kernel.run_with_checksum(masks, part));
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

    /// Encrypts or decrypts messages. The result is their tags as whole blocks, stored in the last of three
    /// lists.
    fn run<'l>(
        &self,
        threads: Threads,
        direction: Direction,
        messages: &mut [AeadMessage<'_>],
        lists: &'l mut Lists<3>,
    ) -> &'l [Block] {
        let count = messages.len();
        if count > 1 {
            self.enciphers.ran_many();
        }
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

    /// HASH of the associated data of a short message (RFC 7253 §4.1), and its initial offset.
    fn begin_short(&self, nonce: &[u8], aad: &[u8], blocks: &mut [Block]) -> (Block, Block) {
        blocks[0] = self.nonce_block(nonce);
        let (whole, rest) = aad.as_chunks::<BLOCK_BYTES>();
        for (i, (block, aad)) in blocks[1..].iter_mut().zip(whole).enumerate() {
            *block = sum(*aad, self.offsets.near(&[0; BLOCK_BYTES], i + 1));
        }
        let mut count = 1 + whole.len();
        if !rest.is_empty() {
            let offset = sum(self.offsets.near(&[0; BLOCK_BYTES], whole.len()), *self.offsets.rest());
            blocks[count] = sum(padded_block(rest), offset);
            count += 1;
        }
        self.encipher(&mut blocks[..count]);
        let hash = blocks[1..count].iter().fold([0; BLOCK_BYTES], |hash, block| sum(hash, *block));
        (hash, stretched(&blocks[0], bottom(nonce)).to_be_bytes())
    }

    fn encipher(&self, blocks: &mut [Block]) {
        self.enciphers.run_by(Threads::ONE, Source::Bytes, Buffers::in_place(blocks.as_flattened_mut()));
    }

    /// Encrypts or decrypts a message whose initial offset is `first`. The result is the block whose
    /// encryption gives the tag.
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

    /// Encrypts or decrypts the bytes after the last whole block. The result is their padded plaintext.
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

    by_groups!(short);
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

impl Short for Ocb {
    /// Independent blocks are encrypted together. The first run has the nonce block and the associated data.
    /// The second has the message, the pad of its incomplete block and, when sealing, the tag. When opening,
    /// the tag has a third run.
    fn run_short(&self, direction: Direction, message: &mut AeadMessage<'_>) -> Block {
        let AeadMessage { nonce, aad, buffers, .. } = message;
        let mut blocks = WipedBytes([0; SHORT_RUN_BLOCKS * BLOCK_BYTES]);
        let blocks = blocks.as_chunks_mut().0;
        let (hash, first) = self.begin_short(nonce, aad, blocks);
        let (input, rest) = buffers.input().as_chunks::<BLOCK_BYTES>();
        let (whole, rest_bytes) = (input.len(), rest.len());
        for (i, (block, input)) in blocks.iter_mut().zip(input).enumerate() {
            *block = sum(*input, self.offsets.near(&first, i + 1));
        }
        let mut offset = self.offsets.near(&first, whole);
        let padded_rest = WipedBytes(padded_block(rest));
        if rest_bytes > 0 {
            offset = sum(offset, *self.offsets.rest());
            blocks[whole] = offset;
        }
        let (tag_at, offset_and_last) =
            (whole + usize::from(rest_bytes > 0), sum(offset, *self.offsets.last()));
        if direction == Direction::Encrypt {
            blocks[tag_at] = sum(checksum(input, rest), offset_and_last);
            self.encipher(&mut blocks[..=tag_at]);
        } else {
            let ciphertext = Buffers::in_place(blocks[..whole].as_flattened_mut());
            self.deciphers.run_by(Threads::ONE, Source::Bytes, ciphertext);
            self.encipher(&mut blocks[whole..tag_at]);
        }
        let (output, rest) = buffers.output_mut().as_chunks_mut::<BLOCK_BYTES>();
        for (i, (block, output)) in blocks.iter().zip(&mut *output).enumerate() {
            *output = sum(*block, self.offsets.near(&first, i + 1));
        }
        let replaced_rest = WipedBytes(sum(*padded_rest, blocks[whole]));
        rest.copy_from_slice(&replaced_rest[..rest_bytes]);
        if direction == Direction::Decrypt {
            blocks[tag_at] = sum(checksum(output, rest), offset_and_last);
            self.encipher(&mut blocks[tag_at..=tag_at]);
        }
        sum(blocks[tag_at], hash)
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

/// Blocks of the longest run of a short message: those of the message or its associated data, and the pad of an
/// incomplete block and the tag, or the nonce block.
const SHORT_RUN_BLOCKS: usize = SHORT_BYTES / BLOCK_BYTES + 2;

/// The XOR of the plaintext's blocks, the incomplete one padded.
fn checksum(whole: &[Block], rest: &[u8]) -> Block {
    let rest = if rest.is_empty() { [0; BLOCK_BYTES] } else { padded_block(rest) };
    whole.iter().fold(rest, |total, block| sum(total, *block))
}

/// Blocks to be encrypted together, each with the index of the sum that its result is added to. Wiped when
/// dropped.
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

    /// Encrypts the blocks and adds the results to their sums.
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

/// The lowest six bits of a nonce. They select the first bit of the offset in the stretched block.
const LOW_BITS: u8 = 63;

fn bottom(nonce: &[u8]) -> u32 {
    // The byte before an empty nonce ends with the marker bit.
    u32::from(nonce.last().unwrap_or(&1) & LOW_BITS)
}

/// The initial offset (RFC 7253 §4.2): 128 bits from bit `bottom` on of the encrypted nonce block, extended
/// by 64 bits.
fn stretched(top: &Block, bottom: u32) -> u128 {
    let top = u128::from_be_bytes(*top);
    let more = (top ^ top << 8) >> 64;
    top << bottom | (more << bottom) >> 64
}

/// Cuts blocks at multiples of `group_blocks`. The first block has number `number`. Each part comes with the
/// number of its first block.
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

/// A block as an integer. A shorter one is padded with a one bit and zeros.
fn padded(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(padded_block(bytes))
}

/// The same as a block.
fn padded_block(bytes: &[u8]) -> Block {
    let mut block = [0; BLOCK_BYTES];
    block[..bytes.len()].copy_from_slice(bytes);
    if let Some(end) = block.get_mut(bytes.len()) {
        *end = 0x80;
    }
    block
}
