//! Generators as types, one per cipher, as `rand_core`'s `SeedableRng` requires.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use cipher::Array;
use rand_core::SeedableRng;

use super::{Stream, StreamRng};
use crate::block::Key;
use crate::rustcrypto::{Kind, default_options, kind};

/// A generator whose seed is a key of cipher `K`. It reads all bytes under the key in order, on the calling
/// thread.
///
/// It dereferences to [`StreamRng`].
pub struct KeyedRng<K> {
    rng: StreamRng,
    kind: PhantomData<fn() -> K>,
}

/// A generator based on AES with a 128-bit key.
pub type Aes128Rng = KeyedRng<kind::Aes128>;
/// A generator based on AES with a 192-bit key.
pub type Aes192Rng = KeyedRng<kind::Aes192>;
/// A generator based on AES with a 256-bit key.
pub type Aes256Rng = KeyedRng<kind::Aes256>;
/// A generator based on Serpent with a 128-bit key.
#[cfg(feature = "serpent")]
pub type Serpent128Rng = KeyedRng<kind::Serpent128>;
/// A generator based on Serpent with a 192-bit key.
#[cfg(feature = "serpent")]
pub type Serpent192Rng = KeyedRng<kind::Serpent192>;
/// A generator based on Serpent with a 256-bit key.
#[cfg(feature = "serpent")]
pub type Serpent256Rng = KeyedRng<kind::Serpent256>;

impl<K: Kind> SeedableRng for KeyedRng<K> {
    type Seed = Array<u8, K::KeySize>;

    fn from_seed(seed: Self::Seed) -> Self {
        let stream =
            Key::new(K::CIPHER, &seed).and_then(|key| Stream::with_options(&key, &default_options()));
        let stream = stream.expect("the seed is as long as a key, and the portable variants serve every job");
        Self { rng: stream.rng(), kind: PhantomData }
    }
}

impl<K> Deref for KeyedRng<K> {
    type Target = StreamRng;

    fn deref(&self) -> &StreamRng {
        &self.rng
    }
}

impl<K> DerefMut for KeyedRng<K> {
    fn deref_mut(&mut self) -> &mut StreamRng {
        &mut self.rng
    }
}

impl<K> Clone for KeyedRng<K> {
    fn clone(&self) -> Self {
        Self { rng: self.rng.clone(), kind: PhantomData }
    }
}

impl<K: Kind> fmt::Debug for KeyedRng<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Rng({:?})", K::NAME, self.rng)
    }
}
