//! CMAC (SP 800-38B): a tag for a message, which whoever has no key can neither make nor change.
//!
//! The blocks of a message are chained and so serial; many messages run side by side.

use std::fmt;

use zeroize::Zeroizing;

use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::exec::{Program, Threads};
use crate::mode::Options;
use crate::part::Source;
use crate::part::chain::Strand;
use crate::part::tweak::double;
use crate::plan::{Birth, Job, Plan};
use crate::word::{Buffers, wipe_stack};

/// CMAC, also called OMAC1.
pub struct Cmac {
    program: Program,
    /// K1 and K2 (SP 800-38B §6.1), for a last block that is whole and for one that is padded.
    last_keys: Zeroizing<[u128; 2]>,
}

impl Cmac {
    /// Plans CMAC and binds it to a key.
    ///
    /// # Errors
    /// As [`Program::new`], and [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key, options: &Options) -> Result<Self, Error> {
        let job = Job { cipher: key.cipher(), direction: Direction::Encrypt, birth: Birth::Bytes };
        let program = options.program(job, key)?;
        let mut l = Zeroizing::new([0; BLOCK_BYTES]);
        program.run(Source::Bytes, Buffers::in_place(&mut l[..]));
        wipe_stack();
        let k1 = double(u128::from_be_bytes(*l));
        Ok(Self { program, last_keys: Zeroizing::new([k1, double(k1)]) })
    }

    /// The tag of a message. Compare tags in constant time.
    pub fn tag(&self, message: &[u8]) -> Block {
        self.tag_many(&[message])[0]
    }

    /// The tags of messages, which run side by side.
    pub fn tag_many(&self, messages: &[&[u8]]) -> Vec<Block> {
        self.tags_from(self.program.threads(), [0; BLOCK_BYTES], messages)
    }

    /// The chain after a first block.
    pub(super) fn chained(&self, mut block: Block) -> Block {
        self.program.run(Source::Bytes, Buffers::in_place(&mut block));
        block
    }

    /// The tags of messages that follow whole blocks whose chain has come to `state`.
    ///
    /// An empty message counts as a last block of padding: right only where nothing came before it.
    pub(super) fn tags_from(&self, threads: Threads, state: Block, messages: &[&[u8]]) -> Vec<Block> {
        let chains = messages.iter().map(|message| split_last(message).0);
        let mut strands: Vec<_> = chains.map(|data| Strand { state, data }).collect();
        self.program.absorb(threads, &mut strands);
        let last =
            |(strand, message): (&Strand<&[u8]>, &&[u8])| self.last(strand.state, split_last(message).1);
        let mut tags: Vec<_> = strands.iter().zip(messages).map(last).collect();
        self.program.run_by(threads, Source::Bytes, Buffers::in_place(tags.as_flattened_mut()));
        tags
    }

    /// A chain's state with the last block, padded where it needs that, and its key added.
    fn last(&self, state: Block, last: &[u8]) -> Block {
        let mut block = [0; BLOCK_BYTES];
        block[..last.len()].copy_from_slice(last);
        let [whole, padded] = *self.last_keys;
        let key = match block.get_mut(last.len()) {
            None => whole,
            Some(end) => {
                *end = 0x80;
                padded
            }
        };
        (u128::from_be_bytes(state) ^ u128::from_be_bytes(block) ^ key).to_be_bytes()
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

/// The whole blocks before the last block, and the last one, which is empty only in an empty message.
fn split_last(message: &[u8]) -> (&[u8], &[u8]) {
    message.split_at(message.len().saturating_sub(1) / BLOCK_BYTES * BLOCK_BYTES)
}

impl fmt::Debug for Cmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cmac").field("program", &self.program).finish_non_exhaustive()
    }
}
