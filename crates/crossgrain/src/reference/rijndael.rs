//! Rijndael with blocks of 16, 24 and 32 bytes: AES's description on plain bytes, of blocks of any length.

use super::BlockCipher;
use crate::block::Direction;
use crate::cipher::RoundKeys;
use crate::cipher::aes::{crypt_plainly, schedule};

/// Both directions' round keys.
struct Rijndael<const BYTES: usize> {
    encrypt: RoundKeys,
    decrypt: RoundKeys,
}

/// Rijndael on blocks of this length, by the key.
///
/// # Panics
/// For other lengths than 16, 24 and 32 of either.
pub fn rijndael(block_bytes: usize, key: &[u8]) -> Box<dyn BlockCipher> {
    match block_bytes {
        16 => Box::new(Rijndael::<16>::new(key)),
        24 => Box::new(Rijndael::<24>::new(key)),
        32 => Box::new(Rijndael::<32>::new(key)),
        _ => panic!("blocks of {block_bytes} bytes"),
    }
}

impl<const BYTES: usize> Rijndael<BYTES> {
    fn new(key: &[u8]) -> Self {
        assert!(matches!(key.len(), 16 | 24 | 32), "a key of {} bytes", key.len());
        let [encrypt, decrypt] = Direction::ALL.map(|direction| schedule::<BYTES>(key, direction));
        Self { encrypt, decrypt }
    }
}

impl<const BYTES: usize> BlockCipher for Rijndael<BYTES> {
    fn encrypt(&self, block: &mut [u8]) {
        let block = <&mut [u8; BYTES]>::try_from(block).expect("a block of the cipher");
        crypt_plainly(&self.encrypt, Direction::Encrypt, block);
    }

    fn decrypt(&self, block: &mut [u8]) {
        let block = <&mut [u8; BYTES]>::try_from(block).expect("a block of the cipher");
        crypt_plainly(&self.decrypt, Direction::Decrypt, block);
    }
}
