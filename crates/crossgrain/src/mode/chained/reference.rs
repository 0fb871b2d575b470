//! CBC, CFB and OFB of SP 800-38A over the reference ciphers, one block at a time.

use crate::block::{Block, Direction};
use crate::cipher::reference::{BlockCipher, add, encrypted};

/// CBC over whole blocks, in place (SP 800-38A §6.2).
///
/// # Panics
/// If `data` is not a whole number of blocks.
pub fn cbc(cipher: &dyn BlockCipher, direction: Direction, iv: Block, data: &mut [u8]) {
    let mut previous = iv;
    for block in data.chunks_mut(16) {
        match direction {
            Direction::Encrypt => {
                add(block, &previous);
                cipher.encrypt(block);
                previous.copy_from_slice(block);
            }
            Direction::Decrypt => {
                let mut ciphertext = [0; 16];
                ciphertext.copy_from_slice(block);
                cipher.decrypt(block);
                add(block, &previous);
                previous = ciphertext;
            }
        }
    }
}

/// CFB with feedback of whole blocks, in place; the last segment may be shorter (SP 800-38A §6.3, s = 128).
pub fn cfb(cipher: &dyn BlockCipher, direction: Direction, iv: Block, data: &mut [u8]) {
    let mut previous = iv;
    for segment in data.chunks_mut(16) {
        let keystream = encrypted(cipher, previous);
        let ciphertext = |segment: &[u8]| {
            let mut block = [0; 16];
            block[..segment.len()].copy_from_slice(segment);
            block
        };
        if direction == Direction::Decrypt {
            previous = ciphertext(segment);
        }
        add(segment, &keystream);
        if direction == Direction::Encrypt {
            previous = ciphertext(segment);
        }
    }
}

/// OFB in place, in either direction; the last segment may be shorter (SP 800-38A §6.4).
pub fn ofb(cipher: &dyn BlockCipher, iv: Block, data: &mut [u8]) {
    let mut keystream = iv;
    for segment in data.chunks_mut(16) {
        cipher.encrypt(&mut keystream);
        add(segment, &keystream);
    }
}
