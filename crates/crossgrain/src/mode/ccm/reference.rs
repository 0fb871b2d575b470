//! CCM (SP 800-38C) over the reference ciphers, one block at a time.

use crate::block::{Block, Direction};
use crate::cipher::reference::{BlockCipher, add, encrypted};
use crate::mode::ctr::reference::ctr;

/// Encrypts or decrypts with CCM in place and returns the tag, to be truncated to `tag_bytes` bytes.
pub fn ccm(
    cipher: &dyn BlockCipher,
    direction: Direction,
    tag_bytes: usize,
    nonce: &[u8],
    aad: &[u8],
    data: &mut [u8],
) -> Block {
    // Ctr₀: flags, nonce, and a counter in the remaining bytes (A.3).
    let mut first = [0; 16];
    first[0] = (14 - nonce.len()) as u8;
    first[1..=nonce.len()].copy_from_slice(nonce);
    let counter = (u128::from_be_bytes(first) + 1).to_be_bytes();
    if direction == Direction::Decrypt {
        ctr(cipher, counter, data);
    }
    let mut tag = [0; 16];
    for block in formatted(first, tag_bytes, aad, data).chunks(16) {
        add(&mut tag, block);
        cipher.encrypt(&mut tag);
    }
    add(&mut tag, &encrypted(cipher, first));
    if direction == Direction::Encrypt {
        ctr(cipher, counter, data);
    }
    tag
}

/// The input of the MAC: B₀, the associated data with their length before them, and the plaintext (A.2).
fn formatted(first: Block, tag_bytes: usize, aad: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let mut blocks = (u128::from_be_bytes(first) | plaintext.len() as u128).to_be_bytes().to_vec();
    blocks[0] |= ((tag_bytes - 2) / 2 * 8) as u8;
    if !aad.is_empty() {
        blocks[0] |= 0x40;
        let len = aad.len() as u64;
        match len {
            0..0xff00 => blocks.extend(&len.to_be_bytes()[6..]),
            0xff00..0x1_0000_0000 => blocks.extend([&[0xff, 0xfe], &len.to_be_bytes()[4..]].concat()),
            _ => blocks.extend([&[0xff, 0xff], &len.to_be_bytes()[..]].concat()),
        }
        blocks.extend(aad);
        blocks.resize(blocks.len().next_multiple_of(16), 0);
    }
    blocks.extend(plaintext);
    blocks.resize(blocks.len().next_multiple_of(16), 0);
    blocks
}
