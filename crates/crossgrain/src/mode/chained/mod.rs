//! CBC, CFB and OFB (SP 800-38A §6.2 to 6.4): modes whose blocks are chained.
//!
//! ```text
//!         encryption               decryption               C₀ = O₀ = IV
//! CBC     Cᵢ = E(Pᵢ ^ Cᵢ₋₁)        Pᵢ = D(Cᵢ) ^ Cᵢ₋₁
//! CFB     Cᵢ = Pᵢ ^ E(Cᵢ₋₁)        Pᵢ = Cᵢ ^ E(Cᵢ₋₁)
//! OFB     Cᵢ = Pᵢ ^ Oᵢ             Pᵢ = Cᵢ ^ Oᵢ             Oᵢ = E(Oᵢ₋₁)
//! ```
//!
//! CBC and CFB decryption need only ciphertext and are parallel: they are jobs with the sources `Chained` and
//! `Delayed`. CBC and CFB encryption and OFB are serial within a message. They run many messages at once, one
//! per lane.
//!
//! A message may arrive in pieces. [`Chain`] keeps the state between pieces, even if a piece ends within a
//! block.

pub mod chain;
pub mod reference;
pub(crate) mod serial;

use std::marker::PhantomData;
use std::{fmt, slice};

use zeroize::Zeroizing;

use self::chain::{ChainMessage, Data, Link, Rule, SHORT_CHAIN_BYTES_MAX};
use super::registry::{
    CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Request, Reuse, every_cipher,
};
use super::unauthenticated::{Apply, Place};
use crate::arch::{Buffers, ClearRegisters, wipe};
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::kernel::Source;
use crate::mode::Options;
use crate::plan::{Fused, Plan};
use crate::run::Program;

/// Cipher block chaining, over whole blocks.
///
/// The initialisation vector must be unpredictable and must not be used twice. The message is not
/// authenticated.
///
/// ```
/// use crossgrain::mode::{Cbc, Message};
/// use crossgrain::{Cipher, Direction, Key};
///
/// let key = Key::new(Cipher::Aes128, &[7; 16])?;
/// let (encrypt, decrypt) = (Cbc::new(&key, Direction::Encrypt)?, Cbc::new(&key, Direction::Decrypt)?);
/// let mut messages = [[1; 48], [2; 48]];
/// // Encrypting is serial in a message, so many go side by side.
/// let [a, b] = &mut messages;
/// encrypt.apply_many(&mut [Message::new([3; 16], a), Message::new([4; 16], b)])?;
/// decrypt.apply(&mut [4; 16].into(), &mut messages[1])?;
/// assert_eq!(messages[1], [2; 48]);
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub type Cbc = Chained<CbcMode>;

/// Cipher feedback of whole blocks (CFB-128), over any length.
///
/// An initialisation vector must not be used twice with one key. The message is not authenticated.
pub type Cfb = Chained<CfbMode>;

/// Output feedback, over any length. Decryption is the same as encryption.
///
/// An initialisation vector must not be used twice with one key. The message is not authenticated.
pub type Ofb = Chained<OfbMode>;

pub(super) const CBC: Entry = Entry {
    name: "cbc",
    summary: "Cipher block chaining: whole blocks",
    initial: Initial::Block,
    lengths: Lengths::WholeBlocks,
    keys: 1,
    cipher_use: CipherUse::BothWays,
    fused: Some(Fused::Chains),
    parallel: Parallel::Decryption,
    any_block_size: true,
    tag_bytes: &[],
    aad_strings_max: 0,
    reuse: Reuse::EqualBeginnings,
    admits: every_cipher,
    wipes_forged: false,
    make: Make::Unauthenticated(make::<CbcMode>),
};

pub(super) const CFB: Entry = Entry {
    name: "cfb",
    summary: "Cipher feedback of whole blocks: any length",
    initial: Initial::Block,
    lengths: Lengths::Any,
    keys: 1,
    cipher_use: CipherUse::Encrypts,
    fused: Some(Fused::Chains),
    parallel: Parallel::Decryption,
    any_block_size: true,
    tag_bytes: &[],
    aad_strings_max: 0,
    reuse: Reuse::Parting,
    admits: every_cipher,
    wipes_forged: false,
    make: Make::Unauthenticated(make::<CfbMode>),
};

pub(super) const OFB: Entry = Entry {
    name: "ofb",
    summary: "Output feedback: any length, and encrypting is decrypting",
    initial: Initial::Block,
    lengths: Lengths::Any,
    keys: 1,
    cipher_use: CipherUse::Encrypts,
    fused: Some(Fused::Chains),
    parallel: Parallel::Neither,
    any_block_size: true,
    tag_bytes: &[],
    aad_strings_max: 0,
    reuse: Reuse::Plaintexts,
    admits: every_cipher,
    wipes_forged: false,
    make: Make::Unauthenticated(make::<OfbMode>),
};

fn make<M: ChainedMode>(request: &Request<'_>) -> Result<Box<dyn Apply>, Error> {
    Ok(Box::new(Chained::<M>::with_options(&request.key()?, request.direction, request.options)?))
}

/// The differences between chained modes, apart from their registry entries.
pub trait ChainedMode: Send + Sync + 'static {
    /// The mode.
    const MODE: Mode;

    /// The chaining rule for serial directions.
    #[doc(hidden)]
    const LINK: Link;

    /// The source of the job for parallel decryption, if the mode has it.
    #[doc(hidden)]
    fn source(iv: Block) -> Source<'static>;
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
    const MODE: Mode = Mode::Cbc;
    const LINK: Link = Link::Cbc;

    fn source(iv: Block) -> Source<'static> {
        Source::Chained(iv)
    }
}

impl ChainedMode for CfbMode {
    const MODE: Mode = Mode::Cfb;
    const LINK: Link = Link::Cfb;

    fn source(iv: Block) -> Source<'static> {
        Source::Delayed(iv)
    }
}

impl ChainedMode for OfbMode {
    const MODE: Mode = Mode::Ofb;
    const LINK: Link = Link::Ofb;

    /// Never called, because the mode is serial in both directions.
    fn source(_iv: Block) -> Source<'static> {
        Source::Bytes
    }
}

/// The state that links a piece of a message to the next one. It starts as the initialisation vector.
#[derive(Clone, PartialEq, Eq)]
pub struct Chain {
    /// The block that the next block is chained to.
    block: Block,
    /// The first `within_bytes` bytes of the next such block, if a piece ended within a block.
    begun: Block,
    within_bytes: usize,
}

impl From<Block> for Chain {
    fn from(iv: Block) -> Self {
        Self { block: iv, begun: [0; BLOCK_BYTES], within_bytes: 0 }
    }
}

impl Chain {
    /// The block as the register of a mode whose pieces end only between bytes of it.
    pub(super) const fn register(&mut self) -> &mut Block {
        &mut self.block
    }

    /// Keeps the start of a block in which a piece ends. It does nothing if `bytes` is empty.
    fn begin(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.begun[..bytes.len()].copy_from_slice(bytes);
            self.within_bytes = bytes.len();
        }
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        // In OFB this block is key stream.
        wipe(&mut self.block);
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({} bytes into a block, secret)", self.within_bytes)
    }
}

/// A message or a piece of one, with the state that it is chained to.
#[derive(Debug)]
pub struct Message<'a> {
    /// The initialisation vector. For a later piece, the chain that the piece before left here.
    pub chain: Chain,
    /// The input and the output.
    pub buffers: Buffers<'a>,
}

impl<'a> Message<'a> {
    /// A message under an initialisation vector, or its next piece under the chain that the piece before
    /// left.
    pub fn new(chain: impl Into<Chain>, buffers: impl Into<Buffers<'a>>) -> Self {
        Self { chain: chain.into(), buffers: buffers.into() }
    }
}

/// A chained mode in one direction.
pub struct Chained<M> {
    program: Program,
    direction: Direction,
    mode: PhantomData<M>,
}

impl<M: ChainedMode> Chained<M> {
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
        let job = M::MODE.job(key.cipher(), direction);
        Ok(Self { program: options.program(job, &options.keys(key)?)?, direction, mode: PhantomData })
    }

    /// Replaces the key by another one of the same cipher. Options and plans stay. See
    /// [`Ecb::rekey`](super::Ecb::rekey).
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher or key size. The mode keeps its key then.
    pub fn rekey(&mut self, key: &Key) -> Result<(), Error> {
        self.program.take_key(key)
    }

    /// Encrypts or decrypts a message or its next piece. `chain` is left ready for the following piece. A
    /// piece may end wherever a message may end.
    ///
    /// # Errors
    /// [`Error::PartialBlock`] if the mode needs whole blocks and the length is no multiple of a block.
    /// Nothing is written in this case.
    #[inline]
    pub fn apply<'a>(&self, chain: &mut Chain, buffers: impl Into<Buffers<'a>>) -> Result<(), Error> {
        self.apply_next(chain, buffers.into())
    }

    fn apply_next(&self, chain: &mut Chain, buffers: Buffers<'_>) -> Result<(), Error> {
        let _clear = ClearRegisters;
        Self::admit(buffers.len_bytes())?;
        let begins_a_block = chain.within_bytes == 0;
        // One call for both: of two, the compiler gives each a copy of the buffers (see `parallel`).
        let run: fn(&Self, &mut Chain, Buffers<'_>) =
            if begins_a_block && self.is_parallel() { Self::parallel } else { Self::apply_piece };
        run(self, chain, buffers);
        Ok(())
    }

    /// A piece that is serial or goes on within a block.
    #[inline(never)]
    fn apply_piece(&self, chain: &mut Chain, mut buffers: Buffers<'_>) {
        self.go_on(chain, &mut buffers);
        if self.is_parallel() {
            return self.parallel(chain, buffers);
        }
        self.serial_one(chain, &mut buffers);
        if !buffers.is_empty() {
            self.serial_tail(chain, buffers);
        }
    }

    /// Runs less than a block. Only the tail is made a message: a copy of the chain takes longer than a short message.
    #[inline(never)]
    fn serial_tail(&self, chain: &mut Chain, buffers: Buffers<'_>) {
        let mut tail = [Message::new(chain.clone(), buffers)];
        self.serial_tails(&mut tail);
        chain.clone_from(&tail[0].chain);
    }

    /// Encrypts or decrypts independent messages of any lengths together. Their buffers are empty afterwards.
    ///
    /// # Errors
    /// [`Error::PartialBlock`] if the mode needs whole blocks and a message has another length. Nothing is
    /// written in this case.
    pub fn apply_many(&self, messages: &mut [Message<'_>]) -> Result<(), Error> {
        let _clear = ClearRegisters;
        if !self.is_parallel() && self.short(messages) {
            return Ok(());
        }
        messages.iter().try_for_each(|message| Self::admit(message.buffers.len_bytes()))?;
        messages.iter_mut().for_each(|Message { chain, buffers }| self.go_on(chain, buffers));
        if self.is_parallel() {
            messages.iter_mut().for_each(|Message { chain, buffers }| self.parallel(chain, buffers.take()));
        } else {
            self.serial(messages);
        }
        Ok(())
    }

    fn is_parallel(&self) -> bool {
        M::MODE.is_parallel(self.direction)
    }

    /// Refuses lengths that the mode does not take.
    fn admit(len_bytes: usize) -> Result<(), Error> {
        match len_bytes.is_multiple_of(BLOCK_BYTES) || M::MODE.entry().lengths == Lengths::Any {
            true => Ok(()),
            false => Err(Error::PartialBlock { len_bytes }),
        }
    }

    /// Completes the block in which the previous piece ended, if it ended in one, as far as this piece reaches.
    #[inline(always)]
    fn go_on(&self, chain: &mut Chain, buffers: &mut Buffers<'_>) {
        if chain.within_bytes != 0 {
            self.go_on_within(chain, buffers);
        }
    }

    #[inline(never)]
    fn go_on_within(&self, chain: &mut Chain, buffers: &mut Buffers<'_>) {
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

    /// Whether blocks are chained by the input. Otherwise they are chained by the output, or in OFB by key
    /// stream.
    fn chains_input(&self) -> bool {
        self.direction == Direction::Decrypt
    }

    /// A piece whose blocks do not depend on each other's results.
    ///
    /// Not inlined, and its caller lends the buffers to nobody before, so that the program takes them where they are. A
    /// copy would read pairs of words right after they were stored one by one, which defeats store forwarding.
    #[inline(never)]
    fn parallel(&self, chain: &mut Chain, buffers: Buffers<'_>) {
        let source = M::source(chain.block);
        let (whole, tail) = buffers.input().as_chunks();
        if let Some(last) = whole.last() {
            chain.block = *last;
        }
        chain.begin(tail);
        self.program.run(source, buffers);
    }

    /// Runs messages that all have the same few whole blocks, on this thread. Returns false for others, and if the
    /// program has no kernel for them.
    fn short(&self, messages: &mut [Message<'_>]) -> bool {
        let Some(first) = messages.first() else { return true };
        let len_bytes = first.buffers.len_bytes();
        let is_alike = |message: &Message<'_>| {
            message.buffers.len_bytes() == len_bytes && message.chain.within_bytes == 0
        };
        let total_bytes = len_bytes.saturating_mul(messages.len());
        let has_run = len_bytes.is_multiple_of(BLOCK_BYTES)
            && (1..=SHORT_CHAIN_BYTES_MAX).contains(&len_bytes)
            && !self.program.threads().pays(total_bytes)
            && messages.iter().all(is_alike)
            && self.program.short_chains(
                (Rule::Replace(M::LINK), len_bytes),
                messages.iter_mut(),
                |chains, Message { chain, buffers }| chains.push(&mut chain.block, buffers),
            );
        if has_run {
            for message in messages {
                message.buffers.take();
            }
        }
        has_run
    }

    /// Runs the whole blocks of one message.
    fn serial_one(&self, chain: &mut Chain, buffers: &mut Buffers<'_>) {
        let mut piece = whole_blocks(chain, buffers);
        let pieces = slice::from_mut(&mut piece);
        self.program.chain(self.program.threads(), Rule::Replace(M::LINK), pieces);
        chain.block = piece.state;
    }

    fn serial(&self, messages: &mut [Message<'_>]) {
        if let [Message { chain, buffers }] = messages {
            self.serial_one(chain, buffers);
        } else {
            let mut pieces = Vec::with_capacity(messages.len());
            for Message { chain, buffers } in messages.iter_mut() {
                pieces.push(whole_blocks(chain, buffers));
            }
            self.program.chain(self.program.threads(), Rule::Replace(M::LINK), &mut pieces);
            for (message, piece) in messages.iter_mut().zip(pieces) {
                message.chain.block = piece.state;
            }
        }
        if messages.iter().any(|message| !message.buffers.is_empty()) {
            self.serial_tails(messages);
        }
    }

    /// Runs the incomplete last blocks of messages, each padded to a block.
    fn serial_tails(&self, messages: &mut [Message<'_>]) {
        let mut padded = vec![[0; BLOCK_BYTES]; messages.len()];
        for (block, message) in padded.iter_mut().zip(&*messages) {
            block[..message.buffers.len_bytes()].copy_from_slice(message.buffers.input());
        }
        let piece = |(message, block): (&Message<'_>, _)| ChainMessage {
            state: message.chain.block,
            data: Data::Replaced(Buffers::in_place(block)),
        };
        let places = padded.iter_mut().map(|block| &mut block[..]);
        let mut pieces: Vec<_> = messages.iter().zip(places).map(piece).collect();
        self.program.chain(self.program.threads(), Rule::Replace(M::LINK), &mut pieces);
        for (block, message) in padded.iter().zip(messages) {
            let mut tail = message.buffers.take();
            let block = &block[..tail.len_bytes()];
            message.chain.begin(if self.chains_input() { tail.input() } else { block });
            tail.output_mut().copy_from_slice(block);
        }
        wipe(padded.as_flattened_mut());
    }

    /// The plans in use, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        self.program.plans()
    }
}

impl<M: ChainedMode> Apply for Chained<M> {
    fn apply(&self, place: &mut Place, buffers: Buffers<'_>) -> Result<(), Error> {
        self.apply_next(&mut place.chain, buffers)
    }

    fn plans(&self) -> &[Plan] {
        self.plans()
    }
}

/// The whole blocks of a message as a piece. The buffers keep the bytes after them.
fn whole_blocks<'a>(chain: &Chain, buffers: &mut Buffers<'a>) -> ChainMessage<'a> {
    let whole_bytes = buffers.len_bytes() / BLOCK_BYTES * BLOCK_BYTES;
    ChainMessage { state: chain.block, data: Data::Replaced(buffers.take_front(whole_bytes)) }
}

impl<M> fmt::Debug for Chained<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chained").field("direction", &self.direction).field("program", &self.program).finish()
    }
}
