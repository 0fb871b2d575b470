//! Kernels of key search: each finds a key in every lane, wherever in the key the varied bytes lie, and takes few
//! others for it.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{CAPS, ciphers, painted};
use crossgrain::internal::block::{Block, Family};
use crossgrain::internal::part::search::{Known, SearchPart, Use};
use crossgrain::internal::reference;
use crossgrain::internal::repr::Repr;
use crossgrain::internal::variant::{Action, Policy, Variant, find, table};
use crossgrain::plan::{Costs, Limits, searches as planned};
use crossgrain::{Cipher, Direction, Features, Key};

const INPUT: Block = *b"sixteen bytes in";

const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

/// What is known of a block that goes through the cipher under a key: all of it.
fn known(cipher: Cipher, direction: Direction, key: &[u8]) -> Known {
    let mut output = INPUT;
    let cipher = reference::cipher(&Key::new(cipher, key).unwrap());
    match direction {
        Direction::Encrypt => cipher.encrypt(&mut output),
        Direction::Decrypt => cipher.decrypt(&mut output),
    }
    Known { direction, input: INPUT, output, mask: [0xff; 16] }
}

fn searches() -> impl Iterator<Item = (&'static Variant, Cipher, Direction)> {
    let searches = table().iter().filter(|variant| matches!(variant.action, Action::Search(_)));
    let there = searches.filter(|variant| variant.is_available(Features::of_cpu()));
    let of_ciphers = there.flat_map(|variant| {
        ciphers(variant.family.unwrap()).into_iter().map(move |cipher| (variant, cipher))
    });
    let all =
        of_ciphers.flat_map(|(variant, cipher)| DIRECTIONS.map(|direction| (variant, cipher, direction)));
    // Kernels by AES instructions go one way only.
    all.filter(|(variant, _, direction)| *direction == Direction::Encrypt || variant.repr != Repr::Blocks)
}

fn bound(variant: &Variant, cipher: Cipher, known: &Known) -> Box<dyn SearchPart> {
    let Action::Search(bind) = variant.action else { panic!("{}", variant.name) };
    bind(Features::of_cpu(), cipher, known).unwrap()
}

/// Keys that differ in two bytes, and one with the others.
fn tables(cipher: Cipher, at: [usize; 2], keys: usize) -> (Vec<u8>, Vec<u8>) {
    let mut inner = vec![0; keys * cipher.key_bytes()];
    for (i, key) in inner.chunks_exact_mut(cipher.key_bytes()).enumerate() {
        key[at[0]] = i as u8;
        key[at[1]] = (i >> 8) as u8 ^ 0x5a;
    }
    let mut outer = painted(cipher.key_bytes(), 7);
    at.into_iter().for_each(|at| outer[at] = 0);
    (outer, inner)
}

fn planted(cipher: Cipher, outer: &[u8], inner: &[u8], number: usize) -> Vec<u8> {
    let inner = &inner[number * cipher.key_bytes()..][..cipher.key_bytes()];
    outer.iter().zip(inner).map(|(a, b)| a ^ b).collect()
}

#[test]
fn a_key_is_found_in_every_lane() {
    for (variant, cipher, direction) in searches() {
        let end = cipher.key_bytes() - 1;
        let lanes = bound(variant, cipher, &known(cipher, direction, &vec![0; end + 1])).lanes();
        let keys = lanes + lanes / 2 + 1;
        let (outer, inner) = tables(cipher, [end, end - 1], keys);
        for number in 0..keys {
            let key = planted(cipher, &outer, &inner, number);
            let known = known(cipher, direction, &key);
            let usage = if number % 2 == 0 { Use::Often } else { Use::Once };
            let mut found = Vec::new();
            bound(variant, cipher, &known).inner(&inner, usage).search(&outer, &mut Vec::new(), &mut found);
            assert!(
                found.contains(&number) && found.len() < 4,
                "{}, {cipher}, {direction:?}, {number}: {found:?}",
                variant.name
            );
        }
    }
}

#[test]
fn varied_bytes_and_known_bytes_may_lie_anywhere() {
    for (variant, cipher, direction) in searches() {
        let key_bytes = cipher.key_bytes();
        for at in 0..key_bytes {
            let (outer, inner) = tables(cipher, [at, (at + 5) % key_bytes], 300);
            let key = planted(cipher, &outer, &inner, 299);
            let mut known = known(cipher, direction, &key);
            // Two bytes are known, in one word and in two, and what is not known is wrong.
            for (byte, wrong) in known.output.iter_mut().enumerate() {
                let is_known = byte == at % 16 || byte == (at * 7 + 3) % 16;
                known.mask[byte] = if is_known { 0xff } else { 0 };
                *wrong ^= !known.mask[byte];
            }
            for usage in [Use::Once, Use::Often] {
                let mut found = Vec::new();
                bound(variant, cipher, &known).inner(&inner, usage).search(
                    &outer,
                    &mut Vec::new(),
                    &mut found,
                );
                assert!(
                    found.contains(&299) && found.len() < 20,
                    "{}, {cipher}, {direction:?}, {at}: {found:?}",
                    variant.name
                );
            }
        }
    }
}

#[test]
fn a_table_is_refilled_and_an_empty_one_finds_nothing() {
    for (variant, cipher, direction) in searches() {
        let (outer, inner) = tables(cipher, [0, 1], 40);
        let key = planted(cipher, &outer, &inner, 17);
        let known = known(cipher, direction, &key);
        let mut table = bound(variant, cipher, &known).inner(&[], Use::Often);
        let (mut scratch, mut found) = (Vec::new(), Vec::new());
        table.search(&outer, &mut scratch, &mut found);
        assert_eq!((table.keys(), &found), (0, &vec![]), "{}", variant.name);
        table.refill(&inner, Use::Once);
        table.search(&outer, &mut scratch, &mut found);
        assert_eq!((table.keys(), &found), (40, &vec![17]), "{}", variant.name);
    }
}

#[test]
fn the_cheapest_search_is_chosen_and_a_forced_one_must_fit() {
    for cap in CAPS {
        let features = cap.parse::<Features>().unwrap() & Features::of_cpu();
        let limits = |forced: &[&str]| Limits {
            features,
            policy: Policy::ConstantTime,
            forced: forced.iter().map(|name| find(name).unwrap()).collect(),
            secret_counter: false,
        };
        for cipher in Cipher::ALL {
            let costs = Costs::estimates(cipher);
            let chosen = planned(cipher, &limits(&[]), &costs).unwrap()[0];
            let price = |variant: &Variant| costs.get(variant).unwrap().per_byte_ns;
            let usable = |variant: &&Variant| {
                variant.family == chosen.family
                    && variant.is_available(features)
                    && price(variant) < price(chosen)
            };
            let mut searches = table().iter().filter(|variant| matches!(variant.action, Action::Search(_)));
            assert!(!searches.any(|variant| usable(&variant)), "{cap}, {cipher}: {}", chosen.name);
            let forced = planned(cipher, &limits(&[&chosen.name]), &costs).unwrap();
            assert!(matches!(forced[..], [forced] if forced.name == chosen.name));
            let other = if cipher.family() == Family::Aes {
                "serpent-search/vsliced32/portable"
            } else {
                "aes-search/bitsliced64/portable"
            };
            let refused = planned(cipher, &limits(&[other]), &costs).unwrap_err().to_string();
            assert!(refused.contains("does not search") && refused.lines().count() == 1, "{refused}");
        }
    }
}
