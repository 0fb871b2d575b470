//! Key search: the known block, and the traits of kernels that try one key per lane.
//!
//! Each candidate key is a sum of two: one of a few *outer* keys, and one key of an *inner* table. The table
//! is prepared once and used with every outer key. A kernel begins with a start, which is computed from a
//! key. Starts are computed in byte blocks, key by key (`Lanes::start`), and brought into the kernel's
//! representation by the usual conversions of blocks.
//!
//! A search is either one kernel ([`SearchPart`]) or a sequence of steps on a batch of keys ([`Step`],
//! [`KeyStep`]).
//!
//! Invariant: a start is affine in the key if no byte is varied by both tables: start(outer + inner) =
//! start(outer) + start(inner) + start(0). For this reason, rounds whose inputs are single key bytes can be
//! computed before the tables are added.

use std::fmt;
use std::ops::Range;

use zeroize::Zeroize as _;

use crate::arch::{ByteLanes, Isa as _, Kernel, TILE_BYTES, Tile, each, wipe_room};
use crate::block::{BLOCK_BYTES, Block, Direction};
use crate::layout::convert::{ByteGroup, Group as _};

/// A block of `BYTES` bytes before and after the cipher, with a mask of the known bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known<const BYTES: usize = BLOCK_BYTES> {
    /// The direction that leads from `input` to `output`.
    pub direction: Direction,
    /// The block that entered the cipher.
    pub input: [u8; BYTES],
    /// The cipher's result.
    pub output: [u8; BYTES],
    /// The bits of `output` that are known.
    pub mask: [u8; BYTES],
}

impl Known {
    /// The same pair with the cipher in this direction. `None` if that needs the whole output, but only a
    /// part is known.
    pub fn in_direction(self, direction: Direction) -> Option<Self> {
        let Self { input, output, mask, .. } = self;
        if direction == self.direction {
            return Some(self);
        }
        (mask == [0xff; BLOCK_BYTES]).then_some(Self { direction, input: output, output: input, mask })
    }
}

/// How often an inner table will be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableReuse {
    /// Once, like the keys of a list. The table is prepared as fast as possible.
    Once,
    /// With many outer keys. All work that depends on only one of the two keys is done in advance.
    Often,
}

impl TableReuse {
    /// Both uses.
    pub const ALL: [Self; 2] = [Self::Often, Self::Once];

    /// The source of keys that are used this way: `mask` or `list`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Often => "mask",
            Self::Once => "list",
        }
    }
}

/// The parts of a search on a key. A variant computes one of them. `Rounds` is both halves of the rounds in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Computes the round keys of the key.
    Schedule,
    /// Computes all rounds of the cipher on the known block.
    Rounds,
    /// Computes all rounds but the last few.
    FirstRounds,
    /// Computes the last rounds, of which only some bytes are needed: two, one of Kuznyechik, four of SM4, eight of
    /// Serpent.
    LastRounds,
    /// Compares the result with the known bits.
    Comparison,
}

impl Step {
    /// All steps.
    pub const ALL: [Self; 5] =
        [Self::Schedule, Self::Rounds, Self::FirstRounds, Self::LastRounds, Self::Comparison];

    /// The steps of a search that cannot be divided further, in order.
    pub const SMALLEST: [Self; 4] = [Self::Schedule, Self::FirstRounds, Self::LastRounds, Self::Comparison];

    /// The name in variant names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Rounds => "rounds",
            Self::FirstRounds => "first-rounds",
            Self::LastRounds => "last-rounds",
            Self::Comparison => "comparison",
        }
    }

    /// The smallest steps that this one consists of.
    pub const fn span(self) -> &'static [Self] {
        match self {
            Self::Schedule => &[Self::Schedule],
            Self::Rounds => &[Self::FirstRounds, Self::LastRounds],
            Self::FirstRounds => &[Self::FirstRounds],
            Self::LastRounds => &[Self::LastRounds],
            Self::Comparison => &[Self::Comparison],
        }
    }
}

/// The number of keys that fill a tile: each key, each round key and each result is a block of it.
pub const BATCH_KEYS: usize = TILE_BYTES / BLOCK_BYTES;

/// Keys that go through the steps together, with their intermediate values. Each tile has one block for each
/// key, in the representation of the step that reads it next. The secrets are wiped when this is dropped.
pub struct Batch {
    /// The number of keys: whole bundles of every representation in the plan, at most [`BATCH_KEYS`].
    pub keys: usize,
    /// Bytes 0 to 15 of each key, and bytes 16 to 31, with zeros after short keys.
    pub key: [Box<Tile>; 2],
    /// The round keys. The tile with index i has bytes 16·i to 16·i + 15 of each schedule.
    pub round_keys: Vec<Box<Tile>>,
    /// The known block under each key, as far as it has been computed.
    pub state: Box<Tile>,
    /// The indices of the keys that may be right.
    pub found: Vec<usize>,
}

impl Batch {
    /// A batch with room for this many blocks of round keys.
    pub fn new(round_key_blocks: usize) -> Self {
        let round_keys = std::iter::repeat_with(Box::default).take(round_key_blocks).collect();
        Self { keys: 0, key: Default::default(), round_keys, state: Box::default(), found: Vec::new() }
    }

    /// All tiles.
    pub fn tiles(&mut self) -> impl Iterator<Item = &mut Box<Tile>> {
        self.key.iter_mut().chain(&mut self.round_keys).chain([&mut self.state])
    }

    /// Calls a function with each tile that has values for the smallest step with this index, before it runs.
    pub fn each_live(
        &mut self,
        step: usize,
        sizes: Sizes,
        direction: Direction,
        mut convert: impl FnMut(&mut Box<Tile>),
    ) {
        let Self { key, round_keys, state, .. } = self;
        match step {
            0 => key[..sizes.key].iter_mut().for_each(convert),
            1 => round_keys.iter_mut().for_each(convert),
            2 => {
                round_keys[sizes.of_last_rounds(direction)].iter_mut().for_each(&mut convert);
                convert(state);
            }
            _ => convert(state),
        }
    }
}

/// Blocks that a cipher's keys and round keys take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Blocks of a key, of which the last may be cut.
    pub key: usize,
    /// Blocks of the round keys.
    pub round_keys: usize,
    /// Blocks of them that the last rounds take.
    pub last_keys: usize,
    /// Whether round keys are in the order in which a direction uses them. Otherwise decryption uses them in
    /// reverse.
    pub are_in_order_of_use: bool,
}

impl Sizes {
    /// Blocks that a conversion before the smallest step with this index moves.
    pub const fn live(self, step: usize) -> usize {
        match step {
            0 => self.key,
            1 => self.round_keys,
            2 => self.last_keys + 1,
            _ => 1,
        }
    }

    /// The blocks of the round keys that the last rounds take.
    pub const fn of_last_rounds(self, direction: Direction) -> Range<usize> {
        match direction {
            Direction::Decrypt if !self.are_in_order_of_use => 0..self.last_keys,
            _ => self.round_keys - self.last_keys..self.round_keys,
        }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} keys, secret)", self.keys)
    }
}

/// A step of a search, bound to a cipher and a known block.
pub trait KeyStep: Send + Sync {
    /// Runs the step on all keys of a batch.
    fn run(&self, batch: &mut Batch);
}

/// A kernel for one known block. It reports lanes that *may* have the key, because it compares only a part of
/// the block.
pub trait SearchPart: Send + Sync {
    /// The number of keys that are tried together.
    fn lanes(&self) -> usize;

    /// Prepares an inner table of whole keys, which follow one another in `keys`.
    ///
    /// # Panics
    /// If `keys` is not a whole number of keys of the cipher.
    fn inner(&self, keys: &[u8], usage: TableReuse) -> Box<dyn Inner>;
}

/// A prepared inner table.
pub trait Inner: Send + Sync {
    /// The number of keys.
    fn keys(&self) -> usize;

    /// Replaces the keys and reuses the memory.
    ///
    /// # Panics
    /// As [`SearchPart::inner`].
    fn refill(&mut self, keys: &[u8], usage: TableReuse);

    /// Tries the sums of one outer key and all inner keys. Appends the inner key's index for each that may be
    /// the right one. `scratch` keeps memory between calls.
    ///
    /// # Panics
    /// If the outer key has another length than the cipher's keys.
    fn search(&self, outer: &[u8], scratch: &mut Vec<u64>, found: &mut Vec<usize>);
}

/// The part of a kernel on which a table of keys relies.
pub(crate) trait Lanes: Send + Sync {
    /// The start of a bundle of keys.
    type Start: Send + Sync;

    /// Keys in a bundle.
    fn lanes(&self) -> usize;

    /// Bytes in a key.
    fn key_bytes(&self) -> usize;

    /// Computes one key's start, of [`START_BLOCKS`] blocks. Blocks that the kernel does not need are
    /// unchanged.
    fn start(&self, key: &[u8], usage: TableReuse, blocks: &mut [Block; START_BLOCKS]);

    /// Loads a bundle of starts. `blocks[i]` has block i of all lanes, one after another.
    fn load(&self, blocks: &[Vec<u8>; START_BLOCKS]) -> Self::Start;

    /// Loads a bundle of keys of a table that is used once, which is faster than key by key. `halves` has the
    /// first and second 16 bytes of all keys; the latter are missing if keys have only 16. `None` if the kernel
    /// cannot do this.
    fn load_keys(&self, _halves: [&[u8]; 2]) -> Option<Self::Start> {
        None
    }

    /// Tries all bundles with an outer start added. Sets the bits of lanes that may have the key; each bundle
    /// begins at a new 64-bit word. Returns whether any bit is set.
    fn run(
        &self,
        usage: TableReuse,
        bundles: &[Self::Start],
        outer: &[Block; START_BLOCKS],
        found: &mut [u64],
    ) -> bool;

    /// The index in its bundle of the key in a lane.
    fn key_of(&self, lane: usize) -> usize;
}

/// Blocks of the longest start: a state and eight words of a key.
pub(crate) const START_BLOCKS: usize = 3;

/// Transposes as many blocks as there are lanes: register i has byte i of all blocks.
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
    usage: TableReuse,
    keys: usize,
    bundles: Vec<L::Start>,
    /// The start of the zero key.
    zero: [Block; START_BLOCKS],
    rows: [Vec<u8>; START_BLOCKS],
}

impl<L: Lanes + Clone + 'static> SearchPart for L {
    fn lanes(&self) -> usize {
        Lanes::lanes(self)
    }

    fn inner(&self, keys: &[u8], usage: TableReuse) -> Box<dyn Inner> {
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

/// Loads the starts of at most a bundle of keys.
fn key_by_key<L: Lanes>(
    kernel: &L,
    keys: &[u8],
    usage: TableReuse,
    rows: &mut [Vec<u8>; START_BLOCKS],
) -> L::Start {
    for (lane, key) in keys.chunks_exact(kernel.key_bytes()).enumerate() {
        let mut start = [[0; BLOCK_BYTES]; START_BLOCKS];
        kernel.start(key, usage, &mut start);
        for (row, block) in rows.iter_mut().zip(&start) {
            row[lane * BLOCK_BYTES..][..BLOCK_BYTES].copy_from_slice(block);
        }
    }
    kernel.load(rows)
}

/// The first and second 16 bytes of keys of 16 or 32 bytes.
fn halves<'a>(
    keys: &'a [u8],
    key_bytes: usize,
    rows: &'a mut [Vec<u8>; START_BLOCKS],
) -> Option<[&'a [u8]; 2]> {
    match key_bytes {
        16 => Some([keys, &[]]),
        32 => {
            let [low, high, _] = rows;
            let places = low.as_chunks_mut::<16>().0.iter_mut().zip(high.as_chunks_mut::<16>().0);
            for ((low, high), key) in places.zip(keys.as_chunks::<32>().0) {
                low.copy_from_slice(&key[..16]);
                high.copy_from_slice(&key[16..]);
            }
            Some([low, high])
        }
        _ => None,
    }
}

/// Copies a key. A call of `memcpy` for each key of a list would take longer.
#[inline(always)]
pub(crate) fn copy_key(key: &[u8], bytes: &mut [u8]) {
    match key.len() {
        16 => bytes[..16].copy_from_slice(&key[..16]),
        24 => bytes[..24].copy_from_slice(&key[..24]),
        32 => bytes[..32].copy_from_slice(&key[..32]),
        other => bytes[..other].copy_from_slice(key),
    }
}

impl<L: Lanes> Inner for Table<L> {
    fn keys(&self) -> usize {
        self.keys
    }

    fn refill(&mut self, keys: &[u8], usage: TableReuse) {
        let Self { kernel, rows, bundles, .. } = self;
        let (lanes, key_bytes) = (Lanes::lanes(kernel), kernel.key_bytes());
        assert!(keys.len().is_multiple_of(key_bytes));
        self.usage = usage;
        self.keys = keys.len() / key_bytes;
        kernel.start(&[0; 32][..key_bytes], usage, &mut self.zero);
        let count = self.keys.div_ceil(lanes);
        bundles.clear();
        if count > bundles.capacity() {
            wipe_room(bundles);
            bundles.reserve_exact(count);
        }
        for bundle in keys.chunks(lanes * key_bytes) {
            let is_whole = usage == TableReuse::Once && bundle.len() == lanes * key_bytes;
            let halves = if is_whole { halves(bundle, key_bytes, rows) } else { None };
            let loaded = halves.and_then(|halves| kernel.load_keys(halves));
            bundles.push(loaded.unwrap_or_else(|| key_by_key(kernel, bundle, usage, rows)));
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
        let lanes = Lanes::lanes(kernel);
        scratch.resize(bundles.len() * lanes.div_ceil(64), 0);
        if kernel.run(*usage, bundles, &start, scratch) {
            report(scratch, lanes, *keys, &|lane| kernel.key_of(lane), found);
        }
    }
}

/// Appends the numbers of the keys whose bits are set.
fn report(bits: &[u64], lanes: usize, keys: usize, key_of: &dyn Fn(usize) -> usize, found: &mut Vec<usize>) {
    for (bundle, words) in bits.chunks_exact(lanes.div_ceil(64)).enumerate() {
        let set = (0..lanes).filter(|lane| words[lane / 64] >> (lane % 64) & 1 == 1);
        let numbers = set.map(|lane| bundle * lanes + key_of(lane));
        // Lanes after the last key hold old data.
        found.extend(numbers.filter(|number| *number < keys));
    }
}
