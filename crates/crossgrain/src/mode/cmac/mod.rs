//! CMAC (SP 800-38B): a tag by which the holder of the key detects changes of a message.
//!
//! ```text
//! L = E(0)    K1 = double(L)    K2 = double(K1)
//! state = 0
//! for each block B but the last:  state = E(state ^ B)
//! tag = E(state ^ B ^ K1)                       if the last block B is whole
//! tag = E(state ^ (B padded by 10…0) ^ K2)      otherwise, or if the message is empty
//! ```
//!
//! The loop is serial within a message. Therefore many messages run at once, one per lane. EAX and SIV use
//! the functions here.

pub(crate) mod reference;
pub(crate) mod serial;

use std::fmt;

use zeroize::Zeroizing;

use self::serial::{CmacJob, LastKeys, split_last};
use super::chained::chain::{ChainMessage, Data, Rule, SHORT_CHAIN_BYTES_MAX};
use super::xts::tweak::double;
use crate::arch::{Buffers, ClearRegisters, wipe};
use crate::block::{BLOCK_BYTES, Block, Error, Key};
use crate::kernel::serial::Serial;
use crate::kernel::sum::sum;
use crate::kernel::{Keys, Source};
use crate::mode::{Options, Tag};
use crate::plan::{Job, Plan};
use crate::run::{Program, Threads};

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
    /// Boxed, so that moving `Cmac` leaves no copies of them.
    last_keys: Box<Zeroizing<LastKeys>>,
}

impl Cmac {
    /// CMAC with the default options, bound to a key.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key) -> Result<Self, Error> {
        Self::with_options(key, &Options::default())
    }

    /// CMAC with these options, bound to a key.
    ///
    /// # Errors
    /// Errors in the options: [`Error::UnknownVariant`], [`Error::Unavailable`], [`Error::NoPlan`],
    /// [`Error::UnfitPlan`], or [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn with_options(key: &Key, options: &Options) -> Result<Self, Error> {
        Self::of(&options.keys(key)?, options)
    }

    /// CMAC under a key.
    pub(super) fn of(keys: &Keys<'_>, options: &Options) -> Result<Self, Error> {
        let program = options.program(Job::of_chains(keys.cipher()), keys)?;
        let mut cmac = Self { program, last_keys: Box::new(Zeroizing::new([[0; BLOCK_BYTES]; 2])) };
        cmac.set_last_keys();
        cmac.program.wipe_stack();
        Ok(cmac)
    }

    /// Replaces the key by another one of the same cipher. Plans stay. See [`Ecb::rekey`](super::Ecb::rekey).
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher or key size. CMAC keeps its key then.
    pub fn rekey(&mut self, key: &Key) -> Result<(), Error> {
        let replaced = self.take_key(key);
        Program::wipe_rekeyed_stack([&mut self.program], replaced)
    }

    /// [`Cmac::rekey`] for modes that wipe the stack themselves. Returns whether the program was bound again.
    #[inline(never)]
    pub(super) fn take_key(&mut self, key: &Key) -> Result<bool, Error> {
        let is_bound_again = self.program.replace_key(key)?;
        self.set_last_keys();
        Ok(is_bound_again)
    }

    /// Computes the keys of last blocks.
    #[inline(never)]
    fn set_last_keys(&mut self) {
        let mut l = Zeroizing::new([0; BLOCK_BYTES]);
        self.program.block(&mut l);
        **self.last_keys = last_keys_of(&l);
    }

    /// The 16-byte tag of a message.
    pub fn tag(&self, message: &[u8]) -> Tag {
        let _clear = ClearRegisters;
        let mut job = CmacJob { last_keys: &self.last_keys, message, tag: [0; BLOCK_BYTES] };
        self.program.serial(Serial::Cmac(&mut job));
        job.tag.into()
    }

    /// The tags of messages, computed together.
    pub fn tag_many(&self, messages: &[&[u8]]) -> Vec<Tag> {
        let _clear = ClearRegisters;
        let mut tags = vec![[0; BLOCK_BYTES]; messages.len()];
        self.tags_after(self.program.threads(), &mut tags, messages);
        tags.into_iter().map(Tag::from).collect()
    }

    /// Continues the chains of `states` over strings of whole blocks.
    pub(super) fn absorb(&self, threads: Threads, states: &mut [Block], strings: &[&[u8]]) {
        absorb(&self.program, threads, states, strings);
    }

    /// The program that encrypts bytes.
    pub(super) const fn program(&self) -> &Program {
        &self.program
    }

    /// The same, to wipe the stack after its key was replaced.
    pub(super) const fn program_mut(&mut self) -> &mut Program {
        &mut self.program
    }

    /// Encrypts a block. A first block becomes the chain's state after it.
    pub(super) fn chain(&self, block: &mut Block) {
        self.program.block(block);
    }

    /// Replaces a block by the tag of the message that consists of this block.
    pub(super) fn tag_block(&self, block: &mut Block) {
        *block = self.last(&[0; BLOCK_BYTES], block);
        self.chain(block);
    }

    /// Overwrites the stack below the caller, where runs leave parts of the key.
    pub(super) fn wipe_stack(&self) {
        self.program.wipe_stack();
    }

    /// Replaces each state by the tag of a message. The state is zero, or the chain's state after whole
    /// blocks that precede the message.
    ///
    /// An empty message is taken as an empty last block with padding. This is right only if no blocks precede
    /// it.
    pub(super) fn tags_after(&self, threads: Threads, states: &mut [Block], messages: &[&[u8]]) {
        let chains: Vec<_> = messages.iter().map(|message| split_last(message).0.as_flattened()).collect();
        absorb(&self.program, threads, states, &chains);
        for (state, message) in states.iter_mut().zip(messages) {
            *state = self.last(state, split_last(message).1);
        }
        self.program.run_by(threads, Source::Bytes, Buffers::in_place(states.as_flattened_mut()));
    }

    /// K1 and K2.
    pub(super) fn last_keys(&self) -> &LastKeys {
        &self.last_keys
    }

    /// The state XOR the last block and its key.
    fn last(&self, state: &Block, last: &[u8]) -> Block {
        with_last(state, last, &self.last_keys)
    }

    /// Messages that run together on one thread.
    pub(super) fn lanes(&self) -> usize {
        self.program.lanes()
    }

    /// The plans in use, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        self.program.plans()
    }
}

/// Continues chains over strings of whole blocks, many together. `program` encrypts bytes.
pub(super) fn absorb(program: &Program, threads: Threads, states: &mut [Block], strings: &[&[u8]]) {
    if strings.iter().all(|string| string.is_empty()) || short(program, threads, states, strings) {
        return;
    }
    let places = states.iter().zip(strings);
    let mut chains: Vec<_> =
        places.map(|(state, data)| ChainMessage { state: *state, data: Data::Absorbed(data) }).collect();
    program.chain(threads, Rule::Absorb, &mut chains);
    for (state, chain) in states.iter_mut().zip(&mut chains) {
        *state = chain.state;
        wipe(&mut chain.state);
    }
}

/// Continues chains over strings that all have the same few blocks, on this thread. Returns false for others, and if
/// the program has no kernel for them.
fn short(program: &Program, threads: Threads, states: &mut [Block], strings: &[&[u8]]) -> bool {
    let len_bytes = strings[0].len();
    len_bytes <= SHORT_CHAIN_BYTES_MAX
        && strings.iter().all(|string| string.len() == len_bytes)
        && !threads.pays(len_bytes * strings.len())
        && program.short_chains(
            (Rule::Absorb, len_bytes),
            states.iter_mut().zip(strings),
            |chains, (state, string)| chains.push_input(state, string),
        )
}

/// K1 and K2, from L, the encrypted block of zeros (SP 800-38B §6.1).
pub(super) const fn last_keys_of(l: &Block) -> LastKeys {
    let whole = double(u128::from_be_bytes(*l));
    [whole.to_be_bytes(), double(whole).to_be_bytes()]
}

/// The state XOR the last block, padded if it is not whole, and the key that belongs to it.
pub(super) fn with_last(state: &Block, last: &[u8], [whole, padded]: &LastKeys) -> Block {
    let mut block = [0; BLOCK_BYTES];
    block[..last.len()].copy_from_slice(last);
    let key = match block.get_mut(last.len()) {
        None => whole,
        Some(end) => {
            *end = 0x80;
            padded
        }
    };
    sum(sum(*state, block), *key)
}

impl fmt::Debug for Cmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cmac").field("program", &self.program).finish_non_exhaustive()
    }
}
