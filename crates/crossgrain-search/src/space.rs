//! Spaces of candidates that are numbered and not stored: masks, and the set of all keys of a length.
//!
//! A candidate is the OR of a fixed part and one value for each *digit*; digits share no bit. Candidate `n`
//! has the digits of `n` in mixed radix, and the last digit varies fastest. Numbers have no size limit, so a
//! space may have 2²⁵⁶ candidates and more.
//!
//! Layout: a digit is a byte index and a list of values. A place that allows every byte is stored as two
//! digits, its nibbles. This does not change the numbers, and it permits finer splits.
//!
//! The last digits form a *period*. A candidate is the XOR of an outer key, from the digits before the
//! period, and an inner key from a table of the whole period. A run of candidates consists of whole periods
//! and parts of two.

use std::ops::Range;

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::Error;

/// The least candidates of a period, if the space has enough.
const PERIOD_MIN: usize = 512;

/// The least candidates of a device's period. At this size, rows of outer keys are few, and 100 times as many
/// keys fit the memory of a device.
const WIDE_PERIOD_MIN: usize = 1 << 15;

/// A digit that varies.
#[derive(Clone, Debug)]
pub(super) struct Digit {
    /// The byte of the candidate that holds it.
    pub(super) byte: usize,
    /// The values of the digit.
    pub(super) values: Vec<u8>,
}

/// Candidates of one length.
#[derive(Clone, Debug)]
pub struct Space {
    fixed: Zeroizing<Vec<u8>>,
    digits: Vec<Digit>,
}

impl Space {
    /// All strings of this length. A string's number is the string read as a big-endian integer.
    pub fn every(len_bytes: usize) -> Self {
        let any: Vec<u8> = (0..=u8::MAX).collect();
        Self::of_bytes(&vec![any; len_bytes]).unwrap_or_else(|_| unreachable!("no place is empty"))
    }

    /// Strings with one of the listed bytes at each place.
    ///
    /// # Errors
    /// [`Error::EmptyPlace`] if a place has no value.
    pub fn of_bytes(places: &[Vec<u8>]) -> Result<Self, Error> {
        let mut space = Self { fixed: Zeroizing::new(vec![0; places.len()]), digits: Vec::new() };
        for (byte, values) in places.iter().enumerate() {
            if values.iter().copied().eq(0..=u8::MAX) {
                space.add(byte, &(0..16).map(|half| half << 4).collect::<Vec<_>>())?;
                space.add(byte, &(0..16).collect::<Vec<_>>())?;
            } else {
                space.add(byte, values)?;
            }
        }
        Ok(space)
    }

    /// Strings with one of the listed hex digits, given by value, at each nibble.
    ///
    /// # Errors
    /// [`Error::EmptyPlace`] if a place has no value; [`Error::OddDigits`] if the number of places is odd.
    pub fn of_halves(places: &[Vec<u8>]) -> Result<Self, Error> {
        if !places.len().is_multiple_of(2) {
            return Err(Error::OddDigits { digits: places.len() });
        }
        let mut space = Self { fixed: Zeroizing::new(vec![0; places.len() / 2]), digits: Vec::new() };
        for (place, values) in places.iter().enumerate() {
            let shift = if place.is_multiple_of(2) { 4 } else { 0 };
            space.add(place / 2, &values.iter().map(|half| (half & 15) << shift).collect::<Vec<_>>())?;
        }
        Ok(space)
    }

    /// Appends a place. Repeated values count once.
    fn add(&mut self, byte: usize, values: &[u8]) -> Result<(), Error> {
        let mut once: Vec<u8> = Vec::new();
        for &value in values {
            if !once.contains(&value) {
                once.push(value);
            }
        }
        match once.as_slice() {
            [] => return Err(Error::EmptyPlace { byte }),
            [only] => self.fixed[byte] |= only,
            _ => self.digits.push(Digit { byte, values: once }),
        }
        Ok(())
    }

    /// The length of every candidate, in bytes.
    pub fn len_bytes(&self) -> usize {
        self.fixed.len()
    }

    /// The number of candidates.
    pub fn size(&self) -> BigUint {
        self.digits.iter().map(|digit| BigUint::from(digit.values.len())).product()
    }

    /// The digits that vary; the last varies fastest.
    pub(super) fn digits(&self) -> &[Digit] {
        &self.digits
    }

    /// The number of digits in the period.
    fn inner_digits(&self) -> usize {
        let mut period = 1;
        let reaches = |digit: &Digit| {
            period *= digit.values.len();
            period >= PERIOD_MIN
        };
        self.digits.iter().rev().position(reaches).map_or(self.digits.len(), |place| place + 1)
    }

    /// The index of the first digit of the period.
    fn split(&self) -> usize {
        self.digits.len() - self.inner_digits()
    }

    /// The index of the first digit of the longer period for devices, and its number of candidates. No byte
    /// is varied both before and within this period.
    pub(super) fn wide(&self) -> (usize, usize) {
        let (mut split, mut period) = (self.digits.len(), 1);
        let cuts_byte = |split: usize| {
            self.digits.get(split).is_some_and(|digit| digit.byte == self.digits[split - 1].byte)
        };
        while split > 0 && (period < WIDE_PERIOD_MIN || cuts_byte(split)) {
            split -= 1;
            period *= self.digits[split].values.len();
        }
        (split, period)
    }

    /// The number of candidates in a period: from some hundreds to some ten thousands, or all of a smaller
    /// space.
    pub fn period(&self) -> usize {
        self.digits[self.split()..].iter().map(|digit| digit.values.len()).product()
    }

    /// The inner halves of the candidates with these numbers within a period, back to back.
    pub fn inner(&self, numbers: Range<usize>) -> Zeroizing<Vec<u8>> {
        self.inner_of(self.split(), numbers)
    }

    /// The same for a period that begins at digit `split`.
    pub(super) fn inner_of(&self, split: usize, numbers: Range<usize>) -> Zeroizing<Vec<u8>> {
        let (fixed, _) = self.fixed_of(split);
        self.halves(&self.digits[split..], &fixed, &BigUint::from(numbers.start), numbers.len())
    }

    /// The outer halves of the candidates in `count` periods, back to back: one half per period, from number
    /// `period` on.
    pub fn outer(&self, period: &BigUint, count: usize) -> Zeroizing<Vec<u8>> {
        self.outer_of(self.split(), period, count)
    }

    /// The same for periods that begin at digit `split`.
    pub(super) fn outer_of(&self, split: usize, period: &BigUint, count: usize) -> Zeroizing<Vec<u8>> {
        let (_, fixed) = self.fixed_of(split);
        self.halves(&self.digits[..split], &fixed, period, count)
    }

    /// Splits the fixed part into an inner and an outer half. Each byte goes to the half that varies it.
    fn fixed_of(&self, split: usize) -> (Zeroizing<Vec<u8>>, Zeroizing<Vec<u8>>) {
        let (mut inner, mut outer) = (Zeroizing::new(vec![0; self.len_bytes()]), self.fixed.clone());
        for byte in self.digits[split..].iter().map(|digit| digit.byte) {
            if self.digits[..split].last().is_none_or(|last| last.byte != byte) {
                inner[byte] = self.fixed[byte];
                outer[byte] = 0;
            }
        }
        (inner, outer)
    }

    /// `count` candidates from `number` on, back to back.
    pub fn candidates(&self, number: &BigUint, count: usize) -> Zeroizing<Vec<u8>> {
        self.halves(&self.digits, &self.fixed, number, count)
    }

    /// The fixed part with the values of some digits, counting up from `first`.
    fn halves(&self, digits: &[Digit], fixed: &[u8], first: &BigUint, count: usize) -> Zeroizing<Vec<u8>> {
        let mut counter = vec![0; digits.len()];
        let mut rest = first.clone();
        for (place, digit) in counter.iter_mut().zip(digits).rev() {
            let radix = digit.values.len();
            *place = (&rest % radix).iter_u64_digits().next().unwrap_or(0) as usize;
            rest /= radix;
        }
        let mut halves = Zeroizing::new(Vec::with_capacity(count * fixed.len()));
        for _ in 0..count {
            let from = halves.len();
            halves.extend_from_slice(fixed);
            for (&place, digit) in counter.iter().zip(digits) {
                halves[from + digit.byte] |= digit.values[place];
            }
            step(&mut counter, digits);
        }
        halves
    }
}

/// Increments the counter; the last digit varies fastest. After the last number it wraps to the first.
fn step(counter: &mut [usize], digits: &[Digit]) {
    for (place, digit) in counter.iter_mut().zip(digits).rev() {
        *place += 1;
        if *place < digit.values.len() {
            return;
        }
        *place = 0;
    }
}
