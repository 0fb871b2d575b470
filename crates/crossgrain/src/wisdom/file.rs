//! Wisdom on disk. A file is complete or absent, and concurrent writers lose no data.
//!
//! Readers need no lock, because a file gets its name by a rename after it is complete. Writers hold a lock
//! on a separate lock file, so a writer that merges sees the data of the writers before it.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Wisdom;
use super::refused::Refused;
use crate::auxiliary;

/// The environment variable that names the file.
pub const PATH_VARIABLE: &str = "CROSSGRAIN_WISDOM";

/// The maximum file size, in bytes: far more than all costs of all ciphers.
const BYTES_MAX: u64 = 16 << 20;

/// The default path: the file named by `CROSSGRAIN_WISDOM`, or `crossgrain/wisdom.json` in the user's cache
/// directory. `None` if neither is known.
pub fn default_path() -> Option<PathBuf> {
    let path = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = path(PATH_VARIABLE) {
        return Some(named);
    }
    // The XDG specification requires that relative paths are ignored.
    let cache = path("XDG_CACHE_HOME").filter(|cache| cache.is_absolute());
    let cache = cache.or_else(|| Some(path("HOME")?.join(".cache")))?;
    Some(cache.join("crossgrain").join("wisdom.json"))
}

/// Deletes the file.
///
/// # Errors
/// [`Refused::Missing`] if the file does not exist, [`Refused::NotRegular`], [`Refused::Unwritable`] if it
/// cannot be deleted.
pub fn forget(path: &Path) -> Result<(), Refused> {
    if let Err(error) = fs::symlink_metadata(path) {
        return Err(Refused::reading(&error));
    }
    regular(path)?;
    let _lock = Lock::beside(&target(path))?;
    fs::remove_file(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Refused::Missing,
        kind => Refused::Unwritable(kind),
    })
}

impl Wisdom {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Refused`] if the file cannot be read or is doubtful in any way.
    pub fn load(path: &Path) -> Result<Self, Refused> {
        let bytes = auxiliary::read(path, BYTES_MAX + 1).map_err(|error| Refused::reading(&error))?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(Refused::corrupt("it is far too long"));
        }
        let text = String::from_utf8(bytes).map_err(|_| Refused::corrupt("it is no text"))?;
        Self::from_json(&text)
    }

    /// Writes a file and replaces an existing one.
    ///
    /// # Errors
    /// [`Refused::NotRegular`], [`Refused::Unwritable`]. The existing file is then unchanged.
    pub fn save(&self, path: &Path) -> Result<(), Refused> {
        let path = target(path);
        regular(&path)?;
        let _lock = Lock::beside(&path)?;
        self.replace(&path)
    }

    /// Merges these costs into a file and returns the result. These costs take precedence over those in the
    /// file. A refused file is replaced, unless it is from a newer version or cannot be read.
    ///
    /// # Errors
    /// [`Refused::NotRegular`], [`Refused::Unwritable`], [`Refused::Unreadable`], [`Refused::Future`]. The
    /// existing file is then unchanged.
    pub fn merge(&self, path: &Path) -> Result<Self, Refused> {
        let path = target(path);
        let _lock = Lock::beside(&path)?;
        let merged = match Self::load(&path) {
            Ok(older) => self.over(older),
            Err(refused @ (Refused::NotRegular | Refused::Unreadable(_) | Refused::Future { .. })) => {
                return Err(refused);
            }
            Err(_) => self.clone(),
        };
        merged.replace(&path)?;
        Ok(merged)
    }

    /// Writes a temporary file in the same directory, then renames it.
    fn replace(&self, path: &Path) -> Result<(), Refused> {
        let temporary = temporary_beside(path);
        let written = write_new(&temporary, &self.to_json()).and_then(|()| fs::rename(&temporary, path));
        written.map_err(|error| {
            // The temporary file may not exist. The error to report is the earlier one.
            let _ = fs::remove_file(&temporary);
            Refused::writing(&error)
        })
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    // After a power failure the name must not exist without the contents.
    file.sync_all()
}

/// Fails for pipes, sockets and devices, which must not be replaced or deleted. The system rejects
/// directories.
fn regular(path: &Path) -> Result<(), Refused> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Err(Refused::NotRegular),
        _ => Ok(()),
    }
}

/// Resolves symbolic links, so that the link stays and its target is replaced.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn with_suffix(path: &Path, suffix: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A file name that no other thread or process uses at the same time: a random number, because not every system
/// numbers its processes.
fn temporary_beside(path: &Path) -> PathBuf {
    let random = RandomState::new().build_hasher().finish();
    with_suffix(path, format!(".tmp.{random:016x}"))
}

/// A lock held while a file is changed. Other writers wait for it. The system releases it when its holder
/// ends, even if the holder is killed.
struct Lock(#[allow(dead_code, reason = "held, not used")] File);

impl Lock {
    /// Locks the lock file of `path`. Creates the directory if necessary.
    fn beside(path: &Path) -> Result<Self, Refused> {
        let lock = || {
            if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
                fs::create_dir_all(directory)?;
            }
            let beside = with_suffix(path, ".lock");
            let file = auxiliary::open(File::options().write(true).create(true).truncate(false), &beside)?;
            match file.lock() {
                // The file system has no locks. The rename still keeps the file complete.
                Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
                _ => Ok(Self(file)),
            }
        };
        lock().map_err(|error| Refused::writing(&error))
    }
}
