//! Tries keys on one block known before and after the cipher.
//!
//! Keys are made of two halves that share no bit: an *inner* table, prepared once, and *outer* keys, each of which
//! is added to every key of the table. Whatever a kernel computes from the inner half alone it computes once.
//! A list of keys is an inner table under one outer key of zeros.
//!
//! Layout: keys stand one after the other, [`Cipher::key_bytes`] each, in the byte order of [`Key::new`].
//! Holds: a kernel may let a wrong key pass but no right one; every key that it lets pass is tried on all pairs by
//! the reference before it is reported.

use std::fmt;

use zeroize::Zeroizing;

use super::Error;
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Key};
use crate::mode::Options;
use crate::reference;

/// One block known before and after the cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Which way the cipher goes from `input` to `output`.
    pub direction: Direction,
    /// What enters the cipher, known in full.
    pub input: Block,
    /// What leaves it.
    pub output: Block,
    /// The bits of `output` that are known.
    pub mask: Block,
}

impl Pair {
    /// A pair of which everything is known.
    pub const fn whole(direction: Direction, input: Block, output: Block) -> Self {
        Self { direction, input, output, mask: [0xff; BLOCK_BYTES] }
    }

    /// The same question with another answer: the pair that `key` has for this input.
    ///
    /// It asks for all bits, so that no other key passes for it.
    pub fn planted(&self, key: &Key) -> Self {
        Self::whole(self.direction, self.input, computed(self, key))
    }

    /// How many bits of the output are known.
    pub fn known_bits(&self) -> u32 {
        u128::from_ne_bytes(self.mask).count_ones()
    }

    /// Whether this is what the cipher does under `key`, by the reference.
    pub fn holds(&self, key: &Key) -> bool {
        let differing = u128::from_ne_bytes(computed(self, key)) ^ u128::from_ne_bytes(self.output);
        differing & u128::from_ne_bytes(self.mask) == 0
    }
}

/// What the cipher makes of the pair's input.
fn computed(pair: &Pair, key: &Key) -> Block {
    let mut block = pair.input;
    let cipher = reference::cipher(key);
    match pair.direction {
        Direction::Encrypt => cipher.encrypt(&mut block),
        Direction::Decrypt => cipher.decrypt(&mut block),
    }
    block
}

/// A kernel bound to what is known.
#[derive(Debug)]
pub struct BlockSearch {
    cipher: Cipher,
    pairs: Vec<Pair>,
}

/// The keys of an inner table, as the kernel that prepared it wants them. Wiped when dropped.
pub struct Inner {
    keys: Zeroizing<Vec<u8>>,
    count: usize,
}

impl BlockSearch {
    /// A search for keys under which all `pairs` hold. The kernel tries the one of which most is known.
    ///
    /// # Errors
    /// [`Error::NothingKnown`] without a pair, or if no bit of any output is known.
    pub fn new(cipher: Cipher, pairs: &[Pair], _options: &Options) -> Result<Self, Error> {
        let mut pairs = pairs.to_vec();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.known_bits()));
        if pairs.first().is_none_or(|pair| pair.known_bits() == 0) {
            return Err(Error::NothingKnown);
        }
        Ok(Self { cipher, pairs })
    }

    /// The cipher whose keys are sought.
    pub const fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// What is known, the pair that the kernel tries first.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The name of the kernel.
    pub const fn kernel(&self) -> &'static str {
        "search/reference"
    }

    /// Prepares a table of keys.
    ///
    /// # Panics
    /// If `keys` is no whole number of keys.
    pub fn prepare(&self, keys: &[u8]) -> Inner {
        assert!(keys.len().is_multiple_of(self.cipher.key_bytes()), "keys of {}", self.cipher);
        Inner { count: keys.len() / self.cipher.key_bytes(), keys: Zeroizing::new(keys.to_vec()) }
    }

    /// Tries the sum of each key of `outer` with each key of `inner`, on the calling thread. Adds the places of those
    /// that hold to `found`: the number of the outer key, then that of the inner one.
    ///
    /// # Panics
    /// If `outer` is no whole number of keys.
    pub fn search(&self, outer: &[u8], inner: &Inner, found: &mut Vec<(usize, usize)>) {
        let key_bytes = self.cipher.key_bytes();
        assert!(outer.len().is_multiple_of(key_bytes), "keys of {}", self.cipher);
        for (place, outer) in outer.chunks_exact(key_bytes).enumerate() {
            for (inner_place, inner) in inner.keys.chunks_exact(key_bytes).enumerate() {
                if self.holds(&sum(outer, inner)) {
                    found.push((place, inner_place));
                }
            }
        }
    }

    /// Whether all pairs hold under a key, by the reference.
    fn holds(&self, key: &[u8]) -> bool {
        Key::new(self.cipher, key).is_ok_and(|key| self.pairs.iter().all(|pair| pair.holds(&key)))
    }
}

impl Inner {
    /// How many keys the table has.
    pub const fn count(&self) -> usize {
        self.count
    }
}

/// The sum of two keys.
fn sum(a: &[u8], b: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(a.iter().zip(b).map(|(a, b)| a ^ b).collect())
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inner({} keys, secret)", self.count)
    }
}
