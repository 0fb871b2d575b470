//! The standard traits of Rust's ciphers (crates `cipher` 0.5 and what builds on it) for the engine.
//!
//! [`Aes128`] and its like are block ciphers that any mode crate takes, [`Aes128Ctr`] and its like stream
//! ciphers, [`Aes128Eax`] and [`Aes128Gcm`] and their like authenticated ones (crate `aead` 0.6). A type holds
//! programs bound to its key. Their plans are chosen at the first use of a cipher and remembered, so a further
//! key costs its expansion and little else.
//!
//! A block cipher offers mode crates batches of [`BatchOfBlocks`] or [`BatchOfTile`], whichever fits
//! its plan, and takes what is left over in one call. Slices of blocks go through without batches.
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

use crate::block::Cipher;
use crate::mode::{Eax, Gcm, Options};
use crate::word::Features;

/// A cipher of the engine as a type: what tells `Aes128` from `Aes256`.
pub trait Kind: sealed::Sealed + 'static {
    /// The cipher.
    const CIPHER: Cipher;
    /// Its name as a type.
    const NAME: &'static str;
    /// Bytes in a key, as a type.
    type KeySize: ArraySize;
}

mod sealed {
    pub trait Sealed {}
}

/// A kind for each cipher, and the types that users name.
macro_rules! kinds {
    ($(
        $(#[cfg($feature:meta)])?
        $name:ident, $stream:ident, $eax:ident, $gcm:ident, $key_size:ident, $text:literal;
    )*) => {
        /// One uninhabited type for each cipher, to choose it by.
        pub mod kind {$(
            #[doc = $text]
            $(#[cfg($feature)])?
            #[derive(Debug)]
            pub enum $name {}
        )*}
        $(
            $(#[cfg($feature)])?
            impl sealed::Sealed for kind::$name {}

            $(#[cfg($feature)])?
            impl Kind for kind::$name {
                const CIPHER: Cipher = Cipher::$name;
                const NAME: &'static str = stringify!($name);
                type KeySize = $key_size;
            }

            #[doc = concat!($text, ", as a block cipher.")]
            $(#[cfg($feature)])?
            pub type $name = BlockCipher<kind::$name>;

            #[doc = concat!($text, ", in counter mode with a 128-bit big-endian counter.")]
            $(#[cfg($feature)])?
            pub type $stream = CtrStream<kind::$name>;

            #[doc = concat!($text, ", in EAX mode.")]
            $(#[cfg($feature)])?
            pub type $eax = AeadCipher<kind::$name, Eax>;

            #[doc = concat!($text, ", in Galois/Counter mode.")]
            $(#[cfg($feature)])?
            pub type $gcm = AeadCipher<kind::$name, Gcm>;
        )*
    };
}

kinds! {
    Aes128, Aes128Ctr, Aes128Eax, Aes128Gcm, U16, "AES with a 128-bit key";
    Aes192, Aes192Ctr, Aes192Eax, Aes192Gcm, U24, "AES with a 192-bit key";
    Aes256, Aes256Ctr, Aes256Eax, Aes256Gcm, U32, "AES with a 256-bit key";
    #[cfg(feature = "serpent")]
    Serpent128, Serpent128Ctr, Serpent128Eax, Serpent128Gcm, U16, "Serpent with a 128-bit key";
    #[cfg(feature = "serpent")]
    Serpent192, Serpent192Ctr, Serpent192Eax, Serpent192Gcm, U24, "Serpent with a 192-bit key";
    #[cfg(feature = "serpent")]
    Serpent256, Serpent256Ctr, Serpent256Eax, Serpent256Gcm, U32, "Serpent with a 256-bit key";
    #[cfg(feature = "sm4")]
    Sm4, Sm4Ctr, Sm4Eax, Sm4Gcm, U16, "SM4";
    #[cfg(feature = "camellia")]
    Camellia128, Camellia128Ctr, Camellia128Eax, Camellia128Gcm, U16, "Camellia with a 128-bit key";
    #[cfg(feature = "camellia")]
    Camellia192, Camellia192Ctr, Camellia192Eax, Camellia192Gcm, U24, "Camellia with a 192-bit key";
    #[cfg(feature = "camellia")]
    Camellia256, Camellia256Ctr, Camellia256Eax, Camellia256Gcm, U32, "Camellia with a 256-bit key";
    #[cfg(feature = "aria")]
    Aria128, Aria128Ctr, Aria128Eax, Aria128Gcm, U16, "ARIA with a 128-bit key";
    #[cfg(feature = "aria")]
    Aria192, Aria192Ctr, Aria192Eax, Aria192Gcm, U24, "ARIA with a 192-bit key";
    #[cfg(feature = "aria")]
    Aria256, Aria256Ctr, Aria256Eax, Aria256Gcm, U32, "ARIA with a 256-bit key";
    #[cfg(feature = "kuznyechik")]
    Kuznyechik, KuznyechikCtr, KuznyechikEax, KuznyechikGcm, U32, "Kuznyechik";
}

/// How `new` runs: on the calling thread, by constant-time variants, with the instructions that the CPU has
/// and `CROSSGRAIN_ISA` allows. Since `new` cannot fail, a cap that cannot be read counts as `portable`.
pub(crate) fn default_options() -> Options {
    static FEATURES: LazyLock<Features> =
        LazyLock::new(|| Features::from_environment().unwrap_or(Features::NONE));
    Options { threads: 1, features: Some(*FEATURES), ..Options::default() }
}

/// Why `new` does not fail.
const ALWAYS_PLANNED: &str = "the portable variants serve every job";
