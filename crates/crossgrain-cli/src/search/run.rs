//! From shard to shard: search, keep what was found, note that the shard is done.

use std::error::Error as _;
use std::io::{self, Write as _};
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossgrain::internal::text::grouped;
use crossgrain::plan::Use;
use crossgrain_search::{BigUint, Deriving, Hit, Kdf, Known, Refused, Search, Watch, WordSearch};
use rayon::ThreadPoolBuilder;

use super::Outcome;
use super::args::Args;
use super::candidates::{Candidates, List};
use super::places::Places;
use super::results::Results;
use super::session::{ListFacts, Session, State};
use super::status::Status;
use crate::device::{Asked, searcher};
use crate::error::{self, Error};
use crate::input::shown;
use crate::interrupt;

/// A shard lasts about so long: what a kill costs at most.
const SHARD: Duration = Duration::from_secs(3);

/// A shard grows no faster than this from one to the next.
const GROWTH: u64 = 8;

/// The first shard of a quick search, in candidates.
const QUICK_FIRST: u64 = 1 << 18;

/// The first shard of a slow one.
const SLOW_FIRST: u64 = 16;

/// A session that is gone on with, and what its journal says.
type Restored = Option<(Session, State)>;

/// Searches as typed, or goes on with a session.
pub(super) fn run(args: &Args, restored: Restored) -> Result<Outcome, Error> {
    if args.output.as_deref() == Some(Path::new("-")) {
        return Err(Error::usage(
            "what is found is printed in any case: give --output a name, or leave it out",
        ));
    }
    let search = args.search(args.is_text())?;
    let candidates = args.candidates(&search)?;
    if args.keyspace {
        let mut out = io::stdout();
        let size = match &candidates {
            Candidates::Space(_, range) => Some(&range.end - &range.start),
            Candidates::Words(list) => list.size(),
        };
        let told = writeln!(out, "{}", size.unwrap_or_default()).and_then(|()| out.flush());
        told.map_err(|error| Error::write("standard output", &error))?;
        return Ok(Outcome::Found);
    }
    args.threads.into_iter().for_each(start_threads);
    crossgrain::internal::ready();
    if args.device.len() > 1 && !args.device.iter().all(Asked::is_device) {
        return Err(Error::usage("cpu and auto stand alone: leave them out beside other devices"));
    }
    match candidates {
        Candidates::Space(space, range) => {
            let places = Places::new(&args.device, &search, &space, args.explain)?;
            journaled(args, restored, &search, Work::Space(places, range))
        }
        Candidates::Words(list) => {
            let devices = devices(&args.device, &search)?;
            journaled(args, restored, &search, Work::Words(list, devices))
        }
    }
}

/// Starts so many threads. If the system refuses, the calling thread does all work.
fn start_threads(count: u16) {
    let started = ThreadPoolBuilder::new().num_threads(count.into()).build_global();
    // Only the system's refusals have a cause.
    let is_refused = started.is_err_and(|error| error.source().is_some());
    if is_refused && let Ok(pool) = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        // The thread works for the pool until it ends, and cannot wait for itself.
        mem::forget(pool);
    }
}

/// The devices that derive keys of words.
fn devices(asked: &[Asked], search: &Search) -> Result<Vec<Deriving>, Error> {
    let mut devices = Vec::new();
    for asked in asked {
        let Asked::Device(id) = asked else { continue };
        let device = searcher(id)?;
        if let Err(why) = Deriving::takes(search) {
            error::tell(&format!("{why}: the CPU does"));
            return Ok(Vec::new());
        }
        devices.push(Deriving::new(search, &*device)?);
    }
    Ok(devices)
}

/// What is tried, and where.
enum Work<'a> {
    /// Candidates of a space with these numbers.
    Space(Places<'a>, Range<BigUint>),
    /// Those of a list, by these devices beside the CPU.
    Words(Box<List>, Vec<Deriving>),
}

impl Work<'_> {
    /// How many candidates there are, if that is known.
    fn size(&self) -> Option<BigUint> {
        match self {
            Self::Space(_, range) => Some(&range.end - &range.start),
            Self::Words(list, _) => list.size(),
        }
    }

    /// The number of the first.
    fn first(&self) -> BigUint {
        match self {
            Self::Space(_, range) => range.start.clone(),
            Self::Words(list, _) => BigUint::from(list.range.start),
        }
    }

    /// What tries them.
    fn kernel(&self, search: &Search) -> String {
        match self {
            Self::Space(places, _) => places.current().kernel(),
            Self::Words(_, devices) => {
                let names = devices.iter().map(|device| device.name().to_owned());
                names.chain([search.kernel(Use::Once)]).collect::<Vec<_>>().join(" and ")
            }
        }
    }
}

/// Searches with what is kept of it.
fn journaled(args: &Args, restored: Restored, search: &Search, work: Work<'_>) -> Result<Outcome, Error> {
    if args.explain {
        explain(search, &work);
    }
    let journal = Journal::open(args, restored, &work)?;
    let results = Results::open(args).inspect_err(|_| {
        // One that was not begun would be in the way, and could not be gone on with either.
        journal.session.iter().filter(|_| !args.restore).for_each(Session::remove);
    })?;
    if journal.is_found || journal.ended.is_some() {
        results.tell_kept()?;
    }
    if let Some(outcome) = journal.ended {
        error::tell("the session has ended already: nothing is left to be searched");
        return Ok(outcome);
    }
    watched(args, search, work, journal, &results)
}

/// A session, if there is one, and where to go on.
#[derive(Default)]
struct Journal {
    session: Option<Session>,
    next: Option<BigUint>,
    /// Whether a key was found before.
    is_found: bool,
    ended: Option<Outcome>,
}

impl Journal {
    fn open(args: &Args, restored: Restored, work: &Work<'_>) -> Result<Self, Error> {
        let Some(name) = &args.session else {
            return Ok(Self::default());
        };
        let list = match work {
            Work::Words(list, _) => list.facts,
            Work::Space(..) => ListFacts::default(),
        };
        let Some((session, State { list: was, next, is_found, outcome, .. })) = restored else {
            let typed = std::env::args_os().skip(2).map(|argument| argument.into_string().ok());
            let typed = typed.collect::<Option<Vec<_>>>();
            let typed = typed
                .ok_or_else(|| Error::usage("a session keeps arguments that are text: rename the files"))?;
            let session = Session::create(name, &typed, list)?;
            return Ok(Self { session: Some(session), ..Self::default() });
        };
        list.check(was)?;
        // One that was killed between its find and its end has ended.
        let ended = outcome.or((is_found && !args.all).then_some(Outcome::Found));
        Ok(Self { session: Some(session), next, is_found, ended })
    }

    /// Everything before `next` was tried, and a key was found there or not.
    fn note(&mut self, next: &BigUint, is_found: bool) -> Result<(), Error> {
        self.session.as_mut().map_or(Ok(()), |session| session.note(next, is_found))
    }
}

/// Searches while somebody watches.
fn watched(
    args: &Args,
    search: &Search,
    work: Work<'_>,
    mut journal: Journal,
    results: &Results,
) -> Result<Outcome, Error> {
    let interrupted =
        interrupt::flag().map_err(|error| Error::usage(format!("no signal can be caught: {error}")))?;
    let (is_found, is_ended, is_done) =
        (AtomicBool::new(journal.is_found), AtomicBool::new(false), AtomicBool::new(false));
    let on_hit = |hit: Hit| {
        let is_kept = results.add(&hit);
        is_found.fetch_or(is_kept, Ordering::Relaxed);
        is_ended.fetch_or(!is_kept || !args.all, Ordering::Relaxed);
    };
    let watch = Watch::new(&on_hit);
    let (total, first) = (work.size(), work.first());
    let next = journal.next.clone().unwrap_or_else(|| first.clone()).max(first.clone());
    let status = Mutex::new(Status::new(&watch, &interrupted, &next - first, total, args.json));
    let searched = thread::scope(|scope| {
        let tell = || status.lock().unwrap_or_else(PoisonError::into_inner).run(&is_done);
        // Without a thread of its own, the status is told between shards.
        let teller = thread::Builder::new().spawn_scoped(scope, tell).ok();
        let idle = if teller.is_none() { Some(&status) } else { None };
        let steps = Steps { search, watch: &watch, is_found: &is_found, is_ended: &is_ended, results, idle };
        let searched = match work {
            Work::Space(places, range) => steps.space(places, next..range.end, &mut journal),
            Work::Words(list, devices) => steps.words(*list, &devices, &next, &mut journal),
        };
        is_done.store(true, Ordering::Release);
        if let Some(teller) = teller {
            teller.thread().unpark();
        } else {
            status.lock().unwrap_or_else(PoisonError::into_inner).end();
        }
        searched
    });
    results.checked()?;
    let is_exhausted = searched?;
    let (is_found, is_ended) = (is_found.load(Ordering::Relaxed), is_ended.load(Ordering::Relaxed));
    let outcome = match (is_found, is_exhausted) {
        (true, _) => Outcome::Found,
        (false, true) => Outcome::Exhausted,
        (false, false) => Outcome::Aborted,
    };
    match &mut journal.session {
        Some(session) if is_exhausted || is_ended => session.end(outcome)?,
        Some(_) => tell_restore(args),
        None if outcome == Outcome::Exhausted => {
            error::tell("every candidate was tried, and none is the key")
        }
        None if outcome == Outcome::Aborted => {
            error::tell("stopped before the end: what was tried is not kept without --session");
        }
        None => {}
    }
    Ok(outcome)
}

fn tell_restore(args: &Args) {
    if let Some(name) = &args.session {
        error::tell(&format!("stopped before the end: go on with --session {} --restore", shown(name)));
    }
}

/// What goes on from shard to shard.
struct Steps<'a> {
    search: &'a Search,
    watch: &'a Watch<'a>,
    /// Whether a key was found and kept.
    is_found: &'a AtomicBool,
    /// Whether a find has ended it.
    is_ended: &'a AtomicBool,
    results: &'a Results,
    /// The status, if no thread tells it.
    idle: Option<&'a Mutex<Status<'a>>>,
}

impl Steps<'_> {
    /// Shards of a space, until it is over; whether everything was tried.
    fn space(
        &self,
        mut places: Places<'_>,
        mut rest: Range<BigUint>,
        journal: &mut Journal,
    ) -> Result<bool, Error> {
        let first = if is_quick(self.search) { QUICK_FIRST } else { SLOW_FIRST };
        let mut pace = Pace::new(first);
        while rest.start < rest.end && !self.is_over() {
            let place = places.current();
            let end = place.whole(&(&rest.start + pace.count)).min(rest.end.clone());
            let shard = rest.start.clone()..end;
            let (start, before) = (Instant::now(), self.watch.tried());
            if !place.shard(&shard, self.watch)? {
                return Ok(false);
            }
            let time = start.elapsed();
            pace.took(time);
            self.note(journal, &shard.end)?;
            rest.start = shard.end;
            if places.took(self.watch.tried() - before, time, &(&rest.end - &rest.start)) {
                pace = Pace::new((pace.count / GROWTH).max(first));
            }
        }
        Ok(rest.start >= rest.end)
    }

    /// Shards of a list, from candidate `next` on; whether everything was tried.
    fn words(
        &self,
        list: List,
        devices: &[Deriving],
        next: &BigUint,
        journal: &mut Journal,
    ) -> Result<bool, Error> {
        let List { words, rules, range, .. } = list;
        let range = u128::try_from(next).unwrap_or(u128::MAX).max(range.start)..range.end;
        let end = range.end;
        let search = WordSearch::new(self.search, &rules, range).on(devices);
        let (words, refused) = (Mutex::new(words), Mutex::new(Refused::default()));
        let position = || words.lock().unwrap_or_else(PoisonError::into_inner).next();
        let mut pace = Pace::new(4 * rayon::current_num_threads() as u64);
        let mut is_exhausted = false;
        while !is_exhausted && !self.is_over() {
            let (before, start) = (position(), Instant::now());
            let chunks = usize::try_from(pace.count).unwrap_or(usize::MAX);
            let is_done = search.chunks(&words, chunks, &refused, self.watch)?;
            for failure in devices.iter().filter_map(Deriving::failure) {
                error::tell(&format!("{failure}: the CPU goes on"));
            }
            if !is_done {
                break;
            }
            pace.took(start.elapsed());
            let after = position();
            is_exhausted = after == before;
            let number = (u128::from(after) * rules.len() as u128).min(end);
            self.note(journal, &BigUint::from(number))?;
        }
        let words = words.into_inner().unwrap_or_else(PoisonError::into_inner);
        tell_refused(&refused.into_inner().unwrap_or_else(PoisonError::into_inner), words.is_cut());
        Ok(is_exhausted)
    }

    /// Notes that everything before `next` was tried: not where a key was found and could not be kept, which would be found no more.
    fn note(&self, journal: &mut Journal, next: &BigUint) -> Result<(), Error> {
        self.results.checked()?;
        journal.note(next, self.is_found.load(Ordering::Relaxed))
    }

    /// Whether to end before the end.
    fn is_over(&self) -> bool {
        if let Some(status) = self.idle {
            status.lock().unwrap_or_else(PoisonError::into_inner).tick();
        }
        self.watch.is_stopped() || self.is_ended.load(Ordering::Relaxed)
    }
}

/// How much is done at a time.
struct Pace {
    count: u64,
}

impl Pace {
    const fn new(first: u64) -> Self {
        Self { count: first }
    }

    /// The next one is to last as long as a shard should.
    fn took(&mut self, time: Duration) {
        let fits = self.count as f64 * SHARD.as_secs_f64() / time.as_secs_f64().max(1e-6);
        self.count = (fits as u64).clamp(1, self.count.saturating_mul(GROWTH));
    }
}

/// Whether a key costs less than a microsecond or so.
const fn is_quick(search: &Search) -> bool {
    matches!(
        (search.known(), search.kdf()),
        (Known::Blocks(_), Kdf::Exact | Kdf::Zeros | Kdf::Repeat | Kdf::Sha256)
    )
}

/// Tells what runs.
fn explain(search: &Search, work: &Work<'_>) {
    let many = work.size().map_or("an unknown number of".to_owned(), grouped);
    error::tell(&format!("kernel {}, {many} candidates", work.kernel(search)));
    if let Known::Blocks(blocks) = search.known() {
        let bits: u32 = blocks.pairs().iter().map(|pair| pair.known_bits()).sum();
        error::tell(&format!("{bits} bits are known: one wrong key in 2^{bits} fits too"));
    }
}

/// One line for each kind of word that was left out.
fn tell_refused(refused: &Refused, is_cut: bool) {
    for (refusal, count, first) in refused.iter() {
        let reason = refusal.reason();
        error::tell(&format!(
            "{} candidates were left out, being {reason} for a key (the first is of word {first})",
            grouped(count)
        ));
    }
    if is_cut {
        error::tell("the word list ends within a line: if that was cut off, the last word is not whole");
    }
}
