//! Development tasks of crossgrain, run as `cargo xtask TASK`.
//!
//! Continuous integration runs the same tasks as developers. Every condition for merging a change is a step
//! of `check` or of `test`. Nothing here is part of the library or of the program.

mod api;
mod asm;
mod bench;
mod chart;
mod check;
mod dependencies;
mod emulated;
mod evidence;
mod examined;
mod files;
mod fuzz;
#[cfg(test)]
mod home;
mod limits;
mod mutants;
mod newest;
mod nightly;
mod others;
mod package;
mod page;
mod pages;
mod platforms;
mod python;
mod qemu;
mod reproduce;
mod sanitize;
mod search;
mod semver;
mod site;
mod steps;
mod taint;
mod test;
mod wasm;
mod weight;
mod workspace;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};
use serde_json::Value;

use emulated::Suite;

/// The result of a task. An error is one line, ready to be printed.
type Result<T> = std::result::Result<T, String>;

/// The tasks of a crossgrain checkout.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run all tests, whatever fails, and count
    Test {
        /// Count a failure more: this task was run before, and failed; may be repeated
        #[arg(long, value_name = "TASK")]
        failed_before: Vec<String>,
    },
    /// Check what can be read in sources, documentation and machine code, whatever fails, and count
    Check,
    /// Check the library's release assembly: gates are inlined, each ISA is used, data stays in vector
    /// registers, and exits clear registers
    Asm {
        /// Show one line for each kernel and each exception
        #[arg(long)]
        list: bool,
        /// Write the table of docs/security.md instead
        #[arg(long)]
        page: bool,
        /// Check the assembly for 64-bit ARM instead of this machine's
        #[arg(long, value_parser = ["aarch64"])]
        target: Option<String>,
        /// Check this assembly instead of building the library's
        file: Option<PathBuf>,
    },
    /// Build the library and the program for 64-bit ARM, run their tests under qemu, and exchange files with
    /// this machine
    Arm {
        /// Only the quick tests
        #[arg(long)]
        short: bool,
    },
    /// The same for a 32-bit CPU and a big-endian one
    Foreign,
    /// Check that the program compiles for other systems, and run it for Windows under Wine
    Platforms,
    /// Build the library, the container and the program for WebAssembly, run their tests in wasmtime and Node,
    /// and exchange files with this machine
    Wasm {
        /// Only the quick tests
        #[arg(long)]
        short: bool,
    },
    /// Run `arm --short` and `wasm --short`, whatever fails, and count
    Emulated,
    /// Build the browser page into target/page, and test it in Chromium
    Page {
        /// Exchange a file of 1 GiB too, and show speeds and memory
        #[arg(long)]
        large: bool,
    },
    /// List what each library offers its users, under docs/api
    Api {
        /// Compare with what is there instead
        #[arg(long)]
        check: bool,
    },
    /// Compare the libraries' interfaces with the last release, by cargo-semver-checks
    Semver {
        /// Compare with this revision instead
        baseline: Option<String>,
    },
    /// Check that every dependency has a reason and a licence that is allowed
    Dependencies,
    /// Build the documentation as a site with mdBook, and check its links
    Site,
    /// Measure tables of the literature on this machine, and write them to docs/reproduction.md
    Reproduce {
        /// Only this table
        table: Option<reproduce::Table>,
    },
    /// Count what is checked, and write the table of docs/security.md
    Evidence,
    /// Plant mistakes into a part of the library, and count those that its tests notice
    Mutants,
    /// Count the instructions of every variant, and set the cycles they take beside the fewest they could
    Limits {
        /// Only variants with this in their names; their table is shown and not kept
        #[arg(default_value = "")]
        filter: String,
        /// Go by this record, of this machine, instead of the newest one under bench/record
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
    },
    /// Run the kernels under valgrind with key and data declared secret
    Taint,
    /// Build the Python package, install it into a fresh environment, and run its tests
    Python,
    /// Time crossgrain next to other implementations; `bench plan` judges the planner instead, `bench gpu`
    /// times a GPU, `bench python` the random generators, and `bench search` compares key search with hashcat
    Bench {
        /// Keep the results as JSON lines under bench/record (give this flag first)
        #[arg(long)]
        record: bool,
        #[command(flatten)]
        peers: bench::Peers,
        /// Arguments for `crossgrain bench`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Time encrypting a file beside cp, age and gpg
    Files {
        /// How long the file is, in MiB
        #[arg(long, default_value_t = 2048)]
        mebibytes: u64,
        /// How many turns each program gets, of which the fastest counts
        #[arg(long, default_value_t = 5)]
        turns: usize,
    },
    /// Fuzz the parsers of untrusted text and bytes
    Fuzz {
        /// Which targets; all unless given
        #[arg(value_parser = PossibleValuesParser::new(fuzz::TARGETS))]
        targets: Vec<String>,
        /// How long each target runs
        #[arg(long, default_value_t = 600)]
        seconds: u64,
    },
    /// Run tests under AddressSanitizer and Miri
    Sanitize,
    /// Give a random stream to all of dieharder's tests, which takes an hour
    Statistics {
        /// The block cipher, with its key size in bits
        #[arg(long, default_value = "aes-128")]
        cipher: String,
        /// The seed of the stream
        #[arg(long, default_value_t = 0)]
        seed: u128,
        /// How many samples a test takes; as many as it wants unless given
        #[arg(long)]
        samples: Option<u32>,
    },
    /// Measure the cost of building the library and the program from nothing, and write the table of
    /// docs/install.md
    Weight,
    /// Build the packages of a release
    Package {
        /// Which; all of them unless given
        packages: Vec<package::Package>,
    },
    /// Run what takes too long for every change: ignored tests, `arm`, `asm --target aarch64`, `wasm`, `page`,
    /// `sanitize`, `statistics`, `fuzz`, `mutants`
    Nightly,
    /// Draw the charts under docs/ from records of `bench`
    Chart {
        /// Draw this record instead of the newest ones under bench/record
        file: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Test { failed_before } => Ok(test::run(&failed_before)),
        Task::Check => Ok(check::run()),
        Task::Asm { page: true, .. } => asm::write_page().map(|()| ExitCode::SUCCESS),
        Task::Asm { list, target: Some(_), file, .. } => {
            asm::run_for_arm(list, file.as_deref()).map(|()| ExitCode::SUCCESS)
        }
        Task::Asm { list, file, .. } => asm::run(list, file.as_deref()).map(|()| ExitCode::SUCCESS),
        Task::Arm { short } => qemu::run(&qemu::ARM, Suite::of(short)),
        Task::Emulated => Ok(emulated::run()),
        Task::Foreign => qemu::run(&qemu::FOREIGN, Suite::Complete),
        Task::Platforms => platforms::run().map(|()| ExitCode::SUCCESS),
        Task::Wasm { short } => wasm::run(Suite::of(short)),
        Task::Page { large } => page::run(large).map(|()| ExitCode::SUCCESS),
        Task::Api { check } => api::run(check).map(|()| ExitCode::SUCCESS),
        Task::Semver { baseline } => semver::run(baseline.as_deref()).map(|()| ExitCode::SUCCESS),
        Task::Dependencies => dependencies::run().map(|()| ExitCode::SUCCESS),
        Task::Site => site::run().map(|()| ExitCode::SUCCESS),
        Task::Reproduce { table } => reproduce::run(table).map(|()| ExitCode::SUCCESS),
        Task::Evidence => evidence::run().map(|()| ExitCode::SUCCESS),
        Task::Mutants => mutants::run().map(|()| ExitCode::SUCCESS),
        Task::Limits { filter, record } => limits::run(&filter, record).map(|()| ExitCode::SUCCESS),
        Task::Taint => taint::run().map(|()| ExitCode::SUCCESS),
        Task::Python => python::run(),
        Task::Bench { record, peers, arguments } => match arguments.split_first() {
            Some((first, _)) if first == "python" => python::bench(),
            Some((first, rest)) if first == "search" => search::run(rest).map(|()| ExitCode::SUCCESS),
            Some((first, rest)) if first == "gpu" => bench::gpu(record, rest).map(|()| ExitCode::SUCCESS),
            Some((first, rest)) if first == "plan" => {
                bench::judge_planner(record, rest).map(|()| ExitCode::SUCCESS)
            }
            Some((first, rest)) if first == "peers" => {
                bench::beside_peers(record, &peers, rest).map(|()| ExitCode::SUCCESS)
            }
            _ => bench::run(record, &peers, &arguments).map(|()| ExitCode::SUCCESS),
        },
        Task::Files { mebibytes, turns } => files::run(mebibytes, turns).map(|()| ExitCode::SUCCESS),
        Task::Fuzz { targets, seconds } => fuzz::run(&targets, seconds).map(|()| ExitCode::SUCCESS),
        Task::Sanitize => sanitize::run().map(|()| ExitCode::SUCCESS),
        Task::Statistics { cipher, seed, samples } => {
            nightly::statistics(&cipher, seed, samples).map(|()| ExitCode::SUCCESS)
        }
        Task::Weight => weight::run().map(|()| ExitCode::SUCCESS),
        Task::Package { packages } => package::run(&packages).map(|()| ExitCode::SUCCESS),
        Task::Nightly => nightly::run().map(|()| ExitCode::SUCCESS),
        Task::Chart { file } => chart::run(file.as_deref()).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

/// The root of the checkout. All commands run there, wherever the task was started.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// Cargo's target directory, relative to the root.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from)
}

/// Runs a build, and returns cargo's message for each artifact.
///
/// # Errors
/// If the build fails.
fn artifacts(mut build: Command) -> Result<Vec<Value>> {
    build.args(["--message-format", "json-render-diagnostics"]).current_dir(root());
    let done =
        build.stderr(Stdio::inherit()).output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !done.status.success() {
        return Err(format!("cargo failed ({})", done.status));
    }
    let lines = String::from_utf8_lossy(&done.stdout);
    let told = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(told.filter(|told| told["reason"] == "compiler-artifact").collect())
}

/// Today's date, as 2026-11-30.
///
/// # Errors
/// If `date` cannot be run.
fn day() -> Result<String> {
    let told =
        Command::new("date").arg("+%F").output().map_err(|error| format!("cannot run date: {error}"))?;
    Ok(String::from_utf8_lossy(&told.stdout).trim().to_owned())
}

/// The value of a key in the output of `rustc -vV`, for example `host` or `release`.
///
/// # Errors
/// If `rustc` cannot be run, or does not print that key.
fn rustc(key: &str) -> Result<String> {
    let told =
        Command::new("rustc").arg("-vV").output().map_err(|error| format!("cannot run rustc: {error}"))?;
    let text = String::from_utf8_lossy(&told.stdout);
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    value.map(str::to_owned).ok_or_else(|| format!("rustc does not tell its {key}"))
}

/// Whether the standard library for a target is installed.
fn has_std(target: &str) -> bool {
    let folder = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    folder.is_ok_and(|told| Path::new(String::from_utf8_lossy(&told.stdout).trim()).is_dir())
}

/// The cargo that started this task, or the one on the path, in the root of the checkout.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command in this terminal.
///
/// # Errors
/// If it cannot be started, or does not succeed.
fn succeed(command: &mut Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} failed ({status})")),
        Err(error) => Err(format!("cannot run {program}: {error}")),
    }
}
