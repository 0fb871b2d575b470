//! Searches the words of a list under rules, on all threads and on devices that derive keys.
//!
//! All threads take chunks from one list. A normal thread searches one chunk at a time. A thread that feeds a
//! device takes as many words as the device prefers. If the device fails, the chunks that it did not finish
//! are given back, and other threads take them. Invariant: each candidate is tried and counted exactly once,
//! even if devices fail.

use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::batch::Batch;
use super::deriving::Deriving;
use super::job::mixed;
use super::words::{Refused, Words};
use super::{Chunk, Error, Rule, Search, Watch};
use crossgrain::engine as pool;

/// The most bytes of a list that are held for a device.
const HELD_BYTES_MAX: usize = 1 << 26;

/// A search of words, with the data that all its chunks share.
pub struct WordSearch<'a> {
    search: &'a Search,
    rules: &'a [Rule],
    range: Range<u128>,
    devices: &'a [Deriving],
}

/// A chunk taken by a thread.
struct Taken {
    chunk: Chunk,
    /// Candidates with a number below this were tried.
    next: u128,
}

/// The source of chunks.
struct Source<'a, R> {
    list: &'a Mutex<Words<R>>,
    /// The number of chunks that may still be taken.
    left: AtomicU64,
    /// Chunks that failed devices gave back.
    back: Mutex<Vec<Taken>>,
}

impl<'a> WordSearch<'a> {
    /// A search of the words of a list under all rules. Candidates are numbered word by word, and within a
    /// word rule by rule. Only numbers in `range` are tried.
    pub const fn new(search: &'a Search, rules: &'a [Rule], range: Range<u128>) -> Self {
        Self { search, rules, range, devices: &[] }
    }

    /// The same search with devices that derive keys in addition to the CPU.
    #[must_use]
    pub const fn on(self, devices: &'a [Deriving]) -> Self {
        Self { devices, ..self }
    }

    /// Searches up to `chunks` chunks of a list.
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
                let device = Deriving::fed_by(self.devices, thread.index(), thread.num_threads());
                self.thread(device, &source, refused, watch)
            });
            done.into_iter().collect::<Result<(), Error>>()?;
            // A device may have given chunks back after the other threads had finished.
            if source.is_done() || watch.is_stopped() {
                return Ok(!watch.is_stopped());
            }
        }
    }

    /// The work of one thread, until no chunk is left. Afterwards no key remains on its stack.
    fn thread<R: Read>(
        &self,
        device: Option<&Deriving>,
        source: &Source<'_, R>,
        refused: &Mutex<Refused>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        pool::wiping_deep_stack(|| self.until_done(device, source, refused, watch))
    }

    fn until_done<R: Read>(
        &self,
        device: Option<&Deriving>,
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
            let proof = Some(mixed(taken.chunk.first()));
            let mut batch = Batch::new(self.search, watch, BigUint::ZERO, proof)?;
            self.push(&taken, &mut batch, watch)?;
            batch.flush()?;
            refused.lock().unwrap_or_else(PoisonError::into_inner).merge(batch.refused());
        }
        Ok(())
    }

    /// Feeds chunks to a device in order until none is left. `held` collects the chunks that may be
    /// unfinished if the device fails.
    fn feed<R: Read>(
        &self,
        batch: &mut Batch<'_>,
        source: &Source<'_, R>,
        held: &mut Vec<Taken>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        while let Some(chunk) = source.chunk(self, watch)? {
            held.push(Taken { chunk, next: 0 });
            if let Some(taken) = held.last() {
                self.push(taken, batch, watch)?;
            }
            // Words that give no candidate do not wait in the batch, so their chunks can be dropped.
            let held_bytes = held.iter().map(|taken| taken.chunk.len_bytes()).sum::<usize>();
            if batch.is_empty() || held_bytes > HELD_BYTES_MAX {
                batch.flush()?;
                held.clear();
            }
            held.retain(|taken| self.numbers(&taken.chunk).end > batch.next());
        }
        if watch.is_stopped() { Ok(()) } else { batch.flush() }
    }

    /// The numbers of a chunk's candidates.
    fn numbers(&self, chunk: &Chunk) -> Range<u128> {
        let number = |line: u64| u128::from(line) * self.rules.len() as u128;
        number(chunk.first())..number(chunk.first() + chunk.count())
    }

    /// Adds the candidates of a chunk to a batch.
    fn push(&self, taken: &Taken, batch: &mut Batch<'_>, watch: &Watch<'_>) -> Result<(), Error> {
        let Taken { chunk, next } = taken;
        let (numbers, range) = (self.numbers(chunk), self.range.start.max(*next)..self.range.end);
        if numbers.end <= range.start || numbers.start >= range.end {
            return Ok(());
        }
        let is_plain =
            range.start <= numbers.start && numbers.end <= range.end && self.rules == [Rule::nothing()];
        let mut made =
            Made { rules: self.rules, range, bytes: Zeroizing::default(), candidate: Zeroizing::default() };
        let (mut words, mut line) = (chunk.words(), chunk.first());
        while !watch.is_stopped() {
            // Keys in a uniform format are moved in groups, without a look at each word.
            let taken = if is_plain { batch.take(line.into(), &mut words)? as u64 } else { 0 };
            line += taken;
            if taken == 0 {
                let Some(word) = words.next() else { break };
                made.push(chunk, word, line, batch)?;
                line += 1;
            }
        }
        Ok(())
    }
}

impl<R: Read> Source<'_, R> {
    /// The next chunk of the list, if it has candidates to be searched.
    fn chunk(&self, search: &WordSearch<'_>, watch: &Watch<'_>) -> Result<Option<Chunk>, Error> {
        let is_left =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let past = u128::from(list.next()) * search.rules.len() as u128 >= search.range.end;
        if is_left.is_err() || past || watch.is_stopped() {
            return Ok(None);
        }
        list.chunk().map_err(Error::Words)
    }

    /// The next chunk, or one that was given back.
    fn any(&self, search: &WordSearch<'_>, watch: &Watch<'_>) -> Result<Option<Taken>, Error> {
        if watch.is_stopped() {
            return Ok(None);
        }
        let back = self.back.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match back {
            Some(taken) => Ok(Some(taken)),
            None => Ok(self.chunk(search, watch)?.map(|chunk| Taken { chunk, next: 0 })),
        }
    }

    /// Gives back chunks whose candidates from `next` on were not tried.
    fn give_back(&self, held: Vec<Taken>, next: u128) {
        let back = held.into_iter().map(|taken| Taken { next, ..taken });
        self.back.lock().unwrap_or_else(PoisonError::into_inner).extend(back);
    }

    /// Whether no chunk that was given back is waiting.
    fn is_done(&self) -> bool {
        self.back.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// Applies rules to words. The buffers are reused from word to word.
struct Made<'a> {
    rules: &'a [Rule],
    range: Range<u128>,
    bytes: Zeroizing<Vec<u8>>,
    candidate: Zeroizing<Vec<u8>>,
}

impl Made<'_> {
    /// Adds the candidates made from a word to a batch.
    fn push(&mut self, chunk: &Chunk, word: &[u8], line: u64, batch: &mut Batch<'_>) -> Result<(), Error> {
        let Self { rules, range, bytes, candidate } = self;
        let per_word = rules.len() as u128;
        let first = u128::from(line) * per_word;
        if first >= range.end || first + per_word <= range.start {
            return Ok(());
        }
        let word = match chunk.read(word, bytes) {
            Ok(word) => word,
            Err(refusal) => {
                batch.refuse(refusal, line);
                return Ok(());
            }
        };
        for (number, rule) in (first..).zip(*rules) {
            if !range.contains(&number) {
                continue;
            }
            let made = if rule.is_nothing() {
                batch.push(number, word)?
            } else if rule.apply(word, candidate) {
                batch.push(number, candidate)?
            } else {
                continue;
            };
            if let Err(refusal) = made {
                batch.refuse(refusal, line);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for WordSearch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WordSearch({} rules, {:?}, {:?})", self.rules.len(), self.range, self.devices)
    }
}
