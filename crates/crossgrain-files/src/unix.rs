//! Unix, by `rustix`. Files without a name are Linux's alone; elsewhere there are none.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Gid, geteuid};

use crate::{Error, directory_of};

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
pub struct Stamp {
    identity: Option<Identity>,
    len_bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of an open file, or of what a path leads to.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            identity: identity(metadata),
            len_bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// The length of the file, in bytes.
    pub const fn len_bytes(&self) -> u64 {
        self.len_bytes
    }
}

/// When a file was changed last, by the time that nobody can set. The time of modification may be set back.
pub(crate) fn changed(metadata: &Metadata) -> Option<SystemTime> {
    let seconds = Duration::from_secs(u64::try_from(metadata.ctime()).ok()?);
    let nanoseconds = Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(seconds)?.checked_add(nanoseconds)
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
        let umask = told_umask().unwrap_or_else(|| {
            // Reading the umask is setting it. Another thread that makes a file at this moment makes it too narrow.
            let umask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
            rustix::process::umask(umask);
            umask.as_raw_mode()
        });
        Self { mode: 0o666 & !umask, group: None }
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

/// The umask, where the system tells it without setting it (Linux).
fn told_umask() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let digits = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(digits.trim(), 8).ok()
}

/// Makes what options create readable by the owner alone.
pub fn restrict(options: &mut OpenOptions) -> &mut OpenOptions {
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
pub(crate) fn open_own(options: &mut OpenOptions, path: &Path) -> Result<File, Error> {
    // A link is not followed, and a pipe not waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = restrict(options).custom_flags(flags.bits().cast_signed()).open(path);
    let is_link = || fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let file = match opened {
        Err(_) if is_link() => return Err(Error::Unsafe("is a symbolic link")),
        opened => opened?,
    };
    let found = file.metadata()?;
    if found.nlink() == 0 {
        // Another file has its name since it was opened.
        return Err(Error::Busy);
    }
    let problem = [
        (!found.is_file(), "is no regular file"),
        (found.uid() != geteuid().as_raw(), "belongs to another user"),
        (found.nlink() > 1, "has more than one name"),
        (found.mode() & 0o077 != 0, "can be read or written by others"),
    ];
    match problem.into_iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err(Error::Unsafe(why)),
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

/// Makes a name last: it is in its directory, and lasts when that does.
///
/// # Errors
/// If the directory cannot be synced.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(directory_of(path)) {
        Ok(directory) => directory.sync_all(),
        // One that may be written to and not read, such as a box to drop files in, is synced with all that is beside it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => sync_file_system(path),
        Err(error) => Err(error),
    }
}

/// Syncs the file system that a file is in.
#[cfg(target_os = "linux")]
fn sync_file_system(path: &Path) -> io::Result<()> {
    // A link may have been put there by now, or a pipe.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    Ok(rustix::fs::syncfs(&file)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_path: &Path) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}
