//! Tries keys on one block known before and after the cipher.
//!
//! Keys are made of two halves that share no bit: an *inner* table, prepared once, and *outer* keys, each of which
//! is added to every key of the table. Whatever a kernel computes from the inner half alone it computes once.
//! A list of keys is an inner table under one outer key of zeros.
//!
//! Layout: keys stand one after the other, [`Cipher::key_bytes`] each, in the byte order of [`Key::new`].
//! Holds: a kernel may let a wrong key pass but no right one; every key that it lets pass is tried on all pairs by
//! the reference before it is reported.

use std::any::Any;
use std::cmp::Reverse;
use std::fmt;

use zeroize::Zeroizing;

use super::Error;
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Key};
use crate::mode::Options;
use crate::reference;
use crate::word::Features;

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

/// One way to try keys: a row of [`KERNELS`].
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Its name, `search/representation/isa`.
    pub name: &'static str,
    /// Binds it to a pair; `None` where it has no use for this cipher or pair, or its instructions may not be used.
    pub bind: fn(Cipher, &Pair, Features) -> Option<Box<dyn Tries>>,
}

/// Every kernel, the fastest first.
pub const KERNELS: &[Kernel] = &[Kernel {
    name: "search/reference",
    bind: |cipher, &pair, _| Some(Box::new(Reference { cipher, pair })),
}];

/// A kernel bound to a pair: it tries keys.
pub trait Tries: Send + Sync {
    /// What of a table of keys is computed once.
    fn prepare(&self, keys: &[u8]) -> Box<dyn Any + Send + Sync>;

    /// Adds to `found` the places of the keys that may be right: all that are, and seldom others.
    fn try_keys(&self, outer: &[u8], inner: &Inner, found: &mut Vec<(usize, usize)>);
}

/// A kernel bound to what is known.
pub struct BlockSearch {
    cipher: Cipher,
    pairs: Vec<Pair>,
    features: Features,
    kernel: Kernel,
    bound: Box<dyn Tries>,
}

/// A table of inner keys, as the kernel that prepared it wants them. The keys are wiped when it is dropped.
pub struct Inner {
    keys: Zeroizing<Vec<u8>>,
    key_bytes: usize,
    prepared: Box<dyn Any + Send + Sync>,
}

impl BlockSearch {
    /// A search for keys under which all `pairs` hold. The kernel tries the pair of which most is known.
    ///
    /// # Errors
    /// [`Error::NothingKnown`] without a pair, or if no bit of any output is known; [`Error::Block`] for an ISA cap
    /// that cannot be read.
    pub fn new(cipher: Cipher, pairs: &[Pair], options: &Options) -> Result<Self, Error> {
        Self::by(KERNELS, cipher, pairs, options)
    }

    /// The same by the first of some kernels that can be had.
    ///
    /// # Errors
    /// As [`BlockSearch::new`]; and [`Error::NoKernel`] if none can be had.
    pub fn by(kernels: &[Kernel], cipher: Cipher, pairs: &[Pair], options: &Options) -> Result<Self, Error> {
        let features = match options.features {
            Some(features) => features & Features::of_cpu(),
            None => Features::from_environment()?,
        };
        Self::bound(kernels, cipher, pairs, features)
    }

    fn bound(kernels: &[Kernel], cipher: Cipher, pairs: &[Pair], features: Features) -> Result<Self, Error> {
        let mut pairs = pairs.to_vec();
        pairs.sort_by_key(|pair| Reverse(pair.known_bits()));
        let first = pairs.first().filter(|pair| pair.known_bits() > 0).ok_or(Error::NothingKnown)?;
        let bind = |kernel: &Kernel| Some((*kernel, (kernel.bind)(cipher, first, features)?));
        let (kernel, bound) = kernels.iter().find_map(bind).ok_or(Error::NoKernel)?;
        Ok(Self { cipher, pairs, features, kernel, bound })
    }

    /// The same question by the same kernel, with the answer `key`.
    ///
    /// # Errors
    /// [`Error::Block`] if `key` is no key of the cipher.
    pub fn planted(&self, key: &[u8]) -> Result<Self, Error> {
        let key = Key::new(self.cipher, key)?;
        Self::bound(&[self.kernel], self.cipher, &[self.pairs[0].planted(&key)], self.features)
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
        self.kernel.name
    }

    /// Prepares a table of keys.
    ///
    /// # Panics
    /// If `keys` is no whole number of keys.
    pub fn prepare(&self, keys: &[u8]) -> Inner {
        let key_bytes = self.cipher.key_bytes();
        assert!(keys.len().is_multiple_of(key_bytes), "keys of {}", self.cipher);
        Inner { keys: Zeroizing::new(keys.to_vec()), key_bytes, prepared: self.bound.prepare(keys) }
    }

    /// Tries the sum of each key of `outer` with each key of `inner`, on the calling thread. Adds the places of those
    /// that hold to `found`: the number of the outer key, then that of the inner one.
    ///
    /// # Panics
    /// If `outer` is no whole number of keys, or another search prepared `inner`.
    pub fn search(&self, outer: &[u8], inner: &Inner, found: &mut Vec<(usize, usize)>) {
        let key_bytes = self.cipher.key_bytes();
        assert!(outer.len().is_multiple_of(key_bytes), "keys of {}", self.cipher);
        let mut maybe = Vec::new();
        self.bound.try_keys(outer, inner, &mut maybe);
        maybe.retain(|&(o, i)| self.holds(&sum(&outer[o * key_bytes..][..key_bytes], inner.key(i))));
        found.append(&mut maybe);
    }

    /// Whether all pairs hold under a key, by the reference.
    fn holds(&self, key: &[u8]) -> bool {
        Key::new(self.cipher, key).is_ok_and(|key| self.pairs.iter().all(|pair| pair.holds(&key)))
    }
}

impl Inner {
    /// How many keys the table has.
    pub fn count(&self) -> usize {
        self.keys.len() / self.key_bytes
    }

    /// One of its keys.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn key(&self, place: usize) -> &[u8] {
        &self.keys[place * self.key_bytes..][..self.key_bytes]
    }

    /// All its keys, one after the other.
    pub fn keys(&self) -> &[u8] {
        &self.keys
    }

    /// What the kernel prepared, if it is a `T`.
    pub fn prepared<T: 'static>(&self) -> Option<&T> {
        self.prepared.downcast_ref()
    }
}

/// The reference as a kernel: one key after the other, and slow.
struct Reference {
    cipher: Cipher,
    pair: Pair,
}

impl Tries for Reference {
    fn prepare(&self, _keys: &[u8]) -> Box<dyn Any + Send + Sync> {
        Box::new(())
    }

    fn try_keys(&self, outer: &[u8], inner: &Inner, found: &mut Vec<(usize, usize)>) {
        for (o, outer) in outer.chunks_exact(self.cipher.key_bytes()).enumerate() {
            for i in 0..inner.count() {
                let key = Key::new(self.cipher, &sum(outer, inner.key(i)));
                if key.is_ok_and(|key| self.pair.holds(&key)) {
                    found.push((o, i));
                }
            }
        }
    }
}

/// The sum of two keys.
fn sum(a: &[u8], b: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(a.iter().zip(b).map(|(a, b)| a ^ b).collect())
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inner({} keys, secret)", self.count())
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.name)
    }
}

impl fmt::Debug for BlockSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockSearch({}, {} pairs, {})", self.cipher, self.pairs.len(), self.kernel.name)
    }
}
