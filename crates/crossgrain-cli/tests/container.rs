//! Encrypted files on the command line: round trips, refusals with their exit codes, and agreement with an
//! independent implementation.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Done, MIB, Place, crossgrain, fed, hex, painted};
use crossgrain::engine::text::grouped;

const CHUNK: usize = 16 * 1024;
const SEALED: usize = CHUNK + 16;
/// Length of the header of a file under a key, with salt and commitment.
const HEAD: usize = 13 + 56;
const SUITES: [&str; 7] = [
    "aes-256-gcm",
    "aes-128-gcm",
    "serpent-256-eax",
    "aes-256-eax",
    "aes-256-ocb",
    "serpent-256-ocb",
    "aes-256-gcm-siv",
];

/// A place with the plaintext `in`, its encryption `sealed` under one suite, and the key `k`.
fn sealed(suite: &str, data: &[u8]) -> Place {
    let place = Place::with(data);
    place.run(&["keygen", "--suite", suite, "-o", "k"]).printed();
    place.run(&["encrypt", "--key-file", "k", "--suite", suite, "in", "-o", "sealed"]).printed();
    place
}

/// A place with an encrypted file of `chunks` chunks and a few bytes.
fn some(chunks: usize) -> (Place, Vec<u8>) {
    let data = painted(chunks * CHUNK + 100, 1);
    (sealed("aes-256-gcm", &data), data)
}

fn change(place: &Place, at: usize) {
    let mut file = place.read("sealed");
    file[at] ^= 1;
    place.write("sealed", &file);
}

/// Removes all access rights of other users, as an earlier run would have done.
fn own(place: &Place, name: &str) {
    #[cfg(unix)]
    fs::set_permissions(place.path(name), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

const DECRYPT: [&str; 4] = ["decrypt", "--key-file", "k", "sealed"];
const TO_FILE: [&str; 6] = ["decrypt", "--key-file", "k", "sealed", "-o", "out"];

#[test]
fn files_and_streams_come_back() {
    for suite in SUITES {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, MIB - 1, MIB, MIB + 1, 3 * MIB + 5] {
            let data = painted(len, len as u64);
            let place = sealed(suite, &data);
            place.run(&TO_FILE).printed();
            assert!(place.read("out") == data, "{suite} {len}");
            assert!(place.run(&DECRYPT).printed() == data);
            place.run(&["verify", "--key-file", "k", "sealed"]).printed();
            let stream = fed(
                place.command(&["encrypt", "--key-file", "k", "--suite", suite, "--threads", "3"]),
                &data,
            );
            let back =
                fed(place.command(&["decrypt", "--key-file", "k", "-", "--threads", "3"]), &stream.printed());
            assert!(back.printed() == data);
        }
    }
}

#[test]
fn a_passphrase_comes_from_a_file_or_a_descriptor() {
    let place = Place::with(b"data");
    place.write("pw", b"correct horse\r\nbattery\n");
    let cheap = [
        "encrypt",
        "--kdf-memory",
        "1",
        "--kdf-passes",
        "1",
        "--passphrase-file",
        "pw",
        "in",
        "-o",
        "sealed",
    ];
    place.run(&cheap).printed();
    assert_eq!(place.run(&["decrypt", "--passphrase-file", "pw", "sealed"]).printed(), b"data");
    let by_descriptor =
        |said: &[u8]| fed(place.command(&["decrypt", "--passphrase-fd", "0", "sealed"]), said);
    assert_eq!(by_descriptor(b"correct horse").printed(), b"data");
    assert!(by_descriptor(b"battery staple").refused(2).contains("wrong"));
    assert!(by_descriptor(b"").refused(2).contains("empty"));
    // A file is also read on from the end of the passphrase.
    place.write("both", b"correct horse\nthe data");
    let both = fs::File::open(place.path("both")).unwrap();
    let args = ["encrypt", "--passphrase-fd", "0", "--kdf-memory", "1", "--kdf-passes", "1"];
    let sealed = Done::from(place.command(&args).stdin(both).output().unwrap()).printed();
    let back = fed(place.command(&["decrypt", "--passphrase-file", "pw"]), &sealed);
    assert_eq!(back.printed(), b"the data");
    assert!(by_descriptor(&[0xff, b'\n']).refused(2).contains("UTF-8"));
    assert!(by_descriptor(b"\xff\xfes\0\n\0").refused(2).contains("is in UTF-16: convert it"));
    assert!(by_descriptor(&[b'x'; 5000]).refused(2).contains("too long"));
    place.run(&["keygen", "-o", "k"]).printed();
    assert!(place.refuses(2, &TO_FILE).contains("by a passphrase"));
}

#[test]
fn the_wrong_key_is_told_from_damage() {
    let (place, _) = some(1);
    place.run(&["keygen", "-o", "other"]).printed();
    let line = place.refuses(2, &["decrypt", "--key-file", "other", "sealed", "-o", "out"]);
    assert!(line.contains("the key, passphrase or identity is wrong"), "{line}");
    assert!(place.refuses(2, &["decrypt", "--key-file", "in", "sealed"]).contains("holds no key"));
    place.run(&["encrypt", "--key-file", "k", "in", "--bare", "-o", "bare"]).printed();
    assert!(place.refuses(3, &["decrypt", "--key-file", "k", "bare"]).contains("--bare"));
}

#[test]
fn damage_is_named_and_nothing_is_left() {
    let (place, _) = some(3);
    let whole = place.read("sealed");
    for (at, code, said) in [
        (3, 3, "no file of crossgrain's"),
        (10, 3, "of version 0"),
        (11, 3, "suite 0"),
        (20, 2, "the key, passphrase or identity is wrong"),
        (60, 2, "the key, passphrase or identity is wrong"),
        (HEAD + 5, 3, "chunk 0 (plaintext bytes 0 to 16384) was changed"),
        (HEAD + SEALED + CHUNK + 3, 3, "chunk 1 (plaintext bytes 16384 to 32768) was changed"),
        (HEAD + 3 * SEALED, 3, "chunk 3 (plaintext bytes 49152 to 49252) was changed, or"),
    ] {
        place.write("sealed", &whole);
        change(&place, at);
        let line = place.refuses(code, &TO_FILE);
        assert!(line.contains(said), "{line}");
        assert_eq!(place.refuses(code, &["verify", "--key-file", "k", "sealed"]), line);
    }
    for (len, code) in [
        (0, 4),
        (5, 4),
        (40, 4),
        (HEAD, 4),
        (HEAD + 15, 4),
        (HEAD + 17, 3),
        (HEAD + SEALED, 4),
        (HEAD + 3 * SEALED, 4),
        (whole.len() - 1, 3),
    ] {
        place.write("sealed", &whole[..len]);
        place.refuses(code, &TO_FILE);
        assert_eq!(fed(place.command(&["verify", "--key-file", "k"]), &whole[..len]).code, Some(code));
    }
    for more in [1, 16, SEALED, 70 * SEALED] {
        place.write("sealed", &[whole.clone(), vec![0; more]].concat());
        place.refuses(3, &TO_FILE);
    }
}

/// Flips one bit of every byte, and truncates at every byte. The library's tests flip all bits.
#[test]
fn whatever_is_changed_or_cut_off_has_its_exit_code() {
    let place = sealed("aes-256-gcm", b"some plaintext");
    let whole = place.read("sealed");
    for at in 0..whole.len() {
        let mut file = whole.clone();
        file[at] ^= 1 << (at % 8);
        place.write("sealed", &file);
        let codes = match at {
            // An invalid header, or one that claims to be longer than the file.
            0..11 => &[3][..],
            11..13 => &[2, 3, 4],
            13..HEAD => &[2],
            _ => &[3],
        };
        let before = place.look();
        let done = place.run(&TO_FILE);
        assert!(codes.iter().any(|&code| done.code == Some(code)), "byte {at}: {done:?}");
        assert!(done.err.starts_with("crossgrain: ") && place.look() == before, "byte {at}: {done:?}");
        place.write("sealed", &whole[..at]);
        let code = if at < HEAD + 16 { 4 } else { 3 };
        place.refuses(code, &TO_FILE);
    }
}

/// In a file of several groups, with several threads.
#[test]
fn only_authentic_chunks_reach_standard_output() {
    let (place, data) = some(200);
    for bad in [0, 1, 63, 64, 130, 200] {
        let whole = place.read("sealed");
        change(&place, HEAD + bad * SEALED + 7);
        let done = place.run(&DECRYPT);
        assert!(done.out == data[..bad * CHUNK], "{bad}: {}", done.out.len());
        assert!(done.refused(3).contains(&format!("chunk {bad} ")));
        place.write("sealed", &whole);
    }
}

#[test]
fn what_is_authentic_can_be_kept_and_resumed_from() {
    let (place, data) = some(200);
    let whole = place.read("sealed");
    place.write("sealed", &whole[..HEAD + 150 * SEALED + 500]);
    let done = place.run(&[&TO_FILE[..], &["--keep-partial"]].concat());
    assert_eq!(done.code, Some(3));
    assert!(done.err.contains("'out.part'") || done.err.contains("out.part"), "{}", done.err);
    assert!(place.read("out.part") == data[..150 * CHUNK] && !place.path("out").exists());
    place.write("sealed", &whole);
    place.run(&[&TO_FILE[..], &["--resume"]].concat()).printed();
    assert!(place.read("out") == data && !place.path("out.part").exists());
}

/// `--force` replaces only what the user named.
#[test]
fn what_is_kept_replaces_nothing() {
    let (place, _) = some(5);
    change(&place, HEAD + 3 * SEALED);
    let damaged = place.read("sealed");
    place.write("out.part", &damaged);
    let args = ["decrypt", "--key-file", "k", "out.part", "-o", "out", "--keep-partial", "--force"];
    let done = place.run(&args);
    assert!(done.code == Some(3) && done.err.contains("out.part"), "{}", done.err);
    assert!(place.read("out.part") == damaged && !place.path("out").exists());
}

#[test]
fn what_an_earlier_run_left_behind_the_damage_stays() {
    let (place, data) = some(10);
    place.write("out.part", &data[..9 * CHUNK]);
    own(&place, "out.part");
    change(&place, HEAD + 2 * SEALED);
    let done = place.run(&[&TO_FILE[..], &["--resume", "--keep-partial"]].concat());
    assert_eq!(done.code, Some(3));
    assert!(place.read("out.part") == data[..9 * CHUNK]);
    // The partial file is already kept; the damage is still reported.
    assert_eq!(place.run(&[&TO_FILE[..], &["--keep-partial"]].concat()).code, Some(3));
    assert!(place.read("out.part") == data[..9 * CHUNK]);
}

#[cfg(unix)]
#[test]
fn a_resumed_run_gives_no_rights_and_replaces_no_pipe() {
    use std::os::unix::fs::PermissionsExt as _;
    let (place, _) = some(1);
    place.write("out", b"for one pair of eyes");
    fs::set_permissions(place.path("out"), fs::Permissions::from_mode(0o600)).unwrap();
    let args = [&TO_FILE[..], &["--resume", "--force"]].concat();
    place.run(&args).printed();
    assert_eq!(fs::metadata(place.path("out")).unwrap().permissions().mode() & 0o777, 0o600);
    for name in ["out", "out.part"] {
        let _ = fs::remove_file(place.path("out"));
        assert!(Command::new("mkfifo").arg(place.path(name)).status().unwrap().success());
        let line = place.run(&args).refused(2);
        assert!(line.contains("resumed") || line.contains("no regular file"), "{line}");
    }
}

#[test]
fn a_resumed_run_finds_another_input() {
    let (place, data) = some(10);
    place.write("out.part", &data[..5000]);
    own(&place, "out.part");
    change(&place, HEAD + 9 * SEALED);
    // The run stops at the damage and keeps the plaintext before it.
    assert_eq!(place.run(&[&TO_FILE[..], &["--resume"]].concat()).code, Some(3));
    assert!(place.read("out.part") == data[..9 * CHUNK]);
    for bad in [painted(5000, 9), painted(20 * CHUNK, 9), vec![0; 5000]] {
        change(&place, HEAD + 9 * SEALED);
        place.write("out.part", &bad);
        own(&place, "out.part");
        let line = place.refuses(1, &[&TO_FILE[..], &["--resume"]].concat());
        assert!(line.contains("remove that"), "{line}");
        change(&place, HEAD + 9 * SEALED);
    }
}

#[test]
fn a_window_is_read_alone() {
    let (place, data) = some(130);
    let len = data.len();
    for (range, want) in [
        ("0..1", 0..1),
        ("..100", 0..100),
        ("16380..16390", 16380..16390),
        ("100000..1900000", 100_000..1_900_000),
        ("2129000..", 2_129_000..len),
        ("..", 0..len),
        ("2129920..2130020", 2_129_920..2_130_020),
        ("77..77", 77..77),
    ] {
        let args = [&DECRYPT[..], &["--range", range]].concat();
        assert!(place.run(&args).printed() == data[want.clone()], "{range}");
        place.run(&[&TO_FILE[..], &["--force", "--range", range]].concat()).printed();
        assert!(place.read("out") == data[want], "{range}");
    }
    fs::remove_file(place.path("out")).unwrap();
    let line = place.refuses(2, &[&TO_FILE[..], &["--range", "5..3000000"]].concat());
    assert!(line.contains(&format!("has {} bytes", grouped(len))), "{line}");
    for bad in ["5", "7..5", "a..b", "-1..3"] {
        place.refuses(2, &[&TO_FILE[..], &[&format!("--range={bad}")]].concat());
    }
    assert!(
        fed(place.command(&["decrypt", "--key-file", "k", "--range", "1..2"]), &place.read("sealed"))
            .refused(2)
            .contains("needs a file")
    );
    // Damage outside the range does not matter; damage inside it does.
    change(&place, HEAD + 100 * SEALED);
    assert!(place.run(&[&DECRYPT[..], &["--range", "5..1000"]].concat()).printed() == data[5..1000]);
    let within = [&TO_FILE[..], &["--range", "1638300..1638500"]].concat();
    assert!(place.refuses(3, &within).contains("chunk 100 "));
    let whole = place.read("sealed");
    place.write("sealed", &whole[..HEAD + 120 * SEALED]);
    place.refuses(4, &[&TO_FILE[..], &["--range", "1000000.."]].concat());
    place.refuses(4, &[&TO_FILE[..], &["--range", "5..2000000"]].concat());
    assert!(place.run(&[&DECRYPT[..], &["--range", "5..1000"]].concat()).printed() == data[5..1000]);
}

#[test]
fn an_empty_file_has_a_window_too() {
    let place = sealed("aes-256-gcm", b"");
    assert!(place.run(&[&DECRYPT[..], &["--range", "0.."]].concat()).printed().is_empty());
    place.refuses(2, &[&DECRYPT[..], &["--range", "0..1"]].concat());
}

#[test]
fn argon2_beyond_the_limits_is_refused_at_once() {
    let place = Place::new();
    place.write("pw", b"x");
    let phc = b"$argon2id$v=19$m=1073741824,t=3,p=4$CQkJCQkJCQkJCQkJCQkJCQ";
    place.write("sealed", &[b"crossgrain\x01\x01", &[phc.len() as u8][..], phc, &[0; 100]].concat());
    let line = place.refuses(2, &["decrypt", "--passphrase-file", "pw", "sealed", "-o", "out"]);
    assert!(line.contains(" 1 TiB of memory") && line.contains("--kdf-memory-max"), "{line}");
}

#[test]
fn inspect_needs_no_key() {
    let (place, data) = some(2);
    let said = String::from_utf8(place.run(&["inspect", "sealed"]).printed()).unwrap();
    assert!(
        said.contains("aes-256-gcm") && said.contains(&format!("{} bytes", grouped(data.len()))),
        "{said}"
    );
    let json: serde_json::Value =
        serde_json::from_slice(&place.run(&["inspect", "--json", "sealed"]).printed()).unwrap();
    assert_eq!(json["plaintext_bytes"], data.len());
    assert_eq!((&json["kdf"], &json["truncated"]), (&"key".into(), &false.into()));
    let cut = fed(crossgrain(&["inspect", "--json"]), &place.read("sealed")[..14]);
    let json: serde_json::Value = serde_json::from_slice(&cut.printed()).unwrap();
    assert_eq!(json["plaintext_bytes"], serde_json::Value::Null);
    place.refuses(3, &["inspect", "in"]);
}

#[test]
fn outputs_are_not_replaced_unasked() {
    let (place, data) = some(1);
    place.write("out", b"of value");
    place.refuses(5, &TO_FILE);
    place.refuses(5, &["encrypt", "--key-file", "k", "in", "-o", "out"]);
    place.refuses(5, &["keygen", "-o", "k"]);
    place.run(&[&TO_FILE[..], &["--force"]].concat()).printed();
    assert!(place.read("out") == data);
}

#[test]
fn usage_that_makes_no_sense_is_refused() {
    let (place, _) = some(1);
    for args in [
        &["encrypt", "--bare", "--passphrase-file", "k", "in"][..],
        &["encrypt", "--key-file", "k", "--passphrase-file", "k", "in"],
        &["decrypt", "--key-file", "k", "--bare", "sealed"],
        &["decrypt", "--key-file", "k", "--suite", "aes-256-gcm", "sealed"],
        &["decrypt", "--key-file", "k", "--resume", "sealed"],
        &["decrypt", "--key-file", "k", "--resume", "sealed", "-o", "-"],
        &["decrypt", "--key-file", "k", "--keep-partial", "sealed"],
        &["encrypt", "--key-file", "k", "--suite", "rot13", "in"],
    ] {
        place.refuses(2, args);
    }
}

#[cfg(unix)]
#[test]
fn a_key_file_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.run(&["keygen", "-o", "k"]).printed();
    assert_eq!(fs::metadata(place.path("k")).unwrap().permissions().mode() & 0o777, 0o600);
    let key = place.read("k");
    assert_eq!((key.len(), key.last()), (65, Some(&b'\n')));
    assert_ne!(place.run(&["keygen"]).printed(), key);
}

#[test]
fn progress_is_told_in_json() {
    let (place, data) = some(2);
    let done = place.run(&[&TO_FILE[..], &["--progress", "json"]].concat());
    let last: serde_json::Value = serde_json::from_str(done.err.lines().last().unwrap()).unwrap();
    assert_eq!((&last["bytes"], &last["total_bytes"]), (&data.len().into(), &data.len().into()));
}

#[cfg(target_os = "linux")]
#[test]
fn holes_stay_holes() {
    use std::os::unix::fs::MetadataExt as _;
    let place = Place::new();
    let file = fs::File::create(place.path("in")).unwrap();
    file.set_len(64 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"something", 20 << 20).unwrap();
    place.run(&["keygen", "-o", "k"]).printed();
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "sealed"]).printed();
    place.run(&TO_FILE).printed();
    let out = fs::metadata(place.path("out")).unwrap();
    assert_eq!(out.len(), 64 << 20);
    assert!(out.blocks() * 512 < 1 << 20, "{} blocks", out.blocks());
    assert!(place.read("out") == place.read("in"));
}

/// A Python that has this module; `None`, with a printed skip, if none is installed.
fn python(module: &str) -> Option<PathBuf> {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/independent/bin/python");
    let python = if venv.exists() { venv } else { "python3".into() };
    let mut probe = Command::new(&python);
    probe.args(["-c", &format!("import {module}")]).stderr(Stdio::null());
    if probe.status().is_ok_and(|status| status.success()) {
        return Some(python);
    }
    println!("skipped: the independent reader (no Python with {module})");
    None
}

/// The output of `independent/container.py` for this input.
#[track_caller]
fn theirs(python: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/independent/container.py")).args(args);
    let done = fed(command, input);
    assert_eq!(done.code, Some(0), "{}", done.err);
    done.out
}

/// Whether the script can read files of this kind, tested by running `line`. Prints a skip if not.
fn knows(python: &Path, kind: &str, line: &str) -> bool {
    let mut probe = Command::new(python);
    probe.args(["-c", line]).stderr(Stdio::null());
    let found = probe.status().is_ok_and(|status| status.success());
    if !found {
        println!("skipped: the independent reader of files by {kind}");
    }
    found
}

const BY_LIBGCRYPT: &str = "import ctypes; ctypes.CDLL('libgcrypt.so.20')";
const BY_GCM_SIV: &str =
    "from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV; AESGCMSIV(bytes(32))";

/// In both directions, at lengths around chunk boundaries.
#[test]
fn an_independent_program_reads_and_writes_the_same() {
    let Some(python) = python("cryptography.hazmat.primitives.kdf.hkdf") else { return };
    let place = Place::new();
    let around = |chunks: usize| [chunks * CHUNK - 1, chunks * CHUNK, chunks * CHUNK + 1];
    // Each length takes several runs of Python, so this covers one chunk and a middle one.
    let all = [&[0, 1][..], &around(1), &around(3)].concat();
    let mut lengths = vec![("aes-256-gcm", &all[..]), ("aes-128-gcm", &all[5..]), ("aes-256-eax", &all[4..])];
    lengths.push(("aes-256-ocb", &all));
    if knows(&python, "Serpent", BY_LIBGCRYPT) {
        lengths.extend([("serpent-256-eax", &all[..]), ("serpent-256-ocb", &all)]);
    }
    if knows(&python, "gcm-siv", BY_GCM_SIV) {
        lengths.push(("aes-256-gcm-siv", &all));
    }
    for (suite, &len) in
        lengths.iter().flat_map(|(suite, lengths)| lengths.iter().map(move |len| (*suite, len)))
    {
        place.run(&["keygen", "--suite", suite, "-o", "k", "--force"]).printed();
        let secret = format!("key:{}", String::from_utf8(place.read("k")).unwrap().trim());
        let data = painted(len, len as u64);
        place.write("in", &data);
        for (name, bare) in [(suite.to_owned(), &[][..]), (format!("bare:{suite}"), &["--bare"][..])] {
            let ours = place.run(&[&["encrypt", "--key-file", "k", "--suite", suite, "in"], bare].concat());
            assert!(theirs(&python, &["decrypt", &name, &secret], &ours.printed()) == data, "{name} {len}");
            place.write("theirs", &theirs(&python, &["encrypt", &name, &secret], &data));
            let suite = if bare.is_empty() { &[][..] } else { &["--suite", suite] };
            let back = place.run(&[&["decrypt", "--key-file", "k", "theirs"], bare, suite].concat());
            assert!(back.printed() == data, "{name} {len}");
        }
    }
}

#[test]
fn an_independent_program_knows_the_passphrase() {
    let Some(python) = python("cryptography.hazmat.primitives.kdf.argon2") else { return };
    let data = painted(1000, 4);
    let place = Place::with(&data);
    place.write("pw", b"correct horse");
    let cheap = ["encrypt", "--kdf-memory", "1", "--kdf-passes", "2", "--passphrase-file", "pw", "in"];
    let ours = place.run(&cheap).printed();
    assert!(theirs(&python, &["decrypt", "-", "passphrase:correct horse"], &ours) == data);
    place.write("theirs", &theirs(&python, &["encrypt", "aes-256-gcm", "passphrase:correct horse"], &data));
    assert!(place.run(&["decrypt", "--passphrase-file", "pw", "theirs"]).printed() == data);
}

/// Runs with `cargo test -- --ignored`: 5 GiB of zeros, piped to the independent reader.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "takes a minute"]
fn five_gibibytes_of_holes_are_read_elsewhere() {
    let place = Place::new();
    fs::File::create(place.path("in")).unwrap().set_len(5 << 30).unwrap();
    place.run(&["keygen", "-o", "k"]).printed();
    let secret = format!("key:{}", String::from_utf8(place.read("k")).unwrap().trim());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/independent/container.py");
    let line = format!(
        "set -o pipefail; {} encrypt --key-file k in | python3 {script} decrypt - {secret} | cmp - in",
        env!("CARGO_BIN_EXE_crossgrain")
    );
    let mut command = Command::new("bash");
    command.args(["-c", &line]).current_dir(place.path("."));
    assert_eq!(Done::from(command.output().unwrap()).printed(), b"");
    let both = format!(
        "{0} encrypt --key-file k in | {0} decrypt --key-file k -o out",
        env!("CARGO_BIN_EXE_crossgrain")
    );
    let mut command = Command::new("bash");
    command.args(["-c", &both]).current_dir(place.path("."));
    Done::from(command.output().unwrap()).printed();
    assert_eq!(fs::metadata(place.path("out")).unwrap().len(), 5 << 30);
}

#[test]
fn hex_keys_and_raw_keys_are_the_same_key() {
    let place = Place::with(b"data");
    let key = painted(32, 3);
    place.write("raw", &key);
    place.write("hex", hex(&key).as_bytes());
    let file = place.run(&["encrypt", "--key-file", "raw", "in"]).printed();
    assert_eq!(fed(place.command(&["decrypt", "--key-file", "hex"]), &file).printed(), b"data");
}
