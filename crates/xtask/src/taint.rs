//! `cargo xtask taint`: runs the library's kernels under valgrind's memcheck, with key and data declared
//! secret (`crates/xtask/examples/taint`).
//!
//! Valgrind does not support AVX-512, VAES and GFNI. Kernels for these come from the same generic source as
//! those checked here, and `cargo xtask asm` checks their assembly.

use std::fs;
use std::process::{Command, Stdio};

use crate::{Result, examined, root, succeed, target};

/// Lines of memcheck's log that are shown for a failure.
const LOG_LINES_SHOWN: usize = 60;

/// Builds the example and runs it under memcheck.
///
/// # Errors
/// If it cannot be built or run, or a variant leaks more than it declares.
pub(crate) fn run() -> Result<()> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        println!("skipped: taint (not x86-64 under Linux)");
        return Ok(());
    }
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        println!("skipped: taint (valgrind is not installed)");
        return Ok(());
    }
    let example = examined::build()?.taint;
    let log = root().join(target()).join("taint.log");
    let mut valgrind = Command::new("valgrind");
    // Without a limit, because the positive controls exceed memcheck's default limit of reports.
    valgrind.args(["--quiet", "--error-limit=no"]);
    valgrind.arg(format!("--log-file={}", log.display()));
    let checked = succeed(valgrind.arg(example));
    checked.inspect_err(|_| {
        let text = fs::read_to_string(&log).unwrap_or_default();
        text.lines().take(LOG_LINES_SHOWN).for_each(|line| println!("{line}"));
        println!("more in {}", log.display());
    })
}
