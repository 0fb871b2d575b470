//! A program: plans bound to a key.
//!
//! Data runs bundle by bundle: from the source into a tile in L1, through the parts, to the bytes. What
//! is left over at the end, down to a single byte of a counter job, goes through a padded copy by the
//! plan that does it cheapest.

use std::fmt;

use zeroize::Zeroizing;

use super::threads::Threads;
use crate::block::{BLOCK_BYTES, Direction, Error, Key};
use crate::convert::{Load, Store};
use crate::part::{Count, Counting, Keys, Source, TilePart, WholePart};
use crate::plan::{Costs, Job, Limits, Plan, choose};
use crate::variant::{Action, Variant};
use crate::word::{Buffers, Features, TILE_BYTES, Tile};

/// Blocks that fit in a tile.
const TILE_BLOCKS: usize = TILE_BYTES / BLOCK_BYTES;

/// A job that can be run: its plans with their instructions, keys and nothing left to decide.
pub struct Program {
    /// Widest bundle first.
    bound: Vec<Bound>,
    plans: Vec<Plan>,
    threads: Threads,
}

/// One plan, bound.
enum Bound {
    Whole(Box<dyn WholePart>),
    Tiles { bundle_blocks: usize, entry: Entry, steps: Vec<Step>, exit: Box<dyn Store> },
}

/// What happens to a tile between its entry and its exit.
enum Step {
    Part(Box<dyn TilePart>),
    /// Out of `blocks` into another representation, in the other tile.
    Load(Box<dyn Load>),
    /// Out of another representation into `blocks`, in the other tile.
    Store(Box<dyn Store>),
}

enum Entry {
    Load(Box<dyn Load>),
    Count(Box<dyn Count>),
}

impl Program {
    /// Chooses plans for a job and binds them to a key.
    ///
    /// # Errors
    /// As [`choose`].
    pub fn new(job: Job, key: &Key, limits: &Limits, costs: &Costs, threads: Threads) -> Result<Self, Error> {
        Self::of(choose(job, limits, costs)?, key, limits.features, threads)
    }

    /// Binds plans, widest bundle first, to a key.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for a variant that these features do not suffice for.
    pub fn of(plans: Vec<Plan>, key: &Key, features: Features, threads: Threads) -> Result<Self, Error> {
        let keys = Keys::expand(key);
        let bound = plans.iter().map(|plan| bind(plan, &keys, features));
        let bound = bound.collect::<Result<_, _>>()?;
        Ok(Self { bound, plans, threads })
    }

    /// The plans, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// Runs the job over the buffers, with as many threads as the program was given.
    ///
    /// # Panics
    /// If a bytes job is no whole number of blocks.
    pub fn run(&self, source: Source, buffers: Buffers<'_>) {
        assert!(source != Source::Bytes || buffers.len_bytes().is_multiple_of(BLOCK_BYTES));
        let grain_blocks = self.bound[0].bundle_blocks();
        self.threads.split(source, buffers, grain_blocks, &|source, piece| {
            self.run_here(source, piece);
        });
    }

    fn run_here(&self, source: Source, buffers: Buffers<'_>) {
        let widest = &self.bound[0];
        let bundle_bytes = widest.bundle_blocks() * BLOCK_BYTES;
        let at = buffers.len_bytes() / bundle_bytes * bundle_bytes;
        let (bundles, rest) = buffers.split_at(at);
        if !bundles.is_empty() {
            widest.run(source, bundles);
        }
        if !rest.is_empty() {
            self.run_padded(source.skip(at / BLOCK_BYTES), rest);
        }
    }

    /// Less than a bundle, maybe not even a whole number of blocks, by way of a padded copy.
    fn run_padded(&self, source: Source, mut rest: Buffers<'_>) {
        let blocks = rest.len_bytes().div_ceil(BLOCK_BYTES);
        let cost_ns = |(bound, plan): &(&Bound, &Plan)| {
            plan.cost.per_byte_ns * blocks.next_multiple_of(bound.bundle_blocks()) as f64
        };
        let cheapest = self.bound.iter().zip(&self.plans).min_by(|a, b| cost_ns(a).total_cmp(&cost_ns(b)));
        let bound = cheapest.map_or(&self.bound[0], |(bound, _)| bound);
        let padded_blocks = blocks.next_multiple_of(bound.bundle_blocks());
        let (mut tile, mut block);
        let bytes = if padded_blocks == 1 {
            block = Zeroizing::new([0; BLOCK_BYTES]);
            &mut block[..]
        } else {
            tile = Tile::new();
            &mut tile.bytes_mut()[..padded_blocks * BLOCK_BYTES]
        };
        bytes[..rest.len_bytes()].copy_from_slice(rest.input());
        bound.run(source, Buffers::in_place(bytes));
        let len_bytes = rest.len_bytes();
        rest.output_mut().copy_from_slice(&bytes[..len_bytes]);
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("plans", &self.plans).finish_non_exhaustive()
    }
}

impl Bound {
    /// Blocks that a run must be a multiple of.
    const fn bundle_blocks(&self) -> usize {
        match self {
            Self::Whole(_) => 1,
            Self::Tiles { bundle_blocks, .. } => *bundle_blocks,
        }
    }

    /// Runs over whole bundles.
    fn run(&self, source: Source, buffers: Buffers<'_>) {
        match self {
            Self::Whole(whole) => whole.run(source, buffers),
            Self::Tiles { bundle_blocks, entry, steps, exit } => {
                let mut work = Work { entry: entry.begin(), steps, exit: &**exit, tiles: Tiles::default() };
                let most_blocks = TILE_BLOCKS / bundle_blocks * bundle_blocks;
                let (mut source, mut rest) = (source, buffers);
                while !rest.is_empty() {
                    let blocks = most_blocks.min(rest.len_bytes() / BLOCK_BYTES);
                    let (now, later) = rest.split_at(blocks * BLOCK_BYTES);
                    work.run(source, now, blocks);
                    source = source.skip(blocks);
                    rest = later;
                }
            }
        }
    }
}

/// One thread's tiles: the one that holds the state; one to convert into, and a conversion's scratch.
#[derive(Default)]
struct Tiles {
    state: Tile,
    spare: [Tile; 2],
}

/// One thread at work on a plan.
struct Work<'a> {
    entry: Begun<'a>,
    steps: &'a [Step],
    exit: &'a dyn Store,
    tiles: Tiles,
}

impl Work<'_> {
    /// Takes as many blocks as fit in a tile from source to sink.
    fn run(&mut self, source: Source, buffers: Buffers<'_>, blocks: usize) {
        let Self { entry, steps, exit, tiles: Tiles { state, spare } } = self;
        match (entry, source) {
            (Begun::Count(counting), Source::Counter(first)) => counting.count(first, state, spare, blocks),
            (Begun::Load(load), Source::Bytes) => load.load(buffers.input(), state, &mut spare[1]),
            _ => unreachable!("modes run a program from the source it was planned for"),
        }
        let [other, scratch] = spare;
        for step in *steps {
            let len_bytes = blocks * BLOCK_BYTES;
            match step {
                Step::Part(part) => part.run(state, blocks),
                Step::Load(load) => load.load(&state.bytes()[..len_bytes], other, scratch),
                Step::Store(store) => {
                    store.store(
                        state,
                        scratch,
                        false,
                        Buffers::in_place(&mut other.bytes_mut()[..len_bytes]),
                    );
                    other.phase = 0;
                }
            }
            if !matches!(step, Step::Part(_)) {
                std::mem::swap(state, other);
            }
        }
        exit.store(state, scratch, source != Source::Bytes, buffers);
    }
}

/// An entry at work on one thread.
enum Begun<'a> {
    Load(&'a dyn Load),
    Count(Box<dyn Counting + 'a>),
}

impl Entry {
    fn begin(&self) -> Begun<'_> {
        match self {
            Self::Load(load) => Begun::Load(&**load),
            Self::Count(count) => Begun::Count(count.begin()),
        }
    }
}

fn bind(plan: &Plan, keys: &Keys, features: Features) -> Result<Bound, Error> {
    let (mut entry, mut steps) = (None, Vec::new());
    for stage in &plan.stages {
        let variant: &Variant = stage.variant;
        let missing = || variant.unavailable(features);
        match variant.action {
            Action::Whole(direction, bind) => {
                return Ok(Bound::Whole(bind(features, direction, keys).ok_or_else(missing)?));
            }
            Action::WholeCounter(bind) => {
                return Ok(Bound::Whole(bind(features, Direction::Encrypt, keys).ok_or_else(missing)?));
            }
            Action::Load(bind) if entry.is_none() => {
                entry = Some(Entry::Load(bind(features).ok_or_else(missing)?));
            }
            Action::Load(bind) => steps.push(Step::Load(bind(features).ok_or_else(missing)?)),
            Action::Count(bind) => entry = Some(Entry::Count(bind(features).ok_or_else(missing)?)),
            Action::CountEncrypted(bind) => {
                entry = Some(Entry::Count(bind(features, keys).ok_or_else(missing)?));
            }
            Action::Tile(part, direction, bind) => {
                let part = bind(features, part, direction, keys, stage.round);
                steps.push(Step::Part(part.ok_or_else(missing)?));
            }
            Action::Store(bind) => steps.push(Step::Store(bind(features).ok_or_else(missing)?)),
        }
    }
    let bundle_blocks = plan.bundle_blocks();
    match (entry, steps.pop()) {
        (Some(entry), Some(Step::Store(exit))) => Ok(Bound::Tiles { bundle_blocks, entry, steps, exit }),
        _ => Err(plan.stages[0].variant.unavailable(features)),
    }
}
