//! `crossgrain search`: the arguments find the key, and every outcome has its exit code.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::process::{Command, Stdio};

use common::{Done, Place, gzip};
use crossgrain::Cipher;
use crossgrain::mode::{Initial, Mode};

/// FIPS 197, appendix C.1.
const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const PLAIN: &str = "00112233445566778899aabbccddeeff";
const CRYPT: &str = "69c4e0d86a7b0430d8cdb78070b4c55a";

/// A search for the key of the FIPS 197 vector.
fn search(place: &Place, args: &[&str]) -> Done {
    place.run(&[&["search", "--cipher", "aes-128", "--plain", PLAIN, "--crypt", CRYPT][..], args].concat())
}

#[track_caller]
fn found(done: Done) -> String {
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    String::from_utf8(done.out).unwrap()
}

/// The message of a search that tried all candidates.
const EXHAUSTED: &str = "crossgrain: every candidate was tried, and none is the key\n";

#[track_caller]
fn exhausted(done: Done) {
    assert_eq!((done.code, done.out.as_slice(), done.err.as_str()), (Some(1), &b""[..], EXHAUSTED));
}

#[test]
fn a_key_mask_finds_the_lost_digits() {
    let place = Place::new();
    let told = found(search(&place, &["--key-mask", "0001020304050607?8090a0b0c0d?e?f"]));
    assert_eq!(told, format!("key {KEY}, candidate 0\n"));
    let done = search(&place, &["--key-mask", "000102030405060708090a0b0c0d????", "--json"]);
    assert_eq!(done.code, Some(0));
    let told: serde_json::Value = serde_json::from_slice(&done.out).unwrap();
    let status: serde_json::Value = serde_json::from_str(done.err.lines().last().unwrap()).unwrap();
    assert_eq!((status["state"].as_str(), status["total"].as_str()), (Some("done"), Some("65536")));
    assert_eq!((told["key"].as_str(), told["number"].as_str()), (Some(KEY), Some("3599")));
    exhausted(search(&place, &["--key-mask", "0001020304050607?8090a0b0c0d?e?e"]));
}

/// An empty list is a valid list. Its shards are empty, and it does not count as a stream.
#[test]
fn an_empty_list_has_no_share_to_try() {
    let place = Place::with(b"");
    assert_eq!(search(&place, &["--words", "in", "--shard", "1/2"]).code, Some(4));
    assert_eq!(found(search(&place, &["--words", "in", "--keyspace"])), "0\n");
}

#[test]
fn ranges_masks_and_lists_find_it_too() {
    let place = Place::with(format!("{KEY}\n").as_bytes());
    let first = &KEY[..29];
    let number = u128::from_str_radix(KEY, 16).unwrap();
    let range = format!("{first}000..{first}fff");
    assert_eq!(found(search(&place, &["--range", &range])), format!("key {KEY}, candidate {number}\n"));
    let hex = format!("{}?h?1", &KEY[..30]);
    assert!(found(search(&place, &["--mask", &hex, "--hex", "-1", "?dabcdef"])).contains(KEY));
    assert!(found(search(&place, &["--words", "in", "--form", "hex"])).contains(KEY));
    let raw: Vec<u8> = (0..16).collect();
    place.write("raw", &[vec![7; 16], raw].concat());
    assert!(found(search(&place, &["--words", "raw", "--form", "raw"])).contains("candidate 1"));
}

/// Another program encrypts under the text padded with zeros; hashcat's self-test of mode 26401 has this
/// form.
#[test]
fn text_is_padded_as_hashcat_does_and_rules_change_it() {
    let place = Place::new();
    place.write("words", b"first\r\nhash\x00cat\nhashcat\nlast");
    place.write("key", &[&b"Hashcat1"[..], &[0; 8]].concat());
    place.write("zeros", &[0; 16]);
    let crypt =
        place.run(&["raw", "--cipher", "aes-128", "--mode", "ecb", "--key-file", "key", "zeros"]).printed();
    let crypt: String = crypt.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = format!("{crypt}:{}", "00".repeat(16));
    let args = ["search", "--cipher", "aes-128", "--hashcat", &line, "--words", "words"];
    let done = place.run(&[&args[..], &["--rule", ":", "--rule", "c $1"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(String::from_utf8(done.out).unwrap().contains("of 'Hashcat1', candidate 5"));
    assert_eq!(
        done.err,
        "crossgrain: the word list ends within a line: if that was cut off, the last word is not whole\n"
    );
    assert_eq!(place.run(&args).code, Some(1));
    let mask = ["search", "--cipher", "aes-128", "--hashcat", &line, "--mask", "?uashcat?d"];
    assert!(found(place.run(&mask)).contains("'Hashcat1', candidate 71"));
}

/// A search that tries nothing must not say that no candidate is the key.
#[test]
fn nothing_tried_has_its_own_exit_code() {
    let place = Place::new();
    place.write("empty", b"");
    place.write("marked", b"\xef\xbb\xbf");
    place.write("long", b"seventeen letters\n");
    place.write("three", b"a\nb\nc\n");
    let ranges = [
        &["--range", "0..ff", "--skip", "1000"][..],
        &["--range", "0..ff", "--limit", "0"],
        &["--range", "0..1", "--shard", "5/9"],
        &["--words", "empty"],
        &["--words", "marked"],
        &["--words", "long"],
        &["--words", "three", "--skip", "100"],
        &["--words", "three", "--rule", "_9"],
    ];
    for candidates in ranges {
        let done = search(&place, candidates);
        assert_eq!(done.code, Some(4), "{candidates:?}: {}", done.err);
        assert!(done.err.contains("0 candidates were tried"), "{candidates:?}: {}", done.err);
        assert!(!done.err.contains("every candidate"), "{candidates:?}: {}", done.err);
    }
    let kept = search(&place, &["--words", "empty", "--session", "s"]);
    assert_eq!(kept.code, Some(4));
    assert_eq!(place.run(&["search", "--session", "s", "--restore"]).code, Some(4));
}

/// A passphrase found by its file is printed as its owner typed it, and lists are read as they are published.
#[test]
fn passphrases_are_printed_as_text() {
    let place = Place::new();
    let text = "p\u{e4}ss'word";
    place.write("pass", format!("\u{feff}{text}\r\n").as_bytes());
    place.write("message", b"meet at noon");
    let cost = ["--kdf-memory", "1", "--kdf-passes", "1"];
    let encrypt = ["encrypt", "--passphrase-file", "pass", "message", "-o", "sealed"];
    assert_eq!(place.run(&[&encrypt[..], &cost].concat()).code, Some(0));
    let words = "\u{feff}one\r\n$HEX[70c3a4737327776f7264]\r\n";
    place.write("words", words.as_bytes());
    place.write("words.gz", &gzip(words.as_bytes()));
    for list in ["words", "words.gz"] {
        let search = ["search", "--file", "sealed", "--words", list];
        assert_eq!(found(place.run(&search)), "passphrase 'p\u{e4}ss\\'word', candidate 1\n");
        let json = place.run(&[&search[..], &["--json", "-o", "found"]].concat()).out;
        let json = String::from_utf8(json).unwrap();
        let line = format!(r#"{{"key":"70c3a4737327776f7264","number":"1","text":"{text}"}}"#);
        assert_eq!(json.lines().next().unwrap(), line);
        assert_eq!(String::from_utf8(place.read("found")).unwrap().lines().next().unwrap(), line);
    }
    place.write("utf-16", b"\xff\xfea\0\n\0");
    let refused = place.run(&["search", "--file", "sealed", "--words", "utf-16"]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.err.contains("iconv -f UTF-16"), "{}", refused.err);
    for (arguments, told) in [
        (&["--mask", "masks.hcmask"][..], "no such file"),
        (&["--mask", "?1?1", "-1", "a\u{e4}"], "takes several bytes"),
        (&["--words", "words", "--rule", "g"], "function that is not known"),
    ] {
        let refused = place.run(&[&["search", "--file", "sealed"], arguments].concat());
        assert_eq!(refused.code, Some(3), "{arguments:?}");
        assert!(refused.err.contains(told), "{arguments:?}: {}", refused.err);
    }
    place.write("rules", b"g\n:\ng1\n");
    let skipped = place.run(&["search", "--file", "sealed", "--words", "words", "--rules", "rules"]);
    assert_eq!(skipped.code, Some(0));
    assert!(skipped.err.contains("2 rules have unknown functions and are skipped, the first in line 1: 'g'"));
    let strict = ["search", "--file", "sealed", "--words", "words", "--rules", "rules", "--strict-rules"];
    let line = place.run(&strict).refused(3);
    assert!(line.contains("'rules': 2 rules") && line.contains("in line 1: 'g'"), "{line}");
    place.write("rules.gz", &gzip(b"u\n:\n"));
    place.write("unknown", b"g\n");
    let rules = |name| place.run(&["search", "--file", "sealed", "--words", "words", "--rules", name]);
    assert_eq!(found(rules("rules.gz")), "passphrase 'p\u{e4}ss\\'word', candidate 3\n");
    let line = rules("unknown").refused(3);
    assert!(line.contains("'unknown': there is no rule"), "{line}");
}

#[test]
fn words_that_are_no_keys_are_told_in_a_line_each() {
    let place = Place::new();
    place.write("words", &[vec![b'x'; 3 << 20], b"\nseventeen letters\nshort\n".to_vec()].concat());
    let done = search(&place, &["--words", "words"]);
    assert_eq!(done.code, Some(1));
    let left_out =
        "crossgrain: 2 candidates were left out, being too long for a key (the first is of word 0)\n";
    assert_eq!(done.err, format!("{left_out}{EXHAUSTED}"));
}

#[test]
fn the_keyspace_is_exact_and_parts_cut_it() {
    let place = Place::with(b"one\ntwo\nthree\n");
    let size = |args: &[&str]| found(search(&place, &[args, &["--keyspace"]].concat()));
    assert_eq!(size(&["--key-mask", &"?".repeat(32)]), "340282366920938463463374607431768211456\n");
    assert_eq!(size(&["--words", "in", "--rule", ":", "--rule", "u"]), "6\n");
    assert_eq!(size(&["--words", "in", "--skip", "2"]), "1\n");
    assert_eq!(size(&["--range", "5..104"]), "256\n");
    assert_eq!(size(&["--mask", "?d?d", "--skip", "90", "--limit", "30"]), "10\n");
    assert_eq!(size(&["--mask", "?d?d", "--shard", "2/3"]), "34\n");
    let mask = ["--key-mask", "000102030405060708090a0b0c0d????"];
    for (args, code) in [
        (&["--shard", "0/2"][..], 0),
        (&["--shard", "1/2"], 1),
        (&["--skip", "3599", "--limit", "1"], 0),
        (&["--limit", "3599"], 1),
        (&["--skip", "3600"], 1),
        (&["--skip", "99999999999999999999999999999999999999999"], 4),
    ] {
        assert_eq!(search(&place, &[&mask[..], args].concat()).code, Some(code), "{args:?}");
    }
}

#[test]
fn modes_are_searched_by_what_is_known_of_them() {
    let text = b"Printable text of 48 bytes, and none more of it.";
    let place = Place::with(text);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for of in Mode::ALL.into_iter().filter(|mode| mode.admits(Cipher::Serpent128).is_ok()) {
        let (mode, initial) = (of.name(), of.entry().initial);
        let key = format!("{KEY}{}", "5a".repeat(16 * (of.entry().keys - 1)));
        let iv = match initial {
            Initial::Nothing | Initial::Sector => Vec::new(),
            Initial::Block => vec!["--iv", common::IV],
            Initial::Nonce { usual, .. } => vec!["--iv", &common::IV[..2 * usual]],
        };
        let iv = &iv[..];
        let raw = ["raw", "--cipher", "serpent-128", "--mode", mode, "--key", &key, "in"];
        let crypt = place.run(&[&raw[..], iv].concat()).printed();
        let (crypt, tag) = crypt.split_at(48);
        let (crypt, tag, mask) = (hex(crypt), hex(tag), format!("?{}?{}", &key[1..17], &key[18..]));
        let plain = format!("{}????{}", hex(&text[..8]), hex(&text[10..48]));
        let known: &[&str] = if tag.is_empty() { &["--plain", &plain] } else { &["--tag", &tag] };
        let args =
            ["search", "--cipher", "serpent-128", "--mode", mode, "--crypt", &crypt, "--key-mask", &mask];
        assert!(found(place.run(&[&args[..], iv, known].concat())).contains(&key), "{mode}");
        if matches!(initial, Initial::Nothing | Initial::Block) {
            assert!(
                found(place.run(&[&args[..], iv, &["--looks", "printable"]].concat())).contains(&key),
                "{mode}"
            );
        }
    }
}

#[test]
fn the_passphrase_of_a_file_is_found() {
    let place = Place::with(b"secret");
    place.write("passphrase", b"Summer7");
    // Two words are cheap, whatever the default cost of key derivation.
    assert_eq!(place.run(&["encrypt", "--passphrase-file", "passphrase", "in", "-o", "out"]).code, Some(0));
    place.write("words", b"winter\nsummer\n");
    let told = found(place.run(&["search", "--file", "out", "--words", "words", "--rule", "c $7"]));
    assert!(told.contains("candidate 1"), "{told}");
}

#[test]
fn what_makes_no_sense_is_refused_in_a_line() {
    let place = Place::with(b"word\n");
    let refused = |args: &[&str]| place.run(&[&["search"], args].concat()).refused(3);
    let pair = ["--cipher", "aes-128", "--plain", PLAIN, "--crypt", CRYPT];
    let with = |args: &[&str]| refused(&[&pair[..], args].concat());
    for (line, what) in [
        (refused(&["--bad"]), "--bad"),
        (refused(&[]), "--cipher"),
        (refused(&["--cipher", "aes-128", "--words", "in"]), "--plain"),
        (with(&[]), "candidates"),
        (with(&["--key-mask", "00"]), "too short"),
        (with(&["--key-mask", "0x"]), "hex"),
        (with(&["--mask", "?x"]), "?x"),
        (with(&["--mask", "?d", "--words", "in"]), "--words"),
        (with(&["--range", "ff..00"]), "A..B"),
        (with(&["--mask", "?d", "--kdf", "sha256", "--salt", "00"]), "--salt"),
        (with(&["--mask", "?d", "--kdf", "scrypt", "--salt", "00", "--log-n", "40"]), "memory"),
        (with(&["--words", "/dev/null", "--shard", "0/1"]), "share"),
        (refused(&["--session", "s", "--restore", "--skip", "1"]), "--skip"),
        (refused(&["--session", "s", "--restore", "--all"]), "--all"),
        (refused(&["--session", "s", "--restore", "--salt", "00"]), "--salt"),
        (refused(&["--session", "s", "--restore", "--form", "hex"]), "--form"),
        (refused(&["--file", "in", "--iv", "00", "--mask", "?d"]), "--iv"),
        (with(&["--words", "none"]), "none"),
        (with(&["--words", "in", "--rule", "x"]), "rule"),
        (with(&["--words", "in", "--kdf", "pbkdf2-sha256"]), "--salt"),
        (with(&["--words", "-", "--shard", "0/2"]), "standard input"),
        (with(&["--mask", "?d", "--shard", "2/2"]), "0/16"),
        (with(&["--mask", "?d", "--iv", "00"]), "--iv"),
        (with(&["--mask", "?d", "--restore"]), "--restore"),
        (refused(&["--restore"]), "--session"),
        (with(&["--mask", "?d", "-o", "-"]), "--output"),
        (with(&["--mask", "?d", "-o", "/dev/full/x"]), "/dev/full/x"),
        (refused(&["--session", "none", "--restore"]), "none.session"),
        (refused(&["--cipher", "aes-128", "--plain", "??", "--crypt", "00", "--mask", "?d"]), "too few"),
        (
            refused(&["--cipher", "aes-128", "--plain", &"?".repeat(32), "--crypt", CRYPT, "--mask", "?d"]),
            "known",
        ),
    ] {
        assert!(line.contains(what), "{what}: {line}");
    }
}

#[test]
fn a_share_of_standard_input_is_refused_even_of_a_file() {
    let place = Place::with(KEY.as_bytes());
    let args = [
        "search", "--cipher", "aes-128", "--plain", PLAIN, "--crypt", CRYPT, "--words", "-", "--form", "hex",
    ];
    let from_file = |more: &[&str]| {
        let mut command = place.command(&[&args[..], more].concat());
        command.stdin(std::fs::File::open(place.path("in")).unwrap());
        Done::from(command.output().unwrap())
    };
    assert!(from_file(&["--shard", "0/1"]).refused(3).contains("standard input"));
    assert_eq!(from_file(&["--keyspace"]).printed(), b"1\n");
}

#[test]
fn standard_input_gives_words() {
    let place = Place::new();
    let args = [
        "search", "--cipher", "aes-128", "--plain", PLAIN, "--crypt", CRYPT, "--words", "-", "--form", "hex",
    ];
    let mut command = place.command(&args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), format!("{KEY}\n").as_bytes()).unwrap();
    assert!(found(child.wait_with_output().unwrap().into()).contains(KEY));
}

#[cfg(unix)]
#[test]
fn one_signal_ends_a_search_for_whose_words_it_waits() {
    use std::io::{BufRead as _, BufReader};
    let place = Place::new();
    let args =
        ["search", "--cipher", "aes-128", "--plain", PLAIN, "--crypt", CRYPT, "--words", "-", "--json"];
    let mut child = place.command(&args).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Waiting for the child would close its input.
    let open = child.stdin.take();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    // Signals are handled from the first status line on.
    told.read_line(&mut String::new()).unwrap();
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(2));
    drop(open);
}
