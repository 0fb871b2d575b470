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
pub(crate) mod serial;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use self::offsets::{GROUP_BLOCKS, Offsets};
use self::serial::{OcbBegin, OcbEnd, OcbNonce, OcbShort, SHORT_BYTES};
use super::aead::{Aead, Groups, Single, by_groups, open_right};
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use crate::arch::{Buffers, ClearRegisters, Features, Wiped};
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key, part_number};
use crate::kernel::Source;
use crate::kernel::serial::Serial;
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

/// Messages that a thread takes at a time.
const GROUP_MESSAGES: usize = 64;

const NONE: Block = [0; BLOCK_BYTES];

/// OCB3: nonces of 7 to 15 bytes ([`Options::short_nonces`] admits all from 1), and tags of 8, 12 or 16 bytes.
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
    nonce_bytes_min: usize,
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
        let nonce_bytes_min = Mode::Ocb.nonce_bytes_min(options);
        Ok(Self { enciphers, deciphers, offsets, features, tag_bytes, nonce_bytes_min })
    }

    /// Replaces the key by another one of the same cipher. Tag length, options and plans stay. See
    /// [`Ecb::rekey`](super::Ecb::rekey).
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher or key size. The mode keeps its key then.
    pub fn rekey(&mut self, key: &Key) -> Result<(), Error> {
        let replaced = self.take_key(key);
        let programs = [&mut self.enciphers, &mut self.deciphers];
        Program::wipe_rekeyed_stack(programs, replaced)
    }

    /// A separate function, so that its stack frame can be wiped. Returns whether programs were bound again.
    #[inline(never)]
    fn take_key(&mut self, key: &Key) -> Result<bool, Error> {
        let is_bound_again = self.enciphers.replace_key(key)? | self.deciphers.replace_key(key)?;
        self.offsets.set(&self.enciphers);
        Ok(is_bound_again)
    }

    /// The nonce block (RFC 7253 §4.2), and the bits that it leaves out.
    fn nonce(&self, nonce: &[u8]) -> OcbNonce {
        let nonce_bits = 8 * nonce.len() as u32;
        let number = part_number(nonce).swap_bytes().checked_shr(u128::BITS - nonce_bits).unwrap_or(0);
        let tag_bits = (8 * self.tag_bytes % 128) as u128;
        let block = tag_bits << 121 | 1 << nonce_bits | number;
        OcbNonce { block: block & !LOW_BITS, bottom: (block & LOW_BITS) as u32 }
    }

    /// Encrypts or decrypts the whole blocks of a message with offset 0 `first`. The result is the XOR of the
    /// plaintext.
    fn replace(&self, threads: Threads, direction: Direction, first: Block, buffers: Buffers<'_>) -> Block {
        if !threads.pays(buffers.len_bytes()) {
            return self.replace_part(direction, &first, 0, buffers);
        }
        let checksum = Mutex::new(NONE);
        let (len_bytes, parts) = (buffers.len_bytes(), in_groups(PART_BLOCKS, 0, buffers));
        threads.each(len_bytes, parts, &|(before, part)| {
            let of_part = self.replace_part(direction, &first, before, part);
            let mut checksum = checksum.lock().unwrap_or_else(PoisonError::into_inner);
            *checksum = sum(*checksum, of_part);
        });
        checksum.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for one part, after `before` blocks of the message. If a kernel also computes the checksum,
    /// it takes the part at once. Otherwise the part runs group by group, while each group is in L1.
    fn replace_part(&self, direction: Direction, first: &Block, before: usize, part: Buffers<'_>) -> Block {
        let program = self.program(direction);
        program.ran(part.len_bytes());
        if let Some(kernel) = program.ocb() {
            return kernel.run_with_checksum(&self.offsets.long_masks(first, before), part);
        }
        let mut checksum = NONE;
        for (before, mut group) in in_groups(GROUP_BLOCKS, before, part) {
            if direction == Direction::Encrypt {
                checksum = sum(checksum, total(self.features, group.input()));
            }
            let masks = self.offsets.masks(first, before);
            program.run_by(Threads::ONE, Source::Masked(masks), group.reborrow());
            if direction == Direction::Decrypt {
                checksum = sum(checksum, total(self.features, group.output_mut()));
            }
        }
        checksum
    }

    /// The nonce and the associated data, then whole blocks, then the end.
    fn run_in_three(&self, threads: Threads, direction: Direction, message: &mut AeadMessage<'_>) -> Block {
        let (constants, opens) = (self.offsets.constants(), direction == Direction::Decrypt);
        let nonce = self.nonce(message.nonce);
        let mut begin = OcbBegin { constants, nonce, message, offset: NONE, hash: NONE };
        self.enciphers.serial(Serial::OcbBegin(&mut begin));
        let OcbBegin { offset: first, hash, .. } = begin;
        let blocks = message.buffers.len_bytes() / BLOCK_BYTES;
        let (whole, buffers) = message.buffers.reborrow().split_at(blocks * BLOCK_BYTES);
        let checksum = self.replace(threads, direction, first, whole);
        let steps = self.offsets.steps_to(blocks);
        let mut end = OcbEnd { constants, opens, buffers, first, steps, checksum, hash, tag: NONE };
        self.enciphers.serial(Serial::OcbEnd(&mut end));
        end.tag
    }

    const fn program(&self, direction: Direction) -> &Program {
        match direction {
            Direction::Encrypt => &self.enciphers,
            Direction::Decrypt => &self.deciphers,
        }
    }
}

impl Aead for Ocb {
    fn tag_bytes(&self) -> usize {
        self.tag_bytes
    }

    fn admits(&self, message: &AeadMessage<'_>) -> Result<(), Error> {
        Mode::Ocb.admits_nonce(self.nonce_bytes_min, message.nonce)
    }

    fn plans(&self) -> &[Plan] {
        self.enciphers.plans()
    }

    by_groups!(single);
}

impl Groups for Ocb {
    fn threads(&self) -> Threads {
        self.enciphers.threads()
    }

    fn group_most(&self) -> usize {
        GROUP_MESSAGES
    }

    fn seal_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>]) {
        for message in messages {
            message.tag = Tag::cut(&self.run_single(threads, Direction::Encrypt, message), self.tag_bytes);
        }
    }

    fn open_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>], right: &mut [bool]) {
        for (message, right) in messages.iter_mut().zip(right) {
            *right = message.tag.len_bytes() == self.tag_bytes && open_right(self, threads, message);
        }
    }
}

impl Single for Ocb {
    fn run_single(&self, threads: Threads, direction: Direction, message: &mut AeadMessage<'_>) -> Block {
        if message.buffers.len_bytes() <= SHORT_BYTES {
            let nonce = self.nonce(message.nonce);
            let (constants, opens) = (self.offsets.constants(), direction == Direction::Decrypt);
            let mut job = OcbShort { constants, opens, nonce, message, tag: NONE };
            self.enciphers.serial_both_ways(&self.deciphers, Serial::OcbShort(&mut job));
            return job.tag;
        }
        self.run_in_three(threads, direction, message)
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

/// The lowest six bits of a nonce. They choose the first bit of the offset in the stretched block.
const LOW_BITS: u128 = 63;

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
