//! File handling of `crossgrain raw`: the files that it reads, the time of its checks, and the permissions of
//! the output.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::fs::{self, Permissions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use common::{Done, IV, MIB, Place, by_default_signals, crossgrain, fed, painted, until_written};

const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const CTR: [&str; 9] = ["raw", "--cipher", "aes-128", "--mode", "ctr", "--key", KEY, "--iv", IV];

/// The output of `raw` for these bytes.
fn encrypted(data: &[u8]) -> Vec<u8> {
    fed(crossgrain(&CTR), data).printed()
}

fn rights(place: &Place, name: &str) -> u32 {
    fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_redirected_file_is_read_from_where_it_stands() {
    let data = painted(2 * MIB + 3, 1);
    let place = Place::with(&data);
    let mut file = fs::File::open(place.path("in")).unwrap();
    file.seek(SeekFrom::Start(5)).unwrap();
    let got = Done::from(crossgrain(&CTR).stdin(file).output().unwrap()).printed();
    assert!(got == encrypted(&data[5..]));
}

#[test]
fn a_new_file_has_the_usual_rights_and_a_replaced_one_keeps_its_own() {
    let place = Place::with(&painted(100, 2));
    place.run(&[&CTR[..], &["in", "-o", "out"]].concat()).printed();
    assert_eq!(rights(&place, "out"), rights(&place, "in"));
    fs::set_permissions(place.path("out"), Permissions::from_mode(0o640)).unwrap();
    place.run(&[&CTR[..], &["in", "-o", "out", "--force"]].concat()).printed();
    assert_eq!(rights(&place, "out"), 0o640);
    // New contents must not run with the privileges of an old owner.
    fs::set_permissions(place.path("out"), Permissions::from_mode(0o6755)).unwrap();
    place.run(&[&CTR[..], &["in", "-o", "out", "--force"]].concat()).printed();
    let mode = fs::metadata(place.path("out")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    // A decrypted file is readable only by its owner.
    place.run(&[&CTR[..], &["-d", "in", "-o", "plain"]].concat()).printed();
    assert_eq!(rights(&place, "plain"), 0o600);
}

#[test]
fn a_link_that_leads_nowhere_is_in_the_way_too() {
    let place = Place::with(&painted(100, 3));
    symlink("nowhere", place.path("link")).unwrap();
    assert!(place.refuses(5, &[&CTR[..], &["in", "-o", "link"]].concat()).contains("'link' exists"));
}

#[test]
fn a_stream_as_output_file_is_written_and_not_replaced() {
    let data = painted(100_000, 4);
    let mut command = crossgrain(&CTR);
    command.args(["-o", "/dev/stdout"]);
    assert!(fed(command, &data).printed() == encrypted(&data));
}

#[test]
fn an_existing_output_is_refused_before_anything_is_read() {
    let place = Place::new();
    place.write("out", b"of value");
    let mut command = place.command(&CTR);
    command.args(["-o", "out"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Reading would wait while this end is open.
    let open = child.stdin.take();
    Done::from(child.wait_with_output().unwrap()).refused(5);
    drop(open);
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_that_fails_leaves_nothing() {
    // The first page of this file cannot be read.
    let line = Place::new().refuses(1, &[&CTR[..], &["/proc/self/mem", "-o", "out"]].concat());
    assert!(line.contains("cannot read '/proc/self/mem'"), "{line}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_takes_the_unfinished_file_along() {
    let place = Place::new();
    let mut command = by_default_signals(&place.command(&CTR));
    let mut child = command.args(["-o", "out"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut open = child.stdin.take().unwrap();
    open.write_all(&painted(4 * MIB, 5)).unwrap();
    until_written(&child, MIB as u64);
    assert!(!place.path("out").exists());
    let kill = ["-c", &format!("kill -INT {}", child.id())];
    assert!(Command::new("sh").args(kill).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(2), "the signal has its way");
    assert!(place.look().is_empty(), "it left something behind");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_no_bytes_unless_told() {
    let place = Place::with(&painted(4, 6));
    let on_terminal = |more: &str| {
        let line = [env!("CARGO_BIN_EXE_crossgrain"), &CTR.join(" "), "in", more].join(" ");
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).stdin(Stdio::null());
        command.current_dir(place.path(".")).output()
    };
    let (Ok(refused), Ok(told)) = (on_terminal(""), on_terminal("-o -")) else {
        println!("skipped: a terminal (script is not installed)");
        return;
    };
    let said = String::from_utf8_lossy(&refused.stdout);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("-o FILE") && said.lines().count() == 1, "{said}");
    assert!(told.status.success());
}

#[test]
fn help_and_version_are_no_failures() {
    for args in [&["--help"][..], &["--version"], &["raw", "--help"], &["variants", "--help"]] {
        assert!(!Done::from(crossgrain(args).output().unwrap()).printed().is_empty());
    }
}

/// If memory is short, the program uses fewer buffers than requested. If it suffices for none, the program
/// reports it.
#[cfg(target_os = "linux")]
#[test]
fn short_memory_is_no_crash() {
    let place = Place::with(b"some data");
    let within = |limit_kib: u32| -> Done {
        let line = format!("ulimit -v {limit_kib}; cat in | \"$0\" \"$@\" --threads 64 --chunk-size 256M");
        let mut command = Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_crossgrain")]).args(CTR);
        command.current_dir(place.path(".")).env_remove("RUST_BACKTRACE").output().unwrap().into()
    };
    assert_eq!(within(3_000_000).printed(), encrypted(b"some data"));
    assert!(within(200_000).refused(1).contains("no memory"));
}
