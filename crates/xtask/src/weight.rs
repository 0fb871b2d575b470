//! `cargo xtask weight`: the cost of building crossgrain from scratch.
//!
//! It creates a crate that depends on the library in a temporary folder. It builds that crate in release and
//! debug, with the default features and with none (AES only), and then the command line. The figures go to
//! `bench/record/` and to a page. Seconds are processor time, user and system, of all processes that cargo
//! ran. Memory is the peak of a single compiler process. Crates are those compiled for the target, including
//! the library.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::bench::slug;
use crate::{Result, cargo, day, pages, root, rustc};

/// The page with the table.
const PAGE: &str = "docs/install.md";
const TASK: &str = "weight";

/// A build, and the limits of its cost.
struct Case {
    what: &'static str,
    package: Package,
    profile: &'static str,
    bar_s: f64,
    bar_crates: Option<usize>,
}

#[derive(Clone, Copy)]
enum Package {
    /// A crate that depends on the library. The text follows the path in its manifest.
    Dependent(&'static str),
    Program,
}

const AS_IT_IS: Package = Package::Dependent("");
const AES_ALONE: Package = Package::Dependent(", default-features = false");
const RELEASE: &str = "--release";
const DEBUG: &str = "--profile=dev";

const CASES: [Case; 5] = [
    Case::new("the library, release", AS_IT_IS, RELEASE, 90.0, None),
    Case::new("the library, debug", AS_IT_IS, DEBUG, 120.0, None),
    Case::new("AES alone, release", AES_ALONE, RELEASE, 45.0, Some(15)),
    Case::new("AES alone, debug", AES_ALONE, DEBUG, 45.0, Some(15)),
    Case::new("the program, release", Package::Program, RELEASE, 240.0, None),
];

/// The most memory of one compiler process, in any build.
const BAR_MIB: u64 = 2048;

/// The cost of a build.
struct Cost {
    processor_s: f64,
    peak_kib: u64,
    crates: usize,
}

/// Runs all builds, and writes the table.
///
/// # Errors
/// If a build or a measurement fails.
pub(crate) fn run() -> Result<()> {
    pages::expect(PAGE, TASK)?;
    let folder = root().join(crate::target()).join("weight");
    let mut table =
        "| build | processor, s | at most | memory of a compiler, MiB | at most | crates | at most |\n\
                     |---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut record = "what,processor_s,memory_mib,crates\n".to_owned();
    for case in &CASES {
        let Case { what, bar_s, bar_crates, .. } = case;
        let bar_crates = bar_crates.map_or(String::new(), |most| most.to_string());
        let Cost { processor_s, peak_kib, crates } = case.cost(&folder)?;
        let mib = peak_kib >> 10;
        let row = format!(
            "| {what} | {processor_s:.0} | {bar_s:.0} | {mib} | {BAR_MIB} | {crates} | {bar_crates} |\n"
        );
        print!("{row}");
        table.push_str(&row);
        record.push_str(&format!("\"{what}\",{processor_s:.1},{mib},{crates}\n"));
    }
    let (machine, compiler, day) = (machine()?, rustc("release")?, day()?);
    table.push_str(&format!("\n{machine}, rustc {compiler}, {day}, by `cargo xtask weight`.\n"));
    keep(&machine, &day, &record)?;
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    pages::put(PAGE, TASK, &table)
}

/// Writes the figures to the folder of the machine's records.
fn keep(machine: &str, day: &str, record: &str) -> Result<()> {
    let folder = root().join("bench/record").join(slug(machine));
    let file = folder.join(format!("{day}-weight.csv"));
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, record));
    written.map_err(|error| format!("{}: {error}", file.display()))
}

impl Case {
    const fn new(
        what: &'static str,
        package: Package,
        profile: &'static str,
        bar_s: f64,
        bar_crates: Option<usize>,
    ) -> Self {
        Self { what, package, profile, bar_s, bar_crates }
    }

    /// Builds from scratch.
    fn cost(&self, folder: &Path) -> Result<Cost> {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let manifest = match self.package {
            Package::Dependent(features) => dependent(folder, features)?,
            Package::Program => root().join("crates/crossgrain-cli/Cargo.toml"),
        };
        let mut build = cargo();
        build.args(["build", "--quiet", self.profile, "--manifest-path"]).arg(&manifest);
        build.arg("--target-dir").arg(folder.join("target")).env_remove("RUSTFLAGS").stdin(Stdio::null());
        let before_s = children_s()?;
        let mut child = build.spawn().map_err(|error| format!("cannot run cargo: {error}"))?;
        let mut peak_kib = 0;
        let status = loop {
            peak_kib = peak_kib.max(compilers_kib());
            match child.try_wait().map_err(|error| format!("cannot wait for cargo: {error}"))? {
                Some(status) => break status,
                None => thread::sleep(Duration::from_millis(50)),
            }
        };
        if !status.success() {
            return Err(format!("cargo failed ({status})"));
        }
        let mut tree = cargo();
        tree.args(["tree", "--edges", "normal", "--prefix", "none", "--manifest-path"]).arg(&manifest);
        let tree = said(&mut tree)?;
        let mut crates: Vec<_> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
        crates.sort_unstable();
        crates.dedup();
        // The root package is the user's and is not counted.
        Ok(Cost { processor_s: children_s()? - before_s, peak_kib, crates: crates.len() - 1 })
    }
}

/// Creates a crate that depends on the library. Returns its manifest.
fn dependent(folder: &Path, features: &str) -> Result<std::path::PathBuf> {
    let library = root().join("crates/crossgrain");
    let manifest = format!(
        "[package]\nname = \"dependent\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         crossgrain = {{ path = {:?}{features} }}\n\n[workspace]\n",
        library.display().to_string()
    );
    let source = "fn main() {\n    println!(\"{}\", crossgrain::Features::of_cpu());\n}\n";
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}"))
    };
    fs::create_dir_all(folder.join("src")).map_err(|error| format!("{}: {error}", folder.display()))?;
    write("Cargo.toml", &manifest)?;
    write("src/main.rs", source)?;
    Ok(folder.join("Cargo.toml"))
}

/// Processor seconds of all child processes that have ended, and of their children.
fn children_s() -> Result<f64> {
    /// Linux uses this unit on every architecture.
    const TICKS_A_SECOND: f64 = 100.0;
    let text = fs::read_to_string("/proc/self/stat").map_err(|error| format!("/proc/self/stat: {error}"))?;
    // The process name, in parentheses, may contain blanks.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: Vec<f64> = fields.skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    Ok(ticks.iter().sum::<f64>() / TICKS_A_SECOND)
}

/// The peak memory of the compiler processes that run now.
fn compilers_kib() -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let peak = |status: String| {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        (field("Name:") == Some("rustc"))
            .then(|| field("VmHWM:")?.strip_suffix(" kB")?.parse::<u64>().ok())?
    };
    let peaks = processes.filter_map(|process| peak(fs::read_to_string(process.path().join("status")).ok()?));
    peaks.max().unwrap_or(0)
}

fn machine() -> Result<String> {
    let info = fs::read_to_string("/proc/cpuinfo").map_err(|error| format!("/proc/cpuinfo: {error}"))?;
    let field = |name: &str| {
        let line = info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim()).to_owned()
    };
    Ok(format!("{} (family {}, model {})", field("model name"), field("cpu family"), field("model")))
}

fn said(command: &mut Command) -> Result<String> {
    let done =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("cannot run it: {error}"))?;
    if !done.status.success() {
        return Err(format!("{command:?} failed ({})", done.status));
    }
    String::from_utf8(done.stdout).map_err(|_| "what was said is no text".to_owned())
}
