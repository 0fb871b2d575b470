//! All inputs where there are few, and agreement of every form at every width with the plain loop.

use std::collections::BTreeSet;

use crossgrain::Features;
use crossgrain::engine::arch::{Word128, Word256, Word512};

use crate::add::{Add, full_adder};
use crate::and::And;
use crate::lesson::Lesson;
use crate::popcount::{Popcount, count};
use crate::sbox::Sbox;
use crate::word16::Word16;
use crate::{contest, lanes, show_skipped};

/// Compares every form with the plain loop; creating a contest does this.
fn agree<L: Lesson<VALUE, IN, OUT>, const VALUE: usize, const IN: usize, const OUT: usize>() {
    let features = Features::from_environment().unwrap();
    assert!(contest::<Word16, L, VALUE, IN, OUT>(features).is_some());
    assert!(contest::<u32, L, VALUE, IN, OUT>(features).is_some());
    assert!(contest::<u64, L, VALUE, IN, OUT>(features).is_some());
    contest::<Word128, L, VALUE, IN, OUT>(features);
    contest::<Word256, L, VALUE, IN, OUT>(features);
    contest::<Word512, L, VALUE, IN, OUT>(features);
    show_skipped::<Word128>(features);
    show_skipped::<Word256>(features);
    show_skipped::<Word512>(features);
}

#[test]
fn and_agrees() {
    agree::<And, 8, 1, 1>();
}

#[test]
fn addition_agrees() {
    agree::<Add, 32, 32, 32>();
}

#[test]
fn population_count_agrees() {
    agree::<Popcount, 8, 8, 4>();
}

#[test]
fn substitution_agrees() {
    agree::<Sbox, 8, 8, 8>();
}

#[test]
fn a_full_adder_adds_three_bits() {
    // Lane i holds the bits of i.
    let (a, b, c) = (0b1010_1010_u32, 0b1100_1100, 0b1111_0000);
    let (sum, carry) = full_adder(a, b, c);
    for lane in 0..8_u32 {
        assert_eq!((sum >> lane & 1) + 2 * (carry >> lane & 1), lane.count_ones(), "{lane:03b}");
    }
}

/// Bit i of all bytes from `first` to `first` + 63.
fn bytes_from(first: u64) -> [u64; 8] {
    let bit = |i: usize| (0..64).map(|lane| ((first + lane) >> i & 1) << lane).sum();
    std::array::from_fn(bit)
}

#[test]
fn the_population_count_of_every_byte() {
    for first in (0..256).step_by(64) {
        let inputs = bytes_from(first);
        let counts = count(&inputs);
        for lane in 0..64 {
            let found: u64 = (0..4).map(|i| (counts[i] >> lane & 1) << i).sum();
            let byte = first + lane;
            assert_eq!(found, u64::from(byte.count_ones()), "{byte:08b}");
            assert_eq!(found, u64::from(Popcount::plain(byte as u32, 0)));
        }
        assert_eq!(counts[3], inputs.into_iter().fold(u64::MAX, |all, bit| all & bit));
    }
}

#[test]
fn the_sbox_of_every_byte_is_the_published_one() {
    let bijection: BTreeSet<_> = (0..256).map(|byte| Sbox::plain(byte, 0)).collect();
    assert_eq!(bijection.len(), 256);
    // FIPS 197, figure 7.
    assert_eq!([0x00, 0x01, 0x53, 0xff].map(|byte| Sbox::plain(byte, 0)), [0x63, 0x7c, 0xed, 0x16]);
}

#[test]
fn every_value_has_a_lane_of_its_own() {
    for (word_bits, value_bits) in [(16, 8), (32, 8), (64, 8), (512, 8), (16, 32), (32, 32), (512, 32)] {
        let lanes: BTreeSet<_> =
            (0..word_bits).map(|value| lanes::lane(word_bits, value_bits, value)).collect();
        assert!(lanes.into_iter().eq(0..word_bits), "{word_bits} {value_bits}");
    }
}
