//! The standard traits of Rust's ciphers (crates `cipher` 0.5 and its dependents) for the engine.
//!
//! [`Aes128`] and similar types are block ciphers for any mode crate. They are also the parameter of the
//! modes: [`Ctr<Aes128>`](Ctr) is a stream cipher, and [`Gcm<Aes128>`](Gcm) an authenticated cipher (crate
//! `aead` 0.6). A value holds programs bound to its key. Plans are chosen at the first use of a cipher and
//! cached, so each further key costs little more than its expansion.
//!
//! A block cipher offers mode crates batches of [`BatchOfBlocks`] or [`BatchOfTile`], depending on its plan,
//! and processes the remainder in one call. Slices of blocks are processed without batches.
//!
//! ```
//! use cipher::{BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipher};
//! use crossgrain::rustcrypto::{Aes128, Aes256, Ctr};
//!
//! let mut blocks = [[1; 16].into(); 1000];
//! Aes128::new(&[7; 16].into()).encrypt_blocks(&mut blocks);
//!
//! let mut text = b"some secret text".to_vec();
//! Ctr::<Aes256>::new(&[7; 32].into(), &[0; 16].into()).apply_keystream(&mut text);
//! ```

mod authenticated;
mod backend;
mod block_cipher;
mod stream;

pub use authenticated::{AeadCipher, Ccm, Eax, Gcm, GcmSiv, Ocb, Sealing, Siv};
pub use backend::{BatchOfBlocks, BatchOfTile};
pub use block_cipher::BlockCipher;
pub use stream::Ctr;

use std::sync::LazyLock;

use cipher::array::ArraySize;
use cipher::consts::{U16, U24, U32, U48, U64};

use crate::arch::Features;
use crate::block::Cipher;
use crate::mode::Options;

/// A cipher as a type: [`Aes128`], [`Aes256`] and the others.
pub trait Kind: sealed::Sealed + 'static {
    /// The cipher.
    const CIPHER: Cipher;
    /// The name of the type.
    const NAME: &'static str;
    /// Bytes in a key, as a type.
    type KeySize: ArraySize;
    /// Bytes in two keys, as a type.
    type TwoKeysSize: ArraySize;
}

mod sealed {
    pub trait Sealed {}
}

/// The sizes of one and of two keys as types.
macro_rules! key_sizes {
    (16) => {
        key_sizes!(@U16, U32);
    };
    (24) => {
        key_sizes!(@U24, U48);
    };
    (32) => {
        key_sizes!(@U32, U64);
    };
    (@$one:ident, $two:ident) => {
        type KeySize = $one;
        type TwoKeysSize = $two;
    };
}

/// Defines a kind for each cipher of the registry, and the public types.
macro_rules! kinds {
    ($(
        $(#[doc = $about:literal])+
        $family:ident $family_name:literal if $of:meta, $on:ident($description:path) {$(
            $name:ident $text:literal $title:literal: $key_bytes:tt bytes, $rounds:literal rounds;
        )+}
    )+) => {
        /// One uninhabited type for each cipher, the type parameter of [`BlockCipher`].
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
                key_sizes!($key_bytes);
            }

            #[doc = concat!($title, ", as a block cipher.")]
            #[cfg($of)]
            pub type $name = BlockCipher<kind::$name>;
        )+)+
    };
}

ciphers!(kinds);

impl<K: Kind> sealed::Sealed for BlockCipher<K> {}

impl<K: Kind> Kind for BlockCipher<K> {
    const CIPHER: Cipher = K::CIPHER;
    const NAME: &'static str = K::NAME;
    type KeySize = K::KeySize;
    type TwoKeysSize = K::TwoKeysSize;
}

/// The options of `new`: the calling thread, constant-time variants, and the instructions that the CPU has
/// and `CROSSGRAIN_ISA` allows. `new` cannot fail, so an unreadable cap counts as `portable`.
pub(crate) fn default_options() -> Options {
    static FEATURES: LazyLock<Features> =
        LazyLock::new(|| Features::from_environment().unwrap_or(Features::NONE));
    Options { threads: 1, features: Some(*FEATURES), ..Options::default() }
}

/// The reason why `new` cannot fail.
const ALWAYS_PLANNED: &str = "the portable variants serve every job";
