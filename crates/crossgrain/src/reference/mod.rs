//! The slow, obvious ciphers and modes: the oracle that judges every variant.
//!
//! Written to be compared with the standards line by line, and for nothing else. They index
//! tables with secret bytes and are slow: never encrypt with them.

pub mod aes;
pub mod modes;
