//! Draws numbers from a stream on several threads: float32 and bounded integers, each equal to
//! what NumPy's `Generator` draws one after another.
//!
//! NumPy takes units of 1, 2, 4 or 8 bytes from the stream, in order. One 4-byte unit gives a float32.
//! For an integer of a range of `n` values, Lemire's method multiplies a unit of `b` bits by `n`. The upper
//! `b` bits of the product are the result. The unit is rejected if the lower `b` bits are less than
//! 2ᵇ mod n. Whether a unit is rejected depends on nothing else, so each thread filters its own units:
//!
//! ```text
//! repeat, until the output is full:
//!     one unit for each missing integer; each piece writes its accepted integers to its own front
//!     the pieces are moved together
//! ```
//!
//! Source: D. Lemire, "Fast Random Integer Generation in an Interval", 2019.

use crossgrain::BLOCK_BYTES;
use crossgrain::stream::Stream;
use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::bitgen::{BLOCK_WORDS, Place, WORD_BYTES};

/// Bytes of a 32-bit draw.
const HALF_BYTES: usize = WORD_BYTES / 2;

/// The most units that a thread holds apart from the output.
const PIECE_UNITS: usize = 1 << 15;

/// A stream from a position on, as a tape of units.
pub(crate) struct Tape {
    stream: Stream,
    place: Place,
}

impl Tape {
    pub(crate) const fn new(stream: Stream, place: Place) -> Self {
        Self { stream, place }
    }

    /// Reads bytes. The unused half of a word comes first, if there is one. NumPy's draws of 64 bits leave it
    /// alone, and so does `skips_half`.
    fn read(&self, skips_half: bool, mut from: usize, mut output: &mut [u8]) {
        let (block, word, half) = self.place;
        if let Some(half) = half.filter(|_| !skips_half) {
            if let Some(of_half) = half.to_le_bytes().get(from..).filter(|bytes| !bytes.is_empty()) {
                let (first, rest) = output.split_at_mut(of_half.len().min(output.len()));
                first.copy_from_slice(&of_half[..first.len()]);
                (from, output) = (HALF_BYTES, rest);
            }
            from -= HALF_BYTES;
        }
        let at = word * WORD_BYTES + from;
        let mut rng = self.stream.rng();
        rng.seek_block(block.wrapping_add((at / BLOCK_BYTES) as u128), at % BLOCK_BYTES);
        rng.fill_bytes(output);
    }

    /// The place after units of this size that are `used_bytes` long together. What is left of a 32-bit draw
    /// is discarded, as NumPy does.
    fn after(&self, unit_bytes: usize, used_bytes: usize) -> Place {
        let (block, word, half) = self.place;
        let mut rest = used_bytes.next_multiple_of(HALF_BYTES);
        if rest == 0 {
            return self.place;
        }
        let mut left = half;
        if unit_bytes < WORD_BYTES {
            rest -= if half.is_some() { HALF_BYTES } else { 0 };
            left = (!rest.is_multiple_of(WORD_BYTES)).then(|| {
                let mut upper = [0; HALF_BYTES];
                self.read(true, rest, &mut upper);
                u32::from_le_bytes(upper)
            });
        }
        let word = word + rest.div_ceil(WORD_BYTES);
        (block.wrapping_add((word / BLOCK_WORDS) as u128), word % BLOCK_WORDS, left)
    }

    /// Fills memory with float32 numbers, and returns the place after them.
    pub(crate) fn fill_f32(&self, output: &mut [u8], threads: usize) -> Place {
        let group = group(output.len() / HALF_BYTES, threads);
        in_groups(output, HALF_BYTES * group, threads, &|at, part| {
            for (piece, output) in part.chunks_mut(HALF_BYTES * PIECE_UNITS).enumerate() {
                self.read(false, HALF_BYTES * (at * group + piece * PIECE_UNITS), output);
                for number in output.as_chunks_mut::<HALF_BYTES>().0 {
                    let unit = u32::from_le_bytes(*number) >> 8;
                    *number = (unit as f32 * (1.0 / (1 << 24) as f32)).to_ne_bytes();
                }
            }
        });
        self.after(HALF_BYTES, output.len())
    }

    /// Fills memory with integers of `item_bytes` bytes each, and returns the place after them.
    pub(crate) fn fill_integers(
        &self,
        output: &mut [u8],
        item_bytes: usize,
        (first, last): (u64, u64),
        threads: usize,
    ) -> Place {
        match (item_bytes, last) {
            (1, _) => self.bounded::<1, 1>(output, (first, last), threads),
            (2, _) => self.bounded::<2, 2>(output, (first, last), threads),
            (4, _) => self.bounded::<4, 4>(output, (first, last), threads),
            (_, ..=0xffff_ffff) => self.bounded::<4, 8>(output, (first, last), threads),
            _ => self.bounded::<8, 8>(output, (first, last), threads),
        }
    }

    /// Fills memory with integers of `ITEM` bytes, from units of `UNIT` bytes.
    fn bounded<const UNIT: usize, const ITEM: usize>(
        &self,
        mut output: &mut [u8],
        (first, last): (u64, u64),
        threads: usize,
    ) -> Place {
        let bounds = Bounds::new(8 * UNIT as u32, first, last);
        let mut used = 0;
        if last == 0 {
            for item in output.as_chunks_mut::<ITEM>().0 {
                *item = item_of(first);
            }
            return self.place;
        }
        while !output.is_empty() {
            let units = output.len() / ITEM;
            let group = group(units, threads);
            let counts = in_groups(output, ITEM * group, threads, &|at, part| {
                self.accepted::<UNIT, ITEM>(&bounds, used + UNIT * at * group, part)
            });
            used += UNIT * units;
            let mut end = 0;
            for (at, count) in counts.into_iter().enumerate() {
                let from = ITEM * at * group;
                output.copy_within(from..from + ITEM * count, end);
                end += ITEM * count;
            }
            output = &mut output[end..];
        }
        self.after(UNIT, used)
    }

    /// Takes as many units as the output has items, from byte `from` of the tape on. Writes the integers of
    /// those that are accepted, and returns their number.
    fn accepted<const UNIT: usize, const ITEM: usize>(
        &self,
        bounds: &Bounds,
        from: usize,
        output: &mut [u8],
    ) -> usize {
        let items = output.as_chunks_mut::<ITEM>().0;
        let (len, mut count) = (items.len(), 0);
        let mut units = Zeroizing::new(vec![0; UNIT * PIECE_UNITS.min(len)]);
        for at in (0..len).step_by(PIECE_UNITS) {
            let units = &mut units[..UNIT * PIECE_UNITS.min(len - at)];
            self.read(UNIT == WORD_BYTES, from + UNIT * at, units);
            for unit in units.as_chunks::<UNIT>().0 {
                let mut word = [0; WORD_BYTES];
                word[..UNIT].copy_from_slice(unit);
                if let Some(value) = bounds.integer(u64::from_le_bytes(word)) {
                    items[count] = item_of(value);
                    count += 1;
                }
            }
        }
        count
    }
}

/// The range of integers, and what Lemire's method needs.
struct Bounds {
    unit_bits: u32,
    first: u64,
    /// The number of values, or 0 if every unit is one.
    values: u64,
    /// Units are rejected if the lower half of the product is less.
    threshold: u64,
}

impl Bounds {
    /// The integers from `first` to `first + last`.
    const fn new(unit_bits: u32, first: u64, last: u64) -> Self {
        let most = u64::MAX >> (64 - unit_bits);
        if last == most {
            return Self { unit_bits, first, values: 0, threshold: 0 };
        }
        let values = last + 1;
        Self { unit_bits, first, values, threshold: (most - last) % values }
    }

    /// The integer that a unit gives, unless it is rejected.
    const fn integer(&self, unit: u64) -> Option<u64> {
        if self.values == 0 {
            return Some(self.first.wrapping_add(unit));
        }
        let product = unit as u128 * self.values as u128;
        let lower = product as u64 & (u64::MAX >> (64 - self.unit_bits));
        if lower < self.threshold {
            return None;
        }
        Some(self.first.wrapping_add((product >> self.unit_bits) as u64))
    }
}

/// The lowest bytes of a value, in this machine's order.
fn item_of<const ITEM: usize>(value: u64) -> [u8; ITEM] {
    let mut item = [0; ITEM];
    if cfg!(target_endian = "little") {
        item.copy_from_slice(&value.to_le_bytes()[..ITEM]);
    } else {
        item.copy_from_slice(&value.to_be_bytes()[WORD_BYTES - ITEM..]);
    }
    item
}

/// The number of items that a thread takes at a time.
fn group(items: usize, threads: usize) -> usize {
    match threads {
        0 => PIECE_UNITS,
        _ => items.div_ceil(threads).max(1),
    }
}

/// Calls `work` with the number and the memory of each group, on all threads of the pool unless `threads` is
/// 1. Returns the results in order.
fn in_groups<T: Send>(
    output: &mut [u8],
    group_bytes: usize,
    threads: usize,
    work: &(dyn Fn(usize, &mut [u8]) -> T + Sync),
) -> Vec<T> {
    if threads == 1 {
        return output.chunks_mut(group_bytes).enumerate().map(|(at, part)| work(at, part)).collect();
    }
    output.par_chunks_mut(group_bytes).enumerate().map(|(at, part)| work(at, part)).collect()
}
