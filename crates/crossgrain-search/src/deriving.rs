//! A device that derives keys for a search of words or of a space's candidates.
//!
//! Threads collect as many words as the device takes, hand them in and wait for the keys, one thread at a
//! time. For each call, the reference derives one of the keys too and compares it (`Batch`). If a call fails,
//! it gives no keys, and the device is not used again.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::derivation::{Derivation, Derive};
use super::{Counted, Device, Error, Failure, Search};

/// One thread in this many feeds devices, and at least one. It prepares blocks while the device works on
/// those of other threads.
const THREADS_A_FEEDER: usize = 4;

/// A device that derives the keys of a search.
pub struct Deriving {
    name: String,
    derivation: Derivation,
    /// `None` once the device has failed.
    derive: Mutex<Option<Box<dyn Derive>>>,
    failure: Mutex<Option<String>>,
    /// The number of words for one call; 0 once the device has failed.
    words: AtomicUsize,
}

impl Deriving {
    /// Checks that devices can derive the keys of a search.
    ///
    /// # Errors
    /// [`Error::Device`] if they cannot.
    pub fn takes(search: &Search) -> Result<(), Error> {
        Self::derivation_of(search).map(drop)
    }

    fn derivation_of(search: &Search) -> Result<&Derivation, Error> {
        let why = "of words it takes those whose keys are made by sha256 or pbkdf2-sha256, with a salt of 243 bytes at most";
        search.derivation().ok_or_else(|| Error::Device { why: why.to_owned() })
    }

    /// Prepares a device for a search.
    ///
    /// # Errors
    /// [`Error::Device`] if the device cannot derive these keys, or fails.
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

    /// The device that this thread feeds, if any. About a quarter of the threads feed devices, and each
    /// device has at least one thread while there are enough.
    pub(super) fn fed_by(devices: &[Self], thread: usize, threads: usize) -> Option<&Self> {
        let feeders = threads / (THREADS_A_FEEDER * devices.len().max(1));
        devices.get(thread / feeders.max(1)).filter(|device| device.words() > 0)
    }

    /// The names of the derivation and the device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The reason why the device failed, if it failed since the last call.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) const fn derivation(&self) -> &Derivation {
        &self.derivation
    }

    /// The best number of words for one call; 0 once the device has failed.
    pub(super) fn words(&self) -> usize {
        self.words.load(Ordering::Relaxed)
    }

    /// Derives a key from each block.
    pub(super) fn derive(&self, blocks: &[u8], keys: &mut [u8]) -> Result<(), Error> {
        self.done(|derive| derive.derive(blocks, keys))
    }

    /// The same for candidates that the device generates.
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
