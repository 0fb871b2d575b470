//! A program: plans bound to a key.
//!
//! Data runs bundle by bundle: from the source into a tile in L1, through the parts, to the bytes. What
//! is left over at the end, down to a single byte of a counter job, goes through a padded copy by the
//! plan that does it cheapest. What a mode adds before the cipher and after it is added tile by tile
//! (`frame`), or by the kernel itself where that is the whole cipher.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::frame::Frame;
use super::many::Queue;
use super::threads::Threads;
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::convert::{Load, Store};
use crate::message::AeadMessage;
use crate::part::chain::{Rule, Strand, by_blocks};
use crate::part::ghash::Ghash;
use crate::part::mask::LongMasks;
use crate::part::{Count, Counting, GcmWay, Keys, Source, TilePart, WholePart, tweak};
use crate::plan::{Costs, Job, Limits, Plan, choose};
use crate::variant::{Action, Variant};
use crate::word::{Buffers, Features, TILE_BYTES, Tile, Wiped, wipe_deep_stack, wipe_stack};

/// Blocks that fit in a tile.
const TILE_BLOCKS: usize = TILE_BYTES / BLOCK_BYTES;

/// A job that can be run: its plans with their instructions, keys and nothing left to decide.
pub struct Program {
    /// Widest bundle first.
    bound: Vec<Bound>,
    /// Shared by the programs of many keys.
    plans: Arc<[Plan]>,
    /// Whether its source is counters.
    counts: bool,
    threads: Threads,
    /// Whether the stack is wiped with it.
    wipes_stack: bool,
}

/// A way to add tweaks to a tile, shared by a program's plans.
type Whiten = Arc<dyn tweak::Whiten>;

/// One plan, bound.
enum Bound {
    Whole(Wiped<dyn WholePart>),
    Tiles(Box<Tiled>),
}

/// From bytes or counters to bytes by way of tiles.
struct Tiled {
    bundle_blocks: usize,
    entry: Entry,
    steps: Vec<Step>,
    exit: Box<dyn Store>,
    whiten: Whiten,
}

/// What happens to a tile between its entry and its exit.
enum Step {
    Part(Wiped<dyn TilePart>),
    /// Out of `blocks` into another representation, in the other tile.
    Load(Box<dyn Load>),
    /// Out of another representation into `blocks`, in the other tile.
    Store(Box<dyn Store>),
}

enum Entry {
    Load(Box<dyn Load>),
    Count(Wiped<dyn Count>),
}

/// A key's schedule, worked out once for all programs of a mode. It stays where it is when this is moved.
pub struct Schedule(Wiped<Keys>);

impl Schedule {
    /// The schedule of a key. Wipe the stack when the programs are made.
    #[inline(never)]
    pub fn of(key: &Key, features: Features) -> Self {
        Self(Box::new(Keys::expand(key, features)).into())
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schedule(secret)")
    }
}

impl Program {
    /// Chooses plans for a job and binds them to a key.
    ///
    /// # Errors
    /// As [`choose`].
    pub fn new(job: Job, key: &Key, limits: &Limits, costs: &Costs, threads: Threads) -> Result<Self, Error> {
        Self::of(
            choose(job, limits, costs)?.into(),
            &Schedule::of(key, limits.features),
            limits.features,
            threads,
        )
    }

    /// Binds plans, widest bundle first, to a key's schedule.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for a variant that these features do not suffice for, [`Error::NoPlan`] if there is no plan or
    /// one leads nowhere.
    pub fn of(
        plans: Arc<[Plan]>,
        schedule: &Schedule,
        features: Features,
        threads: Threads,
    ) -> Result<Self, Error> {
        let program = Self::of_message(plans, schedule, features, threads);
        // What is deeper goes when the program does, which holds the key until then.
        wipe_stack();
        Ok(program?.wiping_stack())
    }

    /// Has it wipe the stack when it is dropped.
    pub(crate) fn wiping_stack(mut self) -> Self {
        self.wipes_stack = true;
        self
    }

    /// The same for a key of one message alone. It leaves the stack to the mode, which makes many such programs and wipes it when
    /// dropped.
    ///
    /// # Errors
    /// As [`Program::of`].
    pub(crate) fn of_message(
        plans: Arc<[Plan]>,
        schedule: &Schedule,
        features: Features,
        threads: Threads,
    ) -> Result<Self, Error> {
        let bound = bind_all(&plans, &schedule.0, features)?;
        let first = plans.first().and_then(|plan| plan.stages.first());
        let counts = first.is_some_and(|stage| stage.variant.action.counts());
        Ok(Self { bound, plans, counts, threads, wipes_stack: false })
    }

    /// Overwrites the stack below, where runs and the making of the program leave parts of the key.
    pub(crate) fn wipe_stack(&self) {
        match self.bound.iter().all(|bound| matches!(bound, Bound::Whole(_))) {
            true => wipe_stack(),
            false => wipe_deep_stack(),
        }
    }

    /// The plans, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// Runs the job over the buffers, with as many threads as the program was given.
    ///
    /// A program planned for bytes takes every source but counters, one planned for counters takes these.
    ///
    /// # Panics
    /// If the buffers are no whole number of blocks and the source needs that, or it is of the other kind.
    #[inline]
    pub fn run(&self, source: Source<'_>, buffers: Buffers<'_>) {
        self.run_by(self.threads, source, buffers);
    }

    /// The same with other threads.
    ///
    /// # Panics
    /// As [`Program::run`].
    #[inline]
    pub fn run_by(&self, threads: Threads, source: Source<'_>, buffers: Buffers<'_>) {
        assert!(self.counts == matches!(source, Source::Counter(_)), "planned for another source");
        assert!(source.takes_partial_blocks() || buffers.len_bytes().is_multiple_of(BLOCK_BYTES));
        const { assert!(Threads::JOB_BYTES_MIN <= Buffers::HUGE_BYTES) };
        if buffers.len_bytes() < Threads::JOB_BYTES_MIN {
            return self.run_here(source, buffers);
        }
        self.run_long(threads, source, buffers);
    }

    #[inline(never)]
    fn run_long(&self, threads: Threads, source: Source<'_>, buffers: Buffers<'_>) {
        if Buffers::pay_past_caches(buffers.len_bytes()) && !buffers.is_in_place() {
            self.run_past_caches(threads, source, buffers);
        } else {
            self.run_as_given(threads, source, buffers);
        }
    }

    /// Nobody finds so much in a cache later, and a line that is written whole need not be read first. What is written past the
    /// caches has to begin with a line.
    fn run_past_caches(&self, threads: Threads, source: Source<'_>, buffers: Buffers<'_>) {
        let head_bytes = buffers.bytes_to_line(BLOCK_BYTES);
        let rest_source = source.after(&buffers.input()[..head_bytes]);
        let (head, rest) = buffers.split_at(head_bytes);
        self.run_here(source, head);
        self.run_as_given(threads, rest_source, rest.past_caches());
    }

    fn run_as_given(&self, threads: Threads, source: Source<'_>, buffers: Buffers<'_>) {
        if threads.pays(buffers.len_bytes()) {
            let grain_blocks = self.bound[0].bundle_blocks();
            threads.split(source, buffers, grain_blocks, &|source, piece| self.run_here(source, piece));
        } else {
            self.run_here(source, buffers);
        }
    }

    /// Runs the job over a single block, in place.
    ///
    /// # Panics
    /// If the program was planned for counters.
    #[inline]
    pub fn block(&self, block: &mut Block) {
        assert!(!self.counts, "planned for another source");
        match &self.bound[0] {
            Bound::Whole(cipher) => cipher.block(block),
            Bound::Tiles(_) => self.run_here(Source::Bytes, Buffers::in_place(block)),
        }
    }

    /// As [`WholePart::run_summed`], on this thread.
    #[inline]
    pub fn run_summed(&self, masks: LongMasks<'_>, buffers: Buffers<'_>) -> Option<Block> {
        match &self.bound[0] {
            Bound::Whole(cipher) => cipher.run_summed(masks, buffers),
            Bound::Tiles(_) => None,
        }
    }

    /// Whether [`Program::gcm`] can be called: its cipher has a kernel, and this is GHASH by products.
    pub fn has_gcm(&self, ghash: &Ghash) -> bool {
        matches!(&self.bound[0], Bound::Whole(cipher) if ghash.is_by_products() && cipher.has_gcm())
    }

    /// [`WholePart::gcm`] on this thread.
    ///
    /// # Panics
    /// Unless [`Program::has_gcm`].
    #[inline]
    pub fn gcm(&self, way: &GcmWay<'_>, first: u128, message: &mut AeadMessage<'_>) -> bool {
        match &self.bound[0] {
            Bound::Whole(cipher) => cipher.gcm(way, first, message),
            Bound::Tiles(_) => unreachable!("said to have no kernel"),
        }
    }

    /// [`WholePart::gcm_short`] on this thread; of no message where there is no such kernel.
    #[inline]
    pub fn gcm_short(&self, way: &GcmWay<'_>, messages: &mut [AeadMessage<'_>], right: &mut [bool]) -> usize {
        match &self.bound[0] {
            Bound::Whole(cipher) => cipher.gcm_short(way, messages, right),
            Bound::Tiles(_) => 0,
        }
    }

    /// The threads that the program was given.
    pub const fn threads(&self) -> Threads {
        self.threads
    }

    /// Takes chains to their ends: each is left with its last state.
    ///
    /// As many as fit run side by side. The program must be one that encrypts bytes.
    ///
    /// # Panics
    /// If a chain is no whole number of blocks long.
    pub fn chain(&self, threads: Threads, rule: Rule, strands: &mut [Strand<'_>]) {
        if let [strand] = strands {
            let len_bytes = strand.data.len_bytes();
            assert!(len_bytes.is_multiple_of(BLOCK_BYTES));
            if len_bytes > 0 {
                self.chain_here(rule, &mut [&mut *strand], len_bytes / BLOCK_BYTES);
                strand.data.advance(len_bytes);
            }
            return;
        }
        let share = strands.len().div_ceil(threads.count()).clamp(1, self.lanes());
        let bound = self.cheapest_for(share);
        let lanes = share.min(bound.lanes());
        let queue = Queue::new(strands);
        threads.together(queue.len_bytes(), &|| {
            let mut running = bound.begin();
            queue.work(lanes, |strands, blocks| running.chain(rule, strands, blocks));
        });
    }

    /// Takes few chains `blocks` blocks further on this thread.
    pub(super) fn chain_here(&self, rule: Rule, strands: &mut [&mut Strand<'_>], blocks: usize) {
        self.cheapest_for(strands.len()).begin().chain(rule, strands, blocks);
    }

    /// How many chains run side by side on one thread, where there are so many.
    pub fn lanes(&self) -> usize {
        self.bound[0].lanes()
    }

    /// On this thread. Inlined with all that leads here: a short call costs little more than the copies of `source`
    /// that are handed on.
    #[inline]
    fn run_here(&self, source: Source<'_>, buffers: Buffers<'_>) {
        match &self.bound[0] {
            // Nothing is left over, and what the other way costs is more than a block does.
            Bound::Whole(cipher) if buffers.len_bytes().is_multiple_of(BLOCK_BYTES) => {
                cipher.run(source, buffers)
            }
            widest => self.run_bundles(widest, source, buffers),
        }
    }

    /// Whole bundles, and what is left over.
    #[inline(never)]
    fn run_bundles(&self, widest: &Bound, source: Source<'_>, buffers: Buffers<'_>) {
        let bundle_bytes = widest.bundle_blocks() * BLOCK_BYTES;
        let at = buffers.len_bytes() / bundle_bytes * bundle_bytes;
        let rest_source = source.after(&buffers.input()[..at]);
        let (bundles, rest) = buffers.split_at(at);
        if !bundles.is_empty() {
            widest.begin().run(source, bundles);
        }
        if !rest.is_empty() {
            self.run_padded(rest_source, rest);
        }
    }

    /// The plan that takes so many blocks at the least cost.
    fn cheapest_for(&self, blocks: usize) -> &Bound {
        let cost_ns = |(bound, plan): &(&Bound, &Plan)| {
            plan.cost.per_byte_ns * blocks.next_multiple_of(bound.bundle_blocks()) as f64
        };
        let cheapest = self.bound.iter().zip(&*self.plans).min_by(|a, b| cost_ns(a).total_cmp(&cost_ns(b)));
        cheapest.map_or(&self.bound[0], |(bound, _)| bound)
    }

    /// Less than a bundle, maybe not even a whole number of blocks, by way of a padded copy.
    fn run_padded(&self, source: Source<'_>, rest: Buffers<'_>) {
        let blocks = rest.len_bytes().div_ceil(BLOCK_BYTES);
        let bound = self.cheapest_for(blocks);
        let padded_blocks = blocks.next_multiple_of(bound.bundle_blocks());
        if padded_blocks == 1 {
            let mut block = Zeroizing::new([0; BLOCK_BYTES]);
            run_copied(bound, source, rest, &mut block[..]);
        } else {
            run_in_tile(bound, source, rest, padded_blocks);
        }
    }
}

/// In a frame of its own: a tile would take a single block's run further down the stack than anything else does.
#[inline(never)]
fn run_in_tile(bound: &Bound, source: Source<'_>, rest: Buffers<'_>, padded_blocks: usize) {
    let mut tile = Tile::new();
    run_copied(bound, source, rest, tile.front_mut(padded_blocks * BLOCK_BYTES));
}

/// By way of a copy, with zeros behind it.
fn run_copied(bound: &Bound, source: Source<'_>, mut rest: Buffers<'_>, copy: &mut [u8]) {
    copy[..rest.len_bytes()].copy_from_slice(rest.input());
    bound.begin().run(source, Buffers::in_place(copy));
    let len_bytes = rest.len_bytes();
    rest.output_mut().copy_from_slice(&copy[..len_bytes]);
}

/// Runs have no register for every part of a key, and what they left on the stack goes with the key.
impl Drop for Program {
    fn drop(&mut self) {
        if self.wipes_stack {
            self.wipe_stack();
        }
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
            Self::Tiles(tiled) => tiled.bundle_blocks,
        }
    }

    /// How many chains run side by side.
    fn lanes(&self) -> usize {
        match self {
            Self::Whole(cipher) => cipher.lanes(),
            // Enough to outweigh a run's beginning, few enough for their messages to stay in cache.
            Self::Tiles(tiled) => LANES_LEAST.next_multiple_of(tiled.bundle_blocks),
        }
    }

    /// Begins work on one thread.
    fn begin(&self) -> Running<'_> {
        match self {
            Self::Whole(cipher) => Running::Whole(&**cipher),
            Self::Tiles(tiled) => Running::Tiles(Box::new(Work {
                bundle_blocks: tiled.bundle_blocks,
                entry: tiled.entry.begin(),
                steps: &tiled.steps,
                exit: &*tiled.exit,
                frame: Frame::new(&*tiled.whiten),
                tiles: Borrowed::take(),
            })),
        }
    }
}

/// Chains that run together on tiles whose bundles are smaller.
const LANES_LEAST: usize = 64;

/// A plan at work on one thread.
enum Running<'a> {
    Whole(&'a dyn WholePart),
    Tiles(Box<Work<'a>>),
}

impl Running<'_> {
    /// Runs over whole bundles.
    fn run(&mut self, source: Source<'_>, buffers: Buffers<'_>) {
        match self {
            Self::Whole(cipher) => cipher.run(source, buffers),
            Self::Tiles(work) => work.run(source, buffers),
        }
    }

    fn chain(&mut self, rule: Rule, strands: &mut [&mut Strand<'_>], blocks: usize) {
        match self {
            Self::Whole(cipher) => cipher.chain(rule, strands, blocks),
            Self::Tiles(work) => {
                let bundle_blocks = work.bundle_blocks;
                let mut cipher = |states: Buffers<'_>| work.run(Source::Bytes, states);
                by_blocks(rule, &mut cipher, bundle_blocks, strands, blocks);
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

thread_local! {
    /// Tiles between two runs on this thread, all zeros.
    static IDLE: Cell<Option<Box<Tiles>>> = const { Cell::new(None) };
}

/// Tiles for as long as a run takes, then wiped where they were used: making new ones would cost as much as
/// enciphering a hundred blocks.
struct Borrowed(Option<Box<Tiles>>);

impl Borrowed {
    fn take() -> Self {
        Self(IDLE.take())
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Some(mut tiles) = self.0.take() {
            tiles.state.wipe();
            tiles.spare.iter_mut().for_each(Tile::wipe);
            // A thread that is ending has no more use for them.
            let _ = IDLE.try_with(|idle| idle.set(Some(tiles)));
        }
    }
}

/// One thread at work on a plan with tiles.
struct Work<'a> {
    bundle_blocks: usize,
    entry: Begun<'a>,
    steps: &'a [Step],
    exit: &'a dyn Store,
    frame: Frame<'a>,
    tiles: Borrowed,
}

impl Work<'_> {
    /// Runs over whole bundles.
    fn run(&mut self, mut source: Source<'_>, mut rest: Buffers<'_>) {
        let most_blocks = TILE_BLOCKS / self.bundle_blocks * self.bundle_blocks;
        while !rest.is_empty() {
            let blocks = most_blocks.min(rest.len_bytes() / BLOCK_BYTES);
            let (now, later) = rest.split_at(blocks * BLOCK_BYTES);
            let next = source.after(now.input());
            self.run_tile(source, now);
            (source, rest) = (next, later);
        }
    }

    /// Takes as many blocks as fit in a tile from source to sink.
    fn run_tile(&mut self, source: Source<'_>, buffers: Buffers<'_>) {
        let Self { entry, steps, exit, frame, tiles, .. } = self;
        let Tiles { state, spare } = &mut **tiles.0.get_or_insert_default();
        let blocks = buffers.len_bytes() / BLOCK_BYTES;
        match (entry, source) {
            (Begun::Count(counting), Source::Counter(first)) => counting.count(first, state, spare, blocks),
            (Begun::Load(load), _) => load.load(frame.enter(source, buffers.input()), state, &mut spare[1]),
            _ => unreachable!("modes run a program from the source it was planned for"),
        }
        let [other, scratch] = spare;
        // References, so that exchanging tiles after a conversion exchanges no contents.
        let (mut state, mut other) = (state, other);
        for step in *steps {
            let len_bytes = blocks * BLOCK_BYTES;
            match step {
                Step::Part(part) => part.run(state, blocks),
                Step::Load(load) => load.load(&state.bytes()[..len_bytes], other, scratch),
                Step::Store(store) => {
                    store.store(state, scratch, false, Buffers::in_place(other.front_mut(len_bytes)));
                    other.phase = 0;
                }
            }
            if !matches!(step, Step::Part(_)) {
                std::mem::swap(&mut state, &mut other);
            }
        }
        let (add, buffers) = frame.leave(source, buffers);
        exit.store(state, scratch, add, buffers);
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

/// In a frame of its own, to be wiped.
#[inline(never)]
fn bind_all(plans: &[Plan], keys: &Keys, features: Features) -> Result<Vec<Bound>, Error> {
    if plans.is_empty() {
        return Err(Error::NoPlan("give one at least".to_owned()));
    }
    let whiten = Whiten::from(tweak::whiten(features));
    plans.iter().map(|plan| bind(plan, keys, features, &whiten)).collect()
}

fn bind(plan: &Plan, keys: &Keys, features: Features, whiten: &Whiten) -> Result<Bound, Error> {
    let (mut entry, mut steps) = (None, Vec::new());
    for stage in &plan.stages {
        let variant: &Variant = stage.variant;
        let missing = || variant.unavailable(features);
        match variant.action {
            Action::Whole(direction, bind) => {
                return bind(features, direction, keys)
                    .map(|cipher| Bound::Whole(cipher.into()))
                    .ok_or_else(missing);
            }
            Action::WholeCounter(bind) => {
                return bind(features, Direction::Encrypt, keys)
                    .map(|cipher| Bound::Whole(cipher.into()))
                    .ok_or_else(missing);
            }
            Action::Load(bind) if entry.is_none() => {
                entry = Some(Entry::Load(bind(features).ok_or_else(missing)?));
            }
            Action::Load(bind) => steps.push(Step::Load(bind(features).ok_or_else(missing)?)),
            Action::Count(bind) => entry = Some(Entry::Count(bind(features).ok_or_else(missing)?.into())),
            Action::CountEncrypted(bind) => {
                entry = Some(Entry::Count(bind(features, keys).ok_or_else(missing)?.into()));
            }
            Action::Tile(part, direction, bind) => {
                let part = bind(features, part, direction, keys, stage.round);
                steps.push(Step::Part(part.ok_or_else(missing)?.into()));
            }
            Action::Store(bind) => steps.push(Step::Store(bind(features).ok_or_else(missing)?)),
            Action::Search(..) | Action::SearchStep(..) => {
                return Err(Error::NoPlan(format!("{} gives no bytes", variant.name)));
            }
        }
    }
    let bundle_blocks = plan.bundle_blocks();
    match (entry, steps.pop()) {
        (Some(entry), Some(Step::Store(exit))) => {
            let whiten = Arc::clone(whiten);
            Ok(Bound::Tiles(Box::new(Tiled { bundle_blocks, entry, steps, exit, whiten })))
        }
        _ => Err(Error::NoPlan("one that was given does not lead from a source to bytes".to_owned())),
    }
}
