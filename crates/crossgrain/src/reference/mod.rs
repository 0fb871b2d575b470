//! The slow, obvious ciphers and modes: the oracle that judges every variant.
//!
//! Written to be compared with the standards line by line, and for nothing else. They index
//! tables with secret bytes and are slow: never encrypt with them.

pub mod aes;
pub mod modes;
pub mod serpent;

use crate::block::{Family, Key};

/// A keyed block cipher.
pub trait BlockCipher {
    /// Enciphers one block.
    ///
    /// # Panics
    /// If `block` is no block of the cipher.
    fn encrypt(&self, block: &mut [u8]);

    /// Deciphers one block.
    ///
    /// # Panics
    /// If `block` is no block of the cipher.
    fn decrypt(&self, block: &mut [u8]);
}

/// The key's cipher.
pub fn cipher(key: &Key) -> Box<dyn BlockCipher> {
    match key.cipher().family() {
        Family::Aes => Box::new(aes::Aes::new(key.bytes())),
        Family::Serpent => Box::new(serpent::Serpent::new(key.bytes())),
    }
}
