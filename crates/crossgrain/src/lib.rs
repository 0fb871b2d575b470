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
//! | read and write CBC, CFB, OFB or ECB data of other programs | [`mode::Cbc`], [`mode::Cfb`], [`mode::Cfb8`], [`mode::Cfb1`], [`mode::Ofb`], [`mode::Ecb`] |
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
    not(all(feature = "own-keys", feature = "search-steps", feature = "steps", feature = "wide")),
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

/// The engine under the modes: registers, layouts, circuits, kernels, the table of variants, and programs.
///
/// Use it to add a kernel, to print a circuit for a GPU, or to run a plan without a mode. It has no promise of
/// stability: any release may change it, and `docs/api` does not list it. The other crates of the workspace use
/// it, and so do the tests.
///
/// | task | module |
/// |---|---|
/// | write a kernel for all registers | [`arch`](engine::arch) |
/// | record the gates of a function, print them | [`circuit`](engine::circuit) |
/// | convert between layouts | [`layout`](engine::layout) |
/// | describe a cipher | [`cipher`](engine::cipher) |
/// | read the table of variants | [`variant`](engine::variant) |
/// | bind a plan to a key and run it | [`kernel`](engine::kernel), [`run`](engine::run) |
/// | compare with the slow forms | [`reference`](engine::reference), [`check`](engine::check) |
/// | measure costs and whole plans | [`tune`](engine::tune) |
/// | print programs for GPUs and designs for hardware | `device` (feature `device`) |
pub mod engine {
    pub use crate::arch::{wipe, wiping_deep_stack, wiping_stack};
    pub use crate::block::fill_random;
    pub use crate::pool::{ready, threads};

    macro_rules! modules {
        ($($(#[$attribute:meta])* $name:ident)*) => {
            $($(#[$attribute])* pub mod $name {
                pub use crate::$name::*;
            })*
        };
    }

    /// The files of the modes that kernels use.
    pub mod mode {
        /// Serial modes.
        pub mod chained {
            pub use crate::mode::chained::chain;
        }
        /// Counter mode.
        pub mod ctr {
            pub use crate::mode::ctr::counter;
        }
        /// GCM.
        pub mod gcm {
            pub use crate::mode::gcm::{ghash, kernel};
        }
        /// OCB.
        pub mod ocb {
            pub use crate::mode::ocb::{kernel, mask};
        }
        /// XTS.
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
        pub use crate::mode::segmented::reference as segmented;
        pub use crate::mode::siv::reference as siv;
        pub use crate::mode::xts::reference as xts;
        /// Authenticated modes.
        pub mod aead {
            pub use crate::mode::cmac::reference::cmac;
            pub use crate::mode::eax::reference::eax;
            pub use crate::mode::gcm::reference::gcm;
        }
        /// Modes without a state.
        pub mod modes {
            pub use crate::mode::ctr::reference::ctr;
            pub use crate::mode::ecb::reference::ecb;
        }
    }

    modules! {
        /// Registers of every machine, and what runs on them.
        arch
        /// Blocks, cipher names and keys.
        block
        /// Comparison of a variant or a mode with its slow form.
        check
        /// The registry of ciphers, and the states on which a description runs.
        cipher
        /// Gates, gate graphs, synthesis and printing.
        circuit
        /// The traits of kernels.
        kernel
        /// Representations, index maps and conversions.
        layout
        /// Programs: plans that are bound to keys.
        run
        /// Escaping of external text, and numbers for people.
        text
        /// Costs, measured on this machine.
        tune
        /// The table of variants.
        variant
    }
    #[cfg(feature = "wisdom")]
    modules! {
        /// Opening of auxiliary files.
        auxiliary
    }
    #[cfg(feature = "device")]
    modules! {
        /// The text of programs for GPUs.
        device
    }
}
