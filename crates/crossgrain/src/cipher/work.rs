//! How many operations the rounds of a description are: what its kernels are estimated by until they are measured.

use std::cell::RefCell;

#[cfg(feature = "search")]
use super::KeyBytes;
use super::sbox::{Linear, Sbox};
use super::{Bytes, Description, OnBytes, OnWords, Scheduled, Words};
use crate::block::Direction;

/// Operations for a block.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Substitutions, by the S-box's number, each with the sum with a key before it.
    boxes: Vec<f64>,
    /// Linear maps, by number.
    maps: Vec<f64>,
    /// Sums, and products with keys.
    sums: f64,
    /// Rotations of words, or of bytes with those beside them.
    rotations: f64,
}

impl Work {
    /// Those of a cipher of bytes, with keys of its first size.
    pub fn on_bytes<C: OnBytes + Scheduled>(direction: Direction) -> Self {
        let (work, keys) = (RefCell::new(Self::none::<C>()), keys::<C>());
        C::rounds(Tally(&work), direction, [(); 16], &vec![(); keys]);
        work.into_inner()
    }

    /// Those of a cipher of words. An operation is on a word.
    pub fn on_words<C: OnWords + Scheduled>(direction: Direction) -> Self {
        let (work, keys) = (RefCell::new(Self::none::<C>()), keys::<C>());
        C::rounds(Tally(&work), direction, [(); 4], &vec![(); keys / 4]);
        work.into_inner()
    }

    /// Those of a key schedule, for keys of the cipher's first size.
    #[cfg(feature = "search")]
    pub fn on_keys<C: Scheduled>(direction: Direction) -> Self {
        let work = RefCell::new(Self::none::<C>());
        let key = vec![(); C::FAMILY.first().key_bytes()];
        C::round_keys(Tally(&work), &key, direction, &mut |_, _| {});
        work.into_inner()
    }

    fn none<C: Description>() -> Self {
        Self { boxes: vec![0.0; C::BOXES.len()], maps: vec![0.0; C::MAPS.len()], ..Self::default() }
    }

    /// Instructions on registers, if `of_box` tells how many an S-box is, and a linear map is `of_map`.
    pub fn instructions<C: Description>(&self, of_box: impl Fn(&Sbox) -> f64, of_map: f64) -> f64 {
        let boxes: f64 =
            self.boxes.iter().zip(C::BOXES).map(|(count, sbox)| count * (of_box(sbox) + 1.0)).sum();
        let maps: f64 = self.maps.iter().sum();
        boxes + maps * of_map + self.sums + 2.0 * self.rotations
    }

    /// Gates, where an operation is on so many bytes. Rotations are none.
    pub fn gates<C: Description>(&self, bytes: usize) -> f64 {
        let of_boxes: f64 = self.boxes.iter().zip(C::BOXES).map(|(count, sbox)| count * gates_of(sbox)).sum();
        let of_maps: f64 = self.maps.iter().zip(C::MAPS).map(|(count, map)| count * gates_of_map(map)).sum();
        bytes as f64 * (of_boxes + of_maps + 8.0 * self.sums)
    }
}

/// Gates of an S-box and of the sum before it.
fn gates_of(sbox: &Sbox) -> f64 {
    let ones: u32 = sbox.table.iter().map(|byte| byte.count_ones()).sum();
    // AES's circuit between two maps; or sums of minterms, and eight products for each of sixteen high nibbles.
    let gates = if sbox.inversion.is_some() { 113 + 2 * 28 } else { ones + 2 * 16 * 8 + 2 * 24 };
    f64::from(gates + 8)
}

fn gates_of_map(map: &Linear) -> f64 {
    f64::from(map.images.iter().map(|image| image.count_ones()).sum::<u32>())
}

/// Bytes of round keys.
fn keys<C: Scheduled>() -> usize {
    C::round_key_bytes(C::FAMILY.first().key_bytes())
}

/// A state that counts what is done with it.
#[derive(Clone, Copy)]
struct Tally<'a>(&'a RefCell<Work>);

impl Bytes for Tally<'_> {
    type Byte = ();
    type Key = ();

    fn add(self, (): (), (): ()) {
        self.0.borrow_mut().sums += 1.0;
    }

    fn add_key(self, (): (), (): &()) {
        self.0.borrow_mut().sums += 1.0;
    }

    fn and_key(self, (): (), (): &()) {
        self.0.borrow_mut().sums += 1.0;
    }

    fn or_key(self, (): (), (): &()) {
        self.0.borrow_mut().sums += 2.0;
    }

    fn substitute_sum(self, (): (), (): &(), sbox: usize) {
        self.0.borrow_mut().boxes[sbox] += 1.0;
    }

    fn linear(self, (): (), map: usize) {
        self.0.borrow_mut().maps[map] += 1.0;
    }
}

#[cfg(feature = "search")]
impl KeyBytes for Tally<'_> {
    fn constant(self, _: u8) {}

    fn substitute(self, choose: impl Fn(usize) -> usize, bytes: &mut [()]) {
        let boxes = &mut self.0.borrow_mut().boxes;
        (0..bytes.len()).for_each(|at| boxes[choose(at)] += 1.0);
    }

    fn between(self, (): (), (): (), _: u32) {
        self.0.borrow_mut().rotations += 1.0;
    }
}

impl Words for Tally<'_> {
    type Word = ();
    type Key = ();

    fn add(self, (): (), (): ()) {
        self.0.borrow_mut().sums += 1.0;
    }

    fn substitute_sum(self, (): (), (): &(), sbox: usize) {
        self.0.borrow_mut().boxes[sbox] += 1.0;
    }

    fn rotate_left<const COUNT: u32>(self, (): ()) {
        self.0.borrow_mut().rotations += 1.0;
    }
}
