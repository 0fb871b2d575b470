//! A bulk block-cipher engine: AES, Serpent, SM4, Camellia, ARIA, Kuznyechik and Rijndael with wide blocks, in modes of operation.
//!
//! Every step of a cipher can be computed *along* the grain of the data, on whole blocks, or *across*
//! it, on one bit of many blocks at once. crossgrain holds each step in several variants and runs the
//! best composition for the CPU at hand. Every choice gives the same bytes.
//!
//! ```
//! use crossgrain::mode::{Aead as _, Gcm};
//! use crossgrain::{Cipher, Key};
//!
//! let gcm = Gcm::new(&Key::generate(Cipher::Aes256)?)?;
//! let mut data = b"some secret text".to_vec();
//! let tag = gcm.seal(b"twelve bytes", b"header", &mut data)?;
//! gcm.open(b"twelve bytes", b"header", &tag, &mut data)?;
//! assert_eq!(data, b"some secret text");
//! # Ok::<(), crossgrain::Error>(())
//! ```
//!
//! | task | type |
//! |---|---|
//! | encrypt messages and find changes out | [`mode::Gcm`], [`mode::Eax`]; [`seal_many`](mode::Aead::seal_many) for many at once |
//! | encrypt files | the crate `crossgrain-container` |
//! | encrypt a stream, from any byte on | [`mode::Ctr`] |
//! | encrypt many records, each under a key of its own | [`mode::OwnKeys`] (feature `own-keys`) |
//! | encrypt sectors of a disk | [`mode::Xts`] |
//! | read and write what others encrypt by CBC, CFB, OFB or ECB | [`mode::Cbc`], [`mode::Cfb`], [`mode::Ofb`], [`mode::Ecb`] |
//! | make tags for messages that stay readable | [`mode::Cmac`] |
//! | choose a mode by its name when the program runs | [`mode::Mode`] |
//! | draw random numbers, the same on every machine | [`stream::Stream`], [`stream::StreamRng`] |
//! | take the place of RustCrypto's `aes`, `ctr`, `aes-gcm` or `eax` | [`rustcrypto`] |
//! | run on fewer threads or instructions, or by a plan of your own | [`mode::Options`], [`plan::Plans`] |
//! | go by costs that were measured on this machine | [`wisdom::Wisdom`] |
//! | compose parts of your own at the least cost | [`plan::compose::Flow`] |
//! | use Rijndael with blocks of 24 or 32 bytes | [`wide::Stream`] (feature `wide`) |
//! | search for a lost key | the crate `crossgrain-search` |
//! | run on a GPU | the crate `crossgrain-gpu` |
//!
//! Every mode has `new`, by the default options, and `with_options`. `apply`, `seal` and `open` take `&mut data` or
//! `(&input, &mut output)`: whatever converts into [`Buffers`]. Keys are wiped when they are dropped.

#![deny(unsafe_code)]
#![cfg_attr(
    not(all(feature = "own-keys", feature = "search", feature = "wide")),
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

#[macro_use] // the registry of ciphers, by which `block` names them
mod cipher;

#[cfg(feature = "wisdom")]
mod auxiliary;
mod block;
mod check;
mod circuit;
mod convert;
#[cfg(feature = "device")]
mod device;
mod exec;
mod message;
pub mod mode;
mod part;
pub mod plan;
mod pool;
mod reference;
mod repr;
#[cfg(feature = "rustcrypto")]
pub mod rustcrypto;
pub mod stream;
mod text;
mod tune;
mod variant;
#[cfg(feature = "wide")]
pub mod wide;
#[cfg(feature = "wisdom")]
pub mod wisdom;
#[allow(unsafe_code, reason = "registers and their memory; everything above is safe")]
mod word;

pub use block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
pub use variant::Policy;
pub use word::{Buffers, Features};

/// What the crates, tests and examples of this workspace share with this one: no part of its interface, and it may change at any
/// time.
#[doc(hidden)]
pub mod internal {
    pub use crate::block::fill_random;
    pub use crate::pool::{ready, threads};
    pub use crate::word::{wipe, wipe_deep_stack, wipe_stack};

    macro_rules! modules {
        ($($name:ident)*) => {
            $(pub mod $name {
                pub use crate::$name::*;
            })*
        };
    }

    modules! { block check cipher circuit convert exec part reference repr text tune variant word }
    #[cfg(feature = "wisdom")]
    modules! { auxiliary }
    #[cfg(feature = "device")]
    modules! { device }
}
