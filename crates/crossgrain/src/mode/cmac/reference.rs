//! CMAC (SP 800-38B) over the reference ciphers, one block at a time.

use crate::block::Block;
use crate::cipher::reference::{BlockCipher, add, double, encrypted};

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
