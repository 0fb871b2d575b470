//! Threads: rayon's pool if it can start. Otherwise, or without the feature `threads`, only the calling
//! thread.

#[cfg_attr(not(feature = "threads"), path = "alone.rs")]
mod threads;

pub(crate) use threads::together;
pub use threads::{ready, threads};
