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
use std::sync::{Arc, OnceLock};

use zeroize::Zeroizing;

use super::Error;
use crossgrain::internal::part::search::{Inner as Prepared, Known, SearchPart};
use crossgrain::internal::{exec, reference};
use crossgrain::mode::Options;
use crossgrain::plan::{Birth, Job, Use};
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

    /// The same for a device, by encryption where everything is known.
    pub(super) fn known(&self) -> Known {
        let known = Known::from(*self);
        known.in_direction(Direction::Encrypt).unwrap_or(known)
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

impl From<Pair> for Known {
    fn from(Pair { direction, input, output, mask }: Pair) -> Self {
        Self { direction, input, output, mask }
    }
}

/// The pairs, that of which most is known first. Encryption is quicker to try.
fn best_first(pairs: &[Pair]) -> Result<Vec<Pair>, Error> {
    let mut pairs = pairs.to_vec();
    pairs.sort_by_key(|pair| Reverse((pair.known_bits(), pair.known().direction == Direction::Encrypt)));
    match pairs.first() {
        Some(first) if first.known_bits() > 0 => Ok(pairs),
        _ => Err(Error::NothingKnown),
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

/// One way to try keys of a cipher.
#[derive(Clone)]
pub struct Kernel {
    /// Its name: of a variant, or of several, one for each step.
    pub name: String,
    /// Binds it to a known block.
    pub bind: Arc<Bind>,
}

/// Binds a kernel to a known block, or says why it has no use for that.
pub type Bind = dyn Fn(&Known) -> Result<Box<dyn SearchPart>, crossgrain::Error> + Send + Sync;

impl Kernel {
    /// The kernel of the cheapest plan, or of that which the options name.
    fn planned(job: Job, other: Job, options: &Options) -> Result<Self, Error> {
        let features = options.limits()?.features;
        let plan = options.for_job(job, other).plans_of(job)?.swap_remove(0);
        let name = plan.to_string();
        let bind = move |known: &Known| exec::search(&plan, features, job.cipher, known);
        Ok(Self { name, bind: Arc::new(bind) })
    }
}

/// A kernel bound to what is known.
struct Bound {
    kernel: Kernel,
    part: Box<dyn SearchPart>,
}

impl Bound {
    fn new(kernel: Kernel, known: &Known) -> Result<Self, Error> {
        let part = (kernel.bind)(known)?;
        Ok(Self { kernel, part })
    }
}

/// A search by what is known of a block, or of several.
pub struct BlockSearch {
    cipher: Cipher,
    pairs: Vec<Pair>,
    /// For tables used often, as a mask's.
    often: Bound,
    /// For tables used once, as a list's.
    once: Bound,
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
    /// A search for keys under which all `pairs` hold, by the cheapest plans that may be used for what is known: one for tables that
    /// are used often, one for those used once. It tries the pair of which most is known.
    ///
    /// # Errors
    /// [`Error::NothingKnown`] without a pair, or if no bit of any output is known; [`Error::Block`] for an ISA cap
    /// that cannot be read, and for a variant named that does not search for such keys.
    pub fn new(cipher: Cipher, pairs: &[Pair], options: &Options) -> Result<Self, Error> {
        let pairs = best_first(pairs)?;
        let job = |usage| Job {
            cipher,
            direction: pairs[0].direction,
            birth: Birth::Keys { usage, known_bits: pairs[0].known_bits() },
        };
        let planned = |usage, other| Kernel::planned(job(usage), job(other), options);
        let kernels = [planned(Use::Often, Use::Once)?, planned(Use::Once, Use::Often)?];
        Self::bound(kernels, cipher, pairs)
    }

    /// The same by a kernel of your own.
    ///
    /// # Errors
    /// [`Error::NothingKnown`] as [`BlockSearch::new`]; [`Error::Block`] if it has no use for what is known.
    pub fn by(kernel: Kernel, cipher: Cipher, pairs: &[Pair]) -> Result<Self, Error> {
        Self::bound([kernel.clone(), kernel], cipher, best_first(pairs)?)
    }

    fn bound([often, once]: [Kernel; 2], cipher: Cipher, pairs: Vec<Pair>) -> Result<Self, Error> {
        let known = Known::from(pairs[0]);
        Ok(Self { cipher, pairs, often: Bound::new(often, &known)?, once: Bound::new(once, &known)? })
    }

    /// The same question by the same kernels, with the answer `key`.
    ///
    /// # Errors
    /// [`Error::Block`] if `key` is no key of the cipher.
    pub fn planted(&self, key: &[u8]) -> Result<Self, Error> {
        let key = Key::new(self.cipher, key)?;
        let kernels = [&self.often, &self.once].map(|bound| bound.kernel.clone());
        Self::bound(kernels, self.cipher, vec![self.pairs[0].planted(&key)])
    }

    /// The cipher whose keys are sought.
    pub const fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// What is known, the pair that the kernel tries first.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// What a device tries.
    pub(super) fn first(&self) -> Known {
        self.pairs[0].known()
    }

    /// The name of the kernel that searches tables of a use.
    pub fn kernel(&self, usage: Use) -> &str {
        &self.of(usage).kernel.name
    }

    const fn of(&self, usage: Use) -> &Bound {
        match usage {
            Use::Often => &self.often,
            Use::Once => &self.once,
        }
    }

    /// Prepares a table of keys, to be used once or often.
    ///
    /// # Panics
    /// If `keys` is no whole number of keys.
    pub fn prepare(&self, keys: &[u8], usage: Use) -> Inner {
        let key_bytes = self.cipher.key_bytes();
        assert!(keys.len().is_multiple_of(key_bytes), "keys of {}", self.cipher);
        let prepared = self.of(usage).part.inner(keys, usage);
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
            &**inner.overlapped.get_or_init(|| self.often.part.inner(&inner.keys, Use::Once))
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
        if keys.len() > self.keys.capacity() {
            // A vector that grows leaves a copy behind.
            self.keys = Zeroizing::new(keys.to_vec());
        }
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
        let [often, once] = Use::ALL.map(|usage| self.kernel(usage));
        write!(f, "BlockSearch({}, {} pairs, {often}, {once})", self.cipher, self.pairs.len())
    }
}
