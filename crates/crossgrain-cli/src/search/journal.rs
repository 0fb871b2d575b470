//! The progress of a search, recorded in a session if there is one.

use std::time::{Duration, Instant};

use crossgrain_search::BigUint;

use super::Outcome;
use super::args::Args;
use super::facts::ListFacts;
use super::session::{Session, State};
use crate::error::Error;

/// The least time between two lines of the journal.
const BETWEEN_NOTES: Duration = Duration::from_millis(300);

/// A reopened session and the contents of its journal.
pub(super) type Restored = Option<(Session, State)>;

/// The session, if there is one, and its progress.
#[derive(Default)]
pub(super) struct Journal {
    pub(super) session: Option<Session>,
    pub(super) next: Option<BigUint>,
    /// Whether a key was found before `next`.
    pub(super) is_found: bool,
    pub(super) ended: Option<Outcome>,
    /// The last position and the time when it was recorded.
    noted: Option<(BigUint, Instant)>,
}

impl Journal {
    pub(super) fn open(args: &Args, restored: Restored, list: ListFacts) -> Result<Self, Error> {
        let Some(name) = &args.session else {
            return Ok(Self::default());
        };
        let Some((session, State { list: was, next, is_found, outcome, .. })) = restored else {
            let typed = std::env::args_os().skip(2).map(|argument| argument.into_string().ok());
            let typed = typed.collect::<Option<Vec<_>>>();
            let typed = typed
                .ok_or_else(|| Error::usage("a session keeps arguments that are text: rename the files"))?;
            let session = Session::create(name, &typed, list)?;
            return Ok(Self { session: Some(session), ..Self::default() });
        };
        list.check(was)?;
        // A search for one key, killed between its find and its end, has ended.
        let is_one = args.file.len() <= 1 && args.targets.is_none();
        let ended = outcome.or((is_found && !args.all && is_one).then_some(Outcome::Found));
        Ok(Self { session: Some(session), next, is_found, ended, noted: None })
    }

    /// Records that all candidates before `next` were tried, and whether a key was found among them. Small
    /// shards are recorded together, because a line in the journal takes time: by [`Journal::finish`] at the
    /// latest.
    pub(super) fn note(&mut self, next: &BigUint, is_found: bool) -> Result<(), Error> {
        self.next = Some(next.clone());
        self.is_found = is_found;
        let is_recent = self.noted.as_ref().is_some_and(|(_, time)| time.elapsed() < BETWEEN_NOTES);
        if is_recent { Ok(()) } else { self.finish() }
    }

    /// Records the position, unless that is done.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let (Some(session), Some(next)) = (&mut self.session, &self.next) else { return Ok(()) };
        if self.noted.as_ref().is_none_or(|(noted, _)| noted != next) {
            session.note(next, self.is_found)?;
            self.noted = Some((next.clone(), Instant::now()));
        }
        Ok(())
    }
}
