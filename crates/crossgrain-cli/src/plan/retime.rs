//! Paths run end to end, to see what the predictions are worth.

use std::time::Instant;

use crossgrain::exec::{Program, Threads};
use crossgrain::part::Source;
use crossgrain::plan::measure::{Care, Subject, measure};
use crossgrain::plan::{Birth, graph};
use crossgrain::{BLOCK_BYTES, Buffers, Key};

use super::case::{Case, Facts};
use crate::error::Error;

/// Larger jobs are not run: their memory would be timed, and it might not be there.
const BYTES_MAX: u64 = 1 << 26;

/// How long the best path and the runners-up take on one thread, in this order; nothing for a job too large.
pub(super) fn measured(case: &Case, facts: &Facts) -> Result<Vec<f64>, Error> {
    if facts.len_bytes > BYTES_MAX {
        return Ok(Vec::new());
    }
    let key = Key::new(facts.job.cipher, &[0x5a; 32][..facts.job.cipher.key_bytes()])?;
    let paths = std::iter::once(&case.report.best).chain(&case.report.runners_up);
    let timed = paths.map(|path| {
        let plan = graph::plan(facts.job, &case.flow, path)?;
        let program = Program::of(vec![plan], &key, facts.features, Threads::at_most(1))?;
        Ok(Timed {
            program,
            data: vec![0; facts.len_bytes.next_multiple_of(BLOCK_BYTES as u64) as usize],
            facts,
        })
    });
    let mut timed = timed.collect::<Result<Vec<_>, crossgrain::Error>>()?;
    let mut subjects: Vec<_> = timed.iter_mut().map(|timed| timed as &mut dyn Subject).collect();
    let found = measure(&mut subjects, Care { turns: 7, sample_ns: 1_000_000 });
    Ok(found.into_iter().map(|found| found.run_ns).collect())
}

/// A path at work on a buffer of its own.
struct Timed<'a> {
    program: Program,
    data: Vec<u8>,
    facts: &'a Facts,
}

impl Subject for Timed<'_> {
    fn time_ns(&mut self, repeats: u32) -> u64 {
        let start = Instant::now();
        for _ in 0..repeats {
            let source = match self.facts.job.birth {
                Birth::Bytes => Source::Bytes,
                Birth::Counter => Source::Counter(1),
            };
            self.program.run(source, Buffers::in_place(&mut self.data));
        }
        u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
