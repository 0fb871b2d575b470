//! Searches shard by shard, and records every finished shard.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossgrain_search::{
    BigUint, Changes, InSpace, Kdf, Known, Refused, Search, Spaces, Watch, WordDevice, WordSearch,
};

use super::args::Args;
use super::candidates::{List, tell_refused};
use super::journal::Journal;
use super::places::{Devices, Places};
use super::results::Results;
use super::status::Status;
use crate::error::{self, Error};

/// Target duration of a shard: the most work that a kill can lose.
const SHARD: Duration = Duration::from_secs(3);

/// The most by which a shard's size grows over the last one.
const GROWTH: u64 = 8;

/// Candidates in the first shard of a quick search.
const QUICK_FIRST: u64 = 1 << 18;

/// Candidates in the first shard of a slow search.
const SLOW_FIRST: u64 = 16;

/// Candidates of spaces with these numbers.
pub(super) struct InSpaces<'a> {
    pub(super) args: &'a Args,
    pub(super) search: &'a Search,
    pub(super) devices: &'a Devices,
    pub(super) spaces: &'a Spaces,
    pub(super) range: Range<BigUint>,
    /// The places of the first space with candidates. They are prepared before the session begins, so that a
    /// device that cannot search leaves no session behind.
    pub(super) first: Option<Places<'a>>,
}

/// State that is common to all shards.
pub(super) struct Steps<'a> {
    pub(super) search: &'a Search,
    pub(super) watch: &'a Watch<'a>,
    /// Whether a key was found and stored.
    pub(super) is_found: &'a AtomicBool,
    /// Whether a find has ended the search.
    pub(super) is_ended: &'a AtomicBool,
    pub(super) results: &'a Results<'a>,
    /// The status, if no thread prints it.
    pub(super) idle: Option<&'a Mutex<Status<'a>>>,
}

impl Steps<'_> {
    /// Searches spaces one after the other, from candidate `next` on. Returns whether everything was tried.
    pub(super) fn spaces(
        &self,
        spaces: InSpaces<'_>,
        next: BigUint,
        journal: &mut Journal,
    ) -> Result<bool, Error> {
        let InSpaces { args, search, devices, spaces, range, mut first } = spaces;
        let is_first = |space: &_| {
            spaces.parts(range.clone()).next().is_some_and(|part| std::ptr::eq(part.space, space))
        };
        let mut pace = self.first_pace();
        for part in spaces.parts(next..range.end.clone()) {
            let places = match first.take_if(|_| is_first(part.space)) {
                Some(places) => places,
                None => Places::new(devices, search, part.space, args.explain)?,
            };
            let after = &range.end - &part.first - &part.numbers.end;
            self.watch.begin_at(part.first.clone());
            if !self.space(places, part, &after, &mut pace, journal)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Searches a space shard by shard; `after` candidates of other spaces follow. Returns whether everything was
    /// tried.
    fn space(
        &self,
        mut places: Places<'_>,
        part: InSpace<'_>,
        after: &BigUint,
        pace: &mut Pace,
        journal: &mut Journal,
    ) -> Result<bool, Error> {
        let mut rest = part.numbers;
        while rest.start < rest.end && !self.is_over() {
            let place = places.current();
            let end = place.whole(&(&rest.start + pace.count)).min(rest.end.clone());
            let shard = rest.start.clone()..end;
            let (timer, before) = (Timer::start(self.watch), self.watch.tried());
            if !place.shard(&shard, self.watch)? {
                return Ok(false);
            }
            let (time, count) = (timer.elapsed(), self.watch.tried() - before);
            // A shard that was cut short by the end of its space says little about the speed.
            if shard.end < rest.end || count >= pace.count {
                pace.took(time);
            }
            self.note(journal, &(&part.first + &shard.end))?;
            rest.start = shard.end;
            if places.took(count, time, &(&rest.end - &rest.start + after)) {
                pace.count = (pace.count / GROWTH).max(self.first_pace().count);
            }
        }
        Ok(rest.start >= rest.end)
    }

    fn first_pace(&self) -> Pace {
        Pace::new(if is_quick(self.search) { QUICK_FIRST } else { SLOW_FIRST })
    }

    /// Searches a list shard by shard, from candidate `next` on. Returns whether everything was tried.
    pub(super) fn words(
        &self,
        list: List,
        devices: &[WordDevice],
        next: &BigUint,
        journal: &mut Journal,
    ) -> Result<bool, Error> {
        let List { words, rules, affixes, range } = list;
        let range = u128::try_from(next).unwrap_or(u128::MAX).max(range.start)..range.end;
        let end = range.end;
        let search =
            WordSearch::changed(self.search, Changes::combined(&rules, &affixes)?, range).on(devices);
        let (words, refused) = (Mutex::new(words), Mutex::new(Refused::default()));
        let position = || search.next(&words.lock().unwrap_or_else(PoisonError::into_inner));
        let mut pace = Pace::new(4 * rayon::current_num_threads() as u64);
        let mut is_exhausted = false;
        while !is_exhausted && !self.is_over() {
            let (before, timer) = (position(), Timer::start(self.watch));
            let chunks = usize::try_from(pace.count).unwrap_or(usize::MAX);
            let is_done = search.chunks(&words, chunks, &refused, self.watch)?;
            for failure in devices.iter().filter_map(WordDevice::failure) {
                error::tell(&format!("{failure}: the CPU goes on"));
            }
            if !is_done {
                break;
            }
            pace.took(timer.elapsed());
            let after = position();
            is_exhausted = after == before;
            self.note(journal, &BigUint::from(after.min(end)))?;
        }
        let words = words.into_inner().unwrap_or_else(PoisonError::into_inner);
        tell_refused(&refused.into_inner().unwrap_or_else(PoisonError::into_inner));
        if words.is_cut() {
            error::tell("the word list ends within a line: if that was cut off, the last word is not whole");
        }
        Ok(is_exhausted)
    }

    /// Records that all candidates before `next` were tried. Fails if a key among them could not be stored,
    /// because a later run would not find it again.
    fn note(&self, journal: &mut Journal, next: &BigUint) -> Result<(), Error> {
        self.results.checked()?;
        journal.note(next, self.is_found.load(Ordering::Relaxed))
    }

    /// Whether the search should stop early.
    fn is_over(&self) -> bool {
        if let Some(status) = self.idle {
            status.lock().unwrap_or_else(PoisonError::into_inner).tick();
        }
        self.watch.is_stopped() || self.is_ended.load(Ordering::Relaxed)
    }
}

/// Measures the time of a shard, without pauses.
struct Timer<'a> {
    watch: &'a Watch<'a>,
    start: Instant,
    paused: Duration,
}

impl<'a> Timer<'a> {
    fn start(watch: &'a Watch<'a>) -> Self {
        Self { watch, start: Instant::now(), paused: watch.paused() }
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed().saturating_sub(self.watch.paused() - self.paused)
    }
}

/// The amount of work in a shard.
struct Pace {
    count: u64,
}

impl Pace {
    const fn new(first: u64) -> Self {
        Self { count: first }
    }

    /// Adjusts the next shard to the target duration.
    fn took(&mut self, time: Duration) {
        let fits = self.count as f64 * SHARD.as_secs_f64() / time.as_secs_f64().max(1e-6);
        self.count = (fits as u64).clamp(1, self.count.saturating_mul(GROWTH));
    }
}

/// Whether trying a key costs less than about a microsecond.
const fn is_quick(search: &Search) -> bool {
    matches!(
        (search.known(), search.kdf()),
        (Known::Blocks(_), Kdf::Exact | Kdf::Zeros | Kdf::Repeat | Kdf::Sha256)
    )
}
