//! Key search on blocks: the planted key is found at every place, and no other key is.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

#[path = "../../crossgrain/tests/common/basics.rs"]
mod common;

use std::sync::Arc;

use common::{CAPS, painted};
use crossgrain::mode::Options;
use crossgrain::plan::compose::Cost;
use crossgrain::plan::{Costs, TableReuse};
use crossgrain::{Cipher, Direction, Features, Key};
use crossgrain_search::{BlockSearch, Pair};

/// The pair of a key for a fixed input block.
fn pair_of(key: &Key, direction: Direction) -> Pair {
    Pair::whole(direction, *b"a block of input", [0; 16]).planted(key)
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

#[test]
fn a_planted_key_is_found_at_every_place() {
    const OUTER: usize = 3;
    const INNER: usize = 70;
    for (cipher, direction) in Cipher::ALL.into_iter().flat_map(|c| Direction::ALL.map(|d| (c, d))) {
        let bytes = cipher.key_bytes();
        let (outer, inner) = (painted(OUTER * bytes, 1), painted(INNER * bytes, 2));
        for place in (0..OUTER * INNER).step_by(23).chain([OUTER * INNER - 1]) {
            let (o, i) = (place / INNER, place % INNER);
            let planted = xor(&outer[o * bytes..][..bytes], &inner[i * bytes..][..bytes]);
            let pair = pair_of(&Key::new(cipher, &planted).unwrap(), direction);
            let search = BlockSearch::new(cipher, &[pair], &Options::default()).unwrap();
            let mut found = Vec::new();
            search.search(&outer, &search.prepare(&inner, TableReuse::Often), &mut found);
            assert_eq!(found, [(o, i)], "{cipher} {direction:?}");
        }
    }
}

#[test]
fn every_pair_has_to_hold_and_only_known_bits_count() {
    let key = common::key(Cipher::Aes128, 3);
    let search = |pairs: &[Pair]| {
        let search = BlockSearch::new(Cipher::Aes128, pairs, &Options::default()).unwrap();
        let mut found = Vec::new();
        search.search(&[0; 16], &search.prepare(key.bytes(), TableReuse::Once), &mut found);
        !found.is_empty()
    };
    let good = pair_of(&key, Direction::Encrypt);
    let mut wrong = good;
    wrong.output[5] ^= 0x10;
    assert!(search(&[good]) && !search(&[wrong]) && !search(&[good, wrong]) && !search(&[wrong, good]));
    wrong.mask[5] = 0xef;
    assert!(search(&[wrong]) && search(&[good, wrong]));
    let nothing = Pair { mask: [0; 16], ..good };
    assert!(search(&[nothing, good]));
    assert!(BlockSearch::new(Cipher::Aes128, &[nothing], &Options::default()).is_err());
    assert!(BlockSearch::new(Cipher::Aes128, &[], &Options::default()).is_err());
}

#[test]
fn plaintext_known_in_part_is_no_matter_for_the_reference() {
    for (cap, cipher) in CAPS.into_iter().flat_map(|cap| Cipher::ALL.map(|cipher| (cap, cipher))) {
        let features = cap.parse::<Features>().unwrap() & Features::of_cpu();
        let options = Options { features: Some(features), ..Options::default() };
        let mut pair = pair_of(&common::key(cipher, 5), Direction::Decrypt);
        pair.mask[3] = 0;
        let search = BlockSearch::new(cipher, &[pair], &options).unwrap();
        for usage in TableReuse::ALL {
            assert!(search.kernel(usage).contains("-back/"), "{cipher}, {cap}: {}", search.kernel(usage));
        }
        let planted = search.planted(&painted(cipher.key_bytes(), 6)).unwrap();
        assert_eq!((planted.pairs()[0].mask, planted.pairs()[0].direction), (pair.mask, Direction::Decrypt));
    }
}

#[test]
fn a_variant_that_is_named_is_used_and_must_fit() {
    let pair = pair_of(&common::key(Cipher::Aes128, 5), Direction::Encrypt);
    let named = |name: &str| {
        let options = Options { variants: vec![name.to_owned()], ..Options::default() };
        BlockSearch::new(Cipher::Aes128, &[pair], &options)
    };
    for (name, usage, other) in [
        ("aes-search/bitsliced64/portable", TableReuse::Often, TableReuse::Once),
        ("aes-search-list-back/bitsliced64/portable", TableReuse::Once, TableReuse::Often),
    ] {
        let search = named(name).unwrap();
        assert_eq!(search.kernel(usage), name);
        // The other use has a plan of its own: a complete kernel, or steps.
        let free = search.kernel(other);
        assert!(free.contains(" > ") || free.contains("-list") == (other == TableReuse::Once), "{free}");
        let planted = search.planted(&painted(16, 6)).unwrap();
        assert_eq!(planted.kernel(usage), name);
    }
    for (name, reason) in [
        ("serpent-search/vsliced32/portable", "has no place in this job"),
        ("aes-encrypt/bitsliced64/portable", "has no place in this job"),
        ("aes-search/nowhere", "no variant is called"),
    ] {
        let refused = named(name).unwrap_err().to_string();
        assert!(refused.contains(reason) && refused.lines().count() == 1, "{refused}");
    }
}

#[test]
fn costs_measured_on_the_machine_decide() {
    let pair = pair_of(&common::key(Cipher::Aes128, 5), Direction::Encrypt);
    let cheap = "aes-search/bitsliced64/portable";
    let costs = Costs::estimates(Cipher::Aes128);
    let costs: Costs = costs
        .iter()
        .map(|(name, known)| (name.to_owned(), if name == cheap { Cost::per_byte(1e-6) } else { known.cost }))
        .collect();
    let options = Options { costs: Some(Arc::new(costs)), ..Options::default() };
    let search = BlockSearch::new(Cipher::Aes128, &[pair], &options).unwrap();
    assert_eq!(search.kernel(TableReuse::Often), cheap);
}
