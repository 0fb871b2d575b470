//! CFB with segments of 8 bits and of 1 bit (SP 800-38A §6.3, s = 8 and s = 1).
//!
//! `register` has the steps, which also wide Rijndael uses. Encryption is serial within a message: a step waits for
//! the ciphertext of the step before it. Many messages are encrypted together, one block of each at a time.
//! Decryption needs only ciphertext, so the blocks of many steps run as one job of the cipher.
//!
//! The initial value is the first register. The register after a piece is its [`Chain`], and the last 16 bytes of
//! ciphertext determine it.

pub mod reference;
mod register;

use std::cmp::Reverse;
use std::fmt;

use zeroize::Zeroizing;

pub(crate) use self::register::{SegmentWork, follow};
use super::chained::{CFB, Chain, Message};
use super::registry::{Entry, Make, Mode, Request};
use super::unauthenticated::{Apply, Place};
use crate::arch::{Buffers, ClearRegisters};
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::kernel::Source;
use crate::mode::Options;
use crate::plan::Plan;
use crate::run::Program;

/// Cipher feedback of bytes (CFB-8), over any length.
///
/// The cipher runs once for each byte. An initialisation vector must not be used twice with one key. The message is
/// not authenticated.
///
/// ```
/// use crossgrain::mode::Cfb8;
/// use crossgrain::{Cipher, Direction, Key};
///
/// let key = Key::new(Cipher::Aes128, &[7; 16])?;
/// let mut data = *b"some secret text";
/// Cfb8::new(&key, Direction::Encrypt)?.apply(&mut [3; 16].into(), &mut data);
/// Cfb8::new(&key, Direction::Decrypt)?.apply(&mut [3; 16].into(), &mut data);
/// assert_eq!(&data, b"some secret text");
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub type Cfb8 = Segmented<8>;

/// Cipher feedback of bits (CFB-1), over whole bytes, from the most significant bit of each byte on.
///
/// The cipher runs once for each bit. An initialisation vector must not be used twice with one key. The message is
/// not authenticated.
pub type Cfb1 = Segmented<1>;

pub(super) const CFB8: Entry = Entry {
    name: "cfb8",
    summary: "Cipher feedback of bytes: any length, one block of the cipher for each byte",
    fused: None,
    make: Make::Unauthenticated(make::<8>),
    ..CFB
};

pub(super) const CFB1: Entry = Entry {
    name: "cfb1",
    summary: "Cipher feedback of bits: any length in bytes, one block of the cipher for each bit",
    make: Make::Unauthenticated(make::<1>),
    ..CFB8
};

fn make<const BITS: usize>(request: &Request<'_>) -> Result<Box<dyn Apply>, Error> {
    Ok(Box::new(Segmented::<BITS>::with_options(&request.key()?, request.direction, request.options)?))
}

/// CFB with segments of `BITS` bits, 1 or 8, in one direction.
pub struct Segmented<const BITS: usize> {
    program: Program,
    direction: Direction,
}

/// The blocks of steps that are decrypted together: whole bundles of every plan.
const BATCH_BLOCKS: usize = 512;

/// Batches in a piece for a thread.
const PIECE_BATCHES: usize = 16;

impl<const BITS: usize> Segmented<BITS> {
    const MODE: Mode = match BITS {
        1 => Mode::Cfb1,
        8 => Mode::Cfb8,
        _ => panic!("segments have 1 or 8 bits"),
    };

    /// Bytes that the cipher computes for each byte of a message.
    const WORK: usize = 8 / BITS * BLOCK_BYTES;

    /// The mode with the default options, bound to a key.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key, direction: Direction) -> Result<Self, Error> {
        Self::with_options(key, direction, &Options::default())
    }

    /// The mode with these options, bound to a key.
    ///
    /// # Errors
    /// Errors in the options: [`Error::UnknownVariant`], [`Error::Unavailable`], [`Error::NoPlan`],
    /// [`Error::UnfitPlan`], or [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn with_options(key: &Key, direction: Direction, options: &Options) -> Result<Self, Error> {
        let job = Self::MODE.job(key.cipher(), direction);
        Ok(Self { program: options.program(job, &options.keys(key)?)?, direction })
    }

    /// Replaces the key by another one of the same cipher. Options and plans stay. See
    /// [`Ecb::rekey`](super::Ecb::rekey).
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher or key size. The mode keeps its key then.
    pub fn rekey(&mut self, key: &Key) -> Result<(), Error> {
        self.program.take_key(key)
    }

    /// Encrypts or decrypts a message or its next piece. `chain` is left ready for the following piece, and must
    /// come from this mode or be an initialisation vector.
    #[inline]
    pub fn apply<'a>(&self, chain: &mut Chain, buffers: impl Into<Buffers<'a>>) {
        self.apply_next(chain, buffers.into());
    }

    fn apply_next(&self, chain: &mut Chain, buffers: Buffers<'_>) {
        let _clear = ClearRegisters;
        match self.direction {
            Direction::Encrypt => self.encrypt(chain.register(), buffers),
            Direction::Decrypt => self.decrypt(chain.register(), buffers),
        }
    }

    /// Encrypts or decrypts independent messages of any lengths together. Their buffers are empty afterwards.
    pub fn apply_many(&self, messages: &mut [Message<'_>]) {
        let _clear = ClearRegisters;
        match self.direction {
            Direction::Encrypt => self.encrypt_many(messages),
            Direction::Decrypt => {
                for Message { chain, buffers } in messages {
                    self.decrypt(chain.register(), buffers.take());
                }
            }
        }
    }

    fn encrypt(&self, register: &mut Block, buffers: Buffers<'_>) {
        self.program.ran(buffers.len_bytes());
        SegmentWork::<BITS, BLOCK_BYTES>::encrypt(register, buffers, |block| self.program.block(block));
    }

    /// Encrypts messages in groups of about one length, so that few end before the others of their group.
    fn encrypt_many(&self, messages: &mut [Message<'_>]) {
        self.program.ran_many();
        let len_bytes: usize = messages.iter().map(|message| message.buffers.len_bytes()).sum();
        let work_bytes = len_bytes.saturating_mul(Self::WORK);
        let threads = self.program.threads().for_bytes(work_bytes);
        let share = messages.len().div_ceil(threads.count()).clamp(1, self.program.lanes());
        let mut messages: Vec<_> = messages.iter_mut().collect();
        messages.sort_unstable_by_key(|message| Reverse(message.buffers.len_bytes()));
        threads.each(work_bytes, messages.chunks_mut(share), &|group| self.encrypt_together(group));
    }

    /// Encrypts messages side by side, the longest first.
    fn encrypt_together(&self, messages: &mut [&mut Message<'_>]) {
        if let [Message { chain, buffers }] = messages {
            return self.encrypt(chain.register(), buffers.take());
        }
        let mut blocks = Zeroizing::new(vec![[0; BLOCK_BYTES]; messages.len()]);
        let mut outputs = vec![0; messages.len()];
        let mut alive = messages.len();
        for at in 0.. {
            while alive > 0 && messages[alive - 1].buffers.len_bytes() == at {
                alive -= 1;
            }
            if alive == 0 {
                break;
            }
            let (messages, blocks) = (&mut messages[..alive], &mut blocks[..alive]);
            for step in 0..8 / BITS {
                for (block, message) in blocks.iter_mut().zip(&mut *messages) {
                    *block = *message.chain.register();
                }
                self.program.run(Source::Bytes, Buffers::in_place(blocks.as_flattened_mut()));
                for ((block, message), output) in blocks.iter().zip(&mut *messages).zip(&mut outputs) {
                    let input = message.buffers.input()[at];
                    SegmentWork::<BITS, BLOCK_BYTES>::encrypt_step(
                        message.chain.register(),
                        (input, step),
                        block,
                        output,
                    );
                }
            }
            for (message, output) in messages.iter_mut().zip(&outputs) {
                message.buffers.output_mut()[at] = *output;
            }
        }
        for message in messages {
            message.buffers.take();
        }
    }

    fn decrypt(&self, register: &mut Block, buffers: Buffers<'_>) {
        let work_bytes = buffers.len_bytes().saturating_mul(Self::WORK);
        let pieces = Pieces::<BITS> { register, rest: buffers };
        self.program
            .threads()
            .each(work_bytes, pieces, &|(mut register, piece)| self.decrypt_here(&mut register, piece));
    }

    /// Decrypts a piece on this thread.
    fn decrypt_here(&self, register: &mut Block, piece: Buffers<'_>) {
        // On the stack the blocks would take kernels below the part that is wiped after short messages.
        let count = BATCH_BLOCKS.min(piece.len_bytes().saturating_mul(8 / BITS));
        let mut blocks = Zeroizing::new(vec![[0; BLOCK_BYTES]; count]);
        SegmentWork::<BITS, BLOCK_BYTES>::decrypt(register, piece, &mut blocks, |blocks| {
            self.program.run(Source::Bytes, Buffers::in_place(blocks.as_flattened_mut()));
        });
    }

    /// The plans in use, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        self.program.plans()
    }
}

/// A ciphertext cut into pieces, each with the register before it. The register after a piece is read before the
/// piece is returned, and so before the piece is overwritten.
struct Pieces<'a, 'r, const BITS: usize> {
    register: &'r mut Block,
    rest: Buffers<'a>,
}

impl<'a, const BITS: usize> Iterator for Pieces<'a, '_, BITS> {
    type Item = (Block, Buffers<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let piece_bytes = PIECE_BATCHES * BATCH_BLOCKS * BITS / 8;
        let piece = self.rest.take_front(piece_bytes.min(self.rest.len_bytes()));
        let register = *self.register;
        follow(self.register, piece.input());
        (!piece.is_empty()).then_some((register, piece))
    }
}

impl<const BITS: usize> Apply for Segmented<BITS> {
    fn apply(&self, place: &mut Place, buffers: Buffers<'_>) -> Result<(), Error> {
        self.apply_next(&mut place.chain, buffers);
        Ok(())
    }

    fn plans(&self) -> &[Plan] {
        self.plans()
    }
}

impl<const BITS: usize> fmt::Debug for Segmented<BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segmented")
            .field("direction", &self.direction)
            .field("program", &self.program)
            .finish()
    }
}
