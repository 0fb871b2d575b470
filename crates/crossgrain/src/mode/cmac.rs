//! CMAC (SP 800-38B): a tag for a message, which whoever has no key can neither make nor change.
//!
//! The blocks of a message are chained and so serial; many messages run side by side.

use std::{fmt, slice};

use zeroize::Zeroizing;

use super::few::Few;
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
use crate::exec::{Program, Schedule, Threads};
use crate::mode::{Options, Tag};
use crate::part::Source;
use crate::part::chain::{Data, Rule, Strand};
use crate::part::tweak::double;
use crate::plan::{Birth, Job, Plan};
use crate::word::{Buffers, ClearRegisters, wipe};

/// CMAC, also called OMAC1.
///
/// ```
/// use crossgrain::mode::{Cmac, Tag};
/// use crossgrain::{Cipher, Key};
///
/// let cmac = Cmac::new(&Key::new(Cipher::Aes128, &[7; 16])?)?;
/// let tag = cmac.tag(b"meet at noon");
/// let received = tag.to_vec();
/// assert_eq!(cmac.tag(b"meet at noon"), Tag::try_from(&received[..])?); // in constant time
/// assert_ne!(cmac.tag(b"meet at nine"), tag);
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub struct Cmac {
    program: Program,
    /// K1 and K2 (SP 800-38B §6.1), for a last block that is whole and for one that is padded.
    /// They stay where they are when this is moved, so that no copies are left behind.
    last_keys: Box<Zeroizing<[u128; 2]>>,
}

impl Cmac {
    /// CMAC by the default options, bound to a key.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key) -> Result<Self, Error> {
        Self::with_options(key, &Options::default())
    }

    /// CMAC by these options, bound to a key.
    ///
    /// # Errors
    /// What is wrong with the options: [`Error::UnknownVariant`], [`Error::Unavailable`], [`Error::NoPlan`],
    /// [`Error::UnfitPlan`], or [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn with_options(key: &Key, options: &Options) -> Result<Self, Error> {
        Self::of(key.cipher(), &options.schedule(key)?, options)
    }

    /// The same from a key's schedule.
    pub(super) fn of(cipher: Cipher, schedule: &Schedule, options: &Options) -> Result<Self, Error> {
        let job = Job { cipher, direction: Direction::Encrypt, birth: Birth::Bytes };
        let program = options.program(job, schedule)?;
        let mut last_keys = Box::new(Zeroizing::new([0; 2]));
        let mut l = Zeroizing::new([0; BLOCK_BYTES]);
        program.run(Source::Bytes, Buffers::in_place(&mut l[..]));
        **last_keys = last_keys_of(&l);
        program.wipe_stack();
        Ok(Self { program, last_keys })
    }

    /// The tag of a message, of 16 bytes.
    pub fn tag(&self, message: &[u8]) -> Tag {
        let _clear = ClearRegisters;
        let mut tag = [[0; BLOCK_BYTES]];
        self.tags_after(self.program.threads(), &mut tag, &[message]);
        tag[0].into()
    }

    /// The tags of messages, which run side by side.
    pub fn tag_many(&self, messages: &[&[u8]]) -> Vec<Tag> {
        let _clear = ClearRegisters;
        let mut tags = vec![[0; BLOCK_BYTES]; messages.len()];
        self.tags_after(self.program.threads(), &mut tags, messages);
        tags.into_iter().map(Tag::from).collect()
    }

    /// Takes chains along strings of whole blocks.
    pub(super) fn absorb(&self, threads: Threads, states: &mut [Block], strings: &[&[u8]]) {
        absorb(&self.program, threads, states, strings);
    }

    /// The program that encrypts bytes.
    pub(super) const fn program(&self) -> &Program {
        &self.program
    }

    /// Replaces a first block by the chain after it.
    pub(super) fn chain(&self, block: &mut Block) {
        self.program.run(Source::Bytes, Buffers::in_place(block));
    }

    /// Replaces a block by the tag of a message that has no other.
    pub(super) fn tag_block(&self, block: &mut Block) {
        *block = self.last(&[0; BLOCK_BYTES], block);
        self.chain(block);
    }

    /// Overwrites the stack below, where runs leave parts of the key.
    pub(super) fn wipe_stack(&self) {
        self.program.wipe_stack();
    }

    /// Replaces states by the tags of messages that follow whole blocks whose chains have come there, or nothing where a state is zeros.
    ///
    /// An empty message counts as a last block of padding: right only where nothing came before it.
    pub(super) fn tags_after(&self, threads: Threads, states: &mut [Block], messages: &[&[u8]]) {
        let chains: Few<_> = messages.iter().map(|message| split_last(message).0).collect();
        absorb(&self.program, threads, states, &chains);
        for (state, message) in states.iter_mut().zip(messages) {
            *state = self.last(state, split_last(message).1);
        }
        self.program.run_by(threads, Source::Bytes, Buffers::in_place(states.as_flattened_mut()));
    }

    /// A chain's state with the last block.
    fn last(&self, state: &Block, last: &[u8]) -> Block {
        with_last(state, last, &self.last_keys)
    }

    /// How many messages run side by side on one thread.
    pub(super) fn lanes(&self) -> usize {
        self.program.lanes()
    }

    /// The plans chosen, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        self.program.plans()
    }
}

/// Takes chains of a program that encrypts bytes along strings of whole blocks, side by side.
pub(super) fn absorb(program: &Program, threads: Threads, states: &mut [Block], strings: &[&[u8]]) {
    if strings.iter().all(|string| string.is_empty()) {
        return;
    }
    if let ([state], &[string]) = (&mut *states, strings) {
        let mut strand = Strand { state: *state, data: Data::Absorbed(string) };
        program.chain(threads, Rule::Absorb, slice::from_mut(&mut strand));
        *state = strand.state;
        return wipe(&mut strand.state);
    }
    let places = states.iter().zip(strings);
    let mut strands: Vec<_> =
        places.map(|(state, data)| Strand { state: *state, data: Data::Absorbed(data) }).collect();
    program.chain(threads, Rule::Absorb, &mut strands);
    for (state, strand) in states.iter_mut().zip(&mut strands) {
        *state = strand.state;
        wipe(&mut strand.state);
    }
}

/// K1 and K2, of L, which a block of zeros is encrypted to (SP 800-38B §6.1).
pub(super) const fn last_keys_of(l: &Block) -> [u128; 2] {
    let whole = double(u128::from_be_bytes(*l));
    [whole, double(whole)]
}

/// A chain's state with the last block, padded where it needs that, and its key added.
pub(super) fn with_last(state: &Block, last: &[u8], [whole, padded]: &[u128; 2]) -> Block {
    let mut block = [0; BLOCK_BYTES];
    block[..last.len()].copy_from_slice(last);
    let key = match block.get_mut(last.len()) {
        None => whole,
        Some(end) => {
            *end = 0x80;
            padded
        }
    };
    (u128::from_be_bytes(*state) ^ u128::from_be_bytes(block) ^ key).to_be_bytes()
}

/// The whole blocks before the last block, and the last one, which is empty only in an empty message.
pub(super) fn split_last(message: &[u8]) -> (&[u8], &[u8]) {
    message.split_at(message.len().saturating_sub(1) / BLOCK_BYTES * BLOCK_BYTES)
}

impl fmt::Debug for Cmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cmac").field("program", &self.program).finish_non_exhaustive()
    }
}
