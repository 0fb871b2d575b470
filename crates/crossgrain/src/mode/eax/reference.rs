//! EAX (Bellare, Rogaway and Wagner, "The EAX Mode of Operation", FSE 2004) over the reference ciphers, one
//! block at a time.
//!
//! The mode works in place and returns a full tag of sixteen bytes. When decrypting, the caller must compare
//! it with the received tag.

use crate::block::{Block, Direction};
use crate::cipher::reference::{BlockCipher, add};
use crate::mode::cmac::reference::cmac;
use crate::mode::ctr::reference::ctr;

/// OMAC with a prefix: CMAC of [t] and the message.
fn omac(cipher: &dyn BlockCipher, t: u8, message: &[u8]) -> Block {
    let mut prefixed = vec![0; 15];
    prefixed.push(t);
    prefixed.extend(message);
    cmac(cipher, &prefixed)
}

/// Encrypts or decrypts with EAX in place and returns the tag.
pub fn eax(
    cipher: &dyn BlockCipher,
    direction: Direction,
    nonce: &[u8],
    aad: &[u8],
    data: &mut [u8],
) -> Block {
    let counter = omac(cipher, 0, nonce);
    let mut tag = counter;
    add(&mut tag, &omac(cipher, 1, aad));
    if direction == Direction::Decrypt {
        add(&mut tag, &omac(cipher, 2, data));
    }
    ctr(cipher, counter, data);
    if direction == Direction::Encrypt {
        add(&mut tag, &omac(cipher, 2, data));
    }
    tag
}
