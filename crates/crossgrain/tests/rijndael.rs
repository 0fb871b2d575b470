//! Rijndael with blocks of 192 and 256 bits: published answers of the reference.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::hex;
use crossgrain::reference::{BlockCipher, aes::Rijndael};
use proptest::prelude::{any, prop_assert_eq, proptest};
use proptest::sample::select;

/// A block and what it enciphers to.
struct Answer {
    key: Vec<u8>,
    plain: Vec<u8>,
    crypt: Vec<u8>,
}

/// The answers in `published/rijndael-ecb.txt`.
fn published() -> Vec<Answer> {
    let lines = include_str!("published/rijndael-ecb.txt").lines();
    let answers = lines.filter(|line| !line.starts_with(['#', '[']) && !line.is_empty()).map(|line| {
        let [key, plain, crypt] = line.split(' ').map(hex).collect::<Vec<_>>().try_into().unwrap();
        Answer { key, plain, crypt }
    });
    let answers: Vec<_> = answers.collect();
    assert_eq!(answers.len(), 7);
    answers
}

fn reference(block_bytes: usize, key: &[u8]) -> Box<dyn BlockCipher> {
    match block_bytes {
        16 => Box::new(Rijndael::<4>::new(key)),
        24 => Box::new(Rijndael::<6>::new(key)),
        _ => Box::new(Rijndael::<8>::new(key)),
    }
}

#[test]
fn the_reference_gives_published_answers() {
    for Answer { key, plain, crypt } in published() {
        let cipher = reference(plain.len(), &key);
        let mut block = plain.clone();
        cipher.encrypt(&mut block);
        assert_eq!(block, crypt);
        cipher.decrypt(&mut block);
        assert_eq!(block, plain);
    }
}

proptest! {
    #[test]
    fn the_reference_deciphers_what_it_enciphered(
        block_bytes in select(&[16_usize, 24, 32][..]),
        key_bytes in select(&[16_usize, 24, 32][..]),
        key in any::<[u8; 32]>(),
        plain in any::<[u8; 32]>(),
    ) {
        let cipher = reference(block_bytes, &key[..key_bytes]);
        let mut block = plain;
        cipher.encrypt(&mut block[..block_bytes]);
        cipher.decrypt(&mut block[..block_bytes]);
        prop_assert_eq!(block, plain);
    }
}
