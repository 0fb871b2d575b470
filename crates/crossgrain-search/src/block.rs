//! Tries keys on one block whose input to the cipher and output, or some bits of the output, are known.
//!
//! A candidate key is the XOR of two halves that share no bit: an *outer* key and an *inner* key. The inner
//! keys form a table that is prepared once. Each outer key is combined with every key of the table:
//!
//! ```text
//! for outer in outers: for inner in table: try(outer ^ inner)
//! ```
//!
//! A kernel computes everything that depends only on the inner half once per table. A plain list of keys is a
//! table with a single outer key of zeros.
//!
//! Layout: keys are stored back to back, [`Cipher::key_bytes`] each, in the byte order of [`Key::new`].
//! Invariant: a kernel may report a wrong key but never misses the right one. The reference checks every
//! reported key on all pairs before it becomes a hit.

use std::cmp::Reverse;
use std::fmt;
use std::sync::{Arc, OnceLock};

use zeroize::Zeroizing;

use super::Error;
#[cfg(feature = "wide")]
use super::wide::WidePair;
#[cfg(feature = "wide")]
use crossgrain::Features;
use crossgrain::engine::kernel::search::{Inner as Prepared, Known, SearchPart};
use crossgrain::engine::{reference, run};
use crossgrain::mode::Options;
use crossgrain::plan::{Job, JobSource, TableReuse};
#[cfg(feature = "wide")]
use crossgrain::wide::{self, Rijndael};
use crossgrain::{BLOCK_BYTES, Block, Cipher, Direction, Key};

/// A block before and after the cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The direction of the cipher from `input` to `output`.
    pub direction: Direction,
    /// The input of the cipher. All its bits are known.
    pub input: Block,
    /// The output of the cipher.
    pub output: Block,
    /// The bits of `output` that are known.
    pub mask: Block,
}

impl Pair {
    /// A pair whose output is known in full.
    pub const fn whole(direction: Direction, input: Block, output: Block) -> Self {
        Self { direction, input, output, mask: [0xff; BLOCK_BYTES] }
    }

    /// The same pair with the output that `key` gives for this input. The mask stays, so a kernel takes the
    /// same path as before.
    pub fn planted(&self, key: &Key) -> Self {
        Self { output: computed(self, key), ..*self }
    }

    /// The pair for a device. It is turned into an encryption if the output is known in full.
    pub(super) fn known(&self) -> Known {
        let known = Known::from(*self);
        known.in_direction(Direction::Encrypt).unwrap_or(known)
    }

    /// The number of known bits of the output.
    pub fn known_bits(&self) -> u32 {
        u128::from_ne_bytes(self.mask).count_ones()
    }

    /// Whether the cipher under `key` gives this output, computed by the reference.
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

/// Sorts pairs by the number of known bits, most first. Among equals, encryption comes first because it is
/// faster to try.
fn best_first(pairs: &[Pair]) -> Result<Vec<Pair>, Error> {
    let mut pairs = pairs.to_vec();
    pairs.sort_by_key(|pair| Reverse((pair.known_bits(), pair.known().direction == Direction::Encrypt)));
    match pairs.first() {
        Some(first) if first.known_bits() > 0 => Ok(pairs),
        _ => Err(Error::NothingKnown),
    }
}

/// The output of the cipher for the pair's input.
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
    /// The name of a variant, or the names of several, one for each step.
    pub name: String,
    /// Binds the kernel to a known block.
    pub bind: Arc<Bind>,
}

/// Binds a kernel to a known block, or returns the reason why the kernel cannot use it.
pub type Bind = dyn Fn(&Known) -> Result<Box<dyn SearchPart>, crossgrain::Error> + Send + Sync;

impl Kernel {
    /// The kernel of the cheapest plan, or of the plan that the options name.
    fn planned(job: Job, other: Job, options: &Options) -> Result<Self, Error> {
        let features = options.limits()?.features;
        let plan = options.for_job(job, other).plans_of(job)?.swap_remove(0);
        let name = plan.to_string();
        let bind = move |known: &Known| run::search(&plan, features, job.cipher, known);
        Ok(Self { name, bind: Arc::new(bind) })
    }
}

/// The cipher, and the blocks by which its key is recognised. The kernels try the first block.
enum Sought {
    Usual(Cipher, Vec<Pair>),
    #[cfg(feature = "wide")]
    Wide(Rijndael, Vec<WidePair>),
}

impl Sought {
    const fn key_bytes(&self) -> usize {
        match self {
            Self::Usual(cipher, _) => cipher.key_bytes(),
            #[cfg(feature = "wide")]
            Self::Wide(cipher, _) => cipher.key_bytes(),
        }
    }

    /// Whether all blocks are right under `key`, computed by the reference.
    fn holds(&self, key: &[u8]) -> bool {
        match self {
            Self::Usual(cipher, pairs) => {
                Key::new(*cipher, key).is_ok_and(|key| pairs.iter().all(|pair| pair.holds(&key)))
            }
            #[cfg(feature = "wide")]
            Self::Wide(cipher, pairs) => pairs.iter().all(|pair| pair.holds(*cipher, key)),
        }
    }

    /// The first block, with the output that `key` gives.
    fn planted(&self, key: &[u8]) -> Result<Self, Error> {
        Ok(match self {
            Self::Usual(cipher, pairs) => {
                Self::Usual(*cipher, vec![pairs[0].planted(&Key::new(*cipher, key)?)])
            }
            #[cfg(feature = "wide")]
            Self::Wide(cipher, pairs) => {
                drop(wide::Key::new(*cipher, key)?);
                Self::Wide(*cipher, vec![pairs[0].planted(*cipher, key)])
            }
        })
    }

    fn known_bits(&self) -> u32 {
        match self {
            Self::Usual(_, pairs) => pairs.iter().map(Pair::known_bits).sum(),
            #[cfg(feature = "wide")]
            Self::Wide(_, pairs) => pairs.iter().map(WidePair::known_bits).sum(),
        }
    }
}

/// Binds a kernel to the first known block.
type BindSought = dyn Fn(&Sought) -> Result<Box<dyn SearchPart>, crossgrain::Error> + Send + Sync;

/// A kernel bound to a known block.
struct Bound {
    name: String,
    bind: Arc<BindSought>,
    part: Box<dyn SearchPart>,
}

impl Bound {
    fn new(name: String, bind: Arc<BindSought>, sought: &Sought) -> Result<Self, Error> {
        let part = bind(sought)?;
        Ok(Self { name, bind, part })
    }

    fn of_kernel(kernel: Kernel, sought: &Sought) -> Result<Self, Error> {
        let Kernel { name, bind } = kernel;
        let bind = move |sought: &Sought| match sought {
            Sought::Usual(_, pairs) => bind(&Known::from(pairs[0])),
            #[cfg(feature = "wide")]
            Sought::Wide(cipher, _) => Err(crossgrain::Error::UnknownCipher(cipher.name().to_owned())),
        };
        Self::new(name, Arc::new(bind), sought)
    }
}

/// A search by one or more block pairs.
pub struct BlockSearch {
    sought: Sought,
    /// For tables that are used often, for example those of a mask.
    often: Bound,
    /// For tables that are used once, for example those of a list.
    once: Bound,
}

/// A table of inner keys, prepared for one kernel. The keys are overwritten when it is dropped.
pub struct Inner {
    keys: Zeroizing<Vec<u8>>,
    key_bytes: usize,
    /// The bits set in any of the keys. Computed only if the table is used often.
    varied: Zeroizing<Vec<u8>>,
    usage: TableReuse,
    prepared: Box<dyn Prepared>,
    /// The table for outer keys with bits in the same bytes as the inner keys, prepared on first use.
    overlapped: OnceLock<Box<dyn Prepared>>,
}

impl BlockSearch {
    /// A search for keys under which all `pairs` hold. It uses the cheapest plans for the known bits: one for
    /// tables that are used often, one for tables used once. The kernels try the pair with the most known
    /// bits.
    ///
    /// # Errors
    /// [`Error::NothingKnown`] if there is no pair, or if no output bit is known; [`Error::Block`] for an ISA
    /// cap that cannot be parsed, and for a named variant that cannot search for these keys.
    pub fn new(cipher: Cipher, pairs: &[Pair], options: &Options) -> Result<Self, Error> {
        let pairs = best_first(pairs)?;
        let job = |usage| Job {
            cipher,
            direction: pairs[0].direction,
            source: JobSource::Keys { usage, known_bits: pairs[0].known_bits() },
        };
        let planned = |usage, other| Kernel::planned(job(usage), job(other), options);
        let kernels =
            [planned(TableReuse::Often, TableReuse::Once)?, planned(TableReuse::Once, TableReuse::Often)?];
        Self::by_kernels(kernels, cipher, pairs)
    }

    /// A search for keys of a cipher with wide blocks under which all `pairs` hold, by the cheapest variant that
    /// `features` allow.
    ///
    /// # Errors
    /// [`Error::NothingKnown`] if there is no pair; [`Error::Block`] for blocks of another length.
    #[cfg(feature = "wide")]
    pub fn of_wide(cipher: Rijndael, pairs: &[WidePair], features: Features) -> Result<Self, Error> {
        let mut pairs = pairs.to_vec();
        pairs.sort_by_key(|pair| Reverse((pair.known_bits(), pair.direction == Direction::Encrypt)));
        let first = pairs.first().filter(|pair| pair.known_bits() > 0).ok_or(Error::NothingKnown)?;
        let (name, _) = wide::search(cipher, &first.clone().into(), features, None)?;
        let bind: Arc<BindSought> = Arc::new(move |sought| match sought {
            Sought::Wide(cipher, pairs) => {
                wide::search(*cipher, &pairs[0].clone().into(), features, None).map(|(_, part)| part)
            }
            Sought::Usual(cipher, _) => Err(crossgrain::Error::UnknownCipher(cipher.name().to_owned())),
        });
        let sought = Sought::Wide(cipher, pairs);
        let [often, once] = [name.clone(), name].map(|name| Bound::new(name, Arc::clone(&bind), &sought));
        let (often, once) = (often?, once?);
        Ok(Self { sought, often, once })
    }

    /// The same search with a kernel supplied by the caller.
    ///
    /// # Errors
    /// [`Error::NothingKnown`] as for [`BlockSearch::new`]; [`Error::Block`] if the kernel cannot use the
    /// known block.
    pub fn by(kernel: Kernel, cipher: Cipher, pairs: &[Pair]) -> Result<Self, Error> {
        Self::by_kernels([kernel.clone(), kernel], cipher, best_first(pairs)?)
    }

    fn by_kernels([often, once]: [Kernel; 2], cipher: Cipher, pairs: Vec<Pair>) -> Result<Self, Error> {
        let sought = Sought::Usual(cipher, pairs);
        let (often, once) = (Bound::of_kernel(often, &sought)?, Bound::of_kernel(once, &sought)?);
        Ok(Self { sought, often, once })
    }

    /// The same search with the same kernels, for the output that `key` gives.
    ///
    /// # Errors
    /// [`Error::Block`] if `key` has the wrong length for the cipher.
    pub fn planted(&self, key: &[u8]) -> Result<Self, Error> {
        let sought = self.sought.planted(key)?;
        let again = |bound: &Bound| Bound::new(bound.name.clone(), Arc::clone(&bound.bind), &sought);
        let (often, once) = (again(&self.often)?, again(&self.once)?);
        Ok(Self { sought, often, once })
    }

    /// The cipher whose keys are searched. `None` for a cipher with wide blocks.
    pub const fn cipher(&self) -> Option<Cipher> {
        match &self.sought {
            Sought::Usual(cipher, _) => Some(*cipher),
            #[cfg(feature = "wide")]
            Sought::Wide(..) => None,
        }
    }

    /// Bytes in a key.
    pub const fn key_bytes(&self) -> usize {
        self.sought.key_bytes()
    }

    /// The pairs. The kernels try the first one. None for a cipher with wide blocks.
    pub fn pairs(&self) -> &[Pair] {
        match &self.sought {
            Sought::Usual(_, pairs) => pairs,
            #[cfg(feature = "wide")]
            Sought::Wide(..) => &[],
        }
    }

    /// The known bits of all pairs.
    pub fn known_bits(&self) -> u32 {
        self.sought.known_bits()
    }

    /// The cipher and the known block that a device tries.
    ///
    /// # Errors
    /// [`Error::Device`] for a cipher with wide blocks.
    pub(super) fn for_device(&self) -> Result<(Cipher, Known), Error> {
        let known = self.cipher().zip(self.pairs().first().map(Pair::known));
        known.ok_or_else(|| Error::Device { why: "it takes ciphers with blocks of 16 bytes".to_owned() })
    }

    /// The name of the kernel that searches tables of this use.
    pub fn kernel(&self, usage: TableReuse) -> &str {
        &self.of(usage).name
    }

    const fn of(&self, usage: TableReuse) -> &Bound {
        match usage {
            TableReuse::Often => &self.often,
            TableReuse::Once => &self.once,
        }
    }

    /// Prepares a table of keys, to be used once or often.
    ///
    /// # Panics
    /// If `keys` is not a whole number of keys.
    pub fn prepare(&self, keys: &[u8], usage: TableReuse) -> Inner {
        let key_bytes = self.key_bytes();
        assert!(keys.len().is_multiple_of(key_bytes), "keys of {key_bytes} bytes");
        let prepared = self.of(usage).part.inner(keys, usage);
        let varied = varied(keys, key_bytes, usage);
        let keys = Zeroizing::new(keys.to_vec());
        Inner { keys, key_bytes, varied, usage, prepared, overlapped: OnceLock::new() }
    }

    /// Tries every outer key XOR every inner key on the calling thread. For each key under which all pairs
    /// hold, it appends the index of the outer key and that of the inner key to `found`.
    ///
    /// # Panics
    /// If `outer` is not a whole number of keys, or another search prepared `inner`.
    pub fn search(&self, outer: &[u8], inner: &Inner, found: &mut Vec<(usize, usize)>) {
        let key_bytes = self.key_bytes();
        assert!(outer.len().is_multiple_of(key_bytes), "keys of {key_bytes} bytes");
        let (mut scratch, mut maybe) = (Vec::new(), Vec::new());
        for (o, outer) in outer.chunks_exact(key_bytes).enumerate() {
            self.table(outer, inner).search(outer, &mut scratch, &mut maybe);
            maybe.retain(|&i| self.holds(&sum(outer, inner.key(i))));
            found.extend(maybe.drain(..).map(|i| (o, i)));
        }
    }

    /// The table that suits an outer key. If the outer and inner keys vary the same byte, nothing can be
    /// precomputed from the inner half.
    fn table<'a>(&self, outer: &[u8], inner: &'a Inner) -> &'a dyn Prepared {
        let overlap = |(outer, varied): (&u8, &u8)| *outer != 0 && *varied != 0;
        if inner.usage == TableReuse::Often && outer.iter().zip(&*inner.varied).any(overlap) {
            &**inner.overlapped.get_or_init(|| self.often.part.inner(&inner.keys, TableReuse::Once))
        } else {
            &*inner.prepared
        }
    }

    /// Whether all pairs hold under `key`, computed by the reference.
    pub(super) fn holds(&self, key: &[u8]) -> bool {
        self.sought.holds(key)
    }
}

/// The bits set in any of the keys, for a table that is used often. Zeros for other tables.
fn varied(keys: &[u8], key_bytes: usize, usage: TableReuse) -> Zeroizing<Vec<u8>> {
    let mut varied = Zeroizing::new(vec![0; key_bytes]);
    if usage == TableReuse::Often {
        for key in keys.chunks_exact(key_bytes) {
            varied.iter_mut().zip(key).for_each(|(varied, byte)| *varied |= byte);
        }
    }
    varied
}

impl Inner {
    /// Replaces the keys of the table and keeps its use. The memory is reused.
    ///
    /// # Panics
    /// If `keys` is not a whole number of keys.
    pub fn refill(&mut self, keys: &[u8]) {
        assert!(keys.len().is_multiple_of(self.key_bytes), "keys of {} bytes", self.key_bytes);
        if keys.len() > self.keys.capacity() {
            // A vector that grows would leave a copy of secret bytes in freed memory.
            self.keys = Zeroizing::new(keys.to_vec());
        }
        self.keys.clear();
        self.keys.extend_from_slice(keys);
        self.varied = varied(keys, self.key_bytes, self.usage);
        self.prepared.refill(keys, self.usage);
        self.overlapped = OnceLock::new();
    }

    /// The number of keys in the table.
    pub fn count(&self) -> usize {
        self.keys.len() / self.key_bytes
    }

    /// The key at an index.
    ///
    /// # Panics
    /// If `place` is not less than [`Inner::count`].
    pub fn key(&self, place: usize) -> &[u8] {
        &self.keys[place * self.key_bytes..][..self.key_bytes]
    }

    /// All keys, back to back.
    pub fn keys(&self) -> &[u8] {
        &self.keys
    }
}

/// The XOR of two keys.
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
        let [often, once] = TableReuse::ALL.map(|usage| self.kernel(usage));
        write!(f, "BlockSearch({} known bits, {often}, {once})", self.known_bits())
    }
}
