//! Unix, through `rustix`. Only Linux has files without a name.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
#[cfg(target_os = "linux")]
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Gid, geteuid};

use crate::{Error, directory_of};

/// Whether files can be locked.
pub(crate) const HAS_LOCKS: bool = true;

/// Read and write permission for the owner.
const OWNER_ONLY: u32 = 0o600;

/// The identity of a file, independent of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

/// The identity of an open file, or of the target of a path.
pub(crate) fn identity(metadata: &Metadata) -> Option<Identity> {
    Some(Identity { device: metadata.dev(), inode: metadata.ino() })
}

/// Properties that change when a file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    identity: Option<Identity>,
    len_bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of an open file, or of the target of a path.
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

/// The time of the last change (ctime), which programs cannot set. The time of modification can be set back.
pub(crate) fn changed(metadata: &Metadata) -> Option<SystemTime> {
    let seconds = Duration::from_secs(u64::try_from(metadata.ctime()).ok()?);
    let nanoseconds = Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(seconds)?.checked_add(nanoseconds)
}

/// The permissions of a file after it is named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights {
    mode: u32,
    group: Option<u32>,
}

impl Rights {
    /// Access for the owner only.
    pub(crate) const fn owner_only() -> Self {
        Self { mode: OWNER_ONLY, group: None }
    }

    /// The default of a new file: the umask decides.
    pub(crate) fn of_new_file() -> Self {
        let umask = told_umask().unwrap_or_else(|| {
            // The umask can be read only by setting it. A file that another thread creates at this moment
            // gets narrower permissions.
            let umask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
            rustix::process::umask(umask);
            umask.as_raw_mode()
        });
        Self { mode: 0o666 & !umask, group: None }
    }

    /// The permissions of the replaced file if the user owns it. Another user must not decide who can read
    /// the new one.
    pub(crate) fn of_replaced(old: &Metadata) -> Option<Self> {
        let is_own = old.is_file() && old.uid() == geteuid().as_raw();
        // Set-user-ID bits are dropped: they would apply to new content.
        is_own.then(|| Self { mode: old.mode() & 0o777, group: Some(old.gid()) })
    }

    /// Sets the permissions of a complete file.
    pub(crate) fn give(self, file: &File) -> io::Result<()> {
        let Self { mut mode, group } = self;
        if let Some(group) = group.filter(|&group| file.metadata().is_ok_and(|made| made.gid() != group))
            && rustix::fs::fchown(file, None, Some(Gid::from_raw(group))).is_err()
        {
            // The group could not be set, so the group of the file gets no permissions.
            mode &= 0o707;
        }
        file.set_permissions(fs::Permissions::from_mode(mode))
    }
}

/// The umask, on systems that can report it without setting it (Linux).
fn told_umask() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let digits = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(digits.trim(), 8).ok()
}

/// Makes newly created files accessible only to the owner.
pub fn restrict(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(OWNER_ONLY)
}

/// A file in `directory` without a name. It disappears with the process unless [`link`] names it. `None` if
/// the system does not support this.
pub(crate) fn open_unnamed(directory: &Path) -> io::Result<Option<File>> {
    match unnamed(directory) {
        // The name is set through /proc, which may be missing.
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

/// The path that the system has for an open file without a name.
fn name_of(file: &File) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Names a file of [`open_unnamed`]. The name must not exist yet.
pub(crate) fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, name_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Opens a file to be continued, or creates one that only the owner can access, with `options`.
///
/// An existing file must be a regular file with one name, owned by the user, without permissions for others.
/// Then no other user can have created it, and no other user can have it open.
pub(crate) fn open_own(options: &mut OpenOptions, path: &Path) -> Result<File, Error> {
    // Do not follow a link, and do not wait for a pipe.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = restrict(options).custom_flags(flags.bits().cast_signed()).open(path);
    let is_link = || fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let file = match opened {
        Err(_) if is_link() => return Err(Error::Unsafe("is a symbolic link")),
        opened => opened?,
    };
    let found = file.metadata()?;
    if found.nlink() == 0 {
        // Another file got its name after it was opened.
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

/// Whether a pipe or device belongs to the user or to the system.
pub(crate) fn is_trusted(file: &Metadata) -> bool {
    let is_mine = [geteuid().as_raw(), 0].contains(&file.uid());
    is_mine || file.file_type().is_char_device() || file.file_type().is_block_device()
}

/// Whether the link at `path` was created by the user or by the system.
pub(crate) fn is_trusted_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|link| [geteuid().as_raw(), 0].contains(&link.uid()))
}

/// Writes files to disk, and gives a result for each.
///
/// On Linux one call syncs the whole file system. This takes about as long as syncing a single small file.
pub(crate) fn sync_files(files: &[&File]) -> Vec<io::Result<()>> {
    let mut synced: Vec<(u64, Result<(), Errno>)> = Vec::new();
    let sync = |file: &&File| {
        if !syncs_reliably(file) {
            return file.sync_all();
        }
        let device = file.metadata()?.dev();
        let done = match synced.iter().find(|(known, _)| *known == device) {
            Some((_, done)) => *done,
            None => {
                let done = syncfs(file);
                synced.push((device, done));
                done
            }
        };
        Ok(done?)
    };
    files.iter().map(sync).collect()
}

/// Writes everything below an open directory to disk with one call, if that is reliable. Otherwise writes only
/// the directory.
pub(crate) fn sync_tree(directory: &File) -> io::Result<()> {
    if syncs_reliably(directory) { Ok(syncfs(directory)?) } else { directory.sync_all() }
}

/// Whether one call writes everything on the file system of `file` to disk and reports errors.
///
/// Linux reports errors of `syncfs` since version 5.8. FUSE does not pass the call on to its server.
#[cfg(target_os = "linux")]
pub(crate) fn syncs_reliably(file: &File) -> bool {
    /// `f_type` of FUSE file systems.
    const FUSE_MAGIC: i128 = 0x6573_5546;
    static REPORTS_ERRORS: LazyLock<bool> = LazyLock::new(|| {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        is_at_least(&release, (5, 8))
    });
    // The type of `f_type` depends on the target.
    let is_fuse = rustix::fs::fstatfs(file).is_ok_and(|found| i128::from(found.f_type) == FUSE_MAGIC);
    *REPORTS_ERRORS && !is_fuse
}

#[cfg(not(target_os = "linux"))]
pub(crate) const fn syncs_reliably(_file: &File) -> bool {
    false
}

/// Whether a kernel release such as `6.1.0-18-amd64` has at least this version.
#[cfg(target_os = "linux")]
fn is_at_least(release: &str, least: (u32, u32)) -> bool {
    let mut numbers = release.split(|byte: char| !byte.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= least,
        _ => false,
    }
}

#[cfg(target_os = "linux")]
fn syncfs(file: &File) -> Result<(), Errno> {
    rustix::fs::syncfs(file)
}

#[cfg(not(target_os = "linux"))]
const fn syncfs(_file: &File) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Makes a name durable by syncing its directory.
///
/// # Errors
/// If the directory cannot be synced.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(directory_of(path)) {
        Ok(directory) => directory.sync_all(),
        // A directory that can be written but not read cannot be opened. The whole file system is synced
        // instead.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => sync_file_system(path),
        Err(error) => Err(error),
    }
}

/// Syncs the file system that contains a file.
#[cfg(target_os = "linux")]
fn sync_file_system(path: &Path) -> io::Result<()> {
    // The path may have become a link or a pipe.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    Ok(syncfs(&file)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_path: &Path) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}
