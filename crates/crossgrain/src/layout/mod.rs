//! How blocks lie in memory: representations, and conversions between them.

pub mod convert;
pub mod repr;
