//! Runs the program under test, in a temporary directory and with test data.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A mebibyte, also the program's chunk size.
pub(crate) const MIB: usize = 1 << 20;

/// An ordinary counter block.
pub(crate) const IV: &str = "000102030405060708090a0b0c0d0e0f";

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: output.stdout,
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Done {
    /// The output of a run that succeeded with nothing on standard error.
    #[track_caller]
    pub(crate) fn printed(self) -> Vec<u8> {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""));
        self.out
    }

    /// The single line on standard error of a run that failed with this code.
    #[track_caller]
    pub(crate) fn refused(self, code: i32) -> String {
        let Self { code: got, err, .. } = self;
        assert_eq!(got, Some(code), "{err}");
        let line = err.strip_suffix('\n').unwrap_or_else(|| panic!("no whole line: {err:?}"));
        assert!(!line.contains(char::is_control), "more than a line: {err:?}");
        let told = line.strip_prefix("crossgrain: ").unwrap_or_else(|| panic!("whose line is it? {line:?}"));
        assert!(!told.trim().is_empty(), "it tells nothing");
        told.to_owned()
    }
}

/// A temporary directory in which the program runs.
#[derive(Debug)]
pub(crate) struct Place(TempDir);

/// The contents of a directory: names, with the contents of files.
pub(crate) type Sight = BTreeMap<OsString, Option<Vec<u8>>>;

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A place with a file `in` that holds `data`.
    pub(crate) fn with(data: &[u8]) -> Self {
        let place = Self::new();
        place.write("in", data);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, data: &[u8]) {
        fs::write(self.path(name), data).unwrap();
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn look(&self) -> Sight {
        let content = |path: PathBuf| path.is_file().then(|| fs::read(path).ok()).flatten();
        let entries = fs::read_dir(self.0.path()).unwrap().map(Result::unwrap);
        entries.map(|entry| (entry.file_name(), content(entry.path()))).collect()
    }

    /// The program as a command in this directory.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = crossgrain(args);
        command.current_dir(self.0.path());
        command
    }

    /// Runs the program here, with empty standard input.
    pub(crate) fn run(&self, args: &[&str]) -> Done {
        self.command(args).output().unwrap().into()
    }

    /// Runs the program here. It must fail with this code and change nothing. Gives its line.
    #[track_caller]
    pub(crate) fn refuses(&self, code: i32, args: &[&str]) -> String {
        let before = self.look();
        let line = self.run(args).refused(code);
        assert_eq!(self.look(), before, "it left something behind: {args:?}");
        line
    }
}

/// The program, independent of the caller's environment, with empty standard input.
pub(crate) fn crossgrain(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossgrain"));
    command.args(args).env_remove("CROSSGRAIN_ISA").stdin(Stdio::null());
    command.env("CROSSGRAIN_WISDOM", "no-wisdom-here.json");
    // Without a window system, drivers of GPUs complain on standard error unless the program keeps them quiet.
    command.env_remove("XDG_RUNTIME_DIR");
    command
}

/// The same program with default signal dispositions. Tests may run in the background of a shell, which
/// ignores interrupts. The caller sets standard input.
#[cfg(target_os = "linux")]
pub(crate) fn by_default_signals(command: &Command) -> Command {
    let mut new = Command::new("env");
    new.arg("--default-signal").arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        new.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => new.env(name, value),
            None => new.env_remove(name),
        };
    }
    new
}

/// The program with output files that have names from the start: without /proc, an unnamed file cannot be
/// given a name. `None`, with a printed skip, if mounting is not permitted.
pub(crate) fn without_unnamed_files(place: &Place, args: &[&str]) -> Option<Command> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", r#"mount -t tmpfs none /proc && exec "$0" "$@""#]);
    let can = Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "none", "/proc"]).output();
    if !can.is_ok_and(|done| done.status.success()) {
        println!("skipped: files with names from the beginning (/proc cannot be hidden here)");
        return None;
    }
    command.arg(env!("CARGO_BIN_EXE_crossgrain")).args(args).current_dir(place.path("."));
    command.stdin(Stdio::null());
    Some(command)
}

/// Waits until a program has written this number of bytes, to any file.
#[cfg(target_os = "linux")]
#[track_caller]
pub(crate) fn until_written(child: &Child, len_bytes: u64) {
    let give_up = Instant::now() + Duration::from_secs(60);
    let written = || {
        let told = fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap();
        let count = told.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse::<u64>().ok());
        count.unwrap() >= len_bytes
    };
    while !written() {
        assert!(Instant::now() < give_up, "nothing is written");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Runs a command with `input` on its standard input.
pub(crate) fn fed(mut command: Command, input: &[u8]) -> Done {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    thread::scope(|scope| {
        // A program that ends early reports this by its exit code.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap().into()
    })
}

/// Pseudo-random bytes, the same for the same seed.
pub(crate) fn painted(len_bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes: Vec<u8> = Vec::with_capacity(len_bytes + 8);
    while bytes.len() < len_bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(len_bytes);
    bytes
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A key for one of [`CIPHERS`], in hex.
pub(crate) fn key(bits: usize) -> String {
    hex(&painted(bits / 8, bits as u64))
}

/// The key sizes of AES in bits.
pub(crate) const KEY_BITS: [usize; 3] = [128, 192, 256];

/// The result of `openssl enc` on the file `in`; `None`, with a printed skip, if openssl is not installed.
#[track_caller]
pub(crate) fn openssl(place: &Place, cipher: &str, key: &str, iv: Option<&str>) -> Option<Vec<u8>> {
    openssl_with(place, cipher, key, iv, &["-nopad"])
}

/// The same with these options instead of `-nopad`, which turns padding off.
#[track_caller]
pub(crate) fn openssl_with(
    place: &Place,
    cipher: &str,
    key: &str,
    iv: Option<&str>,
    options: &[&str],
) -> Option<Vec<u8>> {
    let mut command = Command::new("openssl");
    command.args(["enc", &format!("-{cipher}")]).args(options).arg("-in").arg(place.path("in"));
    command.args(["-K", key]).args(iv.map(|iv| ["-iv", iv]).into_iter().flatten()).stdin(Stdio::null());
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(output.stdout)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("skipped: openssl (not installed)");
            None
        }
        Err(error) => panic!("openssl: {error}"),
    }
}

/// A gzip file of one stored block.
pub(crate) fn gzip(data: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for byte in data {
        crc ^= u32::from(*byte);
        (0..8).for_each(|_| crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()));
    }
    let len = data.len() as u16;
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    let lengths = [len.to_le_bytes(), (!len).to_le_bytes()].concat();
    let trailer = [(!crc).to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
    [&header[..], &lengths, data, &trailer].concat()
}
