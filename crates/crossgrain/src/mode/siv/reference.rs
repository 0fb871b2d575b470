//! SIV (RFC 5297) over the reference ciphers.

use crate::block::{Block, Direction};
use crate::cipher::reference::{BlockCipher, add, double};
use crate::mode::cmac::reference::cmac;
use crate::mode::ctr::reference::ctr;

/// Encrypts or decrypts with SIV in place and returns the tag. Decryption takes the received tag as its
/// counter block, even if the tag is wrong.
pub fn siv(
    (mac, counter): (&dyn BlockCipher, &dyn BlockCipher),
    direction: Direction,
    strings: &[&[u8]],
    given: Block,
    data: &mut [u8],
) -> Block {
    if direction == Direction::Decrypt {
        ctr(counter, cleared(given), data);
    }
    let tag = s2v(mac, strings, data);
    if direction == Direction::Encrypt {
        ctr(counter, cleared(tag), data);
    }
    tag
}

/// S2V of `strings` and the plaintext (§2.4).
fn s2v(mac: &dyn BlockCipher, strings: &[&[u8]], plaintext: &[u8]) -> Block {
    let mut sum = cmac(mac, &[0; 16]);
    for string in strings {
        sum = double(sum);
        add(&mut sum, &cmac(mac, string));
    }
    let mut last = plaintext.to_vec();
    if let Some(at) = plaintext.len().checked_sub(16) {
        add(&mut last[at..], &sum);
    } else {
        last.push(0x80);
        last.resize(16, 0);
        add(&mut last, &double(sum));
    }
    cmac(mac, &last)
}

/// A tag with the top bit of each of its last two 32-bit words cleared.
fn cleared(mut tag: Block) -> Block {
    tag[8] &= 0x7f;
    tag[12] &= 0x7f;
    tag
}
