//! Compiles and runs emitted programs.
#![allow(dead_code, reason = "each test uses its own part of this")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crossgrain_deps::loops::{Analysis, Language, Memory, Program};

/// Arguments for four threads, and one run for each time.
pub(crate) const QUICK: [&str; 2] = ["threads=4", "runs=1"];

pub(crate) fn parsed(text: &str) -> Program {
    Program::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

/// The program with its loops transformed, if that makes more of them parallel.
pub(crate) fn emitted(program: &Program, language: Language) -> String {
    let analysis = Analysis::of(program).unwrap();
    match analysis.transformed() {
        Some(transformed) => transformed.emit(language),
        None => analysis.emit(language),
    }
}

/// The expected first line of the compiled program: the digests of the serial and the parallel run.
pub(crate) fn wanted(program: &Program) -> String {
    let mut memory = Memory::new(program);
    program.run(&mut memory).unwrap();
    let digest = memory.digest(program);
    format!("{digest:016x} {digest:016x}")
}

/// The lines of digests in the output of compiled programs. Other lines are times.
pub(crate) fn digests(printed: &str) -> Vec<&str> {
    printed.lines().filter(|line| line.len() == 33 && line.as_bytes()[16] == b' ').collect()
}

pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a command that must succeed, and returns its output.
pub(crate) fn run(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(done.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Whether gcc is installed. Prints that a test is skipped otherwise.
pub(crate) fn has_gcc() -> bool {
    let has = Command::new("gcc").arg("--version").output().is_ok();
    if !has {
        println!("skipped: emitted C (no gcc here)");
    }
    has
}

/// Compiles a C program.
pub(crate) fn compiled(folder: &Path, name: &str, text: &str, optimise: &str) -> PathBuf {
    let (source, compiled) = (folder.join(name).with_extension("c"), folder.join(name));
    fs::write(&source, text).unwrap();
    run(Command::new("gcc").args(["-std=c11", optimise, "-fopenmp", "-o"]).arg(&compiled).arg(&source));
    compiled
}

/// The cargo command for a package with the workspace's version of rayon.
pub(crate) fn cargo(folder: &Path, task: &str) -> Command {
    let manifest = "[package]\nname = \"emitted\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                    [dependencies]\nrayon = \"1\"\n\n[profile.dev]\ndebug = false\n\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock"), folder.join("Cargo.lock"))
        .unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([task, "--quiet", "--offline", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(folder.join("target"));
    cargo
}
