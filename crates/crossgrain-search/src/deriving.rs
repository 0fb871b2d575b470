//! A device that derives keys for a search of words, or of a space's candidates.
//!
//! Threads that have as many words as it takes hand them in and wait for the keys, one after the other. Each time one of the keys is
//! derived by the reference too (`Batch`). A device that fails has given nothing of what it was given last, and is not asked again.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::derivation::{Derivation, Derive};
use super::{Counted, Device, Error, Failure, Search};

/// One of so many threads feeds a device, if not the only one: it makes blocks of words while the device works on others'.
const THREADS_A_FEEDER: usize = 4;

/// A device that derives the keys of a search.
pub struct Deriving {
    name: String,
    derivation: Derivation,
    /// Nothing once the device has failed.
    derive: Mutex<Option<Box<dyn Derive>>>,
    failure: Mutex<Option<String>>,
    /// How many words it takes at a time; none once it has failed.
    words: AtomicUsize,
}

impl Deriving {
    /// Whether devices have a use for a search.
    ///
    /// # Errors
    /// [`Error::Device`] if they have none.
    pub fn takes(search: &Search) -> Result<(), Error> {
        Self::derivation_of(search).map(drop)
    }

    fn derivation_of(search: &Search) -> Result<&Derivation, Error> {
        let why = "of words it takes those whose keys are made by sha256 or pbkdf2-sha256, with a salt of 243 bytes at most";
        search.derivation().ok_or_else(|| Error::Device { why: why.to_owned() })
    }

    /// A device for a search.
    ///
    /// # Errors
    /// [`Error::Device`] if it has no use for the search, or fails.
    pub fn new(search: &Search, device: &dyn Device) -> Result<Self, Error> {
        let derivation = Self::derivation_of(search)?.clone();
        let derive =
            device.derive(&derivation).map_err(|failure| Error::Device { why: failure.to_string() })?;
        let (name, words) = (format!("{} on {}", derivation.name(), device.name()), derive.words());
        Ok(Self {
            name,
            derivation,
            derive: Mutex::new(Some(derive)),
            failure: Mutex::default(),
            words: AtomicUsize::new(words.max(1)),
        })
    }

    /// The device that a thread feeds. Of all threads a quarter feed devices, each device one at least, as long as there are threads.
    pub(super) fn fed_by(devices: &[Self], thread: usize, threads: usize) -> Option<&Self> {
        let feeders = threads / (THREADS_A_FEEDER * devices.len().max(1));
        devices.get(thread / feeders.max(1)).filter(|device| device.words() > 0)
    }

    /// What runs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Why the device failed, once, if it did since that was last asked.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) const fn derivation(&self) -> &Derivation {
        &self.derivation
    }

    /// How many words it is best given at a time; none once it has failed.
    pub(super) fn words(&self) -> usize {
        self.words.load(Ordering::Relaxed)
    }

    /// Makes a key of each block.
    pub(super) fn derive(&self, blocks: &[u8], keys: &mut [u8]) -> Result<(), Error> {
        self.done(|derive| derive.derive(blocks, keys))
    }

    /// The same of candidates that the device makes itself.
    pub(super) fn derive_counted(&self, candidates: &Counted, keys: &mut [u8]) -> Result<(), Error> {
        self.done(|derive| derive.derive_counted(candidates, keys))
    }

    fn done(&self, work: impl FnOnce(&mut dyn Derive) -> Result<(), Failure>) -> Result<(), Error> {
        let mut working = self.derive.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = || Error::Device { why: format!("{} has failed", self.name) };
        let derive = working.as_deref_mut().ok_or_else(lost)?;
        if let Err(failure) = work(derive) {
            *working = None;
            self.words.store(0, Ordering::Relaxed);
            let told = format!("{}: {failure}", self.name);
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
            return Err(lost());
        }
        self.words.store(derive.words().max(1), Ordering::Relaxed);
        Ok(())
    }
}

impl fmt::Debug for Deriving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deriving({})", self.name)
    }
}
