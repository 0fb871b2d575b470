//! `cargo xtask arm` and `cargo xtask foreign`: build the library, its tests and the command line for other CPUs,
//! and run them under qemu.
//!
//! `arm` is 64-bit ARM: a CPU with every extension, and cores of 2016 and 2019. `foreign` is a 32-bit CPU and a
//! big-endian one, which run 64-bit integers. qemu takes about 17 times as long as a native run, so each machine
//! has a choice of tests, and `--short` a choice of those. The command line's files are exchanged with this
//! machine: each side encrypts, and the other decrypts.
//!
//! If a tool is missing, the task names it and counts as skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::emulated::{
    Counts, Suite, Tests, exchange, fresh_folder, native_program, on_all_cores, runs, shown,
};
use crate::{Result, artifacts, cargo, has_std, root, target};

/// A kind of CPU with Linux, and the machines that qemu emulates.
pub(crate) struct System {
    /// The name in results.
    name: &'static str,
    /// Rust's name.
    pub(crate) target: &'static str,
    /// The C compiler that links, and the Debian package that has it.
    linker: [&'static str; 2],
    /// The C library of the emulated machines, and its package.
    libraries: [&'static str; 2],
    emulator: &'static str,
    /// The cap for tests and files that leave the choice free.
    usual_cap: &'static str,
    machines: &'static [Machine],
}

/// An emulated machine.
struct Machine {
    /// A core that qemu knows, or `max` for all of its extensions.
    core: &'static str,
    cap: &'static str,
    /// Its quick tests, all in the library.
    short: Tests,
    /// Its further tests of every night.
    nightly: Tests,
}

/// Tests of single registers, and published answers of modes: quick, and different on each CPU.
const REGISTERS: &[&str] = &["registers", "mode_vectors"];

/// Names, texts, numbers in lanes, and laws of circuits.
const LAWS: &[&str] = &["names", "texts", "numbers", "laws"];

/// Published answers.
const ANSWERS: &[&str] = &["vectors", "serpent"];

/// The agreement of all kernels with the reference.
const AGREEMENT: &[&str] = &["sealed", "strings", "agree", "modes", "search_kernels"];

/// A test that starts its own program again. This system cannot start a program for another CPU.
const STARTS_ITSELF: &str = "the_environment_caps_what_is_not_capped_otherwise";

/// 64-bit ARM.
#[rustfmt::skip] // a table: one line a machine
pub(crate) static ARM: [System; 1] = [System {
    name: "arm",
    target: "aarch64-unknown-linux-gnu",
    linker: ["aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"],
    libraries: ["/usr/aarch64-linux-gnu", "libc6-dev-arm64-cross"],
    emulator: "qemu-aarch64",
    usual_cap: "neon",
    machines: &[
        Machine { core: "max",         cap: "neon",          short: &[REGISTERS, ANSWERS], nightly: &[LAWS, AGREEMENT, &["wycheproof"]] },
        Machine { core: "neoverse-n1", cap: "neon",          short: &[REGISTERS],          nightly: &[LAWS, ANSWERS] },
        Machine { core: "cortex-a72",  cap: "neon",          short: &[REGISTERS],          nightly: &[LAWS, ANSWERS] },
        Machine { core: "max",         cap: "neon-aes-sha3", short: &[REGISTERS],          nightly: &[ANSWERS] },
        Machine { core: "max",         cap: "portable",      short: &[REGISTERS],          nightly: &[ANSWERS] },
    ],
}];

/// A CPU with 32-bit words, and one whose words begin with the most significant byte.
pub(crate) static FOREIGN: [System; 2] = [
    System {
        name: "32-bit",
        target: "armv7-unknown-linux-gnueabihf",
        linker: ["arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"],
        libraries: ["/usr/arm-linux-gnueabihf", "libc6-dev-armhf-cross"],
        emulator: "qemu-arm",
        usual_cap: "portable",
        machines: &[Machine {
            core: "max",
            cap: "portable",
            short: &[],
            nightly: &[REGISTERS, LAWS, ANSWERS, AGREEMENT],
        }],
    },
    System {
        name: "big-endian",
        target: "s390x-unknown-linux-gnu",
        linker: ["s390x-linux-gnu-gcc", "gcc-s390x-linux-gnu"],
        libraries: ["/usr/s390x-linux-gnu", "libc6-dev-s390x-cross"],
        emulator: "qemu-s390x",
        usual_cap: "portable",
        machines: &[Machine {
            core: "max",
            cap: "portable",
            short: &[],
            nightly: &[REGISTERS, LAWS, ANSWERS, AGREEMENT],
        }],
    },
];

/// Builds and runs everything on these systems.
///
/// # Errors
/// If a build fails, or a program cannot be run.
pub(crate) fn run(systems: &'static [System], suite: Suite) -> Result<ExitCode> {
    let mut failed = 0;
    for system in systems {
        failed += system.run(suite)?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The programs that were built.
struct Built {
    /// The test programs by name.
    tests: BTreeMap<String, PathBuf>,
    /// The command line for the system, and for this machine.
    programs: [PathBuf; 2],
}

impl System {
    /// Builds and runs everything. Returns the number of failed tests.
    fn run(&'static self, suite: Suite) -> Result<usize> {
        let missing = self.missing();
        if !missing.is_empty() {
            for what in missing {
                println!("skipped: {} ({what})", self.name);
            }
            return Ok(0);
        }
        let built = self.build(suite)?;
        let jobs: Vec<_> = self.jobs(&built, suite).collect();
        let counts = on_all_cores(&jobs, |&job| (job.0, self.run_one(job)));
        let folder = fresh_folder(&format!("{}-files", self.name))?;
        let [program, native] = &built.programs;
        let mut failed = 0;
        for machine in self.machines {
            let name = self.name_of(machine);
            let told = format!("{}: {name}", self.name);
            let exchanged = exchange(&told, &folder, native, &|| self.emulated(machine, program))?;
            let own = counts.iter().filter(|(of, _)| std::ptr::eq(*of, machine)).map(|(_, counts)| counts);
            let total = own.fold(Counts::default(), Counts::with);
            failed += total.failed;
            println!("{}", total.line(self.name, &name, exchanged));
        }
        Ok(failed)
    }

    /// What this machine lacks, as the commands that install it.
    fn missing(&self) -> Vec<String> {
        let [linker, linker_package] = self.linker;
        let [libraries, libraries_package] = self.libraries;
        let has_library = Path::new(libraries).join("lib/libc.so").exists();
        let tools = [
            (has_std(self.target), self.std_remedy()),
            (runs(linker), format!("apt-get install {linker_package}")),
            (has_library, format!("apt-get install {libraries_package}")),
            (runs(self.emulator), "apt-get install qemu-user".to_owned()),
        ];
        tools.into_iter().filter(|(is_there, _)| !is_there).map(|(_, remedy)| remedy).collect()
    }

    /// How to install the standard library.
    pub(crate) fn std_remedy(&self) -> String {
        format!("rustup target add {}", self.target)
    }

    /// Sets the linker, unless the user has set another.
    pub(crate) fn with_linker(&self, command: &mut Command) {
        let variable = format!("CARGO_TARGET_{}_LINKER", self.target.to_uppercase().replace('-', "_"));
        if std::env::var_os(&variable).is_none() {
            command.env(variable, self.linker[0]);
        }
    }

    /// Builds everything that is out of date.
    fn build(&self, suite: Suite) -> Result<Built> {
        let mut names: Vec<_> = self.machines.iter().flat_map(|machine| machine.tests(suite)).collect();
        names.sort_unstable();
        names.dedup();
        let mut build = cargo();
        build.args(["build", "--target", self.target, "-p", "crossgrain", "-p", "crossgrain-cli"]);
        build.args(["--bin", "crossgrain"]).args(names.iter().flat_map(|name| ["--test", name]));
        self.with_linker(&mut build);
        let mut tests = BTreeMap::new();
        for artifact in artifacts(build)? {
            if let (true, Some(path)) = (artifact["profile"]["test"] == true, artifact["executable"].as_str())
            {
                let name = artifact["target"]["name"].as_str().unwrap_or_default().to_owned();
                tests.insert(name, PathBuf::from(path));
            }
        }
        let program = root().join(target()).join(self.target).join("debug/crossgrain");
        Ok(Built { tests, programs: [program, native_program()?] })
    }

    /// A command on an emulated machine.
    fn emulated(&self, machine: &Machine, program: &Path) -> Command {
        let mut command = Command::new(self.emulator);
        command.args(["-L", self.libraries[0], "-cpu", machine.core]).arg(program);
        command.env("CROSSGRAIN_ISA", machine.cap);
        command
    }

    /// Every test program on every machine, programs of the first machine first: it has the longest.
    fn jobs<'b>(&self, built: &'b Built, suite: Suite) -> impl Iterator<Item = Job<'b>> {
        let of = move |machine: &'static Machine| {
            let own = machine.tests(suite);
            let is_of = move |name: &str| own.contains(&name);
            let tests = built.tests.iter().filter(move |(name, _)| is_of(name));
            tests.map(move |(name, path)| (machine, name.as_str(), path.as_path()))
        };
        self.machines.iter().flat_map(of)
    }

    /// Runs a program. It prints the output of failing tests, and one line.
    fn run_one(&self, (machine, name, path): Job<'_>) -> Counts {
        let mut command = self.emulated(machine, path);
        let folder = root().join("crates/crossgrain");
        command.args(["--show-output", "--skip", STARTS_ITSELF]);
        command.current_dir(&folder).env("CARGO_MANIFEST_DIR", &folder);
        shown(&format!("{} {name}", self.name_of(machine)), command)
    }

    /// The name of a machine: the core, and the cap if it takes something away.
    fn name_of(&self, machine: &Machine) -> String {
        let Machine { core, cap, .. } = machine;
        if *cap == self.usual_cap { (*core).to_owned() } else { format!("{core} {cap}") }
    }
}

impl Machine {
    fn tests(&self, suite: Suite) -> Vec<&'static str> {
        suite.tests(self.short, self.nightly)
    }
}

/// A test program for one machine.
type Job<'b> = (&'static Machine, &'b str, &'b Path);
