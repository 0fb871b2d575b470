//! Candidates of a space as a device makes them: of the number of each the digits in mixed radix, and of these the bytes of a block.
//!
//! The device counts from a candidate on. To the digits of that candidate it adds how many candidates lie before one of its own, with carry, from the last
//! digit on. Only so many digits vary as the candidates of a call need ([`Counted::MOST`]); of what is left the carry goes to the next
//! value, and the host makes a block of either, with the first value of each digit that varies. A value is then the sum of its place in the
//! digit's list and of what has been left out in the list up to there, of which a set has few gaps.
//! Numbers and words lie as in [`derivation`](super::derivation): a candidate a lane, and a block's words big-endian.
//! Holds: what a candidate is made of is given to a program when it runs. Its text says in which words digits lie, and how many gaps
//! their lists have ([`Counted::shape`]). Of lanes nothing is branched on.

use std::fmt;

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::derivation::{BLOCK_BYTES, Derivation};
use super::space::{Digit, Space};
use crossgrain::internal::word::Lanes;

/// Words of a block.
const BLOCK: usize = BLOCK_BYTES / 4;

/// A digit that varies.
struct Varied {
    /// Its place in its list for the first candidate, and how many places there are.
    first: u32,
    radix: u32,
    /// 2³² divided by the radix, and a little more.
    inverse: u32,
    /// Which word of the block it lies in, and what a value is multiplied by to lie there.
    word: usize,
    factor: u32,
    /// The last place before each gap, and what is left out there.
    gaps: Vec<(u32, u32)>,
}

/// So many candidates from one on, for a device.
pub struct Counted {
    /// Blocks before the carry out of the last digit, and after it.
    blocks: Zeroizing<Vec<[u32; BLOCK]>>,
    /// The last first.
    digits: Vec<Varied>,
}

impl Counted {
    /// Most candidates that are counted from one.
    pub const MOST: usize = 1 << 17;

    /// Those of a space from a number on, if what keys are derived of is a block that begins with the candidate.
    pub fn new(space: &Space, derivation: &Derivation, first: &BigUint) -> Option<Self> {
        if !derivation.begins_with(space.len_bytes()) {
            return None;
        }
        let (mut period, mut digits) = (1_u64, Vec::new());
        let mut rest = first.clone();
        for digit in space.digits().iter().rev() {
            if period >= Self::MOST as u64 {
                break;
            }
            let radix = digit.values.len() as u64;
            let place = (&rest % radix).iter_u64_digits().next().unwrap_or(0);
            (rest, period) = (rest / radix, period * radix);
            digits.push(Varied::new(digit, place as u32));
        }
        let mut blocks = Zeroizing::new(vec![[0; BLOCK]; 2]);
        for (words, outer) in blocks.iter_mut().zip([rest.clone(), rest + 1_u8]) {
            let (candidate, mut block) =
                (space.candidates(&(outer * period), 1), Zeroizing::new([0; BLOCK_BYTES]));
            derivation.pad(&candidate, &mut *block);
            for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
                *word = u32::from_be_bytes(*bytes);
            }
        }
        Some(Self { blocks, digits })
    }

    /// What a program's text depends on: of each digit the word that it lies in, and how many gaps its list has.
    pub fn shape(&self) -> Vec<(usize, usize)> {
        self.digits.iter().map(|digit| (digit.word, digit.gaps.len())).collect()
    }

    /// The block of the candidate that comes so many after the first.
    #[inline(always)]
    pub fn block<W: Lanes>(&self, after: W) -> [W; BLOCK] {
        let (mut block, mut carry) = ([after.zero(); BLOCK], after);
        for digit in &self.digits {
            let sum = carry.add_lanes(carry.uniform(digit.first));
            carry = sum.multiply_lanes_high(sum.uniform(digit.inverse));
            // What is taken away is added modulo 2³².
            let place = sum.add_lanes(carry.multiply_lanes(carry.uniform(0_u32.wrapping_sub(digit.radix))));
            let mut value = place;
            for &(last, left_out) in &digit.gaps {
                let is_after = place.uniform(last).less_lanes(place);
                value = value.add_lanes(is_after & place.uniform(left_out));
            }
            let word = &mut block[digit.word];
            *word = word.add_lanes(value.multiply_lanes(value.uniform(digit.factor)));
        }
        let is_before = carry.equal_lanes(carry.zero());
        for (word, (before, after)) in block.iter_mut().zip(self.blocks[0].iter().zip(self.blocks[1])) {
            *word = word.add_lanes(is_before.select(carry.uniform(*before), carry.uniform(after)));
        }
        block
    }

    /// So many blocks as a device makes them, one after another.
    pub fn blocks(&self, count: usize) -> Zeroizing<Vec<u8>> {
        let mut blocks = Zeroizing::new(Vec::with_capacity(count * BLOCK_BYTES));
        for after in 0..count as u32 {
            blocks.extend(self.block(after).iter().flat_map(|word| word.to_be_bytes()));
        }
        blocks
    }
}

impl Varied {
    /// A digit that has this place in its list for the first candidate.
    fn new(digit: &Digit, place: u32) -> Self {
        let radix = digit.values.len() as u32;
        // The upper half of a byte is counted as the lower one is.
        let shift = if digit.values.iter().all(|value| value & 15 == 0) { 4 } else { 0 };
        let values: Vec<_> = digit.values.iter().map(|value| u32::from(value >> shift)).collect();
        let gap = |(at, pair): (usize, &[u32])| (at as u32, pair[1].wrapping_sub(pair[0]).wrapping_sub(1));
        Self {
            first: place,
            radix,
            // Exact up to 2²⁴, and sums are hardly more than there are candidates.
            inverse: ((1_u64 << 32) / u64::from(radix)) as u32 + 1,
            word: digit.byte / 4,
            factor: 1 << (8 * (3 - digit.byte % 4) + shift),
            gaps: values.windows(2).enumerate().map(gap).filter(|gap| gap.1 != 0).collect(),
        }
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counted({:?})", self.shape())
    }
}
