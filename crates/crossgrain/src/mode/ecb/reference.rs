//! ECB of SP 800-38A over the reference ciphers, one block at a time.

use crate::block::Direction;
use crate::cipher::reference::BlockCipher;

/// ECB over whole blocks, in place (SP 800-38A §6.1).
///
/// # Panics
/// If `data` is not a whole number of blocks.
pub fn ecb(cipher: &dyn BlockCipher, direction: Direction, data: &mut [u8]) {
    for block in data.chunks_mut(16) {
        match direction {
            Direction::Encrypt => cipher.encrypt(block),
            Direction::Decrypt => cipher.decrypt(block),
        }
    }
}
