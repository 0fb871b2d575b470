//! `crossgrain search`: words with masks, two lists, growing masks and files of masks. Candidates are those of
//! hashcat, each is tried once however often the program is killed, and time limits end a search.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Place, gzip, painted};

const PLAIN: &str = "00112233445566778899aabbccddeeff";
const CRYPT: &str = "69c4e0d86a7b0430d8cdb78070b4c55a";

/// A place with lists, masks and rules.
fn place() -> Place {
    let place = Place::new();
    place.write("words", b"one\nTwo\n$HEX[00ff]\nlonger word\n");
    place.write("second", b"A\nb-c\n\nlast");
    place.write("some.hcmask", b"# masks\nab,\\,c,?1?2\n?d?l\n\\#?d\\\\\nlit\\,eral\nx?d,a?1b\n");
    // hashcat lengthens masks with backslashes by other steps.
    place.write("plain.hcmask", b"ab,\\,c,?1?2\n?d?l\nlit\\,eral\nx?d,a?1b\n");
    // hashcat refuses rules that reject words in files.
    place.write("plain.rule", b":\nc $1\nu\n");
    place.write("second.rule", b"r\n:\n");
    place.write("rules", b":\nc $1\n>4\n");
    place
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes
        .strip_suffix(b"\n")
        .map_or(Vec::new(), |text| text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect())
}

fn printed(place: &Place, args: &[&str]) -> Vec<Vec<u8>> {
    lines(&place.run(&[&["search", "--stdout"], args].concat()).printed())
}

/// The candidates of our options, and hashcat's for its options.
const ATTACKS: [(&[&str], &[&str]); 13] = [
    (&["--words", "words", "--mask-after", "?d?1", "-1", "xy"], &["-a6", "-1", "xy", "words", "?d?1"]),
    (&["--words", "words", "--mask-before", "?d-"], &["-a7", "?d-", "words"]),
    (&["--words", "words", "--mask-after", "?d", "-j", "u $!"], &["-a6", "-j", "u $!", "words", "?d"]),
    (
        &["--words", "words", "--mask-after", "?d?d?d", "--increment", "--increment-min", "2"],
        &["-a6", "-i", "--increment-min=2", "words", "?d?d?d"],
    ),
    (&["--words", "words", "--words-after", "second"], &["-a1", "words", "second"]),
    (
        &["--words", "words", "--words-after", "second", "-j", "$-", "-k", "u"],
        &["-a1", "-j", "$-", "-k", "u", "words", "second"],
    ),
    (&["--mask", "?d?lx?d", "--increment"], &["-a3", "-i", "?d?lx?d"]),
    (
        &["--mask", "?d?lx?d", "-i", "--increment-min", "2", "--increment-max", "3"],
        &["-a3", "-i", "--increment-min=2", "--increment-max=3", "?d?lx?d"],
    ),
    (&["--mask", "some.hcmask"], &["-a3", "some.hcmask"]),
    (
        &["--mask", "plain.hcmask", "-i", "--increment-max", "2"],
        &["-a3", "-i", "--increment-max=2", "plain.hcmask"],
    ),
    (&["--words", "words", "--mask-after", "some.hcmask"], &["-a6", "words", "some.hcmask"]),
    (&["--words", "words", "--rules", "plain.rule"], &["-a0", "-r", "plain.rule", "words"]),
    (
        &["--words", "words", "--rules", "plain.rule", "--rules", "second.rule"],
        &["-a0", "-r", "plain.rule", "-r", "second.rule", "words"],
    ),
];

/// The order differs: here the word varies slowest and the last place of a mask fastest.
#[test]
fn candidates_are_those_of_hashcat() {
    let place = place();
    for (given, theirs) in ATTACKS {
        let hashcat =
            Command::new("hashcat").arg("--stdout").args(theirs).current_dir(place.path(".")).output();
        let Some(hashcat) = hashcat.ok().filter(|done| done.status.success() && !done.stdout.is_empty())
        else {
            println!("skipped: no hashcat, or no device for it");
            return;
        };
        let [mut ours, mut theirs] = [printed(&place, given), lines(&hashcat.stdout)];
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs, "{given:?}");
    }
}

/// A number has one candidate: parts and shares, put together, are the whole.
#[test]
fn parts_of_the_output_make_up_the_whole() {
    let place = place();
    let three = [
        "--words",
        "words",
        "--rules",
        "rules",
        "--mask-before",
        "?1",
        "-1",
        "a?d",
        "--words-after",
        "second",
        "--mask-after",
        "some.hcmask",
        "-i",
    ];
    for args in ATTACKS.iter().map(|(args, _)| *args).chain([&three[..]]) {
        let whole = printed(&place, args);
        let size =
            String::from_utf8(place.run(&[&["search", "--keyspace"], args].concat()).printed()).unwrap();
        let size: usize = size.trim().parse().unwrap();
        // Rules may reject words.
        assert!(
            size >= whole.len()
                && (size == whole.len() || args.iter().any(|arg| arg.contains("rule") || *arg == "-j"))
        );
        for shares in [2, 7] {
            let share = |index| printed(&place, &[args, &["--shard", &format!("{index}/{shares}")]].concat());
            assert_eq!((0..shares).flat_map(share).collect::<Vec<_>>(), whole, "{args:?}");
        }
        let [cut, end] = [size / 3, size].map(|number| number.to_string());
        let parts = [["--skip", "0", "--limit", &cut], ["--skip", &cut, "--limit", &end]];
        assert_eq!(parts.map(|part| printed(&place, &[args, &part].concat())).concat(), whole);
    }
    assert_eq!(printed(&place, &["--words", "words", "--skip", "2", "--limit", "1"]), [b"\0\xff"]);
    assert_eq!(printed(&place, &["--key-mask", "00f?", "--limit", "2"]), [b"\0\xf0", b"\0\xf1"]);
}

/// Two files of many rules.
const MANY: [&str; 6] = ["--words", "words", "--rules", "many", "--rules", "many"];

#[test]
fn candidates_are_counted_and_printed_without_a_target() {
    let place = place();
    place.write("empty", b"");
    place.write("many", b"$0\n$1\n$2\n$3\n$4\n$5\n$6\n$7\n$8\n$9\n".repeat(10_000).as_slice());
    for (args, want) in [
        (&["--mask", "?d?d", "--keyspace"][..], "100\n"),
        (&["--mask", "?d?d", "-i", "--keyspace", "--shard", "1/2"], "55\n"),
        (&["--words", "words", "--mask-after", "?d?d", "--keyspace"], "400\n"),
        (
            &["--words", "words", "--words-after", "second", "--rule", ":", "--rule", "u", "--keyspace"],
            "32\n",
        ),
        (&["--range", "0..ff", "--cipher", "aes-128", "--keyspace"], "256\n"),
        (&["--mask", "x?1", "-1", "ab", "--stdout"], "xa\nxb\n"),
        (&["--words", "empty", "--stdout"], ""),
        // The product of the files would not fit into memory.
        (&[&MANY[..], &["--keyspace"]].concat(), "40000000000\n"),
        (&[&MANY[..], &["--skip", "123456", "--limit", "1", "--stdout"]].concat(), "one61\n"),
    ] {
        let done = place.run(&[&["search"], args].concat());
        assert_eq!(
            (done.code, String::from_utf8_lossy(&done.out).as_ref(), done.err.as_str()),
            (Some(0), want, "")
        );
    }
    for (args, why) in [
        (&["--range", "0..ff", "--keyspace"][..], "--cipher"),
        (&["--words", "words", "--form", "raw", "--stdout"], "--cipher"),
        (
            &["--mask", "?d", "-i", "--increment-min", "3", "--increment-max", "2", "--stdout"],
            "--increment-max",
        ),
        (&["--words", "words", "--words-after", "-", "--stdout"], "standard input"),
        (&["--words", "words", "--words-after", "none", "--stdout"], "none"),
        (&["--mask", "none.hcmask", "--stdout"], "none.hcmask"),
        (&["--words", "words", "--mask-after", "?b?b?b?b?b?b?b?b", "--stdout"], "2^63"),
        (&["--mask", "?d", "--mask-after", "?d", "--stdout"], "cannot be used with"),
        (&["--mask", "?d", "--rule", "u", "--stdout"], "cannot be used with"),
        (&["--mask", "?d", "--stdout", "--session", "s"], "--session"),
        (&["--mask", "?d", "--runtime", "0", "--keyspace"], "runtime"),
    ] {
        let line = place.run(&[&["search"], args].concat()).refused(3);
        assert!(line.contains(why), "{args:?}: {line}");
    }
    place.write("bad.hcmask", b"?d\n?7\n");
    let line = place.run(&["search", "--mask", "bad.hcmask", "--stdout"]).refused(3);
    assert!(line.contains("bad.hcmask") || line.contains("?7"), "{line}");
}

/// Masks and sets may be the names of files, as in hashcat. The program prints a name with an unusual end, because a
/// mask could have been meant.
#[test]
fn masks_and_sets_may_be_files() {
    let place = place();
    place.write("M.HCMASK", b"?1?1\n");
    place.write("masks", b"?1?1\n");
    place.write("m.hcmask.gz", &gzip(b"?1?1\n"));
    place.write("set.hcchr", b"x\xe4\r\n");
    place.write("set", b"x\xe4\n");
    let told =
        |name: &str| format!("crossgrain: there is a file '{name}': '{name}' stands for its contents\n");
    for (args, note) in [
        (["--mask", "M.HCMASK", "-1", "set.hcchr"], String::new()),
        (["--mask", "m.hcmask.gz", "-1", "set.hcchr"], String::new()),
        (["--mask", "./masks", "-1", "set.hcchr"], told("./masks")),
        (["--mask", "?1?1", "-1", "set"], told("set")),
    ] {
        let done = place.run(&[&["search", "--stdout"][..], &args].concat());
        assert_eq!((done.code, done.err), (Some(0), note), "{args:?}");
        assert_eq!(done.out, b"xx\nx\xe4\n\xe4x\n\xe4\xe4\n", "{args:?}");
    }
    place.write("utf-16.hcmask", b"\xff\xfe?\0d\0\n\0");
    place.write("cr.hcmask", b"?d\r?u\r");
    place.write("bz2.hcmask", b"BZh91AY&SYrest");
    place.write("wide.hcchr", "\u{e4}".as_bytes());
    for (args, why) in [
        (&["--mask", "None.HCMASK"][..], "None.HCMASK"),
        (&["--mask", "none.hcmask.gz"], "none.hcmask.gz"),
        (&["--mask", "?1", "-1", "none.hcchr"], "none.hcchr"),
        (&["--mask", "utf-16.hcmask"], "iconv -f UTF-16 "),
        (&["--mask", "cr.hcmask"], "CR alone"),
        (&["--mask", "bz2.hcmask"], "bunzip2"),
        (&["--mask", "?1", "-1", "wide.hcchr"], "takes several bytes"),
    ] {
        let line = place.run(&[&["search", "--stdout"], args].concat()).refused(3);
        assert!(line.contains(why), "{args:?}: {line}");
    }
}

/// A reader that has enough ends the program without a message.
#[test]
#[cfg(unix)]
fn a_reader_may_leave() {
    let place = place();
    let line = r#""$0" search --stdout --mask ?b?b?b?b | head -c 10 | wc -c; "$0" search --stdout --words words --mask-after ?b?b?b?b | head -c 10 | wc -c"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", line, env!("CARGO_BIN_EXE_crossgrain")]).current_dir(place.path("."));
    let done: common::Done = shell.output().unwrap().into();
    assert_eq!(
        String::from_utf8(done.printed()).unwrap().split_whitespace().collect::<Vec<_>>(),
        ["10", "10"]
    );
}

/// Keys are found with their numbers in spaces of several lengths, and in words with affixes.
#[test]
fn searches_find_what_the_attacks_describe() {
    let place = place();
    // The key `7aonex3` padded with zeros encrypts zeros.
    place.write("key", &[&b"7aonex3"[..], &[0; 9]].concat());
    place.write("zeros", &[0; 16]);
    let crypt =
        place.run(&["raw", "--cipher", "aes-128", "--mode", "ecb", "--key-file", "key", "zeros"]).printed();
    let (crypt, plain) = (common::hex(&crypt), "00".repeat(16));
    place.write("masks.hcmask", b"?d?d\nxa,7?1onex?d\n?d\n");
    place.write("ends", b"\nx2\nx3\n");
    let pair = ["search", "--cipher", "aes-128", "--plain", &plain, "--crypt", &crypt];
    for (args, number) in [
        (&["--mask", "masks.hcmask"][..], 100 + 10 + 3),
        (&["--mask", "?da?1nex?d??", "-1", "o", "--increment"], 10 + 10 + 10 + 10 + 10 + 10 + 73),
        (&["--words", "words", "--mask-before", "?da", "--words-after", "ends"], 7 * 3 + 2),
        (&["--words", "words", "--mask-before", "7?1", "-1", "ba", "--mask-after", "x?d"], 13),
        (
            &[
                "--words",
                "words",
                "--rule",
                "u",
                "--rule",
                "^a",
                "--mask-before",
                "?d",
                "--mask-after",
                "x?d",
            ],
            100 + 73,
        ),
    ] {
        let done = place.run(&[&pair[..], args].concat());
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{args:?}");
        let told = String::from_utf8(done.out).unwrap();
        assert!(
            told.contains("'7aonex3'") && told.ends_with(&format!("candidate {number}\n")),
            "{args:?}: {told}"
        );
    }
    // Every mask is checked before the first one is searched.
    place.write("long.hcmask", b"?d\n?d?d?d?d?d?d?d?d?d?d?d?d?d?d?d?d?d\n");
    let line = place.run(&[&pair[..], &["--mask", "long.hcmask"]].concat()).refused(3);
    assert!(line.contains("too long"), "{line}");
}

/// Words with rules, a second list and a mask; a sixteenth of all keys fit.
#[cfg(unix)]
const HYBRID: [&str; 30] = [
    "search",
    "--cipher",
    "aes-128",
    "--plain",
    "0?",
    "--mode",
    "ctr",
    "--iv",
    PLAIN,
    "--crypt",
    CRYPT,
    "--kdf",
    "pbkdf2-sha512",
    "--salt",
    "00",
    "--iterations",
    "200",
    "--words",
    "w",
    "--rule",
    ":",
    "--rule",
    "u $-",
    "--rule",
    ">3",
    "--mask-after",
    "?d?l",
    "--all",
    "--session",
    "s",
];

/// Kills a session this often, at random moments. The last run must have counted every candidate, and all runs together
/// must have found the same keys as one that was not killed.
#[cfg(unix)]
fn is_whole_after(kills: usize, words: usize) {
    let place = Place::new();
    let list: String = (0..words).map(|n| format!("w{n}\n")).collect();
    place.write("w", list.as_bytes());
    let begun = |args: &[&str]| -> Child {
        let mut command = place.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let restore = ["search", "--session", "s", "--restore"];
    let moments = painted(kills, 7);
    let mut child = begun(&HYBRID);
    let start = Instant::now();
    while !place.path("s.session").exists() {
        assert!(start.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(2));
    }
    for (kill, moment) in moments.into_iter().enumerate() {
        thread::sleep(Duration::from_millis(u64::from(moment) * 2));
        assert!(child.try_wait().unwrap().is_none(), "it ended before kill {kill}: give more words");
        child.kill().unwrap();
        child.wait().unwrap();
        child = begun(&restore);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = place.run(&[&restore[..], &["--json"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    let size = words * 3 * 260;
    let last: serde_json::Value =
        serde_json::from_str(done.err.lines().rfind(|line| line.starts_with('{')).unwrap()).unwrap();
    let journal = String::from_utf8(place.read("s.session")).unwrap();
    let nexts = journal.lines().filter_map(|line| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["next"].as_str()?.parse().ok()
    });
    let nexts: Vec<usize> = nexts.collect();
    assert!(nexts.is_sorted_by(|a, b| a < b) && nexts.last() == Some(&size), "{nexts:?}");
    let numbers = |name: &str| {
        let text = String::from_utf8(place.read(name)).unwrap();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let all: Vec<u64> = lines.map(|line| line["number"].as_str().unwrap().parse().unwrap()).collect();
        let once: BTreeSet<_> = all.iter().copied().collect();
        assert_eq!(once.len(), all.len(), "a key was kept twice");
        once
    };
    let found = numbers("s.found");
    let place_of_whole = place.run(&[&HYBRID[..28], &["-o", "whole"]].concat());
    assert_eq!(place_of_whole.code, Some(0));
    assert_eq!(found, numbers("whole"));
    assert!(found.len() > size / 40, "{} keys of {size}", found.len());
    // Words that rule `>3` rejects have numbers and are not tried.
    let begun_at = |value: &serde_json::Value| value["tried"].as_str().unwrap().parse::<usize>().unwrap();
    assert!(begun_at(&last) <= size);
    println!(
        "{kills} kills, {} lines in the journal, {} keys of {size} candidates",
        nexts.len(),
        found.len()
    );
}

#[test]
#[cfg(unix)]
fn killed_at_random_moments_it_tries_every_candidate_once() {
    is_whole_after(6, 120);
}

/// The same with 50 kills.
#[test]
#[ignore = "takes a minute"]
#[cfg(unix)]
fn killed_fifty_times_it_tries_every_candidate_once() {
    is_whole_after(50, 900);
}

/// Sessions notice that a second list or a file of masks has changed.
#[test]
#[cfg(unix)]
fn a_session_refuses_other_affixes() {
    for (name, args) in
        [("second", ["--words-after", "second"]), ("some.hcmask", ["--mask-after", "some.hcmask"])]
    {
        let place = place();
        let words: String = (0..9000).map(|n| format!("{n}\n")).collect();
        place.write("words", words.as_bytes());
        let search = [
            "search",
            "--cipher",
            "aes-128",
            "--plain",
            PLAIN,
            "--crypt",
            CRYPT,
            "--kdf",
            "pbkdf2-sha512",
            "--salt",
            "00",
            "--iterations",
            "8000",
            "--words",
            "words",
            "--session",
            "s",
            "--runtime",
            "1",
        ];
        let done = place.run(&[&search[..], &args].concat());
        assert_eq!(done.code, Some(5), "{}", done.err);
        assert!(done.err.contains("--restore"), "{}", done.err);
        let restore = ["search", "--session", "s", "--restore", "--runtime", "1"];
        assert_eq!(place.run(&restore).code, Some(5));
        let before = place.read(name);
        place.write(name, b"other\n");
        let line = place.run(&restore).refused(3);
        assert!(line.contains("masks, or other words in the second list"), "{line}");
        place.write(name, &before);
        assert_eq!(place.run(&restore).code, Some(5));
    }
}
