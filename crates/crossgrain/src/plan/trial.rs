//! A variant prepared for timing, bound to a key. All trials work in one [`Workspace`], since separate
//! buffers would evict one another from the caches.
//!
//! * A part on a tile runs as in `run`, on a full tile in L1.
//! * A whole cipher runs on a buffer of the requested size.
//! * A store writes tile after tile to a buffer of that size. The sink is where a job touches its bytes, and
//!   the access costs as much as a short conversion. Each job pays for it once, so loads are timed on one
//!   tile.
//! * A fused kernel runs whole messages of a mode on a buffer of that size. For chains, it is cut into as many
//!   messages as run side by side. A frame or a pass runs over the buffer without the cipher.
//! * A kernel with a key per lane sets up the keys of [`LANES_MAX`] records into which the buffer is cut, and
//!   runs them. The pass that it replaces sets up as many keys, one after another.
//! * A search is timed per key, and each key counts as a block. A mask's keys are tried under many outer
//!   keys. The time of a list includes preparing its keys.
//! * A search step is timed on a full batch of keys.
//!
//! A trial does not check results. Compare a forced plan with the reference first.

use std::fmt;
use std::hint::black_box;

use crate::arch::{Buffers, Features, TILE_BYTES, Tile, Wiped};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Key};
use crate::kernel::fused::{Fused, FusedPart};
#[cfg(feature = "own-keys")]
use crate::kernel::own_keys::{Keyed, LANES_MAX, RecordSource};
use crate::kernel::search::{BATCH_KEYS, Batch, Inner, KeyStep, Known, SearchPart, TableReuse};
use crate::kernel::sum::total;
use crate::kernel::{Count, Keys, Source, TilePart, WholePart, search_sizes};
use crate::layout::convert::{Load, Store};
#[cfg(feature = "own-keys")]
use crate::message::Record;
use crate::message::{AeadMessage, Tag};
use crate::mode::chained::chain::{ChainKernel, ChainMessage, Data, Link, Rule, by_blocks};
use crate::mode::ctr::counter::Counter;
use crate::mode::gcm::ghash::Ghash;
use crate::mode::gcm::kernel::{GcmKernel, GcmParams};
use crate::mode::ocb::kernel::OcbKernel;
use crate::mode::ocb::mask::{Constants, LongMasks, Masks, TABLE_BLOCKS};
use crate::variant::{Action, Variant};

/// A variant prepared for timing.
pub struct Trial {
    work: Work,
    /// The number of blocks in one call of the variant.
    blocks: usize,
    /// The number of tiles that a counter fills.
    tiles: usize,
    /// The phase in which this trial left the tile.
    phase: u8,
}

/// The memory that trials work in, one after another.
#[derive(Default)]
pub struct Workspace {
    tile: Box<Tile>,
    scratch: Box<[Tile; 2]>,
    /// As long as the longest trial needed.
    data: Vec<u8>,
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workspace({} bytes)", self.data.len())
    }
}

enum Work {
    Load(Box<dyn Load>),
    Count(Box<dyn Count>),
    Store(Box<dyn Store>),
    Tile(Box<dyn TilePart>),
    Whole(Wiped<dyn WholePart>, Source<'static>),
    Gcm(Wiped<dyn GcmKernel>, Ghash),
    Ocb(Wiped<dyn OcbKernel>, Box<OcbMasks>),
    /// Chains, and how many of them.
    Chains(Wiped<dyn ChainKernel>, usize),
    /// A kernel with a key per lane, and the keys.
    #[cfg(feature = "own-keys")]
    OwnKeys(Wiped<dyn Keyed>, Vec<Key>),
    /// The set-up of keys, one after another.
    #[cfg(feature = "own-keys")]
    KeyAfterKey(Vec<Key>, Features),
    /// GHASH.
    Hash(Ghash),
    /// The masks of OCB on tiles.
    Masks(Box<OcbMasks>),
    /// The checksum of OCB.
    Checksum(Features),
    /// The gathering of chains.
    Gather,
    Search(Box<Searching>),
    SearchStep(Box<dyn KeyStep>, Box<Batch>),
}

/// The masks of OCB under a key of zeros: their values do not change the time.
struct OcbMasks {
    table: Vec<Block>,
}

impl OcbMasks {
    fn new() -> Box<Self> {
        Box::new(Self { table: vec![[0; BLOCK_BYTES]; TABLE_BLOCKS + 1] })
    }

    fn long(&self) -> LongMasks<'_> {
        let table = self.table.first_chunk().expect("as many as they need");
        LongMasks { blocks_before: 0, before: [0; BLOCK_BYTES], table, constants: &Constants::ZERO }
    }
}

/// Chains that are gathered at once without a kernel for chains.
const GATHERED: usize = 64;

/// Advances chains that the data is cut into.
fn chain(data: &mut [u8], lanes: usize, advance: &mut dyn FnMut(&mut [&mut ChainMessage<'_>], usize)) {
    let blocks = (data.len() / BLOCK_BYTES / lanes).max(1);
    let chain =
        |data| ChainMessage { state: [0; BLOCK_BYTES], data: Data::Replaced(Buffers::in_place(data)) };
    let mut chains: Vec<_> = data.chunks_exact_mut(blocks * BLOCK_BYTES).take(lanes).map(chain).collect();
    advance(&mut chains.iter_mut().collect::<Vec<_>>(), blocks);
}

/// Sets up a key for each of the records that the data is cut into, and encrypts them.
#[cfg(feature = "own-keys")]
fn own_keys(kernel: &mut dyn Keyed, keys: &[Key], data: &mut [u8]) {
    let record_bytes = data.len() / keys.len();
    let records = keys.iter().zip(data.chunks_exact_mut(record_bytes));
    let mut records: Vec<_> = records.map(|(key, data)| Record::new(key, [0; BLOCK_BYTES], data)).collect();
    for group in records.chunks_mut(kernel.lanes()) {
        let keys: Vec<_> = group.iter().map(|record| record.key).collect();
        kernel.set(&keys);
        kernel.run(RecordSource::Bytes, &mut group.iter_mut().collect::<Vec<_>>());
    }
}

/// The number of keys in a search's inner table. Their prepared form stays in L2.
const INNER_KEYS: usize = 4096;

/// A search prepared for timing.
pub struct Searching {
    inner: Box<dyn Inner>,
    usage: TableReuse,
    /// The inner keys, concatenated.
    keys: Vec<u8>,
    key_bytes: usize,
    /// How many times the table is used, each time with another outer key or with new keys in it.
    turns: usize,
    scratch: Vec<u64>,
    found: Vec<usize>,
}

impl Searching {
    /// An arbitrary known block for searches whose speed does not depend on it.
    pub const fn anything(direction: Direction) -> Known {
        Known { direction, input: [1; 16], output: [2; 16], mask: [0xff; 16] }
    }

    /// A search over about `count` keys, in tables that are used one after another.
    pub fn new(part: &dyn SearchPart, cipher: Cipher, usage: TableReuse, count: usize) -> Self {
        let (inner_keys, key_bytes) = (INNER_KEYS.min(count).max(1), cipher.key_bytes());
        let keys = vec![0; inner_keys * key_bytes];
        let (inner, turns) = (part.inner(&keys, usage), count.div_ceil(inner_keys));
        Self { inner, usage, keys, key_bytes, turns, scratch: Vec::new(), found: Vec::new() }
    }

    /// Tries all keys.
    pub fn run(&mut self) {
        let Self { inner, usage, keys, key_bytes, turns, scratch, found } = self;
        found.clear();
        for turn in 0..*turns {
            if *usage == TableReuse::Once {
                inner.refill(keys, TableReuse::Once);
            }
            inner.search(&[turn as u8; 32][..*key_bytes], scratch, found);
        }
    }
}

impl fmt::Debug for Searching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Searching({} keys, {})", self.inner.keys() * self.turns, self.usage.name())
    }
}

/// A batch of keys for any step. Its values are arbitrary: only look-ups depend on them, and theirs are spread over
/// the tables.
fn batch(cipher: Cipher) -> Box<Batch> {
    let mut batch = Box::new(Batch::new(search_sizes(cipher).round_keys));
    batch.keys = BATCH_KEYS;
    let mut value = 1_u32;
    for byte in batch.tiles().flat_map(|tile| tile.bytes_mut()) {
        value = value.wrapping_mul(0x915f_77f5).wrapping_add(1);
        *byte = (value >> 24) as u8;
    }
    batch
}

impl Trial {
    /// Binds a variant to an arbitrary key; `None` if the instructions are not available.
    ///
    /// `len_bytes` is the buffer size of a whole cipher. For a store or a counter it is rounded up to full
    /// tiles. Other parts on tiles use one full tile.
    pub fn new(variant: &Variant, cipher: Cipher, features: Features, len_bytes: usize) -> Option<Self> {
        let key = Key::new(cipher, &[0x5a; 32][..cipher.key_bytes()]).ok()?;
        let keys = Keys::of(&key, features);
        let work = match variant.action {
            Action::Load(bind) => Work::Load(bind(features)?),
            Action::Count(bind) => Work::Count(bind(features)?),
            Action::CountEncrypted(bind) => Work::Count(bind(features, &keys)?),
            Action::Store(bind) => Work::Store(bind(features)?),
            Action::Tile(part, direction, bind) => Work::Tile(bind(features, part, direction, &keys, 1)?),
            Action::Whole(direction, bind) => Work::Whole(bind(features, direction, &keys)?, Source::Bytes),
            Action::WholeCounter(bind) => Work::Whole(
                bind(features, Direction::Encrypt, &keys)?,
                Source::Counter(Counter::big_endian(1)),
            ),
            Action::Fused(_, direction, bind) => match bind(features, direction, &keys)? {
                FusedPart::Gcm(mut kernel) => {
                    let ghash = kernel.prepare(&[1; BLOCK_BYTES]);
                    Work::Gcm(kernel, ghash)
                }
                FusedPart::Ocb(kernel) => Work::Ocb(kernel, OcbMasks::new()),
                FusedPart::Chains(kernel) => {
                    let lanes = kernel.lanes().min(len_bytes / BLOCK_BYTES).max(1);
                    Work::Chains(kernel, lanes)
                }
                #[cfg(feature = "own-keys")]
                FusedPart::OwnKeys(kernel) => Work::OwnKeys(kernel, vec![key; LANES_MAX]),
            },
            Action::Pass(_) if !features.contains(variant.needs) => return None,
            Action::Pass(Fused::Gcm) => Work::Hash(Ghash::new(&[1; BLOCK_BYTES], variant.needs)),
            Action::Frame(_) => Work::Masks(OcbMasks::new()),
            Action::Pass(Fused::Ocb) => Work::Checksum(features),
            Action::Pass(Fused::Chains) => Work::Gather,
            #[cfg(feature = "own-keys")]
            Action::Pass(Fused::OwnKeys) => Work::KeyAfterKey(vec![key; LANES_MAX], features),
            Action::Search(direction, usage, bind) => {
                let part = bind(features, cipher, &Searching::anything(direction))?;
                Work::Search(Box::new(Searching::new(&*part, cipher, usage, len_bytes / BLOCK_BYTES)))
            }
            Action::SearchStep(_, direction, bind) => {
                let known = Searching::anything(direction.unwrap_or(Direction::Encrypt));
                Work::SearchStep(bind(features, cipher, &known)?, batch(cipher))
            }
        };
        let blocks = match &work {
            Work::Search(search) => search.inner.keys() * search.turns,
            Work::SearchStep(..) => BATCH_KEYS,
            Work::Whole(..)
            | Work::Gcm(..)
            | Work::Ocb(..)
            | Work::Hash(_)
            | Work::Masks(_)
            | Work::Checksum(_) => len_bytes / BLOCK_BYTES,
            Work::Chains(_, lanes) => (len_bytes / BLOCK_BYTES / lanes).max(1) * lanes,
            Work::Gather => (len_bytes / BLOCK_BYTES / GATHERED).max(1) * GATHERED,
            #[cfg(feature = "own-keys")]
            Work::OwnKeys(..) | Work::KeyAfterKey(..) => {
                (len_bytes / BLOCK_BYTES / LANES_MAX).max(1) * LANES_MAX
            }
            Work::Store(_) => len_bytes.next_multiple_of(TILE_BYTES) / BLOCK_BYTES,
            _ => TILE_BYTES / BLOCK_BYTES,
        };
        let tiles = match work {
            Work::Count(_) => len_bytes.div_ceil(blocks * BLOCK_BYTES),
            _ => 1,
        };
        Some(Self { work, blocks, tiles, phase: 0 })
    }

    /// The number of bytes that one run processes.
    pub const fn len_bytes(&self) -> usize {
        self.blocks * BLOCK_BYTES * self.tiles
    }

    /// Runs the variant once.
    pub fn run(&mut self, workspace: &mut Workspace) {
        let Self { work, blocks, tiles, phase } = self;
        let Workspace { tile, scratch, data } = workspace;
        let len_bytes = *blocks * BLOCK_BYTES;
        if data.len() < len_bytes {
            data.resize(len_bytes, 0);
        }
        let data = &mut data[..len_bytes];
        tile.phase = *phase;
        match work {
            Work::Load(load) => load.load(data, tile, &mut scratch[0]),
            Work::Store(store) => {
                for bytes in data.chunks_exact_mut(TILE_BYTES) {
                    store.store(tile, &mut scratch[0], true, Buffers::in_place(bytes));
                }
            }
            Work::Tile(part) => part.run(tile, *blocks),
            Work::Whole(whole, source) => whole.run(*source, Buffers::in_place(data)),
            Work::Gcm(kernel, ghash) => {
                let params = GcmParams {
                    ghash,
                    opens: false,
                    tag_bytes: BLOCK_BYTES,
                    tag_kept: Tag::kept(BLOCK_BYTES),
                };
                let mut message =
                    AeadMessage::new(&[0; GcmParams::NONCE_BYTES], &[], Buffers::in_place(data));
                kernel.one(&params, &[0; _], &mut message);
            }
            Work::Ocb(kernel, masks) => {
                kernel.run_with_checksum(&masks.long(), Buffers::in_place(data));
            }
            Work::Chains(kernel, lanes) => chain(data, *lanes, &mut |chains, blocks| {
                kernel.advance(Rule::Replace(Link::Cbc), chains, blocks);
            }),
            #[cfg(feature = "own-keys")]
            Work::OwnKeys(kernel, keys) => own_keys(&mut **kernel, keys, data),
            #[cfg(feature = "own-keys")]
            Work::KeyAfterKey(keys, features) => {
                for key in keys {
                    black_box(Keys::of(key, *features).round_keys::<()>());
                }
            }
            Work::Hash(ghash) => ghash.absorb(&mut [0; BLOCK_BYTES], data),
            Work::Masks(masks) => {
                for group in data.chunks(TILE_BYTES) {
                    let added = Masks::new(&masks.table[..TILE_BYTES / BLOCK_BYTES], [0; _], [0; _]);
                    let [entering, kept] = &mut **scratch;
                    added.add(group, kept.front_mut(group.len()), entering.front_mut(group.len()));
                }
            }
            Work::Checksum(features) => {
                black_box(total(*features, data));
            }
            Work::Gather => chain(data, GATHERED, &mut |chains, blocks| {
                by_blocks(Rule::Replace(Link::Cbc), &mut |_| (), 1, chains, blocks);
            }),
            Work::Search(search) => search.run(),
            Work::SearchStep(step, batch) => {
                step.run(batch);
                batch.found.clear();
            }
            Work::Count(count) => {
                let mut counting = count.begin();
                for at in 0..*tiles {
                    counting.count(Counter::big_endian((at * *blocks) as u128), tile, scratch, *blocks);
                }
            }
        }
        *phase = tile.phase;
    }
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trial({} bytes)", self.len_bytes())
    }
}
