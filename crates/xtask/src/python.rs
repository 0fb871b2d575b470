//! `cargo xtask python`: installs the package into a fresh environment, and runs the Python tests there. The
//! native module comes from the workspace's build. A wheel would need another build of the whole library,
//! which only `cargo xtask nightly` does. `cargo xtask bench python`: builds an optimised wheel, and compares
//! the random generators with others.
//!
//! All files are under `target/`. Without Python, or if its installer cannot download the packages for the
//! tests, the step is skipped with a message.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::{Result, root, succeed, target, workspace};

/// The tool that builds the wheel.
pub(crate) const BUILDS: &str = "maturin>=1.10,<2";

/// Packages that the tests require, and those that they use if available.
const NEEDED: [&str; 3] = ["numpy>=1.25", "pytest", "hypothesis"];
const USED: [&str; 17] = [
    "cffi",
    "cryptography",
    "dask[array]",
    "distributed",
    "flask", // the two from which moto makes a server
    "flask-cors",
    "matplotlib",
    "moto[s3]",
    "mypy",
    "numba",
    "numpydoc",
    "pyright",
    "randomgen",
    "s3fs",
    "scipy",
    "xarray",
    "zarr",
];
/// Packages that only the tests of the wheel use: another 230 MB.
const USED_AT_NIGHT: [&str; 3] = ["dask[dataframe]", "duckdb", "pyarrow"];

/// The number of workers of a cluster that a search loses in the nightly run.
const KILLS: &str = "50";

/// Runs the tests with the workspace's module.
///
/// # Errors
/// If a program cannot be started, built or copied.
pub(crate) fn run() -> Result<ExitCode> {
    let Some(environment) = environment(&NEEDED, &USED) else { return Ok(ExitCode::SUCCESS) };
    put_package(&environment, &workspace::build()?.module)?;
    test(&environment, None)
}

/// Runs the tests with a wheel, and those that are too long for every change.
///
/// # Errors
/// If a program cannot be started, or the wheel cannot be built or installed.
pub(crate) fn run_with_wheel() -> Result<ExitCode> {
    let Some(environment) = environment_with_maturin(&[&USED[..], &USED_AT_NIGHT].concat()) else {
        return Ok(ExitCode::SUCCESS);
    };
    put_wheel(&environment, "dev")?;
    test(&environment, Some(KILLS))
}

/// Times the generators.
///
/// # Errors
/// As [`run_with_wheel`], or if a generator gives a wrong result.
pub(crate) fn bench() -> Result<ExitCode> {
    if let Some(environment) = environment_with_maturin(&USED) {
        put_wheel(&environment, "release")?;
        succeed(
            Command::new(program(&environment, "python")).arg("bench/generators.py").current_dir(root()),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The same, with the tool that builds a wheel.
fn environment_with_maturin(used: &[&str]) -> Option<PathBuf> {
    environment(&[&[BUILDS], &NEEDED[..]].concat(), used)
}

/// A fresh environment with the required and optional packages. `None`, with a message, if it cannot be
/// created.
fn environment(needed: &[&str], used: &[&str]) -> Option<PathBuf> {
    let environment = root().join(target()).join("python");
    if !has_environment(&environment) {
        println!("skipped: python (python3 with its venv is not installed)");
        return None;
    }
    let wheels = "--only-binary=:all:";
    // One call, so that pip resolves all versions together.
    if succeeds(install(&environment).arg(wheels).args(needed).args(used)) {
        return Some(environment);
    }
    if !succeeds(install(&environment).args(needed)) {
        println!("skipped: python (pip cannot install {})", needed.join(" "));
        return None;
    }
    for package in used {
        if !succeeds(install(&environment).args([wheels, package])) {
            println!("skipped: Python tests with {package} (pip cannot install it)");
        }
    }
    Some(environment)
}

/// Builds the wheel in a profile, and installs it.
fn put_wheel(environment: &Path, profile: &str) -> Result<()> {
    let wheels = root().join(target()).join("wheels");
    // Wheels of earlier runs must not be installed.
    let _ = fs::remove_dir_all(&wheels);
    let mut build = Command::new(program(environment, "maturin"));
    succeed(
        build.args(["build", "--quiet", "--profile", profile, "--out"]).arg(&wheels).current_dir(root()),
    )?;
    let built = fs::read_dir(&wheels).ok().and_then(|mut files| files.next()?.ok());
    let wheel = built.ok_or("maturin built no wheel")?.path();
    succeed(install(environment).arg(wheel))
}

/// Copies the package's files and a native module to the environment's packages.
fn put_package(environment: &Path, module: &Path) -> Result<()> {
    let ask = "import sysconfig; print(sysconfig.get_path('platlib'), end='')";
    let told = Command::new(program(environment, "python")).args(["-c", ask]).output();
    let told = told.map_err(|error| format!("cannot run python: {error}"))?;
    let package = Path::new(&*String::from_utf8_lossy(&told.stdout)).join("crossgrain");
    let sources = root().join("crates/crossgrain-py/python/crossgrain");
    let module_name = if cfg!(windows) { "_native.pyd" } else { "_native.abi3.so" };
    let copied = fs::create_dir_all(&package).and_then(|()| {
        for source in fs::read_dir(sources)?.flatten().filter(|source| source.path().is_file()) {
            fs::copy(source.path(), package.join(source.file_name()))?;
        }
        fs::copy(module, package.join(module_name))?;
        put_entry_points(&package.with_extension("dist-info"))
    });
    copied.map_err(|error| format!("{}: {error}", package.display()))
}

/// Writes the entry points of `pyproject.toml`, as an installer does: other packages find ours by them.
fn put_entry_points(folder: &Path) -> std::io::Result<()> {
    let project = fs::read_to_string(root().join("pyproject.toml"))?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join("METADATA"), "Metadata-Version: 2.1\nName: crossgrain\nVersion: 0\n")?;
    fs::write(folder.join("entry_points.txt"), entry_points(&project))
}

/// The entry points of a project, in the format of installed packages.
fn entry_points(project: &str) -> String {
    let mut points = String::new();
    for section in project.split("[project.entry-points.").skip(1) {
        let (group, names) = section.split_once(']').unwrap_or_default();
        let names = names.split("\n[").next().unwrap_or_default();
        points += &format!("[{group}]\n{}\n", names.trim()).replace('"', "");
    }
    points
}

/// Creates the environment, and replaces an existing one.
pub(crate) fn has_environment(environment: &Path) -> bool {
    let mut make = Command::new("python3");
    succeeds(make.args(["-m", "venv", "--clear"]).arg(environment))
}

/// The path of a program in the environment.
pub(crate) fn program(environment: &Path, name: &str) -> PathBuf {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    environment.join(folder).join(name)
}

/// Installs into the environment. Bytecode is compiled only at the first use, because most of it is never
/// needed.
pub(crate) fn install(environment: &Path) -> Command {
    let mut command = Command::new(program(environment, "python"));
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]);
    command
}

/// Runs the tests, and prints their counts in the format of Rust's tests. `kills` is the number of workers that
/// the tests of clusters kill.
fn test(environment: &Path, kills: Option<&str>) -> Result<ExitCode> {
    let mut tests = Command::new(program(environment, "python"));
    let done = tests
        .args(["-m", "pytest", "-q"])
        // Keeps bytecode out of the source folders.
        .env_remove("PYTHONDONTWRITEBYTECODE")
        .env("CROSSGRAIN_PROGRAM", workspace::program())
        .envs(kills.map(|kills| ("CROSSGRAIN_KILLS", kills)))
        .env("PYTHONPYCACHEPREFIX", environment.join("bytecode"))
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

/// Turns `3 passed, 1 skipped in 0.5s` into the last line of a Rust test.
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
    use super::{entry_points, in_rusts_words};

    #[test]
    fn entry_points_are_those_of_the_project() {
        let project = "[project]\nname = \"a\"\n\n[project.entry-points.\"b.c\"]\nd = \"e:F\"\n\n\
            [project.entry-points.g]\nh = \"i:J\"\n\n[tool]\nk = \"l\"\n";
        assert_eq!(entry_points(project), "[b.c]\nd = e:F\n[g]\nh = i:J\n");
    }

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
