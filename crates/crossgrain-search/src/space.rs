//! Spaces of candidates that are counted and not stored: masks, and every key there is.
//!
//! A candidate is a sum of *digits* that share no bit, one value of each: a fixed part, and for every place that varies
//! the bytes that may stand there. The candidate with number n has the digits of n in mixed radix, the last place varying
//! fastest. Numbers are exact: a space may have 2²⁵⁶ candidates and more.
//!
//! Layout: a digit is a place and the values that are added there. A place at which any byte may stand is two
//! digits, its halves, in which case numbers mean the same and the split below can be made in finer steps.
//! Holds: the last digits make a *period*; every run of candidates is whole periods and parts of two, so it is a sum of
//! outer keys and keys of one table.

use std::ops::Range;

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::Error;

/// A period has at least so many candidates, if the space has.
const PERIOD_MIN: usize = 512;

/// The period of a device: so many candidates that rows of outer keys are rare, and 100 times as many fit its memory.
const WIDE_PERIOD_MIN: usize = 1 << 15;

/// A place that varies.
#[derive(Clone, Debug)]
pub(super) struct Digit {
    /// Which byte of a candidate it is in.
    pub(super) byte: usize,
    /// What may stand there.
    pub(super) values: Vec<u8>,
}

/// Candidates of one length.
#[derive(Clone, Debug)]
pub struct Space {
    fixed: Zeroizing<Vec<u8>>,
    digits: Vec<Digit>,
}

impl Space {
    /// Every string of so many bytes. Numbers are the strings read as big-endian integers.
    pub fn every(len_bytes: usize) -> Self {
        let any: Vec<u8> = (0..=u8::MAX).collect();
        Self::of_bytes(&vec![any; len_bytes]).unwrap_or_else(|_| unreachable!("no place is empty"))
    }

    /// Strings with one of the bytes listed at each place.
    ///
    /// # Errors
    /// [`Error::EmptyPlace`] if there is none for some place.
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

    /// Strings with one of the hex digits listed, by their values, at each half of a byte.
    ///
    /// # Errors
    /// [`Error::EmptyPlace`] if there is none for some place; [`Error::OddDigits`] if a half is missing.
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

    /// Adds a place, after those before it. What is listed twice counts once.
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

    /// How many candidates there are.
    pub fn size(&self) -> BigUint {
        self.digits.iter().map(|digit| BigUint::from(digit.values.len())).product()
    }

    /// What varies, the last fastest.
    pub(super) fn digits(&self) -> &[Digit] {
        &self.digits
    }

    /// How many of the last digits make the period.
    fn inner_digits(&self) -> usize {
        let mut period = 1;
        let reaches = |digit: &Digit| {
            period *= digit.values.len();
            period >= PERIOD_MIN
        };
        self.digits.iter().rev().position(reaches).map_or(self.digits.len(), |place| place + 1)
    }

    /// Where the digits of the period begin.
    fn split(&self) -> usize {
        self.digits.len() - self.inner_digits()
    }

    /// Where the digits of a longer period begin, for devices, and how many candidates it has: no byte is varied both
    /// before and in it.
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

    /// How many candidates make a period: some hundreds to some ten thousands, less only if the space has less.
    pub fn period(&self) -> usize {
        self.digits[self.split()..].iter().map(|digit| digit.values.len()).product()
    }

    /// The inner halves of candidates, one after the other: of those with these numbers within a period.
    pub fn inner(&self, numbers: Range<usize>) -> Zeroizing<Vec<u8>> {
        self.inner_of(self.split(), numbers)
    }

    /// The same of a period whose digits begin elsewhere.
    pub(super) fn inner_of(&self, split: usize, numbers: Range<usize>) -> Zeroizing<Vec<u8>> {
        let (fixed, _) = self.fixed_of(split);
        self.halves(&self.digits[split..], &fixed, &BigUint::from(numbers.start), numbers.len())
    }

    /// The outer halves of the candidates in `count` periods, one after the other: a half for each period, from the
    /// one with this number on.
    pub fn outer(&self, period: &BigUint, count: usize) -> Zeroizing<Vec<u8>> {
        self.outer_of(self.split(), period, count)
    }

    /// The same of periods whose digits begin elsewhere.
    pub(super) fn outer_of(&self, split: usize, period: &BigUint, count: usize) -> Zeroizing<Vec<u8>> {
        let (_, fixed) = self.fixed_of(split);
        self.halves(&self.digits[..split], &fixed, period, count)
    }

    /// What is fixed, in inner and in outer halves: a byte goes where its varied bits are.
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

    /// Whole candidates, one after the other, from this number on.
    pub fn candidates(&self, number: &BigUint, count: usize) -> Zeroizing<Vec<u8>> {
        self.halves(&self.digits, &self.fixed, number, count)
    }

    /// Sums of a fixed part and the values of some digits, counting up from a number.
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

/// Counts on by one, the last digit fastest; from the last number to the first.
fn step(counter: &mut [usize], digits: &[Digit]) {
    for (place, digit) in counter.iter_mut().zip(digits).rev() {
        *place += 1;
        if *place < digit.values.len() {
            return;
        }
        *place = 0;
    }
}
