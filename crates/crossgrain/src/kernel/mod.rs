//! The traits through which the rest of the engine runs kernels.
//!
//! A part is a step of a cipher, a run of steps, or the whole cipher. Two kinds of kernel compute parts:
//!
//! * A [`TilePart`] works in place on a tile in one representation. A plan chains several of them.
//! * A [`WholePart`] reads its source and writes its sink directly, without a tile. A kernel that also computes
//!   more of a mode implements the trait of that mode (see [`fused`]).
//!
//! A [`Source`] describes how a mode forms the cipher's input and combines the result with the data. A
//! [`Count`] writes counter blocks into a tile.
//!
//! The folder of each cipher (`cipher`) has its kernels. Its `Parts` give the names of the parts, their order
//! and the key schedule. Counters, tweaks, masks, GHASH and chains are in the folders of their modes
//! (`mode`).
//!
//! * `lanes` schedules chains of many messages; `own_keys` has the trait of kernels with a key per lane
//! * `search` has the traits of kernels that try keys, `comparison` their last step
//! * `serial` has the work of modes on single blocks
//! * `sum` XORs blocks

#[cfg(feature = "search")]
pub mod comparison;
pub mod fused;
pub(crate) mod lanes;
#[cfg(feature = "own-keys")]
pub mod own_keys;
pub mod search;
pub(crate) mod serial;
pub(crate) mod sum;

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

use self::serial::Serial;
use crate::arch::{Buffers, Features, SETUP_STACK_BYTES, STACK_BYTES, Tile, Wiped, each, wipe_stack};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Family, Key};
use crate::cipher::Entry;
use crate::mode::ctr::counter::Counter;
use crate::mode::gcm_siv::kernel::GcmSivJob;
use crate::mode::ocb::mask::Masks;
use crate::mode::xts::tweak::Tweaks;

/// The entry of a cipher family for the planner.
pub(crate) struct Parts {
    /// Returns the steps of a cipher in the order of encryption, each with the round whose key it belongs to.
    pub(crate) steps: fn(Cipher) -> Vec<(Part, usize)>,
    /// Parts that span several steps but not the whole cipher, each with its steps in the order of
    /// encryption.
    pub(crate) runs: &'static [(Part, &'static [Part])],
    /// Computes the key schedule, with these instructions if they help.
    pub(crate) expand: fn(&Key, Features) -> RoundKeys,
}

ciphers!(by_folder PARTS: Parts);

/// The blocks that a cipher's keys and round keys take.
pub fn search_sizes(cipher: Cipher) -> search::Sizes {
    let entry = Entry::of(cipher.family());
    search::Sizes {
        key: cipher.key_bytes().div_ceil(BLOCK_BYTES),
        round_keys: entry.round_key_blocks(cipher),
        last_keys: entry.last_keys,
        are_in_order_of_use: !entry.by_hand,
    }
}

/// A step of a cipher, or a run of steps that one variant computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub(crate) family: Family,
    /// Its names in encryption and in decryption.
    pub(crate) names: [&'static str; 2],
}

impl Part {
    /// The whole cipher as one part.
    pub const fn whole(family: Family) -> Self {
        let names = &Entry::of(family).names;
        Self { family, names: [names.encrypt, names.decrypt] }
    }

    /// The cipher family.
    pub const fn family(self) -> Family {
        self.family
    }

    /// The name in variant names.
    pub const fn name(self, direction: Direction) -> &'static str {
        self.names[direction as usize]
    }

    /// Whether the part is the same in both directions, such as AddRoundKey. It then has one name, and one
    /// variant serves both directions.
    pub fn is_own_inverse(self) -> bool {
        self.names[0] == self.names[1]
    }

    /// The steps that the part computes, in order.
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

/// The steps of a cipher, with each run of steps that `part` spans replaced by `part`.
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

/// A key, and its round keys in a form that only the kernels of its family know.
///
/// The round keys are computed when a kernel first asks for them. Kernels of AES instructions never do: they
/// expand the key where they keep their round keys, which takes less time and leaves less on the stack.
pub struct Keys<'a> {
    key: &'a Key,
    features: Features,
    /// Wiped when dropped.
    round_keys: OnceLock<RoundKeys>,
}

/// The round keys of one family. They stay at the same address when this value is moved.
pub(crate) type RoundKeys = Wiped<dyn Any + Send + Sync>;

/// A family's round keys.
pub(crate) fn boxed(round_keys: impl Any + Send + Sync) -> RoundKeys {
    Wiped::new(round_keys).as_dyn(|round_keys| round_keys)
}

impl<'a> Keys<'a> {
    /// The round keys of a key, to be computed by these instructions if they help.
    pub const fn of(key: &'a Key, features: Features) -> Self {
        Self { key, features, round_keys: OnceLock::new() }
    }

    /// The cipher of the key.
    pub const fn cipher(&self) -> Cipher {
        self.key.cipher()
    }

    /// The instructions that may be used.
    pub const fn features(&self) -> Features {
        self.features
    }

    /// The key, if its cipher belongs to this family.
    pub fn key_of(&self, family: Family) -> Option<&'a Key> {
        Some(self.key).filter(|key| key.cipher().family() == family)
    }

    /// The round keys in a family's form; `None` if they belong to another family.
    pub fn round_keys<K: Any>(&self) -> Option<&K> {
        self.round_keys.get_or_init(|| self.expanded()).downcast_ref()
    }

    /// Computes the key schedule.
    #[inline(never)]
    fn expanded(&self) -> RoundKeys {
        let family = self.key.cipher().family();
        let round_keys = (of_family(family).expand)(self.key, self.features);
        // Boxes that are allocated later would take parts of the key from the stack into their gaps. Described
        // ciphers have only copied the key so far. Their schedules wipe the stack themselves.
        if Entry::of(family).by_hand {
            wipe_stack::<STACK_BYTES>();
        } else {
            wipe_stack::<SETUP_STACK_BYTES>();
        }
        round_keys
    }
}

impl fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({}, secret)", self.key.cipher())
    }
}

/// How a mode forms the cipher's input, and which block it adds to the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// The input enters the cipher, and the result replaces it (ECB).
    Bytes,
    /// Counter blocks from this value on enter the cipher, wrapping at 2¹²⁸. The result is added to the input
    /// (CTR).
    Counter(Counter),
    /// A tweak is added to the input before the cipher and to the result (XTS).
    Tweaked(Tweaks<'a>),
    /// A mask is added to the input before the cipher and to the result (OCB).
    Masked(Masks<'a>),
    /// The input enters the cipher. The previous input block is added to the result; for the first block,
    /// that is this value (CBC decryption).
    Chained(Block),
    /// The previous input block enters the cipher; for the first block, that is this value. The result is
    /// added to the input (CFB decryption).
    Delayed(Block),
}

impl Source<'_> {
    /// The source for the blocks that follow these whole blocks of input. Call it before the input is
    /// overwritten.
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

    /// For the next input block: the block that enters the cipher, and the block that is added to the result.
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

    /// Whether the last input block may be partial: the mode then uses only the first bytes of the last
    /// result.
    pub const fn takes_partial_blocks(self) -> bool {
        matches!(self, Self::Counter(_) | Self::Delayed(_))
    }
}

/// Writes counter blocks into a tile in one representation, possibly with the first rounds already computed.
pub trait Count: Send + Sync {
    /// Begins a run on one thread. The returned object holds state that is worth keeping from bundle to
    /// bundle.
    fn begin(&self) -> Box<dyn Counting + '_>;
}

/// One thread's run of counter bundles.
pub trait Counting {
    /// Fills the tile with `blocks` counter blocks from `first` on, wrapping at 2¹²⁸.
    fn count(&mut self, first: Counter, tile: &mut Tile, scratch: &mut [Tile; 2], blocks: usize);
}

/// Consecutive parts of a cipher, bound to their round keys, which work on a tile in one representation.
pub trait TilePart: Send + Sync {
    /// Computes the parts in place on the first `blocks` blocks of the tile.
    fn run(&self, tile: &mut Tile, blocks: usize);
}

/// A whole cipher bound to its round keys. It reads the source and writes the sink without a tile between
/// them.
pub trait WholePart: Send + Sync {
    /// Computes any number of whole blocks. In CTR, the last block may be partial if
    /// [`WholePart::counts_bytes`].
    ///
    /// # Panics
    /// If the buffers are not a whole number of blocks long but should be.
    fn run(&self, source: Source<'_>, buffers: Buffers<'_>);

    /// Whether a run from a counter may end within a block. Otherwise the caller pads the last block.
    fn counts_bytes(&self) -> bool {
        false
    }

    /// Replaces a single block. For callers that need this result before they can form the next block.
    fn block(&self, block: &mut Block) {
        self.run(Source::Bytes, Buffers::in_place(block));
    }

    /// Runs work of a mode on single blocks in registers, if the kernel can. Otherwise it returns the work.
    /// `inverse` is the kernel for decryption, which some jobs need too.
    #[allow(private_interfaces, reason = "only modes call it")]
    fn serial<'j, 'a, 'b>(
        &self,
        _inverse: Option<&dyn WholePart>,
        job: Serial<'j, 'a, 'b>,
    ) -> Option<Serial<'j, 'a, 'b>> {
        Some(job)
    }

    /// Seals or opens a short message of GCM-SIV under the keys that the kernel's key derives, if the kernel
    /// can.
    #[allow(private_interfaces, reason = "only the mode calls it")]
    fn gcm_siv(&self, _job: &mut GcmSivJob<'_, '_>) -> bool {
        false
    }

    /// The round keys in the form of its family, for another kernel of this family.
    fn round_keys(&self) -> Option<&dyn Any> {
        None
    }

    /// Replaces the key by another key of the same cipher, for modes that derive a key per message. Returns
    /// whether the kernel supports this.
    fn rekey(&mut self, _key: &[u8]) -> bool {
        false
    }

    /// Whether its key set-up and its runs leave parts of the key in only a small part of the stack: see
    /// `arch::SETUP_STACK_BYTES`.
    fn is_shallow(&self) -> bool {
        false
    }
}
