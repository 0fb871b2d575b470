//! One implementation in a process of its own. It answers a line by a line:
//!
//! ```text
//! name                 its name and version
//! check JOB            a digest of the results
//! time JOB REPEATS     nanoseconds for all repeats together
//! ```
//!
//! A job that it does not have is answered by `none REASON`, any other failure by `error REASON`.

use std::fmt::Display;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use crate::job::{Job, Situation};
use crate::messages::{Message, Messages};

/// Why a job is not done.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The implementation does not have it.
    None(&'static str),
    /// It failed.
    Failed(String),
}

impl<E: Display> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Nanoseconds that all repeats took.
pub(crate) type Time = Result<u64, Refusal>;

/// Options of a run.
#[derive(Clone, Copy, Default)]
pub(crate) struct How {
    pub(crate) opens: bool,
    /// The message is written into its place before, and sealed there.
    pub(crate) fresh: bool,
    /// The message is replaced where it is.
    pub(crate) again: bool,
    pub(crate) rekeys: bool,
    pub(crate) only_keys: bool,
    pub(crate) many: bool,
    pub(crate) repeats: u64,
}

impl How {
    fn of(situation: Situation, repeats: u64) -> Self {
        Self {
            opens: situation == Situation::Open,
            fresh: situation == Situation::Fresh,
            again: situation == Situation::Again,
            rekeys: matches!(situation, Situation::NewKey | Situation::KeySetup),
            only_keys: situation == Situation::KeySetup,
            many: situation == Situation::Many,
            repeats,
        }
    }
}

/// An implementation.
pub(crate) trait Worker {
    /// Its name and version, and what decides which of its code runs.
    fn name(&self) -> Result<String, Refusal>;

    /// Does a job.
    fn run(&self, job: &Job, how: How, messages: &mut Messages) -> Time;
}

/// How a worker gets a key.
pub(crate) trait SetKey<K> {
    /// A new key.
    fn make(&self, bytes: &[u8]) -> Result<K, Refusal>;

    /// Replaces a key by another one. Unless the interface can do that in place, the new one is made anew.
    #[inline(always)]
    fn replace(&self, key: &mut K, bytes: &[u8]) -> Result<(), Refusal> {
        *key = self.make(bytes)?;
        Ok(())
    }
}

impl<K, F: Fn(&[u8]) -> Result<K, Refusal>> SetKey<K> for F {
    #[inline(always)]
    fn make(&self, bytes: &[u8]) -> Result<K, Refusal> {
        self(bytes)
    }
}

/// A key is made by the first function and replaced in place by the second.
pub(crate) struct InPlace<M, R>(pub(crate) M, pub(crate) R);

impl<K, M, R> SetKey<K> for InPlace<M, R>
where
    M: Fn(&[u8]) -> Result<K, Refusal>,
    R: Fn(&mut K, &[u8]) -> Result<(), Refusal>,
{
    #[inline(always)]
    fn make(&self, bytes: &[u8]) -> Result<K, Refusal> {
        self.0(bytes)
    }

    #[inline(always)]
    fn replace(&self, key: &mut K, bytes: &[u8]) -> Result<(), Refusal> {
        self.1(key, bytes)
    }
}

/// The loop that every implementation in Rust is called in: it does what `EACH` of `c/peer.h` does. `run` gets a key, a message
/// with its number, and whether the message lies where its result goes.
#[inline(always)]
pub(crate) fn each<K>(
    how: How,
    messages: &mut [Message<'_>],
    set_key: impl SetKey<K>,
    run: impl FnMut(&mut K, usize, &mut Message<'_>, bool) -> Result<(), Refusal>,
) -> Time {
    // A loop for each, as a caller has one and not all: choices within it would be charged to every message.
    match (how.rekeys, how.fresh, how.again) {
        (true, ..) => each_of::<K, true, false, false>(how, messages, set_key, run),
        (_, true, _) => each_of::<K, false, true, false>(how, messages, set_key, run),
        (.., true) => each_of::<K, false, false, true>(how, messages, set_key, run),
        _ => each_of::<K, false, false, false>(how, messages, set_key, run),
    }
}

#[inline(never)]
fn each_of<K, const REKEYS: bool, const FRESH: bool, const AGAIN: bool>(
    how: How,
    messages: &mut [Message<'_>],
    set_key: impl SetKey<K>,
    mut run: impl FnMut(&mut K, usize, &mut Message<'_>, bool) -> Result<(), Refusal>,
) -> Time {
    let mut key = set_key.make(messages[0].key)?;
    let start = Instant::now();
    for _ in 0..how.repeats {
        for (number, message) in messages.iter_mut().enumerate() {
            if REKEYS {
                set_key.replace(&mut key, message.key)?;
                if how.only_keys {
                    std::hint::black_box(&key);
                    continue;
                }
            }
            if FRESH {
                message.output.copy_from_slice(message.source);
            }
            run(&mut key, number, message, FRESH || AGAIN)?;
        }
    }
    Ok(nanoseconds(start))
}

/// Since a moment.
pub(crate) fn nanoseconds(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Answers lines until the input ends.
pub(crate) fn serve(worker: &dyn Worker, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut session = Session { worker, ready: None };
    for line in input.lines() {
        let answer = match session.answer(&line?) {
            Ok(answer) => answer,
            Err(Refusal::None(reason)) => format!("none {reason}"),
            Err(Refusal::Failed(reason)) => format!("error {}", reason.replace(['\n', '\r'], " ")),
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

/// A worker with the messages of the job that it was asked for last.
struct Session<'a> {
    worker: &'a dyn Worker,
    ready: Option<(Job, Messages)>,
}

impl Session<'_> {
    fn answer(&mut self, line: &str) -> Result<String, Refusal> {
        match *line.split_whitespace().collect::<Vec<_>>() {
            ["name"] => self.worker.name(),
            ["check", job] => {
                let (job, messages) = self.prepared(job)?;
                Ok(messages.digest(&job.clone()).to_string())
            }
            ["time", job, repeats] => {
                let (worker, repeats) = (self.worker, repeats.parse::<u64>()?);
                let (job, messages) = self.ready(job)?;
                Ok(worker.run(job, How::of(job.situation, repeats), messages)?.to_string())
            }
            _ => Err(Refusal::Failed(format!("no request {line:?}: name, check JOB or time JOB REPEATS"))),
        }
    }

    /// The messages of a job, which are made unless it is the one before.
    fn ready(&mut self, text: &str) -> Result<(&Job, &mut Messages), Refusal> {
        if self.ready.as_ref().is_none_or(|(job, _)| job.to_string() != text) {
            return self.prepared(text);
        }
        let (job, messages) = self.ready.as_mut().ok_or_else(|| "no job".to_owned())?;
        Ok((job, messages))
    }

    /// The messages of a job after it was done once. An `Again` has only begun then, so it is checked by one round.
    fn prepared(&mut self, text: &str) -> Result<(&Job, &mut Messages), Refusal> {
        let job = Job::parse(text).ok_or_else(|| format!("no job {text:?}: CIPHER-MODE/SITUATION/LENGTH"))?;
        self.ready = None; // so that the memory of two jobs is never held together
        let mut messages = Messages::new(&job);
        if job.situation == Situation::Open {
            self.worker.run(&job, How { repeats: 1, ..How::default() }, &mut messages)?;
            messages.turn();
        }
        self.worker.run(&job, How::of(job.situation, 1), &mut messages)?;
        let (job, messages) = self.ready.insert((job, messages));
        Ok((job, messages))
    }
}
