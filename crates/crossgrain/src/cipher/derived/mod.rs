//! Code that is generic over a cipher's description: kernels, rows, key search and GPU programs.
//!
//! The described ciphers (SM4, Camellia, ARIA, Kuznyechik) have no separate kernels. All of theirs come from
//! these files. AES uses the byte-sliced kernel too.
//!
//! * `kernels`: whole ciphers on tiles
//! * `search`: key search
//! * `rows`, `search_rows`: the variants of both
//! * `gpu`: programs for GPUs

#[cfg(feature = "device")]
pub(crate) mod gpu;
pub mod kernels;
pub(crate) mod rows;
#[cfg(feature = "search")]
pub mod search;
#[cfg(feature = "search")]
pub(crate) mod search_rows;

pub(crate) use self::kernels::PARTS;
