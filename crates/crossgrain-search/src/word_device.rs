//! A device that works for a search of words, or of a space's candidates one by one. It derives keys from them,
//! or tries the words as keys on a known block.
//!
//! Threads collect as many words as the device takes, hand them in and wait for the results, one thread at a
//! time. `Batch` checks the device: for each call, the reference derives one of the keys too; where the device
//! tries keys, it must find a planted one. If a call fails, it gives no results, and the device is not used
//! again.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::derivation::{Derivation, Derive};
use super::device::{KeyList, Program};
use super::{Counted, Device, Error, Failure, Known, Search};
use crossgrain::engine::kernel::search::Known as Block;

/// One thread in this many feeds devices, and at least one. It prepares blocks while the device works on
/// those of other threads.
const THREADS_A_FEEDER: usize = 4;

/// Keys that a device tries in a call: enough to occupy it, few enough that the next call can be prepared in
/// the cache.
const KEYS_AT_ONCE: usize = 1 << 17;

/// A device that derives the keys of a search, or tries them.
pub struct WordDevice {
    name: String,
    /// The derivation that the device computes. `None` if it tries keys.
    derivation: Option<Derivation>,
    /// `None` once the device has failed.
    work: Mutex<Option<Work>>,
    failure: Mutex<Option<String>>,
    /// The number of words for one call; 0 once the device has failed.
    words: AtomicUsize,
}

enum Work {
    Derive(Box<dyn Derive>),
    Try(Box<dyn KeyList>),
}

impl WordDevice {
    /// Checks that devices can take part in a search.
    ///
    /// # Errors
    /// [`Error::Device`] if they cannot.
    pub fn takes(search: &Search) -> Result<(), Error> {
        let is_taken = search.derivation().is_some() || tried(search).is_some();
        if is_taken { Ok(()) } else { Err(refusal()) }
    }

    /// Prepares a device for a search.
    ///
    /// # Errors
    /// [`Error::Device`] if the device cannot take part in it, or fails.
    pub fn new(search: &Search, device: &dyn Device) -> Result<Self, Error> {
        let derivation = search.derivation().cloned();
        let (task, work) = match &derivation {
            Some(derivation) => (derivation.name().to_owned(), device.derive(derivation).map(Work::Derive)),
            None => {
                let (known, program) = tried(search).ok_or_else(refusal)?;
                let list = device.list(program, &known, KEYS_AT_ONCE);
                (program.name().to_owned(), list.map(Work::Try))
            }
        };
        let work = work.map_err(|failure| Error::Device { why: failure.to_string() })?;
        Ok(Self {
            name: format!("{task} on {}", device.name()),
            derivation,
            words: AtomicUsize::new(work.words()),
            work: Mutex::new(Some(work)),
            failure: Mutex::default(),
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

    /// The derivation that the device computes. `None` if it tries keys.
    pub(super) const fn derivation(&self) -> Option<&Derivation> {
        self.derivation.as_ref()
    }

    /// The best number of words for one call; 0 once the device has failed.
    pub(super) fn words(&self) -> usize {
        self.words.load(Ordering::Relaxed)
    }

    /// Derives a key from each block.
    pub(super) fn derive(&self, blocks: &[u8], keys: &mut [u8]) -> Result<(), Error> {
        self.done(|work| match work {
            Work::Derive(derive) => derive.derive(blocks, keys),
            Work::Try(_) => Err("it derives no keys".into()),
        })
    }

    /// The same for candidates that the device generates.
    pub(super) fn derive_counted(&self, candidates: &Counted, keys: &mut [u8]) -> Result<(), Error> {
        self.done(|work| match work {
            Work::Derive(derive) => derive.derive_counted(candidates, keys),
            Work::Try(_) => Err("it derives no keys".into()),
        })
    }

    /// Tries keys, stored back to back, on the output of a known block. Appends the indices of keys that may be
    /// right to `found`; appends nothing if the call fails.
    pub(super) fn try_keys(&self, known: &Block, keys: &[u8], found: &mut Vec<usize>) -> Result<(), Error> {
        self.done(|work| match work {
            Work::Try(list) => list.search(known, keys, found),
            Work::Derive(_) => Err("it tries no keys".into()),
        })
    }

    fn done(&self, call: impl FnOnce(&mut Work) -> Result<(), Failure>) -> Result<(), Error> {
        let mut working = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = || Error::Device { why: format!("{} has failed", self.name) };
        let work = working.as_mut().ok_or_else(lost)?;
        if let Err(failure) = call(work) {
            *working = None;
            self.words.store(0, Ordering::Relaxed);
            let told = format!("{}: {failure}", self.name);
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
            return Err(lost());
        }
        self.words.store(work.words(), Ordering::Relaxed);
        Ok(())
    }
}

impl Work {
    /// The best number of words for one call.
    fn words(&self) -> usize {
        match self {
            Self::Derive(derive) => derive.words().max(1),
            Self::Try(_) => KEYS_AT_ONCE,
        }
    }
}

fn refusal() -> Error {
    let why = "of words it takes those whose keys are made by sha256 or pbkdf2-sha256, with a salt of 243 bytes at most, and \
               those that are keys, padded or not, for a block of which 16 bits are known";
    Error::Device { why: why.to_owned() }
}

/// The known block, and the program, of a search whose words a device can try as keys.
fn tried(search: &Search) -> Option<(Block, Program)> {
    let Known::Blocks(blocks) = search.known() else { return None };
    let (cipher, known) = blocks.for_device().ok()?;
    let program = Program::new(cipher, &known)?;
    search.kdf().is_padding().then_some((known, program))
}

impl fmt::Debug for WordDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WordDevice({})", self.name)
    }
}
