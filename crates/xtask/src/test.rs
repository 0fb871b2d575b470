//! `cargo xtask test`: every check in order, whatever fails, and what failed and a count of it all at the end.
//!
//! The count is for people and programs alike: the last line reads `N passed, M failed, K skipped`.
//! Tests say what this machine cannot run by printing `skipped: WHAT (WHY)`; those lines are gathered
//! too, because a skipped test passes, and nobody would know.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use crate::{Result, cargo, examined, root};

/// A check: a command that succeeds where all is well.
#[derive(Debug)]
struct Step {
    name: &'static str,
    program: Program,
    arguments: &'static [&'static str],
    /// Environment variables to set.
    with: &'static [(&'static str, &'static str)],
}

#[derive(Debug)]
enum Program {
    Cargo,
    Xtask,
    /// The command line.
    Crossgrain,
}

/// All steps, the quickest to fail first.
#[rustfmt::skip] // a table: one line a step
const STEPS: &[Step] = &[
    Step { name: "format", program: Program::Cargo, arguments: &["fmt", "--all", "--check"], with: &[] },
    Step { name: "clippy", program: Program::Cargo, arguments: &["clippy", "--workspace", "--features", "crossgrain-cli/gpu,crossgrain-py/gpu", "--all-targets", "--", "-D", "warnings"], with: &[] },
    Step { name: "doc",    program: Program::Cargo, arguments: &["doc", "--no-deps", "-p", "crossgrain", "-p", "crossgrain-container", "-p", "crossgrain-deps", "-p", "crossgrain-files", "-p", "crossgrain-search", "--all-features"], with: &[("RUSTDOCFLAGS", "-Dwarnings")] },
    Step { name: "test",   program: Program::Cargo, arguments: &["test", "--workspace", "--no-fail-fast", "--", "--show-output"], with: &[] },
    Step { name: "gpu-test", program: Program::Cargo, arguments: &["test", "--workspace", "--features", "crossgrain-cli/gpu", "--bin", "crossgrain", "--test", "devices", "--", "--show-output"], with: &[] },
    Step { name: "api",    program: Program::Xtask, arguments: &["api", "--check"], with: &[] },
    Step { name: "dependencies", program: Program::Xtask, arguments: &["dependencies"], with: &[] },
    Step { name: "bare",   program: Program::Cargo, arguments: &["clippy", "-p", "crossgrain", "--no-default-features", "--lib", "--", "-D", "warnings"], with: &[] },
    Step { name: "twin",   program: Program::Cargo, arguments: &["check", "-p", "crossgrain", "--all-features", "--target-dir", "target/twin"], with: &[("RUSTFLAGS", "--cfg crossgrain_absent")] },
    Step { name: "python", program: Program::Xtask, arguments: &["python"], with: &[] },
    Step { name: "asm",    program: Program::Xtask, arguments: &["asm"], with: &[] },
    Step { name: "taint",  program: Program::Xtask, arguments: &["taint"], with: &[] },
    Step { name: "demo",   program: Program::Crossgrain, arguments: &["demo", "--bytes", "16777216", "--svg", "target/demo.svg", "--force"], with: &[] },
];

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// A step that was run.
#[derive(Debug)]
struct Run {
    name: &'static str,
    outcome: Outcome,
    seconds: f64,
    output: Output,
}

/// What is gathered from the output of a step while it is shown.
#[derive(Debug, Default)]
struct Output {
    counts: Counts,
    /// Tests that failed.
    failed: Vec<String>,
    /// What was skipped and why, without repetition.
    skipped: BTreeSet<String>,
    /// Whether the lines now are what passing tests printed.
    is_from_passing_test: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// Runs the steps, all of them even if some fail, and tells whether all succeeded.
pub(crate) fn run() -> ExitCode {
    let runs: Vec<_> = STEPS.iter().map(Step::run_or_fail).collect();
    show(&runs);
    let total = total(&runs);
    println!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped);
    if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Step {
    /// Runs it; one that cannot be started has failed.
    fn run_or_fail(&self) -> Run {
        self.run().unwrap_or_else(|error| {
            println!("{error}");
            Run { name: self.name, outcome: Outcome::Failed, seconds: 0.0, output: Output::default() }
        })
    }

    fn run(&self) -> Result<Run> {
        println!("== {}: {}", self.name, self.arguments.join(" "));
        let start = Instant::now();
        let program = match self.program {
            Program::Cargo => cargo(),
            Program::Xtask => Command::new(std::env::current_exe().map_err(|error| self.failed(&error))?),
            Program::Crossgrain => Command::new(examined::build()?.program),
        };
        let (output, succeeded) = self.watch(program).map_err(|error| self.failed(&error))?;
        let this_step = format!("{} (", self.name);
        let outcome = match succeeded {
            false => Outcome::Failed,
            true if output.skipped.iter().any(|what| what.starts_with(&this_step)) => Outcome::Skipped,
            true => Outcome::Passed,
        };
        Ok(Run { name: self.name, outcome, seconds: start.elapsed().as_secs_f64(), output })
    }

    fn failed(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.name)
    }

    /// Runs the command, shows what it prints, and tells whether it succeeded.
    fn watch(&self, mut command: Command) -> io::Result<(Output, bool)> {
        command.current_dir(root()).args(self.arguments).envs(self.with.iter().copied());
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut output = Output::default();
        for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).split(b'\n')) {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            if output.read(&line) {
                println!("{line}");
            }
        }
        Ok((output, child.wait()?.success()))
    }
}

impl Output {
    /// Notes what a line tells, and answers whether to show it: what passing tests print is asked
    /// for only to find what they skipped.
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

/// Adds up tests, steps other than tests, and what was skipped.
fn total(runs: &[Run]) -> Counts {
    let mut total = Counts::default();
    for run in runs {
        total.add(run.counts());
    }
    total.skipped += skipped(runs).len();
    total
}

impl Run {
    /// Tests, or else the step itself; a step that failed before its tests did counts as one failure.
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

fn show(runs: &[Run]) {
    println!("\n{:<12} {:>8}", "step", "seconds");
    for run in runs {
        let outcome = match run.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "FAILED",
            Outcome::Skipped => "skipped",
        };
        println!("{:<12} {:>8.1}  {outcome}", run.name, run.seconds);
    }
    let failed: Vec<_> = runs.iter().flat_map(|run| &run.output.failed).collect();
    if !failed.is_empty() {
        println!("\nfailed here:");
        failed.iter().for_each(|test| println!("  {test}"));
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

    /// What `cargo test -- --show-output` prints of two programs, the second with a failure.
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

    fn run(name: &'static str, outcome: Outcome, printed: &str) -> Run {
        let mut output = Output::default();
        printed.lines().for_each(|line| {
            output.read(line);
        });
        Run { name, outcome, seconds: 0.0, output }
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
    }
}
