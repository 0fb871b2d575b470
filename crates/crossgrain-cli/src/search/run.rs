//! Starts a search, observes it, and ends it with its outcome.

use std::error::Error as _;
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crossgrain::engine::text::grouped;
use crossgrain::plan::TableReuse;
use crossgrain_search::{BigUint, Hit, Known, Search, Spaces, Watch, WordDevice};
use rayon::ThreadPoolBuilder;

use super::Outcome;
use super::args::Args;
use super::candidates::{List, Source};
use super::facts::ListFacts;
use super::goals::Goals;
use super::journal::{Journal, Restored};
use super::known::Sought;
use super::places::{Devices, Places};
use super::pot::Pot;
use super::printed;
use super::results::Results;
use super::session::Session;
use super::status::Status;
use super::steps::{InSpaces, Steps};
use crate::error::{self, Error};
use crate::input::shown;
use crate::interrupt;

/// Starts a search, or continues a session.
pub(super) fn run(args: Args, restored: Restored) -> Result<Outcome, Error> {
    if args.output.as_deref() == Some(Path::new("-")) {
        return Err(Error::usage(
            "what is found is printed in any case: give --output a name, or leave it out",
        ));
    }
    if args.stdout {
        printed::print(args.candidates(args.unused())?)?;
        return Ok(Outcome::Found);
    }
    if args.keyspace && !args.has_target() {
        printed::print_count(&args.candidates(args.unused())?)?;
        return Ok(Outcome::Found);
    }
    let Sought { search, goals, advice } = args.search(args.is_text())?;
    if args.show {
        let (goals, pot) = (Goals::new(goals, &args), args.open_pot()?);
        Results::open(&args, &goals, pot)?.tell_pot()?;
        tell_missing(&goals);
        return Ok(if goals.are_found() { Outcome::Found } else { Outcome::Exhausted });
    }
    let candidates = args.candidates(args.used_in(&search))?;
    if let Source::Spaces(spaces, _) = &candidates.source {
        spaces.spaces().iter().try_for_each(|space| search.takes_length(space.len_bytes()))?;
    }
    if args.keyspace {
        printed::print_count(&candidates)?;
        return Ok(Outcome::Found);
    }
    args.threads.into_iter().for_each(start_threads);
    crossgrain::engine::ready();
    goals.iter().filter_map(|goal| goal.doubt.as_deref()).for_each(error::tell);
    let devices = Devices::open(&args.device)?;
    let setting =
        Setting { args: &args, search: &search, goals: Goals::new(goals, &args), facts: candidates.facts };
    let outcome = match candidates.source {
        Source::Spaces(spaces, range) => {
            let work = Work::spaces(&args, &search, &devices, (&spaces, range))?;
            journaled(&setting, restored, work)?
        }
        Source::Words(list) => {
            let devices = deriving(&devices, &search)?;
            journaled(&setting, restored, Work::Words(list, devices))?
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
fn deriving(devices: &Devices, search: &Search) -> Result<Vec<WordDevice>, Error> {
    if let (false, Err(why)) = (devices.opened.is_empty(), WordDevice::takes(search)) {
        error::tell(&format!("{why}: the CPU does"));
        return Ok(Vec::new());
    }
    Ok(devices.opened.iter().map(|device| WordDevice::new(search, &**device)).collect::<Result<_, _>>()?)
}

impl Args {
    /// The pot. Only a search may create it.
    fn open_pot(&self) -> Result<Option<Pot>, Error> {
        let Some(path) = &self.pot else { return Ok(None) };
        if self.show && !path.exists() {
            let told = format!("there is no file '{}': give --pot as in the earlier search", shown(path));
            return Err(Error::usage(told));
        }
        Pot::open(path).map(Some)
    }
}

/// The parts of a search that stay the same.
struct Setting<'a> {
    args: &'a Args,
    search: &'a Search,
    goals: Goals,
    facts: ListFacts,
}

/// The candidates and where they are tried.
enum Work<'a> {
    /// Candidates of spaces.
    Spaces(InSpaces<'a>),
    /// Candidates of a list, tried on the CPU and on these devices.
    Words(Box<List>, Vec<WordDevice>),
}

impl<'a> Work<'a> {
    fn spaces(
        args: &'a Args,
        search: &'a Search,
        devices: &'a Devices,
        (spaces, range): (&'a Spaces, Range<BigUint>),
    ) -> Result<Self, Error> {
        let first = spaces.parts(range.clone()).next().map(|part| part.space).or(spaces.spaces().first());
        let places = first.map(|space| Places::new(devices, search, space, args.explain)).transpose()?;
        Ok(Self::Spaces(InSpaces { args, search, devices, spaces, range, first: places }))
    }

    /// The number of candidates, if it is known.
    fn size(&self) -> Option<BigUint> {
        match self {
            Self::Spaces(InSpaces { range, .. }) => Some(&range.end - &range.start),
            Self::Words(list, _) => {
                let is_counted = list.range.end != u128::MAX;
                is_counted.then(|| BigUint::from(list.range.end - list.range.start))
            }
        }
    }

    /// The number of the first candidate.
    fn first(&self) -> BigUint {
        match self {
            Self::Spaces(InSpaces { range, .. }) => range.start.clone(),
            Self::Words(list, _) => BigUint::from(list.range.start),
        }
    }

    /// The name of the kernel that tries them.
    fn kernel(&self, search: &Search) -> String {
        match self {
            Self::Spaces(InSpaces { first: Some(places), .. }) => places.current().kernel(),
            Self::Spaces(_) => search.kernel(TableReuse::Often),
            Self::Words(_, devices) => {
                let names = devices.iter().map(|device| device.name().to_owned());
                names.chain([search.kernel(TableReuse::Once)]).collect::<Vec<_>>().join(" and ")
            }
        }
    }
}

/// Searches, with the session's journal and the files of found keys.
fn journaled(setting: &Setting<'_>, restored: Restored, work: Work<'_>) -> Result<Outcome, Error> {
    let Setting { args, search, goals, facts } = setting;
    if args.explain {
        explain(search, &work);
    }
    let pot = args.open_pot()?;
    let mut journal = Journal::open(args, restored, *facts)?;
    let results = Results::open(args, goals, pot).inspect_err(|_| {
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
    if goals.count() > 1 {
        results.recall();
    } else if journal.is_found {
        goals.find(0);
    }
    if results.tell_pot()? && goals.are_over() {
        error::tell("the pot has every key that is searched for: nothing was tried");
        journal.session.as_mut().map_or(Ok(()), |session| session.end(Outcome::Found))?;
        return Ok(Outcome::Found);
    }
    goals.closed().for_each(|target| search.finish(target));
    watched(setting, work, journal, &results)
}

/// Tells the end of a search, also if a thread of it panics: the thread with the status would never end otherwise.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Searches while a thread prints the status and handles signals.
fn watched(
    setting: &Setting<'_>,
    work: Work<'_>,
    mut journal: Journal,
    results: &Results<'_>,
) -> Result<Outcome, Error> {
    let Setting { args, search, goals, .. } = setting;
    let interrupted =
        interrupt::flag().map_err(|error| Error::usage(format!("no signal can be caught: {error}")))?;
    let (is_found, is_ended, is_done) =
        (AtomicBool::new(journal.is_found), AtomicBool::new(false), AtomicBool::new(false));
    let on_hit = |hit: Hit| {
        let is_kept = results.add(&hit);
        is_found.fetch_or(is_kept, Ordering::Relaxed);
        if is_kept && goals.find(hit.target) {
            search.finish(hit.target);
        }
        is_ended.fetch_or(!is_kept || goals.are_over(), Ordering::Relaxed);
    };
    let watch = Watch::new(&on_hit);
    let (total, first) = (work.size(), work.first());
    let next = journal.next.clone().unwrap_or_else(|| first.clone()).max(first.clone());
    let is_first_run = next == first;
    let status = Status::new(&watch, &interrupted, &next - first, total, args);
    let status = Mutex::new(status);
    let searched = thread::scope(|scope| {
        let tell = || status.lock().unwrap_or_else(PoisonError::into_inner).run(&is_done);
        // If that thread cannot be created, the status is printed between shards.
        let teller = thread::Builder::new().spawn_scoped(scope, tell).ok();
        let idle = if teller.is_none() { Some(&status) } else { None };
        let done = Done(&is_done);
        let steps = Steps { search, watch: &watch, is_found: &is_found, is_ended: &is_ended, results, idle };
        let searched = match work {
            Work::Spaces(spaces) => steps.spaces(spaces, next, &mut journal),
            Work::Words(list, devices) => steps.words(*list, &devices, &next, &mut journal),
        };
        drop(done);
        if let Some(teller) = teller {
            teller.thread().unpark();
        } else {
            status.lock().unwrap_or_else(PoisonError::into_inner).end();
        }
        searched
    });
    results.checked()?;
    let is_exhausted = searched?;
    journal.finish()?;
    let is_out_of_time = status.lock().unwrap_or_else(PoisonError::into_inner).is_out_of_time();
    let is_ended = is_ended.load(Ordering::Relaxed);
    tell_missing(goals);
    let outcome = match (goals.are_found(), is_exhausted) {
        (true, _) => Outcome::Found,
        (false, true) if is_first_run && watch.tried() == 0 => Outcome::NothingTried,
        (false, true) => Outcome::Exhausted,
        (false, false) if is_out_of_time => Outcome::OutOfTime,
        (false, false) => Outcome::Aborted,
    };
    if outcome == Outcome::NothingTried {
        error::tell("0 candidates were tried: look at the list or mask, and at --skip, --limit and --shard");
    }
    match &mut journal.session {
        Some(session) if is_exhausted || is_ended => session.end(outcome)?,
        Some(_) => tell_restore(args),
        None if matches!(outcome, Outcome::Aborted | Outcome::OutOfTime) => {
            error::tell("stopped before the end: what was tried is not kept without --session");
        }
        None => {}
    }
    if outcome == Outcome::Exhausted {
        error::tell(&exhausted(args, goals, is_first_run.then(|| watch.tried())));
    }
    Ok(outcome)
}

/// Prints how many of several targets are found, if that is too few.
fn tell_missing(goals: &Goals) {
    if goals.count() > 1 && !goals.are_found() {
        error::tell(&format!("{} of {} targets are found", goals.found_count(), goals.count()));
    }
}

/// The end of a search that found no key, or not all. `tried` is the number of candidates if one run tried them all.
fn exhausted(args: &Args, goals: &Goals, tried: Option<u64>) -> String {
    let tried = match (args.is_part(), tried) {
        (false, _) => "every candidate was tried".to_owned(),
        (true, None) => "every candidate of this part was tried".to_owned(),
        (true, Some(tried)) => format!("{} candidates were tried", grouped(tried)),
    };
    if goals.count() == 1 { format!("{tried}, and none is the key") } else { tried }
}

fn tell_restore(args: &Args) {
    if let Some(name) = &args.session {
        error::tell(&format!("stopped before the end: go on with --session {} --restore", shown(name)));
    }
}

/// Prints the kernel, and the probability of false matches.
fn explain(search: &Search, work: &Work<'_>) {
    let many = work.size().map_or("an unknown number of".to_owned(), grouped);
    error::tell(&format!("kernel {}, {many} candidates", work.kernel(search)));
    if let Known::Blocks(blocks) = search.known() {
        let bits = blocks.known_bits();
        error::tell(&format!("{bits} bits are known: one wrong key in 2^{bits} fits too"));
    }
}
