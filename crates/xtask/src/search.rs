//! `cargo xtask bench search`: key search beside hashcat, in turns, on all cores.
//!
//! hashcat tries keys as masks (its modes 26401 and 26403, AES-ECB with a key of 128 and 256 bits). Before
//! anything is timed, both find a key that was planted. Then hashcat measures itself, in the way it likes best, and ours
//! searches a mask without a hit. The fastest of all turns stands for each.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Result, cargo, root, succeed, target};

/// How often each gets its turn.
const TURNS: usize = 3;

/// Candidates of one of our turns: some seconds.
const CANDIDATES: &str = "4000000000";

/// What the ratio should be, with AVX-512 and VAES or GFNI.
const AIM: f64 = 15.0;

/// The plaintext of all of them.
const PLAIN: &str = "00112233445566778899aabbccddeeff";

/// What both search: a cipher, and a key whose last two characters are lost.
struct Job {
    cipher: &'static str,
    /// hashcat's number for it.
    mode: &'static str,
    /// What `openssl enc -aes-…-ecb -nopad` makes of the plaintext under the key.
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

/// The two characters.
const LOST: &str = "42";

/// Times both.
///
/// # Errors
/// If something cannot be run, or does not find what was planted.
pub(crate) fn run() -> Result<()> {
    succeed(cargo().args(["build", "--release", "--quiet", "--package", "crossgrain-cli"]))?;
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
        let (cipher, ratio) = (job.cipher, ours / theirs);
        let verdict = if ratio >= AIM { "" } else { "  BELOW" };
        println!("{cipher}: {ours:.3e} keys/s, hashcat {theirs:.3e}");
        println!("ratio {ratio:>7.2}  (aim {AIM:>5.2})  {cipher} mask search / hashcat{verdict}");
    }
    Ok(())
}

impl Job {
    /// Both find the key.
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

    /// Keys a second of hashcat's own benchmark.
    fn theirs(&self) -> Result<f64> {
        let told = output(hashcat().args(["--benchmark", "--machine-readable", "--quiet", "-m", self.mode]))?;
        // Device, mode, two clocks, milliseconds, keys a second.
        let line = told.lines().find(|line| line.split(':').nth(1) == Some(self.mode));
        let speed = line.and_then(|line| line.rsplit(':').next()?.parse().ok());
        speed.ok_or_else(|| format!("hashcat does not tell its speed: {told}"))
    }

    /// Keys a second of ours, where no key fits.
    fn ours(&self) -> Result<f64> {
        let mut search = self.crossgrain(&format!("{}?b?b?b?b?b", &self.key[..self.key.len() - 3]));
        search.args(["--json", "--limit", CANDIDATES]).stdout(Stdio::null()).stderr(Stdio::piped());
        let done = search.output().map_err(|error| format!("cannot search: {error}"))?;
        let told = String::from_utf8_lossy(&done.stderr);
        let last = told.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
        let speed = last.and_then(|last| last["keys_per_s"].as_f64());
        speed.ok_or_else(|| format!("crossgrain does not tell its speed: {told}"))
    }

    fn crossgrain(&self, mask: &str) -> Command {
        let mut search = Command::new(root().join(target()).join("release/crossgrain"));
        search.args([
            "search",
            "--cipher",
            self.cipher,
            "--plain",
            PLAIN,
            "--crypt",
            self.crypt,
            "--mask",
            mask,
        ]);
        search
    }
}

/// hashcat without files that it leaves behind.
fn hashcat() -> Command {
    let mut hashcat = Command::new("hashcat");
    hashcat.args(["--logfile-disable", "--restore-disable"]);
    hashcat
}

/// What a program writes to standard output, however it ends.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let done =
        command.stderr(Stdio::null()).output().map_err(|error| format!("cannot run {program}: {error}"))?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
