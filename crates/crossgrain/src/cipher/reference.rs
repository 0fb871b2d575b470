//! Slow, simple ciphers, which tests compare every variant with.
//!
//! A cipher is its description run on plain bytes and words. The slow form of a mode is the file `reference`
//! of its folder, written so that it can be compared with its standard line by line. Kernels run the same generic rounds and key schedules on other
//! types, so published vectors test both. These functions index tables with secret bytes and are slow: never
//! encrypt with them.

use crate::block::{Block, Direction, Key};
use crate::cipher::{Entry, Keys};

/// A keyed block cipher.
pub trait BlockCipher {
    /// Encrypts one block.
    ///
    /// # Panics
    /// If the length of `block` is not the cipher's block length.
    fn encrypt(&self, block: &mut [u8]);

    /// Decrypts one block.
    ///
    /// # Panics
    /// If the length of `block` is not the cipher's block length.
    fn decrypt(&self, block: &mut [u8]);
}

/// The key's cipher: its description with table look-ups.
pub fn cipher(key: &Key) -> Box<dyn BlockCipher> {
    let entry = Entry::of(key.cipher().family());
    Box::new(Described { entry, keys: entry.expand_by_gates(key) })
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

/// The encryption of a block.
pub(crate) fn encrypted(cipher: &dyn BlockCipher, mut block: Block) -> Block {
    cipher.encrypt(&mut block);
    block
}

/// Doubles a block, whose first bit is the coefficient of x¹²⁷ (SP 800-38B §6.1).
pub(crate) fn double(block: Block) -> Block {
    let value = u128::from_be_bytes(block);
    ((value << 1) ^ if value >> 127 == 1 { 0x87 } else { 0 }).to_be_bytes()
}

/// XORs `bytes` into `to`, up to the length of the shorter one.
pub(crate) fn add(to: &mut [u8], bytes: &[u8]) {
    for (to, byte) in to.iter_mut().zip(bytes) {
        *to ^= byte;
    }
}
