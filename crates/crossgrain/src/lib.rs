//! A bulk block-cipher engine.
//!
//! Every step of a cipher can be computed *along* the grain of the data, on whole blocks, or *across*
//! it, on one bit of many blocks at once. crossgrain holds each step in several variants and runs the
//! best composition for the CPU at hand. Every choice gives the same bytes.
//!
//! ```
//! use crossgrain::mode::Ctr;
//! use crossgrain::{Cipher, Key};
//!
//! let key = Key::new(Cipher::Aes256, &[7; 32])?;
//! let mut stream = Ctr::new(&key, &[0; 16])?;
//! let mut data = b"some secret text".to_vec();
//! stream.apply(&mut data);
//! stream.seek(0);
//! stream.apply(&mut data);
//! assert_eq!(data, b"some secret text");
//! # Ok::<(), crossgrain::Error>(())
//! ```
//!
//! The layers, each of which may name only those above it in this list (`tests/layers.rs`):
//! [`block`], `pool`, [`reference`](mod@reference), [`word`], [`circuit`], [`repr`], [`convert`], [`part`],
//! [`variant`], [`plan`], [`exec`], [`mode`], [`wide`], [`check`], [`tune`], [`wisdom`], [`device`],
//! [`rustcrypto`], [`stream`].

#![deny(unsafe_code)]
#![cfg_attr(
    not(all(feature = "search", feature = "wide")),
    allow(dead_code, unused_imports, reason = "what features leave out has friends below")
)]

/// Rust examples of the documentation are run with the doc tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/embed.md")]
    struct Embed;
    #[doc = include_str!("../../../docs/extend.md")]
    struct Extend;
}

pub mod block;
pub mod check;
pub mod circuit;
pub mod convert;
#[cfg(feature = "device")]
pub mod device;
pub mod exec;
pub mod mode;
pub mod part;
pub mod plan;
mod pool;
pub mod reference;
pub mod repr;
pub mod rustcrypto;
pub mod stream;
pub mod tune;
pub mod variant;
#[cfg(feature = "wide")]
pub mod wide;
pub mod wisdom;
#[allow(unsafe_code, reason = "registers and their memory; everything above is safe")]
pub mod word;

/// What crates of this workspace share with this one. No part of its interface: it may change at any time.
#[doc(hidden)]
pub mod internal {
    pub use crate::block::fill_random;
    pub use crate::pool::{ready, threads};
    pub use crate::word::{wipe, wipe_stack};
}

pub use block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
pub use word::{Buffers, Features};
