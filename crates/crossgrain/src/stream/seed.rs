//! Keys from seeds: small numbers, alike or not, stirred into words that look like nothing in particular.
//!
//! Computes what NumPy's `SeedSequence` computes, which is O'Neill's `seed_seq_fe` of 128 bits: a pool of four 32-bit
//! words that every word of the seed and every word of the pool is mixed into, and as many words as are asked for
//! drawn from the pool. So one number is the same stream here, on the command line and in Python.
//! Source: M. E. O'Neill, "Developing a seed_seq alternative" (2015); NumPy's `numpy.random.SeedSequence`.
//! Holds: every operation is modulo 2³². It spreads seeds, it hides none: a seed that can be guessed is no secret.

use crate::block::{Cipher, Key};

/// Words in the pool.
const POOL: usize = 4;

/// The hash of what goes in, and of what comes out: first constant, and what it is multiplied by each time.
const HASH_IN: (u32, u32) = (0x43b0_d7e5, 0x931e_8875);
const HASH_OUT: (u32, u32) = (0x8b51_f9dd, 0x58f3_8ded);

/// What two words are multiplied by when they are mixed.
const MIX: (u32, u32) = (0xca01_f9dd, 0x4973_f715);

/// By how much words are shifted onto themselves.
const SHIFT: u32 = 16;

/// What a stream begins from: a number, and a place in the tree of all that was spawned from it.
///
/// Different seeds, and different children of one seed, give keys that have nothing to do with each other: streams
/// under them do not overlap but by a chance of about 2⁻¹²⁸ a pair.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Seed {
    entropy: u128,
    /// Which child at each step down from the number.
    children: Vec<u32>,
}

impl Seed {
    /// The seed of a number.
    pub const fn new(entropy: u128) -> Self {
        Self { entropy, children: Vec::new() }
    }

    /// Child number `index`: the same for the same number, whatever else was spawned.
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
