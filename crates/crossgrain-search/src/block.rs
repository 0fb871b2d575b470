//! Tries keys on one block known before and after the cipher.
//!
//! Keys are made of two halves that share no bit: an *inner* table, prepared once, and *outer* keys, each of which
//! is added to every key of the table. Whatever a kernel computes from the inner half alone it computes once.
//! A list of keys is an inner table under one outer key of zeros.
//!
//! Layout: keys stand one after the other, [`Cipher::key_bytes`] each, in the byte order of [`Key::new`].
//! Holds: a kernel may let a wrong key pass but no right one; every key that it lets pass is tried on all pairs by
//! the reference before it is reported.

use std::cmp::Reverse;
use std::fmt;
use std::sync::OnceLock;

use zeroize::Zeroizing;

use super::Error;
use crossgrain::Features;
use crossgrain::internal::part::search::{Inner as Prepared, Known, SearchPart, Use};
use crossgrain::internal::reference;
use crossgrain::internal::variant::{Action, BindSearch, Variant};
use crossgrain::mode::Options;
use crossgrain::plan::{self, Costs};
use crossgrain::{BLOCK_BYTES, Block, Cipher, Direction, Key};

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

    /// The same question with another answer: the pair that `key` has for this input. As much of it is known, so that
    /// a kernel goes the same way about it.
    pub fn planted(&self, key: &Key) -> Self {
        Self { output: computed(self, key), ..*self }
    }

    /// The same for a kernel, by encryption where everything is known.
    pub(super) fn known(&self) -> Known {
        let Self { direction, input, output, mask } = *self;
        if direction == Direction::Decrypt && mask == [0xff; BLOCK_BYTES] {
            return Known { direction: Direction::Encrypt, input: output, output: input, mask };
        }
        Known { direction, input, output, mask }
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

impl From<Known> for Pair {
    fn from(Known { direction, input, output, mask }: Known) -> Self {
        Self { direction, input, output, mask }
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

/// One way to try keys.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Its name: of a variant, or `search/reference`.
    pub name: &'static str,
    /// Binds it to a known block; `None` where it has no use for this cipher or block, or its instructions may not be
    /// used.
    pub bind: BindSearch,
}

/// What is left where no variant has a use for what is known.
const REFERENCE: Kernel = Kernel {
    name: "search/reference",
    bind: |_, cipher, known| Some(Box::new(Reference { cipher, pair: Pair::from(*known) })),
};

impl Kernel {
    /// The kernel of a variant.
    fn of(variant: &'static Variant) -> Option<Self> {
        match variant.action {
            Action::Search(bind) => Some(Self { name: &variant.name, bind }),
            _ => None,
        }
    }
}

/// A kernel bound to what is known.
pub struct BlockSearch {
    cipher: Cipher,
    pairs: Vec<Pair>,
    features: Features,
    kernel: Kernel,
    bound: Box<dyn SearchPart>,
}

/// A table of inner keys, as the kernel that prepared it wants them. The keys are wiped when it is dropped.
pub struct Inner {
    keys: Zeroizing<Vec<u8>>,
    key_bytes: usize,
    /// The bits that are set in any of the keys, if it is used often.
    varied: Zeroizing<Vec<u8>>,
    usage: Use,
    prepared: Box<dyn Prepared>,
    /// The table for outer keys that have bits in the same bytes, once there is one.
    overlapped: OnceLock<Box<dyn Prepared>>,
}

impl BlockSearch {
    /// A search for keys under which all `pairs` hold, by the cheapest kernel that may be used for
    /// what is known. It tries the pair of which most is known.
    ///
    /// # Errors
    /// [`Error::NothingKnown`] without a pair, or if no bit of any output is known; [`Error::Block`] for an ISA cap
    /// that cannot be read, and for a variant named that does not search for such keys.
    pub fn new(cipher: Cipher, pairs: &[Pair], options: &Options) -> Result<Self, Error> {
        let limits = options.limits()?;
        let costs = match &options.costs {
            Some(costs) => costs.filled(cipher),
            None => Costs::estimates(cipher),
        };
        let planned = plan::searches(cipher, &limits, &costs)?.into_iter().filter_map(Kernel::of);
        let rest = limits.forced.is_empty().then_some(REFERENCE);
        let kernels: Vec<_> = planned.chain(rest).collect();
        Self::bound(&kernels, cipher, pairs, limits.features)
    }

    /// The same by the first of some kernels that can be had.
    ///
    /// # Errors
    /// As [`BlockSearch::new`]; and [`Error::NoKernel`] if none can be had.
    pub fn by(kernels: &[Kernel], cipher: Cipher, pairs: &[Pair], options: &Options) -> Result<Self, Error> {
        Self::bound(kernels, cipher, pairs, options.limits()?.features)
    }

    fn bound(kernels: &[Kernel], cipher: Cipher, pairs: &[Pair], features: Features) -> Result<Self, Error> {
        let mut pairs = pairs.to_vec();
        // Encryption is quicker to try.
        pairs.sort_by_key(|pair| Reverse((pair.known_bits(), pair.known().direction == Direction::Encrypt)));
        let first = pairs.first().filter(|pair| pair.known_bits() > 0).ok_or(Error::NothingKnown)?.known();
        let bind = |kernel: &Kernel| Some((*kernel, (kernel.bind)(features, cipher, &first)?));
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

    /// What a kernel tries.
    pub(super) fn first(&self) -> Known {
        self.pairs[0].known()
    }

    /// The name of the kernel.
    pub const fn kernel(&self) -> &'static str {
        self.kernel.name
    }

    /// Prepares a table of keys, to be used once or often.
    ///
    /// # Panics
    /// If `keys` is no whole number of keys.
    pub fn prepare(&self, keys: &[u8], usage: Use) -> Inner {
        let key_bytes = self.cipher.key_bytes();
        assert!(keys.len().is_multiple_of(key_bytes), "keys of {}", self.cipher);
        let prepared = self.bound.inner(keys, usage);
        let varied = varied(keys, key_bytes, usage);
        let keys = Zeroizing::new(keys.to_vec());
        Inner { keys, key_bytes, varied, usage, prepared, overlapped: OnceLock::new() }
    }

    /// Tries the sum of each key of `outer` with each key of `inner`, on the calling thread. Adds the places of those
    /// that hold to `found`: the number of the outer key, then that of the inner one.
    ///
    /// # Panics
    /// If `outer` is no whole number of keys, or another search prepared `inner`.
    pub fn search(&self, outer: &[u8], inner: &Inner, found: &mut Vec<(usize, usize)>) {
        let key_bytes = self.cipher.key_bytes();
        assert!(outer.len().is_multiple_of(key_bytes), "keys of {}", self.cipher);
        let (mut scratch, mut maybe) = (Vec::new(), Vec::new());
        for (o, outer) in outer.chunks_exact(key_bytes).enumerate() {
            self.table(outer, inner).search(outer, &mut scratch, &mut maybe);
            maybe.retain(|&i| self.holds(&sum(outer, inner.key(i))));
            found.extend(maybe.drain(..).map(|i| (o, i)));
        }
    }

    /// The table as an outer key needs it: where both vary a byte, nothing can have been done before they are added.
    fn table<'a>(&self, outer: &[u8], inner: &'a Inner) -> &'a dyn Prepared {
        let overlap = |(outer, varied): (&u8, &u8)| *outer != 0 && *varied != 0;
        if inner.usage == Use::Often && outer.iter().zip(&*inner.varied).any(overlap) {
            &**inner.overlapped.get_or_init(|| self.bound.inner(&inner.keys, Use::Once))
        } else {
            &*inner.prepared
        }
    }

    /// Whether all pairs hold under a key, by the reference.
    pub(super) fn holds(&self, key: &[u8]) -> bool {
        Key::new(self.cipher, key).is_ok_and(|key| self.pairs.iter().all(|pair| pair.holds(&key)))
    }
}

/// The bits that are set in any of the keys of a table to be used often.
fn varied(keys: &[u8], key_bytes: usize, usage: Use) -> Zeroizing<Vec<u8>> {
    let mut varied = Zeroizing::new(vec![0; key_bytes]);
    if usage == Use::Often {
        for key in keys.chunks_exact(key_bytes) {
            varied.iter_mut().zip(key).for_each(|(varied, byte)| *varied |= byte);
        }
    }
    varied
}

impl Inner {
    /// Puts other keys in the place of these, to be used as often, in the memory that is there.
    ///
    /// # Panics
    /// If `keys` is no whole number of keys.
    pub fn refill(&mut self, keys: &[u8]) {
        assert!(keys.len().is_multiple_of(self.key_bytes), "keys of {} bytes", self.key_bytes);
        self.keys.clear();
        self.keys.extend_from_slice(keys);
        self.varied = varied(keys, self.key_bytes, self.usage);
        self.prepared.refill(keys, self.usage);
        self.overlapped = OnceLock::new();
    }

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
}

/// The reference as a kernel: one key after the other, and slow.
#[derive(Clone, Copy)]
struct Reference {
    cipher: Cipher,
    pair: Pair,
}

impl SearchPart for Reference {
    fn lanes(&self) -> usize {
        1
    }

    fn inner(&self, keys: &[u8], _usage: Use) -> Box<dyn Prepared> {
        Box::new(OneByOne { reference: *self, keys: Zeroizing::new(keys.to_vec()) })
    }
}

/// Keys for the reference.
struct OneByOne {
    reference: Reference,
    keys: Zeroizing<Vec<u8>>,
}

impl Prepared for OneByOne {
    fn keys(&self) -> usize {
        self.keys.len() / self.reference.cipher.key_bytes()
    }

    fn refill(&mut self, keys: &[u8], _usage: Use) {
        self.keys = Zeroizing::new(keys.to_vec());
    }

    fn search(&self, outer: &[u8], _scratch: &mut Vec<u64>, found: &mut Vec<usize>) {
        let Reference { cipher, pair } = &self.reference;
        for (i, inner) in self.keys.chunks_exact(cipher.key_bytes()).enumerate() {
            if Key::new(*cipher, &sum(outer, inner)).is_ok_and(|key| pair.holds(&key)) {
                found.push(i);
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
