//! `cargo xtask bench`: times crossgrain beside other implementations, in one run on one machine.
//!
//! The peers are a program of their own, so that nothing of them is in the library. It is built
//! twice, because RustCrypto's choice between AES instructions and software is made by a `cfg`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Result, cargo, day, newest, root, rustc, succeed, target};

/// Makes the `aes` crate use its software even where the CPU has AES instructions.
const SOFTWARE_AES: &str = "--cfg aes_backend=\"soft\"";

/// Hides the AES instructions and carry-less multiplication from OpenSSL, which then does without.
const OPENSSL_WITHOUT_AES: &str = "env OPENSSL_ia32cap=~0x200000200000000";

/// Peers beyond those that are built and found without further ado.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum More {
    /// libgcrypt, OpenSSL and ipsec-mb of Debian unstable in place of those installed
    Newest,
    /// aws-lc-rs and graviola, which take minutes to compile
    Crates,
}

/// Which peers are timed.
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

/// Builds all that is timed, and runs `crossgrain bench` with the given arguments.
///
/// # Errors
/// If something cannot be built, fetched or run, or the results cannot be kept.
pub(crate) fn run(record: bool, peers: &Peers, arguments: &[String]) -> Result<()> {
    let newest = peers.has(More::Newest).then(|| newest::unpack(peers.mirror.as_deref())).transpose()?;
    build_peers_in_software()?;
    let packages = ["-p", "crossgrain-cli", "-p", "crossgrain-peers"];
    let crates = peers.has(More::Crates);
    let features: &[&str] = if crates { &["--features", "crossgrain-peers/crates"] } else { &[] };
    succeed(cargo().args(["build", "--release"]).args(packages).args(features))?;

    let mut bench = Command::new(root().join(target()).join("release/crossgrain"));
    bench.current_dir(root()).arg("bench").args(arguments);
    for peer in commands(newest.as_deref(), crates) {
        bench.args(["--peer", &peer]);
    }
    let which = if newest.is_some() { "newest" } else { "installed" };
    finish(bench, record, &[("libraries", which)], "")
}

/// Builds the program, and judges the planner by `crossgrain bench --planner`.
///
/// # Errors
/// As [`run`].
pub(crate) fn judge_planner(record: bool, arguments: &[String]) -> Result<()> {
    succeed(cargo().args(["build", "--release", "-p", "crossgrain-cli"]))?;
    let mut bench = Command::new(root().join(target()).join("release/crossgrain"));
    bench.current_dir(root()).args(["bench", "--planner"]).args(arguments);
    finish(bench, record, &[], PLANNER)
}

/// Builds the program, and times a GPU's programs by `crossgrain bench gpu`.
///
/// # Errors
/// As [`run`].
pub(crate) fn gpu(record: bool, arguments: &[String]) -> Result<()> {
    succeed(cargo().args(["build", "--release", "-p", "crossgrain-cli", "--features", "gpu"]))?;
    let mut bench = Command::new(root().join(target()).join("release/crossgrain"));
    bench.current_dir(root()).args(["bench", "gpu", "--beside", "bench/hand_written.cu"]).args(arguments);
    if record { keep(bench.arg("--json"), gpu_of, &[], GPU) } else { succeed(&mut bench) }
}

/// What the name of the planner's record has behind the day.
pub(crate) const PLANNER: &str = "-plan";

/// The same of records of GPUs.
pub(crate) const GPU: &str = "-gpu";

/// What this task knows about a run and the program does not, for the first line of the results.
type Facts<'a> = [(&'a str, &'a str)];

/// Runs a benchmark, and keeps what it says if it is to be kept.
fn finish(mut bench: Command, record: bool, facts: &Facts<'_>, suffix: &str) -> Result<()> {
    if record { keep(bench.arg("--json"), cpu_of, facts, suffix) } else { succeed(&mut bench) }
}

fn build_peers_in_software() -> Result<()> {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut build = cargo();
    build.args(["build", "--release", "-p", "crossgrain-peers", "--target-dir"]);
    build.arg(software_target()).env("RUSTFLAGS", format!("{flags} {SOFTWARE_AES}"));
    succeed(build.env_remove("CARGO_ENCODED_RUSTFLAGS")) // it would silence the line above
}

/// The command line of each peer. They are run from the root, so that paths may stay short. `loader` runs the peers that are
/// libraries with newer ones than those installed.
fn commands(loader: Option<&str>, crates: bool) -> Vec<String> {
    let program = |target: PathBuf| target.join("release/crossgrain-peers").display().to_string();
    let (peers, software) = (program(target()), program(software_target()));
    let loaded = loader.map_or_else(|| peers.clone(), |loader| format!("{loader} {peers}"));
    let mut commands = vec![
        format!("{peers} rustcrypto"),
        format!("{software} rustcrypto"),
        format!("{loaded} openssl"),
        format!("{OPENSSL_WITHOUT_AES} {loaded} openssl"),
        format!("{loaded} libgcrypt"),
        format!("{loaded} ipsec-mb"),
        format!("{peers} botan"),
        format!("{peers} ring"),
        format!("{peers} hand-written"),
    ];
    if crates {
        commands.extend(["aws-lc-rs", "graviola"].map(|name| format!("{peers} {name}")));
    }
    commands
}

fn software_target() -> PathBuf {
    target().join("peers-soft")
}

/// Runs the benchmark, shows its JSON lines, and keeps them under the day and the machine, which they may tell.
fn keep(
    bench: &mut Command,
    machine: impl Fn(&str) -> Result<String>,
    facts: &Facts<'_>,
    suffix: &str,
) -> Result<()> {
    let rustc = rustc("release")?; // before minutes are spent
    let results = with_facts(&output(bench)?, &[facts, &[("rustc", &rustc)]].concat())?;
    print!("{results}");
    let folder = root().join("bench/record").join(machine(&results)?);
    let file = folder.join(format!("{}{suffix}.jsonl", day()?));
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, results));
    written.map_err(|error| format!("{}: {error}", file.display()))?;
    eprintln!("kept in {}", file.display());
    Ok(())
}

/// The results with more in their first line.
fn with_facts(results: &str, facts: &Facts<'_>) -> Result<String> {
    let (head, rows) = results.split_once('\n').unwrap_or((results, ""));
    let mut head: Value =
        serde_json::from_str(head).map_err(|error| format!("the results' first line: {error}"))?;
    for (name, fact) in facts {
        head[*name] = (*fact).into();
    }
    Ok(format!("{head}\n{rows}"))
}

/// What a command writes to standard output.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot run {program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program} failed ({})", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{program} wrote what is no text"))
}

/// The CPU's name, of which the first line tells, as the name of a folder.
fn cpu_of(results: &str) -> Result<String> {
    let machine = first_text(results, "machine")?;
    Ok(slug(machine.rsplit_once(", ").map_or(machine.as_str(), |(name, _threads)| name)))
}

/// The GPU's name, likewise.
fn gpu_of(results: &str) -> Result<String> {
    first_text(results, "name").map(|name| slug(&name))
}

/// What the first line of results has under a key.
fn first_text(results: &str, key: &str) -> Result<String> {
    let head = results.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let text = head.and_then(|head| Some(head[key].as_str()?.to_owned()));
    text.ok_or_else(|| format!("the results' first line has no \"{key}\""))
}

/// Lower case, and one dash for whatever is neither letter nor digit.
pub(crate) fn slug(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::{commands, cpu_of, gpu_of, slug, with_facts};

    #[test]
    fn facts_are_in_the_first_line() {
        let facts = [("rustc", "1.95.0")];
        let results = with_facts("{\"machine\":\"m\"}\n{\"id\":\"x\"}\n", &facts);
        assert_eq!(results.as_deref(), Ok("{\"machine\":\"m\",\"rustc\":\"1.95.0\"}\n{\"id\":\"x\"}\n"));
        assert!(with_facts("", &facts).is_err());
    }

    #[test]
    fn a_loader_runs_libraries_and_nothing_else() {
        let loaded = commands(Some("ld.so --library-path x"), true);
        let is_loaded = |command: &&String| command.contains("ld.so --library-path x");
        let libraries = ["openssl", "libgcrypt", "ipsec-mb"];
        let is_library = |command: &&String| libraries.iter().any(|name| command.ends_with(name));
        assert_eq!(loaded.iter().filter(is_loaded).count(), 4);
        assert!(loaded.iter().filter(is_loaded).all(|command| is_library(&command)), "{loaded:?}");
        assert!(!commands(None, false).iter().any(|command| is_loaded(&command)));
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
