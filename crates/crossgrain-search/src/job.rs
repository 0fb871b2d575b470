//! A search: candidates, how keys are made of them, and how the right key is known. It is done in *shards*.
//!
//! In every shard a key of that shard is planted, with the answer that it has, and searched for by the same kernel:
//! a shard in which that is not found is no shard searched, but an error. What is found is reported at once.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::{BlockSearch, Derivation, Error, Kdf};
use crossgrain::Features;
use crossgrain::plan::Use;

/// How much of a list a thread takes at a time where keys are quick to try.
const CHUNK_BYTES: usize = 1 << 20;

/// How the right key is known, where a block is not enough. It may be slow.
pub trait Test: Send + Sync {
    /// What it is called.
    fn name(&self) -> String;

    /// How long keys are, in bytes; `None` if a candidate of any length is tried as it is.
    fn key_bytes(&self) -> Option<usize>;

    /// Whether a key of that length is right.
    ///
    /// # Errors
    /// If that cannot be found out, as where there is no memory for it: such a key is not a wrong one, and the search ends.
    fn holds(&self, key: &[u8]) -> Result<bool, Error>;

    /// The same test for which `key` is right.
    ///
    /// # Errors
    /// Whatever the making of its data refuses.
    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error>;
}

/// How the right key is known.
pub enum Known {
    /// By blocks before and after the cipher.
    Blocks(BlockSearch),
    /// By a test.
    Test(Box<dyn Test>),
}

/// How keys are made of candidates, and which is right.
#[derive(Debug)]
pub struct Search {
    known: Known,
    kdf: Kdf,
    /// How keys are derived many at a time, where they are, and in which registers on the CPU.
    derivation: Option<(Derivation, Features)>,
}

/// A candidate that is right.
#[derive(Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its number.
    pub number: BigUint,
    /// The candidate.
    pub candidate: Zeroizing<Vec<u8>>,
    /// The key made of it.
    pub key: Zeroizing<Vec<u8>>,
}

/// Who watches a search: is told what is found, sees how far it is, and can stop it. From any thread.
pub struct Watch<'a> {
    tried: AtomicU64,
    is_stopped: AtomicBool,
    on_hit: &'a (dyn Fn(Hit) + Sync),
}

impl Search {
    /// A search for keys made by `kdf`.
    ///
    /// # Errors
    /// [`Error::BadKdf`] for a KDF that cannot be had, or has no use where candidates are tried as they are; [`Error::Block`] for
    /// an ISA cap that cannot be read; whatever else a test refuses.
    pub fn new(known: Known, kdf: Kdf) -> Result<Self, Error> {
        let mut search = Self { known, kdf, derivation: None };
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
        if let Some(derivation) = search.key_bytes().and_then(|bytes| Derivation::new(&search.kdf, bytes)) {
            search.derivation = Some((derivation, Features::from_environment()?));
        }
        Ok(search)
    }

    /// How the right key is known.
    pub const fn known(&self) -> &Known {
        &self.known
    }

    /// How keys are made.
    pub const fn kdf(&self) -> &Kdf {
        &self.kdf
    }

    /// How long keys are, in bytes; `None` if candidates are tried as they are.
    pub fn key_bytes(&self) -> Option<usize> {
        match &self.known {
            Known::Blocks(blocks) => Some(blocks.cipher().key_bytes()),
            Known::Test(test) => test.key_bytes(),
        }
    }

    /// How keys are derived many at a time, if they are by a device.
    pub(super) fn derivation(&self) -> Option<&Derivation> {
        self.derivation.as_ref().map(|(derivation, _)| derivation)
    }

    /// The same if they are on the CPU, and in which registers: where these are wide enough to be faster than one key after the other.
    pub(super) fn on_lanes(&self) -> Option<(&Derivation, Features)> {
        let (derivation, features) = self.derivation.as_ref()?;
        let is_faster = derivation.turns() > 0 && features.contains(Features::AVX2);
        is_faster.then_some((derivation, *features))
    }

    /// What tries keys that come from there.
    pub fn kernel(&self, usage: Use) -> String {
        match &self.known {
            Known::Blocks(blocks) => blocks.kernel(usage).to_owned(),
            Known::Test(test) => test.name(),
        }
    }

    /// How much of a word list a thread should take at a time, in bytes: less, the more a candidate costs.
    pub fn chunk_bytes(&self) -> usize {
        match (&self.known, &self.kdf) {
            (_, Kdf::Scrypt { .. } | Kdf::Argon2id { .. }) => 256,
            (Known::Test(test), _) if test.key_bytes().is_none() => 256,
            _ if self.on_lanes().is_some() => 2048,
            (_, Kdf::Pbkdf2 { .. }) => 1024,
            (Known::Test(_), _) => 16 * 1024,
            (Known::Blocks(_), _) => CHUNK_BYTES,
        }
    }

    pub(super) const fn is_by_blocks(&self) -> bool {
        matches!(self.known, Known::Blocks(_))
    }
}

impl<'a> Watch<'a> {
    /// Tells `on_hit` of everything found, from whichever thread finds it.
    pub fn new(on_hit: &'a (dyn Fn(Hit) + Sync)) -> Self {
        Self { tried: AtomicU64::new(0), is_stopped: AtomicBool::new(false), on_hit }
    }

    /// How many candidates were tried.
    pub fn tried(&self) -> u64 {
        self.tried.load(Ordering::Relaxed)
    }

    /// Ends the search soon.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    pub(super) fn add_tried(&self, count: u64) {
        self.tried.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn hit(&self, hit: Hit) {
        (self.on_hit)(hit);
    }
}

/// A number that looks like nothing in particular, the same for the same (the finaliser of SplitMix64, Steele, Lea
/// and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
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
