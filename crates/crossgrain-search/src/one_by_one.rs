//! Candidates of a space one by one, where each takes long: by all threads, and by devices that derive keys.
//!
//! A thread takes the next candidates of a shard; one that feeds a device takes as many as the device is given at a time. What
//! a device has taken and not done when it fails is given back, and is the other threads'.
//! Holds: every candidate is tried by one of them and counted once, however many devices fail. A key is planted among those
//! of each shard, and of all that a device is given.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use num_bigint::BigUint;

use super::batch::Batch;
use super::deriving::Deriving;
use super::job::mixed;
use super::shard::low;
use super::{Counted, Error, Search, Space, Watch};
use crossgrain::internal as pool;

/// Candidates that a thread takes at a time, at most.
const ITEM: u64 = 4096;

/// Candidates that fill the widest register, where keys are derived a lane each.
const LANES: u64 = 16;

/// A shard that is searched so.
pub(super) struct OneByOne<'a> {
    search: &'a Search,
    space: &'a Space,
    devices: &'a [Deriving],
    watch: &'a Watch<'a>,
    /// The number of the first candidate: others are counted from it.
    first: &'a BigUint,
    /// How many a thread takes.
    item: u64,
    /// Among the candidates taken with this one a key is planted.
    planted: u64,
    /// What nobody has taken.
    left: Mutex<Vec<Range<u64>>>,
}

impl<'a> OneByOne<'a> {
    /// So many candidates from one on.
    pub(super) fn new(
        (search, space): (&'a Search, &'a Space),
        devices: &'a [Deriving],
        (first, count): (&'a BigUint, u64),
        watch: &'a Watch<'a>,
    ) -> Self {
        let least = if search.on_lanes().is_some() { LANES } else { 1 };
        let item = (count / (8 * pool::threads() as u64)).next_multiple_of(least).clamp(least, ITEM);
        let planted = mixed(low(first) ^ mixed(count)) % count.max(1);
        let left = Mutex::new(vec![Range { start: 0, end: count }]);
        Self { search, space, devices, watch, first, item, planted, left }
    }

    /// Tries them all, unless it is stopped.
    ///
    /// # Errors
    /// [`Error::BadCandidate`] if one is no key, [`Error::Canary`] if a key that was planted is not found.
    pub(super) fn run(&self) -> Result<(), Error> {
        pool::ready();
        loop {
            let done = rayon::broadcast(|thread| {
                let device = Deriving::fed_by(self.devices, thread.index(), thread.num_threads());
                let done = self.until_done(device);
                pool::wipe_deep_stack();
                // Nobody goes on with a search that has failed.
                done.inspect_err(|_| self.left().clear())
            });
            done.into_iter().collect::<Result<(), Error>>()?;
            // What a device gave back when the others had gone.
            if self.left().is_empty() || self.watch.is_stopped() {
                return Ok(());
            }
        }
    }

    /// What a thread does. Never inlined: what it leaves on the stack is wiped after it.
    #[inline(never)]
    fn until_done(&self, device: Option<&'a Deriving>) -> Result<(), Error> {
        device.map_or(Ok(()), |device| self.feed(device))?;
        while let Some(taken) = self.take(self.item) {
            let proof = taken.contains(&self.planted).then(|| mixed(taken.start));
            self.try_all(&taken, &mut Batch::new(self.search, self.watch, self.first.clone(), proof)?)?;
        }
        Ok(())
    }

    /// Has a device derive keys until nothing is left, or it fails.
    fn feed(&self, device: &'a Deriving) -> Result<(), Error> {
        let mut batch = Batch::on(self.search, self.watch, self.first.clone(), device)?;
        while let Some(taken) = self.take(device.words().min(Counted::MOST) as u64) {
            match self.try_on_device(&taken, &mut batch) {
                Err(Error::Device { .. }) => {
                    // Numbers are below that of a range's end, which has 64 bits.
                    self.left().push(taken.start.max(batch.next() as u64)..taken.end);
                    break;
                }
                done => done?,
            }
        }
        Ok(())
    }

    /// The next candidates, as many as that at most; none once it is stopped, or if none are asked for.
    fn take(&self, most: u64) -> Option<Range<u64>> {
        let mut left = self.left();
        if most == 0 || self.watch.is_stopped() {
            return None;
        }
        let Range { start, end } = left.pop()?;
        let taken = start..end.min(start.saturating_add(most));
        if taken.end < end {
            left.push(taken.end..end);
        }
        Some(taken)
    }

    /// Has the device make candidates, or makes them where it cannot.
    fn try_on_device(&self, taken: &Range<u64>, batch: &mut Batch<'a>) -> Result<(), Error> {
        if batch.try_counted(self.space, taken)? { Ok(()) } else { self.try_all(taken, batch) }
    }

    fn try_all(&self, taken: &Range<u64>, batch: &mut Batch<'_>) -> Result<(), Error> {
        let candidates =
            self.space.candidates(&(self.first + taken.start), (taken.end - taken.start) as usize);
        let candidates = candidates.chunks_exact(self.space.len_bytes());
        for (number, candidate) in (taken.start..).zip(candidates) {
            if self.watch.is_stopped() {
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
