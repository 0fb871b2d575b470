//! `cargo xtask mutants`: mutation tests. It changes the library in one place at a time, and counts the
//! changes that tests detect.
//!
//! The tool is cargo-mutants (`cargo install cargo-mutants`). Every mutant needs a build, so only a small
//! part of the library is mutated. That part has no reference to compare with: the numbering of keys in a
//! search, and the parsing of file headers. One in eight of about 250 mutants is tested.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{Result, evidence, root, target};

/// The files that are mutated.
const FILES: [&str; 2] =
    ["crates/crossgrain-search/src/space.rs", "crates/crossgrain-container/src/header.rs"];

/// The packages of these files.
const PACKAGES: [&str; 2] = ["crossgrain-search", "crossgrain-container"];

/// The selected mutants.
const SHARD: [&str; 4] = ["--shard", "0/8", "--sharding", "round-robin"];

/// The tests that must detect them.
const TESTS: [&str; 5] = ["space", "shards", "device", "container", "words"];

/// Whether the tool is installed.
pub(crate) fn is_there() -> bool {
    let mut version = Command::new("cargo");
    version.args(["mutants", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Runs the tool, and records the result.
///
/// # Errors
/// If the tool is not installed, or gives no result.
pub(crate) fn run() -> Result<()> {
    let output = root().join(target()).join("mutants");
    let mut mutants = Command::new("cargo");
    mutants.current_dir(root()).args(["mutants", "--no-shuffle", "--output"]).arg(&output);
    mutants.args(PACKAGES.iter().flat_map(|package| ["--package", package, "--test-package", package]));
    mutants.args(SHARD).args(FILES.iter().flat_map(|file| ["--file", file]));
    mutants.arg("--").args(TESTS.iter().flat_map(|test| ["--test", test]));
    let status = mutants.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    // 2: some mutants were missed. 3: some tests timed out, which counts as detected.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        return Err(format!("cargo mutants failed ({status}); `cargo install cargo-mutants` installs it"));
    }
    let outcomes = output.join("mutants.out/outcomes.json");
    let text = fs::read_to_string(&outcomes).map_err(|error| format!("{}: {error}", outcomes.display()))?;
    let figures =
        figures(&text).ok_or_else(|| format!("{} does not tell how it ended", outcomes.display()))?;
    println!("noticed {} of {}", figures["caught"], figures["viable"]);
    evidence::keep("mutants", &figures)
}

/// The number of mutants that compiled, and the number detected.
fn figures(outcomes: &str) -> Option<Value> {
    let told: Value = serde_json::from_str(outcomes).ok()?;
    let of = |what: &str| told[what].as_u64();
    let (caught, missed) = (of("caught")? + of("timeout")?, of("missed")?);
    Some(json!({ "caught": caught, "viable": caught + missed, "files": FILES }))
}

#[cfg(test)]
mod tests {
    use super::figures;

    #[test]
    fn what_cannot_be_compiled_does_not_count() {
        let told = r#"{"total_mutants":9,"missed":1,"caught":5,"timeout":1,"unviable":2,"success":0}"#;
        let figures = figures(told).unwrap();
        assert_eq!((figures["caught"].as_u64(), figures["viable"].as_u64()), (Some(6), Some(7)));
    }
}
