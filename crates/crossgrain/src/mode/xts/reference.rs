//! XTS of IEEE 1619-2007 (and SP 800-38E) over the reference ciphers, one block at a time.

use crate::block::{Block, Direction};
use crate::cipher::reference::{BlockCipher, add, encrypted};

/// One sector (data unit) of at least one block, in place (IEEE 1619 §5.3 and 5.4).
///
/// # Panics
/// If the sector is shorter than a block.
pub fn xts(
    data_cipher: &dyn BlockCipher,
    tweak_cipher: &dyn BlockCipher,
    direction: Direction,
    sector: u128,
    data: &mut [u8],
) {
    assert!(data.len() >= 16);
    let mut tweak = encrypted(tweak_cipher, sector.to_le_bytes());
    let (whole, part) = (data.len() / 16, data.len() % 16);
    // With ciphertext stealing the last two blocks are processed differently.
    let plain = if part == 0 { whole } else { whole - 1 };
    for block in data[..16 * plain].chunks_mut(16) {
        xts_block(data_cipher, direction, tweak, block);
        tweak = times_x(tweak);
    }
    if part == 0 {
        return;
    }
    let (first, second) = match direction {
        Direction::Encrypt => (tweak, times_x(tweak)),
        Direction::Decrypt => (times_x(tweak), tweak),
    };
    let (block, tail) = data[16 * plain..].split_at_mut(16);
    xts_block(data_cipher, direction, first, block);
    // Ciphertext stealing: the tail is exchanged with the first bytes of the block.
    tail.swap_with_slice(&mut block[..part]);
    xts_block(data_cipher, direction, second, block);
}

fn xts_block(cipher: &dyn BlockCipher, direction: Direction, tweak: Block, block: &mut [u8]) {
    add(block, &tweak);
    match direction {
        Direction::Encrypt => cipher.encrypt(block),
        Direction::Decrypt => cipher.decrypt(block),
    }
    add(block, &tweak);
}

/// Multiplication by x, byte by byte (IEEE 1619 §5.2).
fn times_x(tweak: Block) -> Block {
    let mut product = [0; 16];
    let mut carry = 0;
    for (to, from) in product.iter_mut().zip(tweak) {
        *to = (from << 1) | carry;
        carry = from >> 7;
    }
    if carry == 1 {
        product[0] ^= 0x87;
    }
    product
}
