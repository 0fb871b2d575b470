//! What a mode adds to a tile's blocks before the cipher and after it, while they are in L1.
//!
//! What is added afterwards stands in a tile of masks, for the output may be the input and is then
//! overwritten: `Store` adds it on the way out.

use crate::block::{BLOCK_BYTES, Block};
use crate::part::Source;
use crate::part::tweak::Whiten;
use crate::word::{Buffers, Tile};

/// The frame of one thread's tiles.
pub(super) struct Frame<'a> {
    whiten: &'a dyn Whiten,
    /// Made when first needed: short jobs without a frame should not pay for it.
    tiles: Option<Box<Tiles>>,
}

#[derive(Default)]
struct Tiles {
    /// What is added after the cipher.
    masks: Tile,
    /// What enters it.
    entering: Tile,
}

impl<'a> Frame<'a> {
    pub(super) const fn new(whiten: &'a dyn Whiten) -> Self {
        Self { whiten, tiles: None }
    }

    /// The blocks that enter the cipher for a tile's worth of input.
    pub(super) fn enter<'b>(&'b mut self, source: Source<'_>, input: &'b [u8]) -> &'b [u8] {
        match source {
            Source::Bytes | Source::Counter(_) => input,
            Source::Chained(previous) => {
                delay(previous, input, &mut self.tiles().masks);
                input
            }
            Source::Delayed(previous) => {
                let entering = &mut self.tiles().entering;
                delay(previous, input, entering);
                &entering.bytes()[..input.len()]
            }
            Source::Tweaked(tweaks) => {
                let whiten = self.whiten;
                let Tiles { masks, entering } = self.tiles();
                whiten.whiten(tweaks, input, masks, entering);
                &entering.bytes()[..input.len()]
            }
            Source::Masked(added) => {
                let Tiles { masks, entering } = self.tiles();
                added.add(input, masks.front_mut(input.len()), entering.front_mut(input.len()));
                &entering.bytes()[..input.len()]
            }
        }
    }

    fn tiles(&mut self) -> &mut Tiles {
        self.tiles.get_or_insert_default()
    }

    /// Whether something is added to the result, and buffers with that as input.
    pub(super) fn leave<'b>(&'b mut self, source: Source<'_>, buffers: Buffers<'b>) -> (bool, Buffers<'b>) {
        match source {
            Source::Bytes => (false, buffers),
            Source::Counter(_) | Source::Delayed(_) => (true, buffers),
            Source::Chained(_) | Source::Tweaked(_) | Source::Masked(_) => {
                let len_bytes = buffers.len_bytes();
                (true, buffers.with_input(&self.tiles().masks.bytes()[..len_bytes]))
            }
        }
    }
}

/// Fills a tile with the input one block earlier.
fn delay(previous: Block, input: &[u8], tile: &mut Tile) {
    let tile = tile.front_mut(input.len());
    tile[..BLOCK_BYTES].copy_from_slice(&previous);
    tile[BLOCK_BYTES..].copy_from_slice(&input[..input.len() - BLOCK_BYTES]);
}
