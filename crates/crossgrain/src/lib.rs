//! Fast encryption of bulk data with block ciphers: AES, Serpent, SM4, Camellia, ARIA, Kuznyechik and
//! Rijndael with wide blocks.
//!
//! Each step of a cipher has several implementations: on whole blocks, on bytes, or bit-sliced. The library
//! runs the fastest combination for the CPU. All combinations produce the same bytes, and the default ones
//! are constant-time.
//!
//! ```
//! use crossgrain::mode::{Aead as _, Gcm};
//! use crossgrain::{Cipher, Key};
//!
//! let gcm = Gcm::new(&Key::generate(Cipher::Aes256)?)?;
//! let mut data = b"some secret text".to_vec();
//! let tag = gcm.seal(b"twelve bytes", b"header", &mut data)?; // never reuse a nonce with one key
//! gcm.open(b"twelve bytes", b"header", &tag, &mut data)?;
//! assert_eq!(data, b"some secret text");
//! # Ok::<(), crossgrain::Error>(())
//! ```
//!
//! Debug builds use slow 64-bit integer kernels on every machine. Set `opt-level = 3` for this package in
//! `[profile.dev.package.crossgrain]` to get the fast kernels.
//!
//! | task | type |
//! |---|---|
//! | encrypt and authenticate messages | [`mode::Gcm`], [`mode::Eax`]; [`seal_many`](mode::Aead::seal_many) for many at once |
//! | the same, if nonces can repeat | [`mode::GcmSiv`], [`mode::Siv`] |
//! | encrypt files | the crate `crossgrain-container` |
//! | encrypt a stream, from any position | [`mode::Ctr`] |
//! | encrypt many records, each under its own key | [`mode::OwnKeys`] (feature `own-keys`) |
//! | encrypt disk sectors | [`mode::Xts`] |
//! | read and write CBC, CFB, OFB or ECB data of other programs | [`mode::Cbc`], [`mode::Cfb`], [`mode::Ofb`], [`mode::Ecb`] |
//! | authenticate messages without encryption | [`mode::Cmac`] |
//! | select a mode by name at run time | [`mode::Mode`] |
//! | generate reproducible random numbers | [`stream::Stream`], [`stream::StreamRng`] |
//! | replace RustCrypto's `aes`, `ctr`, `aes-gcm` or `eax` | [`rustcrypto`] |
//! | limit threads or instructions, or force a plan | [`mode::Options`], [`plan::Plans`] |
//! | use costs measured on this machine | [`wisdom::Wisdom`] |
//! | plan computations of your own | [`plan::compose::Flow`] |
//! | use Rijndael with blocks of 24 or 32 bytes | [`wide::Stream`] (feature `wide`) |
//! | search for a lost key | the crate `crossgrain-search` |
//! | use a GPU | the crate `crossgrain-gpu` |
//!
//! Each mode has `new`, with default options, and `with_options`. `apply`, `seal` and `open` accept
//! `&mut data`, `(&input, &mut output)`, and all other types that convert into [`Buffers`]. Keys are
//! overwritten when dropped.

#![deny(unsafe_code)]
#![cfg_attr(
    not(all(feature = "own-keys", feature = "search", feature = "wide")),
    allow(dead_code, unused_imports, reason = "what features leave out has friends below")
)]
#![cfg_attr(
    any(crossgrain_integers_only, crossgrain_few_registers),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        unused_mut,
        reason = "kernels for registers have none to run on"
    )
)]

#[macro_use] // the registry of ciphers, by which `block` names them
mod cipher;

#[allow(unsafe_code, reason = "registers and their memory; everything above is safe")]
mod arch;
#[cfg(feature = "wisdom")]
mod auxiliary;
mod block;
mod cap;
mod check;
mod circuit;
#[cfg(feature = "device")]
mod device;
mod kernel;
mod layout;
mod message;
pub mod mode;
pub mod plan;
mod pool;
mod run;
#[cfg(feature = "rustcrypto")]
pub mod rustcrypto;
pub mod stream;
mod text;
mod tune;
mod variant;
#[cfg(feature = "wisdom")]
pub mod wisdom;

pub use arch::{Buffers, Features};
pub use block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
#[cfg(feature = "wide")]
pub use cipher::rijndael::stream as wide;
pub use variant::Policy;

/// Items for the other crates, the tests and the examples of this workspace. They are not part of the
/// interface and may change at any time.
#[doc(hidden)]
pub mod internal {
    pub use crate::arch::{wipe, wiping_deep_stack, wiping_stack};
    pub use crate::block::fill_random;
    pub use crate::pool::{ready, threads};

    macro_rules! modules {
        ($($name:ident)*) => {
            $(pub mod $name {
                pub use crate::$name::*;
            })*
        };
    }

    /// The files of the modes that kernels use.
    pub mod mode {
        pub mod chained {
            pub use crate::mode::chained::chain;
        }
        pub mod ctr {
            pub use crate::mode::ctr::counter;
        }
        pub mod gcm {
            pub use crate::mode::gcm::{ghash, kernel};
        }
        pub mod ocb {
            pub use crate::mode::ocb::{kernel, mask};
        }
        pub mod xts {
            pub use crate::mode::xts::tweak;
        }
    }

    /// The slow forms of ciphers and modes, with which tests compare all others.
    pub mod reference {
        pub use crate::cipher::reference::{BlockCipher, cipher};
        pub use crate::mode::ccm::reference as ccm;
        pub use crate::mode::chained::reference as chaining;
        pub use crate::mode::gcm_siv::reference as gcm_siv;
        pub use crate::mode::ocb::reference as ocb;
        pub use crate::mode::siv::reference as siv;
        pub use crate::mode::xts::reference as xts;
        pub mod aead {
            pub use crate::mode::cmac::reference::cmac;
            pub use crate::mode::eax::reference::eax;
            pub use crate::mode::gcm::reference::gcm;
        }
        pub mod modes {
            pub use crate::mode::ctr::reference::ctr;
            pub use crate::mode::ecb::reference::ecb;
        }
    }

    modules! { arch block check cipher circuit kernel layout run text tune variant }
    #[cfg(feature = "wisdom")]
    modules! { auxiliary }
    #[cfg(feature = "device")]
    modules! { device }
}
