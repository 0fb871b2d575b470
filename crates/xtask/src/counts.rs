//! Runs test programs on emulated machines, and counts what passed: for `arm` and `wasm`.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// The counts in the output of a machine's tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Numbers of cases, by their names.
    cases: BTreeMap<String, u64>,
}

/// Runs `work` on each job, one per core of this machine. Returns the results in any order.
pub(crate) fn on_all_cores<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let (next, done) = (Mutex::new(jobs.iter()), Mutex::new(Vec::new()));
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let job = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(job) = job else { break };
                    let result = work(job);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test program. Prints the output of failing tests, and one line with its name.
pub(crate) fn shown(name: &str, mut command: Command) -> Counts {
    let start = Instant::now();
    let program = command.get_program().display().to_string();
    let told = command.output();
    let (text, succeeded) = match &told {
        Ok(told) => (String::from_utf8_lossy(&told.stdout).into_owned(), told.status.success()),
        Err(error) => (format!("cannot run {program}: {error}\n"), false),
    };
    let mut counts = Counts::of(&text);
    if !succeeded {
        counts.failed = counts.failed.max(1);
        let errors = told.map(|told| String::from_utf8_lossy(&told.stderr).into_owned()).unwrap_or_default();
        println!("{text}{errors}");
    }
    let seconds = start.elapsed().as_secs_f64();
    let Counts { passed, failed, .. } = counts;
    println!("{name}: {passed} passed, {failed} failed, {seconds:.0} s");
    counts
}

impl Counts {
    /// The counts of a test program's output.
    fn of(text: &str) -> Self {
        let mut counts = Self::default();
        for line in text.lines() {
            if let Some(numbers) = line.strip_prefix("test result: ") {
                let number = |what: &str| {
                    let mut words = numbers.split([' ', ';']).filter(|word| !word.is_empty());
                    let mut before = 0;
                    words.find_map(|word| {
                        let found = (word == what).then_some(before);
                        before = word.parse().unwrap_or(0);
                        found
                    })
                };
                counts.passed += number("passed").unwrap_or(0);
                counts.failed += number("failed").unwrap_or(0);
            } else if let Some((count, what)) =
                line.strip_prefix("counted: ").and_then(|rest| rest.split_once(' '))
            {
                *counts.cases.entry(what.to_owned()).or_default() += count.parse().unwrap_or(0);
            }
        }
        counts
    }

    /// The sum of two counts.
    pub(crate) fn with(mut self, other: &Self) -> Self {
        self.passed += other.passed;
        self.failed += other.failed;
        for (what, count) in &other.cases {
            *self.cases.entry(what.clone()).or_default() += count;
        }
        self
    }

    /// One line for a machine of a task.
    pub(crate) fn line(&self, task: &str, machine: &str, files: usize) -> String {
        let cases: String = self.cases.iter().map(|(what, count)| format!("; {count} {what}")).collect();
        let Self { passed, failed, .. } = self;
        format!("{task}: {machine}: {passed} tests passed, {failed} failed; {files} files exchanged{cases}")
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn counts_are_read_from_the_output_of_tests() {
        let text = "counted: 3 known answers\ntest a ... ok\ncounted: 4 known answers\n\
                    test result: FAILED. 5 passed; 1 failed; 0 ignored; 0 measured\n";
        let counts = Counts::of(text);
        assert_eq!((counts.passed, counts.failed), (5, 1));
        assert_eq!(counts.cases.into_iter().collect::<Vec<_>>(), [("known answers".to_owned(), 7)]);
    }
}
