//! OCB3 (RFC 7253) over the reference ciphers, one block at a time, in the structure of the RFC's §4.

use crate::block::{Block, Direction};
use crate::cipher::reference::{BlockCipher, add, double, encrypted};

/// Encrypts or decrypts with OCB in place and returns the tag, to be truncated to `tag_bytes` bytes.
pub fn ocb(
    cipher: &dyn BlockCipher,
    direction: Direction,
    tag_bytes: usize,
    nonce: &[u8],
    aad: &[u8],
    data: &mut [u8],
) -> Block {
    let l_rest = encrypted(cipher, [0; 16]);
    let l_sum = double(l_rest);
    let mut offset = first_offset(cipher, tag_bytes, nonce);
    let mut checksum = [0; 16];
    for (i, chunk) in (1..).zip(data.chunks_mut(16)) {
        if chunk.len() == 16 {
            add(&mut offset, &step(l_sum, i));
            if direction == Direction::Encrypt {
                add(&mut checksum, chunk);
            }
            add(chunk, &offset);
            match direction {
                Direction::Encrypt => cipher.encrypt(chunk),
                Direction::Decrypt => cipher.decrypt(chunk),
            }
            add(chunk, &offset);
            if direction == Direction::Decrypt {
                add(&mut checksum, chunk);
            }
        } else {
            add(&mut offset, &l_rest);
            if direction == Direction::Encrypt {
                add(&mut checksum, &padded(chunk));
            }
            add(chunk, &encrypted(cipher, offset));
            if direction == Direction::Decrypt {
                add(&mut checksum, &padded(chunk));
            }
        }
    }
    add(&mut checksum, &offset);
    add(&mut checksum, &l_sum);
    let mut tag = encrypted(cipher, checksum);
    add(&mut tag, &hash(cipher, aad));
    tag
}

/// The offset before the first block: bits `bottom` to `bottom` + 127 of Stretch (§4.2).
fn first_offset(cipher: &dyn BlockCipher, tag_bytes: usize, nonce: &[u8]) -> Block {
    let mut block = [0; 16];
    block[16 - nonce.len()..].copy_from_slice(nonce);
    block[15 - nonce.len()] |= 1;
    block[0] |= ((tag_bytes * 8 % 128) << 1) as u8;
    let bottom = usize::from(block[15] & 63);
    block[15] &= 0xc0;
    let top = encrypted(cipher, block);
    let mut stretch = top.to_vec();
    stretch.extend((0..8).map(|i| top[i] ^ top[i + 1]));
    let bit = |i: usize| stretch[i / 8] >> (7 - i % 8) & 1;
    let mut offset = [0; 16];
    for i in 0..128 {
        offset[i / 8] |= bit(bottom + i) << (7 - i % 8);
    }
    offset
}

/// HASH (§4.1).
fn hash(cipher: &dyn BlockCipher, aad: &[u8]) -> Block {
    let l_rest = encrypted(cipher, [0; 16]);
    let (mut sum, mut offset) = ([0; 16], [0; 16]);
    for (i, chunk) in (1..).zip(aad.chunks(16)) {
        add(&mut offset, &if chunk.len() == 16 { step(double(l_rest), i) } else { l_rest });
        let mut block = padded(chunk);
        add(&mut block, &offset);
        add(&mut sum, &encrypted(cipher, block));
    }
    sum
}

/// L_i for `i`'s number of trailing zeros, computed from L_$.
fn step(l_sum: Block, i: u64) -> Block {
    (0..=i.trailing_zeros()).fold(l_sum, |l, _| double(l))
}

/// A block; a shorter string is padded with a one bit and zeros.
fn padded(bytes: &[u8]) -> Block {
    let mut block = [0; 16];
    block[..bytes.len()].copy_from_slice(bytes);
    if bytes.len() < 16 {
        block[bytes.len()] = 0x80;
    }
    block
}
