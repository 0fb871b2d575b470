//! Measures how each thread divides its time: reading, computing, writing, waiting.
//!
//! A thread has one activity at a time, so its parts add up to the time from its start to its end. The time
//! before the first thread and after the last is counted separately. Without `--profile` the clock is not
//! read.

use std::cell::RefCell;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::error;

/// The activity of a thread.
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

/// The start of the run, if a profile was requested.
static WANTED: OnceLock<Instant> = OnceLock::new();

/// The threads that have ended.
static ENDED: Mutex<Vec<Times>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: RefCell<Option<Times>> = const { RefCell::new(None) };
}

/// Starts the profile, if it is wanted.
pub(crate) fn begin(is_wanted: bool) {
    if is_wanted {
        WANTED.get_or_init(Instant::now);
    }
}

/// Counts the time of this thread until the result is dropped. The first activity is waiting.
pub(crate) fn thread() -> Thread {
    if WANTED.get().is_some() {
        let now = Instant::now();
        let parts = [Duration::ZERO; NAMES.len()];
        OWN.replace(Some(Times { begun: now, since: now, activity: Activity::Wait, parts }));
    }
    Thread(())
}

/// Ends the counting when dropped.
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

/// Changes the activity of this thread.
pub(crate) fn turn_to(activity: Activity) {
    OWN.with_borrow_mut(|own| {
        if let Some(times) = own {
            let now = Instant::now();
            times.parts[times.activity as usize] += now - times.since;
            (times.since, times.activity) = (now, activity);
        }
    });
}

/// Prints the profile on standard error, if it was requested.
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
