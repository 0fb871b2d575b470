//! Unix, through `rustix`.

use std::fs::{File, Metadata};
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getpgrp, setrlimit};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// Keeps keys and plaintext out of core dumps.
pub(crate) fn no_core_dumps() {
    // If the system refuses, core dumps stay enabled.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

/// Prompts at the terminal with echo off, even if standard input and output are redirected. `read` reads the
/// answer.
///
/// Echo is restored at the end, or when a signal ends the program in between.
pub(crate) fn ask<T>(prompt: &str, read: impl FnOnce(&mut File) -> T) -> io::Result<T> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let as_it_was = tcgetattr(&terminal)?;
    crate::interrupt::restore_terminal_on_signal()?;
    let mut silent = as_it_was.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    silent.local_modes.insert(LocalModes::ECHONL);
    tcsetattr(&terminal, OptionalActions::Now, &silent)?;
    let asked = terminal.write_all(prompt.as_bytes()).map(|()| read(&mut terminal));
    tcsetattr(&terminal, OptionalActions::Now, &as_it_was)?;
    asked
}

/// Reads keys from a terminal at standard input as they are typed, without echo and without waiting.
///
/// Keys that send signals still do. The terminal is changed only while this process is in the foreground: a
/// process in the background that changes it is stopped by the system.
pub(crate) struct KeyInput {
    terminal: File,
    /// The state to restore, if the terminal was changed.
    as_it_was: Option<Termios>,
    /// Set by Ctrl-Z.
    is_suspended: Arc<AtomicBool>,
}

impl KeyInput {
    /// `None` if standard input is not a terminal.
    pub(crate) fn open() -> Option<Self> {
        use signal_hook::consts::SIGTSTP;
        if !io::stdin().is_terminal() {
            return None;
        }
        let terminal = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
        let is_suspended = Arc::default();
        signal_hook::flag::register(SIGTSTP, Arc::clone(&is_suspended)).ok()?;
        let input = Self { terminal, as_it_was: None, is_suspended };
        let restored = tcgetattr(&input.terminal).ok()?;
        let terminal = input.terminal.try_clone().ok()?;
        crate::interrupt::on_rare_signal(move || {
            let _ = tcsetattr(&terminal, OptionalActions::Now, &restored);
        })
        .ok()?;
        Some(input)
    }

    /// The keys typed since the last call. After Ctrl-Z, restores the terminal and suspends the process.
    pub(crate) fn typed(&mut self) -> Vec<u8> {
        if self.is_suspended.swap(false, Ordering::Relaxed) {
            self.restore();
            // Returns when the process is continued.
            let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
        }
        if !self.is_in_foreground() || !self.is_prepared() {
            return Vec::new();
        }
        let mut keys = [0; 16];
        let count = (&self.terminal).read(&mut keys).unwrap_or(0);
        keys[..count].to_vec()
    }

    /// Restores the terminal. Calls after this one do nothing until [`KeyInput::typed`] is called again.
    pub(crate) fn restore(&mut self) {
        if let (true, Some(as_it_was)) = (self.is_in_foreground(), self.as_it_was.take()) {
            // The terminal may no longer exist.
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &as_it_was);
        }
    }

    fn is_in_foreground(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| group == getpgrp())
    }

    /// Switches the terminal to single keys, also after a shell has switched it back.
    fn is_prepared(&mut self) -> bool {
        let Ok(state) = tcgetattr(&self.terminal) else { return false };
        if !state.local_modes.contains(LocalModes::ICANON) {
            return self.as_it_was.is_some();
        }
        let mut single = state.clone();
        single.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        // `read` returns what is there, and does not wait.
        single.special_codes[SpecialCodeIndex::VMIN] = 0;
        single.special_codes[SpecialCodeIndex::VTIME] = 0;
        self.as_it_was = Some(state);
        tcsetattr(&self.terminal, OptionalActions::Now, &single).is_ok()
    }
}

impl Drop for KeyInput {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Whether two open files are the same file and keep written data: regular files, and disks if `and_disks` is
/// set.
pub(crate) fn is_one(one: &Metadata, other: &Metadata, and_disks: bool) -> bool {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let keeps = one.is_file() || (and_disks && one.file_type().is_block_device());
    keeps && (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Closes a file, or a duplicate of a standard stream.
pub(crate) fn leave(file: File) {
    drop(file);
}

/// A duplicate of a descriptor that the caller of the program opened. Its position in the file is that of the
/// original, so that several readers take one line after the other.
pub(crate) fn descriptor(number: u32) -> io::Result<File> {
    use std::os::fd::BorrowedFd;
    let number = i32::try_from(number).map_err(|_| Errno::BADF)?;
    // SAFETY: the descriptor is passed only to `fcntl`, which fails unless it is open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    Ok(File::from(rustix::io::fcntl_dupfd_cloexec(borrowed, 3)?))
}

/// Bit n is set if file descriptor n was closed when the process began.
static BEGAN_CLOSED: AtomicU8 = AtomicU8::new(0);

/// Whether a standard stream was closed when the program began. The standard library opens /dev/null in its
/// place, which discards output and reads as an empty input.
pub(crate) fn began_closed(stream: impl AsFd) -> bool {
    use std::os::fd::AsRawFd as _;
    let number = stream.as_fd().as_raw_fd();
    number < 3 && BEGAN_CLOSED.load(Ordering::Relaxed) >> number & 1 == 1
}

/// Records which standard streams are closed, before the standard library opens replacements.
extern "C" fn note_closed() {
    use std::os::fd::BorrowedFd;
    for number in 0..3_u8 {
        // SAFETY: the descriptor is passed only to `fcntl`, which checks whether it is open.
        let stream = unsafe { BorrowedFd::borrow_raw(number.into()) };
        if rustix::io::fcntl_getfd(stream) == Err(Errno::BADF) {
            BEGAN_CLOSED.fetch_or(1 << number, Ordering::Relaxed);
        }
    }
}

/// The loader calls the functions of this type in this section before `main`. This one does not depend on
/// anything that `main` sets up.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static AT_THE_BEGINNING: extern "C" fn() = note_closed;
