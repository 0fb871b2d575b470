//! CTR of SP 800-38A over the reference ciphers, one block at a time.

use crate::block::Block;
use crate::cipher::reference::BlockCipher;

/// CTR in place, with a 128-bit big-endian counter that wraps (SP 800-38A §6.5 and B.1).
pub fn ctr(cipher: &dyn BlockCipher, first: Block, data: &mut [u8]) {
    let mut counter = u128::from_be_bytes(first);
    for chunk in data.chunks_mut(16) {
        let mut keystream = counter.to_be_bytes();
        cipher.encrypt(&mut keystream);
        for (byte, key) in chunk.iter_mut().zip(keystream) {
            *byte ^= key;
        }
        counter = counter.wrapping_add(1);
    }
}
