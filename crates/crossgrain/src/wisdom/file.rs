//! Wisdom on disk: whole or not at all, and nothing lost among processes that write at once.
//!
//! Readers need no lock, since a file gets its name only when it is complete. Writers take turns by a lock
//! on a file beside it, so that who adds to what is there sees what others have just added.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Wisdom;
use super::refused::Refused;
use crate::auxiliary;

/// The environment variable that names the file.
pub const PATH_VARIABLE: &str = "CROSSGRAIN_WISDOM";

/// Far more than all costs of all ciphers take.
const BYTES_MAX: u64 = 16 << 20;

/// Where wisdom is kept unless someone says otherwise: the file that `CROSSGRAIN_WISDOM` names, or
/// `crossgrain/wisdom.json` in the user's cache. `None` where there is neither.
pub fn default_path() -> Option<PathBuf> {
    let path = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = path(PATH_VARIABLE) {
        return Some(named);
    }
    // The XDG specification wants relative paths ignored.
    let cache = path("XDG_CACHE_HOME").filter(|cache| cache.is_absolute());
    let cache = cache.or_else(|| Some(path("HOME")?.join(".cache")))?;
    Some(cache.join("crossgrain").join("wisdom.json"))
}

/// Deletes the file.
///
/// # Errors
/// [`Refused::Missing`] if there is none, [`Refused::NotRegular`], [`Refused::Unwritable`] if it cannot be deleted.
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
    /// [`Refused`] for a file that cannot be read, and for one that is doubtful in any way.
    pub fn load(path: &Path) -> Result<Self, Refused> {
        let bytes = auxiliary::read(path, BYTES_MAX + 1).map_err(|error| Refused::reading(&error))?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(Refused::corrupt("it is far too long"));
        }
        let text = String::from_utf8(bytes).map_err(|_| Refused::corrupt("it is no text"))?;
        Self::from_json(&text)
    }

    /// Writes a file in the place of whatever was there.
    ///
    /// # Errors
    /// [`Refused::NotRegular`], [`Refused::Unwritable`]; then whatever was there still is.
    pub fn save(&self, path: &Path) -> Result<(), Refused> {
        let path = target(path);
        regular(&path)?;
        let _lock = Lock::beside(&path)?;
        self.replace(&path)
    }

    /// Adds this to a file, and returns what it holds then: costs of this go before those in the file, and
    /// a file that is refused is replaced, unless it is from the future.
    ///
    /// # Errors
    /// [`Refused::NotRegular`], [`Refused::Unwritable`], [`Refused::Unreadable`], [`Refused::Future`]; then whatever was there still is.
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

    /// Writes beside the file, then renames.
    fn replace(&self, path: &Path) -> Result<(), Refused> {
        let temporary = temporary_beside(path);
        let written = write_new(&temporary, &self.to_json()).and_then(|()| fs::rename(&temporary, path));
        written.map_err(|error| {
            // It may not even be there; what matters is told.
            let _ = fs::remove_file(&temporary);
            Refused::writing(&error)
        })
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    // The name must not outlive a power cut that the bytes do not.
    file.sync_all()
}

/// Refuses to replace or delete a pipe, a socket or a device. The system refuses to do so with a directory.
fn regular(path: &Path) -> Result<(), Refused> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Err(Refused::NotRegular),
        _ => Ok(()),
    }
}

/// The end of a link: the link stays, and the file it leads to is replaced.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn with_suffix(path: &Path, suffix: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A name that no other thread or process takes at the same time.
fn temporary_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    with_suffix(path, format!(".tmp.{}.{count}", process::id()))
}

/// Held while a file is changed; whoever else wants to change it waits. It ends with its holder, even with
/// one that is killed.
struct Lock(#[allow(dead_code, reason = "held, not used")] File);

impl Lock {
    /// Makes the directory too, if need be.
    fn beside(path: &Path) -> Result<Self, Refused> {
        let lock = || {
            if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
                fs::create_dir_all(directory)?;
            }
            let beside = with_suffix(path, ".lock");
            let file = auxiliary::open(File::options().write(true).create(true).truncate(false), &beside)?;
            match file.lock() {
                // A file system without locks: the rename still leaves the file whole.
                Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
                _ => Ok(Self(file)),
            }
        };
        lock().map_err(|error| Refused::writing(&error))
    }
}
