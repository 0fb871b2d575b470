//! `cargo xtask python`: builds the wheel, installs it into a fresh environment, and runs the Python tests there.
//! `cargo xtask bench python`: the same with an optimised wheel, and the random generators timed beside others.
//!
//! Everything lies under `target/`. Without Python, or where its installer cannot get what the tests need, the step is
//! skipped, and says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::{Result, root, succeed, target};

/// What the tests need besides the wheel, and what they use where it can be had.
const NEEDED: [&str; 4] = ["maturin>=1.10,<2", "numpy>=1.25", "pytest", "hypothesis"];
const USED: [&str; 9] = [
    "cffi",
    "cryptography",
    "dask[array]",
    "distributed",
    "matplotlib",
    "mypy",
    "numba",
    "randomgen",
    "scipy",
];

/// Runs the tests.
///
/// # Errors
/// If something cannot be started, or the wheel cannot be built or installed.
pub(crate) fn run() -> Result<ExitCode> {
    match environment("dev")? {
        Some(environment) => test(&environment),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Times the generators.
///
/// # Errors
/// As [`run`], or if a generator gives a wrong answer.
pub(crate) fn bench() -> Result<ExitCode> {
    if let Some(environment) = environment("release")? {
        succeed(
            Command::new(program(&environment, "python")).arg("bench/generators.py").current_dir(root()),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A fresh environment with the wheel, built in this profile; none, and a word about it, where it cannot be had.
fn environment(profile: &str) -> Result<Option<PathBuf>> {
    let environment = root().join(target()).join("python");
    if !has_environment(&environment) {
        println!("skipped: python (python3 with its venv is not installed)");
        return Ok(None);
    }
    if !succeeds(install(&environment).args(NEEDED)) {
        println!("skipped: python (pip cannot install {})", NEEDED.join(" "));
        return Ok(None);
    }
    for package in USED {
        if !succeeds(install(&environment).args(["--only-binary=:all:", package])) {
            println!("skipped: Python tests with {package} (pip cannot install it)");
        }
    }
    let wheels = root().join(target()).join("wheels");
    // Those of earlier runs: only the one built now is to be installed.
    let _ = fs::remove_dir_all(&wheels);
    let mut build = Command::new(program(&environment, "maturin"));
    succeed(
        build.args(["build", "--quiet", "--profile", profile, "--out"]).arg(&wheels).current_dir(root()),
    )?;
    let built = fs::read_dir(&wheels).ok().and_then(|mut files| files.next()?.ok());
    let wheel = built.ok_or("maturin built no wheel")?.path();
    succeed(install(&environment).arg(wheel))?;
    Ok(Some(environment))
}

/// Makes the environment anew.
pub(crate) fn has_environment(environment: &Path) -> bool {
    let mut make = Command::new("python3");
    succeeds(make.args(["-m", "venv", "--clear"]).arg(environment))
}

/// A program of the environment's.
pub(crate) fn program(environment: &Path, name: &str) -> PathBuf {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    environment.join(folder).join(name)
}

pub(crate) fn install(environment: &Path) -> Command {
    let mut command = Command::new(program(environment, "python"));
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}

/// Runs the tests, and counts them in the words of Rust's.
fn test(environment: &Path) -> Result<ExitCode> {
    let mut tests = Command::new(program(environment, "python"));
    let done = tests
        .args(["-m", "pytest", "-q"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output();
    let done = done.map_err(|error| format!("cannot run pytest: {error}"))?;
    let printed = String::from_utf8_lossy(&done.stdout);
    print!("{printed}");
    for line in printed.lines() {
        if let Some((_, reason)) = line.strip_prefix("SKIPPED ").and_then(|line| line.split_once(".py:")) {
            println!("skipped: {}", reason.split_once(": ").map_or(reason, |(_, reason)| reason));
        }
    }
    println!("{}", in_rusts_words(printed.lines().last().unwrap_or_default(), done.status.success()));
    Ok(if done.status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `3 passed, 1 skipped in 0.5s` as the last line of a Rust test.
fn in_rusts_words(summary: &str, succeeded: bool) -> String {
    let of = |what: &str| {
        let counts = summary.trim_matches(['=', ' ']).split(", ");
        let mut counts = counts.filter_map(|count| count.split_once(' '));
        counts.find(|(_, name)| name.starts_with(what)).map_or("0", |(count, _)| count).to_owned()
    };
    let (failed, errors) = (of("failed"), of("error"));
    let failed = if failed == "0" { errors } else { failed };
    let outcome = if succeeded { "ok" } else { "FAILED" };
    format!("test result: {outcome}. {} passed; {failed} failed; 0 ignored", of("passed"))
}

fn succeeds(command: &mut Command) -> bool {
    command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::in_rusts_words;

    #[test]
    fn summaries_are_counted() {
        let told = |summary| in_rusts_words(summary, true);
        assert_eq!(told("85 passed, 3 skipped in 12.01s"), "test result: ok. 85 passed; 0 failed; 0 ignored");
        assert_eq!(
            in_rusts_words("== 2 failed, 83 passed in 1.00s ==", false),
            "test result: FAILED. 83 passed; 2 failed; 0 ignored"
        );
        assert_eq!(
            in_rusts_words("1 error in 0.10s", false),
            "test result: FAILED. 0 passed; 1 failed; 0 ignored"
        );
    }
}
