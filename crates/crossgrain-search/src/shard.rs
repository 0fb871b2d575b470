//! Shards of a space: the candidate numbers of a shard are split into outer and inner keys and distributed
//! over threads.
//!
//! A shard consists of the end of one period, some whole periods, and the beginning of another. The tables
//! for whole periods are prepared once for all shards. Invariant: a shard is complete only if all its
//! candidates were counted and the planted key was found.

use std::fmt;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use num_bigint::BigUint;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::batch::prove;
use super::device::{Device, Left, OnDevice};
use super::job::mixed;
use super::one_by_one::OneByOne;
use super::word_device::WordDevice;
use super::{BlockSearch, Error, Hit, Inner, Known, Search, Space, Watch};
use crossgrain::engine as pool;
use crossgrain::plan::TableReuse;

/// The most keys of one prepared table.
const TABLE_KEYS: usize = 4096;

/// About as many keys as a thread takes at a time.
const ITEM_KEYS: usize = 1 << 19;

/// Items that the CPU takes from the devices' periods at a time. They are enough to make the search for the
/// planted key cheap, and few enough that the device does not wait long at the end.
const ITEMS_BESIDE: usize = 32;

/// The search for a planted key covers one part in this many of a shard.
pub(super) const PROOF_PART: u64 = 64;

/// A search of a space, with the data that all shards share.
pub struct SpaceSearch<'a> {
    search: &'a Search,
    space: &'a Space,
    /// The prepared tables of the period. Empty if keys are not padded candidates tried on blocks.
    tables: Vec<(Range<usize>, Inner)>,
    beside: Beside,
}

/// Helpers of the CPU.
enum Beside {
    Nothing,
    /// Devices that try keys.
    Tries(Vec<OnDevice>),
    /// Devices that derive keys, which the CPU then tries.
    Derives(Vec<WordDevice>),
}

impl<'a> SpaceSearch<'a> {
    /// Prepares the search of a space.
    ///
    /// # Errors
    /// [`Error::BadCandidate`] if its candidates have the wrong length for a key.
    pub fn new(search: &'a Search, space: &'a Space) -> Result<Self, Error> {
        let mut prepared = Self { search, space, tables: Vec::new(), beside: Beside::Nothing };
        if let Some(key_bytes) = search.key_bytes() {
            search
                .kdf()
                .derive(&space.candidates(&BigUint::ZERO, 1), &mut Zeroizing::new(vec![0; key_bytes]))?;
        }
        if let (Known::Blocks(blocks), true) = (search.known(), search.kdf().is_padding()) {
            for range in pieces(&(0..space.period())) {
                prepared.tables.push((range.clone(), prepared.table(blocks, range, TableReuse::Often)?));
            }
        }
        Ok(prepared)
    }

    /// Prepares the search of a space with devices. Devices that try keys take whole periods; if there is
    /// more than one thread, the others search at the same time. If keys are derived from candidates, the
    /// devices derive them. The CPU searches the candidates outside whole periods, and everything that failed
    /// devices leave.
    ///
    /// # Errors
    /// As [`SpaceSearch::new`]; [`Error::Device`] if a device cannot run the search, or fails.
    pub fn on(search: &'a Search, space: &'a Space, devices: &[&dyn Device]) -> Result<Self, Error> {
        let mut prepared = Self::new(search, space)?;
        if devices.is_empty() {
            return Ok(prepared);
        }
        let each = devices.iter();
        prepared.beside = match search.known() {
            Known::Blocks(blocks) if search.kdf().is_padding() => {
                let tries =
                    |device| OnDevice::new(device, blocks, space, |halves| prepared.padded(halves, blocks));
                Beside::Tries(each.map(|device| tries(*device)).collect::<Result<_, _>>()?)
            }
            _ if search.derivation().is_some() => Beside::Derives(
                each.map(|device| WordDevice::new(search, *device)).collect::<Result<_, _>>()?,
            ),
            _ => {
                let why = "it takes keys that are candidates, padded or not, tried on a block, and keys that are made by sha256 \
                           or pbkdf2-sha256, with a salt of 243 bytes at most";
                return Err(Error::Device { why: why.to_owned() });
            }
        };
        Ok(prepared)
    }
}

impl SpaceSearch<'_> {
    /// The names of the kernels and devices that search.
    pub fn kernel(&self) -> String {
        let usage = if self.tables.is_empty() { TableReuse::Once } else { TableReuse::Often };
        let on_cpu = self.search.kernel(usage);
        match &self.beside {
            Beside::Nothing => on_cpu,
            Beside::Tries(devices) => devices.iter().map(OnDevice::name).collect::<Vec<_>>().join(" and "),
            Beside::Derives(devices) => devices
                .iter()
                .map(WordDevice::name)
                .chain([on_cpu.as_str()])
                .collect::<Vec<_>>()
                .join(" and "),
        }
    }

    /// The reasons of the devices that failed since the last call.
    pub fn failures(&self) -> Vec<String> {
        match &self.beside {
            Beside::Nothing => Vec::new(),
            Beside::Tries(devices) => devices.iter().filter_map(OnDevice::failure).collect(),
            Beside::Derives(devices) => devices.iter().filter_map(WordDevice::failure).collect(),
        }
    }

    /// The smallest number, not below this one, at which a shard should end: a multiple of the devices'
    /// period.
    pub fn whole(&self, number: &BigUint) -> BigUint {
        let period = if let Beside::Tries(_) = &self.beside { self.space.wide().1 } else { 1 };
        (number + (period - 1)) / period * period
    }

    /// Searches the candidates with these numbers. Returns whether the shard is complete; false if the search
    /// was stopped.
    ///
    /// # Errors
    /// [`Error::Canary`] if the kernel does not find the planted key; [`Error::Incomplete`] if some
    /// candidates were not tried; [`Error::LargeShard`] for a shard of 2⁶⁴ candidates or more.
    pub fn shard(&self, range: &Range<BigUint>, watch: &Watch<'_>) -> Result<bool, Error> {
        let count = if range.is_empty() { BigUint::ZERO } else { &range.end - &range.start };
        let count = u64::try_from(count).map_err(|_| Error::LargeShard)?;
        if count == 0 {
            return Ok(true);
        }
        let before = watch.tried();
        match (self.search.known(), &self.beside) {
            (Known::Blocks(blocks), Beside::Tries(devices)) => {
                self.by_devices(blocks, devices, range, watch)?;
            }
            _ => self.on_cpu(range, watch)?,
        }
        let is_whole = watch.tried().wrapping_sub(before) == count;
        if watch.should_stop() {
            return Ok(is_whole);
        }
        if is_whole { Ok(true) } else { Err(Error::Incomplete { kernel: self.kernel() }) }
    }

    /// Searches whole periods on the devices and the threads, and then the rest on the CPU.
    fn by_devices(
        &self,
        blocks: &BlockSearch,
        devices: &[OnDevice],
        range: &Range<BigUint>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let period = self.space.wide().1;
        let (first, last) = (self.whole(&range.start) / period, &range.end / period);
        if first >= last {
            return self.on_cpu(range, watch);
        }
        let (from, to) = (&first * period, &last * period);
        let left = Left::new(first..last);
        let by_device = |device: &OnDevice| {
            pool::wiping_deep_stack(|| device.periods(self, blocks, &left, watch)).inspect_err(|_| left.end())
        };
        let beside = || self.beside(period, &left, watch).inspect_err(|_| left.end());
        pool::ready();
        let by_device = &by_device;
        // One thread of the pool waits for the first device. Each further device has a new thread.
        thread::scope(|scope| {
            let (one, others) = devices.split_first().unzip();
            let others = others.unwrap_or_default().iter();
            // A device whose thread cannot be started takes no part.
            let begun = |device| thread::Builder::new().spawn_scoped(scope, move || by_device(device)).ok();
            let others: Vec<_> = others.filter_map(begun).collect();
            let (first, beside) = rayon::join(|| one.map_or(Ok(()), by_device), beside);
            let others =
                others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            [first, beside].into_iter().chain(others).collect::<Result<(), Error>>()
        })?;
        // The periods that failed devices gave back.
        let rest = left.into_rest().into_iter().map(|rest| rest.start * period..rest.end * period);
        for rest in [range.start.clone()..from, to..range.end.clone()].into_iter().chain(rest) {
            self.on_cpu(&rest, watch)?;
        }
        Ok(())
    }

    /// Searches periods on the CPU while devices search others, until none is left.
    fn beside(&self, period: usize, left: &Left, watch: &Watch<'_>) -> Result<(), Error> {
        let threads = pool::threads();
        // A pool of one thread only feeds the device.
        while threads > 1 && !watch.should_stop() {
            let most = (ITEMS_BESIDE * threads * ITEM_KEYS / period).max(1);
            let Some(Range { start, end }) = left.last(most) else { break };
            self.on_cpu(&(start * period..end * period), watch)?;
        }
        Ok(())
    }

    /// Searches on the CPU.
    fn on_cpu(&self, range: &Range<BigUint>, watch: &Watch<'_>) -> Result<(), Error> {
        if range.is_empty() || watch.should_stop() {
            return Ok(());
        }
        let count = u64::try_from(&range.end - &range.start).map_err(|_| Error::LargeShard)?;
        match self.search.known() {
            Known::Blocks(blocks) if !self.tables.is_empty() => {
                pool::wiping_deep_stack(|| self.by_tables(blocks, range, count, watch))
            }
            _ => {
                let devices: &[_] = if let Beside::Derives(devices) = &self.beside { devices } else { &[] };
                OneByOne::new((self.search, self.space), devices, (&range.start, count), watch).run()
            }
        }
    }

    /// Searches whole periods, and the parts of the first and the last. Never inlined: the caller wipes the
    /// stack that it used.
    #[inline(never)]
    fn by_tables(
        &self,
        blocks: &BlockSearch,
        range: &Range<BigUint>,
        count: u64,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let period = self.space.period();
        let place = |number: &BigUint| usize::try_from(number % period).unwrap_or_default();
        let (mut first, last) = (&range.start / period, &range.end / period);
        let (from, to) = (place(&range.start), place(&range.end));
        if first == last {
            return self.within_period(blocks, &first, from..to, watch);
        }
        if from > 0 {
            self.within_period(blocks, &first, from..period, watch)?;
            first += 1_u8;
        }
        let periods = u64::try_from(&last - &first).map_err(|_| Error::LargeShard)?;
        let threads = pool::threads() as u64;
        let step = periods.div_ceil(threads).clamp(1, (ITEM_KEYS / period).max(1) as u64);
        let searched = (0..periods.div_ceil(step)).into_par_iter().try_for_each(|item| {
            // `None` ends the iteration, which may have 2⁴⁵ items left.
            if watch.is_stopped() {
                return Err(None);
            }
            let from = item * step;
            let (first, count) = (&first + from, step.min(periods - from) as usize);
            pool::wiping_deep_stack(|| self.periods(blocks, &first, count, watch)).map_err(Some)
        });
        match searched {
            Ok(()) => {}
            Err(None) => return Ok(()),
            Err(Some(error)) => return Err(error),
        }
        if periods > 0 {
            self.prove_within(blocks, &first, periods, count)?;
        }
        if to > 0 { self.within_period(blocks, &last, 0..to, watch) } else { Ok(()) }
    }

    /// Searches whole periods on this thread. Never inlined: the caller wipes the stack that it used.
    #[inline(never)]
    fn periods(
        &self,
        blocks: &BlockSearch,
        first: &BigUint,
        count: usize,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        if watch.should_stop() {
            return Ok(());
        }
        let outer = self.padded(&self.space.outer(first, count), blocks)?;
        let mut found = Vec::new();
        for (range, table) in &self.tables {
            if watch.should_stop() {
                break;
            }
            blocks.search(&outer, table, &mut found);
            for (o, i) in found.drain(..) {
                self.hit((first + o) * self.space.period() + range.start + i, watch)?;
            }
            watch.add_tried((count * table.count()) as u64);
        }
        Ok(())
    }

    /// Searches a part of one period. The prepared tables cover whole periods, so this prepares other tables.
    fn within_period(
        &self,
        blocks: &BlockSearch,
        period: &BigUint,
        range: Range<usize>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let outer = self.padded(&self.space.outer(period, 1), blocks)?;
        for piece in pieces(&range) {
            let table = self.table(blocks, piece.clone(), TableReuse::Once)?;
            let mut found = Vec::new();
            blocks.search(&outer, &table, &mut found);
            for (_, i) in found {
                self.hit(period * self.space.period() + piece.start + i, watch)?;
            }
            watch.add_tried(piece.len() as u64);
            let seed = mixed(low(period) ^ piece.start as u64);
            prove(blocks, TableReuse::Once, &outer, table.keys(), (0, (seed % piece.len() as u64) as usize))?;
        }
        Ok(())
    }

    /// Plants a key in one of these periods, and searches for it in a part of the shard.
    fn prove_within(
        &self,
        blocks: &BlockSearch,
        first: &BigUint,
        periods: u64,
        count: u64,
    ) -> Result<(), Error> {
        let seed = mixed(low(first) ^ mixed(periods));
        let period = seed % periods;
        let (_, table) = &self.tables[(mixed(seed) % self.tables.len() as u64) as usize];
        let most =
            (count / PROOF_PART / table.count() as u64).clamp(1, (ITEM_KEYS / table.count()).max(1) as u64);
        let outer = self.space.outer(&(first + period), most.min(periods - period) as usize);
        let outer = self.padded(&outer, blocks)?;
        let o = mixed(seed + 1) % (outer.len() / blocks.key_bytes()) as u64;
        let i = mixed(seed + 2) % table.count() as u64;
        prove(blocks, TableReuse::Often, &outer, table.keys(), (o as usize, i as usize))
    }

    fn table(&self, blocks: &BlockSearch, range: Range<usize>, usage: TableReuse) -> Result<Inner, Error> {
        Ok(blocks.prepare(&self.padded(&self.space.inner(range), blocks)?, usage))
    }

    /// Pads halves of candidates to halves of keys.
    fn padded(&self, halves: &[u8], blocks: &BlockSearch) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (len, key_bytes) = (self.space.len_bytes(), blocks.key_bytes());
        let mut keys = Zeroizing::new(vec![0; halves.len() / len * key_bytes]);
        for (half, key) in halves.chunks_exact(len).zip(keys.chunks_exact_mut(key_bytes)) {
            self.search.kdf().pad(half, key).map_err(Error::BadCandidate)?;
        }
        Ok(keys)
    }

    fn hit(&self, number: BigUint, watch: &Watch<'_>) -> Result<(), Error> {
        let (candidate, key) = (self.space.candidates(&number, 1), self.key(&number)?);
        watch.hit(Hit { number, candidate, key, target: 0 });
        Ok(())
    }

    /// Tries a candidate by the reference.
    pub(super) fn try_number(
        &self,
        blocks: &BlockSearch,
        number: BigUint,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        if blocks.holds(&self.key(&number)?) { self.hit(number, watch) } else { Ok(()) }
    }

    /// The key of a candidate.
    pub(super) fn key(&self, number: &BigUint) -> Result<Zeroizing<Vec<u8>>, Error> {
        let candidate = self.space.candidates(number, 1);
        let mut key = Zeroizing::new(vec![0; self.search.key_bytes().unwrap_or(candidate.len())]);
        self.search.kdf().pad(&candidate, &mut key).map_err(Error::BadCandidate)?;
        Ok(key)
    }

    /// The outer keys of some periods whose digits begin at index `split`.
    pub(super) fn outer_of(
        &self,
        blocks: &BlockSearch,
        split: usize,
        first: &BigUint,
        count: usize,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.padded(&self.space.outer_of(split, first, count), blocks)
    }
}

/// Splits a range into pieces of at most one table.
fn pieces(range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = range.end;
    range.clone().step_by(TABLE_KEYS).map(move |from| from..end.min(from + TABLE_KEYS))
}

/// The low 64 bits of a number.
pub(super) fn low(number: &BigUint) -> u64 {
    number.iter_u64_digits().next().unwrap_or(0)
}

impl fmt::Debug for SpaceSearch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpaceSearch({:?}, {} tables)", self.search, self.tables.len())
    }
}
