//! The XORs that a mode adds around the cipher, tile by tile, while the blocks are in L1.
//!
//! ```text
//! source              enters the cipher          XORed into the result
//! Bytes   (ECB)       input                      nothing
//! Counter (CTR)       counters                   input
//! Chained (CBC⁻¹)     input                      input one block earlier
//! Delayed (CFB⁻¹)     input one block earlier    input
//! Tweaked (XTS)       input ⊕ tweak              tweak
//! Masked  (OCB)       input ⊕ offset             offset
//! ```
//!
//! The result of a tile overwrites the input if the job is in place. Blocks to be XORed afterwards are
//! therefore kept in a tile of masks. The final `Store` XORs them into the output.

use crate::arch::{Buffers, Tile};
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::Source;
use crate::mode::xts::tweak::TweakMask;

/// The XORs around the cipher for one thread.
pub(super) struct Frame<'a> {
    tweak_mask: &'a dyn TweakMask,
    /// Allocated on first use, because short jobs without a frame should not pay for it.
    tiles: Option<Box<Tiles>>,
}

#[derive(Default)]
struct Tiles {
    /// The blocks to XOR after the cipher.
    masks: Tile,
    /// The blocks that enter the cipher.
    entering: Tile,
}

impl<'a> Frame<'a> {
    pub(super) const fn new(tweak_mask: &'a dyn TweakMask) -> Self {
        Self { tweak_mask, tiles: None }
    }

    /// The blocks that enter the cipher for one tile of input.
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
                let tweak_mask = self.tweak_mask;
                let Tiles { masks, entering } = self.tiles();
                tweak_mask.tweak_mask(tweaks, input, masks, entering);
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

    /// Whether blocks are XORed into the result, and buffers with these blocks as input.
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

/// Fills a tile with the input one block earlier, `previous` first.
fn delay(previous: Block, input: &[u8], tile: &mut Tile) {
    let tile = tile.front_mut(input.len());
    tile[..BLOCK_BYTES].copy_from_slice(&previous);
    tile[BLOCK_BYTES..].copy_from_slice(&input[..input.len() - BLOCK_BYTES]);
}
