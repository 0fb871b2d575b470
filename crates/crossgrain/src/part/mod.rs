//! The steps of the ciphers, one file a representation.

pub mod aes;
