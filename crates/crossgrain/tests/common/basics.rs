//! Helpers for the tests of all crates: data, keys, ISA caps and the number of random cases.
#![allow(dead_code, reason = "each test uses its own part of this")]

use crossgrain::mode::Options;
use crossgrain::{Cipher, Key};
use proptest::prelude::ProptestConfig;

/// ISA caps that together switch off every extension.
pub(crate) const CAPS: [&str; 9] = [
    "portable",
    "sse2-aes",
    "sse2",
    "avx2-aes-gfni",
    "avx2-aes",
    "avx2",
    "avx512-aes-gfni-vbmi",
    "avx512-aes",
    "avx512",
];

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
