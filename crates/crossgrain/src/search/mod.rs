//! Key search: many keys against data of which the plaintext is known.
//!
//! For whoever lost a part of a key or passphrase of their own data. A right key is known by a block that is known
//! before and after the cipher ([`BlockSearch`], by fast kernels).
//!
//! Candidates are counted, not stored: those of a [`Space`] have numbers, and a [`Part`] of it is a range of
//! them, exact however many there are.

mod block;
mod error;
mod mask;
mod part;
mod space;

pub use block::{BlockSearch, Inner, KERNELS, Kernel, Pair, Tries};
pub use error::Error;
pub use mask::{OWN_SETS, Sets, key_mask};
pub use num_bigint::BigUint;
pub use part::{Part, Shard};
pub use space::Space;
