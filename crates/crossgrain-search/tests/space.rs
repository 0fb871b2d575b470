//! Spaces of candidates: exact numbers, masks, and parts without gap or overlap.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::ops::Range;

use crossgrain_search::{BigUint, Error, Part, Sets, Shard, Space, key_mask};
use proptest::prelude::*;

fn big(number: u128) -> BigUint {
    BigUint::from(number)
}

/// All candidates of a small space, in order.
fn all(space: &Space) -> Vec<Vec<u8>> {
    let count = space.size().iter_u64_digits().next().unwrap_or(0) as usize;
    let flat = space.candidates(&BigUint::ZERO, count);
    flat.chunks(space.len_bytes()).map(<[u8]>::to_vec).collect()
}

fn bytes(mask: &str) -> Vec<Vec<u8>> {
    all(&Sets::default().bytes(mask.as_bytes()).unwrap())
}

#[test]
fn masks_describe_what_hashcats_do() {
    assert_eq!(bytes("a?d"), (b'0'..=b'9').map(|digit| vec![b'a', digit]).collect::<Vec<_>>());
    assert_eq!(bytes("???dx").first().unwrap(), b"?0x");
    for (set, size) in
        [("?l", 26), ("?u", 26), ("?d", 10), ("?s", 33), ("?a", 95), ("?h", 16), ("?H", 16), ("?b", 256)]
    {
        let held = bytes(set);
        assert_eq!(held.len(), size, "{set}");
        assert_eq!(held.iter().collect::<BTreeSet<_>>().len(), size, "{set}");
    }
    // The last place varies fastest.
    assert_eq!(bytes("?d?l")[..2], [b"0a".to_vec(), b"0b".to_vec()]);
}

#[test]
fn own_sets_hold_what_they_list_once() {
    let mut sets = Sets::default();
    sets.define(1, b"?dabca??").unwrap();
    sets.define(4, b"?1X").unwrap();
    let held = all(&sets.bytes(b"?4").unwrap());
    assert_eq!(held.concat(), b"0123456789abc?X");
    assert!(matches!(sets.define(5, b"a"), Err(Error::UnknownSet { .. })));
    assert!(matches!(sets.define(0, b"a"), Err(Error::UnknownSet { .. })));
    assert!(matches!(sets.define(2, b""), Err(Error::EmptyMask)));
    assert!(matches!(sets.bytes(b"?2"), Err(Error::UnknownSet { .. })));
}

#[test]
fn a_place_where_nothing_may_stand_is_refused() {
    let places = [vec![1, 2], Vec::new()];
    assert!(matches!(Space::of_bytes(&places), Err(Error::EmptyPlace { byte: 1 })));
    assert!(matches!(Space::of_halves(&places), Err(Error::EmptyPlace { byte: 0 })));
}

#[test]
fn hex_masks_have_a_place_for_every_digit() {
    let keys = all(&key_mask(b"0?F?").unwrap());
    let want: Vec<_> = (0..16).flat_map(|high| (0..16).map(move |low| vec![high, 0xf0 | low])).collect();
    assert_eq!(keys, want);
    let mut sets = Sets::default();
    sets.define(1, b"aA3").unwrap();
    assert_eq!(all(&sets.hex(b"?15").unwrap()), [[0xa5], [0x35]]);
    assert!(matches!(key_mask(b"abc"), Err(Error::OddDigits { digits: 3 })));
    assert!(matches!(key_mask(b"ax"), Err(Error::NoHexDigit)));
    assert!(matches!(key_mask(b""), Err(Error::EmptyMask)));
}

#[test]
fn masks_that_cannot_be_read_are_refused() {
    for mask in ["?", "a?", "?x", "?5", "?0", "?1"] {
        assert!(matches!(Sets::default().bytes(mask.as_bytes()), Err(Error::UnknownSet { .. })), "{mask}");
    }
    assert!(matches!(Sets::default().bytes(b""), Err(Error::EmptyMask)));
}

#[test]
fn sizes_are_exact_beyond_every_machine_word() {
    assert_eq!(Space::every(32).size(), big(1) << 256);
    let digits = Sets::default().bytes("?d".repeat(60).as_bytes()).unwrap();
    assert_eq!(digits.size(), big(10).pow(60));
    let last = digits.candidates(&(digits.size() - 1_u8), 1);
    assert_eq!(last.as_slice(), "9".repeat(60).as_bytes());
    // A key of the full space equals its number.
    let number = BigUint::from_bytes_be(&[0x5a; 32]);
    assert_eq!(Space::every(32).candidates(&number, 1).as_slice(), [0x5a; 32]);
}

#[test]
fn shards_are_read_as_they_are_written() {
    assert_eq!("3/7".parse::<Shard>().unwrap().to_string(), "3/7");
    for bad in ["", "/", "3", "7/7", "1/0", "-1/2", "1/2/3", "a/b", "1/18446744073709551616"] {
        assert!(bad.parse::<Shard>().is_err(), "{bad}");
    }
}

fn spaces() -> impl Strategy<Value = Space> {
    let place = proptest::collection::vec(any::<u8>(), 1..40);
    let any_byte = Just((0..=u8::MAX).collect::<Vec<u8>>());
    let bytes = proptest::collection::vec(prop_oneof![place, any_byte], 1..24);
    let half = proptest::collection::vec(0..16_u8, 1..17);
    let halves = proptest::collection::vec((half.clone(), half), 1..24);
    prop_oneof![
        bytes.prop_map(|places| Space::of_bytes(&places).unwrap()),
        halves.prop_map(|pairs| {
            let places: Vec<_> = pairs.into_iter().flat_map(|(high, low)| [high, low]).collect();
            Space::of_halves(&places).unwrap()
        }),
    ]
}

fn numbers() -> impl Strategy<Value = BigUint> {
    proptest::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| BigUint::from_bytes_be(&bytes))
}

/// Checks that the ranges are contiguous and cover `whole`.
fn tile(ranges: &[Range<BigUint>], whole: &Range<BigUint>) {
    let mut at = whole.start.clone();
    for range in ranges {
        assert_eq!(range.start, at);
        assert!(range.end >= range.start);
        at = range.end.clone();
    }
    assert_eq!(at, whole.end);
}

proptest! {
    #[test]
    fn shards_leave_no_gap_and_do_not_overlap(
        size in numbers(), skip in numbers(), limit in proptest::option::of(numbers()), count in 1..70_u64,
    ) {
        let part = Part { skip: skip.clone(), limit: limit.clone(), shard: None };
        let whole = part.of(&size);
        prop_assert!(whole.start <= whole.end && whole.end <= size);
        prop_assert_eq!(&whole.start, &skip.min(size.clone()));
        if let Some(limit) = &limit {
            prop_assert_eq!(&whole.end - &whole.start, limit.min(&(&size - &whole.start)).clone());
        }
        let shards: Vec<_> = (0..count)
            .map(|index| Part { shard: Some(Shard::new(index, count).unwrap()), ..part.clone() }.of(&size))
            .collect();
        tile(&shards, &whole);
        let lens: Vec<_> = shards.iter().map(|shard| &shard.end - &shard.start).collect();
        prop_assert!(lens.iter().max().unwrap() - lens.iter().min().unwrap() <= big(1));
    }

    /// Skipping and limiting in equal steps covers the whole.
    #[test]
    fn pieces_leave_no_gap_and_do_not_overlap(size in 0..u128::MAX, pieces in 1..50_u128) {
        let step = size / pieces + 1;
        let ranges: Vec<_> = (0..pieces)
            .map(|piece| Part { skip: big(step) * big(piece), limit: Some(big(step)), shard: None }.of(&big(size)))
            .collect();
        tile(&ranges, &(big(0)..big(size)));
    }

    /// A candidate is the OR of its halves, however it is computed.
    #[test]
    fn candidates_are_outer_and_inner_halves(space in spaces(), at in numbers()) {
        let (size, period, len) = (space.size(), space.period(), space.len_bytes());
        let number = at % &size;
        let outer = space.outer(&(&number / period), 1);
        let place = (&number % period).iter_u64_digits().next().unwrap_or(0) as usize;
        let inner = space.inner(place..place + 1);
        prop_assert!(outer.iter().zip(inner.iter()).all(|(o, i)| o & i == 0));
        let sum: Vec<u8> = outer.iter().zip(inner.iter()).map(|(o, i)| o ^ i).collect();
        prop_assert_eq!(space.candidates(&number, 1).to_vec(), sum);
        prop_assert!(period >= 512 || big(period as u128) == size);
        // The second of two candidates is the one with the next number.
        if &number + 1_u8 < size {
            let both = space.candidates(&number, 2);
            let next = space.candidates(&(number + 1_u8), 1);
            prop_assert_eq!(&both[len..], next.as_slice());
        }
    }

    #[test]
    fn no_candidate_comes_twice(places in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..6), 1..5)) {
        let space = Space::of_bytes(&places).unwrap();
        let all = all(&space);
        prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        prop_assert!(all.iter().all(|one| one.iter().zip(&places).all(|(byte, place)| place.contains(byte))));
        let want: usize = places.iter().map(|place| place.iter().collect::<BTreeSet<_>>().len()).product();
        prop_assert_eq!(all.len(), want);
    }
}
