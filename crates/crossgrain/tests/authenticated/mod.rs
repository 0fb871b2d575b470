//! The authenticated modes, with the ciphers, keys, nonces and caps that tests of them use.

#![allow(dead_code, reason = "each law uses its own part of this")]

use crossgrain::Cipher;
use crossgrain::mode::{Initial, Mode, Options};

use crate::common::{ALL_CAP, capped, key, known_caps};

pub(crate) fn authenticated() -> impl Iterator<Item = Mode> {
    Mode::ALL.into_iter().filter(|mode| mode.is_authenticated())
}

/// Ciphers of both families that the mode admits.
pub(crate) fn ciphers(mode: Mode) -> impl Iterator<Item = Cipher> {
    let some = [Cipher::Aes128, Cipher::Aes256, Cipher::Serpent192];
    some.into_iter().filter(move |&cipher| mode.admits(cipher).is_ok())
}

pub(crate) fn key_of(mode: Mode, cipher: Cipher) -> Vec<u8> {
    (0..mode.entry().keys).flat_map(|number| key(cipher, number as u64).bytes().to_vec()).collect()
}

/// The least, usual and greatest length of the nonce.
pub(crate) fn nonce_bytes(mode: Mode) -> [usize; 3] {
    let Initial::Nonce { usual, most, .. } = mode.entry().initial else { panic!("{mode} has no nonce") };
    [mode.nonce_bytes_min(&Options::default()), usual, most]
}

/// A plan along the grain, a plan across it, and the free choice of this CPU, each under its cap.
pub(crate) fn few_caps() -> impl Iterator<Item = (&'static str, Options)> {
    let caps = known_caps(["portable", "avx2", "avx2-vaes", "avx512-aes", "neon-aes", ALL_CAP]);
    caps.into_iter().map(|cap| (cap, Options { short_nonces: true, ..capped(cap, 1) }))
}
