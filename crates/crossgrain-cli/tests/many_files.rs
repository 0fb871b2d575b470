//! Several files in one run, and the sources of passphrases.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs;

use common::{Done, Place, painted};
use serde_json::Value;

/// A place with the files `a`, `b` and `d/c`, and the key `k`.
fn three() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("d")).unwrap();
    for (seed, name) in (0..).zip(["a", "b", "d/c"]) {
        place.write(name, &painted(20_000 * seed, seed as u64));
    }
    place.run(&["keygen", "-o", "k"]).printed();
    place
}

fn lines(done: &Done) -> Vec<&str> {
    done.err.lines().collect()
}

#[test]
fn several_files_are_encrypted_each_and_come_back() {
    let place = three();
    assert!(place.run(&["encrypt", "--key-file", "k", "a", "b", "d/c"]).printed().is_empty());
    let told = place.run(&["verify", "--key-file", "k", "a.cg", "b.cg", "d/c.cg"]).printed();
    let told = String::from_utf8(told).unwrap();
    let names: Vec<_> = told.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(names, ["'a.cg'", "'b.cg'", "'d/c.cg'"], "{told}");
    place.run(&["decrypt", "--key-file", "k", "a.cg", "b.cg", "d/c.cg", "--output-dir", "new/out"]).printed();
    for (name, back) in [("a", "new/out/a"), ("b", "new/out/b"), ("d/c", "new/out/c")] {
        assert_eq!(place.read(name), place.read(back));
    }
    // One input counts as several if the options name its output.
    place.run(&["encrypt", "--key-file", "k", "a", "--suffix", ".sealed"]).printed();
    fs::remove_file(place.path("a")).unwrap();
    place.run(&["decrypt", "--key-file", "k", "a.sealed", "--suffix", ".sealed"]).printed();
    assert!(place.read("a").is_empty());
}

/// Runs the program with a standard output that nobody reads.
fn unread(place: &Place, args: &[&str]) -> Done {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Done::from(place.command(args).stdout(writer).output().unwrap())
}

#[test]
fn the_work_goes_on_without_a_reader() {
    let place = three();
    let done = unread(&place, &["encrypt", "--json", "--key-file", "k", "a", "b", "d/c"]);
    assert_eq!((done.code, &done.err[..]), (Some(0), ""));
    place.run(&["verify", "--key-file", "k", "a.cg", "b.cg", "d/c.cg"]).printed();
    let mut damaged = place.read("b.cg");
    damaged[100] ^= 1;
    place.write("b.cg", &damaged);
    for json in [&["--json"][..], &[]] {
        let args = [&["verify", "--key-file", "k", "a.cg", "b.cg", "d/c.cg"], json].concat();
        assert_eq!(unread(&place, &args).code, Some(3));
    }
}

/// Also if a link gives the file another name.
#[cfg(unix)]
#[test]
fn two_outputs_are_never_one_file() {
    let place = three();
    fs::create_dir(place.path("out")).unwrap();
    place.write("out/b.cg", b"");
    std::os::unix::fs::symlink("b.cg", place.path("out/a.cg")).unwrap();
    let done = place.run(&["encrypt", "--force", "--key-file", "k", "-C", "out", "a", "b"]);
    assert!(done.code == Some(5) && done.err.contains("as another input"), "{}", done.err);
}

#[test]
fn a_failure_does_not_stop_the_others_and_the_worst_is_the_exit_code() {
    let place = three();
    place.run(&["encrypt", "--key-file", "k", "a", "b", "d/c"]).printed();
    // Nothing is replaced.
    let before = place.look();
    let done = place.run(&["encrypt", "--key-file", "k", "a", "missing", "b"]);
    assert_eq!((done.code, lines(&done).len()), (Some(1), 4), "{}", done.err);
    assert!(lines(&done)[3].contains("3 of 3 files failed"), "{}", done.err);
    assert_eq!(place.look(), before);
    place.run(&["encrypt", "--force", "--key-file", "k", "a", "b"]).printed();

    let mut damaged = place.read("b.cg");
    damaged[100] ^= 1;
    place.write("b.cg", &damaged);
    let cut = place.read("d/c.cg");
    place.write("d/c.cg", &cut[..69 + 16_400]);
    let done =
        place.run(&["decrypt", "--key-file", "k", "b.cg", "-C", "out", "d/c.cg", "a.cg", "k", "missing.cg"]);
    assert_eq!((done.code, lines(&done).len()), (Some(3), 5), "{}", done.err);
    let places = ["'b.cg'", "'d/c.cg'", "'k' does not end in .cg", "'missing.cg'", "4 of 5 files failed"];
    for (line, place) in lines(&done).iter().zip(places) {
        assert!(line.contains(place), "{line}");
    }
    let out: Vec<_> =
        fs::read_dir(place.path("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(out, ["a"]);
    assert_eq!(place.run(&["verify", "--key-file", "k", "a.cg", "d/c.cg"]).code, Some(4));
}

#[test]
fn json_gives_a_line_for_each_file() {
    let place = three();
    let done = place.run(&["encrypt", "--json", "--key-file", "k", "a", "missing", "b"]);
    let told: Vec<Value> =
        done.out.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!((done.code, told.len()), (Some(1), 3));
    let of = |name: &str| told.iter().find(|told| told["file"] == name).unwrap();
    assert_eq!(of("b.cg")["plaintext_bytes"], 20_000);
    assert_eq!(of("a.cg")["suite"], "aes-256-gcm");
    assert_eq!(of("missing")["exit_code"], 1);
    assert!(of("missing")["error"].as_str().unwrap().contains("missing"));
    let told = place.run(&["verify", "--json", "--key-file", "k", "a.cg", "b.cg"]).printed();
    assert_eq!(told.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count(), 2);
}

#[test]
fn files_below_directories_keep_their_place() {
    let place = three();
    fs::create_dir_all(place.path("d/e/empty")).unwrap();
    place.write("d/e/f", b"deep");
    place.write("d/.hidden", b"dot");
    let encrypt = ["encrypt", "--key-file", "k", "--recursive", "d", "a", "--output-dir", "out"];
    place.run(&encrypt).printed();
    for name in ["out/a.cg", "out/d/c.cg", "out/d/e/f.cg", "out/d/.hidden.cg"] {
        assert!(place.path(name).is_file(), "{name}");
    }
    place.write("out/d/note", b"not encrypted, so it is left alone");
    let told = place.run(&["verify", "--key-file", "k", "--recursive", "out"]).printed();
    assert_eq!(told.iter().filter(|&&byte| byte == b'\n').count(), 4);
    place.run(&["decrypt", "--key-file", "k", "--recursive", "out/d", "-C", "back"]).printed();
    assert_eq!(place.read("back/d/e/f"), b"deep");
    assert_eq!(place.read("back/d/c"), place.read("d/c"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        for name in ["back", "back/d", "back/d/e", "back/d/e/f"] {
            assert_eq!(fs::metadata(place.path(name)).unwrap().mode() & 0o77, 0, "{name}");
        }
        // Links and pipes are not followed.
        std::os::unix::fs::symlink("/etc", place.path("d/link")).unwrap();
        let done = place.run(&["encrypt", "--force", "--key-file", "k", "--recursive", "d", "-C", "again"]);
        assert_eq!(done.code, Some(0), "{}", done.err);
        assert!(done.err.contains("'d/link' is no regular file"), "{}", done.err);
        assert!(!place.path("again/d/link.cg").exists() && !place.path("again/d/link").exists());
    }
    assert!(
        place.refuses(2, &["encrypt", "--key-file", "k", "--recursive", "d/e/empty"]).contains("no files")
    );
    let line = place.run(&["encrypt", "--key-file", "k", "d", "a", "-C", "x"]);
    assert_eq!(line.code, Some(1));
    assert!(line.err.contains("--recursive") && line.err.contains("--tar"), "{}", line.err);
}

#[test]
fn outputs_that_would_meet_are_refused() {
    let place = three();
    place.write("d/a", b"another");
    let done = place.run(&["encrypt", "--force", "--key-file", "k", "a", "d/a", "-C", "out"]);
    assert_eq!(done.code, Some(5), "{}", done.err);
    assert!(done.err.contains("as another input"), "{}", done.err);
    assert!(
        place.refuses(2, &["encrypt", "--key-file", "k", "a", "b", "-o", "out.cg"]).contains("--output-dir")
    );
    assert!(place.refuses(2, &["encrypt", "--key-file", "k", "a", "--suffix", "/x"]).contains("slash"));
    place.run(&["encrypt", "--key-file", "k", "a", "b"]).printed();
    let ranged = ["decrypt", "--key-file", "k", "--range", "0..1", "a.cg", "b.cg"];
    assert!(place.refuses(2, &ranged).contains("--range"));
    let done = place.run(&["encrypt", "--key-file", "k", "-", "b", "-C", "more"]);
    assert!(done.code == Some(2) && done.err.contains("'-' is standard input"), "{}", done.err);
    assert!(place.path("more/b.cg").exists());
    let done = place.run(&["encrypt", "--key-file", "k", "b", "-C", "k"]);
    assert!(
        done.code == Some(1) && done.err.contains("'k': part of the path is no directory"),
        "{}",
        done.err
    );
}

const CHEAP: [&str; 5] = ["encrypt", "--kdf-memory", "1", "--kdf-passes", "1"];

/// Encrypts `a`, with these options for the passphrase.
fn encrypted<'a>(options: &[&'a str]) -> Vec<&'a str> {
    CHEAP.iter().chain(options).chain(&["a", "-o", "a.cg", "--force"]).copied().collect()
}

#[test]
fn passphrases_come_from_the_environment() {
    let place = three();
    let with = |args: &[&str], value: &str| -> Done {
        place.command(args).env("SECRET", value).output().unwrap().into()
    };
    with(&encrypted(&["--passphrase-env", "SECRET"]), "a b'c").printed();
    place.write("pw", b"a b'c\n");
    place.run(&["verify", "--passphrase-file", "pw", "a.cg"]).printed();
    assert!(with(&["verify", "--passphrase-env", "SECRET", "a.cg"], "x").refused(2).contains("wrong"));
    assert!(with(&["verify", "--passphrase-env", "SECRET", "a.cg"], "").refused(2).contains("empty"));
    assert!(place.refuses(2, &["verify", "--passphrase-env", "SECRET", "a.cg"]).contains("SECRET"));
}

#[cfg(unix)]
#[test]
fn passphrases_come_from_a_command_without_a_shell() {
    let place = three();
    let command = |line: &str| place.run(&encrypted(&["--passphrase-command", line]));
    command(r#"printf '%s\n' "a \"b\" $HOME;" 'it''s' "#).refused(2);
    command(r#"printf %s "a \"b\" \$HOME; *""#).printed();
    place.write("pw", br#"a "b" \$HOME; *"#);
    place.run(&["verify", "--passphrase-file", "pw", "a.cg"]).printed();
    command(r"echo with\ blank").printed();
    place.write("pw", b"with blank");
    place.run(&["verify", "--passphrase-file", "pw", "a.cg"]).printed();
    assert!(command("sh -c 'echo right; exit 3'").refused(2).contains("failed"));
    assert!(command("sh -c 'echo one; echo two'").refused(2).contains("more than one line"));
    assert!(command("true").refused(2).contains("empty"));
    assert!(command("no-such-program-here x").refused(1).contains("no-such-program-here"));
    assert!(command("echo 'open").refused(2).contains("quote"));
    assert!(command("echo open\\").refused(2).contains("quote"));
    assert!(command("  ").refused(2).contains("empty"));
    // The command does not read the data.
    let piped = common::fed(
        place.command(&[
            "encrypt",
            "--kdf-memory",
            "1",
            "--kdf-passes",
            "1",
            "--passphrase-command",
            "sh -c 'cat; echo p'",
        ]),
        b"the data",
    );
    place.write("piped.cg", &piped.printed());
    place.write("pw", b"p");
    assert_eq!(place.run(&["decrypt", "--passphrase-file", "pw", "piped.cg"]).printed(), b"the data");
}

#[test]
fn a_generated_passphrase_opens_all_files_of_the_run() {
    let place = three();
    let generate = |args: &[&str]| {
        let args: Vec<_> = CHEAP.iter().chain(&["--generate-passphrase"]).chain(args).copied().collect();
        let done = place.run(&args);
        assert_eq!((done.code, done.out.as_slice()), (Some(0), &[][..]), "{}", done.err);
        let line = done.err.strip_suffix('\n').unwrap();
        assert!(!line.contains('\n'), "{line}");
        line.rsplit(' ').next().unwrap().to_owned()
    };
    let passphrase = generate(&["a", "b"]);
    let groups: Vec<_> = passphrase.split('-').collect();
    assert!(groups.len() == 6 && groups.iter().all(|group| group.len() == 4), "{passphrase}");
    assert!(passphrase.bytes().all(|it| b"0123456789abcdefghjkmnpqrstvwxyz-".contains(&it)), "{passphrase}");
    place.write("pw", passphrase.as_bytes());
    place.run(&["verify", "--passphrase-file", "pw", "a.cg", "b.cg"]).printed();
    // All characters occur.
    let many: String = (0..40).map(|_| generate(&["a", "-o", "x", "--force"])).collect();
    let kinds: std::collections::BTreeSet<_> = many.chars().collect();
    assert_eq!(kinds.len(), 33, "{many}");
    place.refuses(2, &["encrypt", "--generate-passphrase", "--key-file", "k", "a", "-o", "y"]);
}
