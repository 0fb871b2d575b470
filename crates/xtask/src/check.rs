//! `cargo xtask check`: what can be read in sources, documentation and machine code without a test of behaviour.
//!
//! It takes builds of its own: with optimisation, for documentation, for lints. Tests take none of them.

use std::process::ExitCode;

use crate::steps::{self, Job, Program, Step};
use crate::workspace::FEATURES;

/// What runs at a time, longest first. Steps of a row follow one another: cargo locks the folder that they share.
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
        Step { name: "doc",    program: Program::Cargo, arguments: &["doc", "--no-deps", "-p", "crossgrain", "-p", "crossgrain-container", "-p", "crossgrain-deps", "-p", "crossgrain-files", "-p", "crossgrain-search", "--all-features"], with: &[("RUSTDOCFLAGS", "-Dwarnings")] },
    ],
    &[
        Step { name: "api",    program: Program::Xtask, arguments: &["api", "--check"], with: &[] },
        Step { name: "twin",   program: Program::Cargo, arguments: &["check", "-p", "crossgrain", "--all-features", "--target-dir", "target/twin"], with: &[("RUSTFLAGS", "--cfg crossgrain_integers_only")] },
        Step { name: "dependencies", program: Program::Xtask, arguments: &["dependencies"], with: &[] },
        Step { name: "site",   program: Program::Xtask, arguments: &["site"], with: &[] },
    ],
];

/// Runs all steps, even if some fail. Succeeds if all do.
pub(crate) fn run() -> ExitCode {
    steps::summary(&steps::run(ROWS.iter().map(|&row| Job::Steps(row))))
}
