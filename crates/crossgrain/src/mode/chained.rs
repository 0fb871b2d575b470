//! CBC, CFB and OFB (SP 800-38A §6.2 to 6.4): modes whose blocks are chained.
//!
//! Encrypting is serial within a message: one block's result is needed for the next. Many messages run side
//! by side, each in a lane. CBC and CFB decryption need only the ciphertext and are parallel.

use std::fmt;
use std::marker::PhantomData;

use zeroize::Zeroizing;

use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::exec::Program;
use crate::mode::Options;
use crate::part::Source;
use crate::part::chain::{Link, Strand};
use crate::plan::{Birth, Job, Plan};
use crate::word::{Buffers, wipe};

/// Cipher block chaining, over whole blocks.
///
/// An initialisation vector must be unpredictable and must not be used twice. Nothing is authenticated.
pub type Cbc = Chained<CbcMode>;

/// Cipher feedback of whole blocks (CFB-128), over any length.
///
/// An initialisation vector must not be used twice with a key. Nothing is authenticated.
pub type Cfb = Chained<CfbMode>;

/// Output feedback, over any length; decrypting is the same as encrypting.
///
/// An initialisation vector must not be used twice with a key. Nothing is authenticated.
pub type Ofb = Chained<OfbMode>;

/// What distinguishes a chained mode.
pub trait ChainedMode: Send + Sync + 'static {
    /// How messages are chained where that is serial.
    const LINK: Link;

    /// Whether the last block of a message may be a part of one.
    const TAKES_PARTIAL_BLOCKS: bool;

    /// The direction of the cipher in this direction of the mode.
    fn cipher_direction(direction: Direction) -> Direction;

    /// The source of a parallel job, where this direction is one.
    fn parallel(direction: Direction, iv: Block) -> Option<Source<'static>>;
}

/// [`Cbc`].
#[derive(Debug)]
pub struct CbcMode;

/// [`Cfb`].
#[derive(Debug)]
pub struct CfbMode;

/// [`Ofb`].
#[derive(Debug)]
pub struct OfbMode;

impl ChainedMode for CbcMode {
    const LINK: Link = Link::Cbc;
    const TAKES_PARTIAL_BLOCKS: bool = false;

    fn cipher_direction(direction: Direction) -> Direction {
        direction
    }

    fn parallel(direction: Direction, iv: Block) -> Option<Source<'static>> {
        (direction == Direction::Decrypt).then_some(Source::Chained(iv))
    }
}

impl ChainedMode for CfbMode {
    const LINK: Link = Link::Cfb;
    const TAKES_PARTIAL_BLOCKS: bool = true;

    fn cipher_direction(_direction: Direction) -> Direction {
        Direction::Encrypt
    }

    fn parallel(direction: Direction, iv: Block) -> Option<Source<'static>> {
        (direction == Direction::Decrypt).then_some(Source::Delayed(iv))
    }
}

impl ChainedMode for OfbMode {
    const LINK: Link = Link::Ofb;
    const TAKES_PARTIAL_BLOCKS: bool = true;

    fn cipher_direction(_direction: Direction) -> Direction {
        Direction::Encrypt
    }

    fn parallel(_direction: Direction, _iv: Block) -> Option<Source<'static>> {
        None
    }
}

/// What the next piece of a message is chained to: an initialisation vector as it is, then where the piece before ended.
#[derive(Clone, PartialEq, Eq)]
pub struct Chain {
    /// The last whole block, of what the mode chains blocks by.
    block: Block,
    /// What the next one begins with, if a piece ended within it: `within_bytes` of it.
    begun: Block,
    within_bytes: usize,
}

impl From<Block> for Chain {
    fn from(iv: Block) -> Self {
        Self { block: iv, begun: [0; BLOCK_BYTES], within_bytes: 0 }
    }
}

impl Chain {
    /// Notes the beginning of a block that a piece ends within, if there is any.
    fn begin(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.begun[..bytes.len()].copy_from_slice(bytes);
            self.within_bytes = bytes.len();
        }
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        // Of OFB it is keystream.
        wipe(&mut self.block);
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({} bytes into a block, secret)", self.within_bytes)
    }
}

/// A message, or a piece of one, with what it is chained to.
#[derive(Debug)]
pub struct Message<'a> {
    /// The initialisation vector; for a later piece of a message, what the piece before it left here.
    pub chain: Chain,
    /// Where it lies and where its result goes.
    pub buffers: Buffers<'a>,
}

/// A chained mode in one direction.
pub struct Chained<M> {
    program: Program,
    direction: Direction,
    mode: PhantomData<M>,
}

impl<M: ChainedMode> Chained<M> {
    /// Plans the mode and binds it to a key.
    ///
    /// # Errors
    /// As [`Program::new`], and [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key, direction: Direction, options: &Options) -> Result<Self, Error> {
        let job =
            Job { cipher: key.cipher(), direction: M::cipher_direction(direction), birth: Birth::Bytes };
        Ok(Self { program: options.program(job, key)?, direction, mode: PhantomData })
    }

    /// Encrypts or decrypts a message, or the next piece of it, and leaves in `chain` what the piece after it is
    /// chained to. A piece may end wherever a message may.
    ///
    /// # Errors
    /// [`Error::PartialBlock`] where the mode needs whole blocks; nothing is written then.
    pub fn apply(&self, chain: &mut Chain, buffers: Buffers<'_>) -> Result<(), Error> {
        let mut message = [Message { chain: chain.clone(), buffers }];
        let done = self.apply_many(&mut message);
        chain.clone_from(&message[0].chain);
        done
    }

    /// The same for independent messages of any lengths, which run side by side. Their buffers are used up.
    ///
    /// # Errors
    /// [`Error::PartialBlock`] if a message has a part of a block and the mode needs whole ones; nothing is
    /// written then.
    pub fn apply_many(&self, messages: &mut [Message<'_>]) -> Result<(), Error> {
        let partial = |message: &&Message<'_>| !message.buffers.len_bytes().is_multiple_of(BLOCK_BYTES);
        if let Some(message) = messages.iter().find(partial).filter(|_| !M::TAKES_PARTIAL_BLOCKS) {
            return Err(Error::PartialBlock { len_bytes: message.buffers.len_bytes() });
        }
        messages
            .iter_mut()
            .filter(|message| message.chain.within_bytes > 0)
            .for_each(|message| self.go_on(message));
        if M::parallel(self.direction, [0; BLOCK_BYTES]).is_some() {
            messages.iter_mut().for_each(|message| self.parallel(message));
        } else {
            self.serial(messages);
        }
        Ok(())
    }

    /// Fills the block that the piece before ended within, as far as this one goes.
    fn go_on(&self, Message { chain, buffers }: &mut Message<'_>) {
        let count = (BLOCK_BYTES - chain.within_bytes).min(buffers.len_bytes());
        let mut now = buffers.take_front(count);
        let mut key = Zeroizing::new(chain.block);
        self.program.run(Source::Bytes, Buffers::in_place(&mut key[..]));
        for at in 0..count {
            let (input, place) = (now.input()[at], chain.within_bytes + at);
            let output = input ^ key[place];
            chain.begun[place] = if self.chains_input() { input } else { output };
            now.output_mut()[at] = output;
        }
        chain.within_bytes += count;
        if chain.within_bytes == BLOCK_BYTES {
            (chain.block, chain.within_bytes) = (if M::LINK == Link::Ofb { *key } else { chain.begun }, 0);
        }
    }

    /// Whether blocks are chained by what comes in, rather than by what goes out or by keystream.
    fn chains_input(&self) -> bool {
        self.direction == Direction::Decrypt
    }

    fn parallel(&self, Message { chain, buffers }: &mut Message<'_>) {
        let Some(source) = M::parallel(self.direction, chain.block) else {
            return;
        };
        let (whole, tail) = buffers.input().as_chunks();
        if let Some(last) = whole.last() {
            chain.block = *last;
        }
        chain.begin(tail);
        self.program.run(source, buffers.take());
    }

    fn serial(&self, messages: &mut [Message<'_>]) {
        let (mut strands, mut tails): (Vec<_>, Vec<_>) = messages.iter_mut().map(strand_and_tail).unzip();
        self.program.chain(self.program.threads(), M::LINK, &mut strands);
        for (message, strand) in messages.iter_mut().zip(&strands) {
            message.chain.block = strand.state;
        }
        if tails.iter().any(|tail| !tail.is_empty()) {
            self.serial_tails(messages, &mut tails);
        }
    }

    /// What is left of messages after their whole blocks, padded to a block each.
    fn serial_tails(&self, messages: &mut [Message<'_>], tails: &mut [Buffers<'_>]) {
        let mut padded = vec![[0; BLOCK_BYTES]; tails.len()];
        for (block, tail) in padded.iter_mut().zip(&*tails) {
            block[..tail.len_bytes()].copy_from_slice(tail.input());
        }
        let strand = |(message, block): (&Message<'_>, _)| Strand {
            state: message.chain.block,
            data: Buffers::in_place(block),
        };
        let places = padded.iter_mut().map(|block| &mut block[..]);
        let mut strands: Vec<_> = messages.iter().zip(places).map(strand).collect();
        self.program.chain(self.program.threads(), M::LINK, &mut strands);
        for ((block, tail), message) in padded.iter().zip(tails).zip(messages) {
            let block = &block[..tail.len_bytes()];
            message.chain.begin(if self.chains_input() { tail.input() } else { block });
            tail.output_mut().copy_from_slice(block);
        }
        wipe(padded.as_flattened_mut());
    }

    /// The plans chosen, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        self.program.plans()
    }
}

fn strand_and_tail<'a>(message: &mut Message<'a>) -> (Strand<Buffers<'a>>, Buffers<'a>) {
    let whole = message.buffers.len_bytes() / BLOCK_BYTES * BLOCK_BYTES;
    let (blocks, tail) = message.buffers.take().split_at(whole);
    (Strand { state: message.chain.block, data: blocks }, tail)
}

impl<M> fmt::Debug for Chained<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chained").field("direction", &self.direction).field("program", &self.program).finish()
    }
}
