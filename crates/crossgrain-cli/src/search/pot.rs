//! The pot: a file of found keys for all searches. It is used only on request, because it contains secrets.
//!
//! Each line is a JSON object: that of a found key, with the fingerprint of its target in front. The fingerprint
//! is a digest of the target and says nothing about the key. Several processes may use a pot at the same time.
//! A writer holds a lock while it appends a whole line, and a reader while it reads. If a writer is killed, its
//! unfinished line is removed by the next one.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crossgrain_files::restrict;
use zeroize::Zeroizing;

use super::results::{field, joined};
use crate::error::{Error, Exit};
use crate::input::shown;
use crate::output::continued_file;

/// The beginning of an entry.
const BEGINNING: &str = r#"{"target":""#;

/// Hex digits of a fingerprint.
const FINGERPRINT_DIGITS: usize = 64;

/// An open pot.
pub(super) struct Pot {
    file: File,
    path: PathBuf,
    lines: Vec<Zeroizing<String>>,
}

impl Pot {
    /// Opens a pot, or creates it, readable only by its owner.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::read(format_args!("'{}'", shown(path)), &error);
        let mut file = continued_file(restrict(File::options().read(true).append(true).create(true)), path)?;
        file.lock_shared().map_err(failed)?;
        let len_bytes = usize::try_from(file.metadata().map_err(failed)?.len()).unwrap_or_default();
        let mut text = Zeroizing::new(Vec::with_capacity(len_bytes + 1));
        file.read_to_end(&mut text).and_then(|_| file.unlock()).map_err(failed)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text[..whole].split_inclusive(|&byte| byte == b'\n')) {
            let line = std::str::from_utf8(line).ok().map(str::trim_end).filter(|line| is_entry(line));
            let line = line.ok_or_else(|| {
                let why = format!("line {number} is malformed: remove it, or name another file");
                Error::new(Exit::Corrupt, format!("'{}' is no pot, {why}", shown(path)))
            })?;
            lines.push(Zeroizing::new(line.to_owned()));
        }
        if !is_begun(&text[whole..]) {
            let why = "its last line is malformed: name another file";
            return Err(Error::new(Exit::Corrupt, format!("'{}' is no pot, {why}", shown(path))));
        }
        Ok(Self { file, path: path.to_owned(), lines })
    }

    /// The lines of a target that were in the pot when it was opened.
    pub(super) fn known(&self, fingerprint: &str) -> impl Iterator<Item = &str> {
        let of_target = move |line: &&str| field(line, "target") == Some(fingerprint);
        self.lines.iter().map(|line| line.as_str()).filter(of_target)
    }

    /// Appends a line unless it was there when the pot was opened.
    pub(super) fn add(&self, line: &str) -> Result<(), Error> {
        if self.lines.iter().any(|own| own.as_str() == line) {
            return Ok(());
        }
        let written = self.append(&joined(&[line, "\n"]));
        written.map_err(|error| Error::write(format_args!("'{}'", shown(&self.path)), &error))
    }

    fn append(&self, line: &str) -> io::Result<()> {
        self.file.lock()?;
        let written = self.cut_unfinished_line().and_then(|()| {
            (&self.file).write_all(line.as_bytes())?;
            self.file.sync_data()
        });
        self.file.unlock()?;
        written
    }

    /// Removes the part of a line that a killed writer left.
    fn cut_unfinished_line(&self) -> io::Result<()> {
        let mut end = self.file.metadata()?.len();
        let mut last = [0];
        let whole = end;
        while end > 0 {
            (&self.file).seek(SeekFrom::Start(end - 1))?;
            (&self.file).read_exact(&mut last)?;
            if last == *b"\n" {
                break;
            }
            end -= 1;
        }
        if end < whole { self.file.set_len(end) } else { Ok(()) }
    }
}

/// Whether this can be the beginning of an entry, left by a writer that was killed. Anything else is not ours to
/// remove.
fn is_begun(rest: &[u8]) -> bool {
    let common = rest.len().min(BEGINNING.len());
    rest[..common] == BEGINNING.as_bytes()[..common]
}

/// Whether a line has the form of an entry.
fn is_entry(line: &str) -> bool {
    let fingerprint = line.strip_prefix(BEGINNING).and_then(|rest| rest.split_once('"'));
    let is_hex = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    fingerprint.is_some_and(|(digits, _)| digits.len() == FINGERPRINT_DIGITS && is_hex(digits))
        && line.ends_with('}')
        && ["key", "number"].iter().all(|name| field(line, name).is_some_and(is_hex))
}
