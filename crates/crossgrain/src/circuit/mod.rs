//! Gates: the S-boxes and linear layers of the ciphers, written once over [`Word`](crate::word::Word).
//!
//! A byte is eight words, least significant bit first; each lane of the words is another byte.

pub mod aes_linear;
pub mod aes_sbox;
pub mod serpent_sbox;

/// One bit of many bytes in each word, least significant bit first.
pub type Bits<W> = [W; 8];
