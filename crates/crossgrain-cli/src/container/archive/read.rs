//! Iterates over the members of a tar archive. The archive may be hostile, so every member is checked: its
//! path is relative and has no `..`, and its kind can be unpacked. The memory for names and tables is
//! limited.
//!
//! GNU and PAX archives are read, with long names and GNU's sparse files.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use tar::{Archive, Entry, EntryType};

use crate::error::{Error, Exit};
use crate::input::{Name, shown};

/// The most bytes of headers, long names and tables before a member. They are held in memory.
const HEADERS_BYTES_MAX: u64 = 4 << 20;

/// The most bytes of a name, and of the target of a link. Linux has the same limit for paths.
const NAME_BYTES_MAX: usize = 4095;

/// The most components of a name.
pub(super) const DEPTH_MAX: usize = 256;

/// The zeros that sparse files may have in all: these bytes, and `HOLES_PER_BYTE` for each byte of the archive.
/// More would take minutes to write, from an archive of a few bytes.
const HOLES_BYTES_FREE: u64 = 1 << 30;
const HOLES_PER_BYTE: u64 = 1000;

/// A member of an archive.
pub(super) struct Member {
    /// Relative, of normal components only. Empty for the directory that contains all members.
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) mode: u32,
    /// Seconds since 1970, and nanoseconds.
    pub(super) modified: (i64, i32),
}

/// The kind of a member.
pub(super) enum Kind {
    /// A file of this length in bytes.
    File(u64),
    Directory,
    /// A symbolic link with this target, which may lead anywhere.
    Link(Vec<u8>),
    /// A further name of the file with this path.
    HardLink(PathBuf),
}

/// Gives all members in order, each with its data.
pub(super) fn members(
    name: &Name,
    input: impl Read,
    mut each: impl FnMut(Member, &mut dyn Read) -> Result<(), Error>,
) -> Result<(), Error> {
    let meter = Rc::new(Meter::default());
    // Errors of the crate quote the plaintext.
    let unreadable = |_: io::Error| {
        let why = if meter.is_exceeded.get() {
            format!("names and tables of the archive in {name} are too long: decrypt it without --tar")
        } else {
            format!("there is no readable tar archive in {name}: leave out --tar or --list")
        };
        Error::new(Exit::Corrupt, why)
    };
    let mut archive = Archive::new(Metered { inner: input, meter: Rc::clone(&meter) });
    let mut entries = archive.entries().map_err(unreadable)?;
    // The position at which the data of the current member ends, and the zeros of sparse files before it.
    let (mut end, mut holes_bytes) = (0, 0_u64);
    loop {
        meter.limit.set(end + HEADERS_BYTES_MAX);
        let Some(entry) = entries.next() else { return Ok(()) };
        let mut entry = entry.map_err(unreadable)?;
        meter.limit.set(u64::MAX);
        let stored_bytes = match entry.header().entry_type() {
            EntryType::GNUSparse => entry.header().entry_size().map_err(unreadable)?,
            _ => entry.size(),
        };
        end = meter.position.get().saturating_add(stored_bytes).min(u64::MAX - HEADERS_BYTES_MAX);
        holes_bytes = holes_bytes.saturating_add(entry.size().saturating_sub(stored_bytes));
        if holes_bytes > end.saturating_mul(HOLES_PER_BYTE).saturating_add(HOLES_BYTES_FREE) {
            let why = "has too large holes: decrypt without --tar and use GNU tar";
            return Err(refused(name, Path::new(OsStr::from_bytes(&entry.path_bytes())), why));
        }
        if let Some(member) = member(name, &mut entry, unreadable)? {
            each(member, &mut entry)?;
        }
    }
}

/// The member of an entry; `None` for one that only carries comments.
fn member<R: Read>(
    name: &Name,
    entry: &mut Entry<'_, R>,
    unreadable: impl Fn(io::Error) -> Error,
) -> Result<Option<Member>, Error> {
    let kind = entry.header().entry_type();
    if kind == EntryType::XGlobalHeader {
        return Ok(None);
    }
    let bytes = entry.path_bytes().into_owned();
    let refused = |why| Err(refused(name, Path::new(OsStr::from_bytes(&bytes)), why));
    let (modified, is_sparse) = extensions(entry).map_err(&unreadable)?;
    if is_sparse {
        return refused("is a sparse file in PAX form, decrypt without --tar and use GNU tar");
    }
    let path = match relative(&bytes) {
        Ok(path) => path,
        Err(why) => return refused(why),
    };
    let target = entry.link_name_bytes().unwrap_or_default();
    if target.len() > NAME_BYTES_MAX {
        return refused("is a link with a target of more than 4095 bytes: decrypt without --tar");
    }
    let target = target.into_owned();
    let kind = match kind {
        // Old archives mark directories only by the name.
        EntryType::Regular | EntryType::Continuous if bytes.ends_with(b"/") => Kind::Directory,
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => Kind::File(entry.size()),
        EntryType::Directory => Kind::Directory,
        EntryType::Symlink if target.is_empty() || target.contains(&0) => {
            return refused("is a link without a target");
        }
        EntryType::Symlink => Kind::Link(target),
        EntryType::Link => match relative(&target) {
            Ok(target) => Kind::HardLink(target),
            Err(_) => return refused("is a hard link that leads outside"),
        },
        EntryType::Block | EntryType::Char => return refused("is a device"),
        EntryType::Fifo => return refused("is a named pipe"),
        _ => return refused("is of a kind that cannot be unpacked"),
    };
    if path.as_os_str().is_empty() && !matches!(kind, Kind::Directory) {
        return refused("has no name");
    }
    let header = entry.header();
    let mode = header.mode().map_err(&unreadable)?;
    let modified = match modified {
        Some(modified) => modified,
        // Times before 1970 are negative numbers.
        None => (header.mtime().map_err(&unreadable)?.cast_signed(), 0),
    };
    Ok(Some(Member { path, kind, mode, modified }))
}

/// The error for a member that is not unpacked.
pub(super) fn refused(name: &Name, path: &Path, why: impl Display) -> Error {
    Error::new(Exit::Corrupt, format!("{name} is not unpacked: '{}' {why}", shown(path)))
}

/// The time of modification from the PAX records, if it is there, and whether they describe a sparse file.
fn extensions<R: Read>(entry: &mut Entry<'_, R>) -> io::Result<(Option<(i64, i32)>, bool)> {
    let (mut modified, mut is_sparse) = (None, false);
    if let Some(records) = entry.pax_extensions()? {
        for record in records {
            // The crate skips records that it cannot read, and would use a truncated name.
            let record = record?;
            is_sparse |= record.key_bytes().starts_with(b"GNU.sparse.");
            if record.key_bytes() == b"mtime" {
                let time = record.value().ok().and_then(seconds);
                modified = Some(time.ok_or(io::ErrorKind::InvalidData)?);
            }
        }
    }
    Ok((modified, is_sparse))
}

/// Decimal seconds, as whole seconds and nanoseconds after them.
fn seconds(text: &str) -> Option<(i64, i32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let seconds: i64 = whole.parse().ok()?;
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let nanoseconds: i32 = digits.parse().ok()?;
    if whole.starts_with('-') && nanoseconds > 0 {
        // -1.25 is 0.75 s after -2.
        return Some((seconds.checked_sub(1)?, 1_000_000_000 - nanoseconds));
    }
    Some((seconds, nanoseconds))
}

/// A path without `.` and without a way out, or the reason why it is refused.
fn relative(bytes: &[u8]) -> Result<PathBuf, &'static str> {
    if bytes.len() > NAME_BYTES_MAX {
        return Err("has a name of more than 4095 bytes: decrypt without --tar");
    }
    if bytes.contains(&0) {
        return Err("has a zero byte in its name");
    }
    let mut path = PathBuf::new();
    for component in Path::new(OsStr::from_bytes(bytes)).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir => return Err("has '..' in its name"),
            Component::RootDir | Component::Prefix(_) => return Err("has an absolute name"),
        }
    }
    if path.components().count() > DEPTH_MAX {
        return Err("is more than 256 directories deep: decrypt without --tar");
    }
    Ok(path)
}

/// The number of bytes read, how many may be, and whether more were wanted.
struct Meter {
    position: Cell<u64>,
    limit: Cell<u64>,
    is_exceeded: Cell<bool>,
}

impl Default for Meter {
    fn default() -> Self {
        Self { position: Cell::new(0), limit: Cell::new(HEADERS_BYTES_MAX), is_exceeded: Cell::new(false) }
    }
}

/// A reader that fails beyond a limit.
struct Metered<R> {
    inner: R,
    meter: Rc<Meter>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let position = self.meter.position.get();
        let left_bytes = self.meter.limit.get().saturating_sub(position);
        if left_bytes == 0 {
            self.meter.is_exceeded.set(true);
            return Err(io::ErrorKind::InvalidData.into());
        }
        let most = buffer.len().min(usize::try_from(left_bytes).unwrap_or(usize::MAX));
        let count = self.inner.read(&mut buffer[..most])?;
        self.meter.position.set(position + count as u64);
        Ok(count)
    }
}
