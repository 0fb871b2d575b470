//! The slow, obvious ciphers and modes: the oracle that judges every variant.
//!
//! A cipher is its description (`cipher`) on plain bytes and words, a mode is written to be compared with its standard line by line. Rounds and key
//! schedules are texts that kernels share, run on other values, so published vectors judge both. They index tables with secret bytes and are slow: never encrypt with them.

pub mod aead;
pub mod ccm;
pub mod chaining;
pub mod gcm_siv;
pub mod modes;
pub mod ocb;
pub mod rijndael;
pub mod siv;
pub mod xts;

use crate::block::{Block, Direction, Key};
use crate::cipher::{Entry, Keys};

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

/// The key's cipher: its description, by look-ups.
pub fn cipher(key: &Key) -> Box<dyn BlockCipher> {
    let entry = Entry::of(key.cipher().family());
    Box::new(Described { entry, keys: entry.expand(key) })
}

struct Described {
    entry: &'static Entry,
    keys: Keys,
}

impl Described {
    fn crypt(&self, direction: Direction, block: &mut [u8]) {
        let block = <&mut Block>::try_from(block).expect("a block of the cipher");
        self.entry.crypt_plainly(&self.keys, direction, block);
    }
}

impl BlockCipher for Described {
    fn encrypt(&self, block: &mut [u8]) {
        self.crypt(Direction::Encrypt, block);
    }

    fn decrypt(&self, block: &mut [u8]) {
        self.crypt(Direction::Decrypt, block);
    }
}

/// A block enciphered.
fn encrypted(cipher: &dyn BlockCipher, mut block: Block) -> Block {
    cipher.encrypt(&mut block);
    block
}

/// Twice a block: its first bit is the coefficient of x¹²⁷ (SP 800-38B §6.1).
fn double(block: Block) -> Block {
    let value = u128::from_be_bytes(block);
    ((value << 1) ^ if value >> 127 == 1 { 0x87 } else { 0 }).to_be_bytes()
}

/// Adds as many bytes as the shorter one has.
fn add(to: &mut [u8], bytes: &[u8]) {
    for (to, byte) in to.iter_mut().zip(bytes) {
        *to ^= byte;
    }
}
