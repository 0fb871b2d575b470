//! `cargo xtask fuzz`: the fuzz target under libFuzzer, by the stable compiler.
//!
//! What libFuzzer needs of the compiler is a pass of LLVM that counts the edges taken; no sanitizer, for there is
//! nothing for one to find outside `word/`. The flags are for the target only, so that build scripts have none.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::{Result, cargo, evidence, root, rustc, succeed};

/// Counters for edges, and a table of where they are.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Ccodegen-units=4";

/// Runs the target for so long, from the inputs in `fuzz/corpus` on.
///
/// # Errors
/// If it cannot be built, or an input is found that breaks it: that is under `fuzz/target` then.
pub(crate) fn run(seconds: u64) -> Result<()> {
    let (folder, host) = (root().join("fuzz"), rustc("host")?);
    let mut build = cargo();
    build.current_dir(&folder).env("RUSTFLAGS", FLAGS).env_remove("CARGO_TARGET_DIR");
    succeed(build.args(["build", "--release", "--target", &host]))?;
    let found = folder.join("target/corpus");
    fs::create_dir_all(&found).map_err(|error| format!("cannot make {}: {error}", found.display()))?;
    let mut fuzz = Command::new(folder.join("target").join(host).join("release/container"));
    fuzz.current_dir(&folder).arg(format!("-max_total_time={seconds}"));
    succeed(fuzz.args(["-artifact_prefix=target/", "target/corpus", "corpus/container"]))?;
    evidence::keep("fuzz", &json!({ "seconds": seconds }))
}
