//! The steps of `cargo xtask check` and `cargo xtask test`. All steps run, even if some fail. A summary with
//! the failures and a total follows.
//!
//! The last line reads `N passed, M failed, K skipped`, for people and programs. A test that this machine
//! cannot run prints `skipped: WHAT (WHY)` and passes. These lines are collected so that skipped tests are
//! visible.

mod pool;

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};

pub(crate) use self::pool::{Job, run};
use crate::{Result, cargo, workspace};

/// A check: a command that succeeds if everything is right.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    pub(crate) arguments: &'static [&'static str],
    /// Environment variables to set.
    pub(crate) with: &'static [(&'static str, &'static str)],
}

#[derive(Debug)]
pub(crate) enum Program {
    Cargo,
    Xtask,
    /// The command line.
    Crossgrain,
}

/// Programs that take less time are summed up in one line.
const SHOWN_SECONDS: f64 = 10.0;

/// The outcome of a step or a test program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// A step or a test program that has run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    pub(crate) seconds: f64,
    pub(crate) output: Output,
}

/// Facts collected from the output of a step while it is shown.
#[derive(Debug, Default)]
pub(crate) struct Output {
    counts: Counts,
    /// Tests that failed.
    failed: Vec<String>,
    /// Skipped checks with their reasons, without repetition.
    skipped: BTreeSet<String>,
    /// Whether the current lines are the output of passing tests.
    is_from_passing_test: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// Prints the results of all runs. Succeeds if all of them did.
pub(crate) fn summary(runs: &[Run]) -> ExitCode {
    show(runs);
    let total = total(runs);
    println!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped);
    if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Step {
    /// Runs the step. If it cannot be started, it has failed.
    pub(crate) fn run(&self) -> Run {
        let made = self.command();
        pool::watch(
            self.name,
            made.map(|mut command| {
                command.args(self.arguments).envs(self.with.iter().copied());
                command
            }),
        )
    }

    fn command(&self) -> Result<Command> {
        Ok(match self.program {
            Program::Cargo => cargo(),
            Program::Xtask => {
                Command::new(std::env::current_exe().map_err(|error| format!("{}: {error}", self.name))?)
            }
            Program::Crossgrain => Command::new(workspace::program()),
        })
    }
}

impl Output {
    /// Collects the facts of a line. Returns whether to show it: the output of passing tests is read only to
    /// find skipped checks.
    fn read(&mut self, line: &str) -> bool {
        if let Some(what) = line.strip_prefix("skipped: ") {
            self.skipped.insert(what.trim_end().to_owned());
        }
        if let Some(test) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED")) {
            self.failed.push(test.to_owned());
        }
        if let Some(counts) = Counts::of_result_line(line) {
            self.counts.add(counts);
            self.is_from_passing_test = false;
        }
        match line {
            "successes:" => self.is_from_passing_test = true,
            "failures:" => self.is_from_passing_test = false,
            _ => {}
        }
        !self.is_from_passing_test
    }
}

impl Counts {
    /// The numbers of `test result: ok. 3 passed; 0 failed; 1 ignored; ..`.
    fn of_result_line(line: &str) -> Option<Self> {
        let (_, numbers) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let number = |what| numbers.split("; ").find_map(|part| part.strip_suffix(what)?.trim().parse().ok());
        Some(Self { passed: number("passed")?, failed: number("failed")?, skipped: number("ignored")? })
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// Sums up tests, steps other than tests, and skipped checks.
fn total(runs: &[Run]) -> Counts {
    let mut total = Counts::default();
    for run in runs {
        total.add(run.counts());
    }
    total.skipped += skipped(runs).len();
    total
}

impl Run {
    /// A command that failed before this task began.
    pub(crate) fn failed_before(name: &str) -> Self {
        Self { name: name.to_owned(), outcome: Outcome::Failed, seconds: 0.0, output: Output::default() }
    }

    /// The counts of its tests, or of the step itself. A step that failed before its tests did counts as one
    /// failure.
    fn counts(&self) -> Counts {
        let mut counts = self.output.counts;
        let is_of_tests = counts != Counts::default();
        match self.outcome {
            Outcome::Passed if !is_of_tests => counts.passed += 1,
            Outcome::Failed if counts.failed == 0 => counts.failed += 1,
            _ => {}
        }
        counts
    }
}

fn skipped(runs: &[Run]) -> BTreeSet<&str> {
    runs.iter().flat_map(|run| &run.output.skipped).map(String::as_str).collect()
}

/// The tests that failed, and the names of steps that failed without one.
fn failed(runs: &[Run]) -> Vec<&str> {
    fn of_run(run: &Run) -> &[String] {
        match run.outcome {
            Outcome::Failed if run.output.failed.is_empty() => std::slice::from_ref(&run.name),
            _ => &run.output.failed,
        }
    }
    runs.iter().flat_map(of_run).map(String::as_str).collect()
}

fn show(runs: &[Run]) {
    println!("\n{:<32} {:>8}", "step", "seconds");
    let is_short =
        |run: &&Run| run.seconds < SHOWN_SECONDS && run.name.contains(' ') && run.outcome == Outcome::Passed;
    for run in runs.iter().filter(|run| !is_short(run)) {
        let outcome = match run.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "FAILED",
            Outcome::Skipped => "skipped",
        };
        println!("{:<32} {:>8.1}  {outcome}", run.name, run.seconds);
    }
    let short: Vec<_> = runs.iter().filter(is_short).collect();
    let seconds: f64 = short.iter().map(|run| run.seconds).sum();
    if !short.is_empty() {
        println!("{:<32} {seconds:>8.1}  passed", format!("{} test programs more", short.len()));
    }
    let failed = failed(runs);
    if !failed.is_empty() {
        println!("\nfailed here:");
        failed.iter().for_each(|what| println!("  {what}"));
    }
    if !skipped(runs).is_empty() {
        println!("\nskipped here:");
        skipped(runs).iter().for_each(|what| println!("  {what}"));
    }
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of `cargo test -- --show-output` for two programs. The second has a failure.
    const PRINTED: &str = "
running 3 tests
test a ... ok
test b ... ignored
test c ... ok

successes:

---- a stdout ----
hello
skipped: vaes512 (not on this CPU)


successes:
    a
    c

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 2 tests
test d ... FAILED
test e ... ok

successes:

---- e stdout ----
skipped: vaes512 (not on this CPU)
skipped: gfni512 (not on this CPU)


successes:
    e

failures:

---- d stdout ----
it broke

failures:
    d

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    fn run(name: &str, outcome: Outcome, printed: &str) -> Run {
        let mut output = Output::default();
        printed.lines().for_each(|line| {
            output.read(line);
        });
        Run { name: name.to_owned(), outcome, seconds: 0.0, output }
    }

    #[test]
    fn output_of_passing_tests_is_read_but_not_shown() {
        let mut output = Output::default();
        let shown: Vec<&str> = PRINTED.lines().filter(|line| output.read(line)).collect();
        assert!(shown.contains(&"test a ... ok") && shown.contains(&"it broke"));
        assert!(!shown.contains(&"hello") && !shown.iter().any(|line| line.starts_with("skipped")));
        assert_eq!(output.counts, Counts { passed: 3, failed: 1, skipped: 1 });
        assert_eq!(output.skipped.len(), 2);
        assert_eq!(output.failed, ["d"]);
    }

    #[test]
    fn the_total_has_tests_steps_and_each_skip_once() {
        let runs = [
            run("format", Outcome::Passed, ""),
            run("test", Outcome::Failed, PRINTED),
            run("asm", Outcome::Skipped, "skipped: asm (not x86-64)"),
        ];
        assert_eq!(total(&runs), Counts { passed: 4, failed: 1, skipped: 4 });
    }

    #[test]
    fn a_step_that_fails_without_a_failed_test_is_one_failure() {
        assert_eq!(total(&[run("clippy", Outcome::Failed, "")]).failed, 1);
        let stopped = run("test", Outcome::Failed, "test result: ok. 5 passed; 0 failed; 0 ignored");
        assert_eq!(total(&[stopped]), Counts { passed: 5, failed: 1, skipped: 0 });
        let after = [Run::failed_before("check"), run("test", Outcome::Passed, "")];
        assert_eq!(total(&after), Counts { passed: 1, failed: 1, skipped: 0 });
        assert_eq!(failed(&after), ["check"]);
    }
}
