//! Described ciphers: their published vectors, with the reference and with every variant, and a second
//! implementation of each if one exists.
//!
//! The vectors are in `vectors.txt` in the cipher's folder. A line has the cipher, key, plaintext and
//! ciphertext in hexadecimal, and the number of iterations if there are several. Lines with `#` name the
//! source of the vectors.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs;
use std::path::Path;

use common::{CAPS, forced_jobs, hex, other_blocks, painted, run};
use crossgrain::engine::cipher::Entry;
use crossgrain::engine::reference;
use crossgrain::plan::JobSource;
use crossgrain::{Block, Cipher, Direction, Features, Key};

/// A published answer.
struct Vector {
    key: Key,
    plain: Block,
    crypt: Block,
    times: u32,
}

impl Vector {
    fn of(line: &str) -> Self {
        let words: Vec<_> = line.split(' ').collect();
        let block = |at: usize| -> Block { hex(words[at]).try_into().unwrap() };
        let times = words.get(4).map_or(1, |times| times.parse().unwrap());
        let key = Key::new(words[0].parse().unwrap(), &hex(words[1])).unwrap();
        Self { key, plain: block(2), crypt: block(3), times }
    }
}

/// The vectors of all ciphers.
fn vectors() -> Vec<Vector> {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cipher");
    let files = fs::read_dir(folders).unwrap().map(|folder| folder.unwrap().path().join("vectors.txt"));
    let text: String = files.filter_map(|file| fs::read_to_string(file).ok()).collect();
    text.lines().filter(|line| !line.starts_with('#')).map(Vector::of).collect()
}

/// The ciphers whose kernels are generated from their description.
fn described() -> impl Iterator<Item = Cipher> {
    Cipher::ALL.into_iter().filter(|cipher| !Entry::of(cipher.family()).by_hand)
}

#[test]
fn every_described_cipher_has_a_vector() {
    let vectors = vectors();
    for cipher in described() {
        assert!(vectors.iter().any(|vector| vector.key.cipher() == cipher), "{cipher} has no vector");
    }
}

#[test]
fn the_reference_gives_the_published_answers() {
    for Vector { key, plain, crypt, times } in vectors() {
        let by = reference::cipher(&key);
        let mut data = plain;
        (0..times).for_each(|_| by.encrypt(&mut data));
        assert_eq!(data, crypt, "{}", key.cipher());
        (0..times).for_each(|_| by.decrypt(&mut data));
        assert_eq!(data, plain, "{}", key.cipher());
    }
}

#[test]
fn every_variant_gives_the_published_answers() {
    let (vectors, mut count) = (vectors(), 0);
    for (variant, job, options) in forced_jobs() {
        for Vector { key, plain, crypt, .. } in
            vectors.iter().filter(|vector| vector.key.cipher() == job.cipher && vector.times == 1)
        {
            let (from, to) = match job.direction {
                Direction::Encrypt => (plain, crypt),
                Direction::Decrypt => (crypt, plain),
            };
            let mut data = match job.source {
                JobSource::Bytes => *from,
                _ => [0; 16],
            };
            run(key, job.direction, job.source, u128::from_be_bytes(*from), &options, &mut data);
            assert_eq!(data, *to, "{} {job}", variant.name);
            count += 1;
        }
    }
    assert!(count > 0, "no variant was run");
}

#[test]
fn key_schedules_on_registers_are_those_by_gates() {
    for (cap, cipher) in CAPS.into_iter().flat_map(|cap| described().map(move |cipher| (cap, cipher))) {
        let features = cap.parse::<Features>().unwrap() & Features::of_cpu();
        for seed in 0..20 {
            let key = common::key(cipher, seed);
            let [here, by_gates] =
                [features, Features::NONE].map(|features| Entry::of(cipher.family()).expand(&key, features));
            for direction in Direction::ALL {
                assert_eq!(here.of(direction), by_gates.of(direction), "{cipher}, {cap}, {direction:?}");
            }
        }
    }
}

#[test]
fn the_reference_agrees_with_another_implementation() {
    for cipher in described() {
        for seed in 0..100 {
            let key = common::key(cipher, seed);
            let other = |direction| other_blocks(&key, direction);
            let (Some(mut encrypt), Some(mut decrypt)) =
                (other(Direction::Encrypt), other(Direction::Decrypt))
            else {
                println!("skipped: {cipher} (there is no other implementation of it here)");
                break;
            };
            let by = reference::cipher(&key);
            let mut data: Block = painted(16, seed).try_into().unwrap();
            let mut want = data;
            by.encrypt(&mut data);
            encrypt(&mut want);
            assert_eq!(data, want, "{cipher}");
            by.decrypt(&mut data);
            decrypt(&mut want);
            assert_eq!(data, want, "{cipher}");
        }
    }
}
