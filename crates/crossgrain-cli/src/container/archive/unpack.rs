//! Unpacks a tar archive that may be hostile.
//!
//! Members are written relative to an open staging directory that only its owner can enter (`NewTree`).
//! Symbolic links are created after everything else, so nothing can be written through them. Then each is
//! followed, and must stay within the tree. Modes and times of directories are set last, because creating
//! entries changes them. No path is followed after the tree has its final names, because other users may be
//! able to rename its entries then.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crossgrain::engine::text::escaped;
use crossgrain_files::{Error as Refusal, NewTree};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, chmodat, fchmod, futimens, linkat,
    mkdirat, openat, readlinkat, statat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::read::{Kind, Member, members, refused};
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

/// Permission bits. Set-user-ID, set-group-ID and sticky bits are not restored.
const MODE_BITS: u32 = 0o777;

/// The permission that is needed to move a directory into another one.
const OWNER_WRITES: u32 = 0o200;

/// Seconds since 1970, and nanoseconds.
type Times = (i64, i32);

/// A directory, with the mode and the time that it gets.
type Directory = (PathBuf, u32, Times);

/// An open directory, which gets its mode and time when it has its final name.
type Opened = (File, Directory);

/// A tree that is being unpacked.
pub(in super::super) struct Unpack {
    tree: NewTree,
    destination: PathBuf,
    /// Whether links may lead out of the tree.
    outside: bool,
    /// Permission bits that are restored: all but those that the umask removes.
    mode_bits: u32,
    /// Directories in the order of the archive.
    directories: Vec<Directory>,
    /// Symbolic links with their targets. None is below another. Hard links share the target.
    links: BTreeMap<PathBuf, (Arc<[u8]>, Times)>,
    /// The first components of all paths.
    tops: HashSet<OsString>,
    /// Members whose mode had bits that are not restored.
    special: u64,
    buffer: Vec<u8>,
}

impl Unpack {
    /// Begins to unpack into a directory, which need not exist.
    pub(in super::super) fn new(destination: &Path, outside: bool) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::write(Name::File(destination.to_owned()), &error);
        let remover = Arc::new(OnceLock::new());
        let on_temporary =
            &mut |path: &Path| interrupt::remove_tree_on_signal(path.to_owned(), Arc::clone(&remover));
        let tree = NewTree::begin(destination, on_temporary)
            .map_err(|refusal| output::refused(Name::File(destination.to_owned()), refusal))?;
        remover.get_or_init(|| tree.remover()).as_ref().map_err(|error| failed(error.kind().into()))?;
        let mode_bits = common_mode(tree.staging()).map_err(|error| failed(error.into()))?;
        Ok(Self {
            tree,
            destination: destination.to_owned(),
            outside,
            mode_bits,
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
        let mode_bits = mode & self.mode_bits;
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
            Kind::Link(target) => self.add_link(&path, (target.into(), modified)),
            Kind::HardLink(target) => self.hard_link(name, &path, &target)?,
        };
        done.map_err(|error| self.failed(name, &path, &error))
    }

    /// Refuses a member below a link, and one whose final name is taken.
    fn check_place(&mut self, name: &Name, path: &Path) -> Result<(), Error> {
        // Paths are sorted by their components, so between a link and a path below it there is only another
        // path below the link. None of them is a link.
        let before = self.links.range::<Path, _>((Unbounded, Excluded(path))).next_back();
        if let Some((link, _)) = before.filter(|(link, _)| path.starts_with(link)) {
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

    /// Keeps a link until all files are written. A link must not replace a directory that contains another.
    fn add_link(&mut self, path: &Path, link: (Arc<[u8]>, Times)) -> io::Result<()> {
        let next = self.links.range::<Path, _>((Included(path), Unbounded)).next();
        if next.is_some_and(|(next, _)| next.starts_with(path)) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.links.insert(path.to_owned(), link);
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
        futimens(&file, &timestamps(times))?;
        self.tree.sync_file(&file)
    }

    fn hard_link(&mut self, name: &Name, path: &Path, target: &Path) -> Result<io::Result<()>, Error> {
        if let Some(link) = self.links.get(target).cloned() {
            return Ok(self.add_link(path, link));
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

    /// The path of the directory that contains the tree until it is finished.
    pub(in super::super) fn staging_path(&self) -> PathBuf {
        self.tree.path().to_owned()
    }

    /// Creates the links, sets modes and times of directories, and gives everything its final name. Call it
    /// only when the whole archive is authentic.
    pub(in super::super) fn finish(mut self, name: &Name) -> Result<(), Error> {
        self.create_links(name)?;
        let directories = std::mem::take(&mut self.directories);
        let late = self.complete_directories(directories)?;
        let Self { tree, destination, special, .. } = self;
        tree.finish().map_err(|refusal| match refusal {
            Refusal::Exists => taken(&destination),
            other => output::refused(Name::File(destination.clone()), other),
        })?;
        for (directory, (path, mode, times)) in late {
            let set = fchmod(&directory, Mode::from_raw_mode(mode))
                .and_then(|()| futimens(&directory, &timestamps(times)));
            set.map_err(|error| Error::write(Name::File(destination.join(path)), &error.into()))?;
        }
        if special > 0 {
            error::tell(&format!(
                "set-user-ID, set-group-ID and sticky bits are not restored ({special} members)"
            ));
        }
        Ok(())
    }

    /// Creates the links, and refuses those that lead outside.
    fn create_links(&self, name: &Name) -> Result<(), Error> {
        let root = self.tree.staging();
        let failed =
            |path: &Path, error: Errno| Error::write(Name::File(self.destination.join(path)), &error.into());
        for (path, (target, times)) in &self.links {
            create_link(root, path, target, *times).map_err(|error| match error {
                Errno::EXIST => refused(name, path, "occurs twice"),
                other => failed(path, other),
            })?;
        }
        // All links exist now, so that each can be followed through the others.
        let within = self.tree.is_in_existing().then_some(&self.tops);
        for (path, (target, _)) in self.links.iter().filter(|_| !self.outside) {
            if leads_outside(root, within, path, target).map_err(|error| failed(path, error))? {
                let target = shown(Path::new(OsStr::from_bytes(target)));
                let why = format!("is a link that leads outside, to '{target}': --outside-links permits it");
                return Err(refused(name, path, why));
            }
        }
        Ok(())
    }

    /// Sets modes and times of directories, the deepest first, because a parent may not be searchable
    /// afterwards. Opens and returns the directories that get them after they are moved.
    fn complete_directories(&self, mut directories: Vec<Directory>) -> Result<Vec<Opened>, Error> {
        directories.sort_by_key(|(path, ..)| Reverse(path.components().count()));
        let root = self.tree.staging();
        let mut late = Vec::new();
        for directory in directories {
            let (path, mode, times) = &directory;
            let is_moved = self.tree.is_in_existing() && path.components().count() == 1;
            let done = if is_moved && mode & OWNER_WRITES == 0 {
                let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
                openat(root, path, flags, Mode::empty()).map(|opened| Some(File::from(opened)))
            } else {
                complete(root, path, *mode, *times).map(|()| None)
            };
            let opened = done.map_err(|error| self.not_completed(path, error))?;
            late.extend(opened.map(|opened| (opened, directory)));
        }
        Ok(late)
    }

    fn not_completed(&self, path: &Path, error: Errno) -> Error {
        if error == Errno::MFILE {
            let why = "the archive has more read-only directories at its top than files may be open: raise \
                       'ulimit -n', or name a new directory";
            return Error::new(Exit::InputOutput, why);
        }
        Error::write(Name::File(self.destination.join(path)), &error.into())
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

fn taken(path: &Path) -> Error {
    let why = format!("'{}' exists: move it away, or choose another directory", shown(path));
    Error::new(Exit::WouldOverwrite, why)
}

fn create_link(root: &File, path: &Path, target: &[u8], times: Times) -> Result<(), Errno> {
    with_parents(root, path, || symlinkat(OsStr::from_bytes(target), root, path))?;
    utimensat(root, path, &timestamps(times), AtFlags::SYMLINK_NOFOLLOW)
}

/// Sets the mode and time of a directory in the staging directory, which only the user can change.
fn complete(root: &File, path: &Path, mode: u32, times: Times) -> Result<(), Errno> {
    // The time comes first, because the mode may prevent other changes.
    utimensat(root, path, &timestamps(times), AtFlags::SYMLINK_NOFOLLOW)?;
    chmodat(root, path, Mode::from_raw_mode(mode), AtFlags::empty())
}

/// The permission bits that the system gives to new entries, without those that the umask removes. The umask
/// itself can be read only by setting it, which would affect other threads.
fn common_mode(staging: &File) -> Result<u32, Errno> {
    const PROBE: &str = "mode";
    mkdirat(staging, PROBE, Mode::RWXU | Mode::RWXG | Mode::RWXO)?;
    let found = statat(staging, PROBE, AtFlags::SYMLINK_NOFOLLOW)?;
    unlinkat(staging, PROBE, AtFlags::REMOVEDIR)?;
    Ok(Mode::from_raw_mode(found.st_mode).as_raw_mode() & MODE_BITS)
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
