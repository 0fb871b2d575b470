//! Messages that new users see: each command line with its exit code and its line.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use common::{Done, Place, painted};

/// An AES-128 key.
const KEY: &str = "000102030405060708090a0b0c0d0e0f";

/// A place with files of this program and of others.
fn place() -> Place {
    let place = Place::with(&painted(64, 1));
    std::fs::create_dir(place.path("dir")).unwrap();
    place.run(&["keygen", "-o", "k"]).printed();
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "sealed"]).printed();
    let saved = place.run(&["plan", "--cipher", "aes-128", "--job", "ctr", "--save", "plan"]);
    assert_eq!(saved.code, Some(0));
    place.write("short", KEY.as_bytes());
    place.write("age", b"age-encryption.org/v1\n-> scrypt 0123456789abcdef 18\n");
    place.write("age.asc", b"-----BEGIN AGE ENCRYPTED FILE-----\n");
    place.write("gpg", &[0x8c, 0x0d, 0x04, 0x09, 0x03, 0x08, 1, 2, 3, 4, 5, 6, 7, 8, 0xff]);
    place.write("gpg.asc", b"-----BEGIN PGP MESSAGE-----\n\n");
    place.write("openssl", b"Salted__0123456789abcdef0123456789abcdef");
    place.write("zip", b"PK\x03\x04\x14\0\0\0\x08\0rest of an archive");
    place
}

/// The exit code, the arguments, and the line: on standard output for code 0, otherwise on standard error.
const ROWS: &[(i32, &str, &str)] = &[
    (
        2,
        "encrypt -r age1xyz in",
        "invalid value 'age1xyz' for '--recipient <RECIPIENT>': 'age1xyz' is no recipient, for it is mistyped or incomplete: copy it anew (see --help)",
    ),
    (2, "encrypt -k k in", "there is no -k: give --key-file FILE"),
    (2, "encrypt -p in", "there is no -p: give --passphrase, or --passphrase-file FILE"),
    (2, "encrypt -v in", "there is no -v: give --profile, or --progress json"),
    (2, "encrypt -a in", "there is no -a, and encrypted files are binary: pipe them through base64"),
    (
        2,
        "encrypt --armor in",
        "there is no --armor, and encrypted files are binary: pipe them through base64",
    ),
    (2, "decrypt -k k sealed", "there is no -k: give --key-file FILE"),
    (2, "raw -k 00 in", "there is no -k: give --key-file FILE"),
    (2, "-v", "there is no -v: give --version"),
    (
        1,
        "encrypt --key-file k dir",
        "cannot read 'dir': it is a directory, take its files by --recursive, or pack it: crossgrain encrypt --tar 'dir' -o 'dir.tar.cg'",
    ),
    (2, "encrypt --key-file k in -o in --force", "IN and --output name one file: give each its own"),
    (3, "decrypt --key-file k age", "'age' is a file of age, not of crossgrain: use `age --decrypt`"),
    (3, "verify --key-file k age.asc", "'age.asc' is a file of age, not of crossgrain: use `age --decrypt`"),
    (3, "inspect gpg", "'gpg' is a file of OpenPGP, not of crossgrain: use `gpg --decrypt`"),
    (3, "inspect gpg.asc", "'gpg.asc' is a file of OpenPGP, not of crossgrain: use `gpg --decrypt`"),
    (3, "inspect openssl", "'openssl' is a file of `openssl enc`, not of crossgrain: use `openssl enc -d`"),
    (3, "decrypt --key-file k zip", "'zip' is a ZIP archive, not a file of crossgrain: use `unzip`"),
    (
        2,
        "encrypt --key-file short in",
        "key file 'short' holds no key of aes-256-gcm: it has 32 hex digits, give 32 bytes or 64 hex digits",
    ),
    (
        2,
        "decrypt --key-file in sealed",
        "key file 'in' holds no key of aes-256-gcm: it has 64 bytes, give 32 bytes or 64 hex digits",
    ),
    (2, "wisdom import plan", "plan is a plan, not wisdom: give it to --plan"),
    (
        3,
        "search --skip -1 --cipher aes-128",
        "invalid value '-1' for '--skip <N>': invalid digit found in string (see --help)",
    ),
    (
        3,
        "search --sector -1 --cipher aes-128",
        "invalid value '-1' for '--sector <N>': invalid digit found in string (see --help)",
    ),
    (
        2,
        "raw --sector -1 --cipher aes-128 --mode xts in",
        "invalid value '-1' for '--sector <N>': invalid digit found in string (see --help)",
    ),
    (
        2,
        "decrypt --range -1..5 sealed",
        "invalid value '-1..5' for '--range <A..B>': give two numbers of bytes, such as 4096..8192 or 1M..2M, or leave one out (see --help)",
    ),
    (
        2,
        "random --seed -1",
        "invalid value '-1' for '--seed <N>': give a number, or hex digits after 0x (see --help)",
    ),
    (
        2,
        "random --seed 0xg",
        "invalid value '0xg' for '--seed <N>': give a number, or hex digits after 0x (see --help)",
    ),
    (0, "-V", concat!("crossgrain ", env!("CARGO_PKG_VERSION"))),
    (0, "verify --key-file k sealed", "'sealed': authentic, 64 bytes in 1 chunk, aes-256-gcm"),
    (
        0,
        "verify --json --key-file k sealed",
        r#"{"authentic":true,"chunks":1,"file":"sealed","plaintext_bytes":64,"suite":"aes-256-gcm"}"#,
    ),
    (
        0,
        "encrypt --json --key-file k in -o new",
        r#"{"chunks":1,"file":"new","file_bytes":149,"kdf":"key","plaintext_bytes":64,"slots":["key"],"suite":"aes-256-gcm"}"#,
    ),
    (2, "encrypt --json --key-file k in", "with --json, the ciphertext must go to a file: give -o FILE"),
    (2, "encrypt --json --key-file k in -o -", "with --json, the ciphertext must go to a file: give -o FILE"),
    (
        2,
        "encrypt --kdf-memory 3X in",
        "invalid value '3X' for '--kdf-memory <SIZE>': give a size such as 64MiB, 512K or 1GiB, or a number of MiB (see --help)",
    ),
    (
        2,
        "encrypt --kdf-memory 0 in",
        "invalid value '0' for '--kdf-memory <SIZE>': it is less than 1 KiB: give a size such as 64MiB, 512K or 1GiB, or a number of MiB (see --help)",
    ),
    (
        2,
        "encrypt --kdf-memory 1MB in",
        "invalid value '1MB' for '--kdf-memory <SIZE>': it is no whole number of KiB: give a size such as 64MiB, 512K or 1GiB, or a number of MiB (see --help)",
    ),
    (
        2,
        "decrypt --kdf-memory-max 4T sealed",
        "invalid value '4T' for '--kdf-memory-max <SIZE>': it is more than 4 TiB: give a size such as 64MiB, 512K or 1GiB, or a number of MiB (see --help)",
    ),
    (
        3,
        "search --memory much --cipher aes-128",
        "invalid value 'much' for '--memory <SIZE>': give a size such as 64MiB, 512K or 1GiB, or a number of KiB (see --help)",
    ),
    (
        2,
        "plan --cipher aes-128 --job ctr --svg same --html same",
        "--svg and --html name one file: give each its own",
    ),
    (
        2,
        "plan --cipher aes-128 --job ctr --save same --html same",
        "--save and --html name one file: give each its own",
    ),
    (
        5,
        "plan --cipher aes-128 --job ctr --html plan",
        "'plan' exists: choose another name, or replace it by --force",
    ),
    (2, "bench nothing", "nothing that is timed has 'nothing' in its id: `crossgrain bench` alone times all"),
];

#[test]
fn each_message_says_what_is_wrong_and_what_to_do() {
    let place = place();
    let mut faults = Vec::new();
    for &(code, args, line) in ROWS {
        let args: Vec<_> = args.split(' ').collect();
        let Done { code: got, out, err } = place.run(&args);
        let (told, line) = match code {
            0 => (String::from_utf8_lossy(&out).into_owned() + &err, format!("{line}\n")),
            _ => (err, format!("crossgrain: {line}\n")),
        };
        if (got, &told) != (Some(code), &line) {
            faults.push(format!("{}: {got:?} {told}", args.join(" ")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join(""));
    assert_eq!(place.read("in"), painted(64, 1));
}

/// Without arguments the program prints a short help.
#[test]
fn nothing_typed_is_helped() {
    let done = Place::new().run(&[]);
    assert_eq!(done.code, Some(2));
    let lines = done.err.lines().count();
    assert!(done.err.contains("Usage: crossgrain <COMMAND>") && (5..=40).contains(&lines), "{}", done.err);
}

/// Numbers that people read have digit groups.
#[test]
fn large_numbers_have_digit_groups() {
    let place = Place::with(&painted(20_000, 1));
    place.run(&["keygen", "-o", "k"]).printed();
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "sealed"]).printed();
    for (args, words) in [
        (
            &["verify", "--key-file", "k", "sealed"][..],
            "'sealed': authentic, 20,000 bytes in 2 chunks, aes-256-gcm",
        ),
        (&["inspect", "sealed"], "20,000 bytes, if the file is whole"),
        (&["inspect", "--json", "sealed"], "\"plaintext_bytes\":20000"),
        (&["demo", "--bytes", "64K"], "65,536 bytes"),
        (&["circuit", "aes-round"], ","),
    ] {
        let out = String::from_utf8(place.run(args).printed()).unwrap();
        assert!(out.contains(words), "{args:?}: {out}");
    }
}

/// A bare number counts MiB.
#[test]
fn sizes_of_memory_have_suffixes() {
    let place = Place::with(b"data");
    place.write("pw", b"correct horse\n");
    for (size, kib) in [("1", 1024), ("1MiB", 1024), ("64K", 64), ("64k", 64), ("2M", 2048)] {
        let sealing = ["encrypt", "--passphrase-file", "pw", "--kdf-passes", "1", "--kdf-memory", size];
        place.run(&[&sealing[..], &["in", "-o", "sealed", "--force"]].concat()).printed();
        let header = place.run(&["inspect", "--json", "sealed"]).printed();
        let header: serde_json::Value = serde_json::from_slice(&header).unwrap();
        assert_eq!(header["kdf"]["memory_kib"], kib, "{size}");
    }
    let text = String::from_utf8(place.run(&["inspect", "sealed"]).printed()).unwrap();
    assert!(text.contains("Argon2id with 2 MiB, 1 passes"), "{text}");
    let help = String::from_utf8(place.run(&["encrypt", "--help"]).printed()).unwrap();
    assert!(help.contains("[default: 64MiB]"), "{help}");
}

#[test]
fn seeds_may_be_hex() {
    let random = |seed| Place::new().run(&["random", "--bytes", "40", "--seed", seed]).printed();
    assert_eq!(random("0x2A"), random("42"));
}
