//! Keys for searches to find, and the known block that the reference computes for each.

use crossgrain::Block;
use crossgrain::engine::kernel::search::Known;
use crossgrain::engine::reference;
use crossgrain::{Cipher, Direction, Key};

pub(crate) const INPUT: Block = *b"sixteen bytes in";

/// A table of outer keys, and a table of inner keys that vary byte `at` and the byte after it. The outer keys
/// are zero in those bytes.
pub(crate) fn halves(cipher: Cipher, at: usize, outers: usize, keys: usize) -> (Vec<u8>, Vec<u8>) {
    let key_bytes = cipher.key_bytes();
    let varied = [at, (at + 1) % key_bytes];
    let mut outer: Vec<u8> =
        (0..(outers * key_bytes) as u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    let mut inner = vec![0; keys * key_bytes];
    outer.chunks_mut(key_bytes).for_each(|outer| varied.into_iter().for_each(|at| outer[at] = 0));
    for (number, key) in inner.chunks_mut(key_bytes).enumerate() {
        [key[varied[0]], key[varied[1]]] = [number as u8 ^ 0x5a, (number >> 8) as u8 ^ 0x17];
    }
    (outer, inner)
}

/// The XOR of an outer and an inner key.
pub(crate) fn planted(cipher: Cipher, outer: (&[u8], usize), inner: (&[u8], usize)) -> Vec<u8> {
    let [outer, inner] = [outer, inner].map(|(keys, at)| keys.chunks(cipher.key_bytes()).nth(at).unwrap());
    outer.iter().zip(inner).map(|(a, b)| a ^ b).collect()
}

/// The known output of the fixed input block under a key, with every bit known.
pub(crate) fn known(cipher: Cipher, direction: Direction, key: &[u8]) -> Known {
    let mut output = INPUT;
    let cipher = reference::cipher(&Key::new(cipher, key).unwrap());
    match direction {
        Direction::Encrypt => cipher.encrypt(&mut output),
        Direction::Decrypt => cipher.decrypt(&mut output),
    }
    Known { direction, input: INPUT, output, mask: [0xff; 16] }
}
