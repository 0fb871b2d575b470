//! Unix, through `rustix`.

use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};

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
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

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
