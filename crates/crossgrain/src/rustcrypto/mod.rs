//! The standard traits of Rust's ciphers (crates `cipher` 0.5 and its dependents) for the engine.
//!
//! [`Aes128`] and similar types are block ciphers for any mode crate. [`Aes128Ctr`] and similar types are
//! stream ciphers. [`Aes128Eax`], [`Aes128Gcm`] and similar types are authenticated ciphers (crate `aead`
//! 0.6). A value holds programs bound to its key. Plans are chosen at the first use of a cipher and cached,
//! so each further key costs little more than its expansion.
//!
//! A block cipher offers mode crates batches of [`BatchOfBlocks`] or [`BatchOfTile`], depending on its plan,
//! and processes the remainder in one call. Slices of blocks are processed without batches.
//!
//! ```
//! use cipher::{BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipher};
//! use crossgrain::rustcrypto::{Aes128, Aes256Ctr};
//!
//! let mut blocks = [[1; 16].into(); 1000];
//! Aes128::new(&[7; 16].into()).encrypt_blocks(&mut blocks);
//!
//! let mut text = b"some secret text".to_vec();
//! Aes256Ctr::new(&[7; 32].into(), &[0; 16].into()).apply_keystream(&mut text);
//! ```

mod authenticated;
mod backend;
mod block_cipher;
mod stream;

pub use authenticated::{AeadCipher, Sealing};
pub use backend::{BatchOfBlocks, BatchOfTile};
pub use block_cipher::BlockCipher;
pub use stream::CtrStream;

use std::sync::LazyLock;

use cipher::array::ArraySize;
use cipher::consts::{U16, U24, U32};

use crate::arch::Features;
use crate::block::Cipher;
use crate::mode::{Eax, Gcm, Options};

/// A cipher at the type level: it distinguishes `Aes128` from `Aes256`.
pub trait Kind: sealed::Sealed + 'static {
    /// The cipher.
    const CIPHER: Cipher;
    /// The name of the type.
    const NAME: &'static str;
    /// Bytes in a key, as a type.
    type KeySize: ArraySize;
}

mod sealed {
    pub trait Sealed {}
}

/// The size of a key as a type.
macro_rules! key_size {
    (16) => {
        U16
    };
    (24) => {
        U24
    };
    (32) => {
        U32
    };
}

/// Defines a kind for each cipher of the registry, and the public types.
macro_rules! kinds {
    ($(
        $(#[doc = $about:literal])+
        $family:ident $family_name:literal if $of:meta, $on:ident($description:path) {$(
            $name:ident $text:literal $title:literal: $key_bytes:tt bytes, $rounds:literal rounds, $ctr:ident $eax:ident $gcm:ident;
        )+}
    )+) => {
        /// One uninhabited type for each cipher, used as a type parameter.
        pub mod kind {$($(
            #[doc = $title]
            #[cfg($of)]
            #[derive(Debug)]
            pub enum $name {}
        )+)+}
        $($(
            #[cfg($of)]
            impl sealed::Sealed for kind::$name {}

            #[cfg($of)]
            impl Kind for kind::$name {
                const CIPHER: Cipher = Cipher::$name;
                const NAME: &'static str = stringify!($name);
                type KeySize = key_size!($key_bytes);
            }

            #[doc = concat!($title, ", as a block cipher.")]
            #[cfg($of)]
            pub type $name = BlockCipher<kind::$name>;

            #[doc = concat!($title, ", in counter mode with a 128-bit big-endian counter.")]
            #[cfg($of)]
            pub type $ctr = CtrStream<kind::$name>;

            #[doc = concat!($title, ", in EAX mode.")]
            #[cfg($of)]
            pub type $eax = AeadCipher<kind::$name, Eax>;

            #[doc = concat!($title, ", in Galois/Counter mode.")]
            #[cfg($of)]
            pub type $gcm = AeadCipher<kind::$name, Gcm>;
        )+)+
    };
}

ciphers!(kinds);

/// The options of `new`: the calling thread, constant-time variants, and the instructions that the CPU has
/// and `CROSSGRAIN_ISA` allows. `new` cannot fail, so an unreadable cap counts as `portable`.
pub(crate) fn default_options() -> Options {
    static FEATURES: LazyLock<Features> =
        LazyLock::new(|| Features::from_environment().unwrap_or(Features::NONE));
    Options { threads: 1, features: Some(*FEATURES), ..Options::default() }
}

/// The reason why `new` cannot fail.
const ALWAYS_PLANNED: &str = "the portable variants serve every job";
