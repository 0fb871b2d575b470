//! Counter blocks born across the grain: no input is read, nothing is transposed.
//!
//! In a bundle of 2ᴸ blocks, block n counts `first + n`. Bit k of n is a fixed word (`repr::lane`), so
//! the low L bits are an addition of L one-bit adders; of the higher bits every lane sees one of two
//! values, those of `first` and of `first + 2ᴸ`, by the carry. All of it is public.
//! Source: the counter of SP 800-38A B.1, big-endian: bit k stands in byte 15 − k/8.

use std::fmt;

use super::Count;
use crate::repr::lane;
use crate::word::{Isa, Kernel, Register, TILE_WORDS, Tile};

/// Bits of a block's number in the widest bundle.
const LANE_BITS_MAX: usize = 9;

/// Counters to `bitsliced`.
pub struct CounterToBits<W: Register> {
    isa: W::Isa,
    /// Bit k of the number of the block in each lane, as bytes of a word.
    numbers: [[u8; 64]; LANE_BITS_MAX],
}

impl<W: Register> CounterToBits<W> {
    /// The source by these instructions.
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
    fn count(&self, first: u128, tile: &mut Tile, _blocks: usize) {
        self.isa.enter(CountBundle { source: self, first, tile });
    }
}

struct CountBundle<'a, W: Register> {
    source: &'a CounterToBits<W>,
    first: u128,
    tile: &'a mut Tile,
}

impl<W: Register> Kernel for CountBundle<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { source: &CounterToBits { isa, ref numbers }, first, tile } = self;
        tile.phase = 0;
        let words = tile.words_mut::<W>(isa);
        let low_bits = W::BITS.ilog2() as usize;
        let mut carry = W::splat(isa, 0);
        for (k, number) in numbers.iter().enumerate().take(low_bits) {
            let number = W::load(isa, &number[..W::BYTES]);
            let bit = spread(isa, first, k);
            let sum = number ^ bit;
            words[word_of_bit(k)] = sum ^ carry;
            carry = (number & bit) ^ (sum & carry);
        }
        let change = first ^ first.wrapping_add(W::BITS as u128);
        for k in low_bits..TILE_WORDS {
            words[word_of_bit(k)] = spread::<W>(isa, first, k) ^ (spread::<W>(isa, change, k) & carry);
        }
    }
}

/// Bit k of a counter in every lane.
#[inline(always)]
fn spread<W: Register>(isa: W::Isa, counter: u128, k: usize) -> W {
    W::splat(isa, 0_u64.wrapping_sub((counter >> k) as u64 & 1))
}

/// The word that holds bit k of a big-endian counter.
#[inline(always)]
const fn word_of_bit(k: usize) -> usize {
    8 * (15 - k / 8) + k % 8
}
