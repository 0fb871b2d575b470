//! `crossgrain search`: searches for a key that is consistent with known data.
//!
//! * `args`: the arguments of the command. `names`: the names that they take.
//! * `known`: the known data, converted from the arguments. `goals`: the targets, and which are found.
//! * `candidates`: the keys to try. `printed` prints them. `facts`: the files that determine their numbers.
//! * `places`: the choice between CPU and devices.
//! * `session`: the file of a session. `journal`: progress, and when it is recorded there.
//! * `results`: found keys. `pot`: the file of found keys of all searches.
//! * `status`: progress. `keys`: keys typed at a terminal.
//! * `run`: begin and end of a search. `steps`: the loop over shards.

mod args;
mod candidates;
mod facts;
mod goals;
mod journal;
mod keys;
mod known;
mod names;
mod places;
mod pot;
mod printed;
mod results;
mod run;
mod session;
mod status;
mod steps;

use std::process::ExitCode;

pub(crate) use args::Args;

use crate::error::Error;

/// The outcome of a search. Its exit code follows the convention of similar tools.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// A key was found, or a question about the search was answered.
    Found = 0,
    /// Everything was tried.
    Exhausted = 1,
    /// The user stopped it.
    Aborted = 2,
    /// There was no candidate, or each was refused.
    NothingTried = 4,
    /// The time of --runtime was over.
    OutOfTime = 5,
}

/// The exit code of a search that failed.
const FAILED: u8 = 3;

/// The exit codes, as this command's `--help` shows them.
const EXIT_CODES: &str = "Exit codes: 0 found, 1 exhausted without a find, 2 aborted, 3 error, 4 no candidate was tried, 5 out of time";

/// Runs the command.
pub(crate) fn run(args: Args) -> ExitCode {
    match args.resolved().and_then(|(args, restored)| run::run(args, restored)) {
        Ok(outcome) => ExitCode::from(outcome as u8),
        Err(error) => failed(&error),
    }
}

/// Prints the error of a search, or of a check before it.
pub(crate) fn failed(error: &Error) -> ExitCode {
    match error.report() {
        // The reader of standard output has closed it, which is not an error.
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
