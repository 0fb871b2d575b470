//! The journal of a session: the arguments of a search, and its progress.
//!
//! `NAME.session` has one line of JSON for the arguments, one for every finished shard, and one for the
//! outcome. A line counts once its line end is on disk, so a kill at any time costs only the current shard.
//! The file is created once and then only appended to. The process that writes it holds a lock on it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crossgrain_files::{restrict, sync_directory};
use crossgrain_search::BigUint;
use serde_json::{Value, json};

use super::Outcome;
use super::facts::ListFacts;
use crate::error::{Error, Exit};
use crate::input::shown;
use crate::output::{continued_file, with_suffix};

/// The version of the journal format.
const VERSION: u64 = 1;

/// A journal open for writing by this process.
pub(super) struct Session {
    file: File,
    path: PathBuf,
}

/// The names of facts about files in the journal, in this order.
const LIST_FACTS: [&str; 4] = ["list_bytes", "list_ends", "rules_digest", "attached_digest"];

/// The contents of a journal.
#[derive(Debug)]
pub(super) struct State {
    /// The arguments with which the session began.
    pub(super) arguments: Vec<String>,
    /// Facts about the list that, with the arguments, determine the numbers of candidates.
    pub(super) list: ListFacts,
    /// The number of the first candidate not yet tried; `None` means the beginning.
    pub(super) next: Option<BigUint>,
    /// Whether a key was found before that candidate.
    pub(super) is_found: bool,
    /// The outcome of the search, if it has ended.
    pub(super) outcome: Option<Outcome>,
}

impl Session {
    /// Creates a session. A session of this name must not exist yet.
    pub(super) fn create(name: &Path, arguments: &[String], list: ListFacts) -> Result<Self, Error> {
        let path = with_suffix(name, ".session");
        let mut options = File::options();
        let file =
            restrict(options.append(true).create_new(true)).open(&path).map_err(|error| {
                match error.kind() {
                    io::ErrorKind::AlreadyExists => Error::new(
                        Exit::WouldOverwrite,
                        format!(
                            "session '{}' exists: go on with it by --restore, or choose another name",
                            shown(name)
                        ),
                    ),
                    _ => Error::write(shown(&path), &error),
                }
            })?;
        let mut session = Self { file, path };
        session.lock()?;
        let mut begun = json!({ "crossgrain_session": VERSION, "arguments": arguments });
        for (name, fact) in LIST_FACTS.into_iter().zip([list.len_bytes, list.ends, list.rules, list.attached])
        {
            begun[name] = fact.into();
        }
        if let Err(error) = session.add(&begun) {
            // A file without its first line is not a session, and would prevent the next one.
            session.remove();
            return Err(error);
        }
        sync_directory(&session.path).map_err(|error| Error::write(shown(&session.path), &error))?;
        Ok(session)
    }

    /// Removes the file of a session that could not be started.
    pub(super) fn remove(&self) {
        // The first error is reported; a second one does not matter.
        let _ = fs::remove_file(&self.path);
    }

    /// Reopens a session. The file is trusted, so no other user may have been able to write it.
    pub(super) fn restore(name: &Path) -> Result<(Self, State), Error> {
        let path = with_suffix(name, ".session");
        let shown = format!("session '{}'", shown(&path));
        fs::symlink_metadata(&path).map_err(|error| Error::read(&shown, &error))?;
        let file = continued_file(File::options().read(true).append(true), &path)?;
        let session = Self { file, path };
        session.lock()?;
        let mut text = String::new();
        (&session.file).read_to_string(&mut text).map_err(|error| Error::read(&shown, &error))?;
        // A line without an end was being written when the program was killed.
        let len_bytes = text.rfind('\n').map_or(0, |end| end + 1);
        let state = state(&text[..len_bytes], &session.path)?;
        session.file.set_len(len_bytes as u64).map_err(|error| Error::write(&shown, &error))?;
        Ok((session, state))
    }

    fn lock(&self) -> Result<(), Error> {
        match self.file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::Error(error)) => Err(Error::write(shown(&self.path), &error)),
            Err(TryLockError::WouldBlock) => {
                let why = format!("another process runs session '{}': let it finish", shown(&self.path));
                Err(Error::new(Exit::WouldOverwrite, why))
            }
        }
    }

    /// Records that all candidates before `next` were tried, and whether a key was found among them.
    pub(super) fn note(&mut self, next: &BigUint, is_found: bool) -> Result<(), Error> {
        let mut line = json!({ "next": next.to_string() });
        if is_found {
            line["found"] = true.into();
        }
        self.add(&line)
    }

    /// Records the outcome of the search.
    pub(super) fn end(&mut self, outcome: Outcome) -> Result<(), Error> {
        let outcome = match outcome {
            Outcome::Found => "found",
            Outcome::NothingTried => "nothing tried",
            Outcome::Exhausted | Outcome::Aborted | Outcome::OutOfTime => "exhausted",
        };
        self.add(&json!({ "outcome": outcome }))
    }

    fn add(&mut self, line: &Value) -> Result<(), Error> {
        let written =
            self.file.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| Error::write(format_args!("session '{}'", shown(&self.path)), &error))
    }
}

/// The first line of a journal.
fn begun(text: &str, path: &Path) -> Result<Value, Error> {
    let first = text.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let first = first.ok_or_else(|| damaged(path, 1))?;
    match first["crossgrain_session"].as_u64() {
        Some(VERSION) => Ok(first),
        Some(_) => {
            let why =
                format!("session '{}' is of another version: use the crossgrain that began it", shown(path));
            Err(Error::usage(why))
        }
        None => Err(damaged(path, 1)),
    }
}

pub(super) fn state(journal: &str, path: &Path) -> Result<State, Error> {
    let begun = begun(journal, path)?;
    let argument = |argument: &Value| argument.as_str().map(str::to_owned);
    let arguments = begun["arguments"].as_array().and_then(|all| all.iter().map(argument).collect());
    let arguments = arguments.ok_or_else(|| damaged(path, 1))?;
    let [len_bytes, ends, rules, attached] = LIST_FACTS.map(|name| begun[name].as_u64());
    let list = ListFacts { len_bytes, ends, rules, attached };
    let mut state = State { arguments, list, next: None, is_found: false, outcome: None };
    for (number, line) in (1..).zip(journal.lines()).skip(1) {
        let bad = || damaged(path, number);
        let line: Value = serde_json::from_str(line).map_err(|_| bad())?;
        if let Some(next) = line["next"].as_str() {
            state.next = Some(next.parse().map_err(|_| bad())?);
            state.is_found |= line["found"] == true;
        } else {
            state.outcome = Some(match line["outcome"].as_str() {
                Some("found") => Outcome::Found,
                Some("exhausted") => Outcome::Exhausted,
                Some("nothing tried") => Outcome::NothingTried,
                _ => return Err(bad()),
            });
        }
    }
    Ok(state)
}

fn damaged(path: &Path, line: usize) -> Error {
    let why = format!("session '{}' is damaged in line {line}: begin another", shown(path));
    Error::new(Exit::Corrupt, why)
}
