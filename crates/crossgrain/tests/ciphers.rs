//! Ciphers that are described once: their published vectors, through the reference and through every variant; the structure of
//! their S-boxes; every way to substitute on all bytes.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{forced_jobs, hex, other_single, painted, run};
use crossgrain::internal::cipher::Entry;
use crossgrain::internal::reference;
use crossgrain::plan::Birth;
use crossgrain::{Block, Cipher, Direction, Key};

/// Key, plaintext and ciphertext.
const VECTORS: [(Cipher, &str, &str, &str); 8] = [
    // GB/T 32907-2016, A.1.
    (
        Cipher::Sm4,
        "0123456789abcdeffedcba9876543210",
        "0123456789abcdeffedcba9876543210",
        "681edf34d206965e86b3e94f536e4246",
    ),
    // RFC 3713, appendix A.
    (
        Cipher::Camellia128,
        "0123456789abcdeffedcba9876543210",
        "0123456789abcdeffedcba9876543210",
        "67673138549669730857065648eabe43",
    ),
    (
        Cipher::Camellia192,
        "0123456789abcdeffedcba98765432100011223344556677",
        "0123456789abcdeffedcba9876543210",
        "b4993401b3e996f84ee5cee7d79b09b9",
    ),
    (
        Cipher::Camellia256,
        "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
        "0123456789abcdeffedcba9876543210",
        "9acc237dff16d76c20ef7c919e3a7509",
    ),
    // RFC 5794, appendix A.
    (
        Cipher::Aria128,
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
        "d718fbd6ab644c739da95f3be6451778",
    ),
    (
        Cipher::Aria192,
        "000102030405060708090a0b0c0d0e0f1011121314151617",
        "00112233445566778899aabbccddeeff",
        "26449c1805dbe7aa25a468ce263a9e79",
    ),
    (
        Cipher::Aria256,
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "00112233445566778899aabbccddeeff",
        "f92bd7c79fb72e2f2b8f80c1972d24fc",
    ),
    // RFC 7801, §5.5.
    (
        Cipher::Kuznyechik,
        "8899aabbccddeeff0011223344556677fedcba98765432100123456789abcdef",
        "1122334455667700ffeeddccbbaa9988",
        "7f679d90bebc24305a468d42b9d4edcd",
    ),
];

fn block(digits: &str) -> Block {
    hex(digits).try_into().unwrap()
}

#[test]
fn the_reference_gives_the_published_answers() {
    for (cipher, key, plain, crypt) in VECTORS {
        let by = reference::cipher(&Key::new(cipher, &hex(key)).unwrap());
        let mut data = block(plain);
        by.encrypt(&mut data);
        assert_eq!(data, block(crypt), "{cipher}");
        by.decrypt(&mut data);
        assert_eq!(data, block(plain), "{cipher}");
    }
}

/// GB/T 32907-2016, A.2.
#[test]
fn sm4_a_million_times() {
    let by = reference::cipher(&Key::new(Cipher::Sm4, &hex(VECTORS[0].1)).unwrap());
    let mut data = block(VECTORS[0].2);
    for _ in 0..1_000_000 {
        by.encrypt(&mut data);
    }
    assert_eq!(data, block("595298c7c6fd271f0402f804c33d3f66"));
}

#[test]
fn every_variant_gives_the_published_answers() {
    let mut count = 0;
    for (variant, job, options) in forced_jobs() {
        for (_, key, plain, crypt) in VECTORS.into_iter().filter(|(cipher, ..)| *cipher == job.cipher) {
            let key = Key::new(job.cipher, &hex(key)).unwrap();
            let (from, to) = match job.direction {
                Direction::Encrypt => (block(plain), block(crypt)),
                Direction::Decrypt => (block(crypt), block(plain)),
            };
            let mut data = match job.birth {
                Birth::Bytes => from,
                Birth::Counter => [0; 16],
            };
            run(&key, job.direction, job.birth, u128::from_be_bytes(from), &options, &mut data);
            assert_eq!(data, to, "{} {job}", variant.name);
            count += 1;
        }
    }
    assert!(count > 0, "no variant was run");
}

#[test]
fn the_reference_agrees_with_another_implementation() {
    for cipher in Cipher::ALL.into_iter().filter(|cipher| Entry::of(cipher.family()).is_some()) {
        for seed in 0..100 {
            let key = common::key(cipher, seed);
            let by = reference::cipher(&key);
            let mut data: Block = painted(16, seed).try_into().unwrap();
            let mut want = data;
            by.encrypt(&mut data);
            other_single(&key, Direction::Encrypt)(&mut want);
            assert_eq!(data, want, "{cipher}");
            by.decrypt(&mut data);
            other_single(&key, Direction::Decrypt)(&mut want);
            assert_eq!(data, want, "{cipher}");
        }
    }
}
