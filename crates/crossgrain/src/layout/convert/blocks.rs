//! Conversions between `blocks` and the tile: transposition to `bitsliced`, or a copy.
//!
//! Layout: word j of a bundle's bytes is row j of the bit matrix. If a block takes m words, word j·m + q is
//! row j of matrix q. Row i of the transpose is bit i of every block. When the tile is stored, each bit's
//! word is read from the place to which renamed ShiftRows has moved it.

use std::fmt;
use std::marker::PhantomData;

use super::{Load, Reader, Store, Transpose, Writer, matrices};
use crate::arch::{Buffers, Isa, Kernel, Register, TILE_BYTES, TILE_WORDS, Tile};
use crate::layout::repr::shifted;

/// Conversion between `blocks` and `bitsliced` by transposition `T`, in both directions.
pub struct BlocksToBits<W: Register, T> {
    isa: W::Isa,
    way: PhantomData<T>,
}

impl<W: Register, T: Transpose<W>> BlocksToBits<W, T> {
    /// The conversion with these instructions.
    pub const fn new(isa: W::Isa) -> Self {
        Self { isa, way: PhantomData }
    }
}

impl<W: Register, T: Transpose<W>> fmt::Debug for BlocksToBits<W, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlocksToBits({} bits, {})", W::BITS, T::NAME)
    }
}

/// The offset in bytes of row `index` of the matrices within a bundle's bytes.
#[inline(always)]
fn row_at<W: Register>(index: usize) -> usize {
    let side = TILE_WORDS / matrices::<W>();
    ((index % side) * matrices::<W>() + index / side) * W::BYTES
}

struct Rows<'a, W: Register>(W::Isa, &'a [u8]);

impl<W: Register> Reader<W> for Rows<'_, W> {
    #[inline(always)]
    fn read(&self, index: usize) -> W {
        W::load(self.0, &self.1[row_at::<W>(index)..][..W::BYTES])
    }
}

struct Words<'a, W>(&'a mut [W; TILE_WORDS]);

impl<W> Writer<W> for Words<'_, W> {
    #[inline(always)]
    fn write(&mut self, index: usize, word: W) {
        self.0[index] = word;
    }
}

struct NamedWords<'a, W> {
    words: &'a [W; TILE_WORDS],
    phase: usize,
}

impl<W: Register> Reader<W> for NamedWords<'_, W> {
    #[inline(always)]
    fn read(&self, index: usize) -> W {
        self.words[8 * shifted(index / 8, self.phase) + index % 8]
    }
}

struct OutputRows<'a, W: Register, const ADD: bool>(W::Isa, Buffers<'a>);

impl<W: Register, const ADD: bool> Writer<W> for OutputRows<'_, W, ADD> {
    #[inline(always)]
    fn write(&mut self, index: usize, word: W) {
        let at = row_at::<W>(index);
        let word = if ADD { word ^ self.1.load(self.0, at) } else { word };
        self.1.store(at, word);
    }
}

struct LoadTile<'a, W: Register, T>(W::Isa, &'a [u8], &'a mut Tile, &'a mut Tile, PhantomData<T>);

impl<W: Register, T: Transpose<W>> Kernel for LoadTile<'_, W, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, input, tile, scratch, _) = self;
        tile.phase = 0;
        for (bundle, input) in input.chunks_exact(TILE_WORDS * W::BYTES).enumerate() {
            let words = Words(tile.bundle_mut(isa, bundle));
            T::transpose(isa, scratch.bundle_mut(isa, 0), Rows(isa, input), words);
        }
    }
}

impl<W: Register, T: Transpose<W>> Load for BlocksToBits<W, T> {
    fn load(&self, input: &[u8], tile: &mut Tile, scratch: &mut Tile) {
        let kernel = LoadTile::<W, T>(self.isa, input, tile, scratch, PhantomData);
        self.isa.enter(kernel);
    }
}

struct StoreTile<'a, W: Register, T, const ADD: bool> {
    isa: W::Isa,
    tile: &'a Tile,
    scratch: &'a mut Tile,
    buffers: Buffers<'a>,
    way: PhantomData<T>,
}

impl<W: Register, T: Transpose<W>, const ADD: bool> Kernel for StoreTile<'_, W, T, ADD> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, tile, scratch, buffers: mut rest, .. } = self;
        let (phase, mut bundle) = (usize::from(tile.phase), 0);
        while !rest.is_empty() {
            let (mut now, later) = rest.split_at(TILE_WORDS * W::BYTES);
            now.prefetch(TILE_BYTES, TILE_WORDS * W::BYTES);
            let words = NamedWords { words: tile.bundle(isa, bundle), phase };
            let output = OutputRows::<W, ADD>(isa, now);
            T::transpose(isa, scratch.bundle_mut(isa, 0), words, output);
            (rest, bundle) = (later, bundle + 1);
        }
    }
}

impl<W: Register, T: Transpose<W>> Store for BlocksToBits<W, T> {
    fn store(&self, tile: &Tile, scratch: &mut Tile, add: bool, buffers: Buffers<'_>) {
        let (isa, way) = (self.isa, PhantomData::<T>);
        if add {
            isa.enter(StoreTile::<W, T, true> { isa, tile, scratch, buffers, way });
        } else {
            isa.enter(StoreTile::<W, T, false> { isa, tile, scratch, buffers, way });
        }
    }
}

/// Copies blocks unchanged, for plans that work on whole blocks, and for their counters.
#[derive(Debug)]
pub struct Copy;

impl Load for Copy {
    fn load(&self, input: &[u8], tile: &mut Tile, _scratch: &mut Tile) {
        tile.phase = 0;
        tile.front_mut(input.len()).copy_from_slice(input);
    }
}

impl Store for Copy {
    fn store(&self, tile: &Tile, _scratch: &mut Tile, add: bool, mut buffers: Buffers<'_>) {
        let len_bytes = buffers.len_bytes();
        let blocks = &tile.bytes()[..len_bytes];
        if add {
            for (at, block) in blocks.as_chunks().0.iter().enumerate() {
                let sum = buffers.load::<u64>(crate::arch::Portable, at * 8) ^ u64::from_le_bytes(*block);
                buffers.store(at * 8, sum);
            }
        } else {
            buffers.output_mut().copy_from_slice(blocks);
        }
    }
}
