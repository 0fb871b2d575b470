//! Candidates generated as a device does it, here on CPU lanes: each equals the candidate of the space with
//! the same number.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use crossgrain_search::{BigUint, Counted, Derivation, Hash, Kdf, Space};
use proptest::collection::vec;
use proptest::prelude::*;

fn derivations() -> [Derivation; 2] {
    let pbkdf2 = Kdf::Pbkdf2 { hash: Hash::Sha256, salt: b"salt".to_vec(), iterations: 2 };
    [Kdf::Sha256, pbkdf2].map(|kdf| Derivation::new(&kdf, 16).unwrap())
}

/// Compares the blocks of `count` candidates from number `first` on, or fewer at the end of the space.
fn compare(space: &Space, first: &BigUint, count: usize) {
    let left = space.size() - first;
    let count = usize::try_from(&left).map_or(count, |left| count.min(left));
    let candidates = space.candidates(first, count);
    for derivation in derivations() {
        let mut want = vec![0; 64 * count];
        for (candidate, block) in candidates.chunks(space.len_bytes()).zip(want.chunks_mut(64)) {
            assert!(derivation.pad(candidate, block));
        }
        let counted = Counted::new(space, &derivation, first).unwrap();
        assert!(counted.blocks(count)[..] == want, "{count} candidates of {space:?} from {first} on");
    }
}

/// A list of bytes in any order and of any length.
fn list() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 1..5),
        vec(any::<u8>(), 1..300),
        Just((0..=255).collect()),
        any::<u8>().prop_map(|only| vec![only])
    ]
}

/// A space, and the number of candidates after which the digits that a device counts repeat.
fn space() -> impl Strategy<Value = (Space, BigUint)> {
    let of_bytes = |places: Vec<Vec<u8>>| {
        let radices = |list: &Vec<u8>| {
            let is_any = list.iter().copied().eq(0..=255);
            if is_any { vec![16, 16] } else { vec![list.iter().collect::<BTreeSet<_>>().len()] }
        };
        (Space::of_bytes(&places).unwrap(), period(places.iter().flat_map(radices).collect()))
    };
    let of_halves = |mut places: Vec<Vec<u8>>| {
        places.truncate(places.len() / 2 * 2);
        let radix = |list: &Vec<u8>| list.iter().map(|half| half & 15).collect::<BTreeSet<_>>().len();
        (Space::of_halves(&places).unwrap(), period(places.iter().map(radix).collect()))
    };
    prop_oneof![
        vec(list(), 1..56).prop_map(of_bytes),
        vec(list(), 1..6).prop_map(of_bytes),
        vec(list(), 2..50).prop_map(of_halves),
    ]
}

fn period(radices: Vec<usize>) -> BigUint {
    let mut period = 1;
    for radix in radices.into_iter().rev() {
        period *= if period < Counted::MOST { radix } else { 1 };
    }
    period.into()
}

proptest! {
    #[test]
    fn candidates_are_those_of_the_space((space, period) in space(), at in any::<[u64; 4]>(), count in 1..300_usize) {
        let first = at.iter().fold(BigUint::ZERO, |number, part| (number << 64) + *part) % space.size();
        compare(&space, &first, count);
        compare(&space, &BigUint::ZERO, count);
        // The last candidates, and those where the digits that a device counts wrap to zero.
        compare(&space, &(space.size() - space.size().min(BigUint::from(count))), count);
        let anew = &first / &period * &period + &period;
        compare(&space, &(&anew - (&anew).min(&BigUint::from(count / 2))), count);
    }
}

/// The most candidates of one call. The periods of the last digits are hardly longer.
#[test]
fn as_many_are_counted_as_are_promised() {
    let places: Vec<Vec<u8>> =
        [3_usize, 7, 2, 51, 2, 52, 2, 30].map(|radix| (40..40 + radix as u8).rev().collect()).to_vec();
    let space = Space::of_bytes(&places).unwrap();
    compare(&space, &BigUint::from(131_000_u32), Counted::MOST);
    compare(&Space::every(32), &(BigUint::from(1_u8) << 200_u32), Counted::MOST);
}

/// Each gap takes device memory, which is limited. The worst lists have a gap after every value.
#[test]
fn digits_that_vary_are_few() {
    let jumping: Vec<u8> = (0..=254).map(|at: u8| at.wrapping_mul(93)).collect();
    let space = Space::of_bytes(&[jumping.clone(), jumping.clone(), jumping.clone(), jumping]).unwrap();
    for derivation in derivations() {
        assert_eq!(Counted::new(&space, &derivation, &BigUint::ZERO).unwrap().shape(), [(0, 254); 3]);
    }
}

#[test]
fn what_no_block_begins_with_is_not_counted() {
    let [sha256, pbkdf2] = derivations();
    let is_counted =
        |len: usize, derivation| Counted::new(&Space::every(len), derivation, &BigUint::ZERO).is_some();
    assert!(is_counted(55, &sha256) && !is_counted(56, &sha256));
    assert!(is_counted(64, &pbkdf2) && !is_counted(65, &pbkdf2));
}
