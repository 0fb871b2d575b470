//! Files with slots on the command line: identities and recipients, `rekey`, and agreement with an independent
//! implementation.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{MIB, Place, fed, painted};

const CHEAP: [&str; 4] = ["--kdf-memory", "1", "--kdf-passes", "1"];
/// Bytes of salt and commitment.
const PREFIX: usize = 56;

/// Makes an identity file, and gives its recipient.
fn identity(place: &Place, name: &str) -> String {
    let printed = place.run(&["keygen", "--x25519", "-o", name]).printed();
    String::from_utf8(printed).unwrap().trim_end().to_owned()
}

/// A place with the plaintext `in`, the passphrases `pw`, `new` and `bad`, and identities `alice` and `bob`.
fn place(data: &[u8]) -> (Place, [String; 2]) {
    let place = Place::with(data);
    place.write("pw", b"correct horse\n");
    place.write("new", b"battery staple\n");
    place.write("bad", b"something else\n");
    let recipients = ["alice", "bob"].map(|name| identity(&place, name));
    (place, recipients)
}

/// The same with the file `sealed`, encrypted with the passphrase `pw`.
fn sealed(data: &[u8]) -> (Place, [String; 2]) {
    let (place, recipients) = place(data);
    let args = ["encrypt", "--passphrase-file", "pw", "in", "-o", "sealed"];
    place.run(&[&args[..], &CHEAP].concat()).printed();
    (place, recipients)
}

/// Bytes of the header of a file of version 2.
fn header_bytes(file: &[u8]) -> usize {
    assert_eq!(&file[..11], b"crossgrain\x02");
    14 + usize::from(u16::from_be_bytes([file[12], file[13]])) + 32
}

#[track_caller]
fn opens(place: &Place, file: &str, secret: &[&str]) {
    let opened = place.run(&[&["decrypt", file], secret].concat()).printed();
    assert!(opened == place.read("in"), "{secret:?}");
}

fn slots(place: &Place, file: &str) -> Vec<String> {
    let printed = place.run(&["inspect", "--json", file]).printed();
    let json: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    let names = json["slots"].as_array().unwrap().iter().map(|slot| match slot {
        serde_json::Value::String(name) => name.clone(),
        slot => slot["name"].as_str().unwrap().to_owned(),
    });
    names.collect()
}

#[test]
fn what_a_replaced_secret_opened_it_opens_no_longer() {
    let (place, [alice, bob]) = sealed(b"data");
    // The same passphrase in two slots.
    place
        .run(
            &[
                &["rekey", "--passphrase-file", "pw", "--keep", "--new-passphrase-file", "pw", "sealed"],
                &CHEAP[..],
            ]
            .concat(),
        )
        .printed();
    assert_eq!(slots(&place, "sealed").len(), 2);
    let change = ["rekey", "--passphrase-file", "pw", "--new-passphrase-file", "new", "sealed"];
    place.run(&[&change[..], &CHEAP].concat()).printed();
    assert_eq!(slots(&place, "sealed").len(), 1);
    opens(&place, "sealed", &["--passphrase-file", "new"]);
    place.refuses(2, &["decrypt", "--passphrase-file", "pw", "sealed"]);
    // Two identities in one file, and one recipient named twice.
    place.write("both", &[place.read("alice"), place.read("bob")].concat());
    place.run(&["encrypt", "-r", &alice, "-r", &bob, "-r", &alice, "in", "-o", "two"]).printed();
    assert_eq!(slots(&place, "two").len(), 2);
    let change = ["rekey", "--identity", "both", "--new-passphrase-file", "new", "two"];
    place.run(&[&change[..], &CHEAP].concat()).printed();
    for identity in ["alice", "bob"] {
        place.refuses(2, &["decrypt", "--identity", identity, "two"]);
    }
}

/// A descriptor of a file is not opened anew, which would read its first line again.
#[cfg(unix)]
#[test]
fn one_descriptor_gives_several_passphrases() {
    let (place, _) = sealed(b"data");
    place.write("lines", &[place.read("pw"), place.read("new")].concat());
    let shell = format!(
        "exec {} rekey --passphrase-fd 3 --new-passphrase-fd 3 --kdf-memory 1 --kdf-passes 1 sealed 3< lines",
        env!("CARGO_BIN_EXE_crossgrain")
    );
    let done = Command::new("sh").args(["-c", &shell]).current_dir(place.path(".")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    opens(&place, "sealed", &["--passphrase-file", "new"]);
    place.refuses(2, &["decrypt", "--passphrase-file", "pw", "sealed"]);
}

#[test]
fn no_message_shows_a_secret_that_was_given_in_a_wrong_place() {
    let (place, _) = sealed(b"data");
    let text = String::from_utf8(place.read("alice")).unwrap();
    let secret = text.lines().last().unwrap().to_owned();
    let lower = secret.to_ascii_lowercase();
    let key = &secret["AGE-SECRET-KEY-1".len()..];
    for args in [
        &["encrypt", "-r", &secret, "in", "-o", "out"][..],
        &["encrypt", "-r", &lower, "in", "-o", "out"],
        &["encrypt", "-R", "alice", "in", "-o", "out"],
        &["encrypt", "-R", &secret, "in", "-o", "out"],
        &["decrypt", "-i", &secret, "sealed"],
        &["decrypt", "sealed", "-o", &secret, &secret],
        &["keygen", "--recipient-of", &secret],
        &[&secret],
    ] {
        let done = place.run(args);
        assert!(matches!(done.code, Some(1 | 2)), "{:?}", done.code);
        let told = done.err.to_ascii_uppercase();
        let is_shown = |at: usize| told.contains(&key[at..at + 4]);
        assert!(!(0..key.len() - 4).any(is_shown), "{}", done.err);
    }
    let done = place.run(&["decrypt", "--passphrase=hunter2secret", "sealed"]);
    assert!(done.code == Some(2) && !done.err.contains("hunter2"), "{}", done.err);
}

/// No passphrase is asked for if none opens the file.
#[test]
fn the_secret_that_a_file_wants_is_named() {
    let (place, [alice, _]) = place(b"data");
    place.run(&["keygen", "-o", "k"]).printed();
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "by-key"]).printed();
    place.run(&["encrypt", "-r", &alice, "in", "-o", "by-identity"]).printed();
    for (file, option) in [("by-key", "--key-file"), ("by-identity", "--identity")] {
        for command in ["decrypt", "verify"] {
            assert!(place.refuses(2, &[command, file]).contains(option));
        }
    }
    let line = place.refuses(2, &["rekey", "--new-passphrase-file", "pw", "by-identity"]);
    assert!(line.contains("--identity"), "{line}");
}

#[test]
fn an_identity_is_for_its_owner_and_its_recipient_for_all() {
    let (place, [alice, bob]) = place(b"data");
    assert!(alice.starts_with("age1") && alice != bob);
    let text = String::from_utf8(place.read("alice")).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], format!("# public key: {alice}"));
    assert!(lines.len() == 2 && lines[1].starts_with("AGE-SECRET-KEY-1"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(place.path("alice")).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let both = [place.read("alice"), b"\r\n  # a comment\n".to_vec(), place.read("bob")].concat();
    place.write("both", &both);
    let printed = place.run(&["keygen", "--recipient-of", "both"]).printed();
    assert_eq!(String::from_utf8(printed).unwrap(), format!("{alice}\n{bob}\n"));
    let streamed = place.run(&["keygen", "--x25519"]).printed();
    assert_eq!(streamed.len(), text.len());
    place.refuses(5, &["keygen", "--x25519", "-o", "alice"]);
    for args in [
        &["keygen", "--x25519", "--suite", "aes-256-gcm"][..],
        &["keygen", "--recipient-of", "alice", "-o", "x"],
        &["keygen", "--recipient-of", "in"],
        &["keygen", "--recipient-of", "-"],
    ] {
        place.refuses(2, args);
    }
    let line = place.refuses(2, &["keygen", "--recipient-of", "in"]);
    assert!(line.contains("line 1") && line.contains("no identity"), "{line}");
    assert!(!line.contains("data:"), "{line}");
    place.write("empty", b"# nothing\n\n");
    assert!(place.refuses(2, &["keygen", "--recipient-of", "empty"]).contains("holds no identity"));
    place.write("many", &[text.as_bytes(); 65].concat());
    assert!(place.refuses(2, &["keygen", "--recipient-of", "many"]).contains("more than 64"));
    assert_eq!(place.run(&["keygen", "--recipient-of", "absent"]).code, Some(1));
}

#[test]
fn each_recipient_opens_a_file() {
    let data = painted(3 * 16384 + 100, 1);
    let (place, [alice, bob]) = place(&data);
    place.write("team", format!("# the team\n{bob}\r\n\n").as_bytes());
    let args = ["encrypt", "--recipient", &alice, "--recipients-file", "team", "in", "-o", "sealed"];
    place.run(&args).printed();
    identity(&place, "eve");
    for who in ["alice", "bob"] {
        opens(&place, "sealed", &["--identity", who]);
        place.run(&["verify", "--identity", who, "sealed"]).printed();
        let range = ["decrypt", "--identity", who, "--range", "16000..17000", "sealed"];
        assert!(place.run(&range).printed() == data[16000..17000]);
        place.run(&["decrypt", "--identity", who, "sealed", "-o", who, "--force"]).refused(2);
        place.run(&["decrypt", "--identity", who, "sealed", "-o", "out", "--resume"]).printed();
        assert!(place.read("out") == data);
        fs::remove_file(place.path("out")).unwrap();
        let piped = fed(place.command(&["decrypt", "--identity", who]), &place.read("sealed"));
        assert!(piped.printed() == data);
    }
    place.write("both", &[place.read("eve"), place.read("bob")].concat());
    opens(&place, "sealed", &["--identity", "both"]);
    let line = place.refuses(2, &["decrypt", "--identity", "eve", "sealed", "-o", "out"]);
    assert!(line.contains("wrong"), "{line}");
    let line = place.refuses(2, &["decrypt", "--passphrase-file", "pw", "sealed"]);
    assert!(line.contains("to recipients") && line.contains("--identity"), "{line}");
    let text = String::from_utf8(place.run(&["inspect", "sealed"]).printed()).unwrap();
    assert!(text.contains("version    2\n") && text.contains("slot 2     an identity (X25519)\n"), "{text}");
    assert!(text.contains("plaintext  49,252 bytes"), "{text}");
    // Nothing in the file shows who the recipients are.
    let file = place.read("sealed");
    assert!(!file.windows(8).any(|window| alice.as_bytes().windows(8).any(|part| part == window)));
    assert_eq!(slots(&place, "sealed"), ["x25519", "x25519"]);
}

#[test]
fn a_passphrase_and_recipients_open_one_file() {
    let (place, [alice, _]) = place(b"data");
    place.run(&["keygen", "-o", "k"]).printed();
    let args = ["encrypt", "--passphrase-file", "pw", "--recipient", &alice, "in", "-o", "sealed", "--json"];
    let json = place.run(&[&args[..], &CHEAP].concat()).printed();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!((&json["kdf"]["name"], &json["slots"][1]), (&"argon2id".into(), &"x25519".into()));
    assert_eq!(json["file_bytes"], place.read("sealed").len());
    opens(&place, "sealed", &["--passphrase-file", "pw"]);
    opens(&place, "sealed", &["--identity", "alice"]);
    place.run(&["encrypt", "--key-file", "k", "--recipient", &alice, "in", "-o", "by-key"]).printed();
    opens(&place, "by-key", &["--key-file", "k"]);
    opens(&place, "by-key", &["--identity", "alice"]);
    // One key makes a file of version 1, as before.
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "one"]).printed();
    assert_eq!(place.read("one")[10], 1);
    assert!(place.refuses(2, &["decrypt", "--identity", "alice", "one"]).contains("by a key"));
}

#[test]
fn usage_that_makes_no_sense_is_refused() {
    let (place, [alice, _]) = sealed(b"data");
    place.run(&["keygen", "-o", "k"]).printed();
    place.write("none", b"# nobody\n");
    for args in [
        &["encrypt", "--recipient", "age1xyz", "in"][..],
        &["encrypt", "--recipients-file", "in", "in"],
        &["encrypt", "--recipients-file", "none", "in"],
        &["encrypt", "--bare", "--key-file", "k", "--recipient", &alice, "in"],
        &["decrypt", "--identity", "alice", "--key-file", "k", "sealed"],
        &["decrypt", "--identity", "alice", "--passphrase-file", "pw", "sealed"],
        &["decrypt", "--identity", "-", "sealed"],
        &["decrypt", "--identity", "in", "sealed"],
        &["decrypt", "--identity", "alice", "--bare", "--suite", "aes-256-gcm", "sealed"],
        &["encrypt", "--identity", "alice", "in"],
        &[
            "rekey",
            "--passphrase-file",
            "pw",
            "--new-passphrase-file",
            "new",
            "--new-key-file",
            "k",
            "sealed",
        ],
        &["rekey", "--passphrase-file", "pw", "--new-key-file", "in", "sealed"],
        &["rekey", "--passphrase-file", "pw", "--new-key-file", "k", "sealed", "--force"],
        &["rekey", "--passphrase-file", "pw", "--new-key-file", "k", "sealed", "-o", "k", "--force"],
        &["rekey", "--passphrase-file", "pw", "--new-key-file", "k", "sealed", "-o", "sealed", "--force"],
        &["rekey", "--passphrase-file", "pw", "--remove", "1", "sealed"],
        &["rekey", "--passphrase-file", "pw", "--remove", "2", "sealed"],
        &["rekey", "--passphrase-file", "pw", "--remove", "0", "sealed"],
        &["rekey", "--passphrase-file", "bad", "--new-passphrase-file", "new", "sealed"],
        &["rekey", "--key-file", "k", "--new-passphrase-file", "new", "sealed"],
        // There is no terminal to ask at.
        &["rekey", "--passphrase-file", "pw", "sealed"],
    ] {
        place.refuses(2, args);
    }
    place.refuses(5, &["rekey", "--passphrase-file", "pw", "--new-key-file", "k", "sealed", "-o", "in"]);
    place.refuses(3, &["rekey", "--passphrase-file", "pw", "--new-key-file", "k", "in"]);
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "one"]).printed();
    let line = place.refuses(2, &["rekey", "--key-file", "k", "--new-passphrase-file", "new", "one"]);
    assert!(line.contains("version 1"), "{line}");
}

#[test]
fn a_passphrase_is_changed_and_the_payload_is_not() {
    let data = painted(2 * MIB + 77, 2);
    let (place, [alice, bob]) = sealed(&data);
    let before = place.read("sealed");
    let change = ["rekey", "--passphrase-file", "pw", "--new-passphrase-file", "new", "sealed"];
    let change = [&change[..], &CHEAP].concat();
    // To another file.
    place.run(&[&change[..], &["-o", "copy"]].concat()).printed();
    assert!(place.read("sealed") == before);
    opens(&place, "copy", &["--passphrase-file", "new"]);
    // In place.
    place.run(&change).printed();
    let after = place.read("sealed");
    assert!(before[header_bytes(&before)..] == after[header_bytes(&after)..]);
    opens(&place, "sealed", &["--passphrase-file", "new"]);
    place.refuses(2, &["decrypt", "--passphrase-file", "pw", "sealed"]);
    place.run(&["verify", "--passphrase-file", "new", "sealed"]).printed();
    // Recipients are added, and the passphrase is kept.
    let add =
        ["rekey", "--passphrase-file", "new", "--keep", "--recipient", &alice, "--recipient", &bob, "sealed"];
    place.run(&add).printed();
    assert_eq!(slots(&place, "sealed"), ["argon2id", "x25519", "x25519"]);
    opens(&place, "sealed", &["--passphrase-file", "new"]);
    opens(&place, "sealed", &["--identity", "bob"]);
    // One of them is removed by the other.
    place.run(&["rekey", "--identity", "bob", "--remove", "2", "--remove", "1", "sealed"]).printed();
    assert_eq!(slots(&place, "sealed"), ["x25519"]);
    opens(&place, "sealed", &["--identity", "bob"]);
    place.refuses(2, &["decrypt", "--identity", "alice", "sealed"]);
    place.refuses(2, &["decrypt", "--passphrase-file", "new", "sealed"]);
    // An identity is replaced.
    place.run(&["rekey", "--identity", "bob", "--recipient", &alice, "sealed"]).printed();
    opens(&place, "sealed", &["--identity", "alice"]);
    place.refuses(2, &["decrypt", "--identity", "bob", "sealed"]);
    let end = place.read("sealed");
    assert!(before[header_bytes(&before)..] == end[header_bytes(&end)..]);
}

#[cfg(unix)]
#[test]
fn a_changed_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let (place, _) = sealed(b"data");
    fs::set_permissions(place.path("sealed"), fs::Permissions::from_mode(0o640)).unwrap();
    let change = ["rekey", "--passphrase-file", "pw", "--new-passphrase-file", "new", "sealed"];
    place.run(&[&change[..], &CHEAP].concat()).printed();
    assert_eq!(fs::metadata(place.path("sealed")).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    place.refuses(
        2,
        &[
            "rekey",
            "--passphrase-file",
            "new",
            "--new-passphrase-file",
            "pw",
            "sealed",
            "-o",
            "pipe",
            "--force",
        ],
    );
}

/// A changed chunk stays changed, and what precedes the chunks must be right.
#[test]
fn damage_is_neither_hidden_nor_spread() {
    let (place, [alice, _]) = sealed(&painted(50_000, 3));
    let whole = place.read("sealed");
    let head = header_bytes(&whole) + PREFIX;
    let change = ["rekey", "--passphrase-file", "pw", "--recipient", &alice, "sealed", "-o", "out"];
    for (at, code) in [(head - PREFIX - 1, 3), (head - PREFIX, 3), (head - 1, 3)] {
        let mut file = whole.clone();
        file[at] ^= 1;
        place.write("sealed", &file);
        place.refuses(code, &change);
    }
    let mut file = whole.clone();
    file[head + 20_000] ^= 1;
    place.write("sealed", &file);
    place.run(&change).printed();
    let line = place.refuses(3, &["verify", "--identity", "alice", "out"]);
    assert!(line.contains("chunk 1 "), "{line}");
    for len in [0, 12, 13, 14, 100, head - 1] {
        place.write("sealed", &whole[..len]);
        place.refuses(4, &[&change[..7], &["other"]].concat());
    }
}

/// Flips one bit of every byte, and truncates at every byte. The library's tests flip all bits.
#[test]
fn whatever_is_changed_in_a_header_has_its_exit_code() {
    let (place, [alice, _]) = place(b"some plaintext");
    let args = ["encrypt", "--passphrase-file", "pw", "--recipient", &alice, "in", "-o", "sealed"];
    place.run(&[&args[..], &CHEAP].concat()).printed();
    let whole = place.read("sealed");
    let header = header_bytes(&whole);
    let own = 14 + 2 + usize::from(whole[15]) + PREFIX + 48..header - 32;
    let decrypt = ["decrypt", "--identity", "alice", "sealed", "-o", "out"];
    for at in (0..header + PREFIX + 5).filter(|at| at % 3 == 0 || *at < 20 || *at > header - 40) {
        let mut file = whole.clone();
        file[at] ^= 1 << (at % 8);
        place.write("sealed", &file);
        let codes = match at {
            0..11 => &[3][..],
            // Another suite: a header that is too long or too short for it, or another key.
            11 => &[2, 3],
            12 | 13 => &[3, 4],
            _ if own.contains(&at) => &[2, 3],
            _ => &[3],
        };
        let before = place.look();
        let done = place.run(&decrypt);
        assert!(codes.iter().any(|&code| done.code == Some(code)), "byte {at}: {done:?}");
        assert!(done.err.starts_with("crossgrain: ") && place.look() == before, "byte {at}: {done:?}");
        place.write("sealed", &whole[..at]);
        place.refuses(4, &decrypt);
    }
}

#[test]
fn the_passphrase_of_a_file_is_found() {
    let (place, [alice, _]) = place(b"data");
    place.write("words", b"one\nbattery\ncorrect horse\nstaple\n");
    let args = ["encrypt", "--recipient", &alice, "--passphrase-file", "pw", "in", "-o", "sealed"];
    place.run(&[&args[..], &CHEAP].concat()).printed();
    let found = place.run(&["search", "--file", "sealed", "--words", "words"]);
    assert_eq!(found.code, Some(0), "{}", found.err);
    assert!(String::from_utf8(found.out).unwrap().contains("correct horse"));
    place.run(&["encrypt", "--recipient", &alice, "in", "-o", "to-alice"]).printed();
    let refused = place.run(&["search", "--file", "to-alice", "--words", "words"]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.err.contains("to recipients"), "{}", refused.err);
}

/// Kills runs that change a file in place, at many moments: there is the old file or the new one.
///
/// A run that is killed right before its rename leaves the complete new file under its temporary name.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_change_leaves_the_old_file_or_the_new_one() {
    use std::collections::BTreeSet;
    use std::thread;
    use std::time::Instant;
    let (place, _) = sealed(&painted(12 * MIB + 5, 5));
    let names = || -> BTreeSet<String> {
        let entries = fs::read_dir(place.path(".")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let before = names();
    let change = |from: &str, to: &str| {
        let args = ["rekey", "--passphrase-file", from, "--new-passphrase-file", to, "sealed"];
        place.command(&[&args[..], &CHEAP].concat())
    };
    let start = Instant::now();
    assert!(change("pw", "new").status().unwrap().success());
    let whole = start.elapsed();
    let mut is_new = true;
    let mut finished = 0;
    for round in 0..25_u32 {
        let (from, to) = if is_new { ("new", "pw") } else { ("pw", "new") };
        let mut child = change(from, to).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(whole * (round * 37 % 25) / 25);
        child.kill().unwrap();
        child.wait().unwrap();
        let verified = |secret| place.run(&["verify", "--passphrase-file", secret, "sealed"]).code == Some(0);
        let is_changed = verified(to);
        assert!(is_changed != verified(from), "round {round}");
        is_new ^= is_changed;
        finished += u32::from(is_changed);
        for left in names().difference(&before) {
            assert!(left.starts_with(".crossgrain-") && left.ends_with(".part") && !is_changed, "{left}");
            let whole = ["verify", "--passphrase-file", to, left];
            assert_eq!(place.run(&whole).code, Some(0), "{left} is not complete");
            fs::remove_file(place.path(left)).unwrap();
            println!("{left} stayed");
        }
        assert!(names() == before, "round {round}");
    }
    println!("{finished} of 25 ended before they were killed");
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

#[test]
fn an_independent_program_reads_and_writes_the_same() {
    let Some(python) = python("cryptography.hazmat.primitives.kdf.argon2") else { return };
    let theirs = |args: &[&str], input: &[u8]| {
        let mut command = Command::new(&python);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/independent/container.py")).args(args);
        let done = fed(command, input);
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.out
    };
    for (suite, len) in [("aes-256-gcm", 16385), ("aes-128-gcm", 0), ("aes-256-ocb", 100), ("aes-256-eax", 1)]
    {
        let data = painted(len, 4);
        let (place, [alice, bob]) = place(&data);
        place.run(&["keygen", "--suite", suite, "-o", "k"]).printed();
        let text = |name: &str| String::from_utf8(place.read(name)).unwrap();
        let secrets = [
            format!("key:{}", text("k").trim()),
            "passphrase:correct horse".to_owned(),
            format!("identity:{}", text("bob").lines().last().unwrap()),
        ];
        let ours = ["encrypt", "--suite", suite, "--recipient", &alice, "--recipient", &bob, "in"];
        let by_key = place.run(&[&ours[..], &["--key-file", "k"]].concat()).printed();
        let by_passphrase = place.run(&[&ours[..], &["--passphrase-file", "pw"], &CHEAP].concat()).printed();
        for (file, secret) in [(&by_key, 0), (&by_key, 2), (&by_passphrase, 1), (&by_passphrase, 2)] {
            assert!(theirs(&["decrypt", "-", &secrets[secret]], file) == data, "{suite} {secret}");
        }
        let (slots, recipients) =
            (format!("slots:{suite}"), [alice, bob].map(|one| format!("recipient:{one}")));
        let locks = [&secrets[0], &recipients[0], &secrets[1], &recipients[1]].map(String::as_str);
        place.write("theirs", &theirs(&[&["encrypt", &slots][..], &locks].concat(), &data));
        for secret in
            [["--key-file", "k"], ["--passphrase-file", "pw"], ["--identity", "alice"], ["--identity", "bob"]]
        {
            opens(&place, "theirs", &secret);
        }
        let change = ["rekey", "--identity", "bob", "--new-passphrase-file", "new", "theirs"];
        place.run(&[&change[..], &CHEAP].concat()).printed();
        assert!(theirs(&["decrypt", "-", "passphrase:battery staple"], &place.read("theirs")) == data);
    }
}
