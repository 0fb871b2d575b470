//! Key search: many keys against data of which the plaintext is known.
//!
//! For whoever lost a part of a key or passphrase of their own data. A right key is known by a block that is known
//! before and after the cipher ([`BlockSearch`], by fast kernels; [`pairs`] finds such blocks in data of most modes), or by
//! a slower [`Test`].
//!
//! Candidates are counted, not stored: those of a [`Space`] have numbers, and a [`Part`] of it is a range of
//! them, exact however many there are. Or they are the [`Words`] of a list, under [`Rule`]s. A [`Kdf`] makes keys of them.

#![deny(unsafe_code)]

/// Rust examples of the documentation are run with the doc tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/search.md")]
    struct Search;
}

mod batch;
mod block;
mod counted;
mod derivation;
mod deriving;
mod device;
mod error;
mod hex;
mod job;
mod kdf;
mod known;
mod listed;
mod mask;
mod one_by_one;
mod part;
mod rule;
mod sha256;
mod shard;
mod space;
mod test;
mod words;

pub use block::{Bind, BlockSearch, Inner, Kernel, Pair};
pub use counted::Counted;
pub use derivation::{Derivation, Derive};
pub use deriving::Deriving;
pub use device::{Device, Failure, Table};
pub use error::Error;
pub use job::{Hit, Known, Search, Test, Watch};
pub use kdf::{Hash, Kdf};
pub use known::{BlockMode, Data, pairs};
pub use listed::WordSearch;
pub use mask::{OWN_SETS, Sets, key_mask};
pub use num_bigint::BigUint;
pub use part::{Part, Shard};
pub use rule::Rule;
pub use shard::SpaceSearch;
pub use space::Space;
pub use test::{File, Look, Plausible, Tagged, XtsSector};
pub use words::{Chunk, Form, InChunk, Refusal, Refused, WORD_BYTES_MAX, Words};
