//! Devices that try keys: whole periods of a space, each as one large table of inner keys combined with many
//! outer keys.
//!
//! A device runs a program of [`crossgrain::engine::device::search`]. Each implementation of [`Device`]
//! compiles and starts it.
//!
//! Invariants:
//! * The outer and the inner half never vary the same byte (`Space::wide`).
//! * A device may report a wrong key; the reference checks every report. A planted key in every shard checks
//!   that right keys are reported.
//! * If a call fails, none of its work counts, and the device is not used again. Its periods go to another
//!   device or the CPU.

use std::error;
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::job::mixed;
use super::shard::{PROOF_PART, SpaceSearch, low};
use super::{BlockSearch, Derivation, Derive, Error, Space, Watch};
#[cfg(feature = "device")]
pub(super) use crossgrain::engine::device::search::Search as Program;
use crossgrain::engine::kernel::search::Known;

/// Builds without the feature `device` have no programs.
#[cfg(not(feature = "device"))]
#[derive(Clone, Copy, Debug)]
pub enum Program {}

#[cfg(not(feature = "device"))]
impl Program {
    pub(super) const fn new(_: crossgrain::Cipher, _: &Known) -> Option<Self> {
        None
    }

    pub(super) const fn name(self) -> &'static str {
        match self {}
    }
}

/// The reason why a device failed, in one line.
pub type Failure = Box<dyn error::Error + Send + Sync>;

/// A device that runs search programs.
pub trait Device: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> String;

    /// Uploads a table of inner keys, stored back to back. A program tries them on the input of `known`.
    ///
    /// # Errors
    /// If the device cannot run the program, has too little memory, or is lost.
    fn table(&self, program: Program, known: &Known, keys: &[u8]) -> Result<Box<dyn Table>, Failure>;

    /// Prepares to try lists of at most `keys_max` keys on blocks of which the same bits are known as of `known`.
    ///
    /// # Errors
    /// As [`Device::table`].
    fn list(&self, program: Program, known: &Known, keys_max: usize) -> Result<Box<dyn KeyList>, Failure>;

    /// Prepares to derive keys from words on the device.
    ///
    /// # Errors
    /// As [`Device::table`].
    fn derive(&self, derivation: &Derivation) -> Result<Box<dyn Derive>, Failure>;
}

/// Inner keys on a device.
pub trait Table: Send {
    /// The best number of outer keys for one call: enough to fill the device, few enough to finish quickly.
    fn outers(&self) -> usize;

    /// Tries every sum of an outer key, at most [`Table::outers`] of them, and an inner key. The output comes
    /// from `known`; the input is that of the table. Appends the indices of keys that may be right to
    /// `found`; appends nothing if the call fails.
    ///
    /// # Errors
    /// If the device is lost.
    fn search(&mut self, known: &Known, outer: &[u8], found: &mut Vec<(usize, usize)>)
    -> Result<(), Failure>;
}

/// Lists of keys on a device, one after the other.
pub trait KeyList: Send {
    /// Tries keys, stored back to back, on a known block. Appends the indices of keys that may be right to `found`;
    /// appends nothing if the call fails.
    ///
    /// # Errors
    /// If the device is lost.
    fn search(&mut self, known: &Known, keys: &[u8], found: &mut Vec<usize>) -> Result<(), Failure>;
}

/// The periods of a shard that are not yet taken. Devices take the first ones and the CPU takes the last
/// ones, in small pieces. The work is thus divided by speed.
pub(super) struct Left {
    /// All periods of the shard.
    whole: Range<BigUint>,
    /// The ranges not yet taken. Devices take the first periods of the last range, where the periods of a
    /// lost device are added. The CPU takes the last periods of the first range. The two therefore meet as
    /// late as possible.
    left: Mutex<Vec<Range<BigUint>>>,
}

impl Left {
    pub(super) fn new(periods: Range<BigUint>) -> Self {
        Self { whole: periods.clone(), left: Mutex::new(vec![periods]) }
    }

    /// The periods that are left when all threads have finished.
    pub(super) fn into_rest(self) -> Vec<Range<BigUint>> {
        self.left.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes at most `most` periods from the front.
    fn first(&self, most: usize) -> Option<Range<BigUint>> {
        let mut left = self.lock();
        let Range { start, end } = left.pop()?;
        let to = (&start + most).min(end.clone());
        if to < end {
            left.push(to.clone()..end);
        }
        Some(start..to)
    }

    /// Takes at most `most` periods from the back.
    pub(super) fn last(&self, most: usize) -> Option<Range<BigUint>> {
        let mut left = self.lock();
        let part = left.first_mut()?;
        let count = (&part.end - &part.start).min(BigUint::from(most));
        let start = &part.end - count;
        let end = std::mem::replace(&mut part.end, start.clone());
        if part.start == start {
            left.remove(0);
        }
        Some(start..end)
    }

    /// Discards all periods because the shard has failed.
    pub(super) fn end(&self) {
        self.lock().clear();
    }

    /// Returns periods that were taken and not searched.
    fn put_back(&self, taken: Range<BigUint>) {
        self.lock().push(taken);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Range<BigUint>>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The period of a space on a device.
pub(super) struct OnDevice {
    name: String,
    known: Known,
    /// `None` once the device has failed.
    table: Mutex<Option<Box<dyn Table>>>,
    failure: Mutex<Option<String>>,
    /// The index of the first digit of the period.
    split: usize,
    period: usize,
}

impl OnDevice {
    /// Uploads the table of a space's period to a device.
    pub(super) fn new(
        device: &dyn Device,
        blocks: &BlockSearch,
        space: &Space,
        keys: impl FnOnce(&[u8]) -> Result<Zeroizing<Vec<u8>>, Error>,
    ) -> Result<Self, Error> {
        let (cipher, known) = blocks.for_device()?;
        let program = Program::new(cipher, &known).ok_or_else(|| Error::Device {
            why: "of no block enough is known: it takes 16 bits".to_owned(),
        })?;
        let (split, period) = space.wide();
        let keys = keys(&space.inner_of(split, 0..period))?;
        let failed = |failure: Failure| Error::Device { why: failure.to_string() };
        let table = device.table(program, &known, &keys).map_err(failed)?;
        let name = format!("{} on {}", program.name(), device.name());
        Ok(Self { name, known, table: Mutex::new(Some(table)), failure: Mutex::default(), split, period })
    }

    /// The name of the program and the device.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The reason why the device failed, if it failed since the last call.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Searches periods until none is left or the device is lost.
    pub(super) fn periods(
        &self,
        search: &SpaceSearch<'_>,
        blocks: &BlockSearch,
        left: &Left,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let mut working = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(table) = working.as_deref_mut() else { return Ok(()) };
        match (Run { device: self, search, blocks }).periods(table, left, watch) {
            Ok(()) => {}
            Err(Stop::Search(error)) => return Err(error),
            Err(Stop::Device(failure)) => {
                *working = None;
                let mut told = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                *told = Some(format!("{}: {failure}", self.name));
            }
        }
        Ok(())
    }
}

/// The reason why a run ends early.
enum Stop {
    Search(Error),
    Device(Failure),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Search(error)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Device(failure)
    }
}

/// A run over periods of one shard.
struct Run<'a> {
    device: &'a OnDevice,
    search: &'a SpaceSearch<'a>,
    blocks: &'a BlockSearch,
}

impl Run<'_> {
    /// Searches periods until none is left.
    fn periods(&self, table: &mut dyn Table, left: &Left, watch: &Watch<'_>) -> Result<(), Stop> {
        self.prove(table, &left.whole)?;
        let mut found = Vec::new();
        while !watch.should_stop() {
            let Some(Range { start: first, end }) = left.first(table.outers().max(1)) else { break };
            let count = usize::try_from(&end - &first).unwrap_or(usize::MAX);
            if let Err(failure) = table.search(&self.device.known, &self.outer(&first, count)?, &mut found) {
                left.put_back(first..end);
                return Err(failure.into());
            }
            for (o, i) in found.drain(..) {
                let number = (&first + o) * self.device.period + i;
                self.search.try_number(self.blocks, number, watch)?;
            }
            watch.add_tried((count * self.device.period) as u64);
        }
        Ok(())
    }

    /// Plants a key in one of these periods and searches for it in a part of them.
    fn prove(&self, table: &mut dyn Table, periods: &Range<BigUint>) -> Result<(), Stop> {
        let count = u64::try_from(&periods.end - &periods.start).map_err(|_| Error::LargeShard)?;
        let seed = mixed(low(&periods.start) ^ mixed(count));
        let from = seed % count;
        let first = &periods.start + from;
        let part = usize::try_from((count / PROOF_PART).clamp(1, count - from)).unwrap_or(usize::MAX);
        let outers = part.min(table.outers().max(1));
        let o = (mixed(seed + 1) % outers as u64) as usize;
        let i = (mixed(seed + 2) % self.device.period as u64) as usize;
        let key = self.search.key(&((&first + o) * self.device.period + i))?;
        let (_, planted) = self.blocks.planted(&key)?.for_device()?;
        let mut found = Vec::new();
        table.search(&planted, &self.outer(&first, outers)?, &mut found)?;
        if found.contains(&(o, i)) {
            return Ok(());
        }
        Err(Stop::Search(Error::Canary { kernel: self.device.name.clone() }))
    }

    fn outer(&self, first: &BigUint, count: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.search.outer_of(self.blocks, self.device.split, first, count)
    }
}

impl fmt::Debug for OnDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnDevice({})", self.name)
    }
}
