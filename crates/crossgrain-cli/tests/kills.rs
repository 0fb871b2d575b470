//! Runs that any signal ends at any moment. The output is complete or absent, no other file remains except
//! those that `docs/security.md` names, and other users can read nothing in the meantime.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(target_os = "linux")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{IV, MIB, Place, by_default_signals, painted, until_written, without_unnamed_files};

const ENCRYPT: &[&str] = &["encrypt", "--key-file", "k", "in", "-o", "out"];
const DECRYPT: &[&str] = &["decrypt", "--key-file", "k", "sealed", "-o", "out"];
const RESUME: &[&str] = &["decrypt", "--key-file", "k", "sealed", "-o", "out", "--resume"];
const RAW: &[&str] =
    &["raw", "--cipher", "aes-256", "--mode", "ctr", "--iv", IV, "--key-file", "k", "in", "-o", "out"];

/// A place with `in`, the key `k`, and `sealed`, which others may read if the umask permits.
fn sealed(len: usize) -> (Place, Vec<u8>) {
    let data = painted(len, 5);
    let place = Place::with(&data);
    place.run(&["keygen", "-o", "k"]).printed();
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "sealed"]).printed();
    (place, data)
}

/// Names in a place that were not there at the beginning.
fn new_names(place: &Place) -> Vec<String> {
    let names = fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.filter(|name| !["in", "k", "sealed"].contains(&name.as_str())).collect()
}

/// Fails unless `out` is the complete output of the command.
#[track_caller]
fn check(place: &Place, args: &[&str], data: &[u8]) {
    match args[0] {
        "encrypt" => assert!(place.run(&["decrypt", "--key-file", "k", "out"]).printed() == data),
        "raw" => {
            let back = ["raw", "--cipher", "aes-256", "--mode", "ctr", "--iv", IV, "--key-file", "k", "out"];
            assert!(place.run(&back).printed() == data);
        }
        _ => assert!(place.read("out") == data),
    }
}

#[test]
fn a_killed_run_leaves_all_or_nothing() {
    killed_runs_leave_all_or_nothing(25);
}

#[test]
#[ignore = "takes a minute"]
fn at_any_of_many_moments_nothing_is_left_or_seen() {
    killed_runs_leave_all_or_nothing(100);
    signals_leave_nothing(20);
    signals_take_files_with_names_along(20);
    secrets_are_their_owners(1000);
}

/// Kills `rounds` runs of each command, at moments spread over the duration of a run.
fn killed_runs_leave_all_or_nothing(rounds: u32) {
    let (place, data) = sealed(12 * MIB + 5);
    for args in [ENCRYPT, DECRYPT, RESUME, RAW] {
        let start = Instant::now();
        place.run(args).printed();
        let whole = start.elapsed();
        fs::remove_file(place.path("out")).unwrap();
        let mut finished = 0;
        for round in 0..rounds {
            let mut child = place.command(args).stderr(Stdio::null()).spawn().unwrap();
            thread::sleep(whole * (round * 37 % rounds) / rounds);
            child.kill().unwrap();
            child.wait().unwrap();
            if place.path("out").exists() {
                finished += 1;
                check(&place, args, &data);
                fs::remove_file(place.path("out")).unwrap();
            }
            let left = new_names(&place);
            assert!(left.is_empty() || args == RESUME && left == ["out.part"], "{args:?}: {left:?}");
        }
        // Leftover files do not hinder the next run, and with --resume it continues from them.
        place.run(args).printed();
        check(&place, args, &data);
        assert_eq!(new_names(&place), ["out"]);
        fs::remove_file(place.path("out")).unwrap();
        println!("{args:?}: {finished} of {rounds} ended before they were killed");
    }
}

/// All signals that end a program by default, including faults and resource limits.
const SIGNALS: [&str; 21] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "USR1", "SEGV", "USR2", "ALRM", "TERM",
    "STKFLT", "XCPU", "VTALRM", "PROF", "IO", "PWR", "SYS", "RTMIN",
];

/// Sends a signal until it has ended the program. The standard library handles the first fault signal.
fn end(child: &mut Child, name: &str) -> Option<i32> {
    let kill = ["-c", &format!("kill -{name} {}", child.id())];
    let give_up = Instant::now() + Duration::from_secs(20);
    loop {
        let sent = Command::new("bash").args(kill).stderr(Stdio::null()).status().unwrap();
        for _ in 0..100 {
            if let Some(status) = child.try_wait().unwrap() {
                return status.signal();
            }
            thread::sleep(Duration::from_millis(1));
        }
        assert!(sent.success() && Instant::now() < give_up, "{name} does not end it");
    }
}

/// Starts a run that waits for more input, sends it a signal after this time, and gives the signal that ended
/// it.
fn ended_by(place: &Place, command: &Command, after: Duration, name: &str) -> Option<i32> {
    let mut child = by_default_signals(command).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut open = child.stdin.take().unwrap();
    if after.is_zero() {
        open.write_all(&place.read("in")).unwrap();
        until_written(&child, 1000);
    } else {
        thread::sleep(after);
    }
    end(&mut child, name)
}

const FROM_INPUT: [&[&str]; 2] = [
    &["encrypt", "--key-file", "k", "-o", "out"],
    &["raw", "--cipher", "aes-256", "--mode", "ctr", "--iv", IV, "--key-file", "k", "-o", "out"],
];

#[test]
fn no_signal_leaves_anything() {
    signals_leave_nothing(8);
}

/// Runs `rounds` times per signal: half before or during creation of the output, half after much has been
/// written.
fn signals_leave_nothing(rounds: u32) {
    let (place, _) = sealed(4 * MIB);
    for name in SIGNALS {
        for round in 0..rounds {
            let late = u64::from(14_000 * round / rounds);
            let after = Duration::from_micros(if round % 2 == 0 { 0 } else { late });
            let command = place.command(FROM_INPUT[round as usize / 2 % 2]);
            assert!(ended_by(&place, &command, after, name).is_some(), "{name}");
            assert_eq!(new_names(&place), Vec::<String>::new(), "{name} after {after:?}");
        }
    }
}

#[test]
fn signals_take_a_file_with_a_name_along() {
    signals_take_files_with_names_along(8);
}

/// The same where files have names from the start. A signal that the program handles must remove them.
fn signals_take_files_with_names_along(rounds: u32) {
    let (place, _) = sealed(4 * MIB);
    let Some(_) = without_unnamed_files(&place, &[]) else { return };
    for name in ["HUP", "INT", "QUIT", "ABRT", "ALRM", "TERM", "USR1", "USR2", "PROF", "VTALRM", "XCPU"] {
        for round in 0..rounds {
            let args = FROM_INPUT[round as usize % 2];
            let command = without_unnamed_files(&place, args).unwrap();
            // Adds the time of the shell that starts the program.
            let late = 10_000 + u64::from(20_000 * round / rounds);
            let after = Duration::from_micros(if round < rounds / 4 { 0 } else { late });
            let mut left = Vec::new();
            if ended_by(&place, &command, after, name).is_some() {
                left = new_names(&place);
            }
            assert!(left.is_empty(), "{name} after {after:?}: {left:?}");
        }
    }
}

/// A file size limit fails a write, and the error is reported.
#[test]
fn a_limit_of_file_sizes_is_told() {
    let (place, _) = sealed(4 * MIB);
    for args in [ENCRYPT, DECRYPT, RAW] {
        let mut command = Command::new("bash");
        command
            .args(["-c", r#"ulimit -f 1000; exec "$0" "$@""#, env!("CARGO_BIN_EXE_crossgrain")])
            .args(args);
        let done: common::Done = command.current_dir(place.path(".")).output().unwrap().into();
        assert!(done.refused(1).contains("ulimit"));
        assert_eq!(new_names(&place), Vec::<String>::new());
    }
}

/// Scans all files in a place repeatedly. Collects the modes of files that others may read or write, and
/// counts the scans.
struct Watch<'a> {
    place: &'a Place,
    ended: AtomicBool,
    looks: AtomicUsize,
}

impl Watch<'_> {
    fn run(&self, but: &[&str]) -> BTreeSet<(String, u32)> {
        let mut seen = BTreeSet::new();
        while !self.ended.load(Ordering::Relaxed) {
            for entry in fs::read_dir(self.place.path(".")).unwrap().flatten() {
                let name = entry.file_name().into_string().unwrap();
                let mode = entry.metadata().map_or(0, |file| file.permissions().mode());
                if mode & 0o077 != 0 && !but.contains(&name.as_str()) {
                    seen.insert((name, mode));
                }
            }
            self.looks.fetch_add(1, Ordering::Relaxed);
        }
        seen
    }
}

/// The files that others could have read during `turns` runs of a command. Each run replaces a file that only
/// its owner may read.
fn seen_by_others(args: &[&str], turns: usize, named: bool) -> BTreeSet<(String, u32)> {
    let (place, _) = sealed(100_000);
    let watch = Watch { place: &place, ended: AtomicBool::new(false), looks: AtomicUsize::new(0) };
    let seen = thread::scope(|scope| {
        let seen = scope.spawn(|| watch.run(&["in", "sealed"]));
        for _ in 0..turns {
            let command = if named { without_unnamed_files(&place, args) } else { Some(place.command(args)) };
            let Some(mut command) = command else { break };
            assert!(command.stderr(Stdio::null()).status().unwrap().success());
        }
        watch.ended.store(true, Ordering::Relaxed);
        seen.join().unwrap()
    });
    println!("{} turns, {} looks: {}", turns, watch.looks.load(Ordering::Relaxed), args[0]);
    assert!(watch.looks.load(Ordering::Relaxed) > turns);
    seen
}

#[test]
fn keys_and_plaintext_are_their_owners_at_every_moment() {
    secrets_are_their_owners(150);
}

fn secrets_are_their_owners(turns: usize) {
    let keygen = ["keygen", "-o", "out", "--force"];
    let decrypt = ["decrypt", "--key-file", "k", "sealed", "-o", "out", "--force"];
    let resume = [&decrypt[..], &["--resume"]].concat();
    for args in [&keygen[..], &decrypt, &resume] {
        let turns = if args.ends_with(&["--resume"]) { turns / 10 } else { turns };
        assert_eq!(seen_by_others(args, turns, false), BTreeSet::new());
    }
    for args in [&keygen[..], &decrypt] {
        assert_eq!(seen_by_others(args, turns / 10, true), BTreeSet::new());
    }
}
