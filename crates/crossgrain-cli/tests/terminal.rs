//! The program at a terminal. Passphrases are prompted for, compared and never shown, long work shows
//! progress, and binary data is not printed.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::Place;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

/// Longer than Argon2 takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with the program running in it, and the text shown so far.
struct Session {
    keyboard: File,
    program: Child,
    shown: Vec<u8>,
}

impl Session {
    /// Runs a shell line, in which `$0` is the program, at a new terminal; `None`, with a printed skip, if no
    /// terminal can be opened.
    fn start(place: &Place, line: &str) -> Option<Self> {
        let started = terminal().and_then(|(keyboard, screen)| {
            let stream = || screen.try_clone().map(Stdio::from);
            let program = Command::new("setsid")
                .args(["--ctty", "sh", "-c", line, env!("CARGO_BIN_EXE_crossgrain")])
                .current_dir(place.path("."))
                .env("CROSSGRAIN_WISDOM", "no-wisdom-here.json")
                .stdin(stream()?)
                .stdout(stream()?)
                .stderr(stream()?)
                .spawn()?;
            Ok(Self { keyboard, program, shown: Vec::new() })
        });
        started.map_err(|error| println!("skipped: the program at a terminal ({error})")).ok()
    }

    /// Reads the shown text until it ends with this prompt.
    #[track_caller]
    fn wait_for(&mut self, prompt: &str) {
        while !self.shown.ends_with(prompt.as_bytes()) {
            assert!(self.read_on(), "{prompt:?} does not come: {:?}", self.text());
        }
    }

    /// Reads some of the shown text; `false` at the end.
    #[track_caller]
    fn read_on(&mut self) -> bool {
        let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        let mut polled = [PollFd::new(&self.keyboard, PollFlags::IN)];
        assert_eq!(poll(&mut polled, Some(&patience)).unwrap(), 1, "nothing more comes: {:?}", self.text());
        let mut some = [0; 256];
        // Reading fails once the other end of the terminal is closed.
        let count = self.keyboard.read(&mut some).unwrap_or(0);
        self.shown.extend_from_slice(&some[..count]);
        count > 0
    }

    /// The text shown so far. A read may end within a character of a bar.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    fn is_showing_keys(&self) -> bool {
        tcgetattr(&self.keyboard).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    /// Types at a prompt, once the program has turned off echo.
    #[track_caller]
    fn type_at(&mut self, prompt: &str, keys: &str) {
        self.wait_for(prompt);
        let give_up = Instant::now() + PATIENCE;
        while self.is_showing_keys() {
            assert!(Instant::now() < give_up, "what is typed would be shown");
            thread::sleep(Duration::from_millis(1));
        }
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the program to end; gives its status and all text shown.
    #[track_caller]
    fn end(mut self) -> (ExitStatus, String) {
        while self.read_on() {}
        (self.program.wait().unwrap(), self.text())
    }
}

/// The two ends of a new terminal.
fn terminal() -> std::io::Result<(File, File)> {
    let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&keyboard)?;
    unlockpt(&keyboard)?;
    let name = ptsname(&keyboard, Vec::new())?;
    let screen = File::options().read(true).write(true).open(OsStr::from_bytes(name.to_bytes()))?;
    Ok((File::from(keyboard), screen))
}

const ENCRYPT: &str = r#"exec "$0" encrypt --kdf-memory 1 --kdf-passes 1 -o sealed in"#;
const FIRST: &str = "Passphrase: ";
const SECOND: &str = "The same again: ";

/// The data goes through standard input and output, while the passphrase is read from the terminal.
#[test]
fn a_new_passphrase_is_asked_for_twice_and_an_old_one_once() {
    let place = Place::with(b"data");
    let line = r#"exec "$0" encrypt --kdf-memory 1 --kdf-passes 1 <in >sealed"#;
    let Some(mut session) = Session::start(&place, line) else { return };
    session.type_at(FIRST, "correct horse\n");
    session.type_at(SECOND, "correct horse\n");
    let (status, shown) = session.end();
    assert!(status.success(), "{shown}");
    assert_eq!(shown.split_whitespace().collect::<Vec<_>>().join(" "), "Passphrase: The same again:");

    let mut session = Session::start(&place, r#"exec "$0" decrypt --passphrase - <sealed >out"#).unwrap();
    session.type_at(FIRST, "correct horse\n");
    let (status, shown) = session.end();
    assert!(status.success(), "{shown}");
    assert_eq!(shown.trim(), FIRST.trim());
    assert_eq!(place.read("out"), b"data");
}

#[test]
fn one_passphrase_serves_several_files() {
    let place = Place::with(b"data");
    place.write("b", b"more");
    let line = r#"exec "$0" encrypt --kdf-memory 1 --kdf-passes 1 in b"#;
    let Some(mut session) = Session::start(&place, line) else { return };
    session.type_at(FIRST, "correct horse\n");
    session.type_at(SECOND, "correct horse\n");
    let (status, shown) = session.end();
    assert!(status.success(), "{shown}");
    let mut session = Session::start(&place, r#"exec "$0" decrypt in.cg b.cg -C out"#).unwrap();
    session.type_at(FIRST, "correct horse\n");
    let (status, shown) = session.end();
    assert!(status.success(), "{shown}");
    assert_eq!(shown.trim(), FIRST.trim());
    assert_eq!((place.read("out/in"), place.read("out/b")), (b"data".to_vec(), b"more".to_vec()));
}

#[test]
fn passphrases_that_differ_or_are_wrong_are_refused() {
    let place = Place::with(b"data");
    let Some(mut session) = Session::start(&place, ENCRYPT) else { return };
    session.type_at(FIRST, "correct horse\n");
    session.type_at(SECOND, "correct hose\n");
    let (status, shown) = session.end();
    assert_eq!(status.code(), Some(2), "{shown}");
    assert!(shown.contains("crossgrain: the two passphrases differ: try again"), "{shown}");
    assert!(!shown.contains("correct"), "it was shown: {shown}");
    assert!(place.look().into_keys().eq(["in"]));

    let mut session = Session::start(&place, ENCRYPT).unwrap();
    session.type_at(FIRST, "right\n");
    session.type_at(SECOND, "right\n");
    assert!(session.end().0.success());
    let mut session = Session::start(&place, r#"exec "$0" decrypt -o out sealed"#).unwrap();
    session.type_at(FIRST, "left\n");
    let (status, shown) = session.end();
    assert_eq!(status.code(), Some(2), "{shown}");
    assert!(shown.contains("the key, passphrase or identity is wrong") && !shown.contains("left"), "{shown}");
    assert!(!place.path("out").exists());
}

/// Neither the unfinished file nor a terminal with echo turned off remains.
#[test]
fn a_signal_at_the_prompt_leaves_nothing_behind() {
    let place = Place::with(b"data");
    for output in ["-o sealed", "-o -"] {
        let line = format!(r#"exec "$0" encrypt --passphrase {output} in"#);
        let Some(mut session) = Session::start(&place, &line) else { return };
        session.type_at(FIRST, "half of it");
        let kill = format!("kill -TERM {}", session.program.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let keyboard = session.keyboard.try_clone().unwrap();
        let (status, shown) = session.end();
        assert_eq!(status.signal(), Some(15), "{shown}");
        assert!(tcgetattr(&keyboard).unwrap().local_modes.contains(LocalModes::ECHO));
        assert!(place.look().into_keys().eq(["in"]));
    }
}

#[test]
fn no_answer_leaves_nothing_behind() {
    let place = Place::with(b"data");
    for keys in ["\u{3}", "\u{4}", "\n"] {
        let Some(mut session) = Session::start(&place, ENCRYPT) else { return };
        session.type_at(FIRST, keys);
        let keyboard = session.keyboard.try_clone().unwrap();
        let (status, shown) = session.end();
        // Ctrl-C ends the program by its signal, unless the program has already ended.
        if status.signal() != Some(2) || keys != "\u{3}" {
            assert_eq!(status.code(), Some(2), "{shown}");
            assert!(shown.contains("crossgrain: "), "{shown}");
        }
        // The terminal must echo again.
        assert!(tcgetattr(&keyboard).unwrap().local_modes.contains(LocalModes::ECHO), "{keys:?}");
        assert!(place.look().into_keys().eq(["in"]), "{keys:?}");
    }
}

#[test]
fn long_work_shows_how_far_it_is_and_takes_that_away() {
    let place = Place::with(b"data");
    place.run(&["keygen", "-o", "k"]).printed();
    let line = r#"(cat in; sleep 1; head -c 3000000 /dev/zero) | "$0" encrypt --key-file k -o sealed"#;
    let Some(session) = Session::start(&place, line) else { return };
    let (status, shown) = session.end();
    assert!(status.success(), "{shown}");
    assert!(shown.contains("MiB") && shown.contains("/s"), "{shown:?}");
    let clear_line = "\u{1b}[2K";
    assert!(shown.trim_end().ends_with(clear_line), "{shown:?}");
}

#[test]
fn a_measurement_shows_the_time_left_and_takes_that_away() {
    let place = Place::new();
    let line = r#"exec "$0" wisdom measure --cipher aes-128 --budget-ms 1500"#;
    let Some(session) = Session::start(&place, line) else { return };
    let (status, shown) = session.end();
    assert!(status.success(), "{shown}");
    let (bar, rest) = shown.rsplit_once(" left").unwrap_or_else(|| panic!("{shown:?}"));
    assert!(bar.contains("aes-128 ") && rest.contains("\u{1b}[2K"), "{shown:?}");
    // The bar may be drawn once more after the line.
    assert!(shown.contains(" costs measured in "), "{shown:?}");
}

/// The sender of a file could control the terminal.
#[test]
fn decrypted_control_characters_are_not_for_a_terminal() {
    let place = Place::new();
    place.run(&["keygen", "-o", "k"]).printed();
    let decrypted = |data: &[u8], output: &str| {
        place.write("in", data);
        place.run(&["encrypt", "--key-file", "k", "--force", "in", "-o", "sealed"]).printed();
        let line = format!(r#"exec "$0" decrypt --key-file k sealed {output}"#);
        Session::start(&place, &line).map(Session::end)
    };
    let Some((status, shown)) = decrypted("grüße\tfür alle\n".as_bytes(), "") else { return };
    assert!(status.success() && shown.contains("für alle"), "{shown}");
    for data in [&b"\x1b]0;title\x07"[..], b"\x00", b"\x7f", "\u{9b}2J".as_bytes()] {
        let (status, shown) = decrypted(data, "").unwrap();
        assert!(status.code() == Some(1) && shown.contains("-o - to insist"), "{shown:?}");
        assert!(!shown.contains('\x1b') && !shown.contains('\u{9b}'), "{shown:?}");
        assert!(decrypted(data, "-o -").unwrap().0.success());
    }
}

#[test]
fn binary_data_is_not_for_a_terminal() {
    let place = Place::with(b"data");
    place.run(&["keygen", "-o", "k"]).printed();
    let key = "00".repeat(16);
    for command in [
        "encrypt --key-file k in",
        "random --seed 1 --bytes 10",
        &format!("raw --cipher aes-128 --mode ecb --key {key} in"),
    ] {
        let Some(session) = Session::start(&place, &format!(r#"exec "$0" {command}"#)) else { return };
        let (status, shown) = session.end();
        assert_eq!(status.code(), Some(2), "{command}: {shown}");
        assert!(shown.contains("-o -"), "{shown}");
        let Some(session) = Session::start(&place, &format!(r#"exec "$0" {command} | wc -c"#)) else {
            return;
        };
        assert!(session.end().0.success());
    }
}

/// A search that takes minutes.
const LONG: &str = r#"exec "$0" search --cipher aes-128 --plain 00112233445566778899aabbccddeeff --crypt 69c4e0d86a7b0430d8cdb78070b4c55a --kdf pbkdf2-sha512 --salt 00 --iterations 5000 --mask ?d?d?d?d?d?d?d --session s"#;

impl Session {
    /// Reads until this text was shown after the place `from`; gives the place after it.
    #[track_caller]
    fn wait_past(&mut self, from: usize, text: &str) -> usize {
        loop {
            let shown = self.text();
            if let Some(at) = shown.get(from..).and_then(|rest| rest.find(text)) {
                return from + at + text.len();
            }
            assert!(self.read_on(), "{text:?} does not come: {shown:?}");
        }
    }

    #[track_caller]
    fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let give_up = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < give_up, "{what}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.program.id())).unwrap();
        stat.rsplit(") ").next().unwrap().starts_with('T')
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.program.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }
}

/// A pause ends by `r`, and `q` ends the search. Its terminal is as it was.
#[test]
fn keys_control_a_search() {
    let place = Place::new();
    let Some(mut session) = Session::start(&place, LONG) else { return };
    let mut at = session.wait_past(0, "keys: s status, p pause, r resume, q quit");
    session.wait_until("keys are echoed", |session| !session.is_showing_keys());
    for (key, text) in [(b's', " of 10,000,000 ("), (b'p', ", paused"), (b'r', "/s, ")] {
        session.keyboard.write_all(&[key]).unwrap();
        at = session.wait_past(at, text);
    }
    session.keyboard.write_all(b"pq").unwrap();
    let keyboard = session.keyboard.try_clone().unwrap();
    let (status, shown) = session.end();
    assert_eq!(status.code(), Some(2), "{shown}");
    assert!(shown.contains("--restore"), "{shown}");
    assert!(tcgetattr(&keyboard).unwrap().local_modes.contains(LocalModes::ECHO | LocalModes::ICANON));
    let longest = shown
        .split(['\r', '\n', '\u{1b}'])
        .filter(|line| line.contains(" keys/s"))
        .map(|line| line.chars().count())
        .max();
    // The shown text has escape sequences of up to three characters.
    assert!(longest.is_some_and(|longest| longest < 84), "{shown:?}");
}

/// Ctrl-Z gives a terminal that echoes, and the search takes it again when it goes on. Every signal that ends
/// the search restores it.
#[test]
#[cfg(target_os = "linux")]
fn signals_restore_the_terminal_of_a_search() {
    for (name, code) in [("INT", Some(2)), ("TERM", Some(2)), ("QUIT", None), ("USR1", None)] {
        let place = Place::new();
        let Some(mut session) = Session::start(&place, LONG) else { return };
        session.wait_past(0, "keys: ");
        session.wait_until("keys are echoed", |session| !session.is_showing_keys());
        if name == "INT" {
            session.keyboard.write_all(b"\x1a").unwrap();
            session.wait_until("it does not stop", Session::is_stopped);
            assert!(session.is_showing_keys());
            session.signal("CONT");
            session.wait_until("keys are echoed", |session| !session.is_showing_keys());
        }
        session.signal(name);
        let keyboard = session.keyboard.try_clone().unwrap();
        let (status, shown) = session.end();
        assert_eq!(status.code(), code, "{name}: {shown}");
        assert!(
            tcgetattr(&keyboard).unwrap().local_modes.contains(LocalModes::ECHO | LocalModes::ICANON),
            "{name}"
        );
    }
}

/// Keys are not read where standard input is no terminal, and the program does not wait for any.
#[test]
fn a_search_with_other_input_reads_no_keys() {
    let place = Place::new();
    let line = format!("{LONG} --runtime 1 </dev/null");
    let Some(session) = Session::start(&place, &line) else { return };
    let (status, shown) = session.end();
    assert_eq!(status.code(), Some(5), "{shown}");
    assert!(!shown.contains("keys: "), "{shown}");
}
