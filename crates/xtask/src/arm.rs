//! `cargo xtask arm`: builds the library, its tests and the command line for 64-bit ARM, and runs them under
//! qemu.
//!
//! qemu emulates several machines: a CPU with every extension, and cores of 2016 and 2019. It takes about 17
//! times as long as a native run, so each machine has a choice of tests. The command line's files are
//! exchanged with this machine: each side encrypts, and the other decrypts.
//!
//! If a tool is missing, the task names it and counts as skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::emulated::{Counts, exchange, fresh_folder, native_program, on_all_cores, shown};
use crate::{Result, artifacts, cargo, has_std, root, target};

pub(crate) const TARGET: &str = "aarch64-unknown-linux-gnu";

/// How to install the standard library.
pub(crate) const STD_REMEDY: &str = "rustup target add aarch64-unknown-linux-gnu";

const LINKER: &str = "aarch64-linux-gnu-gcc";
const LINKER_VARIABLE: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER";
const EMULATOR: &str = "qemu-aarch64";
/// The C library of the emulated machine.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// Tests of single registers and of names: quick, and different on each CPU.
const REGISTERS: &[&str] = &["registers", "numbers", "names"];

/// Published answers, and the agreement of all kernels with the reference.
const ANSWERS: &[&str] =
    &["vectors", "serpent", "mode_vectors", "sealed", "agree", "modes", "search_kernels"];

/// A test that starts its own program again. The system cannot start a program for ARM.
const STARTS_ITSELF: &str = "the_environment_caps_what_is_not_capped_otherwise";

/// An emulated machine.
struct Machine {
    /// A core that qemu knows, or `max` for all of its extensions.
    core: &'static str,
    /// The cap for tests and files that leave the choice free.
    cap: &'static str,
    /// Its tests, all in the library.
    tests: &'static [&'static [&'static str]],
}

#[rustfmt::skip] // a table: one line a machine
const MACHINES: [Machine; 5] = [
    Machine { core: "max",         cap: "neon",          tests: &[REGISTERS, ANSWERS, &["wycheproof"]] },
    Machine { core: "neoverse-n1", cap: "neon",          tests: &[REGISTERS, &["vectors", "mode_vectors"]] },
    Machine { core: "cortex-a72",  cap: "neon",          tests: &[REGISTERS, &["vectors", "mode_vectors"]] },
    Machine { core: "max",         cap: "neon-aes-sha3", tests: &[&["mode_vectors"]] },
    Machine { core: "max",         cap: "portable",      tests: &[&["mode_vectors"]] },
];

/// Builds and runs everything.
///
/// # Errors
/// If the build fails, or a program cannot be run.
pub(crate) fn run() -> Result<ExitCode> {
    let missing = missing();
    if !missing.is_empty() {
        for what in missing {
            println!("skipped: arm ({what})");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let built = build()?;
    let jobs: Vec<_> = jobs(&built).collect();
    let counts = on_all_cores(&jobs, |&job| (job.0, run_one(job)));
    let folder = fresh_folder("arm-files")?;
    let [for_arm, native] = &built.programs;
    let mut failed = 0;
    for machine in &MACHINES {
        let name = machine.name();
        let exchanged = exchange(&format!("arm: {name}"), &folder, native, &|| emulated(machine, for_arm))?;
        let own = counts.iter().filter(|(of, _)| std::ptr::eq(*of, machine)).map(|(_, counts)| counts);
        let total = own.fold(Counts::default(), Counts::with);
        failed += total.failed;
        println!("{}", total.line("arm", &name, exchanged));
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The tools that this machine lacks, and how to get each.
fn missing() -> Vec<&'static str> {
    let runs = |program: &str| {
        let mut version = Command::new(program);
        version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    };
    let has_library = Path::new(LIBRARIES).join("lib/libc.so").exists();
    let tools = [
        (has_std(TARGET), STD_REMEDY),
        (runs(LINKER), "apt-get install gcc-aarch64-linux-gnu"),
        (has_library, "apt-get install libc6-dev-arm64-cross"),
        (runs(EMULATOR), "apt-get install qemu-user"),
    ];
    tools.into_iter().filter(|(is_there, _)| !is_there).map(|(_, remedy)| remedy).collect()
}

/// The programs that were built.
struct Built {
    /// The test programs by name.
    tests: BTreeMap<String, PathBuf>,
    /// The command line for ARM, and for this machine.
    programs: [PathBuf; 2],
}

/// Sets the linker, unless the user has set another.
pub(crate) fn with_linker(command: &mut Command) {
    if std::env::var_os(LINKER_VARIABLE).is_none() {
        command.env(LINKER_VARIABLE, LINKER);
    }
}

/// Builds everything that is out of date.
fn build() -> Result<Built> {
    let mut names: Vec<_> = MACHINES.iter().flat_map(|machine| machine.tests.concat()).collect();
    names.sort_unstable();
    names.dedup();
    let mut build = cargo();
    build.args(["build", "--target", TARGET, "-p", "crossgrain", "-p", "crossgrain-cli"]);
    build.args(["--bin", "crossgrain"]).args(names.iter().flat_map(|name| ["--test", name]));
    with_linker(&mut build);
    let mut tests = BTreeMap::new();
    for artifact in artifacts(build)? {
        if let (true, Some(path)) = (artifact["profile"]["test"] == true, artifact["executable"].as_str()) {
            let name = artifact["target"]["name"].as_str().unwrap_or_default().to_owned();
            tests.insert(name, PathBuf::from(path));
        }
    }
    let for_arm = root().join(target()).join(TARGET).join("debug/crossgrain");
    Ok(Built { tests, programs: [for_arm, native_program()?] })
}

/// A command on an emulated machine.
fn emulated(machine: &Machine, program: &Path) -> Command {
    let mut command = Command::new(EMULATOR);
    command.args(["-L", LIBRARIES, "-cpu", machine.core]).arg(program);
    command.env("CROSSGRAIN_ISA", machine.cap);
    command
}

/// A test program for one machine.
type Job<'b> = (&'static Machine, &'b str, &'b Path);

/// Every test program on every machine, programs of the first machine first: it has the longest.
fn jobs(built: &Built) -> impl Iterator<Item = Job<'_>> {
    let of = |machine: &'static Machine| {
        let tests = built.tests.iter().filter(|(name, _)| machine.tests.concat().contains(&name.as_str()));
        tests.map(move |(name, path)| (machine, name.as_str(), path.as_path()))
    };
    MACHINES.iter().flat_map(of)
}

/// Runs a program. It prints the output of failing tests, and one line.
fn run_one((machine, name, path): Job<'_>) -> Counts {
    let mut command = emulated(machine, path);
    let folder = root().join("crates/crossgrain");
    command.args(["--show-output", "--skip", STARTS_ITSELF]);
    command.current_dir(&folder).env("CARGO_MANIFEST_DIR", &folder);
    shown(&format!("{} {name}", machine.name()), command)
}

impl Machine {
    /// Its name: the core, and the cap if it takes something away.
    fn name(&self) -> String {
        if self.cap == "neon" { self.core.to_owned() } else { format!("{} {}", self.core, self.cap) }
    }
}
