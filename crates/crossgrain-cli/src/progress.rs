//! A progress bar on the terminal, for work that lasts.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

const KNOWN_LENGTH: &str = "{bytes:>11} of {total_bytes} {wide_bar} {bytes_per_sec}, {eta} left";
const UNKNOWN_LENGTH: &str = "{bytes:>11} {spinner} {bytes_per_sec}";

/// A writer that shows how much went through it, on standard error if that is a terminal.
#[derive(Debug)]
pub(crate) struct Progress<W> {
    inner: W,
    bar: ProgressBar,
    started: Instant,
    is_shown: bool,
}

impl<W> Progress<W> {
    /// Watches over what `inner` is given, up to `len_bytes` if that is known.
    pub(crate) fn new(inner: W, len_bytes: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(len_bytes, ProgressDrawTarget::hidden());
        let template = if len_bytes.is_some() { KNOWN_LENGTH } else { UNKNOWN_LENGTH };
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self { inner, bar, started: Instant::now(), is_shown: false }
    }

    fn advance(&mut self, count: usize) {
        self.bar.inc(count as u64);
        if !self.is_shown && self.started.elapsed() >= PATIENCE {
            self.is_shown = true;
            // Elsewhere than on a terminal it stays hidden.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
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
    }
}
