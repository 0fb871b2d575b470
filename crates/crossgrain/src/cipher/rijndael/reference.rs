//! Rijndael with blocks of 24 and 32 bytes: AES's description on longer blocks of plain bytes.

use crate::block::Direction;
use crate::cipher::RoundKeys;
use crate::cipher::aes::description::{crypt_wide_plainly, schedule};
use crate::cipher::reference::BlockCipher;

/// The round keys of both directions.
struct Rijndael<const BYTES: usize> {
    encrypt: RoundKeys,
    decrypt: RoundKeys,
}

/// Rijndael with blocks of `block_bytes` bytes under `key`.
///
/// # Panics
/// If `block_bytes` is not 24 or 32, or the key does not have 16, 24 or 32 bytes.
pub fn rijndael(block_bytes: usize, key: &[u8]) -> Box<dyn BlockCipher> {
    match block_bytes {
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
        crypt_wide_plainly(&self.encrypt, Direction::Encrypt, block);
    }

    fn decrypt(&self, block: &mut [u8]) {
        crypt_wide_plainly(&self.decrypt, Direction::Decrypt, block);
    }
}
