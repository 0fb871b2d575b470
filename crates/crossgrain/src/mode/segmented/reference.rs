//! CFB of SP 800-38A with short segments over the reference ciphers, one segment at a time.

use crate::block::{Block, Direction};
use crate::cipher::reference::{BlockCipher, encrypted};

/// CFB with segments of `bits` bits, 1 or 8, in place (SP 800-38A §6.3). Segments of 1 bit are taken from the most
/// significant bit of each byte on.
pub fn cfb_segments(bits: usize, cipher: &dyn BlockCipher, direction: Direction, iv: Block, data: &mut [u8]) {
    let mut register = u128::from_be_bytes(iv);
    for byte in data {
        let (input, mut output) = (*byte, 0);
        for below in (0..8).step_by(bits).rev() {
            let mask = 0xff >> (8 - bits);
            let keystream = encrypted(cipher, register.to_be_bytes())[0] >> (8 - bits);
            let segment = input >> below & mask;
            let result = segment ^ keystream;
            let ciphertext = if direction == Direction::Encrypt { result } else { segment };
            register = register << bits | u128::from(ciphertext);
            output |= result << below;
        }
        *byte = output;
    }
}
