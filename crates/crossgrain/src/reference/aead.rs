//! CMAC (SP 800-38B), EAX (Bellare, Rogaway and Wagner, "The EAX Mode of Operation", FSE 2004) and GCM (SP
//! 800-38D) over the reference ciphers, one block and one bit at a time.
//!
//! Each mode works in place and returns a full tag of sixteen bytes. When decrypting, the caller must compare
//! it with the received tag.

use super::{BlockCipher, add, double, encrypted, modes};
use crate::block::{Block, Direction};

/// CMAC of a message (SP 800-38B §6.2).
pub fn cmac(cipher: &dyn BlockCipher, message: &[u8]) -> Block {
    let (k1, k2) = subkeys(cipher);
    let whole = message.len().saturating_sub(1) / 16 * 16;
    let mut state = [0; 16];
    for block in message[..whole].chunks(16) {
        add(&mut state, block);
        cipher.encrypt(&mut state);
    }
    let last = &message[whole..];
    add(&mut state, last);
    if last.len() == 16 {
        add(&mut state, &k1);
    } else {
        state[last.len()] ^= 0x80;
        add(&mut state, &k2);
    }
    encrypted(cipher, state)
}

/// K1 and K2 (SP 800-38B §6.1).
fn subkeys(cipher: &dyn BlockCipher) -> (Block, Block) {
    let k1 = double(encrypted(cipher, [0; 16]));
    (k1, double(k1))
}

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
    modes::ctr(cipher, counter, data);
    if direction == Direction::Encrypt {
        add(&mut tag, &omac(cipher, 2, data));
    }
    tag
}

/// Encrypts or decrypts with GCM in place and returns the tag (SP 800-38D §7.1 and 7.2).
pub fn gcm(
    cipher: &dyn BlockCipher,
    direction: Direction,
    nonce: &[u8],
    aad: &[u8],
    data: &mut [u8],
) -> Block {
    let h = encrypted(cipher, [0; 16]);
    let mut first = [0; 16];
    if nonce.len() == 12 {
        first[..12].copy_from_slice(nonce);
        first[15] = 1;
    } else {
        first = ghash(h, &[nonce], [0, nonce.len()]);
    }
    let mut tag = [0; 16];
    if direction == Direction::Decrypt {
        tag = ghash(h, &[aad, data], [aad.len(), data.len()]);
    }
    let mut counter = first;
    for block in data.chunks_mut(16) {
        counter = increment_32(counter);
        add(block, &encrypted(cipher, counter));
    }
    if direction == Direction::Encrypt {
        tag = ghash(h, &[aad, data], [aad.len(), data.len()]);
    }
    add(&mut tag, &encrypted(cipher, first));
    tag
}

/// Adds one to the last 32 bits (SP 800-38D §6.2).
fn increment_32(mut counter: Block) -> Block {
    let low = u32::from_be_bytes([counter[12], counter[13], counter[14], counter[15]]);
    counter[12..].copy_from_slice(&low.wrapping_add(1).to_be_bytes());
    counter
}

/// GHASH of strings, each padded to whole blocks, followed by their lengths in bytes (SP 800-38D §6.4).
fn ghash(h: Block, strings: &[&[u8]], len_bytes: [usize; 2]) -> Block {
    let mut sum = [0; 16];
    for block in strings.iter().flat_map(|string| string.chunks(16)) {
        add(&mut sum, block);
        sum = gf_mul(sum, h);
    }
    let [a, b] = len_bytes.map(|len| len as u128 * 8);
    add(&mut sum, &(a << 64 | b).to_be_bytes());
    gf_mul(sum, h)
}

/// The product of blocks (SP 800-38D §6.3): the first bit is the coefficient of x⁰.
fn gf_mul(a: Block, b: Block) -> Block {
    let (a, mut v, mut product) = (u128::from_be_bytes(a), u128::from_be_bytes(b), 0);
    for bit in (0..128).rev() {
        if a >> bit & 1 == 1 {
            product ^= v;
        }
        v = (v >> 1) ^ if v & 1 == 1 { 0xe1 << 120 } else { 0 };
    }
    product.to_be_bytes()
}
