//! One variant made ready to be timed: bound to a key, with the memory it works on at hand.
//!
//! A part on a tile is run as `exec` runs it, on a full tile in L1; a whole cipher on a buffer of the size
//! asked for. A way out of tiles goes through such a buffer too, tile after tile: the sink is where a job meets its
//! bytes, and reaching for them costs as much as a short conversion. (Who loads them before pays for that,
//! not the sink; but each job pays once, so loads are timed on a tile and stores are not.)
//! A search is timed by keys, each of which counts as a block.
//! A trial never judges answers: compare a forced plan with the reference first.

use std::fmt;

use crate::block::{BLOCK_BYTES, Cipher, Direction, Key};
use crate::convert::{Load, Store};
use crate::part::counter::Counter;
use crate::part::search::{Inner, Known, Use};
use crate::part::{Count, Keys, Source, TilePart, WholePart};
use crate::variant::{Action, Variant};
use crate::word::{Buffers, Features, TILE_BYTES, Tile};

/// A variant, ready.
pub struct Trial {
    work: Work,
    /// Blocks that the variant is given at once.
    blocks: usize,
    /// How often a counter goes on, and a search takes another outer key.
    tiles: usize,
    key_bytes: usize,
    tile: Box<Tile>,
    scratch: Box<[Tile; 2]>,
    data: Vec<u8>,
}

enum Work {
    Load(Box<dyn Load>),
    Count(Box<dyn Count>),
    Store(Box<dyn Store>),
    Tile(Box<dyn TilePart>),
    Whole(Box<dyn WholePart>, Source<'static>),
    Search(Box<dyn Inner>, Finds),
}

/// What a search fills.
#[derive(Default)]
struct Finds {
    scratch: Vec<u64>,
    found: Vec<usize>,
}

/// Keys of a search's inner table: what is prepared of them stays in L2.
const INNER_KEYS: usize = 4096;

impl Trial {
    /// Binds a variant to an arbitrary key; `None` if these instructions do not suffice.
    ///
    /// `len_bytes` is the buffer of a whole cipher, or, in full tiles, of a store and a counter; other parts on
    /// tiles take one full tile.
    pub fn new(variant: &Variant, cipher: Cipher, features: Features, len_bytes: usize) -> Option<Self> {
        let key = Key::new(cipher, &[0x5a; 32][..cipher.key_bytes()]).ok()?;
        let keys = Keys::expand(&key, features);
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
            Action::Search(bind) => {
                let known = Known {
                    direction: Direction::Encrypt,
                    input: [1; 16],
                    output: [2; 16],
                    mask: [0xff; 16],
                };
                let keys = vec![0; INNER_KEYS.min(len_bytes / BLOCK_BYTES) * cipher.key_bytes()];
                Work::Search(bind(features, cipher, &known)?.inner(&keys, Use::Often), Finds::default())
            }
        };
        let blocks = match &work {
            Work::Search(inner, _) => inner.keys(),
            Work::Whole(..) => len_bytes / BLOCK_BYTES,
            Work::Store(_) => len_bytes.next_multiple_of(TILE_BYTES) / BLOCK_BYTES,
            _ => TILE_BYTES / BLOCK_BYTES,
        };
        let tiles = match work {
            Work::Count(_) | Work::Search(..) => len_bytes.div_ceil(blocks * BLOCK_BYTES),
            _ => 1,
        };
        let data = vec![0; blocks * BLOCK_BYTES];
        let key_bytes = cipher.key_bytes();
        Some(Self { work, blocks, tiles, key_bytes, tile: Box::default(), scratch: Box::default(), data })
    }

    /// Bytes that one run works on.
    pub const fn len_bytes(&self) -> usize {
        self.blocks * BLOCK_BYTES * self.tiles
    }

    /// Runs the variant once.
    pub fn run(&mut self) {
        let Self { work, blocks, tiles, key_bytes, tile, scratch, data } = self;
        match work {
            Work::Load(load) => load.load(data, tile, &mut scratch[0]),
            Work::Store(store) => {
                for bytes in data.chunks_exact_mut(TILE_BYTES) {
                    store.store(tile, &mut scratch[0], true, Buffers::in_place(bytes));
                }
            }
            Work::Tile(part) => part.run(tile, *blocks),
            Work::Whole(whole, source) => whole.run(*source, Buffers::in_place(data)),
            Work::Search(inner, Finds { scratch, found }) => {
                found.clear();
                for outer in 0..*tiles {
                    inner.search(&[outer as u8; 32][..*key_bytes], scratch, found);
                }
            }
            Work::Count(count) => {
                let mut counting = count.begin();
                for at in 0..*tiles {
                    counting.count(Counter::big_endian((at * *blocks) as u128), tile, scratch, *blocks);
                }
            }
        }
    }
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trial({} bytes)", self.len_bytes())
    }
}
