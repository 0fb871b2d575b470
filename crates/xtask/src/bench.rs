//! `cargo xtask bench`: times crossgrain, and compares it with other implementations.
//!
//! The comparison is a separate program (`bench/peers`). It is built twice because RustCrypto selects AES
//! instructions or software by a `cfg`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::chart::LOAD_MAX;
use crate::others::Begun;
use crate::{Result, cargo, day, newest, root, rustc, succeed, target};

/// Seconds left to wait for an idle machine. All benchmarks of a task share them, so that a task ends in time on a
/// machine that stays busy.
static IDLE_WAIT_S: AtomicU32 = AtomicU32::new(240);

/// Makes the `aes` crate use software even if the CPU has AES instructions.
const SOFTWARE_AES: &str = "--cfg aes_backend=\"soft\"";

/// Hides AES instructions and carry-less multiplication from OpenSSL.
const OPENSSL_WITHOUT_AES: &str = "env OPENSSL_ia32cap=~0x200000200000000";

/// Hides byte shuffles as well. OpenSSL then looks up tables.
const OPENSSL_BY_TABLES: &str = "env OPENSSL_ia32cap=~0x200020200000000";

/// ISA caps: without AES instructions, then also without GFNI and AVX-512, then 128-bit registers only, then
/// 64-bit words only.
const CAPS: [&str; 4] = ["avx512-aes", "avx2-aes-gfni", "sse2-aes-gfni", "portable"];

/// Libraries in C.
const LIBRARIES: [&str; 5] = ["openssl", "libgcrypt", "ipsec-mb", "nettle", "botan"];

/// Peers that need a download or a long build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum More {
    /// Libraries of Debian unstable in place of those installed
    Newest,
    /// aws-lc-rs and graviola, which take minutes to compile
    Crates,
}

/// The peers that are timed.
#[derive(Debug, clap::Args)]
pub(crate) struct Peers {
    /// More peers, or newer ones (give this flag before the arguments)
    #[arg(long = "peers", value_enum, value_name = "PEERS", value_delimiter = ',')]
    more: Vec<More>,
    /// Where Debian's packages come from; apt's own mirror unless given
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
}

impl Peers {
    fn has(&self, more: More) -> bool {
        self.more.contains(&more)
    }
}

/// Builds the program, and runs `crossgrain bench` with the given arguments.
///
/// # Errors
/// If a build, a download or a run fails, or the results cannot be written.
pub(crate) fn run(record: bool, peers: &Peers, arguments: &[String]) -> Result<()> {
    if !peers.more.is_empty() {
        return Err("--peers is for comparisons: cargo xtask bench --peers PEERS peers [FILTER]".into());
    }
    finish(bench("crossgrain-cli", &[])?.arg("bench").args(arguments), record, cpu_of, &[], "")
}

/// Builds every implementation, and compares them.
///
/// # Errors
/// As [`run`].
pub(crate) fn beside_peers(record: bool, peers: &Peers, arguments: &[String]) -> Result<()> {
    let newest = peers.has(More::Newest).then(|| newest::unpack(peers.mirror.as_deref())).transpose()?;
    build_peers_in_software()?;
    let crates = peers.has(More::Crates);
    let features: &[&str] = if crates { &["--features", "crates"] } else { &[] };
    let mut bench = bench("crossgrain-peers", features)?;
    bench.arg("bench");
    for worker in workers(newest.as_deref(), crates) {
        bench.args(["--worker", &worker]);
    }
    let which = if newest.is_some() { "newest" } else { "installed" };
    finish(bench.args(arguments), record, cpu_of, &[("libraries", which)], PEERS)
}

/// The JSON lines of `crossgrain bench` for the subjects whose ids contain one of these.
///
/// # Errors
/// As [`run`].
pub(crate) fn own_rows(filters: &[String]) -> Result<Vec<Value>> {
    rows(bench("crossgrain-cli", &[])?.arg("bench").args(filters))
}

/// The JSON lines of `crossgrain bench --planner` for the jobs whose ids contain one of these.
///
/// # Errors
/// As [`run`].
pub(crate) fn planner_rows(filters: &[String], policy: &str) -> Result<Vec<Value>> {
    let mut bench = bench("crossgrain-cli", &[])?;
    rows(bench.args(["bench", "--planner", "--policy", policy]).args(filters))
}

/// Builds the program, and returns its path.
///
/// # Errors
/// If the build fails.
pub(crate) fn own_program() -> Result<PathBuf> {
    bench("crossgrain-cli", &[]).map(|command| PathBuf::from(command.get_program()))
}

/// Builds the program of the peers, whose command `both-ways` reads, encrypts, decrypts and writes a file.
///
/// # Errors
/// If the build fails.
pub(crate) fn peers_program() -> Result<PathBuf> {
    bench("crossgrain-peers", &[]).map(|command| PathBuf::from(command.get_program()))
}

/// The JSON lines of a comparison with the installed peers, likewise.
///
/// # Errors
/// As [`run`].
pub(crate) fn peer_rows(filters: &[&str]) -> Result<Vec<Value>> {
    build_peers_in_software()?;
    let mut bench = bench("crossgrain-peers", &[])?;
    bench.arg("bench").args(filters);
    for worker in workers(None, false) {
        bench.args(["--worker", &worker]);
    }
    rows(&mut bench)
}

/// Waits for a few minutes until the load of the build has passed. If other work goes on, the record has the
/// load.
fn wait_until_idle() {
    let load = || {
        let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        text.split(' ').next().and_then(|load| load.parse::<f64>().ok()).unwrap_or(0.0)
    };
    let mut is_first = true;
    while load() > 0.75 * LOAD_MAX && IDLE_WAIT_S.load(Ordering::Relaxed) > 0 {
        if std::mem::take(&mut is_first) {
            eprintln!("waiting until the load of {} has passed", load());
        }
        IDLE_WAIT_S.fetch_sub(1, Ordering::Relaxed);
        thread::sleep(Duration::from_secs(1));
    }
}

/// The JSON lines of a benchmark, which starts on an idle machine.
fn rows(bench: &mut Command) -> Result<Vec<Value>> {
    wait_until_idle();
    let name = bench.get_program().display().to_string();
    let begun = Begun::now();
    let told = bench.arg("--json").stderr(Stdio::inherit()).output();
    let others = begun.cpus_of_others();
    let told = told.map_err(|error| format!("{name}: {error}"))?;
    if !told.status.success() {
        return Err(format!("{name}: {}", told.status));
    }
    let lines = String::from_utf8_lossy(&told.stdout).into_owned();
    let row = |line: &str| serde_json::from_str(line).map_err(|error| format!("{name}: {error}: {line}"));
    let mut rows: Vec<Value> = lines.lines().map(row).collect::<Result<_>>()?;
    if let (Some(head), Some(others)) = (rows.first_mut(), others) {
        head["cpus_of_others"] = others.into();
    }
    Ok(rows)
}

/// A program of the workspace, built for release, to be run in the root.
fn bench(package: &str, features: &[&str]) -> Result<Command> {
    succeed(cargo().args(["build", "--release", "-p", package]).args(features))?;
    let program = if package == "crossgrain-cli" { "crossgrain" } else { package };
    let mut bench = Command::new(root().join(target()).join("release").join(program));
    bench.current_dir(root());
    Ok(bench)
}

/// Builds the program, and evaluates the planner by `crossgrain bench --planner`.
///
/// # Errors
/// As [`run`].
pub(crate) fn judge_planner(record: bool, arguments: &[String]) -> Result<()> {
    let mut bench = bench("crossgrain-cli", &[])?;
    finish(bench.args(["bench", "--planner"]).args(arguments), record, cpu_of, &[], PLANNER)
}

/// Builds the program, and times GPU programs by `crossgrain bench gpu`.
///
/// # Errors
/// As [`run`].
pub(crate) fn gpu(record: bool, arguments: &[String]) -> Result<()> {
    let mut bench = bench("crossgrain-cli", &["--features", "gpu"])?;
    bench.args(["bench", "gpu", "--beside", "bench/hand_written.cu"]).args(arguments);
    finish(&mut bench, record, gpu_of, &[], GPU)
}

/// Endings of records' names: comparisons of implementations, the planner, GPUs.
pub(crate) const PEERS: &str = "-peers";
pub(crate) const PLANNER: &str = "-plan";
pub(crate) const GPU: &str = "-gpu";

/// Facts about a run that the program does not know, for the first line of the results.
type Facts<'a> = [(&'a str, &'a str)];

fn build_peers_in_software() -> Result<()> {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut build = cargo();
    build.args(["build", "--release", "-p", "crossgrain-peers", "--target-dir"]);
    build.arg(software_target()).env("RUSTFLAGS", format!("{flags} {SOFTWARE_AES}"));
    succeed(build.env_remove("CARGO_ENCODED_RUSTFLAGS")) // this variable would override RUSTFLAGS
}

/// The command line of each worker. They run in the root, so paths may be relative. `loader` runs libraries
/// with newer ones than the installed. The first workers are crossgrain, without and with ISA caps.
fn workers(loader: Option<&str>, crates: bool) -> Vec<String> {
    let program = |target: PathBuf| target.join("release/crossgrain-peers worker").display().to_string();
    let (peers, software) = (program(target()), program(software_target()));
    let loaded = loader.map_or_else(|| peers.clone(), |loader| format!("{loader} {peers}"));
    let mut workers = vec![format!("{peers} crossgrain")];
    workers.extend(CAPS.map(|cap| format!("env CROSSGRAIN_ISA={cap} {peers} crossgrain")));
    workers.extend(["rustcrypto", "ring", "hand-written"].map(|name| format!("{peers} {name}")));
    workers.push(format!("{software} rustcrypto"));
    workers.extend(LIBRARIES.map(|name| format!("{loaded} {name}")));
    workers.extend([OPENSSL_WITHOUT_AES, OPENSSL_BY_TABLES].map(|mask| format!("{mask} {loaded} openssl")));
    if crates {
        workers.extend(["aws-lc-rs", "graviola"].map(|name| format!("{peers} {name}")));
    }
    workers
}

fn software_target() -> PathBuf {
    target().join("peers-soft")
}

/// Runs a benchmark, and records it if requested.
fn finish(
    bench: &mut Command,
    record: bool,
    machine: impl Fn(&str) -> Result<String>,
    facts: &Facts<'_>,
    suffix: &str,
) -> Result<()> {
    if record { keep(bench, &root().join("bench/record"), machine, facts, suffix) } else { succeed(bench) }
}

/// Asks a benchmark for JSON lines, and writes each to a record under `records` as soon as it is printed. An
/// interrupted run thus keeps its rows.
fn keep(
    bench: &mut Command,
    records: &Path,
    machine: impl Fn(&str) -> Result<String>,
    facts: &Facts<'_>,
    suffix: &str,
) -> Result<()> {
    let rustc = rustc("release")?; // fails early, before a run of minutes
    let facts = [facts, &[("rustc", &rustc)]].concat();
    let name = bench.get_program().display().to_string();
    let failed = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    let mut child = bench.arg("--json").stdout(Stdio::piped()).spawn().map_err(|error| failed(&error))?;
    let mut lines = child.stdout.take().map(BufReader::new).ok_or_else(|| failed(&"no output"))?.lines();
    let head = lines.next().ok_or_else(|| failed(&"no output"))?.map_err(|error| failed(&error))?;
    let folder = records.join(machine(&head)?);
    let path = folder.join(format!("{}{suffix}.jsonl", day()?));
    let lost = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = fs::create_dir_all(&folder).and_then(|()| fs::File::create(&path)).map_err(lost)?;
    for line in std::iter::once(Ok(with_facts(&head, &facts)?)).chain(lines) {
        let line = line.map_err(|error| failed(&error))?;
        println!("{line}");
        writeln!(file, "{line}").map_err(lost)?;
    }
    let status = child.wait().map_err(|error| failed(&error))?;
    eprintln!("kept in {}", path.display());
    if status.success() { Ok(()) } else { Err(failed(&status)) }
}

/// Adds facts to the first line of the results.
fn with_facts(head: &str, facts: &Facts<'_>) -> Result<String> {
    let mut head: Value =
        serde_json::from_str(head).map_err(|error| format!("the results' first line: {error}"))?;
    for (name, fact) in facts {
        head[*name] = (*fact).into();
    }
    Ok(head.to_string())
}

/// The CPU's name from the first line, in the form of a folder name.
pub(crate) fn cpu_of(results: &str) -> Result<String> {
    let machine = first_text(results, "machine")?;
    Ok(slug(machine.rsplit_once(", ").map_or(machine.as_str(), |(name, _threads)| name)))
}

/// The GPU's name, likewise.
fn gpu_of(results: &str) -> Result<String> {
    first_text(results, "name").map(|name| slug(&name))
}

/// The text under a key in the first line of the results.
fn first_text(results: &str, key: &str) -> Result<String> {
    let head = results.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let text = head.and_then(|head| Some(head[key].as_str()?.to_owned()));
    text.ok_or_else(|| format!("the results' first line has no \"{key}\""))
}

/// Lower case, with one dash for each run of characters other than letters and digits.
pub(crate) fn slug(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{LIBRARIES, PEERS, cpu_of, gpu_of, keep, slug, with_facts, workers};

    #[test]
    fn facts_are_in_the_first_line() {
        let facts = [("rustc", "1.95.0")];
        let head = with_facts("{\"machine\":\"m\"}", &facts);
        assert_eq!(head.as_deref(), Ok("{\"machine\":\"m\",\"rustc\":\"1.95.0\"}"));
        assert!(with_facts("", &facts).is_err());
    }

    /// The benchmark dies after one row.
    #[cfg(unix)]
    #[test]
    fn an_interrupted_run_keeps_its_rows() {
        let records = std::env::temp_dir().join(format!("crossgrain-records-{}", std::process::id()));
        let mut bench = Command::new("sh");
        bench.args(["-c", r#"echo '{"machine":"M, 2 threads"}'; echo '{"id":"x"}'; kill -9 $$"#]);
        let kept = keep(&mut bench, &records, cpu_of, &[("libraries", "newest")], PEERS);
        let file = records.join("m").join(format!("{}{PEERS}.jsonl", crate::day().unwrap()));
        let text = std::fs::read_to_string(file).unwrap();
        std::fs::remove_dir_all(&records).unwrap();
        assert!(kept.is_err());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), lines[1]), (2, r#"{"id":"x"}"#));
        assert!(lines[0].contains(r#""libraries":"newest""#), "{}", lines[0]);
    }

    #[test]
    fn a_loader_runs_libraries_and_nothing_else() {
        let loaded = workers(Some("ld.so --library-path x"), true);
        let is_loaded = |command: &&String| command.contains("ld.so --library-path x");
        let is_library = |command: &&String| LIBRARIES.iter().any(|name| command.ends_with(name));
        assert_eq!(loaded.iter().filter(is_loaded).count(), LIBRARIES.len() + 2);
        assert!(loaded.iter().filter(is_loaded).all(|command| is_library(&command)), "{loaded:?}");
        assert!(!workers(None, false).iter().any(|command| is_loaded(&command)));
    }

    #[test]
    fn a_gpu_is_found_in_the_first_line() {
        let results = "{\"device\":\"cuda:0\",\"name\":\"NVIDIA H200\",\"bytes\":1}\n{\"name\":\"other\"}\n";
        assert_eq!(gpu_of(results).as_deref(), Ok("nvidia-h200"));
        assert!(gpu_of("").is_err());
    }

    #[test]
    fn a_cpu_is_told_without_its_threads() {
        let results = "{\"crossgrain\":\"0.1.0\",\"machine\":\"AMD EPYC (family 26, model 2), 2 threads\"}\n";
        assert_eq!(cpu_of(results).as_deref(), Ok("amd-epyc-family-26-model-2"));
    }

    #[test]
    fn a_slug_has_single_dashes_inside_only() {
        assert_eq!(slug(" Intel(R) Xeon(R) CPU @ 2.20GHz"), "intel-r-xeon-r-cpu-2-20ghz");
        assert_eq!(slug("AMD EPYC"), "amd-epyc");
    }
}
