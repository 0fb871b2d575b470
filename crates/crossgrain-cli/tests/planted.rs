//! Attacks by another user who can write to the directory: planted partial files, links, pipes, and names for
//! the same file. The program does not write to planted files, keep them, or encrypt under their salts.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::process::{Command, Stdio};

use common::{Done, IV, Place, fed, painted};

const CHUNK: usize = 16 * 1024;
const SEALED: usize = CHUNK + 16;
/// Length of the header of a file under a key, with salt and commitment.
const HEAD: usize = 13 + 56;
/// A user other than the one who runs the tests.
const ANOTHER: u32 = 65534;

const DECRYPT: [&str; 6] = ["decrypt", "--key-file", "k", "sealed", "-o", "out"];
const RESUME: [&str; 7] = ["decrypt", "--key-file", "k", "sealed", "-o", "out", "--resume"];
const ENCRYPT: [&str; 6] = ["encrypt", "--key-file", "k", "in", "-o", "out"];

fn sealed(data: &[u8]) -> Place {
    let place = Place::with(data);
    place.run(&["keygen", "-o", "k"]).printed();
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "sealed"]).printed();
    place
}

/// Gives a file to another user; `false`, with a printed skip, if that is not permitted.
fn give_away(place: &Place, name: &str) -> bool {
    let given = std::os::unix::fs::lchown(place.path(name), Some(ANOTHER), Some(ANOTHER)).is_ok();
    if !given {
        println!("skipped: files of another user (they cannot be made here)");
    }
    given
}

/// The salt of a file.
fn salt(file: &[u8]) -> &[u8] {
    &file[HEAD - 56..HEAD - 32]
}

/// Partial files planted from another input, from the same input, and from the same input before it was
/// truncated. No salt is used for two inputs.
#[test]
fn an_encryption_never_takes_a_salt_that_it_finds() {
    let data = painted(100_000, 1);
    let secrets = [
        vec!["--key-file", "k"],
        vec!["--passphrase-file", "k", "--kdf-memory", "1", "--kdf-passes", "1"],
        vec!["--key-file", "k", "--bare"],
    ];
    for secret in secrets {
        let place = sealed(&data);
        let encrypt = |output: &str, more: &[&str]| {
            place.run(&[&["encrypt", "in", "-o", output, "--force"], &secret[..], more].concat())
        };
        encrypt("first", &[]).printed();
        let first = place.read("first");
        let head = first.len() - (data.len() + (data.len() / CHUNK + 1) * 16);
        place.write("in", &painted(100_000, 2));
        for len in [1, head, head + SEALED, head + 3 * SEALED + 77, first.len()] {
            for mode in [0o600, 0o644] {
                place.write("out.part", &first[..len]);
                fs::set_permissions(place.path("out.part"), Permissions::from_mode(mode)).unwrap();
                let line = encrypt("out", &["--resume"]).refused(2);
                assert!(line.contains("not resumed"), "{line}");
                assert!(!place.path("out").exists());
                encrypt("out", &[]).printed();
                let second = place.read("out");
                assert_ne!(
                    second[head - 56..head - 32],
                    first[head - 56..head - 32],
                    "one salt for two inputs"
                );
                assert!(place.read("out.part") == first[..len]);
                fs::remove_file(place.path("out")).unwrap();
            }
        }
    }
}

/// Encrypting the same input twice gives two salts.
#[test]
fn every_encryption_has_a_salt_of_its_own() {
    let place = sealed(b"the same");
    place.run(&ENCRYPT).printed();
    assert_ne!(salt(&place.read("out")), salt(&place.read("sealed")));
}

/// The decrypted data is compared with the contents of OUT.part. Whatever that file holds, the result is the
/// plaintext or nothing.
#[test]
fn a_decryption_resumed_from_anything_gives_the_plaintext_or_nothing() {
    let data = painted(5 * CHUNK + 100, 3);
    let place = sealed(&data);
    let planted = [
        (data[..2 * CHUNK + 7].to_vec(), true),
        (Vec::new(), true),
        (data.clone(), true),
        (painted(2 * CHUNK, 4), false),
        ([&data[..], b"more"].concat(), false),
        (place.read("sealed"), false),
    ];
    for (bytes, is_taken) in planted {
        place.write("out.part", &bytes);
        fs::set_permissions(place.path("out.part"), Permissions::from_mode(0o600)).unwrap();
        if is_taken {
            place.run(&RESUME).printed();
            assert!(place.read("out") == data && !place.path("out.part").exists());
            assert_eq!(fs::metadata(place.path("out")).unwrap().mode() & 0o777, 0o600);
            fs::remove_file(place.path("out")).unwrap();
        } else {
            assert!(place.refuses(1, &RESUME).contains("remove that"));
        }
    }
}

/// A partial file must not be a link, and no other user may be able to read, write or have created it.
#[test]
fn a_partial_file_must_be_the_users_own_alone() {
    let data = painted(2 * CHUNK, 5);
    let place = sealed(&data);
    place.write("precious", b"of value");
    fs::set_permissions(place.path("precious"), Permissions::from_mode(0o600)).unwrap();
    let part = place.path("out.part");
    let refused = |why: &str| {
        let line = place.refuses(2, &RESUME);
        assert!(line.contains(why) && line.contains("out.part"), "{line}");
        assert_eq!(place.read("precious"), b"of value");
        fs::remove_file(&part).unwrap();
    };
    symlink("precious", &part).unwrap();
    refused("symbolic link");
    symlink("nowhere", &part).unwrap();
    refused("symbolic link");
    fs::hard_link(place.path("precious"), &part).unwrap();
    refused("more than one name");
    assert!(Command::new("mkfifo").arg(&part).status().unwrap().success());
    refused("no regular file");
    for mode in [0o644, 0o620, 0o606] {
        place.write("out.part", &data[..CHUNK]);
        fs::set_permissions(&part, Permissions::from_mode(mode)).unwrap();
        refused("can be read or written by others");
    }
    place.write("out.part", b"");
    fs::set_permissions(&part, Permissions::from_mode(0o600)).unwrap();
    if give_away(&place, "out.part") {
        refused("belongs to another user");
    }
    // The limits also apply when a run resumes.
    let sealing = ["encrypt", "--passphrase-file", "k", "--kdf-memory", "8", "in", "-o", "heavy"];
    place.run(&sealing).printed();
    let args =
        ["decrypt", "--passphrase-file", "k", "--kdf-memory-max", "1", "heavy", "-o", "out", "--resume"];
    assert!(place.refuses(2, &args).contains("--kdf-memory-max"));
}

/// A link or pipe that another user left under the output's name would divert the plaintext.
#[test]
fn what_another_user_left_under_the_name_is_not_written_to() {
    let place = sealed(b"data");
    place.write("precious", b"of value");
    symlink("precious", place.path("out")).unwrap();
    if !give_away(&place, "out") {
        return;
    }
    let forced = [&DECRYPT[..], &["--force"]].concat();
    assert!(place.refuses(5, &forced).contains("another user"));
    assert_eq!(place.read("precious"), b"of value");
    fs::remove_file(place.path("out")).unwrap();
    assert!(Command::new("mkfifo").arg(place.path("out")).status().unwrap().success());
    chown(place.path("out"), Some(ANOTHER), None).unwrap();
    for args in [&DECRYPT[..], &forced] {
        assert!(place.refuses(5, args).contains("another user"));
    }
    fs::remove_file(place.path("out")).unwrap();
    // Another user's file is replaced, but its permissions are not kept.
    place.write("out", b"theirs");
    fs::set_permissions(place.path("out"), Permissions::from_mode(0o666)).unwrap();
    chown(place.path("out"), Some(ANOTHER), None).unwrap();
    place.run(&forced).printed();
    let out = fs::metadata(place.path("out")).unwrap();
    assert_eq!((out.mode() & 0o7777, place.read("out")), (0o600, b"data".to_vec()));
}

/// Journals and files of found keys are also appended to.
#[test]
fn sessions_and_found_keys_are_not_written_through_links() {
    let search = ["search", "--cipher", "aes-128", "--key-mask", "000102030405060708090a0b0c0d0e??"];
    let known =
        ["--plain", "00112233445566778899aabbccddeeff", "--crypt", "69c4e0d86a7b0430d8cdb78070b4c55a"];
    let place = Place::new();
    place.write("precious", b"of value");
    symlink("precious", place.path("found")).unwrap();
    let args = [&search[..], &known, &["-o", "found"]].concat();
    let line = place.run(&args).err;
    assert!(line.contains("symbolic link"), "{line}");
    assert_eq!(place.read("precious"), b"of value");
    place.run(&[&search[..], &known, &["--session", "s"]].concat());
    assert!(place.path("s.session").exists() && place.path("s.found").exists());
    fs::rename(place.path("s.session"), place.path("real")).unwrap();
    symlink("real", place.path("s.session")).unwrap();
    let before = place.read("real");
    place.run(&["search", "--restore", "--session", "s"]);
    assert_eq!(place.read("real"), before);
}

/// A file used for two purposes would be lost for one of them, however its name is spelt.
#[test]
fn a_file_that_is_needed_besides_is_not_written_over() {
    let place = sealed(b"data");
    fs::create_dir(place.path("sub")).unwrap();
    symlink("k", place.path("link")).unwrap();
    fs::hard_link(place.path("k"), place.path("again")).unwrap();
    let key = place.read("k");
    for output in ["k", "./k", "sub/../k", "link", "again"] {
        for args in [
            &["encrypt", "--key-file", "k", "in", "-o", output, "--force"][..],
            &["encrypt", "--passphrase-file", "k", "in", "-o", output, "--force"],
            &["decrypt", "--key-file", "k", "sealed", "-o", output, "--force"],
            &["decrypt", "--key-file", "k", "sealed", "-o", output, "--force", "--resume"],
            &[
                "raw",
                "--cipher",
                "aes-256",
                "--mode",
                "ctr",
                "--iv",
                IV,
                "--key-file",
                "k",
                "in",
                "-o",
                output,
                "--force",
            ],
        ] {
            assert!(place.refuses(2, args).contains("name one file"));
            assert_eq!(place.read("k"), key);
        }
    }
    let gcm = ["raw", "--cipher", "aes-256", "--mode", "gcm", "--iv", IV, "--key-file", "k", "in"];
    for (output, tag) in [("out", "out"), ("out", "./out"), ("out", "sub/../out"), ("sub/out", "sub/./out")] {
        let line = place.refuses(2, &[&gcm[..], &["-o", output, "--tag-file", tag, "--force"]].concat());
        assert!(line.contains("--tag-file"), "{line}");
    }
    for tag in ["k", "in", "./in", "link"] {
        place.refuses(2, &[&gcm[..], &["-o", "out", "--tag-file", tag, "--force"]].concat());
    }
    place.run(&[&gcm[..], &["-o", "out", "--tag-file", "sub/out"]].concat()).printed();
    place.refuses(2, &["plan", "--cipher", "aes-128", "--job", "ctr", "--save", "p", "--svg", "./p"]);
}

/// A file that is both input and output would be read without end, or truncated before it is read.
#[test]
fn a_file_is_not_written_while_it_is_read() {
    // More than the program buffers.
    let data = painted(5 << 20, 9);
    let place = sealed(&data);
    let encrypted = place.read("sealed");
    let raw = format!("raw --cipher aes-256 --mode ctr --iv {IV} --key-file k");
    for line in [
        "encrypt --key-file k in >> in",
        "encrypt --key-file k in 1<> in",
        "encrypt --key-file k < in >> in",
        "encrypt --key-file k in -o - >> in",
        "decrypt --key-file k sealed >> sealed",
        "decrypt --key-file k sealed --range 0..3 1<> sealed",
        &format!("{raw} in >> in"),
        &format!("{raw} < in 1<> in"),
    ] {
        let mut command = Command::new("sh");
        let line = format!("ulimit -f 40000; \"$0\" {line}");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_crossgrain")]).current_dir(place.path("."));
        let done: Done = command.stdin(Stdio::null()).output().unwrap().into();
        assert!(done.refused(2).contains("one file"), "{line}");
        assert!(place.read("in") == data && place.read("sealed") == encrypted, "{line}");
    }
    let through =
        ["-c", "\"$0\" encrypt --key-file k /dev/null > /dev/null", env!("CARGO_BIN_EXE_crossgrain")];
    assert!(Command::new("sh").args(through).current_dir(place.path(".")).status().unwrap().success());
}

/// The program starts without standard streams. A missing input must not count as empty, and output must not
/// be lost.
#[test]
fn a_closed_stream_is_told() {
    let place = sealed(b"data");
    let shell = |line: &str| -> Done {
        let mut command = Command::new("sh");
        let line = format!("exec \"$0\" {line}");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_crossgrain")]).current_dir(place.path("."));
        command.stdin(Stdio::null()).output().unwrap().into()
    };
    for line in [
        "encrypt --key-file k <&-",
        "encrypt --key-file k - -o out <&-",
        "decrypt --key-file k sealed >&-",
        "encrypt --key-file k in >&-",
        "keygen >&-",
        "random --seed 1 --bytes 10 >&-",
        "variants >&-",
        "plan --cipher aes-128 --job ctr >&-",
        "inspect sealed >&-",
    ] {
        assert!(shell(line).refused(1).contains("it is closed"), "{line}");
    }
    shell("encrypt --key-file k in -o out <&- >&-").printed();
    shell("decrypt --key-file k out >/dev/null").printed();
    shell("encrypt --key-file k </dev/null").printed();
}

/// An endless device is refused by its file type, or by its length where a pipe is allowed.
#[test]
fn a_device_without_end_is_no_file_of_plans() {
    let place = Place::with(b"data");
    let key = "2b7e151628aed2a6abf7158809cf4f3c";
    let args = ["raw", "--cipher", "aes-128", "--mode", "ctr", "--key", key, "--iv", IV];
    for (args, code, reason) in [
        ([&args[..], &["--plan", "/dev/zero", "in"]].concat(), 1, "no regular file"),
        (vec!["wisdom", "import", "/dev/zero"], 1, "no regular file"),
        (vec!["circuit", "--table", "/dev/zero"], 2, "too long for a table"),
    ] {
        let line = place.refuses(code, &args);
        assert!(line.contains(reason), "{line}");
    }
}

/// If no thread can be created, one thread does the work, or the program refuses in one line.
#[cfg(target_os = "linux")]
#[test]
fn no_thread_to_be_had_is_no_panic() {
    let place = sealed(&painted(3 << 20, 7));
    let data = place.read("in");
    fs::set_permissions(place.path("."), Permissions::from_mode(0o777)).unwrap();
    for name in ["k", "in", "sealed"] {
        chown(place.path(name), Some(ANOTHER), None).unwrap_or_default();
    }
    let limited = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        // The limit counts threads, so a user with one process cannot create another.
        let line = r#"ulimit -u 1; exec "$0" "$@""#;
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", line]);
        command.arg(env!("CARGO_BIN_EXE_crossgrain")).args(args).current_dir(place.path("."));
        command.stdin(Stdio::null()).env("CROSSGRAIN_WISDOM", "no-wisdom-here.json");
        command
    };
    let can = limited(&["variants"]).output();
    if !can.as_ref().is_ok_and(|done| done.status.success()) {
        println!("skipped: a limit of threads (another user cannot be had here: {can:?})");
        return;
    }
    const RANGE: &str = "000102030405060708090a0b0c0d0000..000102030405060708090a0b0c0dffff";
    const KNOWN: [&str; 6] = [
        "--cipher",
        "aes-128",
        "--plain",
        "00112233445566778899aabbccddeeff",
        "--crypt",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    ];
    place.write("keys", b"00000000000000000000000000000000\n000102030405060708090a0b0c0d0e0f\n");
    let gcm = ["--cipher", "aes-256", "--mode", "gcm", "--iv", IV, "--key-file", "k"];
    for args in [
        &["encrypt", "--key-file", "k", "in"][..],
        &["decrypt", "--key-file", "k", "sealed"],
        &["verify", "--key-file", "k", "sealed"],
        &[&["raw"], &gcm[..], &["in"]].concat(),
        &["random", "--seed", "1", "--bytes", "3000000"],
        &[&["search", "--key-mask", "000102030405060708090a0b0c0d????"], &KNOWN[..]].concat(),
        &[&["search", "--json", "--threads", "2", "--session", "one", "--range", RANGE], &KNOWN[..]].concat(),
        &[&["search", "--words", "keys", "--form", "hex"], &KNOWN[..]].concat(),
        &["demo", "--bytes", "1000000"],
        &["encrypt", "--passphrase-file", "k", "--kdf-memory", "1", "in"],
    ] {
        let done: Done = limited(args).output().unwrap().into();
        assert!(!done.err.contains("panicked"), "{args:?}: {}", done.err);
        let is_right = done.code.is_some_and(|code| (0..=2).contains(&code));
        assert!(is_right, "{args:?}: {:?} {}", done.code, done.err);
        if args[0] == "search" {
            let found = String::from_utf8(done.out.clone()).unwrap();
            assert!(
                done.code == Some(0) && found.contains("000102030405060708090a0b0c0d0e0f"),
                "{}",
                done.err
            );
        }
        if args[0] == "decrypt" && done.code == Some(0) {
            assert!(done.out == data);
        }
    }
}

/// Memory used to derive keys is overwritten by the time the data is read.
#[cfg(target_os = "linux")]
#[test]
fn passphrases_do_not_stay_in_memory() {
    use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
    let place = Place::new();
    let passphrase = "Qx7#81 unmistakably of this test";
    place.write("pw", format!("{passphrase}\n").as_bytes());
    let plaintext = painted(3 << 20, 8);
    let sealing = ["encrypt", "--passphrase-file", "pw", "--kdf-memory", "1", "--threads", "1", "-o", "out"];
    let mut child = place.command(&sealing).stdin(Stdio::piped()).spawn().unwrap();
    let mut open = child.stdin.take().unwrap();
    open.write_all(&plaintext).unwrap();
    common::until_written(&child, 1 << 20);
    let maps = fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
    let mut memory = fs::File::open(format!("/proc/{}/mem", child.id())).unwrap();
    let mut holds = |needle: &[u8]| {
        let writable = |line: &&str| line.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw"));
        maps.lines().filter(writable).find(|line| {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [from, to] = [from, to].map(|place| u64::from_str_radix(place, 16).unwrap());
            let mut bytes = vec![0; (to - from) as usize];
            memory.seek(SeekFrom::Start(from)).unwrap();
            memory.read_exact(&mut bytes).is_ok()
                && bytes.windows(needle.len()).any(|window| window == needle)
        })
    };
    // Control: the search finds data that must be in memory.
    let is_held = [2 << 20, 3 << 20].into_iter().any(|end| holds(&plaintext[end - 100..end - 10]).is_some());
    assert!(is_held, "memory cannot be searched");
    assert_eq!(holds(&passphrase.as_bytes()[..20]), None, "the passphrase is still in memory");
    drop(open);
    assert!(child.wait().unwrap().success());
    let back = place.run(&["decrypt", "--passphrase-file", "pw", "out"]).printed();
    assert!(back == plaintext);
    let verified = fed(place.command(&["verify", "--passphrase-file", "pw"]), &place.read("out")).printed();
    assert!(verified.starts_with(b"standard input: authentic, "));
}
