//! Ctrl-C in the middle of the work: the temporary file goes too, or the work ends in good order.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Removes `path` when a signal ends the program, and then lets the signal have its way.
///
/// Once the file has got its final name, nothing is at `path` and nothing is removed.
#[cfg(unix)]
pub(crate) fn remove_on_signal(path: PathBuf) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in &mut signals {
            // What has gone already needs no removing, and a signal leaves nobody to tell.
            let _ = std::fs::remove_file(&path);
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// Elsewhere the file stays, under a name that says what it is.
#[cfg(not(unix))]
pub(crate) fn remove_on_signal(_path: PathBuf) -> io::Result<()> {
    Ok(())
}

/// A flag that a signal raises instead of ending the program; the second signal ends it.
#[cfg(unix)]
pub(crate) fn flag() -> io::Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
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
