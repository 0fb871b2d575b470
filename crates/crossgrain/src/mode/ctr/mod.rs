//! Counter mode (SP 800-38A §6.5): Cᵢ = Pᵢ ^ E(first + i), for blocks i = 0, 1, … and a 128-bit counter.
//!
//! A position in the stream is a byte. Within a block, the part of the block is encrypted by way of a padded
//! copy.

pub(crate) mod counted;
pub mod counter;
pub(crate) mod reference;

use std::mem;

use self::counter::Counter;
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use super::unauthenticated::{Apply, Place};
use crate::arch::{Buffers, ClearRegisters, wipe};
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::kernel::Source;
use crate::mode::Options;
use crate::plan::Plan;
use crate::run::{Program, Threads};

pub(super) const ENTRY: Entry = Entry {
    name: "ctr",
    summary: "Counter mode: any length, and encrypting is decrypting",
    initial: Initial::Block,
    lengths: Lengths::Any,
    keys: 1,
    cipher_use: CipherUse::Counters,
    fused: None,
    parallel: Parallel::Both,
    any_block_size: true,
    tag_bytes: &[],
    aad_strings_max: 0,
    reuse: Reuse::Plaintexts,
    admits: every_cipher,
    wipes_forged: false,
    make: Make::Unauthenticated(|request| {
        Ok(Box::new(Ctr::with_options(&request.key()?, &request.iv, request.options)?))
    }),
};

/// Bytes of a long key stream that a thread takes at a time.
const PIECE_BYTES: usize = 4 * Buffers::ZEROS_BYTES;

/// An optional function that is called on each part of a key stream after it is written.
pub(crate) type Finish<'a> = Option<&'a (dyn Fn(&mut [u8]) + Sync)>;

/// CTR with a 128-bit counter that wraps at 2¹²⁸. Decryption is the same as encryption.
///
/// Never use a counter value twice with one key: choose initial counter blocks so that no two messages
/// overlap. The message is not authenticated.
///
/// ```
/// use crossgrain::mode::Ctr;
/// use crossgrain::{Cipher, Key};
///
/// let mut stream = Ctr::new(&Key::new(Cipher::Aes256, &[7; 32])?, &[0; 16])?;
/// let mut data = b"some secret text".to_vec();
/// stream.apply(&mut data); // any length; continues where it left off
/// let mut end = [0; 4];
/// stream.apply_at(12, (&data[12..], &mut end)); // from any byte on
/// assert_eq!(&end, b"text");
/// # Ok::<(), crossgrain::Error>(())
/// ```
#[derive(Debug)]
pub struct Ctr {
    program: Program,
    first: Counter,
    position_bytes: u128,
}

impl Ctr {
    /// CTR with the default options, bound to a key and an initial counter block. The block is a big-endian
    /// integer, as in the standard.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key, initial: &Block) -> Result<Self, Error> {
        Self::with_options(key, initial, &Options::default())
    }

    /// CTR with these options, bound to a key and an initial counter block.
    ///
    /// # Errors
    /// Errors in the options: [`Error::UnknownVariant`], [`Error::Unavailable`], [`Error::NoPlan`],
    /// [`Error::UnfitPlan`], or [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn with_options(key: &Key, initial: &Block, options: &Options) -> Result<Self, Error> {
        Self::from_counter(key, Counter::big_endian(u128::from_be_bytes(*initial)), options)
    }

    /// CTR with a little-endian counter that starts at 0. Random streams use it; it is not in SP 800-38A.
    pub(crate) fn little_endian(key: &Key, options: &Options) -> Result<Self, Error> {
        Self::from_counter(key, Counter::little_endian(0), options)
    }

    fn from_counter(key: &Key, first: Counter, options: &Options) -> Result<Self, Error> {
        let job = Mode::Ctr.job(key.cipher(), Direction::Encrypt);
        let program = options.program(job, &options.keys(key)?)?;
        Ok(Self { program, first, position_bytes: 0 })
    }

    /// Replaces the key by another one of the same cipher, and the initial counter block. The stream begins
    /// anew. Options and plans stay. See [`Ecb::rekey`](super::Ecb::rekey).
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher or key size. The mode keeps its key and its position
    /// then.
    pub fn rekey(&mut self, key: &Key, initial: &Block) -> Result<(), Error> {
        self.program.take_key(key)?;
        self.first = Counter::big_endian(u128::from_be_bytes(*initial));
        self.position_bytes = 0;
        Ok(())
    }

    /// Encrypts or decrypts the buffers with the next part of the stream.
    #[inline]
    pub fn apply<'a>(&mut self, buffers: impl Into<Buffers<'a>>) {
        self.apply_next(buffers.into());
    }

    fn apply_next(&mut self, buffers: Buffers<'_>) {
        let len_bytes = buffers.len_bytes() as u128;
        self.apply_from(self.position_bytes, buffers);
        self.position_bytes = self.position_bytes.wrapping_add(len_bytes);
    }

    /// Moves to a byte of the stream, counted from the initial counter block. Positions are modulo 2¹²⁸
    /// bytes, a sixteenth of the counter's range. Only seeking can reach this limit. If one call crosses it,
    /// the counter continues, but the position wraps.
    pub const fn seek(&mut self, position_bytes: u128) {
        self.position_bytes = position_bytes;
    }

    /// The byte of the stream at which [`Ctr::apply`] continues.
    pub const fn position_bytes(&self) -> u128 {
        self.position_bytes
    }

    /// Encrypts or decrypts the bytes at `position_bytes` of the stream.
    #[inline]
    pub fn apply_at<'a>(&self, position_bytes: u128, buffers: impl Into<Buffers<'a>>) {
        self.apply_from(position_bytes, buffers.into());
    }

    fn apply_from(&self, position_bytes: u128, buffers: Buffers<'_>) {
        let _clear = ClearRegisters;
        let block = self.first.skip(position_bytes / BLOCK_BYTES as u128);
        let within = (position_bytes % BLOCK_BYTES as u128) as usize;
        if within == 0 {
            self.program.run(Source::Counter(block), buffers);
        } else {
            self.apply_from_within(block, within, buffers);
        }
    }

    /// From byte `within` of a block on. Not inlined, so that whole blocks do not pay for its frame.
    #[inline(never)]
    fn apply_from_within(&self, block: Counter, within: usize, buffers: Buffers<'_>) {
        let (head, rest) = {
            let at = (BLOCK_BYTES - within).min(buffers.len_bytes());
            buffers.split_at(at)
        };
        self.apply_within(block, within, head);
        if !rest.is_empty() {
            self.program.run(Source::Counter(block.skip(1)), rest);
        }
    }

    /// Less than a block, from byte `within` of the block on.
    fn apply_within(&self, block: Counter, within: usize, mut part: Buffers<'_>) {
        let place = within..within + part.len_bytes();
        let mut copy = [0; BLOCK_BYTES];
        copy[place.clone()].copy_from_slice(part.input());
        self.program.run(Source::Counter(block), Buffers::in_place(&mut copy));
        part.output_mut().copy_from_slice(&copy[place]);
        wipe(&mut copy);
    }

    /// Writes the key stream, that is, encrypted zeros, from block `blocks` after the initial counter block
    /// on. Threads take parts of whole blocks. The thread that has written a part also calls `finish` on it.
    pub(crate) fn keystream(&self, blocks: u128, output: &mut [u8], finish: Finish<'_>) {
        let _clear = ClearRegisters;
        let first = self.first.skip(blocks);
        let len_bytes = output.len();
        let output = Buffers::in_place(output);
        // `finish` reads the part again, so it has to stay in a cache.
        let goes_past_caches = finish.is_none() && Buffers::streaming_stores_pay(len_bytes);
        let head_bytes = if goes_past_caches { output.bytes_to_line(BLOCK_BYTES) } else { 0 };
        let (head, rest) = output.split_at(head_bytes);
        let head = (!head.is_empty()).then_some(head);
        let pieces = head.into_iter().chain(rest.parts(PIECE_BYTES));
        let pieces = pieces.scan(0, |at, piece| Some((mem::replace(at, *at + piece.len_bytes()), piece)));
        self.program.threads().each(len_bytes, pieces, &|(at, piece)| {
            let mut first = first.skip((at / BLOCK_BYTES) as u128);
            for mut part in piece.parts(Buffers::ZEROS_BYTES) {
                let zeros = part.reborrow().with_zeros();
                let zeros = if goes_past_caches { zeros.past_caches() } else { zeros };
                self.program.run_by(Threads::ONE, Source::Counter(first), zeros);
                if let Some(finish) = finish {
                    finish(part.output_mut());
                }
                first = first.skip((Buffers::ZEROS_BYTES / BLOCK_BYTES) as u128);
            }
        });
    }

    /// The plans in use, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        self.program.plans()
    }
}

impl Apply for Ctr {
    fn apply(&self, place: &mut Place, buffers: Buffers<'_>) -> Result<(), Error> {
        self.apply_from(place.position_bytes, buffers);
        Ok(())
    }

    fn plans(&self) -> &[Plan] {
        self.plans()
    }
}
