//! Helpers for tests that run Icarus Verilog and Yosys.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder for files of this name.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Whether a program is installed. Prints a skip if it is not.
pub(crate) fn is_here(program: &str, what: &str) -> bool {
    let is_here = Command::new(program).arg("-V").output().is_ok();
    if !is_here {
        println!("skipped: {what} ({program} is not installed)");
    }
    is_here
}

/// Runs a program, which must succeed, and gives its output.
pub(crate) fn run(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{command:?}: {text}{}", String::from_utf8_lossy(&done.stderr));
    text
}
