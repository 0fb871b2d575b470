//! Kernels, rows, key search and GPU programs that are derived from the description of a cipher.
//!
//! A described cipher (SM4, Camellia, ARIA, Kuznyechik) has no kernel of its own. These files are generic
//! over its description. AES uses the byte-sliced kernel too.
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
