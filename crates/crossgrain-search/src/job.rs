//! A search: candidates, how keys are made of them, and how the right key is known. It is done in *shards*.
//!
//! In every shard a key of that shard is planted, with the answer that it has, and searched for by the same kernel:
//! a shard in which that is not found is no shard searched, but an error. What is found is reported at once.

use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::batch::Batch;
use super::words::{Refused, Words};
use super::{BlockSearch, Chunk, Error, Kdf, Rule};
use crossgrain::internal as pool;
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
    fn holds(&self, key: &[u8]) -> bool;

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
    /// [`Error::BadKdf`] for a KDF that cannot be had, or has no use where candidates are tried as they are; whatever
    /// else a test refuses.
    pub fn new(known: Known, kdf: Kdf) -> Result<Self, Error> {
        let search = Self { known, kdf };
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
            (_, Kdf::Pbkdf2 { .. }) => 1024,
            (Known::Test(_), _) => 16 * 1024,
            (Known::Blocks(_), _) => CHUNK_BYTES,
        }
    }

    pub(super) const fn is_by_blocks(&self) -> bool {
        matches!(self.known, Known::Blocks(_))
    }

    /// Searches the words of some chunks of a list, which all threads take from it, under all rules. Only those
    /// candidates count that are within `range`; they are numbered word by word and rule by rule.
    ///
    /// Gives whether it was not stopped.
    ///
    /// # Errors
    /// [`Error::Words`] if the list cannot be read; [`Error::Canary`].
    pub fn words<R: Read + Send>(
        &self,
        list: &Mutex<Words<R>>,
        chunks: usize,
        rules: &[Rule],
        range: &Range<u128>,
        refused: &Mutex<Refused>,
        watch: &Watch<'_>,
    ) -> Result<bool, Error> {
        let left = AtomicU64::new(chunks as u64);
        let take = || {
            let is_left = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
            let past = u128::from(list.next()) * rules.len() as u128 >= range.end;
            if is_left.is_err() || past || watch.is_stopped() { Ok(None) } else { list.chunk() }
        };
        pool::ready();
        rayon::broadcast(|_| {
            while let Some(chunk) = take().map_err(Error::Words)? {
                let mut counted = Refused::default();
                self.chunk(&chunk, rules, range, &mut counted, watch)?;
                refused.lock().unwrap_or_else(PoisonError::into_inner).merge(&counted);
            }
            Ok(())
        })
        .into_iter()
        .collect::<Result<(), Error>>()?;
        Ok(!watch.is_stopped())
    }

    /// Searches the words of one chunk.
    fn chunk(
        &self,
        chunk: &Chunk,
        rules: &[Rule],
        range: &Range<u128>,
        refused: &mut Refused,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let numbers = |line: u64| u128::from(line) * rules.len() as u128;
        let (first, end) = (numbers(chunk.first()), numbers(chunk.first() + chunk.count()));
        if end <= range.start || first >= range.end {
            return Ok(());
        }
        let is_plain = range.start <= first && end <= range.end && rules == [Rule::nothing()];
        let mut batch = Batch::new(self, watch, BigUint::ZERO, Some(mixed(chunk.first())))?;
        let mut made =
            Made { rules, range, refused, bytes: Zeroizing::default(), candidate: Zeroizing::default() };
        let (mut words, mut line) = (chunk.words(), chunk.first());
        while !watch.is_stopped() {
            // Keys of a regular list go by without being looked at one by one.
            let taken = if is_plain { batch.take(line.into(), &mut words)? as u64 } else { 0 };
            line += taken;
            if taken == 0 {
                let Some(word) = words.next() else { break };
                made.push(chunk, word, line, &mut batch)?;
                line += 1;
            }
        }
        batch.flush()
    }
}

/// What rules make of words, in memory that is kept from word to word.
struct Made<'a> {
    rules: &'a [Rule],
    range: &'a Range<u128>,
    refused: &'a mut Refused,
    bytes: Zeroizing<Vec<u8>>,
    candidate: Zeroizing<Vec<u8>>,
}

impl Made<'_> {
    /// Adds the candidates made of a word to a batch.
    fn push(&mut self, chunk: &Chunk, word: &[u8], line: u64, batch: &mut Batch<'_>) -> Result<(), Error> {
        let Self { rules, range, refused, bytes, candidate } = self;
        let per_word = rules.len() as u128;
        let first = u128::from(line) * per_word;
        if first >= range.end || first + per_word <= range.start {
            return Ok(());
        }
        let word = match chunk.read(word, bytes) {
            Ok(word) => word,
            Err(refusal) => {
                refused.count(refusal, line);
                return Ok(());
            }
        };
        for (number, rule) in (first..).zip(*rules) {
            if !range.contains(&number) {
                continue;
            }
            let made = if rule.is_nothing() {
                batch.push(number, word)?
            } else {
                rule.apply(word, candidate);
                batch.push(number, candidate)?
            };
            if let Err(refusal) = made {
                refused.count(refusal, line);
            }
        }
        Ok(())
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
