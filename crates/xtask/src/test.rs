//! `cargo xtask test`: all tests, whatever fails. What needs no run of what is tested is `cargo xtask check`'s.
//!
//! The workspace is built once, with one set of features, and its test programs run beside what else there is to do, as many at a
//! time as there are cores: a test of one thread leaves no core idle.

use std::process::ExitCode;
use std::time::Instant;

use crate::steps::{self, Job, Outcome, Output, Program, Run, Step};
use crate::workspace::{self, FEATURES};

/// What runs beside the test programs. Steps of a row follow one another: cargo locks the folder that they share.
#[rustfmt::skip] // a table: one line a step
const BESIDE: &[&[Step]] = &[
    &[
        Step { name: "python", program: Program::Xtask, arguments: &["python"], with: &[] },
        Step { name: "examples", program: Program::Cargo, arguments: &["test", "--workspace", "--features", FEATURES, "--doc", "--no-fail-fast", "--", "--show-output"], with: &[] },
    ],
    &[Step { name: "demo", program: Program::Crossgrain, arguments: &["demo", "--bytes", "16777216", "--svg", "target/demo.svg", "--force"], with: &[] }],
];

/// Test programs that take longest, the longest first. One that began last would run alone.
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

/// Runs all steps and test programs, even if some fail. Succeeds if all do, and `check` did before.
pub(crate) fn run(check_failed: bool) -> ExitCode {
    let (built, mut programs) = build();
    let place = |name: &str| LONG.iter().position(|long| *long == name).unwrap_or(LONG.len());
    programs.sort_by_key(|job| place(&job.name()));
    let beside = BESIDE.iter().map(|&row| Job::Steps(row));
    let mut runs = vec![built];
    runs.extend(check_failed.then(|| Run::failed_before("check")));
    runs.extend(steps::run(beside.chain(programs)));
    steps::summary(&runs)
}

/// Builds the workspace, which is a step too, and gives its test programs.
fn build() -> (Run, Vec<Job>) {
    println!("== build");
    let start = Instant::now();
    let built = workspace::build().inspect_err(|error| println!("{error}"));
    let outcome = if built.is_ok() { Outcome::Passed } else { Outcome::Failed };
    let seconds = start.elapsed().as_secs_f64();
    let run = Run { name: "build".to_owned(), outcome, seconds, output: Output::default() };
    (run, built.map_or_else(|_| Vec::new(), |built| built.programs.into_iter().map(Job::Tests).collect()))
}
