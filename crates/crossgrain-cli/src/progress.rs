//! A progress bar on the terminal for long work.

use std::cell::Cell;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

const KNOWN_LENGTH: &str = "{bytes:>11} of {total_bytes} {wide_bar} {bytes_per_sec}, {eta} left";
const UNKNOWN_LENGTH: &str = "{bytes:>11} {spinner} {bytes_per_sec}";

const TIME: &str = "{msg} {wide_bar} {eta} left";

/// How often the bar of a measurement is drawn.
const REDRAWN: Duration = Duration::from_millis(200);

/// Interval between JSON progress lines.
const INTERVAL: Duration = Duration::from_millis(500);

/// The audience of progress messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, ValueEnum)]
pub(crate) enum Audience {
    /// A bar, if standard error is a terminal and the work lasts
    #[default]
    Auto,
    /// Nothing
    Never,
    /// A line of JSON on standard error twice a second and at the end
    Json,
}

/// A bar for measurements, on standard error if that is a terminal. It shows which part runs and the time left.
#[derive(Debug)]
pub(crate) struct Countdown {
    bar: ProgressBar,
    /// When the part that runs began, how long it takes, and how long the parts before it take.
    part: Cell<(Instant, Duration, Duration)>,
    redrawn: Cell<Instant>,
}

impl Countdown {
    /// For parts that take `total_ms` milliseconds together.
    pub(crate) fn new(total_ms: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total_ms), ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::with_template(TIME).unwrap_or_else(|_| ProgressStyle::default_bar()));
        let now = Instant::now();
        Self { bar, part: Cell::new((now, Duration::ZERO, Duration::ZERO)), redrawn: Cell::new(now) }
    }

    /// Begins a part.
    pub(crate) fn begin(&self, name: &str, takes_ms: u64) {
        let (_, last, before) = self.part.get();
        self.part.set((Instant::now(), Duration::from_millis(takes_ms), before + last));
        self.bar.set_message(name.to_owned());
    }

    /// Draws the bar, if it is time to. This is cheap enough to be called between samples.
    pub(crate) fn tick(&self) {
        if self.redrawn.get().elapsed() >= REDRAWN {
            self.redrawn.set(Instant::now());
            let (begun, takes, before) = self.part.get();
            let done = before + begun.elapsed().min(takes);
            self.bar.set_position(u64::try_from(done.as_millis()).unwrap_or(u64::MAX));
        }
    }

    /// Prints while the bar is away.
    pub(crate) fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }
}

impl Drop for Countdown {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A writer that shows the number of bytes written through it.
#[derive(Debug)]
pub(crate) struct Progress<W> {
    inner: W,
    bar: ProgressBar,
    audience: Audience,
    /// Time of the last progress line, or of the beginning.
    shown: Instant,
    is_shown: bool,
}

impl<W> Progress<W> {
    /// Shows the progress of writes to `inner`, up to `len_bytes` if that is known.
    pub(crate) fn new(inner: W, len_bytes: Option<u64>, audience: Audience) -> Self {
        let bar = ProgressBar::with_draw_target(len_bytes, ProgressDrawTarget::hidden());
        let template = if len_bytes.is_some() { KNOWN_LENGTH } else { UNKNOWN_LENGTH };
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self { inner, bar, audience, shown: Instant::now(), is_shown: false }
    }

    /// The number of bytes written.
    pub(crate) fn bytes(&self) -> u64 {
        self.bar.position()
    }

    fn advance(&mut self, count: usize) {
        self.bar.inc(count as u64);
        match self.audience {
            Audience::Auto if !self.is_shown && self.shown.elapsed() >= PATIENCE => {
                self.is_shown = true;
                // If standard error is not a terminal, the bar stays hidden.
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            Audience::Json if self.shown.elapsed() >= INTERVAL => self.tell(),
            _ => {}
        }
    }

    fn tell(&mut self) {
        self.shown = Instant::now();
        let line = json!({ "bytes": self.bytes(), "total_bytes": self.bar.length() });
        // If standard error is closed, the line is dropped.
        let _ = writeln!(io::stderr(), "{line}");
    }
}

impl<W: Write> Write for Progress<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.advance(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W> Drop for Progress<W> {
    /// Clears the bar, so that later messages begin on an empty line.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if self.audience == Audience::Json {
            self.tell();
        }
    }
}
