//! Helpers for the tests of all crates: data, keys, ISA caps and the number of random cases.
#![allow(dead_code, unused_imports, reason = "each test uses its own part of this")]

pub(crate) use crossgrain::engine::arch::{CAP_WITHOUT_AES, CAPS};
use crossgrain::mode::Options;
use crossgrain::{Cipher, Features, Key};
use proptest::prelude::ProptestConfig;

/// The cap that allows everything.
pub(crate) const ALL_CAP: &str = CAPS[CAPS.len() - 1];

/// Those of these caps that this machine has.
pub(crate) fn known_caps<const N: usize>(caps: [&'static str; N]) -> Vec<&'static str> {
    caps.into_iter().filter(|cap| cap.parse::<Features>().is_ok()).collect()
}

/// Pseudo-random bytes, the same for the same seed.
pub(crate) fn painted(len_bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..len_bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

pub(crate) fn key(cipher: Cipher, seed: u64) -> Key {
    Key::new(cipher, &painted(cipher.key_bytes(), seed)).unwrap()
}

/// Options under an ISA cap that leave the choice of variants free.
pub(crate) fn capped(cap: &str, threads: usize) -> Options {
    Options { features: Some(cap.parse().unwrap()), threads, ..Options::default() }
}

/// Configures proptest to run `count` random cases, or `PROPTEST_CASES` if that is more. A failure writes no
/// file, because proptest prints the smallest failing case.
pub(crate) fn cases(count: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|asked| asked.parse().ok()).unwrap_or(0);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(count.max(asked)) }
}

pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .bytes()
        .filter(|b| !b.is_ascii_whitespace())
        .map(|b| (b as char).to_digit(16).unwrap() as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2));
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
