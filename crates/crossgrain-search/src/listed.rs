//! Searches the words of a list under rules, on all threads and on devices.
//!
//! All threads take chunks from one list, or parts of a chunk if its words have many candidates. A normal thread
//! searches one at a time. A thread that feeds a device takes as many words as the device prefers. If the device
//! fails, the candidates that it did not finish are given back, and other threads take them. Invariant: each
//! candidate is tried and counted exactly once, even if devices fail.

use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use num_bigint::BigUint;

use super::batch::Batch;
use super::changes::{Changes, Maker};
use super::job::mixed;
use super::word_device::WordDevice;
use super::words::{Refused, Taken, Words};
use super::{Error, Rule, Search, Watch};
use crossgrain::engine as pool;

/// The most bytes of a list that are held for a device.
const HELD_BYTES_MAX: usize = 1 << 26;

/// A search of words, with the data that all its chunks share.
pub struct WordSearch<'a> {
    search: &'a Search,
    changes: Changes<'a>,
    range: Range<u128>,
    devices: &'a [WordDevice],
}

/// The source of candidates.
struct Source<'a, R> {
    list: &'a Mutex<Words<R>>,
    /// How often threads may still take candidates.
    left: AtomicU64,
    /// Candidates that failed devices gave back.
    back: Mutex<Vec<Taken>>,
}

impl<'a> WordSearch<'a> {
    /// A search of the words of a list under all rules. Candidates are numbered word by word, and within a
    /// word rule by rule. Only numbers in `range` are tried.
    pub const fn new(search: &'a Search, rules: &'a [Rule], range: Range<u128>) -> Self {
        Self::changed(search, Changes::by_rules(rules), range)
    }

    /// The same for words changed by rules and affixes.
    pub const fn changed(search: &'a Search, changes: Changes<'a>, range: Range<u128>) -> Self {
        Self { search, changes, range, devices: &[] }
    }

    /// The same search with devices in addition to the CPU.
    #[must_use]
    pub const fn on(self, devices: &'a [WordDevice]) -> Self {
        Self { devices, ..self }
    }

    /// Searches up to `chunks` chunks of a list. Of a chunk with many candidates, a thread takes only a part, which
    /// counts as a chunk. The list keeps the rest for the next call.
    ///
    /// Returns whether it ran to the end; false if it was stopped.
    ///
    /// # Errors
    /// [`Error::Words`] if the list cannot be read; [`Error::Canary`].
    pub fn chunks<R: Read + Send>(
        &self,
        list: &Mutex<Words<R>>,
        chunks: usize,
        refused: &Mutex<Refused>,
        watch: &Watch<'_>,
    ) -> Result<bool, Error> {
        let source = Source { list, left: AtomicU64::new(chunks as u64), back: Mutex::default() };
        pool::ready();
        loop {
            let done = rayon::broadcast(|thread| {
                let device = WordDevice::fed_by(self.devices, thread.index(), thread.num_threads());
                self.thread(device, &source, refused, watch)
            });
            done.into_iter().collect::<Result<(), Error>>()?;
            // A device may have given candidates back after the other threads had finished.
            if source.is_done() || watch.should_stop() {
                return Ok(!watch.is_stopped());
            }
        }
    }

    /// The number of the first candidate of a list that was not taken yet.
    pub fn next<R: Read>(&self, list: &Words<R>) -> u128 {
        list.untaken.as_ref().map_or_else(|| self.changes.first(list.next()), |taken| taken.numbers.start)
    }

    /// The work of one thread, until no chunk is left. Afterwards no key remains on its stack.
    fn thread<R: Read>(
        &self,
        device: Option<&WordDevice>,
        source: &Source<'_, R>,
        refused: &Mutex<Refused>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        pool::wiping_deep_stack(|| self.until_done(device, source, refused, watch))
    }

    fn until_done<R: Read>(
        &self,
        device: Option<&WordDevice>,
        source: &Source<'_, R>,
        refused: &Mutex<Refused>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        if let Some(device) = device {
            let mut batch = Batch::on(self.search, watch, BigUint::ZERO, device)?;
            let mut held = Vec::new();
            let fed = self.feed(&mut batch, source, &mut held, watch);
            refused.lock().unwrap_or_else(PoisonError::into_inner).merge(batch.refused());
            match fed {
                Err(Error::Device { .. }) => source.give_back(held, batch.next()),
                fed => fed?,
            }
        }
        while let Some(taken) = source.any(self, watch)? {
            let proof = Some(mixed(taken.numbers.start as u64));
            let mut batch = Batch::new(self.search, watch, BigUint::ZERO, proof)?;
            self.push(&taken, &mut batch, watch)?;
            batch.flush()?;
            refused.lock().unwrap_or_else(PoisonError::into_inner).merge(batch.refused());
        }
        Ok(())
    }

    /// Feeds candidates to a device in order until none is left. `held` collects those that may be unfinished if
    /// the device fails.
    fn feed<R: Read>(
        &self,
        batch: &mut Batch<'_>,
        source: &Source<'_, R>,
        held: &mut Vec<Taken>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        while let Some(taken) = source.take(self, watch)? {
            held.push(taken);
            if let Some(taken) = held.last() {
                self.push(taken, batch, watch)?;
            }
            // Words that give no candidate do not wait in the batch, so their chunks can be dropped.
            let held_bytes = held.iter().map(|taken| taken.chunk.len_bytes()).sum::<usize>();
            if batch.is_empty() || held_bytes > HELD_BYTES_MAX {
                batch.flush()?;
                held.clear();
            }
            held.retain(|taken| taken.numbers.end > batch.next());
        }
        if watch.should_stop() { Ok(()) } else { batch.flush() }
    }

    /// Adds candidates to a batch.
    fn push(&self, taken: &Taken, batch: &mut Batch<'_>, watch: &Watch<'_>) -> Result<(), Error> {
        let Taken { chunk, numbers } = taken;
        if numbers.is_empty() {
            return Ok(());
        }
        let is_plain = *numbers == self.changes.numbers(chunk) && self.changes.are_none();
        // This fits, as numbers are those of lines of this chunk.
        let mut line = (numbers.start / u128::from(self.changes.per_word())) as u64;
        let (mut words, mut maker) = (chunk.words(), Maker::new(self.changes));
        if let Some(before) = (line - chunk.first()).checked_sub(1) {
            words.nth(before as usize);
        }
        while self.changes.first(line) < numbers.end && !watch.should_stop() {
            // Keys in a uniform format are moved in groups, without a look at each word.
            let taken = if is_plain { batch.take(line.into(), &mut words)? as u64 } else { 0 };
            line += taken;
            if taken == 0 {
                let Some(word) = words.next() else { break };
                maker.each(chunk, (line, word), numbers, |number, made| {
                    let made = match made {
                        // A stopped search leaves out the rest of a word, which may have many candidates.
                        Ok(_) if watch.should_stop() => Ok(()),
                        Ok(candidate) => batch.push(number, candidate)?,
                        Err(refusal) => Err(refusal),
                    };
                    made.err().into_iter().for_each(|refusal| batch.refuse(refusal, line));
                    Ok::<_, Error>(())
                })?;
                line += 1;
            }
        }
        Ok(())
    }
}

impl<R: Read> Source<'_, R> {
    /// The next candidates of the list.
    fn take(&self, search: &WordSearch<'_>, watch: &Watch<'_>) -> Result<Option<Taken>, Error> {
        let is_left =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if is_left.is_err() {
            return Ok(None);
        }
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        while !watch.should_stop() {
            let Taken { chunk, numbers } = match list.untaken.take() {
                Some(taken) => taken,
                None if search.changes.first(list.next()) >= search.range.end => break,
                None => {
                    let Some(chunk) = list.chunk().map_err(Error::Words)? else { break };
                    let Range { start, end } = search.changes.numbers(&chunk);
                    let numbers = start.max(search.range.start)..end.min(search.range.end);
                    Taken { chunk: Arc::new(chunk), numbers }
                }
            };
            if numbers.is_empty() {
                continue;
            }
            let end = numbers.end.min(numbers.start.saturating_add(search.search.taken_at_once()));
            if end < numbers.end {
                list.untaken = Some(Taken { chunk: Arc::clone(&chunk), numbers: end..numbers.end });
            }
            return Ok(Some(Taken { chunk, numbers: numbers.start..end }));
        }
        Ok(None)
    }

    /// The next candidates, or some that were given back.
    fn any(&self, search: &WordSearch<'_>, watch: &Watch<'_>) -> Result<Option<Taken>, Error> {
        if watch.should_stop() {
            return Ok(None);
        }
        let back = self.back.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if back.is_some() { Ok(back) } else { self.take(search, watch) }
    }

    /// Gives back candidates, of which those from number `next` on were not tried.
    fn give_back(&self, held: Vec<Taken>, next: u128) {
        let rest =
            |Taken { chunk, numbers }: Taken| Taken { chunk, numbers: numbers.start.max(next)..numbers.end };
        self.back.lock().unwrap_or_else(PoisonError::into_inner).extend(held.into_iter().map(rest));
    }

    /// Whether nothing that was given back is waiting.
    fn is_done(&self) -> bool {
        self.back.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

impl fmt::Debug for WordSearch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WordSearch({:?}, {:?}, {:?})", self.changes, self.range, self.devices)
    }
}
