//! Signals in the middle of the work: a temporary file goes too, the terminal is as it was, or the work ends in good
//! order.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Removes `path` when a signal ends the program, and then lets the signal have its way.
///
/// Once the file has got its final name, nothing is at `path` and nothing is removed.
#[cfg(unix)]
pub(crate) fn remove_on_signal(path: PathBuf) -> io::Result<()> {
    // What has gone already needs no removing, and a signal leaves nobody to tell.
    undo::on_signal(move || drop(std::fs::remove_file(&path)))
}

/// Elsewhere the file stays, under a name that says what it is.
#[cfg(not(unix))]
pub(crate) fn remove_on_signal(_path: PathBuf) -> io::Result<()> {
    Ok(())
}

/// Makes the terminal show what is typed again, if it does now, when a signal ends the program while it does not.
#[cfg(unix)]
pub(crate) fn restore_terminal_on_signal() -> io::Result<()> {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

    let terminal = std::fs::File::open("/dev/tty")?;
    let as_it_was = tcgetattr(&terminal)?;
    undo::on_signal(move || {
        // A terminal that has gone is not looked at.
        let _ = tcsetattr(&terminal, OptionalActions::Now, &as_it_was);
    })
}

/// Elsewhere a terminal is not left as it is.
#[cfg(not(unix))]
pub(crate) fn restore_terminal_on_signal() -> io::Result<()> {
    Ok(())
}

/// What signals undo, in one thread: whatever else there is to undo must be done before the program ends.
#[cfg(unix)]
mod undo {
    use std::io;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    type Undo = Box<dyn Fn() + Send>;

    static ALL: Mutex<Vec<Undo>> = Mutex::new(Vec::new());

    pub(super) fn on_signal(undo: impl Fn() + Send + 'static) -> io::Result<()> {
        let mut all = all();
        if all.is_empty() {
            let signals = Signals::new(super::ending().chain(super::ENDING_RARELY))?;
            std::thread::Builder::new().name("signals".into()).spawn(|| watch(signals))?;
        }
        all.push(Box::new(undo));
        Ok(())
    }

    fn watch(mut signals: Signals) {
        for signal in &mut signals {
            all().iter().for_each(|undo| undo());
            let _ = emulate_default_handler(signal);
        }
    }

    /// A list whose last holder panicked is still whole.
    fn all() -> MutexGuard<'static, Vec<Undo>> {
        ALL.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The signals that end a program. Under `nohup` a terminal that hangs up ends none, so that one is left alone.
#[cfg(unix)]
fn ending() -> impl Iterator<Item = i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    let is_nohup = ignored >> (SIGHUP - 1) & 1 == 1;
    [SIGINT, SIGTERM].into_iter().chain((!is_nohup).then_some(SIGHUP))
}

/// The others that end a program and are caught. Faults are not among them, nor what `signal-hook` would not pass on.
#[cfg(unix)]
const ENDING_RARELY: [i32; 8] = {
    use signal_hook::consts::{SIGABRT, SIGALRM, SIGPROF, SIGQUIT, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU};
    [SIGABRT, SIGALRM, SIGPROF, SIGQUIT, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU]
};

/// Makes a write beyond the limit of a file's size fail, rather than end the program.
#[cfg(unix)]
pub(crate) fn fail_beyond_file_size() {
    // Without a handler the signal ends the program, and leaves no more behind.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Elsewhere there is no such limit.
#[cfg(not(unix))]
pub(crate) fn fail_beyond_file_size() {}

/// A flag that a signal raises instead of ending the program; the second signal ends it.
#[cfg(unix)]
pub(crate) fn flag() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in ending() {
        // In this order: the flag is not yet raised when the first signal asks.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}

/// Elsewhere no signal raises it.
#[cfg(not(unix))]
pub(crate) fn flag() -> io::Result<Arc<AtomicBool>> {
    Ok(Arc::default())
}
