//! Binds a plan of key search to a cipher and a known block.
//!
//! A plan is either one kernel, or steps with conversions between them. In the second case keys pass through the
//! steps in batches, which stay in the second-level cache.

use std::cell::Cell;
use std::sync::Arc;

use crate::arch::{Buffers, Features, Tile, wipe_room};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Error};
use crate::kernel::search::{BATCH_KEYS, Batch, Inner, KeyStep, Known, SearchPart, Sizes, TableReuse};
use crate::kernel::search_sizes;
use crate::layout::convert::{Load, Store};
use crate::plan::{Plan, Stage};
use crate::variant::Action;

/// Binds a plan of key search. The known block is turned into the plan's direction, which is possible if all
/// of it is known.
///
/// # Errors
/// [`Error::Unavailable`] if a variant needs more than `features`, [`Error::NoPlan`] for a plan of another
/// job.
pub fn search(
    plan: &Plan,
    features: Features,
    cipher: Cipher,
    known: &Known,
) -> Result<Box<dyn SearchPart>, Error> {
    let other_end = || Error::NoPlan("it goes from the end of the block that is known in part".to_owned());
    let known = known.in_direction(direction(plan, known)).ok_or_else(other_end)?;
    let (mut bound, mut place, sizes) = (Vec::new(), 0, search_sizes(cipher));
    for stage in &plan.stages {
        let missing = || stage.variant.unavailable(features);
        bound.push(match stage.variant.action {
            Action::Search(.., bind) => return bind(features, cipher, &known).ok_or_else(missing),
            Action::SearchStep(step, _, bind) => {
                place += step.span().len();
                Bound::Step(bind(features, cipher, &known).ok_or_else(missing)?)
            }
            Action::Load(bind) if bound.is_empty() => Bound::Enter(bind(features).ok_or_else(missing)?),
            Action::Load(bind) => Bound::Load(bind(features).ok_or_else(missing)?, place),
            Action::Store(bind) => Bound::Store(bind(features).ok_or_else(missing)?, place),
            _ => return Err(Error::NoPlan(format!("{} tries no keys", stage.variant.name))),
        });
    }
    let bundle = plan.bundle_blocks();
    let kind = Composition { bundle, sizes, key_bytes: cipher.key_bytes(), direction: known.direction };
    Ok(Box::new(Composed { bound: bound.into(), kind }))
}

/// The direction of a plan's first stage that has one.
fn direction(plan: &Plan, known: &Known) -> Direction {
    let of = |stage: &Stage| match stage.variant.action {
        Action::Search(direction, ..) => Some(direction),
        Action::SearchStep(_, direction, _) => direction,
        _ => None,
    };
    plan.stages.iter().find_map(of).unwrap_or(known.direction)
}

/// A bound stage. A conversion has the index of the smallest step before which it runs.
enum Bound {
    /// Loads the keys.
    Enter(Box<dyn Load>),
    Step(Box<dyn KeyStep>),
    Load(Box<dyn Load>, usize),
    Store(Box<dyn Store>, usize),
}

/// The facts that all stages share.
#[derive(Clone, Copy)]
struct Composition {
    /// The number of keys in the largest bundle.
    bundle: usize,
    sizes: Sizes,
    key_bytes: usize,
    direction: Direction,
}

/// A search that runs its stages in order.
struct Composed {
    bound: Arc<[Bound]>,
    kind: Composition,
}

impl SearchPart for Composed {
    fn lanes(&self) -> usize {
        self.kind.bundle
    }

    fn inner(&self, keys: &[u8], usage: TableReuse) -> Box<dyn Inner> {
        let mut table = Table { bound: Arc::clone(&self.bound), kind: self.kind, keys: Vec::new() };
        table.refill(keys, usage);
        Box::new(table)
    }
}

/// The inner keys in sequence, without any preparation. They are wiped on drop.
struct Table {
    bound: Arc<[Bound]>,
    kind: Composition,
    keys: Vec<u8>,
}

impl Drop for Table {
    fn drop(&mut self) {
        wipe_room(&mut self.keys);
    }
}

impl Inner for Table {
    fn keys(&self) -> usize {
        self.keys.len() / self.kind.key_bytes
    }

    fn refill(&mut self, keys: &[u8], _: TableReuse) {
        assert!(keys.len().is_multiple_of(self.kind.key_bytes));
        self.keys.clear();
        if keys.len() > self.keys.capacity() {
            // To grow might move the memory, and leave a copy of old keys.
            wipe_room(&mut self.keys);
            self.keys.reserve_exact(keys.len());
        }
        self.keys.extend_from_slice(keys);
    }

    fn search(&self, outer: &[u8], _: &mut Vec<u64>, found: &mut Vec<usize>) {
        let Self { bound, kind: Composition { bundle, key_bytes, .. }, keys } = self;
        assert_eq!(outer.len(), *key_bytes);
        let mut borrowed = Borrowed::take();
        let work = borrowed.work(self.kind.sizes);
        let most = BATCH_KEYS / bundle * bundle;
        for (number, inner) in keys.chunks(most * key_bytes).enumerate() {
            let count = inner.len() / key_bytes;
            work.fill(outer, inner, count.next_multiple_of(*bundle));
            bound.iter().for_each(|stage| work.run(stage, &self.kind));
            let right = work.batch.found.iter().filter(|place| **place < count);
            found.extend(right.map(|place| number * most + place));
        }
    }
}

/// The sum of two halves of keys, followed by zeros.
fn sum(a: &[u8], b: &[u8]) -> Block {
    let widened = |half: &[u8]| {
        let mut block = [0; BLOCK_BYTES];
        // A length known at compile time avoids a call for each key.
        match half.first_chunk::<BLOCK_BYTES>() {
            Some(whole) => block = *whole,
            None => block[..half.len()].copy_from_slice(half),
        }
        u128::from_ne_bytes(block)
    };
    (widened(a) ^ widened(b)).to_ne_bytes()
}

/// The memory of a search in steps.
struct Work {
    batch: Batch,
    /// The two halves of each key, as blocks.
    halves: [Box<Tile>; 2],
    spare: [Box<Tile>; 2],
}

impl Work {
    /// Writes the sums of the outer key and each inner key. The keys after the last inner key are those of an
    /// earlier batch.
    fn fill(&mut self, outer: &[u8], inner: &[u8], keys: usize) {
        let Self { batch, halves, .. } = self;
        batch.keys = keys;
        batch.found.clear();
        let (low, high) = outer.split_at(BLOCK_BYTES);
        let [low_tile, high_tile] = halves.each_mut().map(|half| half.bytes_mut().as_chunks_mut().0);
        let blocks = low_tile.iter_mut().zip(high_tile);
        for (key, (low_block, high_block)) in inner.chunks_exact(outer.len()).zip(blocks) {
            *low_block = sum(&key[..BLOCK_BYTES], low);
            if !high.is_empty() {
                *high_block = sum(&key[BLOCK_BYTES..], high);
            }
        }
    }

    /// Runs a stage on the batch.
    fn run(&mut self, stage: &Bound, kind: &Composition) {
        let Self { batch, halves, spare: [other, scratch] } = self;
        let len_bytes = batch.keys * BLOCK_BYTES;
        let &Composition { sizes, direction, .. } = kind;
        match stage {
            Bound::Step(step) => step.run(batch),
            Bound::Enter(load) => {
                for (tile, half) in batch.key.iter_mut().zip(halves).take(sizes.key) {
                    load.load(&half.bytes()[..len_bytes], tile, scratch);
                }
            }
            Bound::Load(load, place) => batch.each_live(*place, sizes, direction, |tile| {
                load.load(&tile.bytes()[..len_bytes], other, scratch);
                std::mem::swap(tile, other);
            }),
            Bound::Store(store, place) => batch.each_live(*place, sizes, direction, |tile| {
                store.store(tile, scratch, false, Buffers::in_place(other.front_mut(len_bytes)));
                std::mem::swap(tile, other);
            }),
        }
    }

    fn wipe(&mut self) {
        let Self { batch, halves, spare } = self;
        batch.tiles().for_each(|tile| tile.wipe());
        halves.iter_mut().chain(spare).for_each(|tile| tile.wipe());
    }
}

thread_local! {
    /// The memory of this thread between two searches, all zeros.
    static IDLE: Cell<Option<Box<Work>>> = const { Cell::new(None) };
}

/// The memory for the duration of a search. Dropping it wipes the used bytes, and keeps it for the next search.
struct Borrowed(Option<Box<Work>>);

impl Borrowed {
    fn take() -> Self {
        Self(IDLE.take())
    }

    /// The memory, with room for keys of these sizes.
    fn work(&mut self, sizes: Sizes) -> &mut Work {
        let new = || Work { batch: Batch::new(0), halves: Default::default(), spare: Default::default() };
        let work = self.0.get_or_insert_with(|| Box::new(new()));
        work.batch.round_keys.resize_with(sizes.round_keys, Box::default);
        work
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Some(mut work) = self.0.take() {
            work.wipe();
            // At the end of a thread this fails, and the memory is freed.
            let _ = IDLE.try_with(|idle| idle.set(Some(work)));
        }
    }
}
