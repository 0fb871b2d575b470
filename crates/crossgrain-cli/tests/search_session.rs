//! Sessions that are killed, interrupted, refused and restored. The final result is always the same.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::Place;

/// FIPS 197, appendix C.1.
const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const PLAIN: &str = "00112233445566778899aabbccddeeff";
const CRYPT: &str = "69c4e0d86a7b0430d8cdb78070b4c55a";
const PAIR: [&str; 7] = ["search", "--cipher", "aes-128", "--plain", PLAIN, "--crypt", CRYPT];
const RESTORE: [&str; 4] = ["search", "--session", "s", "--restore"];

/// PBKDF2 keeps shards small and the search long, however fast the kernel is.
const SLOW: [&str; 8] = ["--kdf", "pbkdf2-sha512", "--salt", "00", "--iterations", "400", "--session", "s"];

fn begun(place: &Place, args: &[&str]) -> Child {
    let mut command = place.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// The number of finished shards in the journal.
fn shards(place: &Place) -> usize {
    let text = std::fs::read_to_string(place.path("s.session")).unwrap_or_default();
    text.lines().filter(|line| line.contains("next")).count()
}

/// Waits until the journal has this number of shards.
fn wait_for(place: &Place, count: usize) {
    let start = Instant::now();
    while shards(place) < count {
        assert!(start.elapsed() < Duration::from_secs(120), "no shard is ever done");
        thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// A place with a word list and the arguments of a slow search, for a key that no word gives under PBKDF2.
fn place_with_words(count: usize) -> (Place, Vec<String>) {
    let place = Place::new();
    let words: String = (0..count).map(|n| format!("word{n}\n")).collect();
    place.write("words", words.as_bytes());
    (place, [&PAIR[..], &SLOW, &["--words", "words"]].concat().into_iter().map(str::to_owned).collect())
}

fn as_strs(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

#[test]
fn a_session_ends_once_and_is_refused_twice() {
    let place = Place::new();
    let args = [&PAIR[..], &["--key-mask", "000102030405060708090a0b0c0d0e??", "--session", "s"]].concat();
    let told = place.run(&args);
    assert_eq!((told.code, told.err.as_str()), (Some(0), ""));
    assert!(String::from_utf8(place.read("s.found")).unwrap().contains(KEY));
    let line = place.run(&args).refused(3);
    assert!(line.contains("exists") && line.contains("--restore"), "{line}");
    let before = place.look();
    let again = place.run(&RESTORE);
    assert_eq!((again.code, again.out), (Some(0), told.out));
    assert_eq!(place.look(), before);
}

/// A search without a find prints a message at its end, with a session too.
#[test]
fn a_session_without_a_find_says_so() {
    for (rest, told) in [
        (
            &["--key-mask", "000102030405060708090a0b0c0d??00"][..],
            "every candidate was tried, and none is the key",
        ),
        (&["--range", "0..ff", "--limit", "7"], "7 candidates were tried, and none is the key"),
    ] {
        let place = Place::new();
        let done = place.run(&[&PAIR[..], &["--session", "s"], rest].concat());
        assert_eq!((done.code, done.err), (Some(1), format!("crossgrain: {told}\n")));
    }
}

#[test]
fn killed_at_any_moment_it_goes_on_where_it_was() {
    const WORDS: u64 = 100_000;
    let (place, args) = place_with_words(WORDS as usize);
    let mut child = begun(&place, &as_strs(&args));
    wait_for(&place, 1);
    for round in 2..6 {
        thread::sleep(Duration::from_millis(7 * round));
        signal(&child, "-KILL");
        child.wait().unwrap();
        let before = shards(&place);
        child = begun(&place, &RESTORE);
        let start = Instant::now();
        while shards(&place) == before && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(120));
            thread::sleep(Duration::from_millis(3));
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let journal = String::from_utf8(place.read("s.session")).unwrap();
    let nexts: Vec<u64> = journal
        .lines()
        .filter_map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["next"].as_str()?.parse().ok()
        })
        .collect();
    assert!(nexts.is_sorted() && nexts.last() == Some(&WORDS), "{nexts:?}");
    assert!(journal.ends_with("{\"outcome\":\"exhausted\"}\n"));
}

/// With --all, a find does not end the search. A resumed run reports it too, also by its exit code.
#[test]
fn what_was_found_before_counts_when_it_goes_on() {
    let place = Place::new();
    let mask = "000102030405060708090a0b0c0d0e??";
    let args = [&PAIR[..], &["--key-mask", mask, "--session", "s", "--all"]].concat();
    let told = place.run(&args);
    assert_eq!(told.code, Some(0));
    let journal = String::from_utf8(place.read("s.session")).unwrap();
    let (before_end, _) = journal.split_once("{\"outcome\"").unwrap();
    place.write("s.session", before_end.as_bytes());
    for _ in 0..2 {
        let again = place.run(&RESTORE);
        assert_eq!((again.code, &again.out), (Some(0), &told.out));
    }
    // A search for a single key, killed between its find and its end, counts as finished.
    place.write("s.session", before_end.replace(",\"--all\"", "").as_bytes());
    let again = place.run(&RESTORE);
    assert_eq!((again.code, again.out), (Some(0), told.out));
}

#[test]
fn a_line_that_was_being_written_is_forgotten() {
    let place = Place::new();
    let args = [&PAIR[..], &["--key-mask", "000102030405060708090a0b0c0d0e0?", "--session", "s"]].concat();
    assert_eq!(place.run(&args).code, Some(0));
    let journal = String::from_utf8(place.read("s.session")).unwrap();
    let begun = journal.lines().next().unwrap();
    place.write("s.session", format!("{begun}\n{{\"next\":\"1").as_bytes());
    place.write("s.found", b"");
    assert_eq!(place.run(&RESTORE).code, Some(0));
    assert!(String::from_utf8(place.read("s.found")).unwrap().contains(KEY));
    for damaged in [
        "",
        "nonsense\n",
        "{}\n",
        &format!("{begun}\nnonsense\n"),
        &format!("{begun}\n{{\"outcome\":\"?\"}}\n"),
    ] {
        place.write("s.session", damaged.as_bytes());
        let line = place.run(&RESTORE).refused(3);
        assert!(line.contains("damaged in line"), "{line}");
    }
}

/// The journal decides which shards are skipped. So no other user may have been able to write
/// it, and it must not be a link.
#[test]
fn a_session_that_another_user_may_have_written_is_not_believed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let place = Place::new();
    let [journal, real] = ["s.session", "real"].map(|name| place.path(name));
    let arguments = [&PAIR[1..], &["--range", "0..f", "--keyspace"]].concat();
    let planted = serde_json::json!({ "crossgrain_session": 1, "arguments": arguments });
    place.write("real", format!("{planted}\n").as_bytes());
    let refused = |why: &str| {
        let line = place.run(&RESTORE).refused(3);
        assert!(line.contains(why) && line.contains("s.session"), "{line}");
        std::fs::remove_file(&journal).unwrap();
    };
    symlink("real", &journal).unwrap();
    refused("symbolic link");
    std::fs::hard_link(&real, &journal).unwrap();
    refused("more than one name");
    assert!(Command::new("mkfifo").arg(&journal).status().unwrap().success());
    refused("no regular file");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o666)).unwrap();
    std::fs::rename(&real, &journal).unwrap();
    refused("can be read or written by others");
}

/// A file that is not a journal is left unchanged.
#[test]
fn what_is_no_journal_is_not_cut() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    place.write("s.session", b"no journal\nand no line end");
    std::fs::set_permissions(place.path("s.session"), std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(place.refuses(3, &RESTORE).contains("damaged in line 1"));
}

#[test]
fn an_interrupt_ends_it_in_good_order() {
    for name in ["-INT", "-TERM"] {
        let (place, args) = place_with_words(200_000);
        let mut child = begun(&place, &as_strs(&args));
        wait_for(&place, 1);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(2), "{name}");
        let journal = String::from_utf8(place.read("s.session")).unwrap();
        assert!(journal.ends_with('\n') && !journal.contains("outcome"));
    }
}

#[test]
fn two_processes_cannot_run_one_session() {
    let (place, args) = place_with_words(200_000);
    let mut child = begun(&place, &as_strs(&args));
    wait_for(&place, 1);
    let line = place.run(&RESTORE).refused(3);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.contains("another process"), "{line}");
}

#[test]
fn a_list_that_was_changed_is_refused() {
    let (place, args) = place_with_words(200_000);
    let mut child = begun(&place, &as_strs(&args));
    wait_for(&place, 1);
    child.kill().unwrap();
    child.wait().unwrap();
    place.write("words", b"other\n");
    let line = place.run(&RESTORE).refused(3);
    assert!(line.contains("not as long"), "{line}");
}

/// If the results file cannot be created, no session file remains that could not be resumed.
#[test]
fn a_session_that_cannot_keep_keys_is_not_begun() {
    let place = Place::new();
    let args = [&PAIR[..], &["--range", "0..ff", "--session", "s", "-o", "nowhere/found"]].concat();
    for _ in 0..2 {
        assert!(place.refuses(3, &args).contains("nowhere/found"));
    }
}

/// Candidates are numbered by words and rules. After a change of either, a number means another candidate.
#[test]
fn words_and_rules_that_were_changed_are_refused() {
    let place = Place::new();
    let (words, rules) = (["a\nb\nc\n", "a\nb\nd\n", "a\nb\nc\nd\n"], [":\n$1\n", ":\n$2\n", ":\n$1\n$2\n"]);
    place.write("words", words[0].as_bytes());
    place.write("rules", rules[0].as_bytes());
    let args = [&PAIR[..], &["--words", "words", "--rules", "rules", "--session", "s"]].concat();
    assert_eq!(place.run(&args).code, Some(1));
    let journal = String::from_utf8(place.read("s.session")).unwrap();
    place.write("s.session", journal.split_once("{\"outcome\"").unwrap().0.as_bytes());
    let refused = |name: &str, text: &str, why: &str| {
        let before = place.read(name);
        place.write(name, text.as_bytes());
        let line = place.run(&RESTORE).refused(3);
        assert!(line.contains(why), "{line}");
        place.write(name, &before);
    };
    refused("words", words[1], "other words");
    refused("words", words[2], "not as long");
    refused("rules", rules[1], "other rules");
    refused("rules", rules[2], "other rules");
    assert_eq!(place.run(&RESTORE).code, Some(1));
}

/// A long list is identified by its beginning and end, which keeps the check fast.
#[test]
fn a_long_list_with_another_end_is_refused() {
    let place = Place::new();
    let mut words = b"word\n".repeat(500_000);
    place.write("words", &words);
    let args = [&PAIR[..], &["--words", "words", "--limit", "10", "--session", "s"]].concat();
    assert_eq!(place.run(&args).code, Some(1));
    let journal = String::from_utf8(place.read("s.session")).unwrap();
    place.write("s.session", journal.split_once("{\"outcome\"").unwrap().0.as_bytes());
    assert_eq!(place.run(&RESTORE).code, Some(1));
    place.write("s.session", journal.split_once("{\"outcome\"").unwrap().0.as_bytes());
    for at in [0, words.len() - 2] {
        words[at] ^= 1;
        place.write("words", &words);
        assert!(place.run(&RESTORE).refused(3).contains("other words"));
        words[at] ^= 1;
    }
}

/// A file size limit of one block acts on the journal like a full disk.
#[test]
fn a_full_disk_under_the_journal_is_an_error_and_nothing_is_lost() {
    let (place, mut args) = place_with_words(200_000);
    // The journal begins with the arguments. They leave room for a shard or two, which take seconds each.
    let long = "w".repeat(175);
    place.write(&long, &place.read("words"));
    *args.last_mut().unwrap() = long;
    let quoted: Vec<_> = args.iter().map(|arg| format!("'{arg}'")).collect();
    let program = env!("CARGO_BIN_EXE_crossgrain");
    let script = format!("trap '' XFSZ; ulimit -f 1; exec '{program}' {}", quoted.join(" "));
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(place.path("."));
    let done: common::Done = command.output().unwrap().into();
    let line = done.refused(3);
    assert!(line.contains("s.session"), "{line}");
    // Shards recorded before the failure count.
    let noted = shards(&place);
    let mut child = begun(&place, &RESTORE);
    wait_for(&place, noted.max(1) + 1);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A shard whose key could not be stored is not finished. The key is printed, and found again once there is
/// room.
#[test]
fn a_key_that_could_not_be_kept_is_found_again() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    place.write("s.found", format!("{}\n", "x".repeat(2000)).as_bytes());
    std::fs::set_permissions(place.path("s.found"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let args = [&PAIR[..], &["--key-mask", "000102030405060708090a0b0c0d0e??", "--session", "s"]].concat();
    // A file at the size limit acts like a full disk on the results, but not on the journal.
    let program = env!("CARGO_BIN_EXE_crossgrain");
    let script = format!("ulimit -f 1; exec '{program}' '{}'", args.join("' '"));
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(place.path("."));
    let done: common::Done = command.output().unwrap().into();
    assert!(String::from_utf8(done.out.clone()).unwrap().contains(KEY), "{done:?}");
    assert!(done.refused(3).contains("s.found"));
    let again = place.run(&RESTORE);
    assert_eq!((again.code, again.err.as_str()), (Some(0), ""));
    assert!(String::from_utf8(place.read("s.found")).unwrap().contains(KEY));
}

/// A key that cannot be stored is reported as an error, not silently lost.
#[test]
fn a_full_disk_under_the_results_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let place = Place::new();
    let args = [&PAIR[..], &["--key-mask", "000102030405060708090a0b0c0d0e0?", "-o", "/dev/full"]].concat();
    let line = place.run(&args).refused(3);
    assert!(line.contains("no space is left"), "{line}");
}
