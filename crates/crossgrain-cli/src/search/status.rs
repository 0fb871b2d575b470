//! The progress of a search: rate, position and estimated remaining time.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossgrain::engine::text::grouped;
use crossgrain_search::{BigUint, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::Outcome;
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

/// Prints the progress of a search, and stops it on a signal.
pub(super) struct Status<'a> {
    watch: &'a Watch<'a>,
    /// Set by a signal.
    interrupted: &'a AtomicBool,
    /// Time of the last status line.
    told: Instant,
    /// The number of candidates tried in earlier runs.
    before: BigUint,
    /// The number of candidates, if it is known.
    total: Option<BigUint>,
    json: bool,
    bar: ProgressBar,
    samples: VecDeque<(Instant, u64)>,
}

impl<'a> Status<'a> {
    pub(super) fn new(
        watch: &'a Watch<'a>,
        interrupted: &'a AtomicBool,
        before: BigUint,
        total: Option<BigUint>,
        json: bool,
    ) -> Self {
        let target = if json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(
            ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        let now = Instant::now();
        Self { watch, interrupted, told: now, before, total, json, bar, samples: VecDeque::from([(now, 0)]) }
    }

    /// Prints the status if it is due, and stops the search after a signal.
    pub(super) fn tick(&mut self) {
        if self.interrupted.load(Ordering::Relaxed) {
            self.watch.stop();
        }
        if self.told.elapsed() >= INTERVAL {
            self.told = Instant::now();
            self.tell("running");
        }
    }

    /// Ticks until the search is `done`. Ends the program if the search does not stop within [`GRACE`].
    pub(super) fn run(&mut self, done: &AtomicBool) {
        let mut stopped = None;
        while !done.load(Ordering::Acquire) {
            thread::park_timeout(TICK);
            self.tick();
            let is_interrupted = self.interrupted.load(Ordering::Relaxed);
            if is_interrupted && stopped.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                self.bar.finish_and_clear();
                error::tell("stopped in the middle of a shard, with which a session goes on");
                std::process::exit(Outcome::Aborted as i32);
            }
        }
        self.end();
    }

    /// Prints the last status.
    pub(super) fn end(&mut self) {
        self.bar.finish_and_clear();
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
        let rate = self.rate();
        let position = &self.before + tried;
        let left_seconds = self.left_seconds(&position, rate);
        if self.json {
            let line = json!({
                "state": state,
                "tried": position.to_string(),
                "total": self.total.as_ref().map(ToString::to_string),
                "keys_per_s": rate,
                "left_s": left_seconds,
            });
            // If standard error is closed, the line is dropped.
            let _ = writeln!(io::stderr(), "{line}");
            return;
        }
        let of = self.total.as_ref().map_or(String::new(), |total| {
            let permille = if *total == BigUint::ZERO { BigUint::ZERO } else { &position * 1000_u16 / total };
            let permille = u64::try_from(permille).unwrap_or_default();
            format!(" of {} ({}.{} %)", grouped(total), permille / 10, permille % 10)
        });
        let rate = rate.map_or("rate unknown".to_owned(), |rate| format!("{rate:.3e} keys/s"));
        let left = left_seconds.map_or("time left unknown".to_owned(), told_seconds);
        self.bar.set_message(format!("{}{of}, {rate}, {left}", grouped(&position)));
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
