//! AES-GCM-SIV (RFC 8452) over the reference ciphers, one block and one bit at a time.

use crate::block::{Block, Cipher, Direction, Error, Key};
use crate::cipher::reference::{BlockCipher, add, encrypted};

/// Encrypts or decrypts with GCM-SIV in place and returns the tag. Decryption takes the received tag as its
/// counter block, even if the tag is wrong.
///
/// # Errors
/// As [`Key::new`] for the derived key, which is as long as the cipher's keys.
pub fn gcm_siv(
    (cipher, by): (Cipher, &dyn BlockCipher),
    direction: Direction,
    nonce: &[u8],
    aad: &[u8],
    given: Block,
    data: &mut [u8],
) -> Result<Block, Error> {
    let (hash_key, key) = derived(cipher, by, nonce);
    let by = crate::cipher::reference::cipher(&Key::new(cipher, &key)?);
    if direction == Direction::Decrypt {
        ctr(&*by, given, data);
    }
    let mut sum = [0; 16];
    let bits = |bytes: &[u8]| 8 * bytes.len() as u64;
    let lengths = [bits(aad).to_le_bytes(), bits(data).to_le_bytes()].concat();
    for block in aad.chunks(16).chain(data.chunks(16)).chain(lengths.chunks(16)) {
        add(&mut sum, block);
        sum = dot(sum, hash_key);
    }
    add(&mut sum, nonce);
    sum[15] &= 0x7f;
    let tag = encrypted(&*by, sum);
    if direction == Direction::Encrypt {
        ctr(&*by, tag, data);
    }
    Ok(tag)
}

/// The keys derived from a nonce: the hash key and the cipher's key (§4).
pub fn derived(cipher: Cipher, by: &dyn BlockCipher, nonce: &[u8]) -> (Block, Vec<u8>) {
    let half = |number: u32| {
        let mut block = [0; 16];
        block[..4].copy_from_slice(&number.to_le_bytes());
        block[4..].copy_from_slice(nonce);
        encrypted(by, block)[..8].to_vec()
    };
    let halves: Vec<u8> = (0..2 + cipher.key_bytes() as u32 / 8).flat_map(half).collect();
    let mut hash_key = [0; 16];
    hash_key.copy_from_slice(&halves[..16]);
    (hash_key, halves[16..].to_vec())
}

/// AES-CTR of §4: the first four bytes are a little-endian counter.
fn ctr(by: &dyn BlockCipher, tag: Block, data: &mut [u8]) {
    let mut counter = tag;
    counter[15] |= 0x80;
    for block in data.chunks_mut(16) {
        add(block, &encrypted(by, counter));
        let low = u32::from_le_bytes([counter[0], counter[1], counter[2], counter[3]]);
        counter[..4].copy_from_slice(&low.wrapping_add(1).to_le_bytes());
    }
}

/// The product divided by x¹²⁸, modulo x¹²⁸ + x¹²⁷ + x¹²⁶ + x¹²¹ + 1 (§3). For each bit of a factor it adds
/// and divides by x.
fn dot(a: Block, b: Block) -> Block {
    let (a, b, mut product) = (u128::from_le_bytes(a), u128::from_le_bytes(b), 0_u128);
    for bit in 0..128 {
        if a >> bit & 1 == 1 {
            product ^= b;
        }
        // Division by x: a polynomial with a constant term becomes divisible once the modulus is added.
        let is_odd = product & 1 == 1;
        product >>= 1;
        if is_odd {
            product ^= 0xe1 << 120;
        }
    }
    product.to_le_bytes()
}
