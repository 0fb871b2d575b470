//! Runs a search shard by shard: search, store found keys, record the shard as done.

use std::error::Error as _;
use std::io::{self, Write as _};
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossgrain::engine::text::grouped;
use crossgrain::plan::TableReuse;
use crossgrain_search::{BigUint, Deriving, Hit, Kdf, Known, Refused, Search, Watch, WordSearch};
use rayon::ThreadPoolBuilder;

use super::Outcome;
use super::args::Args;
use super::candidates::{Candidates, List};
use super::known::Sought;
use super::places::Places;
use super::results::Results;
use super::session::{ListFacts, Session, State};
use super::status::Status;
use crate::device::{Asked, searcher};
use crate::error::{self, Error};
use crate::input::shown;
use crate::interrupt;

/// Target duration of a shard: the most work that a kill can lose.
const SHARD: Duration = Duration::from_secs(3);

/// The most by which a shard's size grows over the last one.
const GROWTH: u64 = 8;

/// Candidates in the first shard of a quick search.
const QUICK_FIRST: u64 = 1 << 18;

/// Candidates in the first shard of a slow search.
const SLOW_FIRST: u64 = 16;

/// A reopened session and the contents of its journal.
type Restored = Option<(Session, State)>;

/// Starts a search, or continues a session.
pub(super) fn run(mut args: Args, restored: Restored) -> Result<Outcome, Error> {
    if args.output.as_deref() == Some(Path::new("-")) {
        return Err(Error::usage(
            "what is found is printed in any case: give --output a name, or leave it out",
        ));
    }
    let Sought { search, doubt, advice } = args.search(args.is_text())?;
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
    crossgrain::engine::ready();
    if args.device.len() > 1 && !args.device.iter().all(Asked::is_device) {
        return Err(Error::usage("cpu and auto stand alone: leave them out beside other devices"));
    }
    if let Some(doubt) = doubt {
        error::tell(&doubt);
        args.all = true;
    }
    let outcome = match candidates {
        Candidates::Space(space, range) => {
            let places = Places::new(&args.device, &search, &space, args.explain)?;
            journaled(&args, restored, &search, Work::Space(places, range))?
        }
        Candidates::Words(list) => {
            let devices = devices(&args.device, &search)?;
            journaled(&args, restored, &search, Work::Words(list, devices))?
        }
    };
    if let (Outcome::Exhausted, Some(advice)) = (outcome, advice) {
        error::tell(&advice);
    }
    Ok(outcome)
}

/// Starts this number of threads. If the system refuses, the calling thread does all work.
fn start_threads(count: u16) {
    let started = ThreadPoolBuilder::new().num_threads(count.into()).build_global();
    // Only the system's refusals have a source.
    let is_refused = started.is_err_and(|error| error.source().is_some());
    if is_refused && let Ok(pool) = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        // The thread works for the pool until the program ends, and cannot wait for itself.
        mem::forget(pool);
    }
}

/// The devices that derive keys from words.
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

/// The candidates and where they are tried.
enum Work<'a> {
    /// Candidates of a space with these numbers.
    Space(Places<'a>, Range<BigUint>),
    /// Candidates of a list, tried on the CPU and on these devices.
    Words(Box<List>, Vec<Deriving>),
}

impl Work<'_> {
    /// The number of candidates, if it is known.
    fn size(&self) -> Option<BigUint> {
        match self {
            Self::Space(_, range) => Some(&range.end - &range.start),
            Self::Words(list, _) => list.size(),
        }
    }

    /// The number of the first candidate.
    fn first(&self) -> BigUint {
        match self {
            Self::Space(_, range) => range.start.clone(),
            Self::Words(list, _) => BigUint::from(list.range.start),
        }
    }

    /// The name of the kernel that tries them.
    fn kernel(&self, search: &Search) -> String {
        match self {
            Self::Space(places, _) => places.current().kernel(),
            Self::Words(_, devices) => {
                let names = devices.iter().map(|device| device.name().to_owned());
                names.chain([search.kernel(TableReuse::Once)]).collect::<Vec<_>>().join(" and ")
            }
        }
    }
}

/// Searches, with the session's journal and the file of found keys.
fn journaled(args: &Args, restored: Restored, search: &Search, work: Work<'_>) -> Result<Outcome, Error> {
    if args.explain {
        explain(search, &work);
    }
    let journal = Journal::open(args, restored, &work)?;
    let results = Results::open(args).inspect_err(|_| {
        // A session that was not started would prevent the next one, and could not be continued.
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

/// The session, if there is one, and its progress.
#[derive(Default)]
struct Journal {
    session: Option<Session>,
    next: Option<BigUint>,
    /// Whether a key was found before `next`.
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
        // A search for one key, killed between its find and its end, has ended.
        let ended = outcome.or((is_found && !args.all).then_some(Outcome::Found));
        Ok(Self { session: Some(session), next, is_found, ended })
    }

    /// Records that all candidates before `next` were tried, and whether a key was found among them.
    fn note(&mut self, next: &BigUint, is_found: bool) -> Result<(), Error> {
        self.session.as_mut().map_or(Ok(()), |session| session.note(next, is_found))
    }
}

/// Searches while a thread prints the status and handles signals.
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
    let is_first_run = next == first;
    let status = Mutex::new(Status::new(&watch, &interrupted, &next - first, total, args.json));
    let searched = thread::scope(|scope| {
        let tell = || status.lock().unwrap_or_else(PoisonError::into_inner).run(&is_done);
        // If that thread cannot be created, the status is printed between shards.
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
        (false, true) if is_first_run && watch.tried() == 0 => Outcome::NothingTried,
        (false, true) => Outcome::Exhausted,
        (false, false) => Outcome::Aborted,
    };
    if outcome == Outcome::NothingTried {
        error::tell("0 candidates were tried: look at the list or mask, and at --skip, --limit and --shard");
    }
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

/// State that is common to all shards.
struct Steps<'a> {
    search: &'a Search,
    watch: &'a Watch<'a>,
    /// Whether a key was found and stored.
    is_found: &'a AtomicBool,
    /// Whether a find has ended the search.
    is_ended: &'a AtomicBool,
    results: &'a Results,
    /// The status, if no thread prints it.
    idle: Option<&'a Mutex<Status<'a>>>,
}

impl Steps<'_> {
    /// Searches a space shard by shard. Returns whether everything was tried.
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

    /// Searches a list shard by shard, from candidate `next` on. Returns whether everything was tried.
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

/// Prints the kernel, and the probability of false matches.
fn explain(search: &Search, work: &Work<'_>) {
    let many = work.size().map_or("an unknown number of".to_owned(), grouped);
    error::tell(&format!("kernel {}, {many} candidates", work.kernel(search)));
    if let Known::Blocks(blocks) = search.known() {
        let bits: u32 = blocks.pairs().iter().map(|pair| pair.known_bits()).sum();
        error::tell(&format!("{bits} bits are known: one wrong key in 2^{bits} fits too"));
    }
}

/// Prints one line for each kind of word that was rejected.
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
