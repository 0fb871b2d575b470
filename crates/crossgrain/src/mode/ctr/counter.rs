//! Counter blocks, created directly in each representation. There is no input to read and nothing to
//! transpose.
//!
//! * `blocks`: counters are written one after another.
//! * `bitsliced`: block n of a bundle of 2ᴸ blocks is `first + n`. Bit k of n is a constant word
//!   (`layout::repr::lane`). The low L bits are therefore an addition by L one-bit adders. The higher bits
//!   have only two values in a bundle, those of `first` and of `first + 2ᴸ`. The carry of each lane selects
//!   one.
//! * `vsliced`: only the lowest 32-bit word counts, until it wraps.
//! * `bytesliced`: only the lowest byte counts, and the higher bytes see its carry.
//!
//! Counters are public, so branches on them leak nothing.
//!
//! Source: the counter of SP 800-38A B.1 is big-endian: bit k is in byte 15 − k/8. Random-number generators
//! use little-endian counters: bit k is in byte k/8. The same code serves both through an index map.

use std::fmt;

use crate::arch::{ByteLanes, Isa, Kernel, Lane32, Register, TILE_WORDS, Tile, each, eight};
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::{Count, Counting};
use crate::layout::repr::{lane, word_lane};

/// Bits of a block's number in the widest bundle.
const LANE_BITS_MAX: usize = 9;

/// Which end of a block holds the counter's least significant byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The last byte, as in SP 800-38A.
    Big,
    /// The first byte.
    Little,
}

/// A counter block: a value modulo 2¹²⁸ and its byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The value.
    pub value: u128,
    /// The byte order in the block.
    pub order: ByteOrder,
}

impl Counter {
    /// A counter that is written big-endian.
    pub const fn big_endian(value: u128) -> Self {
        Self { value, order: ByteOrder::Big }
    }

    /// A counter that is written little-endian.
    pub const fn little_endian(value: u128) -> Self {
        Self { value, order: ByteOrder::Little }
    }

    /// The counter `blocks` blocks later, wrapping at 2¹²⁸.
    #[must_use]
    #[inline(always)]
    pub const fn skip(self, blocks: u128) -> Self {
        Self { value: self.value.wrapping_add(blocks), ..self }
    }

    /// The value shifted right by `bits`. Counters that differ only in their lowest `bits` bits give the same
    /// result.
    pub(crate) const fn without_low(self, bits: u32) -> Self {
        Self { value: self.value >> bits, ..self }
    }

    /// The number of counters, from this one on, that differ from it only in their lowest `bits` bits. It
    /// counts itself.
    pub(crate) const fn left_in_low(self, bits: u32) -> u64 {
        (1 << bits) - (self.value as u64 & ((1 << bits) - 1))
    }

    /// The block.
    #[inline(always)]
    pub const fn block(self) -> Block {
        match self.order {
            ByteOrder::Big => self.value.to_be_bytes(),
            ByteOrder::Little => self.value.to_le_bytes(),
        }
    }
}

impl ByteOrder {
    /// For each byte of a block, the index of the value's byte there.
    #[inline(always)]
    pub(crate) const fn places(self) -> Block {
        match self {
            Self::Big => [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
            Self::Little => [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        }
    }

    /// The index map of bits: bit k of the value is bit `k ^ mirror` of the block.
    #[inline(always)]
    const fn mirror(self) -> usize {
        match self {
            Self::Big => 8 * (BLOCK_BYTES - 1),
            Self::Little => 0,
        }
    }
}

/// Counters in `bitsliced`.
pub struct CounterToBits<W: Register> {
    isa: W::Isa,
    /// Word k has bit k of the number of the block in each lane.
    numbers: [[u8; 64]; LANE_BITS_MAX],
}

impl<W: Register> CounterToBits<W> {
    /// The source for these instructions.
    pub fn new(isa: W::Isa) -> Self {
        let numbers = std::array::from_fn(|k| {
            let mut bytes = [0_u8; 64];
            for block in (0..W::BITS).filter(|block| block >> k & 1 == 1) {
                let lane = lane(W::BITS, block);
                bytes[lane / 8] |= 1 << (lane % 8);
            }
            bytes
        });
        Self { isa, numbers }
    }
}

impl<W: Register> fmt::Debug for CounterToBits<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CounterToBits({} bits)", W::BITS)
    }
}

impl<W: Register> Count for CounterToBits<W> {
    fn begin(&self) -> Box<dyn Counting + '_> {
        Box::new(self)
    }
}

impl<W: Register> Counting for &CounterToBits<W> {
    fn count(&mut self, first: Counter, tile: &mut Tile, _scratch: &mut [Tile; 2], blocks: usize) {
        self.count_tile(first, tile, blocks);
    }
}

/// Counters in `blocks`.
#[derive(Debug)]
pub struct CounterToBlocks;

impl Count for CounterToBlocks {
    fn begin(&self) -> Box<dyn Counting + '_> {
        Box::new(Self)
    }
}

impl Counting for CounterToBlocks {
    fn count(&mut self, first: Counter, tile: &mut Tile, _scratch: &mut [Tile; 2], blocks: usize) {
        tile.phase = 0;
        let places = tile.bytes_mut().as_chunks_mut().0.iter_mut().take(blocks);
        for (i, block) in places.enumerate() {
            *block = first.skip(i as u128).block();
        }
    }
}

/// Counters in `vsliced`.
pub struct CounterToWords<W: Lane32> {
    isa: W::Isa,
    /// The number of the block in each 32-bit lane, as bytes of a word.
    numbers: [u8; 64],
}

impl<W: Lane32> CounterToWords<W> {
    /// The source for these instructions.
    pub fn new(isa: W::Isa) -> Self {
        let mut numbers = [0; 64];
        for block in 0..Self::BLOCKS {
            numbers[word_lane(W::BITS, block) / 8] = block as u8;
        }
        Self { isa, numbers }
    }

    /// Blocks in a bundle, which is also the number of 32-bit lanes in a word.
    const BLOCKS: usize = W::BITS / 32;

    /// The index of 32-bit word `word` of a block in a tile, in units of 32 bits.
    const fn place(block: usize, word: usize) -> usize {
        let (bundle, block) = (block / Self::BLOCKS, block % Self::BLOCKS);
        (4 * bundle + word) * Self::BLOCKS + word_lane(W::BITS, block) / 32
    }

    /// The four words of `N` bundles of counters from `first` on. The low 32 bits must not wrap. Three words
    /// are then the same in all bundles.
    #[inline(always)]
    pub(crate) fn bundles<const N: usize>(&self, first: Counter) -> [[W; 4]; N] {
        let number = W::load(self.isa, &self.numbers[..W::BYTES]);
        let block = u128::from_le_bytes(first.block());
        let same = each!(i < 4 => W::splat_lanes(self.isa, (block >> (32 * i)) as u32));
        let low = first.value as u32;
        each!(n < N => {
            let lowest = W::splat_lanes(self.isa, low.wrapping_add((n * Self::BLOCKS) as u32)).add_lanes(number);
            match first.order {
                ByteOrder::Big => [same[0], same[1], same[2], lowest.reverse_lane_bytes()],
                ByteOrder::Little => [lowest, same[1], same[2], same[3]],
            }
        })
    }
}

/// The number of blocks, out of `blocks` from `first` on, before the low 32 bits of the counter wrap.
pub(crate) fn before_wrap(first: Counter, blocks: usize) -> usize {
    let left = (1 << 32) - u64::from(first.value as u32);
    usize::try_from(left).map_or(blocks, |left| left.min(blocks))
}

impl<W: Lane32> fmt::Debug for CounterToWords<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CounterToWords({} bits)", W::BITS)
    }
}

impl<W: Lane32> Count for CounterToWords<W> {
    fn begin(&self) -> Box<dyn Counting + '_> {
        Box::new(self)
    }
}

impl<W: Lane32> Counting for &CounterToWords<W> {
    fn count(&mut self, first: Counter, tile: &mut Tile, _scratch: &mut [Tile; 2], blocks: usize) {
        self.isa.enter(CountWords { source: self, first, tile: &mut *tile, blocks });
        let wrap = before_wrap(first, blocks);
        if wrap < blocks {
            // Once in 2³² blocks: the blocks after the wrap in the same bundle need the carry.
            let words = tile.bytes_mut().as_chunks_mut::<4>().0;
            for block in wrap..wrap.next_multiple_of(CounterToWords::<W>::BLOCKS).min(blocks) {
                let counter = first.skip(block as u128).block();
                for (i, word) in counter.as_chunks().0.iter().enumerate() {
                    words[CounterToWords::<W>::place(block, i)] = *word;
                }
            }
        }
    }
}

struct CountWords<'a, W: Lane32> {
    source: &'a CounterToWords<W>,
    first: Counter,
    tile: &'a mut Tile,
    blocks: usize,
}

impl<W: Lane32> Kernel for CountWords<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { source, first, tile, blocks } = self;
        tile.phase = 0;
        let bundle_blocks = CounterToWords::<W>::BLOCKS;
        for bundle in 0..blocks / bundle_blocks {
            let first = first.skip((bundle * bundle_blocks) as u128);
            [*tile.bundle_mut(source.isa, bundle)] = source.bundles(first);
        }
    }
}

/// Counters in `bytesliced`.
pub struct CounterToBytes<W: ByteLanes> {
    isa: W::Isa,
    /// The number of the block in each byte lane.
    numbers: [u8; 64],
}

impl<W: ByteLanes> CounterToBytes<W> {
    /// The source for these instructions.
    pub fn new(isa: W::Isa) -> Self {
        let parts = W::BYTES / 16;
        let mut numbers = [0; 64];
        for block in 0..W::BYTES {
            numbers[block % parts * 16 + block / parts] = block as u8;
        }
        Self { isa, numbers }
    }

    /// The lowest bytes of a bundle of counters. The first counter has the lowest byte `first`.
    #[inline(always)]
    fn lowest(&self, first: u8) -> W {
        W::splat(self.isa, eight(first)).add_bytes(W::load(self.isa, &self.numbers[..W::BYTES]))
    }

    /// The other bytes of a bundle of counters from `first` on. They have two values: before the carry and
    /// after it.
    #[inline(always)]
    fn higher(&self, first: Counter) -> [W; BLOCK_BYTES] {
        let before = first.block();
        let mut words = each!(i < BLOCK_BYTES => W::splat(self.isa, eight(before[i])));
        let left = 256 - usize::from(first.value as u8);
        if left < W::BYTES {
            let after = first.skip(left as u128).block();
            // For numbers from `left` on, the sum has its top bit set.
            let numbers = W::load(self.isa, &self.numbers[..W::BYTES]);
            let top = numbers.add_bytes(W::splat(self.isa, eight(128 - left as u8)));
            let is_before = W::byte_where_top_bit_is_clear(self.isa, 0xff, top);
            words = each!(i < BLOCK_BYTES => {
                let change = W::splat(self.isa, eight(before[i] ^ after[i]));
                W::splat(self.isa, eight(after[i])) ^ (is_before & change)
            });
        }
        words
    }
}

impl<W: ByteLanes> fmt::Debug for CounterToBytes<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CounterToBytes({} bits)", W::BITS)
    }
}

impl<W: ByteLanes> Count for CounterToBytes<W> {
    fn begin(&self) -> Box<dyn Counting + '_> {
        Box::new(self)
    }
}

impl<W: ByteLanes> Counting for &CounterToBytes<W> {
    fn count(&mut self, first: Counter, tile: &mut Tile, _scratch: &mut [Tile; 2], blocks: usize) {
        self.isa.enter(CountBytes { source: self, first, tile, blocks });
    }
}

struct CountBytes<'a, W: ByteLanes> {
    source: &'a CounterToBytes<W>,
    first: Counter,
    tile: &'a mut Tile,
    blocks: usize,
}

impl<W: ByteLanes> Kernel for CountBytes<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { source, first, tile, blocks } = self;
        tile.phase = 0;
        let place_of_lowest = match first.order {
            ByteOrder::Big => BLOCK_BYTES - 1,
            ByteOrder::Little => 0,
        };
        let mut higher = source.higher(first);
        for bundle in 0..blocks / W::BYTES {
            let now = first.skip((bundle * W::BYTES) as u128);
            let low = now.value as u8;
            // The other bytes change only if a carry occurred since the last bundle or occurs within this
            // one.
            if bundle > 0 && !(W::BYTES..=256 - W::BYTES).contains(&usize::from(low)) {
                higher = source.higher(now);
            }
            let words = tile.bundle_mut(source.isa, bundle);
            *words = higher;
            words[place_of_lowest] = source.lowest(low);
        }
    }
}

struct CountTile<'a, W: Register> {
    source: &'a CounterToBits<W>,
    first: Counter,
    tile: &'a mut Tile,
    blocks: usize,
}

impl<W: Register> CounterToBits<W> {
    pub(crate) fn count_tile(&self, first: Counter, tile: &mut Tile, blocks: usize) {
        self.isa.enter(CountTile { source: self, first, tile, blocks });
    }

    /// Bits 0 to L − 1 of `first + n` for the blocks n of the bundle, and the carry out of bit L − 1.
    #[inline(always)]
    fn low(&self, first: u128) -> ([W; LANE_BITS_MAX], W) {
        let zero = W::splat(self.isa, 0);
        let (mut sums, mut carry) = ([zero; LANE_BITS_MAX], zero);
        for (k, counted) in sums.iter_mut().enumerate().take(Self::LANE_BITS) {
            let number = W::load(self.isa, &self.numbers[k][..W::BYTES]);
            let bit = spread(self.isa, first, k);
            let sum = number ^ bit;
            *counted = sum ^ carry;
            carry = (number & bit) ^ (sum & carry);
        }
        (sums, carry)
    }

    /// The low 16 bits of the bundle's counters, least significant first.
    #[inline(always)]
    pub(crate) fn low_16(&self, first: u128) -> [W; 16] {
        let (sums, carry) = self.low(first);
        let change = first ^ first.wrapping_add(W::BITS as u128);
        each!(k < 16 => if k < Self::LANE_BITS {
            sums[k]
        } else {
            spread::<W>(self.isa, first, k) ^ (spread::<W>(self.isa, change, k) & carry)
        })
    }

    /// L: bits of a block's number in the bundle.
    const LANE_BITS: usize = W::BITS.ilog2() as usize;
}

impl<W: Register> Kernel for CountTile<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { source, first, tile, blocks } = self;
        tile.phase = 0;
        for bundle in 0..blocks / W::BITS {
            let words = tile.bundle_mut(source.isa, bundle);
            source.count_bundle(first.skip((bundle * W::BITS) as u128), words);
        }
    }
}

impl<W: Register> CounterToBits<W> {
    #[inline(always)]
    fn count_bundle(&self, first: Counter, words: &mut [W; TILE_WORDS]) {
        let (isa, mirror, first) = (self.isa, first.order.mirror(), first.value);
        let (sums, carry) = self.low(first);
        for k in 0..Self::LANE_BITS {
            words[k ^ mirror] = sums[k];
        }
        let change = first ^ first.wrapping_add(W::BITS as u128);
        for k in Self::LANE_BITS..TILE_WORDS {
            words[k ^ mirror] = spread::<W>(isa, first, k) ^ (spread::<W>(isa, change, k) & carry);
        }
    }
}

/// Bit k of a counter, broadcast to every lane.
#[inline(always)]
fn spread<W: Register>(isa: W::Isa, counter: u128, k: usize) -> W {
    W::splat(isa, 0_u64.wrapping_sub((counter >> k) as u64 & 1))
}
