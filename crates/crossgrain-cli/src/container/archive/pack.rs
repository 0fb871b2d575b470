//! Packs directories into a tar archive.
//!
//! Each argument gets its last component as its name in the archive. Modes, owners, times, symbolic links and
//! hard links are stored. Sockets, pipes and devices are skipped with a message. Any other failure ends the
//! archive, because an archive that lacks files would look complete.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crossgrain_files::{Stamp, settled};
use rustix::fs::OFlags;
use tar::{Builder, EntryType, Header};

use super::channel::Sender;
use super::read::DEPTH_MAX;
use crate::error::{self, Error, Exit};
use crate::input::shown;

/// The name of an entry that holds the target of a link, as GNU tar writes it.
const LONG_LINK: &[u8] = b"././@LongLink";

/// Device and inode number, which identify a file.
pub(in super::super) type Identity = (u64, u64);

/// An archive that is being written.
pub(in super::super) struct Pack {
    archive: Builder<Sender>,
    /// The output, which is not packed into itself.
    output: Option<Identity>,
    /// The names of files with several names.
    linked: HashMap<Identity, PathBuf>,
    /// Members to add: a path and the name in the archive. The last one is next.
    pending: Vec<(PathBuf, PathBuf)>,
    packed: Packed,
}

/// The contents of an archive.
#[derive(Default)]
pub(in super::super) struct Packed {
    pub(in super::super) members: u64,
    /// Symbolic links that lead out of the packed directories.
    pub(in super::super) outside: u64,
}

impl Pack {
    /// Begins an archive of these files and directories.
    pub(in super::super) fn new(
        paths: &[PathBuf],
        output: Option<Identity>,
        to: Sender,
    ) -> Result<Self, Error> {
        let mut pending: Vec<(PathBuf, PathBuf)> = Vec::new();
        for path in paths.iter().rev() {
            let whole = fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
            let name = whole.file_name().ok_or_else(|| {
                Error::usage(format!("'{}' has no name for the archive: name what is in it", shown(path)))
            })?;
            if let Some((other, _)) = pending.iter().find(|(_, known)| known.as_os_str() == name) {
                let both = (shown(path), shown(other));
                let why =
                    format!("'{}' and '{}' have one name in the archive: pack them apart", both.0, both.1);
                return Err(Error::usage(why));
            }
            // A link that the user names is followed.
            let path = if fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink()) { &whole } else { path };
            pending.push((path.clone(), name.into()));
        }
        let archive = Builder::new(to);
        Ok(Self { archive, output, linked: HashMap::new(), pending, packed: Packed::default() })
    }

    /// Writes all members and the end of the archive.
    pub(in super::super) fn run(mut self) -> Result<Packed, Error> {
        while let Some((path, name)) = self.pending.pop() {
            self.add(&path, &name)?;
        }
        let ended = self.archive.into_inner().and_then(Sender::end);
        ended.map_err(|error| unreadable(Path::new("the archive"), &error))?;
        Ok(self.packed)
    }

    fn add(&mut self, path: &Path, name: &Path) -> Result<(), Error> {
        let metadata = fs::symlink_metadata(path).map_err(|error| unreadable(path, &error))?;
        if name.components().count() > DEPTH_MAX {
            let why = format!("'{}' is more than 256 directories deep: pack a part of it", shown(path));
            return Err(Error::new(Exit::InputOutput, why));
        }
        let kind = metadata.file_type();
        let identity = (metadata.dev(), metadata.ino());
        if self.output == Some(identity) {
            return Ok(());
        }
        let added = if kind.is_dir() {
            self.directory(path, name, &metadata)
        } else if kind.is_symlink() {
            self.link(path, name, &metadata)
        } else if kind.is_file() {
            match self.linked.get(&identity) {
                Some(first) if metadata.nlink() > 1 => {
                    let first = first.clone();
                    let mut header = header(&metadata, EntryType::Link);
                    self.linking(&mut header, name, first.as_os_str().as_bytes())
                }
                _ => return self.file(path, name, identity),
            }
        } else {
            let what = if kind.is_socket() { "a socket" } else { "a pipe or device" };
            error::tell(&format!("'{}' is {what}, and is left out", shown(path)));
            return Ok(());
        };
        self.packed.members += 1;
        added.map_err(|error| unreadable(path, &error))
    }

    /// Adds a directory. Its entries are next.
    fn directory(&mut self, path: &Path, name: &Path, metadata: &Metadata) -> io::Result<()> {
        let mut slashed = OsString::from(name);
        slashed.push("/");
        self.times(metadata)?;
        self.archive.append_data(&mut header(metadata, EntryType::Directory), slashed, io::empty())?;
        let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name()));
        let mut names = names.collect::<io::Result<Vec<_>>>()?;
        names.sort_unstable_by(|one, other| other.cmp(one));
        self.pending.extend(names.into_iter().map(|entry| (path.join(&entry), name.join(&entry))));
        Ok(())
    }

    fn link(&mut self, path: &Path, name: &Path, metadata: &Metadata) -> io::Result<()> {
        let target = fs::read_link(path)?;
        self.packed.outside += u64::from(leads_outside(name, &target));
        self.times(metadata)?;
        self.linking(&mut header(metadata, EntryType::Symlink), name, target.as_os_str().as_bytes())
    }

    /// Writes the entry of a symbolic or hard link.
    fn linking(&mut self, header: &mut Header, name: &Path, target: &[u8]) -> io::Result<()> {
        let room_bytes = header.as_old().linkname.len();
        if target.len() > room_bytes {
            // The target gets an entry of its own. The crate would shorten it instead, if it can.
            let mut long = Header::new_gnu();
            long.as_old_mut().name[..LONG_LINK.len()].copy_from_slice(LONG_LINK);
            long.set_entry_type(EntryType::GNULongLink);
            long.set_size(target.len() as u64 + 1);
            long.set_cksum();
            self.archive.append(&long, target.chain(&[0][..]))?;
        }
        header.set_link_name_literal(&target[..target.len().min(room_bytes)])?;
        self.archive.append_data(header, name, io::empty())
    }

    /// Adds a file. It must not change while it is read.
    fn file(&mut self, path: &Path, name: &Path, identity: Identity) -> Result<(), Error> {
        let failed = |error: io::Error| unreadable(path, &error);
        // A link or pipe that has taken the place of the file is not opened.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path).map_err(failed)?;
        let metadata = settled(&file).map_err(failed)?;
        let changed = || {
            let why =
                format!("'{}' was changed while it was read: try again when it is at rest", shown(path));
            Error::new(Exit::InputOutput, why)
        };
        if !metadata.is_file() || (metadata.dev(), metadata.ino()) != identity {
            return Err(changed());
        }
        let mut header = header(&metadata, EntryType::Regular);
        header.set_size(metadata.len());
        let mut data = Exactly { file: &file, left_bytes: metadata.len() };
        let added =
            self.times(&metadata).and_then(|()| self.archive.append_data(&mut header, name, &mut data));
        match added {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(changed()),
            added => added.map_err(failed)?,
        }
        // The file may have grown, or been written at a place that was already read.
        if Stamp::of(&file.metadata().map_err(failed)?) != Stamp::of(&metadata) {
            return Err(changed());
        }
        if metadata.nlink() > 1 {
            self.linked.insert(identity, name.to_owned());
        }
        self.packed.members += 1;
        Ok(())
    }

    /// Writes the time of the next member, where its header has no room for it.
    fn times(&mut self, metadata: &Metadata) -> io::Result<()> {
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        if seconds >= 0 && nanoseconds == 0 {
            return Ok(());
        }
        let text = if seconds < 0 && nanoseconds > 0 {
            // 0.75 s after -2 is -1.25.
            let whole = (seconds + 1).unsigned_abs();
            format!("-{whole}.{:09}", 1_000_000_000 - nanoseconds)
        } else {
            format!("{seconds}.{nanoseconds:09}")
        };
        self.archive.append_pax_extensions([("mtime", text.as_bytes())])
    }
}

/// The header of a member without data.
fn header(metadata: &Metadata, kind: EntryType) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(metadata.mode() & 0o7777);
    header.set_uid(metadata.uid().into());
    header.set_gid(metadata.gid().into());
    header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or(0));
    header.set_size(0);
    header
}

/// Whether a link leads out of the archive, judged by the names alone.
fn leads_outside(name: &Path, target: &Path) -> bool {
    use std::path::Component;
    let mut depth = name.components().count() - 1;
    for component in target.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::read(format_args!("'{}'", shown(path)), error)
}

/// The first bytes of a file. Fails if it has fewer.
struct Exactly<'a> {
    file: &'a File,
    left_bytes: u64,
}

impl Read for Exactly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.left_bytes).unwrap_or(usize::MAX));
        let count = self.file.read(&mut buffer[..most])?;
        if count == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left_bytes -= count as u64;
        Ok(count)
    }
}
