//! Key search: tries many keys on data whose plaintext is known, at least in part.
//!
//! Its purpose is to recover a key or passphrase of which the owner has lost a part. The right key is
//! recognised by a block known before and after the cipher ([`BlockSearch`], with fast kernels), or by a
//! slower [`Test`]. [`pairs`] finds these blocks in data of most modes.
//!
//! Candidates of a [`Space`] are numbered, not stored, and a [`Part`] is a range of numbers. Numbers are
//! exact at any size. [`Spaces`] are several of them in sequence. Candidates may also be the [`Words`] of a list,
//! changed by [`Rule`]s and extended by an [`Affix`]. A [`Kdf`] derives keys from candidates. [`mod@format`] reads
//! the headers of encrypted files.

#![deny(unsafe_code)]

mod affix;
mod batch;
mod block;
mod changes;
mod components;
#[cfg(feature = "compressed")]
mod compressed;
mod counted;
mod derivation;
mod device;
mod error;
pub mod format;
mod hash;
mod hex;
mod job;
mod kdf;
mod known;
mod lanes;
mod listed;
mod mask;
mod mask_file;
mod one_by_one;
mod part;
mod rule;
mod shard;
mod space;
mod spaces;
mod targets;
mod test;
mod wide;
mod word_device;
mod words;

pub use affix::{Affix, Side};
pub use block::{Bind, BlockSearch, Inner, Kernel, Pair};
pub use changes::Changes;
#[cfg(feature = "compressed")]
pub use compressed::Decompressed;
pub use counted::Counted;
pub use derivation::{Derivation, Derive};
pub use device::{Device, Failure, KeyList, Table};
pub use error::Error;
pub use hash::Hash;
pub use job::{Hit, Known, Search, Test, Watch};
pub use kdf::Kdf;
#[cfg(feature = "wide")]
pub use known::wide_pairs;
pub use known::{BlockMode, Data, pairs};
pub use listed::WordSearch;
pub use mask::{OWN_SETS, Sets, key_mask};
pub use mask_file::masks;
pub use num_bigint::BigUint;
pub use part::{Part, Shard};
pub use rule::{Rule, Unknown};
pub use shard::SpaceSearch;
pub use space::Space;
pub use spaces::{InSpace, Spaces};
pub use targets::Target;
pub use test::{File, Look, Plausible, Tagged, XtsSector};
pub use wide::WidePair;
pub use word_device::WordDevice;
pub use words::{Chunk, Form, InChunk, Refusal, Refused, WORD_BYTES_MAX, Words};
