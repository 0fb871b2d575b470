//! `cargo xtask fuzz`: the fuzz targets under libFuzzer, built with the stable compiler.
//!
//! Each target under `fuzz/` tests one parser of untrusted text or bytes. libFuzzer needs counters of the edges taken, which a pass of LLVM
//! adds. The flags are for the targets only, so build scripts are not instrumented. The corpora under `fuzz/corpus` are the seeds. Inputs that
//! reach new code are kept under `fuzz/target/corpus`.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::{Result, cargo, evidence, root, rustc, succeed};

/// Counters for edges, and a table of where they are.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Ccodegen-units=4";

/// The targets, sorted.
pub(crate) const TARGETS: [&str; 11] = [
    "command_line",
    "container",
    "costs",
    "loops",
    "masks",
    "names",
    "plans",
    "rules",
    "tables",
    "wisdom",
    "words",
];

/// An input that takes longer is a failure.
const INPUT_SECONDS: u32 = 60;

/// Runs these targets for `seconds` each. Without a target, it runs all.
///
/// # Errors
/// If the targets cannot be built, or if one fails. All of them run before that is reported. Inputs that break a target
/// are under `fuzz/target`.
pub(crate) fn run(targets: &[String], seconds: u64) -> Result<()> {
    let targets: Vec<_> = match targets {
        [] => TARGETS.to_vec(),
        _ => targets.iter().map(String::as_str).collect(),
    };
    let (folder, host) = (root().join("fuzz"), rustc("host")?);
    let mut build = cargo();
    build.current_dir(&folder).env("RUSTFLAGS", FLAGS).env_remove("CARGO_TARGET_DIR");
    build.args(["build", "--release", "--target", &host]);
    succeed(build.args(targets.iter().flat_map(|target| ["--bin", target])))?;
    let failed: Vec<_> =
        targets.into_iter().filter_map(|target| fuzz(target, &host, seconds).err()).collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// Runs one target.
fn fuzz(target: &str, host: &str, seconds: u64) -> Result<()> {
    let folder = root().join("fuzz");
    let (found, seeds) = (format!("target/corpus/{target}"), format!("corpus/{target}"));
    fs::create_dir_all(folder.join(&found)).map_err(|error| format!("cannot make {found}: {error}"))?;
    let mut fuzz = Command::new(folder.join("target").join(host).join("release").join(target));
    fuzz.current_dir(&folder).arg(format!("-max_total_time={seconds}"));
    fuzz.arg(format!("-timeout={INPUT_SECONDS}")).arg(format!("-artifact_prefix=target/{target}-"));
    println!("fuzzing {target} for {seconds} s");
    succeed(fuzz.args([found, seeds])).map_err(|error| format!("{target}: {error}"))?;
    evidence::keep("fuzz", &json!({ "target": target, "seconds": seconds }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::TARGETS;
    use crate::root;

    #[test]
    fn every_target_is_declared_and_has_seeds() {
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        let declared: Vec<_> = manifest.split("[[bin]]\nname = \"").skip(1).collect();
        let declared: Vec<_> = declared.iter().map(|text| text.split('"').next().unwrap()).collect();
        assert_eq!(declared, TARGETS);
        for target in TARGETS {
            let seeds = fs::read_dir(root().join("fuzz/corpus").join(target));
            assert!(seeds.is_ok_and(|mut seeds| seeds.next().is_some()), "{target} has no seeds");
        }
    }
}
