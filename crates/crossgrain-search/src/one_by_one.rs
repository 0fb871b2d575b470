//! Candidates of a space tried one by one, for slow tests and derived keys. All threads and the devices that
//! derive keys take part.
//!
//! A thread takes the next candidates of a shard. A thread that feeds a device takes as many as the device
//! prefers. If the device fails, the candidates that it did not finish are given back, and other threads take
//! them. Invariant: each candidate is tried and counted exactly once, even if devices fail. A key is planted
//! in every shard, and in every call of a device.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use num_bigint::BigUint;

use super::batch::Batch;
use super::job::mixed;
use super::shard::low;
use super::word_device::WordDevice;
use super::{Counted, Error, Search, Space, Watch};
use crossgrain::engine as pool;

/// The most candidates that a thread takes at a time.
const ITEM: u64 = 4096;

/// Candidates that fill the widest register, if each lane derives one key.
const LANES: u64 = 16;

/// The search of one shard.
pub(super) struct OneByOne<'a> {
    search: &'a Search,
    space: &'a Space,
    devices: &'a [WordDevice],
    watch: &'a Watch<'a>,
    /// The number of the first candidate. Other numbers are relative to it.
    first: &'a BigUint,
    /// The number of candidates that a thread takes.
    item: u64,
    /// A key is planted among the candidates taken together with this one.
    planted: u64,
    /// The ranges that are not yet taken.
    left: Mutex<Vec<Range<u64>>>,
}

impl<'a> OneByOne<'a> {
    /// The search of `count` candidates from `first` on.
    pub(super) fn new(
        (search, space): (&'a Search, &'a Space),
        devices: &'a [WordDevice],
        (first, count): (&'a BigUint, u64),
        watch: &'a Watch<'a>,
    ) -> Self {
        let least = if search.on_lanes().is_some() { LANES } else { 1 };
        let item = (count / (8 * pool::threads() as u64)).next_multiple_of(least).clamp(least, ITEM);
        let planted = mixed(low(first) ^ mixed(count)) % count.max(1);
        let left = Mutex::new(vec![Range { start: 0, end: count }]);
        Self { search, space, devices, watch, first, item, planted, left }
    }

    /// Tries all candidates, unless the search is stopped.
    ///
    /// # Errors
    /// [`Error::BadCandidate`] if a candidate has the wrong length for a key, [`Error::Canary`] if a planted
    /// key is not found.
    pub(super) fn run(&self) -> Result<(), Error> {
        pool::ready();
        loop {
            let done = rayon::broadcast(|thread| {
                let device = WordDevice::fed_by(self.devices, thread.index(), thread.num_threads());
                let done = pool::wiping_deep_stack(|| self.until_done(device));
                // After an error the other threads stop too.
                done.inspect_err(|_| self.left().clear())
            });
            done.into_iter().collect::<Result<(), Error>>()?;
            // A device may have given candidates back after the other threads had finished.
            if self.left().is_empty() || self.watch.should_stop() {
                return Ok(());
            }
        }
    }

    /// The work of one thread. Never inlined: the caller wipes the stack that it used.
    #[inline(never)]
    fn until_done(&self, device: Option<&'a WordDevice>) -> Result<(), Error> {
        device.map_or(Ok(()), |device| self.feed(device))?;
        while let Some(taken) = self.take(self.item) {
            let proof = taken.contains(&self.planted).then(|| mixed(taken.start));
            self.try_all(&taken, &mut Batch::new(self.search, self.watch, self.first.clone(), proof)?)?;
        }
        Ok(())
    }

    /// Feeds a device until nothing is left or it fails.
    fn feed(&self, device: &'a WordDevice) -> Result<(), Error> {
        let mut batch = Batch::on(self.search, self.watch, self.first.clone(), device)?;
        while let Some(taken) = self.take(device.words().min(Counted::MOST) as u64) {
            match self.try_on_device(&taken, &mut batch) {
                Err(Error::Device { .. }) => {
                    // This fits: numbers are below the end of a range of `u64`.
                    self.left().push(taken.start.max(batch.next() as u64)..taken.end);
                    break;
                }
                done => done?,
            }
        }
        Ok(())
    }

    /// The next candidates, at most `most`. `None` if nothing is left, `most` is 0, or the search was
    /// stopped.
    fn take(&self, most: u64) -> Option<Range<u64>> {
        let mut left = self.left();
        if most == 0 || self.watch.should_stop() {
            return None;
        }
        let Range { start, end } = left.pop()?;
        let taken = start..end.min(start.saturating_add(most));
        if taken.end < end {
            left.push(taken.end..end);
        }
        Some(taken)
    }

    /// Lets the device generate the candidates if it can; otherwise the host does.
    fn try_on_device(&self, taken: &Range<u64>, batch: &mut Batch<'a>) -> Result<(), Error> {
        if batch.try_counted(self.space, taken)? { Ok(()) } else { self.try_all(taken, batch) }
    }

    fn try_all(&self, taken: &Range<u64>, batch: &mut Batch<'_>) -> Result<(), Error> {
        let candidates =
            self.space.candidates(&(self.first + taken.start), (taken.end - taken.start) as usize);
        let candidates = candidates.chunks_exact(self.space.len_bytes());
        for (number, candidate) in (taken.start..).zip(candidates) {
            if self.watch.should_stop() {
                return Ok(());
            }
            batch.push(number.into(), candidate)?.map_err(Error::BadCandidate)?;
        }
        batch.flush()
    }

    fn left(&self) -> std::sync::MutexGuard<'_, Vec<Range<u64>>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
