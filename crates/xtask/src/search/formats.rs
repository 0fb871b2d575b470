//! The speed of passphrase search for each file format, next to a program of Debian that reads it, too.
//!
//! A tool makes the file. Both programs then try the same words, of which the last is the passphrase, and both
//! must find it. Each program's own figure counts, which leaves out its start. For VeraCrypt and TrueCrypt, the
//! files are published headers.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{hashcat, program, speed, tell};
use crate::{Result, root};

/// The passphrase of the files made here.
const PASSPHRASE: &str = "Tr0ub4dor&3";

/// Headers of volumes, and their passphrase.
const HEADERS: &str = "crates/crossgrain-search/tests/veracrypt.txt";
const PUBLISHED: &str = "hashcat";

/// The target ratio, for derivations that run on lanes here.
const AIM: f64 = 1.0;

/// A file and how to search for its passphrase.
struct Case {
    what: String,
    file: File,
    /// Further arguments of `crossgrain search --file out`.
    args: Vec<&'static str>,
    words: usize,
    peer: Peer,
}

enum File {
    /// A tool, and a line of the shell that makes `out` from `in`. The passphrase is in `pass` and in `$P`.
    Made(&'static str, String),
    /// The first words of a line in [`HEADERS`].
    Published(&'static str),
}

/// A program that also searches for the passphrase of such a file.
#[derive(Clone, Copy)]
enum Peer {
    /// hashcat, with the number of the mode.
    Hashcat(&'static str),
    /// A program for one format: `bruteforce-luks` or `bruteforce-salted-openssl`, and its arguments.
    Single(&'static str, &'static [&'static str]),
    Absent,
}

impl Peer {
    fn name(self) -> &'static str {
        match self {
            Self::Hashcat(_) => "hashcat",
            Self::Single(name, _) => name,
            Self::Absent => "no program of Debian 12",
        }
    }
}

fn cases() -> Vec<Case> {
    let made = |what: &str, tool, line: &str, args: &[&'static str], words, peer| Case {
        what: what.to_owned(),
        file: File::Made(tool, line.to_owned()),
        args: args.to_vec(),
        words,
        peer,
    };
    let luks = |what: &str, options: &str, words, peer| {
        let line =
            format!("truncate -s 20M out; cryptsetup luksFormat --batch-mode --key-file pass {options} out");
        made(what, "cryptsetup", &line, &[], words, peer)
    };
    // hashcat's modes try one hash, and ciphers with keys of 512 bits.
    let volume = |what: &str, line, [format, hash]: [&'static str; 2], words, mode| Case {
        what: what.to_owned(),
        file: File::Published(line),
        args: vec!["--format", format, "--hash", hash, "--cipher", "aes-256"],
        words,
        peer: Peer::Hashcat(mode),
    };
    let enc = "openssl enc -aes-256-cbc -k \"$P\" -in in -out out";
    let of_openssl = Peer::Single("bruteforce-salted-openssl", &["-1", "-d", "sha256"]);
    let of_luks = Peer::Single("bruteforce-luks", &[]);
    let mut cases = vec![
        made(
            "openssl enc -md sha256",
            "openssl",
            &format!("{enc} -md sha256"),
            &["--md", "sha256"],
            8_000_000,
            of_openssl,
        ),
        made(
            "openssl enc -pbkdf2 (SHA-256, 10,000)",
            "openssl",
            &format!("{enc} -pbkdf2"),
            &["--pbkdf2"],
            100_000,
            Peer::Absent,
        ),
    ];
    for hash in ["sha1", "sha256", "sha512"] {
        let options = format!("--type luks1 --hash {hash} --pbkdf-force-iterations 100000");
        cases.push(luks(&format!("LUKS1, {hash}, 100,000"), &options, 1_500, Peer::Hashcat("14600")));
    }
    cases.push(luks(
        "LUKS2, PBKDF2 with SHA-256, 100,000",
        "--type luks2 --pbkdf pbkdf2 --hash sha256 --pbkdf-force-iterations 100000",
        1_500,
        of_luks,
    ));
    cases.push(luks(
        "LUKS2, Argon2id, 64 MiB, 4 passes, 2 lanes",
        "--type luks2 --pbkdf argon2id --pbkdf-memory 65536 --pbkdf-force-iterations 4 --pbkdf-parallel 2",
        100,
        of_luks,
    ));
    cases.extend([
        made(
            "zip, AES-256 (PBKDF2 with SHA-1, 1,000)",
            "7z",
            "7z a -tzip -mem=AES256 -p\"$P\" out.zip in; mv out.zip out",
            &[],
            800_000,
            Peer::Hashcat("13600"),
        ),
        made(
            "age (scrypt, 2^18)",
            "age",
            "(for i in 1 2; do sleep 1; echo \"$P\"; done) | script -qec 'age -p -o out in' /dev/null",
            &[],
            12,
            Peer::Absent,
        ),
        volume(
            "TrueCrypt, SHA-512, 1,000",
            "truecrypt sha512 outer",
            ["truecrypt", "sha512"],
            150_000,
            "6221",
        ),
        volume(
            "VeraCrypt, SHA-256, 500,000",
            "veracrypt sha256 outer",
            ["veracrypt", "sha256"],
            400,
            "13751",
        ),
        made(
            "crossgrain (Argon2id, its default)",
            "sh",
            "$X encrypt --passphrase-file pass in -o out",
            &[],
            40,
            Peer::Absent,
        ),
    ]);
    cases
}

/// Times both programs for every format whose name contains one of these texts, or for all formats without texts.
///
/// # Errors
/// If a file cannot be made, or a program does not find its passphrase.
pub(super) fn run(filters: &[String]) -> Result<()> {
    let place = Place::new()?;
    let passes = |case: &Case| filters.is_empty() || filters.iter().any(|text| case.what.contains(text));
    for case in cases().into_iter().filter(passes) {
        place.clear()?;
        match case.made(&place)? {
            true => case.compare(&place)?,
            false => println!("skipped: {} (the tool that makes the file is not installed)", case.what),
        }
    }
    Ok(())
}

impl Case {
    /// Makes the file and its list of words. `false` if the tool is missing.
    fn made(&self, place: &Place) -> Result<bool> {
        let passphrase = match &self.file {
            File::Made(tool, line) => {
                if !place.has(tool) {
                    return Ok(false);
                }
                place.shell(line)?;
                PASSPHRASE
            }
            File::Published(start) => {
                place.write("out", &published(start)?)?;
                PUBLISHED
            }
        };
        let words = (1..self.words).map(|number| format!("wrong{number:07}\n")).collect::<String>();
        place.write("words", format!("{words}{passphrase}\n").as_bytes())?;
        Ok(true)
    }

    /// Runs both programs.
    fn compare(&self, place: &Place) -> Result<()> {
        let mut search = program();
        search.args(["search", "--file", "out", "--words", "words"]).args(&self.args);
        let ours = speed(search.current_dir(&place.0))?;
        match self.theirs(place)? {
            Some(theirs) => tell(&self.what, [ours, theirs], self.peer.name(), AIM),
            None => println!("{}: {ours:.3e} passphrases/s; {} to compare with", self.what, self.peer.name()),
        }
        Ok(())
    }

    /// Passphrases per second of the peer.
    fn theirs(&self, place: &Place) -> Result<Option<f64>> {
        let name = self.peer.name();
        if !matches!(self.peer, Peer::Absent) && !place.has(name) {
            println!("skipped: {name} (not installed)");
            return Ok(None);
        }
        let (told, mark) = match self.peer {
            Peer::Absent => return Ok(None),
            Peer::Hashcat(mode) => {
                let target = if mode == "13600" { place.zip_as_text()? } else { "out".to_owned() };
                let mut hashcat = hashcat();
                hashcat.args(["--potfile-disable", "-m", mode, "-a", "0", &target, "words"]);
                (place.told(&mut hashcat)?, "Speed.#1")
            }
            Peer::Single(name, args) => {
                let threads = std::thread::available_parallelism().map_or(1, usize::from).to_string();
                let mut single = Command::new(name);
                single.args(args).args(["-t", &threads, "-v", "3600", "-f", "words", "out"]);
                (place.told(&mut single)?, "per second")
            }
        };
        speed_in(&told, mark).map(Some).ok_or_else(|| format!("{name} does not tell its speed: {told}"))
    }
}

/// The number in the last line with this mark. hashcat adds a letter for thousands.
fn speed_in(told: &str, mark: &str) -> Option<f64> {
    let line = told.lines().rev().find(|line| line.contains(mark))?;
    let mut words = line.split_once(':')?.1.split_whitespace();
    let number: f64 = words.next()?.parse().ok()?;
    Some(number * if words.next() == Some("kH/s") { 1000.0 } else { 1.0 })
}

/// A published header.
fn published(start: &str) -> Result<Vec<u8>> {
    let headers = fs::read_to_string(root().join(HEADERS)).map_err(|error| format!("{HEADERS}: {error}"))?;
    let line = headers.lines().find(|line| line.starts_with(start));
    let digits = line.and_then(|line| line.rsplit(' ').next()).ok_or("no such header")?;
    let byte = |at| digits.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    (0..digits.len()).step_by(2).map(byte).collect::<Option<_>>().ok_or_else(|| "not hex".to_owned())
}

/// A folder for the files, deleted at the end.
struct Place(PathBuf);

impl Place {
    fn new() -> Result<Self> {
        let place = Self(std::env::temp_dir().join(format!("crossgrain-formats-{}", std::process::id())));
        place.clear()?;
        Ok(place)
    }

    /// Leaves only a text and the passphrase.
    fn clear(&self) -> Result<()> {
        let _ = fs::remove_dir_all(&self.0);
        fs::create_dir(&self.0).map_err(|error| format!("{}: {error}", self.0.display()))?;
        self.write("in", b"Meet me at noon by the old oak, and bring the map.\n")?;
        self.write("pass", PASSPHRASE.as_bytes())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        fs::write(self.0.join(name), bytes).map_err(|error| format!("{name}: {error}"))
    }

    /// Whether a program is installed.
    fn has(&self, tool: &str) -> bool {
        self.shell(&format!("command -v {tool}")).is_ok()
    }

    /// Runs a line of the shell here. Its tools may be those of an administrator.
    fn shell(&self, line: &str) -> Result<()> {
        let mut shell = Command::new("sh");
        shell.args(["-ec", line]).stdin(Stdio::null()).env("P", PASSPHRASE);
        shell.env("X", program().get_program());
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        let done = shell.current_dir(&self.0).output().map_err(|error| format!("sh: {error}"))?;
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
    }

    /// Runs a search, which must find the passphrase, and returns the printed text.
    fn told(&self, search: &mut Command) -> Result<String> {
        let done = search.current_dir(&self.0).stdin(Stdio::null()).output();
        let done = done.map_err(|error| format!("cannot search: {error}"))?;
        let told = [done.stdout, done.stderr].concat();
        let told = String::from_utf8_lossy(&told).into_owned();
        let found = told.contains(PASSPHRASE) || told.contains(&format!(":{PUBLISHED}\n"));
        if found { Ok(told) } else { Err(format!("the passphrase was not found: {told}")) }
    }

    /// The first entry of the archive as hashcat wants it.
    fn zip_as_text(&self) -> Result<String> {
        let zip = fs::read(self.0.join("out")).map_err(|error| format!("out: {error}"))?;
        let of = |at: usize| usize::from(u16::from_le_bytes([zip[at], zip[at + 1]]));
        let start = 30 + of(26) + of(28);
        let hex = |from: usize, len: usize| {
            zip[start + from..][..len].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        // The salt of AES-256, the verifier, the data, the tag.
        let data = of(18) - (16 + 2 + 10);
        let (salt, verifier, text, tag) = (hex(0, 16), hex(16, 2), hex(18, data), hex(18 + data, 10));
        Ok(format!("$zip2$*0*3*0*{salt}*{verifier}*{data:x}*{text}*{tag}*$/zip2$"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
