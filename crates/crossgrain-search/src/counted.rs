//! Generates candidates of a space on a device. The number of a candidate gives its digits in mixed radix,
//! and these give the bytes of a padded block.
//!
//! ```text
//! carry = index of the candidate in this call
//! for digit in digits, last first:
//!     sum = carry + digit.first;  carry = sum / radix;  place = sum % radix
//!     value = place + (gaps of the digit's list before place)
//!     block[digit.word] += value * digit.factor
//! block += blocks[carry is not 0]
//! ```
//!
//! Only the last digits vary, as many as one call needs ([`Counted::MOST`]). The carry out of them is 0 or 1.
//! The host makes a block for either case. It holds the other digits and the first value of each varied
//! digit. Lists of values have few gaps, so a value is its place in the list plus all gaps before it.
//!
//! Layout as in [`derivation`](super::derivation): one candidate per lane, and the block as big-endian words.
//! Invariant: candidates reach the program as data at run time. Its text depends only on the words in which
//! digits lie and on the number of gaps ([`Counted::shape`]). No branch depends on a lane.

use std::fmt;

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::derivation::{BLOCK_BYTES, Derivation};
use super::space::{Digit, Space};
use crossgrain::engine::arch::Lanes;

/// Words of a block.
const BLOCK: usize = BLOCK_BYTES / 4;

/// A digit that varies.
struct Varied {
    /// The index in its list for the first candidate, and the length of the list.
    first: u32,
    radix: u32,
    /// 2³² divided by the radix, rounded down, plus 1.
    inverse: u32,
    /// The word of the block that holds the digit, and the factor that shifts a value to its bits.
    word: usize,
    factor: u32,
    /// For each gap: the last index before it, and the number of values left out.
    gaps: Vec<(u32, u32)>,
}

/// Consecutive candidates for a device.
pub struct Counted {
    /// The block without a carry out of the varied digits, and that with one.
    blocks: Zeroizing<Vec<[u32; BLOCK]>>,
    /// The varied digits, the last of the candidate first.
    digits: Vec<Varied>,
}

impl Counted {
    /// The most candidates of one call.
    pub const MOST: usize = 1 << 17;

    /// The candidates of a space from number `first` on. `None` unless the block of a candidate begins with
    /// the candidate.
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

    /// The data on which the program text depends: for each digit, its word and the number of gaps in its
    /// list.
    pub fn shape(&self) -> Vec<(usize, usize)> {
        self.digits.iter().map(|digit| (digit.word, digit.gaps.len())).collect()
    }

    /// The block of the candidate at offset `after` from the first.
    #[inline(always)]
    pub fn block<W: Lanes>(&self, after: W) -> [W; BLOCK] {
        let (mut block, mut carry) = ([after.zero(); BLOCK], after);
        for digit in &self.digits {
            let sum = carry.add_lanes(carry.uniform(digit.first));
            carry = sum.multiply_lanes_high(sum.uniform(digit.inverse));
            // A subtraction, as the addition of the negated value modulo 2³².
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

    /// The blocks of the first `count` candidates, back to back, computed as a device does.
    pub fn blocks(&self, count: usize) -> Zeroizing<Vec<u8>> {
        let mut blocks = Zeroizing::new(Vec::with_capacity(count * BLOCK_BYTES));
        for after in 0..count as u32 {
            blocks.extend(self.block(after).iter().flat_map(|word| word.to_be_bytes()));
        }
        blocks
    }
}

impl Varied {
    /// A digit that is at index `place` of its list for the first candidate.
    fn new(digit: &Digit, place: u32) -> Self {
        let radix = digit.values.len() as u32;
        // A digit in the upper half of a byte is counted like one in the lower half, and then shifted.
        let shift = if digit.values.iter().all(|value| value & 15 == 0) { 4 } else { 0 };
        let values: Vec<_> = digit.values.iter().map(|value| u32::from(value >> shift)).collect();
        let gap = |(at, pair): (usize, &[u32])| (at as u32, pair[1].wrapping_sub(pair[0]).wrapping_sub(1));
        Self {
            first: place,
            radix,
            // Exact up to 2²⁴; sums are hardly larger than the number of candidates.
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
