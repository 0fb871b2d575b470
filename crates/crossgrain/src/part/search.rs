//! Searching for a key: what is known of it, and the face of kernels that try a key a lane.
//!
//! Keys to be tried are sums of two: one of few *outer* keys, and one of an *inner* table that is prepared once and
//! used with every outer key. What a kernel begins from is worked out in blocks of bytes (`Start::of`), one key after
//! another, and brought into the kernel's representation by the conversions that blocks have too.
//! A search is one kernel (`SearchPart`), or a step after another on a batch of keys (`Step`, `KeyStep`).
//! Holds: what a kernel begins from is affine in the key where no byte is varied by both tables, so that
//! start(outer + inner) = start(outer) + start(inner) + start(0). That is why rounds whose inputs are single bytes of
//! the key can be done before the tables are added.

use std::fmt;

use zeroize::{Zeroize as _, Zeroizing};

use crate::block::{BLOCK_BYTES, Block, Direction};
use crate::convert::{ByteGroup, Group as _};
use crate::word::{ByteLanes, Isa as _, Kernel, each, wipe_room};

/// A block before and after the cipher, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The way from `input` to `output`.
    pub direction: Direction,
    /// What entered the cipher.
    pub input: Block,
    /// What it became.
    pub output: Block,
    /// The bits of `output` that are known.
    pub mask: Block,
}

impl Known {
    /// The same with the cipher in this direction; `None` if that needs all of the output, and not all is known.
    pub fn in_direction(self, direction: Direction) -> Option<Self> {
        let Self { input, output, mask, .. } = self;
        if direction == self.direction {
            return Some(self);
        }
        (mask == [0xff; BLOCK_BYTES]).then_some(Self { direction, input: output, output: input, mask })
    }
}

/// How often an inner table is going to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// Once, as keys of a list: it is made ready as fast as can be.
    Once,
    /// With many outer keys: all that depends on one of the two alone is done beforehand.
    Often,
}

impl Use {
    /// Both uses.
    pub const ALL: [Self; 2] = [Self::Often, Self::Once];

    /// Where keys come from that are used so: `mask` or `list`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Often => "mask",
            Self::Once => "list",
        }
    }
}

/// What a search does with a key, in order. A variant computes some of these steps, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The round keys of the key.
    Schedule,
    /// All rounds of the cipher on the known block.
    Rounds,
    /// Whether the result is the known one, as far as that is known.
    Comparison,
}

impl Step {
    /// All steps, in order.
    pub const ALL: [Self; 3] = [Self::Schedule, Self::Rounds, Self::Comparison];

    /// The name in variant names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Rounds => "rounds",
            Self::Comparison => "comparison",
        }
    }
}

/// Keys that go through the steps together, and what became of them. The secrets in it are wiped when it is dropped.
#[derive(Default)]
pub struct Batch {
    /// The keys, one after another.
    pub keys: Zeroizing<Vec<u8>>,
    /// The round keys of each, in the order in which the rounds take them.
    pub round_keys: Vec<Zeroizing<Vec<u8>>>,
    /// What the known block becomes under each.
    pub results: Vec<Block>,
    /// The places of the keys that may be right.
    pub found: Vec<usize>,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} bytes of keys, secret)", self.keys.len())
    }
}

/// A step of a search, bound to a cipher and a known block.
pub trait KeyStep: Send + Sync {
    /// Takes all keys of a batch one step further.
    fn run(&self, batch: &mut Batch);
}

/// A kernel for one known block. Answers are lanes that *may* have the key: it compares a part of the block.
pub trait SearchPart: Send + Sync {
    /// Keys that are tried together.
    fn lanes(&self) -> usize;

    /// An inner table of whole keys, one after another.
    ///
    /// # Panics
    /// If the keys are no whole number of keys of the cipher.
    fn inner(&self, keys: &[u8], usage: Use) -> Box<dyn Inner>;
}

/// Inner keys made ready.
pub trait Inner: Send + Sync {
    /// Number of keys.
    fn keys(&self) -> usize;

    /// Replaces the keys, in the memory that is there.
    ///
    /// # Panics
    /// As [`SearchPart::inner`].
    fn refill(&mut self, keys: &[u8], usage: Use);

    /// Tries the sums of one outer key and all inner ones; appends the inner key's number for each that may be the
    /// right one. `scratch` keeps memory from call to call.
    ///
    /// # Panics
    /// If the outer key has another length than the cipher's.
    fn search(&self, outer: &[u8], scratch: &mut Vec<u64>, found: &mut Vec<usize>);
}

/// What a kernel is to a table of keys.
pub(crate) trait Lanes: Send + Sync {
    /// What a bundle of keys begins from.
    type Start: Send + Sync;

    /// Keys in a bundle.
    fn lanes(&self) -> usize;

    /// Bytes in a key.
    fn key_bytes(&self) -> usize;

    /// What one key begins from, in [`START_BLOCKS`] blocks; those not needed stay as they are.
    fn start(&self, key: &[u8], usage: Use, blocks: &mut [Block; START_BLOCKS]);

    /// A bundle of such starts: for each of their blocks, that of all lanes one after another.
    fn load(&self, blocks: &[Vec<u8>; START_BLOCKS]) -> Self::Start;

    /// Tries all bundles with an outer start added; sets the bits of lanes that may have the key, from 64-bit word
    /// to 64-bit word, a bundle beginning a word. Whether there are any.
    fn run(
        &self,
        usage: Use,
        bundles: &[Self::Start],
        outer: &[Block; START_BLOCKS],
        found: &mut [u64],
    ) -> bool;

    /// The place in its bundle of the key in a lane.
    fn key_of(&self, lane: usize) -> usize;
}

/// Blocks of the longest start: a state, and eight words of a key.
pub(crate) const START_BLOCKS: usize = 3;

/// As many blocks as there are lanes, as bytes of the same place.
pub(crate) fn transposed<W: ByteLanes>(isa: W::Isa, blocks: &[u8]) -> [W; 16] {
    isa.enter(Transposed::<W>(isa, blocks))
}

struct Transposed<'a, W: ByteLanes>(W::Isa, &'a [u8]);

impl<W: ByteLanes> Kernel for Transposed<'_, W> {
    type Output = [W; 16];

    #[inline(always)]
    fn run(self) -> [W; 16] {
        let Self(isa, blocks) = self;
        let mut group = each!(i < 16 => W::load(isa, &blocks[i * W::BYTES..][..W::BYTES]));
        ByteGroup::transpose(isa, &mut group);
        group
    }
}

/// The inner table of a kernel.
struct Table<L: Lanes> {
    kernel: L,
    usage: Use,
    keys: usize,
    bundles: Vec<L::Start>,
    /// The start of a key of zeros.
    zero: [Block; START_BLOCKS],
    rows: [Vec<u8>; START_BLOCKS],
}

impl<L: Lanes + Clone + 'static> SearchPart for L {
    fn lanes(&self) -> usize {
        Lanes::lanes(self)
    }

    fn inner(&self, keys: &[u8], usage: Use) -> Box<dyn Inner> {
        let bundle_bytes = Lanes::lanes(self) * BLOCK_BYTES;
        let rows = std::array::from_fn(|_| vec![0; bundle_bytes]);
        let zero = [[0; BLOCK_BYTES]; START_BLOCKS];
        let mut table = Table { kernel: self.clone(), usage, keys: 0, bundles: Vec::new(), zero, rows };
        table.refill(keys, usage);
        Box::new(table)
    }
}

impl<L: Lanes> Drop for Table<L> {
    fn drop(&mut self) {
        wipe_room(&mut self.bundles);
        self.rows.zeroize();
    }
}

impl<L: Lanes> Inner for Table<L> {
    fn keys(&self) -> usize {
        self.keys
    }

    fn refill(&mut self, keys: &[u8], usage: Use) {
        let Self { kernel, rows, .. } = self;
        let (lanes, key_bytes) = (Lanes::lanes(kernel), kernel.key_bytes());
        assert!(keys.len().is_multiple_of(key_bytes));
        self.usage = usage;
        self.keys = keys.len() / key_bytes;
        kernel.start(&[0; 32][..key_bytes], usage, &mut self.zero);
        let bundles = self.keys.div_ceil(lanes);
        self.bundles.clear();
        if bundles > self.bundles.capacity() {
            wipe_room(&mut self.bundles);
            self.bundles.reserve_exact(bundles);
        }
        for bundle in keys.chunks(lanes * key_bytes) {
            for (lane, key) in bundle.chunks_exact(key_bytes).enumerate() {
                let mut start = [[0; BLOCK_BYTES]; START_BLOCKS];
                kernel.start(key, usage, &mut start);
                for (row, block) in rows.iter_mut().zip(&start) {
                    row[lane * BLOCK_BYTES..][..BLOCK_BYTES].copy_from_slice(block);
                }
            }
            self.bundles.push(kernel.load(rows));
        }
    }

    fn search(&self, outer: &[u8], scratch: &mut Vec<u64>, found: &mut Vec<usize>) {
        let Self { kernel, usage, keys, bundles, zero, .. } = self;
        assert_eq!(outer.len(), kernel.key_bytes());
        let mut start = [[0; BLOCK_BYTES]; START_BLOCKS];
        kernel.start(outer, *usage, &mut start);
        for (byte, zero) in start.as_flattened_mut().iter_mut().zip(zero.as_flattened()) {
            *byte ^= zero;
        }
        let words = Lanes::lanes(kernel).div_ceil(64);
        scratch.resize(bundles.len() * words, 0);
        if !kernel.run(*usage, bundles, &start, scratch) {
            return;
        }
        for (bundle, words) in scratch.chunks_exact(words).enumerate() {
            let lanes = (0..Lanes::lanes(kernel)).filter(|lane| words[lane / 64] >> (lane % 64) & 1 == 1);
            let numbers = lanes.map(|lane| bundle * Lanes::lanes(kernel) + kernel.key_of(lane));
            // Lanes beyond the last key hold remains.
            found.extend(numbers.filter(|number| number < keys));
        }
    }
}
