//! `crossgrain search`: keys sought by what is known of the data.
//!
//! `args` is what was typed, `known` what it says of the data, `candidates` which keys are tried, `places` where; `session` keeps the
//! journal, `results` what was found, `status` tells how far it is, and `run` goes from shard to shard.

mod args;
mod candidates;
mod known;
mod places;
mod results;
mod run;
mod session;
mod status;

use std::process::ExitCode;

pub(crate) use args::Args;

use crate::error::Error;

/// How a search ended; its exit code is what users of such tools expect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// A key was found, or a question about the search was answered.
    Found = 0,
    /// Everything was tried.
    Exhausted = 1,
    /// It was told to stop.
    Aborted = 2,
}

/// The exit code of a search that went wrong.
const FAILED: u8 = 3;

/// The codes of this command, as its `--help` tells them.
const EXIT_CODES: &str = "Exit codes: 0 found, 1 exhausted without a find, 2 aborted, 3 error";

/// Searches.
pub(crate) fn run(args: Args) -> ExitCode {
    match args.resolved().and_then(|(args, restored)| run::run(&args, restored)) {
        Ok(outcome) => ExitCode::from(outcome as u8),
        Err(error) => failed(&error),
    }
}

/// Reports why a search, or a check before it, failed.
pub(crate) fn failed(error: &Error) -> ExitCode {
    match error.report() {
        // The reader of standard output has seen enough.
        ExitCode::SUCCESS => ExitCode::SUCCESS,
        _ => ExitCode::from(FAILED),
    }
}

impl From<crossgrain_search::Error> for Error {
    fn from(error: crossgrain_search::Error) -> Self {
        Self::usage(error.to_string())
    }
}

/// Reads the lines of a journal, for the fuzz target.
#[cfg(crossgrain_fuzz)]
pub(crate) fn read_journal(text: &str) -> Result<(), Error> {
    session::state(text, std::path::Path::new("fuzz.session")).map(drop)
}
