//! A progress bar on the terminal, for work that lasts.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

const KNOWN_LENGTH: &str = "{bytes:>11} of {total_bytes} {wide_bar} {bytes_per_sec}, {eta} left";
const UNKNOWN_LENGTH: &str = "{bytes:>11} {spinner} {bytes_per_sec}";

/// How often progress is told in JSON.
const INTERVAL: Duration = Duration::from_millis(500);

/// Whom progress is shown to.
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

/// A writer that shows how much went through it, on standard error if that is a terminal.
#[derive(Debug)]
pub(crate) struct Progress<W> {
    inner: W,
    bar: ProgressBar,
    audience: Audience,
    /// When something was shown last, or else the beginning.
    shown: Instant,
    is_shown: bool,
}

impl<W> Progress<W> {
    /// Watches over what `inner` is given, up to `len_bytes` if that is known.
    pub(crate) fn new(inner: W, len_bytes: Option<u64>, audience: Audience) -> Self {
        let bar = ProgressBar::with_draw_target(len_bytes, ProgressDrawTarget::hidden());
        let template = if len_bytes.is_some() { KNOWN_LENGTH } else { UNKNOWN_LENGTH };
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self { inner, bar, audience, shown: Instant::now(), is_shown: false }
    }

    /// How many bytes went through.
    pub(crate) fn bytes(&self) -> u64 {
        self.bar.position()
    }

    fn advance(&mut self, count: usize) {
        self.bar.inc(count as u64);
        match self.audience {
            Audience::Auto if !self.is_shown && self.shown.elapsed() >= PATIENCE => {
                self.is_shown = true;
                // Elsewhere than on a terminal it stays hidden.
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            Audience::Json if self.shown.elapsed() >= INTERVAL => self.tell(),
            _ => {}
        }
    }

    fn tell(&mut self) {
        self.shown = Instant::now();
        let line = json!({ "bytes": self.bytes(), "total_bytes": self.bar.length() });
        // Where standard error is closed there is nobody left to tell.
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
    /// Takes the bar away, so that what is said next stands alone.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if self.audience == Audience::Json {
            self.tell();
        }
    }
}
