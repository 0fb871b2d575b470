//! Key search: the planted key is found wherever it stands, and nothing else.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

#[path = "../../crossgrain/tests/common/basics.rs"]
mod common;

use common::{CAPS, painted};
use crossgrain::internal::part::search::Use;
use crossgrain::mode::Options;
use crossgrain::{Cipher, Direction, Features, Key};
use crossgrain_search::{BlockSearch, Pair};

/// The pair of a key: whatever block, and what the cipher makes of it.
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
            search.search(&outer, &search.prepare(&inner, Use::Often), &mut found);
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
        search.search(&[0; 16], &search.prepare(key.bytes(), Use::Once), &mut found);
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
        assert_ne!(search.kernel(), "search/reference", "{cipher}, {cap}");
        let planted = search.planted(&painted(cipher.key_bytes(), 6)).unwrap();
        assert_eq!((planted.pairs()[0].mask, planted.pairs()[0].direction), (pair.mask, Direction::Decrypt));
    }
}
