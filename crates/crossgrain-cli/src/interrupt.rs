//! Signal handling: removes temporary files, restores the terminal, or lets the work end in good order.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

#[cfg(unix)]
use crossgrain_files::TreeRemover;

#[cfg(unix)]
use crate::error;
#[cfg(unix)]
use crate::input::shown;

/// Removes `path` when a signal ends the program; the signal then takes effect.
///
/// Once the file has its final name, `path` no longer exists and nothing is removed.
#[cfg(unix)]
pub(crate) fn remove_on_signal(path: PathBuf) -> io::Result<()> {
    // A file that no longer exists need not be removed. A program that ends by a signal cannot report errors.
    undo::on_signal(ending().chain(ENDING_RARELY), move || drop(std::fs::remove_file(&path)))
}

/// Removes an unfinished tree when a signal ends the program. `remover` is set when its staging directory
/// `path` is open. Before that the directory is empty.
#[cfg(unix)]
pub(crate) fn remove_tree_on_signal(
    path: PathBuf,
    remover: Arc<OnceLock<io::Result<TreeRemover>>>,
) -> io::Result<()> {
    undo::on_signal(ending().chain(ENDING_RARELY), move || match remover.get() {
        Some(Ok(remover)) => {
            if let Err(error) = remover.remove() {
                let path = shown(&path);
                error::tell(&format!(
                    "cannot remove '{path}', which has decrypted files: {error}: remove it"
                ));
            }
        }
        // A directory that has entries is another one, and stays.
        _ => drop(std::fs::remove_dir(&path)),
    })
}

/// On other systems the file stays, under its temporary name.
#[cfg(not(unix))]
pub(crate) fn remove_on_signal(_path: PathBuf) -> io::Result<()> {
    Ok(())
}

/// If a signal ends the program while echo is off, restores the terminal to its present state.
#[cfg(unix)]
pub(crate) fn restore_terminal_on_signal() -> io::Result<()> {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

    let terminal = std::fs::File::open("/dev/tty")?;
    let as_it_was = tcgetattr(&terminal)?;
    undo::on_signal(ending().chain(ENDING_RARELY), move || {
        // The terminal may no longer exist.
        let _ = tcsetattr(&terminal, OptionalActions::Now, &as_it_was);
    })
}

/// Runs `undo` when one of [`ENDING_RARELY`] ends the program. For work whose other signals set a [`flag`].
#[cfg(unix)]
pub(crate) fn on_rare_signal(undo: impl Fn() + Send + 'static) -> io::Result<()> {
    undo::on_signal(ENDING_RARELY, undo)
}

/// Cleanup on signals. One thread runs all actions, because all must finish before the program ends.
#[cfg(unix)]
mod undo {
    use std::io;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    type Undo = Box<dyn Fn() + Send>;

    static ALL: Mutex<Vec<Undo>> = Mutex::new(Vec::new());

    pub(super) fn on_signal(
        signals: impl IntoIterator<Item = i32>,
        undo: impl Fn() + Send + 'static,
    ) -> io::Result<()> {
        let mut all = all();
        if all.is_empty() {
            let signals = Signals::new(signals)?;
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

    /// A list whose last holder panicked is still consistent.
    fn all() -> MutexGuard<'static, Vec<Undo>> {
        ALL.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The signals that end a program. Under `nohup`, SIGHUP is ignored, so it is not handled either.
#[cfg(unix)]
fn ending() -> impl Iterator<Item = i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    let is_nohup = ignored >> (SIGHUP - 1) & 1 == 1;
    [SIGINT, SIGTERM].into_iter().chain((!is_nohup).then_some(SIGHUP))
}

/// Rarer signals that end a program and are caught. Excluded are faults and signals that `signal-hook` cannot
/// forward.
#[cfg(unix)]
const ENDING_RARELY: [i32; 8] = {
    use signal_hook::consts::{SIGABRT, SIGALRM, SIGPROF, SIGQUIT, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU};
    [SIGABRT, SIGALRM, SIGPROF, SIGQUIT, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU]
};

/// Makes a write beyond the file size limit fail instead of ending the program.
#[cfg(unix)]
pub(crate) fn fail_beyond_file_size() {
    // If no handler can be set, the signal ends the program, which leaves no additional files.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Does nothing: other systems have no file size limit.
#[cfg(not(unix))]
pub(crate) fn fail_beyond_file_size() {}

/// A flag that the first signal sets instead of ending the program. The second signal ends it.
#[cfg(unix)]
pub(crate) fn flag() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in ending() {
        // In this order, the flag is still unset when the first signal checks it.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}

/// On other systems no signal sets it.
#[cfg(not(unix))]
pub(crate) fn flag() -> io::Result<Arc<AtomicBool>> {
    Ok(Arc::default())
}
