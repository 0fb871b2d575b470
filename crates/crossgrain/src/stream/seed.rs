//! Derives keys from seeds: hashes small, perhaps similar, numbers to words that look random.
//!
//! The result equals NumPy's `SeedSequence`, which is O'Neill's `seed_seq_fe` with 128 bits. Every word of
//! the seed is mixed into a pool of four 32-bit words, and every word of the pool into the others. The words
//! of the key are then drawn from the pool. One number therefore gives the same stream here, on the command
//! line and in Python.
//! Source: M. E. O'Neill, "Developing a seed_seq alternative" (2015); NumPy's `numpy.random.SeedSequence`.
//! All operations are modulo 2³². The hash distributes seeds and does not hide them: a key from a guessable
//! seed is not secret.

use crate::block::{Cipher, Key};

/// Words in the pool.
const POOL: usize = 4;

/// The hashes of input and of output words: initial constant, and its factor at each word.
const HASH_IN: (u32, u32) = (0x43b0_d7e5, 0x931e_8875);
const HASH_OUT: (u32, u32) = (0x8b51_f9dd, 0x58f3_8ded);

/// The factors of the two words in a mixing step.
const MIX: (u32, u32) = (0xca01_f9dd, 0x4973_f715);

/// The distance of the right shift after each multiplication.
const SHIFT: u32 = 16;

/// The seed of a stream: a number, and a path in the tree of seeds spawned from it.
///
/// Different seeds, and different children of one seed, give unrelated keys. Two streams under such keys
/// overlap with a probability of about 2⁻¹²⁸.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Seed {
    entropy: u128,
    /// The index of the child at each level below the number.
    children: Vec<u32>,
}

impl Seed {
    /// The seed of a number.
    pub const fn new(entropy: u128) -> Self {
        Self { entropy, children: Vec::new() }
    }

    /// Child number `index`. The result does not depend on other children.
    #[must_use]
    pub fn child(&self, index: u32) -> Self {
        let mut children = self.children.clone();
        children.push(index);
        Self { entropy: self.entropy, children }
    }

    /// The key for a cipher.
    #[expect(clippy::missing_panics_doc, reason = "the bytes are counted for the cipher")]
    pub fn key(&self, cipher: Cipher) -> Key {
        let mut bytes = zeroize::Zeroizing::new([0; 32]);
        let bytes = &mut bytes[..cipher.key_bytes()];
        let mut hash = Hash(HASH_OUT);
        for (word, pooled) in bytes.as_chunks_mut().0.iter_mut().zip(self.pool().into_iter().cycle()) {
            *word = hash.of(pooled).to_le_bytes();
        }
        Key::new(cipher, bytes).expect("the bytes were counted for this cipher")
    }

    fn pool(&self) -> [u32; POOL] {
        let mut words: Vec<u32> = (0..POOL).map(|i| (self.entropy >> (32 * i)) as u32).collect();
        words.extend(&self.children);
        let mut hash = Hash(HASH_IN);
        let mut pool: [u32; POOL] = std::array::from_fn(|i| hash.of(words[i]));
        for from in 0..POOL {
            for to in (0..POOL).filter(|&to| to != from) {
                pool[to] = mix(pool[to], hash.of(pool[from]));
            }
        }
        for word in &words[POOL..] {
            for pooled in &mut pool {
                *pooled = mix(*pooled, hash.of(*word));
            }
        }
        pool
    }
}

impl From<u64> for Seed {
    fn from(entropy: u64) -> Self {
        Self::new(entropy.into())
    }
}

/// A hash whose constant changes with every word.
struct Hash((u32, u32));

impl Hash {
    const fn of(&mut self, word: u32) -> u32 {
        let (constant, factor) = self.0;
        let next = constant.wrapping_mul(factor);
        self.0 = (next, factor);
        let product = (word ^ constant).wrapping_mul(next);
        product ^ product >> SHIFT
    }
}

const fn mix(x: u32, y: u32) -> u32 {
    let sum = MIX.0.wrapping_mul(x).wrapping_sub(MIX.1.wrapping_mul(y));
    sum ^ sum >> SHIFT
}
