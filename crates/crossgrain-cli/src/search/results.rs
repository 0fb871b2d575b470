//! Found keys. They are written to a file and synced to disk before they are printed.

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crossgrain_search::Hit;
use zeroize::Zeroizing;

use super::args::Args;
use super::goals::{Goal, Goals};
use super::pot::Pot;
use crate::error::Error;
use crate::input::shown;
use crate::output::{continued, continued_file, standard_output, with_suffix};
use crate::system;

/// Collects found keys from any thread.
pub(super) struct Results<'a> {
    goals: &'a Goals,
    pot: Option<Pot>,
    file: Option<(File, PathBuf)>,
    json: bool,
    /// Whether candidates are text.
    is_text: bool,
    /// Whether targets are files.
    are_files: bool,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    lines: Vec<Zeroizing<String>>,
    error: Option<Error>,
}

impl<'a> Results<'a> {
    /// Opens the file that was given, or that of the session. Its contents stay, and keys in it are not added
    /// again.
    pub(super) fn open(args: &Args, goals: &'a Goals, pot: Option<Pot>) -> Result<Self, Error> {
        let mut kept = Kept::default();
        let of_session = args.session.as_ref().map(|name| with_suffix(name, ".found"));
        let file = match args.output.as_ref().or(of_session.as_ref()) {
            Some(path) => {
                // An output file that was given may be a pipe, but the file of a session may not.
                let open = if args.output.is_some() { continued } else { continued_file };
                let failed = |error: io::Error| Error::write(format_args!("'{}'", shown(path)), &error);
                let file = open(File::options().read(true).append(true).create(true), path)?;
                if let Some(metadata) = file.metadata().ok().filter(Metadata::is_file) {
                    let len_bytes = usize::try_from(metadata.len()).unwrap_or_default();
                    let mut text = Zeroizing::new(String::with_capacity(len_bytes + 1));
                    (&file).read_to_string(&mut text).map_err(failed)?;
                    // An interrupted run may leave part of a line, which is neither printed nor extended.
                    let (whole, torn) = text.split_at(text.rfind('\n').map_or(0, |end| end + 1));
                    kept.lines = whole.lines().map(|line| Zeroizing::new(line.to_owned())).collect();
                    if !torn.is_empty() {
                        (&file).write_all(b"\n").map_err(failed)?;
                    }
                }
                Some((file, path.to_owned()))
            }
            None => None,
        };
        let (json, is_text) = (args.json, args.is_text());
        let are_files = !args.file.is_empty();
        Ok(Self { goals, pot, file, json, is_text, are_files, kept: Mutex::new(kept) })
    }

    /// Stores and prints a key. Returns whether that succeeded.
    pub(super) fn add(&self, hit: &Hit) -> bool {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let added = self.try_add(&mut kept.lines, hit);
        let is_added = added.is_ok();
        kept.error = kept.error.take().or(added.err());
        is_added
    }

    fn try_add(&self, lines: &mut Vec<Zeroizing<String>>, hit: &Hit) -> Result<(), Error> {
        let bare = line(hit, self.is_text);
        let goal = self.goals.get(hit.target);
        let of_goal = |names: bool| match goal {
            Some(goal) => with_target(&bare, goal, names),
            None => joined(&[&bare]),
        };
        let line = if self.goals.count() > 1 { of_goal(true) } else { joined(&[&bare]) };
        let is_new = !lines.contains(&line);
        let kept = self.file.as_ref().filter(|_| is_new).map_or(Ok(()), |(file, path)| {
            let whole = joined(&[&line, "\n"]);
            let written = (&mut &*file).write_all(whole.as_bytes()).and_then(|()| sync(file));
            written.map_err(|error| Error::write(format_args!("'{}'", shown(path)), &error))
        });
        let in_pot = self.pot.as_ref().map_or(Ok(()), |pot| pot.add(&of_goal(false)));
        // A key that cannot be stored is still printed.
        let told = self.tell(&line);
        kept.and(in_pot)?;
        lines.push(line);
        // A key on disk is safe, so a failure to print it does not matter.
        if self.file.is_some() { Ok(()) } else { told }
    }

    /// Prints the keys in the pot and records their targets as found. Returns whether there are any.
    pub(super) fn tell_pot(&self) -> Result<bool, Error> {
        let mut is_any = false;
        for (target, goal) in self.goals.each().enumerate() {
            for line in self.pot.iter().flat_map(|pot| pot.known(&goal.fingerprint)) {
                self.tell(line)?;
                self.goals.find(target);
                is_any = true;
            }
        }
        Ok(is_any)
    }

    /// Records the targets whose keys an earlier run found.
    pub(super) fn recall(&self) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let fingerprints = kept.lines.iter().filter_map(|line| field(line, "target"));
        for target in fingerprints.filter_map(|fingerprint| self.goals.with_fingerprint(fingerprint)) {
            self.goals.find(target);
        }
    }

    /// Prints a line, with the name of its target if there are several.
    fn tell(&self, line: &str) -> Result<(), Error> {
        let named = field(line, "target").filter(|_| self.goals.count() > 1);
        let goal = named.and_then(|own| self.goals.each().find(|goal| goal.fingerprint == own));
        tell(line, goal.map(|goal| goal.name.as_str()), self.json, self.are_files)
    }

    /// Prints the keys that an earlier run found.
    pub(super) fn tell_kept(&self) -> Result<(), Error> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_whole = |line: &&Zeroizing<String>| line.ends_with('}') && field(line, "key").is_some();
        let whole = kept.lines.iter().filter(is_whole);
        whole.into_iter().try_for_each(|line| self.tell(line))
    }

    /// The first error that occurred while storing keys.
    pub(super) fn checked(&self) -> Result<(), Error> {
        let error = self.kept.lock().unwrap_or_else(PoisonError::into_inner).error.take();
        error.map_or(Ok(()), Err)
    }
}

/// Devices and pipes cannot be synced, and need not be.
fn sync(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.sync_data() } else { Ok(()) }
}

/// A key as a line of JSON. It has the candidate unless that is the key itself, and the candidate's text if
/// candidates are text. A passphrase that is no text is a candidate, too.
fn line(hit: &Hit, is_text: bool) -> Zeroizing<String> {
    let hex = |bytes: &[u8]| Zeroizing::new(base16ct::lower::encode_string(bytes));
    let (key, candidate, number) = (hex(&hit.key), hex(&hit.candidate), hit.number.to_string());
    // Escaping takes at most 6 bytes per byte of the text.
    let mut text = Zeroizing::new(Vec::with_capacity(6 * hit.candidate.len() + 2));
    let is_shown = (is_text || hit.candidate != hit.key)
        && std::str::from_utf8(&hit.candidate)
            .is_ok_and(|candidate| serde_json::to_writer(&mut *text, candidate).is_ok());
    let text = std::str::from_utf8(&text).unwrap_or_default();
    let is_separate = hit.candidate != hit.key || is_text && !is_shown;
    let candidate = if is_separate { [r#""candidate":""#, &candidate, r#"","#] } else { [""; 3] };
    let text = if is_shown { [r#","text":"#, text] } else { [""; 2] };
    joined(
        &[&["{"], &candidate[..], &[r#""key":""#, &key, r#"","number":""#, &number, "\""], &text, &["}"]]
            .concat(),
    )
}

/// A [`line`] with the fingerprint of its target in front, and the name if wanted.
fn with_target(line: &str, goal: &Goal, is_named: bool) -> Zeroizing<String> {
    let name = serde_json::Value::from(goal.name.as_str()).to_string();
    let name = if is_named { [r#""name":"#, &name, ","] } else { [""; 3] };
    let rest = line.strip_prefix('{').unwrap_or(line);
    joined(&[&[r#"{"target":""#, &goal.fingerprint, r#"","#], &name[..], &[rest]].concat())
}

/// Concatenates text in one allocation, because reallocation would leave copies of the key in freed memory.
pub(super) fn joined(pieces: &[&str]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(pieces.iter().map(|piece| piece.len()).sum()));
    pieces.iter().for_each(|piece| text.push_str(piece));
    text
}

/// The value of a field of a [`line`] that holds digits only. Quotes inside texts are escaped.
pub(super) fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let begin = line.find(&format!(r#""{name}":""#))? + name.len() + 4;
    line[begin..].split('"').next()
}

/// Prints a key on standard output, as its JSON line or as readable text after the name of its target. No copy stays
/// in a buffer. A candidate for a file is its passphrase.
fn tell(line: &str, name: Option<&str>, json: bool, is_file: bool) -> Result<(), Error> {
    let field = |name| field(line, name);
    let (key, number) = (field("key").unwrap_or_default(), field("number").unwrap_or_default());
    // A candidate that is the key itself is only there as text.
    let is_key = line.contains(r#"","text":"#);
    let candidate = field("candidate").or(is_key.then_some(key));
    let decoded = candidate.and_then(|digits| base16ct::lower::decode_vec(digits).ok()).map(Zeroizing::new);
    let text = decoded.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    // An escape has at most ten characters.
    let mut escaped = Zeroizing::new(String::with_capacity(10 * text.map_or(0, str::len)));
    escaped.extend(text.unwrap_or_default().escape_debug());
    let told = match (candidate, text) {
        _ if json => joined(&[line, "\n"]),
        (Some(_), Some(_)) if is_file => joined(&["passphrase '", &escaped, "', candidate ", number, "\n"]),
        (Some(hex), _) if is_file => joined(&["passphrase $HEX[", hex, "], candidate ", number, "\n"]),
        (_, Some(_)) => joined(&["key ", key, " of '", &escaped, "', candidate ", number, "\n"]),
        _ => joined(&["key ", key, ", candidate ", number, "\n"]),
    };
    let name = name.filter(|_| !json).map_or(String::new(), |name| format!("{name}: "));
    let told = joined(&[&name, &told]);
    let printed = standard_output().and_then(|mut output| {
        let written = output.write_all(told.as_bytes());
        system::leave(output);
        written
    });
    printed.map_err(|error| Error::write("standard output", &error))
}
