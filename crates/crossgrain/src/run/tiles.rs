//! Runs a bound plan on one thread: from the source into a tile in L1, through the parts, to bytes.
//!
//! Each thread keeps a set of tiles between runs. After a run, the bytes that were used are overwritten
//! before anything else uses the tiles.

use std::cell::Cell;

use super::bound::{Entry, Step, Tiled};
use super::frame::Frame;
use crate::arch::{Buffers, TILE_BYTES, Tile};
use crate::block::BLOCK_BYTES;
use crate::kernel::{Counting, Source, WholePart};
use crate::layout::convert::{Load, Store};
use crate::mode::chained::chain::{ChainKernel, ChainMessage, Rule, by_blocks};

/// Blocks in a tile.
const TILE_BLOCKS: usize = TILE_BYTES / BLOCK_BYTES;

/// A bound plan with the working memory of one thread.
pub(super) enum Running<'a> {
    Whole(&'a dyn WholePart),
    Chains(&'a dyn ChainKernel),
    /// Not boxed. Boxing would copy padding, which may hold old stack contents, to the heap.
    Tiles(Work<'a>),
}

impl Running<'_> {
    /// Runs over whole bundles.
    pub(super) fn run(&mut self, source: Source<'_>, buffers: Buffers<'_>) {
        match self {
            Self::Whole(kernel) => kernel.run(source, buffers),
            Self::Chains(kernel) => kernel.run(source, buffers),
            Self::Tiles(work) => work.run(source, buffers),
        }
    }

    /// Advances each chain by `blocks` blocks.
    pub(super) fn chain(&mut self, rule: Rule, chains: &mut [&mut ChainMessage<'_>], blocks: usize) {
        match self {
            Self::Chains(kernel) => kernel.advance(rule, chains, blocks),
            Self::Whole(kernel) => {
                let mut cipher = |states: Buffers<'_>| kernel.run(Source::Bytes, states);
                by_blocks(rule, &mut cipher, 1, chains, blocks);
            }
            Self::Tiles(work) => {
                let bundle_blocks = work.bundle_blocks;
                let mut cipher = |states: Buffers<'_>| work.run(Source::Bytes, states);
                by_blocks(rule, &mut cipher, bundle_blocks, chains, blocks);
            }
        }
    }
}

/// The tiles of one thread: one for the state, one as the destination of conversions, one as their scratch
/// memory.
#[derive(Default)]
struct Tiles {
    state: Tile,
    spare: [Tile; 2],
}

thread_local! {
    /// The tiles of this thread between two runs, all zeros.
    static IDLE: Cell<Option<Box<Tiles>>> = const { Cell::new(None) };
}

/// Tiles for the duration of a run. Dropping it wipes the bytes that were used and keeps the tiles for the
/// next run: to allocate new ones would take as long as encrypting a hundred blocks.
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
            // At the end of a thread this fails, and the tiles are freed.
            let _ = IDLE.try_with(|idle| idle.set(Some(tiles)));
        }
    }
}

/// A plan on tiles with the working memory of one thread.
pub(super) struct Work<'a> {
    bundle_blocks: usize,
    entry: Begun<'a>,
    steps: &'a [Step],
    exit: &'a dyn Store,
    frame: Frame<'a>,
    tiles: Borrowed,
}

impl<'a> Work<'a> {
    pub(super) fn on(tiled: &'a Tiled) -> Self {
        let Tiled { bundle_blocks, entry, steps, exit, tweak_mask } = tiled;
        Self {
            bundle_blocks: *bundle_blocks,
            entry: entry.begin(),
            steps,
            exit: &**exit,
            frame: Frame::new(&**tweak_mask),
            tiles: Borrowed::take(),
        }
    }
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

    /// Runs as many blocks as fit in a tile from the source to the output.
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
        // References, so that the tiles are exchanged after a conversion without moving their contents.
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

/// An entry with its state on one thread.
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
