//! `crossgrain search` with several targets, and with a file of found keys.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::thread;

use common::{Done, Place, hex};

/// A list of pairs: zeros encrypted under these texts, each padded with zeros.
fn targets(place: &Place, texts: &[&str]) -> Vec<String> {
    place.write("zeros", &[0; 16]);
    let pair = |text: &&str| {
        place.write("key", &[text.as_bytes(), &vec![0; 16 - text.len()]].concat());
        let crypt = place
            .run(&["raw", "--cipher", "aes-128", "--mode", "ecb", "--key-file", "key", "zeros"])
            .printed();
        format!("{}:{}", hex(&crypt), "00".repeat(16))
    };
    let pairs: Vec<_> = texts.iter().map(pair).collect();
    place.write("targets", format!("# pairs\n{}\n", pairs.join("\n\n")).as_bytes());
    pairs
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let mut lines: Vec<_> = String::from_utf8(bytes.to_vec()).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

const TARGETS: [&str; 5] = ["search", "--cipher", "aes-128", "--targets", "targets"];

#[test]
fn each_pair_of_a_list_is_a_target() {
    let place = Place::new();
    targets(&place, &["b7", "zz", "a1"]);
    let masks = |done: &Done| {
        lines(&done.out).iter().map(|line| line.split(": key").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = place.run(&[&TARGETS[..], &["--mask", "?l?d"]].concat());
    assert_eq!(all.code, Some(1), "{}", all.err);
    assert_eq!(masks(&all), ["target in line 2", "target in line 6"]);
    assert!(all.err.contains("2 of 3 targets are found"), "{}", all.err);
    // The search ends when the last target is found.
    let done = place.run(&[&TARGETS[..], &["--mask", "?l?1", "-1", "?d?l"]].concat());
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    assert_eq!(lines(&done.out).len(), 3);
    place.write("list", b"no\nzz\nb7\nno\na1\n");
    for args in [&["--words", "list"][..], &["--words", "list", "--kdf", "zeros", "--threads", "1"]] {
        let done = place.run(&[&TARGETS[..], args, &["--json"]].concat());
        assert_eq!(done.code, Some(0), "{}", done.err);
        let numbers: Vec<_> = lines(&done.out)
            .iter()
            .map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                assert_eq!(line["target"].as_str().unwrap().len(), 64);
                (line["name"].as_str().unwrap().to_owned(), line["number"].as_str().unwrap().to_owned())
            })
            .collect();
        for (name, number) in
            [("target in line 2", "2"), ("target in line 4", "1"), ("target in line 6", "4")]
        {
            assert!(numbers.contains(&(name.to_owned(), number.to_owned())), "{numbers:?}");
        }
    }
    // Some editors write a mark in front of UTF-8.
    place.write("targets", &[b"\xef\xbb\xbf", &place.read("targets")[..]].concat());
    let any = place.run(&[&TARGETS[..], &["--words", "list", "--any-target", "--limit", "2"]].concat());
    assert_eq!(any.code, Some(0), "{}", any.err);
}

/// Derivations that targets have in common run once per candidate.
#[test]
fn derived_keys_are_tried_on_all_targets() {
    let place = Place::new();
    let kdf = ["--kdf", "pbkdf2-sha256", "--salt", "00", "--iterations", "3"];
    let derived = |word: &str| {
        let args = [
            "kdf",
            "-keylen",
            "16",
            "-kdfopt",
            "digest:SHA256",
            "-kdfopt",
            &format!("pass:{word}"),
            "-kdfopt",
            "hexsalt:00",
            "-kdfopt",
            "iter:3",
            "-binary",
            "PBKDF2",
        ];
        Command::new("openssl")
            .args(args)
            .output()
            .ok()
            .filter(|done| done.status.success())
            .map(|done| done.stdout)
    };
    let Some(keys) = ["alpha", "omega"].map(derived).into_iter().collect::<Option<Vec<_>>>() else {
        println!("skipped: no openssl with kdf");
        return;
    };
    place.write("zeros", &[0; 16]);
    let pairs: Vec<_> = keys
        .iter()
        .map(|key| {
            place.write("key", key);
            let crypt = place
                .run(&["raw", "--cipher", "aes-128", "--mode", "ecb", "--key-file", "key", "zeros"])
                .printed();
            format!("{}:{}\n", hex(&crypt), "00".repeat(16))
        })
        .collect();
    place.write("targets", pairs.concat().as_bytes());
    place.write("list", b"beta\nomega\nalpha\n");
    let done = place.run(&[&TARGETS[..], &["--words", "list"], &kdf].concat());
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    let told = lines(&done.out);
    assert!(told[0].contains("line 1: key") && told[0].contains("'alpha', candidate 2"), "{told:?}");
    assert!(told[1].contains("line 2: key") && told[1].contains("'omega', candidate 1"), "{told:?}");
}

#[test]
fn several_files_are_searched_together() {
    let place = Place::with(b"data");
    for (name, passphrase) in [("a.cg", "pass one"), ("b.cg", "pass two"), ("c.cg", "unknown")] {
        place.write("p", format!("{passphrase}\n").as_bytes());
        place
            .run(&[
                "encrypt",
                "--kdf-memory",
                "1",
                "--kdf-passes",
                "1",
                "--passphrase-file",
                "p",
                "in",
                "-o",
                name,
            ])
            .printed();
    }
    place.write("list", b"zero\npass two\npass one\n");
    let two = ["search", "--file", "a.cg", "--file", "b.cg", "--words", "list"];
    let done = place.run(&two);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    assert_eq!(
        lines(&done.out),
        ["'a.cg': passphrase 'pass one', candidate 2", "'b.cg': passphrase 'pass two', candidate 1"]
    );
    // The same file twice is one target.
    let done = place.run(&["search", "--file", "a.cg", "--file", "./a.cg", "--words", "list"]);
    assert_eq!((done.code, lines(&done.out).len()), (Some(0), 1));
    // A session knows which targets are found.
    let three = [&two[..], &["--file", "c.cg", "--session", "s"]].concat();
    assert_eq!(place.run(&three).code, Some(1));
    let journal = String::from_utf8(place.read("s.session")).unwrap();
    let (before_end, _) = journal.split_once("{\"outcome\"").unwrap();
    place.write("s.session", before_end.as_bytes());
    let again = place.run(&["search", "--session", "s", "--restore"]);
    assert_eq!(again.code, Some(1), "{}", again.err);
    assert!(again.err.contains("2 of 3 targets are found"), "{}", again.err);
    assert_eq!(lines(&place.read("s.found")).len(), 2);
    place.write("broken", b"crossgrain broken");
    let line = place.run(&["search", "--file", "a.cg", "--file", "broken", "--words", "list"]).refused(3);
    assert!(line.contains("'broken'"), "{line}");
}

/// Files with salts of their own. When one is found, its derivation is left out.
#[test]
fn files_with_different_derivations_are_searched_together() {
    let place = Place::with(b"The plaintext of these files is text.");
    let passphrases = ["delta", "beta", "alpha"];
    for (at, passphrase) in passphrases.iter().enumerate() {
        let (out, pass) = (format!("{at}.enc"), format!("pass:{passphrase}"));
        let args =
            ["enc", "-aes-256-cbc", "-pbkdf2", "-iter", "50", "-pass", &pass, "-in", "in", "-out", &out];
        let made = Command::new("openssl").args(args).current_dir(place.path(".")).status();
        if !made.is_ok_and(|status| status.success()) {
            println!("skipped: no openssl");
            return;
        }
    }
    let words: String = (0..400).map(|n| format!("no{n}\n")).collect();
    place.write("list", format!("alpha\n{words}beta\n{words}delta\n{words}").as_bytes());
    let files = ["--file", "0.enc", "--file", "1.enc", "--file", "2.enc"];
    let options = ["--pbkdf2", "--iter", "50", "--plain", "54686520", "--words", "list"];
    let done = place.run(&[&["search"], &files[..], &options].concat());
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    let want = [("0", "delta", 802), ("1", "beta", 401), ("2", "alpha", 0)];
    let want =
        want.map(|(file, word, number)| format!("'{file}.enc': passphrase '{word}', candidate {number}"));
    assert_eq!(lines(&done.out), want);
}

#[test]
fn a_pot_keeps_keys_for_later_searches() {
    let place = Place::new();
    let pairs = targets(&place, &["b7", "zz"]);
    let one = ["search", "--cipher", "aes-128", "--hashcat", &pairs[0], "--pot", "pot"];
    let mask = [&one[..], &["--mask", "?l?d"]].concat();
    let found = place.run(&mask);
    assert_eq!((found.code, found.err.as_str()), (Some(0), ""));
    let mode = std::fs::metadata(place.path("pot")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let pot = String::from_utf8(place.read("pot")).unwrap();
    assert!(pot.lines().count() == 1 && !pot.contains(pairs[0].split(':').next().unwrap()));
    // Later searches try nothing.
    let again = place.run(&mask);
    assert_eq!((again.code, &again.out), (Some(0), &found.out));
    assert!(again.err.contains("nothing was tried"), "{}", again.err);
    let shown = place.run(&[&one[..], &["--show"]].concat());
    assert_eq!((shown.code, shown.err.as_str(), shown.out), (Some(0), "", found.out));
    let other = ["search", "--cipher", "aes-128", "--hashcat", &pairs[1], "--pot", "pot"];
    let shown = place.run(&[&other[..], &["--show"]].concat());
    assert_eq!((shown.code, shown.out.as_slice(), shown.err.as_str()), (Some(1), &b""[..], ""));
    assert_eq!(place.read("pot"), pot.as_bytes());
    let mistyped = ["search", "--cipher", "aes-128", "--hashcat", &pairs[0], "--pot", "pto", "--show"];
    let line = place.run(&mistyped).refused(3);
    assert!(line.contains("'pto'") && !place.path("pto").exists(), "{line}");
    // Of several targets, only the others are searched for.
    let both = place.run(&[&TARGETS[..], &["--pot", "pot2", "--mask", "?l?l"]].concat());
    assert_eq!(both.code, Some(1), "{}", both.err);
    let shown = place.run(&[&TARGETS[..], &["--pot", "pot2", "--show"]].concat());
    assert_eq!((shown.code, lines(&shown.out).len()), (Some(1), 1));
    assert_eq!(shown.err, "crossgrain: 1 of 2 targets are found\n");
    let any = place.run(&[&TARGETS[..], &["--pot", "pot2", "--show", "--any-target"]].concat());
    assert_eq!((any.code, any.out, any.err.as_str()), (Some(0), shown.out, ""));
    let rest = place.run(&[&TARGETS[..], &["--pot", "pot2", "--mask", "?l?d"]].concat());
    assert_eq!((rest.code, lines(&rest.out).len()), (Some(0), 2), "{}", rest.err);
    let shown = place.run(&[&TARGETS[..], &["--pot", "pot2", "--show"]].concat());
    assert_eq!((shown.code, lines(&shown.out)), (Some(0), lines(&rest.out)));
}

#[test]
fn a_damaged_pot_is_one_line_and_a_torn_line_is_dropped() {
    let place = Place::new();
    let pairs = targets(&place, &["b7"]);
    let mask = ["search", "--cipher", "aes-128", "--hashcat", &pairs[0], "--pot", "pot", "--mask", "?l?d"];
    assert_eq!(place.run(&mask).code, Some(0));
    let whole = place.read("pot");
    let private =
        || std::fs::set_permissions(place.path("pot"), std::fs::Permissions::from_mode(0o600)).unwrap();
    for bad in [
        &b"nonsense\n"[..],
        b"\n",
        b"{}\n",
        b"{\"target\":\"00\",\"key\":\"00\",\"number\":\"1\"}\n",
        b"\xff\xfe\n",
    ] {
        place.write("pot", &[&whole[..], bad].concat());
        private();
        let line = place.run(&mask).refused(3);
        assert!(line.contains("'pot' is no pot") && line.contains("line 2"), "{line}");
    }
    // A killed writer leaves part of a line, which the next writer removes.
    // Whatever is no torn line of a pot is not ours to remove.
    for other in [&b"a passphrase without a line end"[..], &[7; 32], b"{\"tar"] {
        place.write("pot", other);
        private();
        let done = place.run(&mask);
        if other.starts_with(b"{") {
            done.printed();
        } else {
            assert!(done.refused(3).contains("no pot"));
            assert_eq!(place.read("pot"), other);
        }
    }
    place.write("pot", &whole[..whole.len() / 2]);
    private();
    assert_eq!(place.run(&mask).code, Some(0));
    assert_eq!(place.read("pot"), whole);
    std::fs::set_permissions(place.path("pot"), std::fs::Permissions::from_mode(0o666)).unwrap();
    let line = place.run(&mask).refused(3);
    assert!(line.contains("pot"), "{line}");
}

/// Writers at the same time do not mix their lines.
#[test]
fn a_pot_has_several_writers() {
    let place = Place::new();
    let texts: Vec<_> = ('a'..='h').map(|letter| format!("{letter}7")).collect();
    let pairs = targets(&place, &texts.iter().map(String::as_str).collect::<Vec<_>>());
    thread::scope(|scope| {
        for pair in &pairs {
            let args = ["search", "--cipher", "aes-128", "--hashcat", pair, "--pot", "pot", "--mask", "?l?d"];
            let place = &place;
            scope.spawn(move || assert_eq!(place.run(&args).code, Some(0)));
        }
    });
    let pot = lines(&place.read("pot"));
    assert_eq!(pot.len(), 8);
    assert!(pot.iter().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    let shown = place.run(&[&TARGETS[..], &["--pot", "pot", "--show"]].concat());
    assert_eq!((shown.code, lines(&shown.out).len()), (Some(0), 8));
}

#[test]
fn lists_of_targets_that_are_none_are_refused() {
    let place = Place::new();
    for (list, why) in [
        (&b""[..], "no targets"),
        (b"# x\n", "no targets"),
        (b"\xff\n", "no text"),
        (b"\xff\xfea\0b\0:\0", "iconv -f UTF-16 "),
        (b"00\n", "line 1"),
        (b"00:0\n", "line 1"),
        (b"\nzz:00\n", "line 2"),
    ] {
        place.write("targets", list);
        let line = place.run(&[&TARGETS[..], &["--mask", "?d"]].concat()).refused(3);
        assert!(line.contains(why), "{line}");
    }
    let line = place.run(&["search", "--show", "--cipher", "aes-128", "--targets", "targets"]).refused(3);
    assert!(line.contains("--pot"), "{line}");
}
