//! `cargo xtask check`: checks of sources, documentation and machine code that do not test behaviour.
//!
//! These checks have separate builds: with optimisation, for documentation, for lints. The tests use none of
//! them.

use std::process::ExitCode;

use crate::steps::{self, Job, Program, Step};
use crate::workspace::FEATURES;

/// Rows that run in parallel, longest first. The steps of a row run in sequence because cargo locks their
/// common folder.
#[rustfmt::skip] // a table: one line a step
const ROWS: &[&[Step]] = &[
    &[
        Step { name: "format", program: Program::Cargo, arguments: &["fmt", "--all", "--check"], with: &[] },
        Step { name: "asm",    program: Program::Xtask, arguments: &["asm"], with: &[] },
        Step { name: "taint",  program: Program::Xtask, arguments: &["taint"], with: &[] },
    ],
    &[
        Step { name: "clippy", program: Program::Cargo, arguments: &["clippy", "--workspace", "--features", FEATURES, "--lib", "--bins", "--tests", "--examples", "--", "-D", "warnings"], with: &[] },
        Step { name: "bare",   program: Program::Cargo, arguments: &["clippy", "-p", "crossgrain", "--no-default-features", "--lib", "--", "-D", "warnings"], with: &[] },
        Step { name: "bare-search", program: Program::Cargo, arguments: &["clippy", "-p", "crossgrain", "--no-default-features", "--features", "search", "--lib", "--", "-D", "warnings"], with: &[] },
        Step { name: "doc",    program: Program::Cargo, arguments: &["doc", "--no-deps", "-p", "crossgrain", "-p", "crossgrain-container", "-p", "crossgrain-deps", "-p", "crossgrain-files", "-p", "crossgrain-search", "--all-features"], with: &[("RUSTDOCFLAGS", "-Dwarnings")] },
    ],
    &[
        Step { name: "api",    program: Program::Xtask, arguments: &["api", "--check"], with: &[] },
        Step { name: "semver", program: Program::Xtask, arguments: &["semver"], with: &[] },
        Step { name: "twin",   program: Program::Cargo, arguments: &["check", "-p", "crossgrain", "--all-features", "--target-dir", "target/twin"], with: &[("RUSTFLAGS", "--cfg crossgrain_integers_only")] },
        Step { name: "dependencies", program: Program::Xtask, arguments: &["dependencies"], with: &[] },
        Step { name: "site",   program: Program::Xtask, arguments: &["site"], with: &[] },
    ],
];

/// Runs all steps, even if some fail. Succeeds if all do.
pub(crate) fn run() -> ExitCode {
    steps::summary(&steps::run(ROWS.iter().map(|&row| Job::Steps(row))))
}
