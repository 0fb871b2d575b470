//! `--stdout`: prints candidates instead of trying them.

use std::fs::File;
use std::io::Write as _;

use crossgrain_search::{BigUint, Changes, Refused};
use zeroize::Zeroizing;

use super::candidates::{Candidates, List, Source, tell_refused};
use crate::error::Error;
use crate::output::standard_output;
use crate::system;

/// Bytes that are written at a time.
const WRITTEN_BYTES: usize = 1 << 16;

/// Candidates of a space that are generated at a time.
const GENERATED: u32 = 1024;

/// Lines for standard output.
struct Lines {
    out: File,
    waiting: Zeroizing<Vec<u8>>,
}

impl Lines {
    /// Adds a candidate as it is.
    fn add(&mut self, candidate: &[u8]) -> Result<(), Error> {
        // The buffer never grows, so no copy of a candidate is left in freed memory.
        if self.waiting.len() + candidate.len() + 1 > WRITTEN_BYTES {
            self.write()?;
        }
        if candidate.len() < WRITTEN_BYTES {
            self.waiting.extend_from_slice(candidate);
        } else {
            self.out.write_all(candidate).map_err(|error| Error::print(&error))?;
        }
        self.waiting.push(b'\n');
        Ok(())
    }

    fn write(&mut self) -> Result<(), Error> {
        let written = self.out.write_all(&self.waiting);
        self.waiting.clear();
        written.map_err(|error| Error::print(&error))
    }
}

/// Prints all candidates in the order of their numbers.
pub(super) fn print(candidates: Candidates) -> Result<(), Error> {
    let out = standard_output().map_err(|error| Error::print(&error))?;
    let mut lines = Lines { out, waiting: Zeroizing::new(Vec::with_capacity(WRITTEN_BYTES)) };
    let mut refused = Refused::default();
    match candidates.source {
        Source::Spaces(spaces, range) => {
            for part in spaces.parts(range) {
                let (mut number, end) = (part.numbers.start, part.numbers.end);
                while number < end {
                    let next = (&number + GENERATED).min(end.clone());
                    let count = usize::try_from(&next - &number).unwrap_or_default();
                    let some = part.space.candidates(&number, count);
                    some.chunks_exact(part.space.len_bytes()).try_for_each(|one| lines.add(one))?;
                    number = next;
                }
            }
        }
        Source::Words(list) => {
            let List { mut words, rules, affixes, range } = *list;
            let changes = Changes::combined(&rules, &affixes)?;
            changes.each(&mut words, &range, &mut refused, |candidate| lines.add(candidate))?;
        }
    }
    lines.write()?;
    system::leave(lines.out);
    tell_refused(&refused);
    Ok(())
}

/// Prints the number of candidates.
pub(super) fn print_count(candidates: &Candidates) -> Result<(), Error> {
    let count: BigUint = candidates.size().unwrap_or_default();
    let mut out = std::io::stdout();
    writeln!(out, "{count}").and_then(|()| out.flush()).map_err(|error| Error::print(&error))
}
