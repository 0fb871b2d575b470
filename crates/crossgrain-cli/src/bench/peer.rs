//! Another implementation, in a process of its own that answers one line for a line.
//!
//! A process, because some choices are made when a library is built or loaded: RustCrypto's software
//! backend by a `cfg`, OpenSSL's without AES instructions by an environment variable.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use crossgrain::plan::measure::Subject;

use super::subject::Candidate;
use crate::error::{self, Error, Exit};

/// A peer, started.
pub(crate) struct Peer {
    /// What it calls itself, with its version.
    pub(crate) name: String,
    /// The same in short, for ids.
    pub(crate) label: String,
    line: Rc<RefCell<Line>>,
}

/// The conversation with a peer.
struct Line {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a command, split at spaces, and asks for its name; `None`, and a word about it, where it lacks its library.
    pub(crate) fn start(command: &str) -> Result<Option<Self>, Error> {
        let lost = |error: &dyn std::fmt::Display| {
            Error::new(Exit::InputOutput, format!("peer '{command}' does not answer: {error}"))
        };
        let mut words = command.split_whitespace();
        let program = words.next().unwrap_or_default();
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| lost(&error))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(lost(&"no pipes"));
        };
        let mut line = Line { child, requests, answers: BufReader::new(answers) };
        let name = line.ask("name").map_err(|error| lost(&error))?;
        if let Some(reason) = name.strip_prefix("error ") {
            error::tell(&format!("no peer by '{command}': {reason}"));
            return Ok(None);
        }
        Ok(Some(Self { label: label(&name), name, line: Rc::new(RefCell::new(line)) }))
    }

    /// What this peer has of a request, on so many bytes; `None` if it has it not, or the filter leaves it out.
    pub(super) fn candidate(
        &self,
        id: String,
        request: String,
        bytes: usize,
        filter: &str,
    ) -> Option<Candidate> {
        let work = id.contains(filter).then(|| self.subject(request)).flatten()?;
        Some(Candidate { id, bytes, threads: 1, work })
    }

    /// A mode of this peer as a subject; `None` if it does not have it.
    pub(crate) fn subject(&self, request: String) -> Option<Box<dyn Subject>> {
        let mut subject = Asked { request, line: Rc::clone(&self.line) };
        subject.try_time_ns(1).map(|_| Box::new(subject) as _)
    }
}

impl Line {
    fn ask(&mut self, request: &str) -> std::io::Result<String> {
        writeln!(self.requests, "{request}")?;
        self.requests.flush()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        Ok(answer.trim_end().to_owned())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // It would end by itself when its input closes; a stuck one must not outlive us.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `rustcrypto`, `rustcrypto-software`, `openssl`, `openssl-masked`: the first word, and what is special.
fn label(name: &str) -> String {
    let first = name.split_whitespace().next().unwrap_or("peer").to_lowercase();
    if name.contains("software") {
        format!("{first}-software")
    } else if name.contains("OPENSSL_ia32cap") {
        format!("{first}-masked")
    } else {
        first
    }
}

/// One operation of a peer: the peer itself keeps the time.
struct Asked {
    request: String,
    line: Rc<RefCell<Line>>,
}

impl Asked {
    fn try_time_ns(&mut self, repeats: u32) -> Option<u64> {
        self.line.borrow_mut().ask(&format!("{} {repeats}", self.request)).ok()?.parse().ok()
    }
}

impl Subject for Asked {
    fn time_ns(&mut self, repeats: u32) -> u64 {
        // A peer that dies makes its own figure infinite and stops calibration.
        self.try_time_ns(repeats).unwrap_or(u64::MAX)
    }
}
