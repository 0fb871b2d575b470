//! GCM (SP 800-38D) over the reference ciphers, one block and one bit at a time.
//!
//! The mode works in place and returns a full tag of sixteen bytes. When decrypting, the caller must compare
//! it with the received tag.

use crate::block::{Block, Direction};
use crate::cipher::reference::{BlockCipher, add, encrypted};

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
