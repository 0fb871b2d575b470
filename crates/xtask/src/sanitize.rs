//! `cargo xtask sanitize`: tests under AddressSanitizer and under Miri, which find undefined behaviour.
//!
//! Stable toolchains ship the runtime of AddressSanitizer; `RUSTC_BOOTSTRAP` unlocks the flag. Miri is a component of nightly toolchains.
//! If a toolchain lacks one of them, the task skips it by name.

use std::fs;
use std::process::{Command, Stdio};

use crate::{Result, cargo, root, rustc, succeed, target};

/// Tests under AddressSanitizer. Left out are those that scan the process's memory or count allocations, because the
/// sanitizer keeps freed memory and allocates itself.
const ADDRESS: [(&str, &[&str]); 4] = [
    ("crossgrain-files", &[]),
    ("crossgrain-container", &[]),
    ("crossgrain-search", &[]),
    (
        "crossgrain",
        &[
            "agree",
            "chained",
            "modes",
            "mode_vectors",
            "own_keys",
            "rijndael",
            "sealed",
            "search_kernels",
            "stream",
            "strings",
        ],
    ),
];

/// Tests of the library under Miri. It takes minutes for a plan, so they make none.
const MIRI: [&str; 1] = ["unsafe_code"];

/// Runs both.
///
/// # Errors
/// If a test fails under either.
pub(crate) fn run() -> Result<()> {
    address()?;
    miri()
}

/// Runs tests under AddressSanitizer.
fn address() -> Result<()> {
    if !has_runtime()? {
        println!("skipped: AddressSanitizer (this toolchain has no runtime for it)");
        return Ok(());
    }
    let host = rustc("host")?;
    for (package, tests) in ADDRESS {
        let mut test = cargo();
        test.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
        // Leaks are safe, and the search for them needs ptrace, which containers forbid.
        test.env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1");
        // With `--target`, build scripts and procedural macros are not instrumented.
        test.args(["test", "--package", package, "--target", &host]);
        test.arg("--target-dir").arg(root().join(target()).join("address"));
        if tests.is_empty() {
            test.arg("--tests");
        }
        succeed(test.args(tests.iter().flat_map(|test| ["--test", test])))?;
    }
    Ok(())
}

/// Whether the toolchain has the runtime of AddressSanitizer.
fn has_runtime() -> Result<bool> {
    let mut folder = Command::new("rustc");
    let answer = folder.args(["--print", "target-libdir"]).output();
    let answer = answer.map_err(|error| format!("cannot run rustc: {error}"))?;
    let folder = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    let files = fs::read_dir(&folder).map_err(|error| format!("{folder}: {error}"))?;
    Ok(files.flatten().any(|file| file.file_name().to_string_lossy().ends_with("_rt.asan.a")))
}

/// Runs tests under Miri, which knows no vector instructions and interprets the portable kernels.
fn miri() -> Result<()> {
    let mut version = nightly(&["miri", "--version"]);
    if !version.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        println!("skipped: Miri (rustup component add --toolchain nightly miri rust-src)");
        return Ok(());
    }
    let mut test = nightly(&["miri", "test", "--package", "crossgrain"]);
    // Isolation would hide the environment and the system's random numbers.
    test.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("CROSSGRAIN_ISA", "portable");
    test.arg("--target-dir").arg(root().join(target()).join("miri"));
    succeed(test.args(MIRI.iter().flat_map(|test| ["--test", test])))
}

/// Cargo of the nightly toolchain.
fn nightly(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).args(arguments).current_dir(root());
    // `cargo xtask` sets this to its own toolchain.
    command.env_remove("CARGO");
    command
}
