//! Threads: rayon's pool where one can be had; else, or without the feature `threads`, the calling thread alone.

#[cfg_attr(not(feature = "threads"), path = "alone.rs")]
mod threads;

pub(crate) use threads::together;
pub use threads::{ready, threads};
