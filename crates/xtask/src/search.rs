//! `cargo xtask bench search`: compares key search with hashcat, in turns, on all cores.
//!
//! hashcat tries keys as masks (its modes 26401 and 26403: AES-ECB with keys of 128 and 256 bits), and derives
//! keys from words by PBKDF2 (12000, 10900 and 12100: with SHA-1, SHA-256 and SHA-512, 999 iterations). First,
//! both programs must find a planted key. Then hashcat runs its benchmark with its preferred settings, and
//! crossgrain searches a mask without a hit. The fastest turn of each counts. [`formats`] compares the search
//! for the passphrases of files.

mod formats;

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Result, cargo, root, succeed, target};

/// The number of turns of each program.
const TURNS: usize = 3;

/// Candidates in one turn of crossgrain: some seconds.
const CANDIDATES: &str = "4000000000";

/// The target ratio, with AVX-512 and VAES or GFNI.
const AIM: f64 = 15.0;

/// The plaintext of all searches.
const PLAIN: &str = "00112233445566778899aabbccddeeff";

/// A search for both programs: a cipher, and a key whose last two characters are unknown.
struct Job {
    cipher: &'static str,
    /// The number of the mode in hashcat.
    mode: &'static str,
    /// The output of `openssl enc -aes-…-ecb -nopad` for the plaintext under the key.
    crypt: &'static str,
    /// The key without its last two characters.
    key: &'static str,
}

const JOBS: [Job; 2] = [
    Job {
        cipher: "aes-128",
        mode: "26401",
        crypt: "497289d13b003ef6ccc191ce53ffab56",
        key: "sixteen bytes ",
    },
    Job {
        cipher: "aes-256",
        mode: "26403",
        crypt: "bcfea0ed5d85c9789f573d3fd78ff6c1",
        key: "a key of thirty-two characters",
    },
];

/// A derivation: its name here, its mode in hashcat, and the target ratio.
const DERIVATIONS: [(&str, &str, f64); 3] =
    [("pbkdf2-sha1", "12000", 1.0), ("pbkdf2-sha256", "10900", 1.0), ("pbkdf2-sha512", "12100", 1.0)];

/// Iterations in hashcat's benchmark of these modes, and candidates in one turn of crossgrain.
const ITERATIONS: &str = "999";
const DERIVED_CANDIDATES: &str = "400000";

/// The two unknown characters.
const LOST: &str = "42";

/// Times both programs: everything, or only `formats`, some of which a filter may choose.
///
/// # Errors
/// If a program cannot be run, or does not find the planted key.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    succeed(cargo().args(["build", "--release", "--quiet", "--package", "crossgrain-cli"]))?;
    match arguments {
        [] => keys().and_then(|()| formats::run(&[])),
        [first, filters @ ..] if first == "formats" => formats::run(filters),
        _ => Err("cargo xtask bench search [formats [FILTER]...]".into()),
    }
}

/// Times searches for keys, given as masks or derived from words.
fn keys() -> Result<()> {
    if !Command::new("hashcat")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|done| done.success())
    {
        println!("skipped: hashcat (not installed)");
        return Ok(());
    }
    for job in JOBS {
        job.check()?;
        let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
        for _ in 0..TURNS {
            theirs = theirs.max(job.theirs()?);
            ours = ours.max(job.ours()?);
        }
        tell(&format!("{} mask search", job.cipher), [ours, theirs], "hashcat", AIM);
    }
    for (kdf, mode, aim) in DERIVATIONS {
        let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
        for _ in 0..TURNS {
            theirs = theirs.max(benchmark(mode)?);
            ours = ours.max(derived(kdf)?);
        }
        tell(&format!("{kdf}, {ITERATIONS} iterations"), [ours, theirs], "hashcat", aim);
    }
    Ok(())
}

/// Prints the speeds of crossgrain and a peer, and their ratio.
fn tell(what: &str, [ours, theirs]: [f64; 2], peer: &str, aim: f64) {
    let ratio = ours / theirs;
    let verdict = if ratio >= aim { "" } else { "  BELOW" };
    println!("{what}: {ours:.3e} keys/s, {peer} {theirs:.3e}");
    println!("ratio {ratio:>7.2}  (aim {aim:>5.2})  {what} / {peer}{verdict}");
}

/// Keys per second of crossgrain, for words whose keys are derived.
fn derived(kdf: &str) -> Result<f64> {
    let mut search = searcher("aes-128", JOBS[0].crypt, "password?l?l?l?l?l");
    speed(search.args([
        "--kdf",
        kdf,
        "--salt",
        "73616c74",
        "--iterations",
        ITERATIONS,
        "--limit",
        DERIVED_CANDIDATES,
    ]))
}

/// Keys per second in hashcat's benchmark.
fn benchmark(mode: &str) -> Result<f64> {
    let told = output(hashcat().args(["--benchmark", "--machine-readable", "--quiet", "-m", mode]))?;
    // Device, mode, two clocks, milliseconds, keys per second.
    let line = told.lines().find(|line| line.split(':').nth(1) == Some(mode));
    let speed = line.and_then(|line| line.rsplit(':').next()?.parse().ok());
    speed.ok_or_else(|| format!("hashcat does not tell its speed: {told}"))
}

/// Keys per second of a search.
fn speed(search: &mut Command) -> Result<f64> {
    search.arg("--json").stdout(Stdio::null()).stderr(Stdio::piped());
    let done = search.output().map_err(|error| format!("cannot search: {error}"))?;
    let told = String::from_utf8_lossy(&done.stderr);
    let last = told.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let speed = last.and_then(|last| last["keys_per_s"].as_f64());
    speed.ok_or_else(|| format!("crossgrain does not tell its speed: {told}"))
}

fn program() -> Command {
    Command::new(root().join(target()).join("release/crossgrain"))
}

/// crossgrain, searching a mask.
fn searcher(cipher: &str, crypt: &str, mask: &str) -> Command {
    let mut search = program();
    search.args(["search", "--cipher", cipher, "--plain", PLAIN, "--crypt", crypt, "--mask", mask]);
    search
}

impl Job {
    /// Checks that both programs find the key.
    fn check(&self) -> Result<()> {
        let Self { mode, crypt, key, .. } = self;
        let (line, mask) = (format!("{crypt}:{PLAIN}"), format!("{key}?d?d"));
        let theirs =
            output(hashcat().args(["-m", mode, "-a", "3", "--potfile-disable", "--quiet", &line, &mask]))?;
        let ours = output(self.crossgrain(&mask).arg("--json"))?;
        let hex: String = format!("{key}{LOST}").bytes().map(|byte| format!("{byte:02x}")).collect();
        if !theirs.contains(&format!("{key}{LOST}")) || !ours.contains(&hex) {
            return Err(format!("{}: the key that was planted was not found", self.cipher));
        }
        Ok(())
    }

    /// Keys per second in hashcat's benchmark.
    fn theirs(&self) -> Result<f64> {
        benchmark(self.mode)
    }

    /// Keys per second of crossgrain, for a mask without a hit.
    fn ours(&self) -> Result<f64> {
        let mut search = self.crossgrain(&format!("{}?b?b?b?b?b", &self.key[..self.key.len() - 3]));
        speed(search.args(["--limit", CANDIDATES]))
    }

    fn crossgrain(&self, mask: &str) -> Command {
        searcher(self.cipher, self.crypt, mask)
    }
}

/// hashcat, set up to leave no files.
fn hashcat() -> Command {
    let mut hashcat = Command::new("hashcat");
    hashcat.args(["--logfile-disable", "--restore-disable"]);
    hashcat
}

/// The standard output of a program, whatever its exit status.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let done =
        command.stderr(Stdio::null()).output().map_err(|error| format!("cannot run {program}: {error}"))?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
