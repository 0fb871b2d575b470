//! Ctrl-C in the middle of the work: the temporary file goes too.

use std::io;
use std::path::PathBuf;

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
