//! Counts of a description's operations. Kernels without measurements are priced from these counts.

use std::cell::RefCell;

#[cfg(feature = "search")]
use super::KeyBytes;
use super::sbox::{Linear, Sbox};
use super::{Bytes, Description, OnBytes, OnWords, Portion, Scheduled, Words};
use crate::block::{BLOCK_BYTES, Direction};
use crate::circuit::pi_sbox;

/// Operations per block.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Substitutions by S-box number. Each includes the XOR with a key before it.
    boxes: Vec<f64>,
    /// Linear maps, by number.
    maps: Vec<f64>,
    /// XORs, and ANDs with keys.
    sums: f64,
    /// Rotations of words; in key schedules, bytes shifted out of two neighbours.
    rotations: f64,
}

impl Work {
    /// Counts a portion of the rounds of a byte-oriented cipher, for the family's first key size.
    pub fn on_bytes<C: OnBytes + Scheduled>(direction: Direction, portion: Portion) -> Self {
        let (work, keys) = (RefCell::new(Self::none::<C>()), keys::<C>(portion));
        C::portion(Tally(&work), direction, portion, [(); 16], &vec![(); keys]);
        work.into_inner()
    }

    /// The same for a word-oriented cipher. Each operation covers a word.
    pub fn on_words<C: OnWords + Scheduled>(direction: Direction, portion: Portion) -> Self {
        let (work, keys) = (RefCell::new(Self::none::<C>()), keys::<C>(portion));
        C::portion(Tally(&work), direction, portion, [(); 4], &vec![(); keys / 4]);
        work.into_inner()
    }

    /// Counts a key schedule, for the family's first key size.
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

    /// The number of instructions, given the instructions of an S-box and of a linear map.
    pub fn instructions<C: Description>(&self, of_box: impl Fn(&Sbox) -> f64, of_map: f64) -> f64 {
        let boxes: f64 =
            self.boxes.iter().zip(C::BOXES).map(|(count, sbox)| count * (of_box(sbox) + 1.0)).sum();
        let maps: f64 = self.maps.iter().sum();
        boxes + maps * of_map + self.sums + 2.0 * self.rotations
    }

    /// The number of gates, if each operation covers `bytes` bytes. Rotations need no gates.
    pub fn gates<C: Description>(&self, bytes: usize) -> f64 {
        let of_boxes: f64 = self.boxes.iter().zip(C::BOXES).map(|(count, sbox)| count * gates_of(sbox)).sum();
        let of_maps: f64 = self.maps.iter().zip(C::MAPS).map(|(count, map)| count * gates_of_map(map)).sum();
        bytes as f64 * (of_boxes + of_maps + 8.0 * self.sums)
    }
}

/// Gates of an S-box, and of the XOR with a key before it.
fn gates_of(sbox: &Sbox) -> f64 {
    let ones: u32 = sbox.table.iter().map(|byte| byte.count_ones()).sum();
    // With inversion: AES's circuit between two maps. Of other tables: sums of minterms, and eight products for
    // each of sixteen high nibbles.
    let gates = match (sbox.inversion, sbox.pi) {
        (Some(_), _) => 113 + 2 * 28,
        (None, Some(_)) => pi_sbox::GATES,
        _ => ones + 2 * 16 * 8 + 2 * 24,
    };
    f64::from(gates + 8)
}

fn gates_of_map(map: &Linear) -> f64 {
    f64::from(map.images.iter().map(|image| image.count_ones()).sum::<u32>())
}

/// Bytes of a portion's round keys for the family's first key size.
fn keys<C: Scheduled>(portion: Portion) -> usize {
    let (all, last) = (C::round_key_bytes(C::FAMILY.first().key_bytes()), BLOCK_BYTES * C::LAST_KEYS);
    match portion {
        Portion::All => all,
        Portion::First => all - last,
        Portion::Last => last,
    }
}

/// Arithmetic that only counts operations.
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
