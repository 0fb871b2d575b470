//! Input from outside the program: auxiliary paths that are not regular files, session names, the
//! environment, long values, closed streams.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use common::{Done, IV, Place, painted};

/// FIPS 197, appendix C.1, with one digit omitted.
const SEARCH: [&str; 7] = [
    "search",
    "--cipher",
    "aes-128",
    "--plain",
    "00112233445566778899aabbccddeeff",
    "--crypt",
    "69c4e0d86a7b0430d8cdb78070b4c55a",
];
const MASK: &str = "000102030405060708090a0b0c0d0e0?";

/// `raw` in counter mode.
const RAW: [&str; 9] =
    ["raw", "--cipher", "aes-128", "--mode", "ctr", "--iv", IV, "--key", "000102030405060708090a0b0c0d0e0f"];

fn fifo(place: &Place, name: &str) {
    let made = Command::new("mkfifo").arg(place.path(name)).status().unwrap();
    assert!(made.success(), "no named pipe can be made");
}

/// Runs the program here. If it hangs, it is ended and fails with code 124.
fn briefly(place: &Place, args: &[&str], wisdom: &str) -> Done {
    let mut command = Command::new("timeout");
    command.arg("60").arg(env!("CARGO_BIN_EXE_crossgrain")).args(args).current_dir(place.path("."));
    command.env_remove("CROSSGRAIN_ISA").env("CROSSGRAIN_WISDOM", wisdom).stdin(Stdio::null());
    command.output().unwrap().into()
}

#[test]
fn auxiliary_files_are_regular_files() {
    let place = Place::with(&painted(64, 1));
    place.write("words", b"a\nb\n");
    fifo(&place, "pipe");
    let _socket = UnixListener::bind(place.path("socket")).unwrap();
    let words = [&SEARCH[..], &["--words", "words", "--rules"]].concat();
    let raw = [&RAW[..], &["in", "--plan"]].concat();
    let cases: [(i32, &[&str]); 5] =
        [(1, &["plan", "--costs"]), (1, &["plan", "--plan"]), (1, &["demo"]), (3, &words), (1, &raw)];
    for (code, args) in cases {
        for (name, told) in [
            ("pipe", "no regular file"),
            ("socket", "no regular file"),
            ("/dev/zero", "no regular file"),
            (".", "is a directory"),
        ] {
            let line = briefly(&place, &[args, &[name]].concat(), "none").refused(code);
            assert!(line.contains(told), "{args:?} {name}: {line}");
        }
    }
}

#[test]
fn wisdom_is_a_regular_file() {
    let place = Place::with(&painted(64, 1));
    fifo(&place, "pipe");
    let want = briefly(&place, &[&RAW[..], &["in"]].concat(), "none").printed();
    let done = briefly(&place, &[&RAW[..], &["in"]].concat(), "pipe");
    assert_eq!((done.code, done.out), (Some(0), want));
    assert_eq!(
        done.err,
        "crossgrain: wisdom ignored: pipe: it or its lock is no regular file: remove that, or name another file\n"
    );
    let actions: [&[&str]; 5] = [
        &["show"],
        &["measure", "--cipher", "aes-128", "--budget-ms", "1"],
        &["export", "out"],
        &["forget"],
        &["import", "pipe"],
    ];
    for action in actions {
        let line = briefly(&place, &[&["wisdom"], action].concat(), "pipe").refused(1);
        assert!(line.contains("no regular file"), "{action:?}: {line}");
    }
    assert!(place.look().contains_key("pipe".as_ref() as &std::ffi::OsStr), "the pipe is gone");
    // The lock next to the wisdom.
    fifo(&place, "kept.lock");
    place.write("kept", b"{}");
    let line = briefly(&place, &["wisdom", "forget"], "kept").refused(1);
    assert!(line.contains("no regular file"), "{line}");
}

/// Sessions are stored in the current directory under plain names.
#[test]
fn sessions_have_plain_names() {
    let place = Place::new();
    std::fs::create_dir(place.path("inner")).unwrap();
    for name in ["../x", "/etc/x", "inner/x", ".", "..", "", "a\\b", "c:d", "two\nlines", "./x", "x/"] {
        for more in [&["--key-mask", MASK][..], &["--restore"]] {
            let search = if more.len() == 1 { &SEARCH[..1] } else { &SEARCH[..] };
            let line = place.refuses(3, &[search, &["--session", name], more].concat());
            assert!(line.contains("plain name"), "{name:?}: {line}");
        }
    }
    place.run(&[&SEARCH[..], &["--session", "é x.1", "--key-mask", MASK]].concat());
    let names: Vec<_> = place.look().into_keys().collect();
    assert_eq!(names, ["inner", "é x.1.found", "é x.1.session"]);
}

#[test]
fn files_of_sessions_are_regular_files() {
    let place = Place::new();
    let search = [&SEARCH[..], &["--session", "s", "--key-mask", MASK]].concat();
    fifo(&place, "s.found");
    let line = briefly(&place, &search, "none").refused(3);
    assert!(line.contains("'s.found' is no regular file"), "{line}");
    fifo(&place, "s.session");
    let line = briefly(&place, &[&SEARCH[..1], &["--session", "s", "--restore"]].concat(), "none").refused(3);
    assert!(line.contains("'s.session' is no regular file"), "{line}");
}

/// Every command that computes names the variable that it cannot parse, and truncates its value.
#[test]
fn the_isa_variable_is_named() {
    let place = Place::with(&painted(64, 1));
    place.run(&["keygen", "-o", "k"]).printed();
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "sealed"]).printed();
    let search = [&SEARCH[..], &["--key-mask", MASK]].concat();
    let gcm = ["raw", "--cipher", "aes-128", "--mode", "gcm", "--nonce", "00", "--key", RAW[8], "in"];
    let raw = [&RAW[..], &["in"]].concat();
    let cases: [(i32, &[&str]); 13] = [
        (2, &["encrypt", "--key-file", "k", "in"]),
        (2, &["encrypt", "--key-file", "k", "in", "-o", "out"]),
        (2, &["encrypt", "--passphrase-file", "k", "--kdf-memory", "1", "in"]),
        (2, &["decrypt", "--key-file", "k", "sealed"]),
        (2, &["verify", "--key-file", "k", "sealed"]),
        (2, &raw),
        (2, &gcm),
        (2, &["random", "--seed", "1", "--bytes", "10"]),
        (2, &["demo", "--bytes", "1000"]),
        (2, &["plan", "--cipher", "aes-128", "--job", "ctr"]),
        (2, &["variants"]),
        (2, &["bench", "aes-128-ctr"]),
        (3, &search),
    ];
    for (code, args) in cases {
        for cap in ["bogus", "avx2-\u{1b}[31m", &"x".repeat(5000)] {
            let mut command = place.command(args);
            let line = Done::from(command.env("CROSSGRAIN_ISA", cap).output().unwrap()).refused(code);
            assert!(line.starts_with("ISA cap '") && line.contains("CROSSGRAIN_ISA"), "{args:?}: {line}");
            assert!(line.len() < 300, "{args:?}: {line}");
        }
    }
    assert!(!place.look().contains_key("out".as_ref() as &std::ffi::OsStr));
}

/// A message shows at most 60 characters of a value, and no control character.
#[test]
fn values_are_cut_in_every_message() {
    let place = Place::with(&painted(64, 1));
    place.run(&["keygen", "-o", "k"]).printed();
    let long = format!("\u{1b}{}\n", "x".repeat(5000));
    let (field, part) = (format!(r#"{{"format": 1, "{}": 1}}"#, "x".repeat(5000)), "x".repeat(5000));
    place.write("plan", field.as_bytes());
    let costs = format!(
        r#"{{"parts": ["a"], "representations": ["r", "{part}", "{part}"], "cost": {{}}, "start": ["r"], "end": ["r"]}}"#
    );
    place.write("costs", costs.as_bytes());
    place.write("costs2", costs.replace("cost\"", &part).as_bytes());
    place.write("rule", format!("q{part}").as_bytes());
    place.write("loops", format!("array {part}[4]\nfor i = 0 to 3\n  {part}[i + 9] = 1\nend\n").as_bytes());
    place.write("table", part.as_bytes());
    let search = |more: &[&'static str]| [&SEARCH[..], more].concat();
    let words = search(&["--words", "in", "--rules", "rule"]);
    let cases: [&[&str]; 24] = [
        &[&long],
        &["encrypt", &format!("--{long}")],
        &["encrypt", "--suite", &long, "in"],
        &["encrypt", "--key-file", &long, "in"],
        &["encrypt", "--passphrase-file", &long, "in"],
        &["encrypt", "--key-file", "k", &long],
        &["encrypt", "--key-file", "k", "in", "-o", &long],
        &["encrypt", "--key-file", "k", "--threads", &long, "in"],
        &["decrypt", "--key-file", "k", "--range", &long, "in"],
        &["inspect", &long],
        &["random", "--seed", &long],
        &["random", "--seed", "1", "--bytes", &long],
        &["raw", "--cipher", &long, "--mode", "ctr"],
        &[
            "raw",
            "--cipher",
            "aes-128",
            "--mode",
            "ctr",
            "--iv",
            IV,
            "--key-file",
            "k",
            "--variant",
            &long,
            "in",
        ],
        &[
            "raw",
            "--cipher",
            "aes-128",
            "--mode",
            "ctr",
            "--iv",
            IV,
            "--key-file",
            "k",
            "--device",
            &long,
            "in",
        ],
        &["search", "--cipher", "aes-128", "--shard", &long],
        &words,
        &["circuit", &long],
        &["circuit", "--table", "table"],
        &["deps", "--loop", "loops"],
        &["plan", "--plan", "plan"],
        &["plan", "--costs", "costs"],
        &["plan", "--costs", "costs2"],
        &["wisdom", "import", &long],
    ];
    for args in cases {
        let done = place.run(args);
        let shown: Vec<_> = args.iter().map(|arg| arg.chars().take(20).collect::<String>()).collect();
        assert_ne!(done.code, Some(0), "{shown:?}");
        let line = done.err.strip_suffix('\n').unwrap();
        assert!(!line.contains(char::is_control), "{shown:?}: {line}");
        assert!(!line.contains(&"x".repeat(61)) && line.chars().count() < 500, "{shown:?}: {line}");
    }
}

/// A search has its own exit codes, also for checks before it starts.
#[test]
fn a_closed_output_has_the_command_s_exit_code() {
    let place = Place::new();
    let cases: [(u8, &str); 7] = [
        (3, "search --cipher aes-128 --key-mask ?? --plain 00 --crypt 00"),
        (3, "search --help"),
        (3, "search --nonsense"),
        (1, "variants"),
        (1, "--help"),
        (1, "--version"),
        (1, "plan --help"),
    ];
    for (code, args) in cases {
        let line = format!(r#""$0" {args} >&-"#);
        let mut command = Command::new("bash");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_crossgrain")]).current_dir(place.path("."));
        let done = Done::from(command.stdin(Stdio::null()).output().unwrap());
        let told = done.refused(code.into());
        assert!(told.contains("standard output") || args.contains("nonsense"), "{args}: {told}");
    }
}
