//! `cargo xtask test`: runs all tests, even if some fail. Checks that do not run the tested code belong to
//! `cargo xtask check`.
//!
//! The workspace is built once, with one set of features. Its test programs and the other steps then run in
//! parallel, one per core, so that single-threaded tests leave no core idle.

use std::process::ExitCode;
use std::time::Instant;

use crate::steps::{self, Job, Outcome, Output, Program, Run, Step};
use crate::workspace::{self, FEATURES};

/// Steps that run in parallel with the test programs. The steps of a row run in sequence because cargo locks
/// their common folder.
#[rustfmt::skip] // a table: one line a step
const BESIDE: &[&[Step]] = &[
    &[
        Step { name: "python", program: Program::Xtask, arguments: &["python"], with: &[] },
        Step { name: "examples", program: Program::Cargo, arguments: &["test", "--workspace", "--features", FEATURES, "--doc", "--no-fail-fast", "--", "--show-output"], with: &[] },
    ],
    &[Step { name: "demo", program: Program::Crossgrain, arguments: &["demo", "--bytes", "16777216", "--svg", "target/demo.svg", "--force"], with: &[] }],
];

/// The slowest test programs, the longest first. If one of them started last, it would run without others at
/// the end.
const LONG: &[&str] = &[
    "crossgrain-gpu parallel",
    "crossgrain device_search",
    "crossgrain-cli devices",
    "crossgrain-gpu search",
    "crossgrain-gpu derive",
    "crossgrain-gpu agree",
    "crossgrain device",
    "crossgrain memory",
    "crossgrain-cli search_session",
    "crossgrain-cli container",
    "crossgrain agree",
];

/// Runs all steps and test programs, even if some fail. Succeeds if all do, and no task failed before.
pub(crate) fn run(failed_before: &[String]) -> ExitCode {
    let (built, mut programs) = build();
    let place = |name: &str| LONG.iter().position(|long| *long == name).unwrap_or(LONG.len());
    programs.sort_by_key(|job| place(&job.name()));
    let beside = BESIDE.iter().map(|&row| Job::Steps(row));
    let mut runs = vec![built];
    runs.extend(failed_before.iter().map(|task| Run::failed_before(task)));
    runs.extend(steps::run(beside.chain(programs)));
    steps::summary(&runs)
}

/// Builds the workspace, which counts as a step, and returns its test programs.
fn build() -> (Run, Vec<Job>) {
    println!("== build");
    let start = Instant::now();
    let built = workspace::build().inspect_err(|error| println!("{error}"));
    let outcome = if built.is_ok() { Outcome::Passed } else { Outcome::Failed };
    let seconds = start.elapsed().as_secs_f64();
    let run = Run { name: "build".to_owned(), outcome, seconds, output: Output::default() };
    (run, built.map_or_else(|_| Vec::new(), |built| built.programs.into_iter().map(Job::Tests).collect()))
}
