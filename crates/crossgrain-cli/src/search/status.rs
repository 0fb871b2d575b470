//! The progress of a search: rate, position and estimated remaining time.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossgrain::engine::text::grouped;
use crossgrain_search::{BigUint, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::Outcome;
use super::args::Args;
use super::keys::{HELP, Key, Keys};
use crate::error;

/// Interval between checks for signals.
const TICK: Duration = Duration::from_millis(50);

/// Interval between status lines.
const INTERVAL: Duration = Duration::from_millis(500);

/// The rate is averaged over this time.
const WINDOW: Duration = Duration::from_secs(20);

/// Time that a stopped search may wait, for example for words that do not arrive. Tried shards and found keys
/// are on disk by then.
const GRACE: Duration = Duration::from_secs(3);

/// No remaining time is estimated before this time has passed.
const PATIENCE: Duration = Duration::from_secs(2);

const YEAR_SECONDS: u64 = 365 * 86_400;

/// Prints the progress of a search, and stops it on a signal, by a key, or when its time is over.
pub(super) struct Status<'a> {
    watch: &'a Watch<'a>,
    /// Set by a signal, and by the key that quits.
    interrupted: &'a AtomicBool,
    began: Instant,
    /// Time of the last status line.
    told: Instant,
    /// The number of candidates tried in earlier runs.
    before: BigUint,
    /// The number of candidates, if it is known.
    total: Option<BigUint>,
    /// The time after which the search stops.
    runtime: Option<Duration>,
    is_out_of_time: bool,
    json: bool,
    bar: ProgressBar,
    keys: Option<Keys>,
    samples: VecDeque<(Instant, u64)>,
}

impl<'a> Status<'a> {
    pub(super) fn new(
        watch: &'a Watch<'a>,
        interrupted: &'a AtomicBool,
        before: BigUint,
        total: Option<BigUint>,
        args: &Args,
    ) -> Self {
        let target = if args.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(
            ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        let reads_words = args.words.as_deref() == Some(Path::new("-"));
        let is_shown = !args.json && io::stderr().is_terminal();
        let keys = if is_shown && !reads_words { Keys::open() } else { None };
        if keys.is_some() {
            bar.println(HELP);
        }
        let now = Instant::now();
        Self {
            watch,
            interrupted,
            began: now,
            told: now,
            before,
            total,
            runtime: args.runtime.map(|seconds| Duration::from_secs(seconds.into())),
            is_out_of_time: false,
            json: args.json,
            bar,
            keys,
            samples: VecDeque::from([(now, 0)]),
        }
    }

    /// Whether the search was stopped because its time was over.
    pub(super) const fn is_out_of_time(&self) -> bool {
        self.is_out_of_time
    }

    /// Prints the status if it is due, and stops the search if it should end.
    pub(super) fn tick(&mut self) {
        let is_over = self.runtime.is_some_and(|time| self.began.elapsed() >= time + self.watch.paused());
        if is_over && !self.watch.is_stopped() {
            self.is_out_of_time = true;
            self.watch.stop();
        }
        let typed = self.keys.as_mut().map(Keys::typed).unwrap_or_default();
        typed.into_iter().for_each(|key| self.follow(key));
        if self.interrupted.load(Ordering::Relaxed) {
            self.watch.stop();
            // A second signal ends the program at once, so the terminal is restored now.
            self.keys = None;
        }
        if self.told.elapsed() >= INTERVAL {
            self.told = Instant::now();
            self.tell(if self.watch.is_paused() { "paused" } else { "running" });
        }
    }

    fn follow(&mut self, key: Key) {
        match key {
            Key::Status => {
                let line = self.line();
                self.bar.println(line);
            }
            Key::Pause => self.watch.pause(),
            Key::Resume => {
                self.watch.resume();
                // The pause does not count for the rate.
                self.samples.clear();
            }
            Key::Quit => self.interrupted.store(true, Ordering::Relaxed),
        }
    }

    /// Ticks until the search is `done`. Ends the program if the search does not stop within [`GRACE`].
    pub(super) fn run(&mut self, done: &AtomicBool) {
        let mut stopped = None;
        while !done.load(Ordering::Acquire) {
            thread::park_timeout(TICK);
            self.tick();
            if self.watch.is_stopped() && stopped.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                self.bar.finish_and_clear();
                self.keys.iter_mut().for_each(Keys::restore);
                error::tell("stopped in the middle of a shard, with which a session goes on");
                let outcome = if self.is_out_of_time { Outcome::OutOfTime } else { Outcome::Aborted };
                std::process::exit(outcome as i32);
            }
        }
        self.end();
    }

    /// Prints the last status, and restores the terminal.
    pub(super) fn end(&mut self) {
        self.bar.finish_and_clear();
        self.keys = None;
        if self.json {
            self.tell(if self.watch.is_stopped() { "stopped" } else { "done" });
        }
    }

    fn tell(&mut self, state: &str) {
        let (now, tried) = (Instant::now(), self.watch.tried());
        self.samples.push_back((now, tried));
        while self.samples.len() > 2 && self.samples.get(1).is_some_and(|(then, _)| now - *then > WINDOW) {
            self.samples.pop_front();
        }
        if !self.json {
            self.bar.set_message(self.line());
            return;
        }
        let (position, rate) = (self.position(), self.rate());
        let line = json!({
            "state": state,
            "tried": position.to_string(),
            "total": self.total.as_ref().map(ToString::to_string),
            "keys_per_s": rate,
            "left_s": self.left_seconds(&position, rate),
        });
        // If standard error is closed, the line is dropped.
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// The status for people, in less than 80 columns. Long numbers are rounded until it fits.
    fn line(&self) -> String {
        let lines = [12, 9, 6].map(|digits_max| self.line_of(digits_max));
        let [.., shortest] = &lines;
        lines.iter().find(|line| line.len() < 80).unwrap_or(shortest).clone()
    }

    fn line_of(&self, digits_max: usize) -> String {
        let (position, rate) = (self.position(), self.rate());
        let of = self.total.as_ref().map_or(String::new(), |total| {
            let permille = if *total == BigUint::ZERO { BigUint::ZERO } else { &position * 1000_u16 / total };
            let permille = u64::try_from(permille).unwrap_or_default();
            format!(" of {} ({}.{} %)", short(total, digits_max), permille / 10, permille % 10)
        });
        let end = if self.watch.is_paused() {
            "paused".to_owned()
        } else {
            let told = match rate {
                Some(rate) if rate < 100.0 => format!("{rate:.2} keys/s"),
                Some(rate) => format!("{} keys/s", short(&BigUint::from(rate as u64), digits_max)),
                None => "rate unknown".to_owned(),
            };
            let left = self.left_seconds(&position, rate);
            format!("{told}, {}", left.map_or("time left unknown".to_owned(), told_seconds))
        };
        format!("{}{of}, {end}", short(&position, digits_max))
    }

    /// The number of candidates tried.
    fn position(&self) -> BigUint {
        &self.before + self.watch.tried()
    }

    /// Keys per second over the window.
    fn rate(&self) -> Option<f64> {
        let ((from, before), (to, after)) = (self.samples.front()?, self.samples.back()?);
        let seconds = (*to - *from).as_secs_f64();
        (seconds > 0.0 && after > before).then(|| (after - before) as f64 / seconds)
    }

    /// Seconds that the rest takes at this rate.
    fn left_seconds(&self, position: &BigUint, rate: Option<f64>) -> Option<u64> {
        let ((from, _), (to, _)) = (self.samples.front()?, self.samples.back()?);
        if *to - *from < PATIENCE {
            return None;
        }
        let total = self.total.as_ref().filter(|total| position <= total)?;
        // In thousandths of keys per second, because slow key derivation tries less than one per second.
        let rate = (rate? * 1000.0) as u64;
        if rate == 0 {
            return None;
        }
        Some(u64::try_from((total - position) * 1000_u16 / rate).unwrap_or(u64::MAX))
    }
}

/// A number with groups of digits, or in powers of ten if it has more than `digits_max`, which is more than 3.
fn short(number: &BigUint, digits_max: usize) -> String {
    let digits = number.to_string();
    if digits.len() <= digits_max {
        return grouped(digits);
    }
    format!("{}.{}e{}", &digits[..1], &digits[1..4], digits.len() - 1)
}

/// A duration in readable units.
fn told_seconds(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s left"),
        120..7200 => format!("{} min left", seconds / 60),
        7200..172_800 => format!("{} h left", seconds / 3600),
        172_800..YEAR_SECONDS => format!("{} days left", seconds / 86_400),
        _ if seconds < 1000 * YEAR_SECONDS => format!("{} years left", seconds / YEAR_SECONDS),
        _ => "more than 1000 years left".to_owned(),
    }
}
