//! Unpacks a tar archive that may be hostile.
//!
//! Members are written relative to an open staging directory that only its owner can enter (`NewTree`).
//! Symbolic links are created after everything else, so nothing can be written through them. Then each is
//! followed, and must stay within the tree. Modes and times of directories are set at the very end, because
//! creating entries changes them.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crossgrain::engine::text::escaped;
use crossgrain_files::{Error as Refusal, NewTree};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, chmodat, fchmod, futimens, linkat,
    mkdirat, openat, readlinkat, statat, symlinkat, utimensat,
};
use rustix::io::Errno;

use super::read::{Kind, Member, members};
use crate::error::{self, Error, Exit};
use crate::input::{Name, shown};
use crate::interrupt;
use crate::output;

/// Bytes copied at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Blocks of zeros of this length are not written.
const HOLE_BYTES: usize = 4096;

/// The most links that a path may lead through; systems have the same limit.
const HOPS_MAX: usize = 40;

/// Permission bits that are restored. Set-user-ID, set-group-ID and sticky bits are not.
const MODE_BITS: u32 = 0o777;

/// Seconds since 1970, and nanoseconds.
type Times = (i64, i32);

/// A tree that is being unpacked.
pub(in super::super) struct Unpack {
    tree: NewTree,
    destination: PathBuf,
    /// Whether links may lead out of the tree.
    outside: bool,
    /// Directories in order, with the modes and times that they get.
    directories: Vec<(PathBuf, u32, Times)>,
    links: BTreeMap<PathBuf, (Vec<u8>, Times)>,
    /// The first components of all paths.
    tops: HashSet<OsString>,
    /// Members whose mode had bits that are not restored.
    special: u64,
    buffer: Vec<u8>,
}

impl Unpack {
    /// Begins to unpack into a directory, which need not exist.
    pub(in super::super) fn new(destination: &Path, outside: bool) -> Result<Self, Error> {
        let on_temporary = &mut |path: &Path| interrupt::remove_tree_on_signal(path.to_owned());
        let tree = NewTree::begin(destination, on_temporary)
            .map_err(|refusal| output::refused(Name::File(destination.to_owned()), refusal))?;
        Ok(Self {
            tree,
            destination: destination.to_owned(),
            outside,
            directories: Vec::new(),
            links: BTreeMap::new(),
            tops: HashSet::new(),
            special: 0,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Writes all members of an archive, and reads it to its end.
    pub(in super::super) fn run(mut self, name: &Name, input: &mut impl Read) -> Result<Self, Error> {
        members(name, &mut *input, |member, data| self.add(name, member, data))?;
        io::copy(input, &mut io::sink()).map_err(|error| Error::read(name, &error))?;
        Ok(self)
    }

    fn add(&mut self, name: &Name, member: Member, data: &mut dyn Read) -> Result<(), Error> {
        let Member { path, kind, mode, modified } = member;
        if path.as_os_str().is_empty() {
            return Ok(());
        }
        self.check_place(name, &path)?;
        let mode_bits = mode & MODE_BITS;
        self.special += u64::from(mode & 0o7000 != 0 && !matches!(kind, Kind::HardLink(_)));
        let done = match kind {
            Kind::File(len_bytes) => self.file(&path, data, len_bytes, (mode_bits, modified)),
            Kind::Directory => {
                let root = self.tree.staging();
                let made = with_parents(root, &path, || mkdirat(root, &path, Mode::RWXU));
                let made = made.or_else(|error| self.is_directory(&path).then_some(()).ok_or(error));
                self.directories.push((path.clone(), mode_bits, modified));
                made.map_err(io::Error::from)
            }
            Kind::Link(target) => match self.links.insert(path.clone(), (target, modified)) {
                Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
                None => Ok(()),
            },
            Kind::HardLink(target) => self.hard_link(name, &path, &target)?,
        };
        done.map_err(|error| self.failed(name, &path, &error))
    }

    /// Refuses a member below a link, and one whose final name is taken.
    fn check_place(&mut self, name: &Name, path: &Path) -> Result<(), Error> {
        if let Some(link) = path.ancestors().skip(1).find(|above| self.links.contains_key(*above)) {
            return Err(refused(
                name,
                path,
                format_args!("would be written through the link '{}'", shown(link)),
            ));
        }
        let Some(Component::Normal(top)) = path.components().next() else { return Ok(()) };
        if self.tops.contains(top) {
            return Ok(());
        }
        let place = self.destination.join(top);
        let is_free =
            self.tree.is_free(top).map_err(|error| Error::write(Name::File(place.clone()), &error))?;
        if !is_free {
            return Err(taken(&place));
        }
        self.tops.insert(top.to_owned());
        Ok(())
    }

    fn file(
        &mut self,
        path: &Path,
        data: &mut dyn Read,
        len_bytes: u64,
        (mode, times): (u32, Times),
    ) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = self.tree.staging();
        let made = with_parents(root, path, || openat(root, path, flags, Mode::RUSR | Mode::WUSR))?;
        let mut file = File::from(made);
        let (mut written_bytes, mut has_holes) = (0, false);
        loop {
            let count = data.read(&mut self.buffer)?;
            if count == 0 {
                break;
            }
            has_holes |= write_sparsely(&mut file, &self.buffer[..count])?;
            written_bytes += count as u64;
        }
        if written_bytes != len_bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if has_holes {
            // A hole at the end is not part of the file until its length is set.
            file.set_len(len_bytes)?;
        }
        fchmod(&file, Mode::from_raw_mode(mode))?;
        Ok(futimens(&file, &timestamps(times))?)
    }

    fn hard_link(&mut self, name: &Name, path: &Path, target: &Path) -> Result<io::Result<()>, Error> {
        if let Some(link) = self.links.get(target).cloned() {
            let other = self.links.insert(path.to_owned(), link);
            return Ok(if other.is_none() { Ok(()) } else { Err(io::ErrorKind::AlreadyExists.into()) });
        }
        let found = statat(self.tree.staging(), target, AtFlags::SYMLINK_NOFOLLOW);
        if !found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile) {
            return Err(refused(
                name,
                path,
                "is a hard link to something that is no file before it in the archive",
            ));
        }
        let root = self.tree.staging();
        let linked = with_parents(root, path, || linkat(root, target, root, path, AtFlags::empty()));
        Ok(linked.map_err(io::Error::from))
    }

    fn is_directory(&self, path: &Path) -> bool {
        let found = statat(self.tree.staging(), path, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
    }

    /// Creates the links, gives everything its final name, and sets modes and times of directories. Call it
    /// only when the whole archive is authentic.
    pub(in super::super) fn finish(self, name: &Name) -> Result<(), Error> {
        let Self { tree, destination, outside, mut directories, links, tops, special, .. } = self;
        let failed = |path: &Path, error: &io::Error| Error::write(Name::File(destination.join(path)), error);
        for (path, (target, times)) in &links {
            create_link(tree.staging(), path, target, *times).map_err(|error| match error {
                Errno::EXIST => refused(name, path, "occurs twice"),
                other => failed(path, &other.into()),
            })?;
        }
        // All links exist now, so that each can be followed through the others.
        let within = tree.is_in_existing().then_some(&tops);
        for (path, (target, _)) in links.iter().filter(|_| !outside) {
            if leads_outside(tree.staging(), within, path, target)
                .map_err(|error| failed(path, &error.into()))?
            {
                let target = shown(Path::new(OsStr::from_bytes(target)));
                let why = format!("is a link that leads outside, to '{target}': --outside-links permits it");
                return Err(refused(name, path, why));
            }
        }
        let root = tree.finish().map_err(|refusal| match refusal {
            Refusal::Exists => taken(&destination),
            other => output::refused(Name::File(destination.clone()), other),
        })?;
        // Entries of a directory that is read-only are complete by now.
        directories.reverse();
        for (path, mode, times) in &directories {
            let set = chmodat(&root, path, Mode::from_raw_mode(*mode), AtFlags::empty());
            let set =
                set.and_then(|()| utimensat(&root, path, &timestamps(*times), AtFlags::SYMLINK_NOFOLLOW));
            set.map_err(|error| failed(path, &error.into()))?;
        }
        if special > 0 {
            error::tell(&format!(
                "set-user-ID, set-group-ID and sticky bits are not restored ({special} members)"
            ));
        }
        Ok(())
    }

    /// The error of a member that could not be written.
    fn failed(&self, name: &Name, path: &Path, error: &io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::AlreadyExists => refused(name, path, "occurs twice"),
            io::ErrorKind::UnexpectedEof => refused(name, path, "is cut off"),
            _ => Error::write(Name::File(self.destination.join(path)), error),
        }
    }
}

/// Prints the names of the members, and reads the archive to its end, even if nobody reads the names.
pub(in super::super) fn list(name: &Name, input: &mut impl Read) -> Result<(), Error> {
    let mut lines = io::BufWriter::new(output::Output::standard()?);
    let told = |written: io::Result<()>| match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Error::print(&error)),
    };
    let mut print = |line: String| told(lines.write_all(line.as_bytes()));
    members(name, &mut *input, |member, _| {
        let path = escaped(&member.path.to_string_lossy()).to_string();
        match member.kind {
            _ if path.is_empty() => Ok(()),
            Kind::Directory => print(format!("{path}/\n")),
            Kind::File(_) => print(format!("{path}\n")),
            Kind::Link(target) => {
                print(format!("{path} -> {}\n", escaped(&String::from_utf8_lossy(&target))))
            }
            Kind::HardLink(target) => print(format!("{path} = {}\n", escaped(&target.to_string_lossy()))),
        }
    })?;
    told(lines.flush())?;
    io::copy(input, &mut io::sink()).map_err(|error| Error::read(name, &error)).map(drop)
}

fn refused(name: &Name, path: &Path, why: impl std::fmt::Display) -> Error {
    Error::new(Exit::Corrupt, format!("{name} is not unpacked: '{}' {why}", shown(path)))
}

fn taken(path: &Path) -> Error {
    let why = format!("'{}' exists: move it away, or choose another directory", shown(path));
    Error::new(Exit::WouldOverwrite, why)
}

fn create_link(root: &File, path: &Path, target: &[u8], times: Times) -> Result<(), Errno> {
    with_parents(root, path, || symlinkat(OsStr::from_bytes(target), root, path))?;
    utimensat(root, path, &timestamps(times), AtFlags::SYMLINK_NOFOLLOW)
}

/// Runs `make`. If the directories above the path are missing, creates them first.
fn with_parents<T>(root: &File, path: &Path, make: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    match make() {
        Err(Errno::NOENT) => {}
        made => return made,
    }
    let mut above: Vec<_> = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
    above.reverse();
    for directory in above {
        match mkdirat(root, directory, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    make()
}

/// Follows a link as the system would, within the tree `root`. `within` are the entries of the tree, if it is
/// to join a directory with other entries.
fn leads_outside(
    root: &File,
    within: Option<&HashSet<OsString>>,
    path: &Path,
    target: &[u8],
) -> Result<bool, Errno> {
    let mut at = path.parent().map(Path::to_owned).unwrap_or_default();
    let mut hops = 0;
    // The components that are left, the next one last.
    let mut left: Vec<OsString> = Vec::new();
    let mut target = target.to_vec();
    loop {
        if target.starts_with(b"/") {
            return Ok(true);
        }
        hops += 1;
        if hops > HOPS_MAX {
            // The system follows it nowhere either.
            return Ok(false);
        }
        left.extend(target.split(|&byte| byte == b'/').rev().map(|name| OsStr::from_bytes(name).to_owned()));
        target = loop {
            let Some(name) = left.pop() else { return Ok(false) };
            match name.as_bytes() {
                b"" | b"." => continue,
                b".." if at.pop() => continue,
                b".." => return Ok(true),
                _ => at.push(&name),
            }
            if within.is_some_and(|tops| at.iter().next().is_some_and(|top| !tops.contains(top))) {
                return Ok(true);
            }
            match readlinkat(root, &at, Vec::new()) {
                Ok(target) => {
                    at.pop();
                    break target.into_bytes();
                }
                // It is no link, or does not exist.
                Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => return Err(error),
            }
        };
    }
}

fn timestamps((seconds, nanoseconds): Times) -> Timestamps {
    let unchanged = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let modified = Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() };
    Timestamps { last_access: unchanged, last_modification: modified }
}

/// Appends bytes, and tells whether it left holes in place of blocks of zeros.
fn write_sparsely(file: &mut File, bytes: &[u8]) -> io::Result<bool> {
    let (mut from, mut has_holes) = (0, false);
    for (at, block) in (0..).step_by(HOLE_BYTES).zip(bytes.chunks(HOLE_BYTES)) {
        if block.len() == HOLE_BYTES && block.iter().all(|&byte| byte == 0) {
            file.write_all(&bytes[from..at])?;
            file.seek(SeekFrom::Current(HOLE_BYTES as i64))?;
            (from, has_holes) = (at + HOLE_BYTES, true);
        }
    }
    file.write_all(&bytes[from..])?;
    Ok(has_holes)
}
