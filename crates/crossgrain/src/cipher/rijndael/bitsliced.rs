//! Bit-sliced Rijndael. Word `8·byte + bit` holds that bit of every block in a bundle, as for AES.
//!
//! Layout: 192 or 256 words. ShiftRows is a renaming, with as many phases as there are columns. Conversions
//! work on blocks of sixteen bytes, so one half of all blocks at a time is gathered and converted. In blocks
//! of 24 bytes the halves overlap, and both conversions give the same bits for the common bytes.
//!
//! Needs any `Register`.
//! Source: as for `aes::bitsliced`, whose code is used here.

use std::fmt;

use super::{WideBlocks, second_half};
use crate::arch::{Buffers, Features, Isa, Kernel, Register, TILE_WORDS, Tile};
use crate::block::Direction;
use crate::cipher::aes::bitsliced::{BitKeys, decrypt, encrypt};
use crate::cipher::aes::key::RoundKeys;
use crate::layout::convert::{BlocksToBits, Load, Store, Transpose};
use crate::layout::repr::shifted_among;

/// The whole cipher on bundles of `W::BITS` blocks. The transposition `T` converts them.
pub struct Cipher<W: Register, T, const BYTES: usize, const WORDS: usize> {
    isa: W::Isa,
    direction: Direction,
    keys: BitKeys<WORDS>,
    conversion: BlocksToBits<W, T>,
}

impl<W: Register, T: Transpose<W>, const BYTES: usize, const WORDS: usize> Cipher<W, T, BYTES, WORDS> {
    /// The cipher in one direction with a key of 16, 24 or 32 bytes.
    pub fn new(isa: W::Isa, direction: Direction, key: &[u8]) -> Self {
        let keys = BitKeys::all_folded(&RoundKeys::<BYTES>::of(key, Features::NONE));
        Self { isa, direction, keys, conversion: BlocksToBits::new(isa) }
    }
}

impl<W: Register, T, const BYTES: usize, const WORDS: usize> fmt::Debug for Cipher<W, T, BYTES, WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rijndael::bitsliced::Cipher({BYTES} bytes, {} bits, {:?})", W::BITS, self.direction)
    }
}

impl<W: Register, T: Transpose<W>, const BYTES: usize, const WORDS: usize> WideBlocks<BYTES>
    for Cipher<W, T, BYTES, WORDS>
{
    fn run(&self, blocks: &mut [[u8; BYTES]]) {
        let mut halves = [Tile::new(), Tile::new()];
        let [mut together, mut scratch] = [Tile::new(), Tile::new()];
        for bundle in blocks.chunks_mut(W::BITS) {
            for (tile, at) in halves.iter_mut().zip([0, second_half(BYTES)]) {
                gather(bundle, at, &mut together);
                self.conversion.load(&together.bytes()[..16 * W::BITS], tile, &mut scratch);
            }
            self.isa.enter(OnBundle::<W, WORDS> {
                isa: self.isa,
                direction: self.direction,
                keys: &self.keys,
                halves: &mut halves,
            });
            for (tile, at) in halves.iter().zip([0, second_half(BYTES)]) {
                let halves = Buffers::in_place(&mut together.bytes_mut()[..16 * W::BITS]);
                self.conversion.store(tile, &mut scratch, false, halves);
                scatter(&together, at, bundle);
            }
        }
    }
}

/// Gathers the sixteen bytes from `at` on of all blocks.
fn gather<const BYTES: usize>(blocks: &[[u8; BYTES]], at: usize, together: &mut Tile) {
    for (half, block) in together.bytes_mut().as_chunks_mut::<16>().0.iter_mut().zip(blocks) {
        half.copy_from_slice(&block[at..at + 16]);
    }
}

/// Writes them back.
fn scatter<const BYTES: usize>(together: &Tile, at: usize, blocks: &mut [[u8; BYTES]]) {
    for (half, block) in together.bytes().as_chunks::<16>().0.iter().zip(blocks) {
        block[at..at + 16].copy_from_slice(half);
    }
}

/// A bundle whose halves are already converted.
struct OnBundle<'a, W: Register, const WORDS: usize> {
    isa: W::Isa,
    direction: Direction,
    keys: &'a BitKeys<WORDS>,
    halves: &'a mut [Tile; 2],
}

impl<W: Register, const WORDS: usize> Kernel for OnBundle<'_, W, WORDS> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, direction, keys, halves } = self;
        let (second, columns) = (WORDS - TILE_WORDS, WORDS / 32);
        let zero = W::splat(isa, 0);
        let mut state = [zero; WORDS];
        for (tile, at) in halves.iter().zip([0, second]) {
            let words = tile.bundle::<W, TILE_WORDS>(isa, 0);
            state[at..][..TILE_WORDS].copy_from_slice(words);
        }
        let phase = match direction {
            Direction::Encrypt => encrypt(isa, &mut state, keys, 0),
            Direction::Decrypt => decrypt(isa, &mut state, keys, 0),
        };
        for (tile, at) in halves.iter_mut().zip([0, second]) {
            let words = tile.bundle_mut::<W, TILE_WORDS>(isa, 0);
            for (index, word) in words.iter_mut().enumerate() {
                let named = at + index;
                *word = state[8 * shifted_among(columns, named / 8, phase) + named % 8];
            }
        }
        state.fill(zero);
        zeroize::optimization_barrier(&state);
    }
}
