//! A progress bar on the terminal for long work.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

const KNOWN_LENGTH: &str = "{bytes:>11} of {total_bytes} {wide_bar} {bytes_per_sec}, {eta} left";
const UNKNOWN_LENGTH: &str = "{bytes:>11} {spinner} {bytes_per_sec}";

/// Interval between JSON progress lines.
const INTERVAL: Duration = Duration::from_millis(500);

/// The audience of progress messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, ValueEnum)]
pub(crate) enum Audience {
    /// People, by a bar where standard error is a terminal and the work lasts
    #[default]
    Auto,
    /// Nobody
    Never,
    /// Programs, by a line of JSON on standard error twice a second and at the end
    Json,
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
