//! Unix, by `rustix`. Files without a name are Linux's alone; elsewhere there are none.

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Gid, Resource, Rlimit, geteuid, setrlimit};

use super::{NotOwn, directory_of};

/// Read and write, for the owner.
const OWNER_ONLY: u32 = 0o600;

/// Which file it is, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

/// The identity of an open file, or of what a path leads to.
pub(crate) fn identity(metadata: &Metadata) -> Option<Identity> {
    Some(Identity { device: metadata.dev(), inode: metadata.ino() })
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    identity: Option<Identity>,
    len_bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            identity: identity(metadata),
            len_bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    pub(crate) const fn len_bytes(&self) -> u64 {
        self.len_bytes
    }
}

/// Who may read a file once it has its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights {
    mode: u32,
    group: Option<u32>,
}

impl Rights {
    /// The owner alone.
    pub(crate) const fn owner_only() -> Self {
        Self { mode: OWNER_ONLY, group: None }
    }

    /// Those of any new file: the umask decides.
    pub(crate) fn of_new_file() -> Self {
        // Reading the umask is setting it. Another thread that makes a file at this moment makes it too narrow.
        let umask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        rustix::process::umask(umask);
        Self { mode: 0o666 & !umask.as_raw_mode(), group: None }
    }

    /// Those of the file that is replaced, if it is the user's own: another user has no say in who reads the new one.
    pub(crate) fn of_replaced(old: &Metadata) -> Option<Self> {
        let is_own = old.is_file() && old.uid() == geteuid().as_raw();
        // A set-user-ID bit would run new bytes under an old promise.
        is_own.then(|| Self { mode: old.mode() & 0o777, group: Some(old.gid()) })
    }

    /// Gives them to a file that is complete.
    pub(crate) fn give(self, file: &File) -> io::Result<()> {
        let Self { mut mode, group } = self;
        if let Some(group) = group.filter(|&group| file.metadata().is_ok_and(|made| made.gid() != group))
            && rustix::fs::fchown(file, None, Some(Gid::from_raw(group))).is_err()
        {
            // The group would be another one than before.
            mode &= 0o707;
        }
        file.set_permissions(fs::Permissions::from_mode(mode))
    }
}

/// Makes what options create readable by the owner alone.
pub(crate) fn restrict(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    options.mode(OWNER_ONLY)
}

/// A file in `directory` that has no name, and goes with the process unless [`link`] gives it one. `None` where there
/// are no such files.
pub(crate) fn open_unnamed(directory: &Path) -> io::Result<Option<File>> {
    match unnamed(directory) {
        // A name is given by way of /proc, which need not be there.
        Ok(file) if fs::symlink_metadata(name_of(&file)).is_ok() => Ok(Some(file)),
        Ok(_) | Err(Errno::NOTSUP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(target_os = "linux")]
fn unnamed(directory: &Path) -> Result<File, Errno> {
    use rustix::fs::{CWD, Mode, openat};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    openat(CWD, directory, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_directory: &Path) -> Result<File, Errno> {
    Err(Errno::NOTSUP)
}

/// What the system calls an open file that has no other name.
fn name_of(file: &File) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Gives a file of [`open_unnamed`] a name, which there must not be yet.
pub(crate) fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, name_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Opens a file to be continued, or makes one that only the owner may read. `options` say for what.
///
/// One that is there is taken if nobody else can have put it there, and nobody else can have it open: a regular file
/// under one name, the user's own, without any right for others.
pub(crate) fn open_own(options: &mut fs::OpenOptions, path: &Path) -> Result<File, NotOwn> {
    // A link is not followed, and a pipe not waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = restrict(options).custom_flags(flags.bits().cast_signed()).open(path);
    let is_link = || fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let file = match opened {
        Err(_) if is_link() => return Err(NotOwn::Unsafe("is a symbolic link")),
        opened => opened?,
    };
    let found = file.metadata()?;
    let problem = [
        (!found.is_file(), "is no regular file"),
        (found.uid() != geteuid().as_raw(), "belongs to another user"),
        (found.nlink() != 1, "has more than one name"),
        (found.mode() & 0o077 != 0, "can be read or written by others"),
    ];
    match problem.into_iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err(NotOwn::Unsafe(why)),
        None => Ok(file),
    }
}

/// Whether a pipe or device is the user's own or the system's.
pub(crate) fn is_trusted(file: &Metadata) -> bool {
    let is_mine = [geteuid().as_raw(), 0].contains(&file.uid());
    is_mine || file.file_type().is_char_device() || file.file_type().is_block_device()
}

/// Whether the link at `path` was put there by the user or the system.
pub(crate) fn is_trusted_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|link| [geteuid().as_raw(), 0].contains(&link.uid()))
}

/// A name is in its directory, and lasts when that does.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

/// Keeps keys and plaintext out of core dumps.
pub(crate) fn no_core_dumps() {
    // Where it is refused there is no more to be done.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

/// Asks at the terminal, wherever standard input and output lead, without showing what is typed. `read` reads the answer.
///
/// The terminal shows again what is typed once this is over, or once a signal ends the program meanwhile.
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

/// Bit n is set if file descriptor n was closed when the process began.
static BEGAN_CLOSED: AtomicU8 = AtomicU8::new(0);

/// Whether a standard stream was closed when the program began. The standard library puts /dev/null in its place,
/// which would swallow what is written, and pass for an empty input.
pub(crate) fn began_closed(stream: impl AsFd) -> bool {
    use std::os::fd::AsRawFd as _;
    let number = stream.as_fd().as_raw_fd();
    number < 3 && BEGAN_CLOSED.load(Ordering::Relaxed) >> number & 1 == 1
}

/// Notes which standard streams are closed, before the standard library opens something in their place.
extern "C" fn note_closed() {
    use std::os::fd::BorrowedFd;
    for number in 0..3_u8 {
        // SAFETY: nothing but `fcntl` sees the descriptor, and that asks whether it is open.
        let stream = unsafe { BorrowedFd::borrow_raw(number.into()) };
        if rustix::io::fcntl_getfd(stream) == Err(Errno::BADF) {
            BEGAN_CLOSED.fetch_or(1 << number, Ordering::Relaxed);
        }
    }
}

/// The loader calls what this section points to, functions of this type, before `main`. This one needs nothing that
/// `main` sets up.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static AT_THE_BEGINNING: extern "C" fn() = note_closed;
