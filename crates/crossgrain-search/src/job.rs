//! A search: how keys are derived from candidates, and how the right key is recognised. Searches run in
//! *shards*.
//!
//! Each shard contains a self-test. One key of the shard is chosen ("planted"), its answer is computed by the
//! reference, and the same kernel searches for that answer. If the kernel does not find the planted key, the
//! shard fails with an error and does not count as searched. Hits are reported at once.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::components::Components;
use super::{BlockSearch, Derivation, Error, Kdf, Target};
use crossgrain::plan::TableReuse;

/// Bytes of a word list that a thread takes at a time if a key is quick to try.
const CHUNK_BYTES: usize = 1 << 20;

/// The usual bytes of a word. Lists are divided by bytes, and the candidates of one word by number.
const BYTES_PER_CANDIDATE: u128 = 8;

/// Recognises the right key where a block pair cannot express the condition. A test may be slow.
pub trait Test: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> String;

    /// The length of keys in bytes. `None` if candidates of any length are tried unchanged.
    fn key_bytes(&self) -> Option<usize>;

    /// Whether `key`, of [`Test::key_bytes`] bytes, is right.
    ///
    /// # Errors
    /// If the test cannot be carried out, for example for lack of memory. The key then counts as untried, and
    /// the search ends.
    fn holds(&self, key: &[u8]) -> Result<bool, Error>;

    /// The same test with different data, for which `key` is right.
    ///
    /// # Errors
    /// If the data cannot be computed from `key`.
    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error>;

    /// The bytes of a key that rule out most wrong keys, if these are not all. The others are derived only for keys
    /// that [`Test::may_hold`] admits.
    fn first_bytes(&self) -> Option<Range<usize>> {
        None
    }

    /// Whether a key may be right, by its [`Test::first_bytes`] alone. The other bytes are not derived yet.
    ///
    /// # Errors
    /// As [`Test::holds`].
    fn may_hold(&self, _key: &[u8]) -> Result<bool, Error> {
        Ok(true)
    }

    /// The bytes of a file that [`Test::holds`] reads, if it reads any.
    fn reads_later(&self) -> Option<Range<u64>> {
        None
    }
}

/// How the right key is recognised.
pub enum Known {
    /// By blocks known before and after the cipher.
    Blocks(BlockSearch),
    /// By a test.
    Test(Box<dyn Test>),
    /// Of several targets, each in its own way: see [`Search::several`].
    Several(Vec<Target>),
}

/// How keys are derived from candidates, and how the right one is recognised.
#[derive(Debug)]
pub struct Search {
    known: Known,
    kdf: Kdf,
    /// The derivation for devices, if they have it.
    derivation: Option<Derivation>,
    /// The derivation on the CPU's lanes, if it is faster than deriving one key after another.
    components: Option<Components>,
}

/// A candidate that is right.
#[derive(Clone, PartialEq, Eq)]
pub struct Hit {
    /// The number of the candidate.
    pub number: BigUint,
    /// The candidate.
    pub candidate: Zeroizing<Vec<u8>>,
    /// The key derived from the candidate.
    pub key: Zeroizing<Vec<u8>>,
    /// The index of the target, if the search has several; otherwise 0.
    pub target: usize,
}

/// The observer of a search. It receives the hits, counts the candidates tried, and can stop the search from
/// any thread.
pub struct Watch<'a> {
    tried: AtomicU64,
    /// Whether threads should look at `pause`.
    is_held: AtomicBool,
    is_stopped: AtomicBool,
    pause: Mutex<Pause>,
    resumed: Condvar,
    /// The number that is added to those of hits.
    first: Mutex<BigUint>,
    on_hit: &'a (dyn Fn(Hit) + Sync),
}

#[derive(Default)]
struct Pause {
    since: Option<Instant>,
    /// The duration of all pauses that have ended.
    past: Duration,
}

impl Search {
    /// A search for keys derived by `kdf`.
    ///
    /// # Errors
    /// [`Error::BadKdf`] for invalid parameters of the KDF, or for a KDF where candidates are tried
    /// unchanged; [`Error::Block`] for an ISA cap that cannot be parsed; any error of the test.
    pub fn new(known: Known, kdf: Kdf) -> Result<Self, Error> {
        let mut search = Self { known, kdf, derivation: None, components: None };
        if let (Known::Test(test), Some(key_bytes)) = (&search.known, search.key_bytes()) {
            drop(test.planted(&vec![0x5a; key_bytes])?);
        }
        match search.key_bytes() {
            Some(key_bytes) => drop(search.kdf.deriver(key_bytes)?),
            None if search.kdf != Kdf::Exact => {
                let reason = "the file says how its key is derived: leave the kdf out".to_owned();
                return Err(Error::BadKdf { reason });
            }
            None => {}
        }
        if let Some(key_bytes) = search.key_bytes() {
            search.derivation = Derivation::new(&search.kdf, key_bytes).filter(Derivation::is_for_devices);
            let first = if let Known::Test(test) = &search.known { test.first_bytes() } else { None };
            search.components = Components::new(&search.kdf, key_bytes)?.map(|all| all.only(first));
        }
        Ok(search)
    }

    /// How the right key is recognised.
    pub const fn known(&self) -> &Known {
        &self.known
    }

    /// How keys are derived.
    pub const fn kdf(&self) -> &Kdf {
        &self.kdf
    }

    /// The length of keys in bytes. `None` if candidates are tried unchanged.
    pub fn key_bytes(&self) -> Option<usize> {
        match &self.known {
            Known::Blocks(blocks) => Some(blocks.key_bytes()),
            Known::Test(test) => test.key_bytes(),
            Known::Several(targets) => targets.iter().filter_map(Target::end).max(),
        }
    }

    pub(super) fn into_known(self) -> Known {
        self.known
    }

    /// The derivation for devices. `None` if they do not have it.
    pub(super) const fn derivation(&self) -> Option<&Derivation> {
        self.derivation.as_ref()
    }

    /// The derivation on the CPU's lanes, if it is faster than deriving one key after another.
    pub(super) const fn on_lanes(&self) -> Option<&Components> {
        self.components.as_ref()
    }

    /// The name of the kernel or test that tries keys from tables of this use.
    pub fn kernel(&self, usage: TableReuse) -> String {
        self.known.kernel(usage)
    }

    /// Bytes of a word list that a thread should take at a time: fewer, the longer a candidate takes.
    pub fn chunk_bytes(&self) -> usize {
        match (&self.known, &self.kdf) {
            _ if self.on_lanes().is_some_and(Components::is_slow) => 512,
            _ if self.on_lanes().is_some() => 2048,
            (_, Kdf::Scrypt { .. } | Kdf::Argon2id { .. } | Kdf::Argon2i { .. } | Kdf::Several(_)) => 256,
            (known, _) if known.takes_candidates() => 256,
            (_, Kdf::Pbkdf2 { .. }) => 1024,
            _ if self.is_by_blocks() => CHUNK_BYTES,
            _ => 16 * 1024,
        }
    }

    /// Candidates that a thread should take at a time, if words have many.
    pub(super) fn taken_at_once(&self) -> u128 {
        self.chunk_bytes() as u128 / BYTES_PER_CANDIDATE
    }

    /// Checks that candidates of this length can be keys, or that keys are derived from them.
    ///
    /// # Errors
    /// [`Error::BadCandidate`] if not.
    pub fn takes_length(&self, len_bytes: usize) -> Result<(), Error> {
        match self.key_bytes() {
            Some(key_bytes) if self.kdf.is_padding() => {
                self.kdf.pad(&vec![0; len_bytes], &mut vec![0; key_bytes]).map_err(Error::BadCandidate)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn is_by_blocks(&self) -> bool {
        self.known.is_by_blocks()
    }
}

impl Known {
    /// The name of the kernel or test.
    fn kernel(&self, usage: TableReuse) -> String {
        match self {
            Self::Blocks(blocks) => blocks.kernel(usage).to_owned(),
            Self::Test(test) => test.name(),
            Self::Several(targets) => {
                let mut names: Vec<_> = targets.iter().map(|target| target.known().kernel(usage)).collect();
                names.dedup();
                names.join(" and ")
            }
        }
    }

    fn is_by_blocks(&self) -> bool {
        match self {
            Self::Blocks(_) => true,
            Self::Test(_) => false,
            Self::Several(targets) => targets.iter().all(|target| target.known().is_by_blocks()),
        }
    }

    /// Whether candidates are tried unchanged, on one target at least. These tests derive keys.
    fn takes_candidates(&self) -> bool {
        match self {
            Self::Blocks(_) => false,
            Self::Test(test) => test.key_bytes().is_none(),
            Self::Several(targets) => targets.iter().any(|target| target.end().is_none()),
        }
    }
}

impl<'a> Watch<'a> {
    /// An observer that calls `on_hit` for every hit, on the thread that finds it.
    pub fn new(on_hit: &'a (dyn Fn(Hit) + Sync)) -> Self {
        Self {
            tried: AtomicU64::new(0),
            is_held: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            pause: Mutex::default(),
            resumed: Condvar::new(),
            first: Mutex::default(),
            on_hit,
        }
    }

    /// The number of candidates tried so far.
    pub fn tried(&self) -> u64 {
        self.tried.load(Ordering::Relaxed)
    }

    /// Asks the search to stop soon, also if it is paused.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.resume();
    }

    /// Whether the search was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Asks all threads of the search to wait soon, until [`Watch::resume`] or [`Watch::stop`].
    pub fn pause(&self) {
        let mut pause = self.lock();
        if !self.is_stopped() {
            pause.since.get_or_insert_with(Instant::now);
            self.is_held.store(true, Ordering::Relaxed);
        }
    }

    /// Lets a paused search go on.
    pub fn resume(&self) {
        let mut pause = self.lock();
        let since = pause.since.take();
        pause.past += since.map_or(Duration::ZERO, |since| since.elapsed());
        self.is_held.store(false, Ordering::Relaxed);
        self.resumed.notify_all();
    }

    /// Whether the search is paused.
    pub fn is_paused(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    /// The duration of all pauses.
    pub fn paused(&self) -> Duration {
        let pause = self.lock();
        pause.past + pause.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Sets the number of the first candidate of the space that is searched next. It is added to the numbers of
    /// hits.
    pub fn begin_at(&self, first: BigUint) {
        *self.first.lock().unwrap_or_else(PoisonError::into_inner) = first;
    }

    /// Waits while the search is paused. Returns whether it was asked to stop.
    pub(super) fn should_stop(&self) -> bool {
        if self.is_held.load(Ordering::Relaxed) {
            let pause = self.lock();
            drop(self.resumed.wait_while(pause, |pause| pause.since.is_some()));
        }
        self.is_stopped()
    }

    fn lock(&self) -> MutexGuard<'_, Pause> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add_tried(&self, count: u64) {
        self.tried.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn hit(&self, mut hit: Hit) {
        hit.number += &*self.first.lock().unwrap_or_else(PoisonError::into_inner);
        (self.on_hit)(hit);
    }
}

/// Mixes the bits of a number. Equal inputs give equal outputs. This is the finaliser of SplitMix64 (Steele,
/// Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
pub(super) const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocks(blocks) => blocks.fmt(f),
            Self::Test(test) => write!(f, "Test({})", test.name()),
            Self::Several(targets) => write!(f, "Several({targets:?})"),
        }
    }
}

impl fmt::Debug for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hit(number {}, secret)", self.number)
    }
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch({} tried)", self.tried())
    }
}
