//! Generators as types, one per cipher, as `rand_core`'s `SeedableRng` requires.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use cipher::Array;
use rand_core::SeedableRng;

use super::{Stream, StreamRng};
use crate::block::Key;
use crate::rustcrypto::{Kind, default_options};

/// A generator whose seed is a key of cipher `C`. It reads all bytes under the key in order, on the calling
/// thread.
///
/// It dereferences to [`StreamRng`].
///
/// ```
/// use crossgrain::rustcrypto::Aes128;
/// use crossgrain::stream::KeyedRng;
/// use rand_core::{Rng as _, SeedableRng as _};
///
/// let mut rng = KeyedRng::<Aes128>::seed_from_u64(42);
/// println!("{}", rng.next_u64());
/// ```
pub struct KeyedRng<C> {
    rng: StreamRng,
    cipher: PhantomData<fn() -> C>,
}

impl<C: Kind> SeedableRng for KeyedRng<C> {
    type Seed = Array<u8, C::KeySize>;

    fn from_seed(seed: Self::Seed) -> Self {
        let stream =
            Key::new(C::CIPHER, &seed).and_then(|key| Stream::with_options(&key, &default_options()));
        let stream = stream.expect("the seed is as long as a key, and the portable variants serve every job");
        Self { rng: stream.rng(), cipher: PhantomData }
    }
}

impl<C> Deref for KeyedRng<C> {
    type Target = StreamRng;

    fn deref(&self) -> &StreamRng {
        &self.rng
    }
}

impl<C> DerefMut for KeyedRng<C> {
    fn deref_mut(&mut self) -> &mut StreamRng {
        &mut self.rng
    }
}

impl<C> Clone for KeyedRng<C> {
    fn clone(&self) -> Self {
        Self { rng: self.rng.clone(), cipher: PhantomData }
    }
}

impl<C: Kind> fmt::Debug for KeyedRng<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Rng({:?})", C::NAME, self.rng)
    }
}
