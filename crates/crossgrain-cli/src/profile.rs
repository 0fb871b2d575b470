//! How a run divides its time, thread by thread: reading, computing, writing, waiting.
//!
//! A thread does one of these at a time, from one change to the next, so its parts add up to the time between its beginning and its
//! end; what comes before the first thread and after the last is counted apart. Without `--profile` no clock is read.

use std::cell::RefCell;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::error;

/// What a thread does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Activity {
    /// It reads input.
    Read,
    /// It encrypts or decrypts.
    Compute,
    /// It writes output.
    Write,
    /// It waits for input, a buffer or another thread.
    Wait,
}

/// The names of the activities, in their order.
const NAMES: [&str; 4] = ["reading", "computing", "writing", "waiting"];

/// A thread's time.
#[derive(Clone, Copy)]
struct Times {
    begun: Instant,
    since: Instant,
    activity: Activity,
    parts: [Duration; NAMES.len()],
}

/// When the run began, if a profile is wanted.
static WANTED: OnceLock<Instant> = OnceLock::new();

/// The threads that have ended.
static ENDED: Mutex<Vec<Times>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: RefCell<Option<Times>> = const { RefCell::new(None) };
}

/// Counts from now on, if that is wanted.
pub(crate) fn begin(is_wanted: bool) {
    if is_wanted {
        WANTED.get_or_init(Instant::now);
    }
}

/// A thread's part in the run, until this is dropped. It begins by waiting.
pub(crate) fn thread() -> Thread {
    if WANTED.get().is_some() {
        let now = Instant::now();
        let parts = [Duration::ZERO; NAMES.len()];
        OWN.replace(Some(Times { begun: now, since: now, activity: Activity::Wait, parts }));
    }
    Thread(())
}

/// Ends a thread's part.
#[derive(Debug)]
pub(crate) struct Thread(());

impl Drop for Thread {
    fn drop(&mut self) {
        turn_to(Activity::Wait);
        if let Some(times) = OWN.take() {
            ENDED.lock().unwrap_or_else(PoisonError::into_inner).push(times);
        }
    }
}

/// What this thread does from now on.
pub(crate) fn turn_to(activity: Activity) {
    OWN.with_borrow_mut(|own| {
        if let Some(times) = own {
            let now = Instant::now();
            times.parts[times.activity as usize] += now - times.since;
            (times.since, times.activity) = (now, activity);
        }
    });
}

/// Prints the profile on standard error, if it was wanted.
pub(crate) fn report() {
    let Some(begun) = WANTED.get() else { return };
    let end = Instant::now();
    let threads = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    let first = threads.iter().map(|times| times.begun).min().unwrap_or(end);
    let last = threads.iter().map(|times| times.since).max().unwrap_or(end);
    let [total_s, before_s, after_s] =
        [end - *begun, first - *begun, end - last].map(|time| time.as_secs_f64());
    error::tell(&format!(
        "profile: {total_s:.6} s, of it {before_s:.6} before and {after_s:.6} after the threads"
    ));
    for (number, times) in threads.iter().enumerate() {
        let parts =
            NAMES.iter().zip(times.parts).map(|(name, part)| format!("{name} {:.6} s", part.as_secs_f64()));
        error::tell(&format!("profile: thread {}: {}", number + 1, parts.collect::<Vec<_>>().join(", ")));
    }
}
