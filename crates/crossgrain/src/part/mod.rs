//! The steps of the ciphers, one file a representation, and the faces that all of them show.
//!
//! What a plan has to know of a family of ciphers, its folder says (`Parts`): its parts by name, their order, and the round keys that
//! they are bound to.

pub mod aes;
pub mod chain;
pub mod counter;
pub mod described;
#[cfg(feature = "search")]
pub mod described_search;
pub mod ghash;
mod lanes;
pub mod mask;
#[cfg(feature = "own-keys")]
pub mod own_keys;
#[cfg(feature = "wide")]
pub mod rijndael;
pub mod search;
#[cfg(feature = "serpent")]
pub mod serpent;
pub(crate) mod sum;
pub mod tweak;

use std::any::Any;
use std::fmt;

use self::chain::{Rule, Strand, by_blocks};
use self::counter::Counter;
use self::ghash::Ghash;
use self::mask::{LongMasks, Masks};
use self::tweak::Tweaks;
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Family, Key};
use crate::cipher::Entry;
use crate::message::AeadMessage;
use crate::word::{Buffers, Features, Tile, Wiped, each};

/// What plans have to know of a family of ciphers.
struct Parts {
    /// The steps of a cipher in order, as encryption has them, each with the round whose key it belongs to.
    steps: fn(Cipher) -> Vec<(Part, usize)>,
    /// Parts of several steps that are less than the whole cipher, each with these as encryption has them.
    runs: &'static [(Part, &'static [Part])],
    /// The key schedule, by these instructions where they help.
    expand: fn(&Key, Features) -> Keys,
}

ciphers!(by_folder PARTS: Parts);

/// A step of a cipher, or a run of steps that one variant computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    family: Family,
    /// What it is called when encrypting, and when decrypting.
    names: [&'static str; 2],
}

impl Part {
    /// The whole cipher as one part.
    pub const fn whole(family: Family) -> Self {
        let names = &Entry::of(family).names;
        Self { family, names: [names.encrypt, names.decrypt] }
    }

    /// The ciphers that it is a part of.
    pub const fn family(self) -> Family {
        self.family
    }

    /// The name in variant names.
    pub const fn name(self, direction: Direction) -> &'static str {
        self.names[direction as usize]
    }

    /// Whether it is the same in both directions, as the adding of a round key is: such a part has one name, and one variant for both.
    pub fn is_own_inverse(self) -> bool {
        self.names[0] == self.names[1]
    }

    /// The steps that it computes, in order.
    pub fn span(self, cipher: Cipher, direction: Direction) -> Vec<Self> {
        if self == Self::whole(self.family) {
            return steps(cipher, direction).into_iter().map(|(step, _)| step).collect();
        }
        let run = of_family(self.family).runs.iter().find(|(part, _)| *part == self);
        let mut span = run.map_or(vec![self], |(_, steps)| steps.to_vec());
        if direction == Direction::Decrypt {
            span.reverse();
        }
        span
    }
}

/// The steps of a cipher in order, each with the round whose key it belongs to.
pub fn steps(cipher: Cipher, direction: Direction) -> Vec<(Part, usize)> {
    let mut steps = (of_family(cipher.family()).steps)(cipher);
    if direction == Direction::Decrypt {
        steps.reverse();
    }
    steps
}

/// The steps of a cipher with every run that `part` spans taken as that part.
pub fn cut(cipher: Cipher, direction: Direction, part: Part) -> Vec<(Part, usize)> {
    let (steps, span) = (steps(cipher, direction), part.span(cipher, direction));
    let mut rest = &steps[..];
    let mut cut = Vec::new();
    while let [(step, round), ..] = *rest {
        let is_part = rest.iter().map(|(step, _)| step).take(span.len()).eq(&span);
        cut.push((if is_part { part } else { step }, round));
        rest = &rest[if is_part { span.len() } else { 1 }..];
    }
    cut
}

/// The round keys of one key, in the form that kernels of its family know. They stay where they are when this is moved, and are wiped when
/// it is dropped.
pub struct Keys(Wiped<dyn Any + Send + Sync>);

impl Keys {
    /// The key schedule of the key's cipher, by these instructions where they help.
    pub fn expand(key: &Key, features: Features) -> Self {
        (of_family(key.cipher().family()).expand)(key, features)
    }

    fn new(keys: impl Any + Send + Sync) -> Self {
        let keys: Box<dyn Any + Send + Sync> = Box::new(keys);
        Self(keys.into())
    }

    /// Those in a family's form; `None` if they are in another's.
    pub fn of<K: Any>(&self) -> Option<&K> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(secret)")
    }
}

/// Where a job's blocks are born, and what is added to them after the cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// In the input: the result replaces them (ECB).
    Bytes,
    /// In a counter, from this value on, wrapping at 2¹²⁸; the result is added to the input (CTR).
    Counter(Counter),
    /// In the input, to which a tweak is added both before the cipher and after it (XTS).
    Tweaked(Tweaks<'a>),
    /// In the input, to which a mask is added both before the cipher and after it (OCB).
    Masked(Masks<'a>),
    /// In the input; to the result is added the input one block earlier, this block coming first
    /// (CBC decryption).
    Chained(Block),
    /// In the input one block earlier, this block coming first; the result is added to the input
    /// (CFB decryption).
    Delayed(Block),
}

impl Source<'_> {
    /// The source of what follows these whole blocks of input, asked before they are replaced.
    #[must_use]
    pub fn after(self, input: &[u8]) -> Self {
        let blocks = input.len() / BLOCK_BYTES;
        let last = || input.last_chunk().copied();
        match self {
            Self::Bytes => Self::Bytes,
            Self::Counter(first) => Self::Counter(first.skip(blocks as u128)),
            Self::Tweaked(tweaks) => Self::Tweaked(tweaks.skip(blocks)),
            Self::Masked(masks) => Self::Masked(masks.skip(blocks)),
            Self::Chained(previous) => Self::Chained(last().unwrap_or(previous)),
            Self::Delayed(previous) => Self::Delayed(last().unwrap_or(previous)),
        }
    }

    /// What enters the cipher for the next block of input, and what is added to its result.
    pub fn around(self, input: Block) -> (Block, Block) {
        match self {
            Self::Bytes => (input, [0; BLOCK_BYTES]),
            Self::Counter(counter) => (counter.block(), input),
            Self::Tweaked(mut tweaks) => {
                let (tweak, _) = tweaks.next_sector();
                ((tweak ^ u128::from_le_bytes(input)).to_le_bytes(), tweak.to_le_bytes())
            }
            Self::Masked(masks) => {
                let mask = masks.next();
                (each!(i < 16 => input[i] ^ mask[i]), mask)
            }
            Self::Chained(previous) => (input, previous),
            Self::Delayed(previous) => (previous, input),
        }
    }

    /// Whether the last block of input may be a part of one, which takes no more than a part of a result.
    pub const fn takes_partial_blocks(self) -> bool {
        matches!(self, Self::Counter(_) | Self::Delayed(_))
    }
}

/// A way from a counter into a tile: blocks born in a representation, perhaps already encrypted.
pub trait Count: Send + Sync {
    /// Begins a run on one thread; what is worth keeping from bundle to bundle lives in it.
    fn begin(&self) -> Box<dyn Counting + '_>;
}

/// One thread's run of counter bundles.
pub trait Counting {
    /// Fills the tile with `blocks` counter blocks from `first` on, wrapping at 2¹²⁸.
    fn count(&mut self, first: Counter, tile: &mut Tile, scratch: &mut [Tile; 2], blocks: usize);
}

/// Some consecutive parts of a cipher, bound to their round keys, on a tile in one representation.
pub trait TilePart: Send + Sync {
    /// Computes the parts in place on the first `blocks` blocks of the tile.
    fn run(&self, tile: &mut Tile, blocks: usize);
}

/// How messages of GCM are sealed or opened.
#[derive(Clone, Copy, Debug)]
pub struct GcmWay<'a> {
    /// The GHASH that [`WholePart::prepare_gcm`] gave.
    pub ghash: &'a Ghash,
    /// Whether they are opened.
    pub opens: bool,
    /// Bytes in a tag.
    pub tag_bytes: usize,
    /// Ones for the bytes that a tag has of a block, and zeros.
    pub tag_kept: &'static Block,
}

/// A nonce of GCM whose counters begin with 1. Those of other nonces are secret, as what makes tags is: kernels look up what their
/// counters come to.
pub type GcmNonce = [u8; GcmWay::NONCE_BYTES];

impl GcmWay<'_> {
    /// The length of nonces that are counters themselves.
    pub const NONCE_BYTES: usize = 12;

    /// Messages that [`WholePart::gcm_short`] takes have no more bytes: the widest register's.
    pub const SHORT_BYTES_MAX: usize = 64;
}

/// A whole cipher, bound to its round keys, from source to sink without a tile between.
pub trait WholePart: Send + Sync {
    /// Computes any number of whole blocks.
    ///
    /// # Panics
    /// If the buffers are no whole number of blocks.
    fn run(&self, source: Source<'_>, buffers: Buffers<'_>);

    /// Replaces a single block, for who cannot give the next before this one is done.
    fn block(&self, block: &mut Block) {
        self.run(Source::Bytes, Buffers::in_place(block));
    }

    /// Takes a key of the same cipher in place of its own, and says whether it can: for modes with a key for each message.
    fn rekey(&mut self, _key: &[u8], _features: Features) -> bool {
        false
    }

    /// Computes whole blocks under OCB's masks, and gives the sum of the plaintext; nothing is done where no kernel does both. One that does
    /// is not run on [`Source::Masked`].
    fn run_summed(&self, _masks: LongMasks<'_>, _buffers: Buffers<'_>) -> Option<Block> {
        None
    }

    /// Prepares the kernel for GCM ([`WholePart::gcm`]), and gives GHASH under the key `h` with powers for the registers of
    /// that kernel. `None` if there is no such kernel, or no GHASH on registers of its width.
    fn prepare_gcm(&mut self, _h: &Block) -> Option<Ghash> {
        None
    }

    /// Seals a message of GCM with this nonce, or opens it, and says whether its tag is right. It is no longer than GCM allows. Of one whose
    /// tag is wrong, some may be decrypted.
    fn gcm(&self, _way: &GcmWay<'_>, _nonce: &GcmNonce, _message: &mut AeadMessage<'_>) -> bool {
        unreachable!("there is said to be no kernel")
    }

    /// Seals messages of GCM, or opens them, several side by side: those from the front on that are short and have nonces of 12 bytes.
    /// Says of how many, and, of those opened, whose tags are `right`.
    fn gcm_short(&self, _way: &GcmWay<'_>, _messages: &mut [AeadMessage<'_>], _right: &mut [bool]) -> usize {
        0
    }

    /// How many chains are best run side by side.
    fn lanes(&self) -> usize {
        1
    }

    /// Takes every chain `blocks` blocks further.
    fn chain(&self, rule: Rule, strands: &mut [&mut Strand<'_>], blocks: usize) {
        by_blocks(rule, &mut |states| self.run(Source::Bytes, states), 1, strands, blocks);
    }
}
