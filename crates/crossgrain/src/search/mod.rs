//! Key search: many keys against data of which the plaintext is known.
//!
//! For whoever lost a part of a key or passphrase of their own data. A right key is known by a block that is known
//! before and after the cipher ([`BlockSearch`], by fast kernels).

mod block;
mod error;

pub use block::{BlockSearch, Inner, KERNELS, Kernel, Pair, Tries};
pub use error::Error;
