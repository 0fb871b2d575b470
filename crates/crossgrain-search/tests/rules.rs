//! Rules: each function as it is documented, files of rules, and hashcat's own answers if it is installed.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crossgrain_search::{Error, Rule};

/// What the rule makes from the word; `None` if it rejects it.
fn made(rule: &str, word: &[u8]) -> Option<Vec<u8>> {
    let mut candidate = vec![7; 3];
    let rule = Rule::parse(rule.as_bytes()).unwrap();
    rule.apply(word, &mut candidate).then_some(candidate)
}

#[test]
fn functions_do_what_their_documentation_says() {
    for (rule, word, want) in [
        ("T1", "pass", "pAss"),
        ("T4", "pass", "pass"),
        ("31-", "ab-cd-ef", "ab-cd-Ef"),
        ("30-", "ab-cd", "ab-Cd"),
        ("32-", "ab-cd", "ab-cd"),
        ("30-", "ab-", "ab-"),
        ("E", "pASS word", "Pass Word"),
        ("e-", "a b-cD", "A b-Cd"),
        ("r", "abc", "cba"),
        ("f", "abc", "abccba"),
        ("d", "ab", "abab"),
        ("p2", "ab", "ababab"),
        ("p0", "ab", "ab"),
        ("{", "abc", "bca"),
        ("}", "abc", "cab"),
        ("i1X", "abc", "aXbc"),
        ("i3X", "abc", "abcX"),
        ("i4X", "abc", "abc"),
        ("o1X", "abc", "aXc"),
        ("o3X", "abc", "abc"),
        ("[", "abc", "bc"),
        ("]", "abc", "ab"),
        ("D1", "abc", "ac"),
        ("D3", "abc", "abc"),
        ("x12", "abcd", "bc"),
        ("x14", "abcd", "abcd"),
        ("O12", "abcd", "ad"),
        ("O13", "abcd", "a"),
        ("O14", "abcd", "abcd"),
        ("'2", "abc", "ab"),
        ("'A", "abc", "abc"),
        ("@a", "banana", "bnn"),
        ("z2", "abc", "aaabc"),
        ("Z2", "abc", "abccc"),
        ("q", "abc", "aabbcc"),
        ("y2", "abc", "ababc"),
        ("y4", "abc", "abc"),
        ("Y2", "abc", "abcbc"),
        ("k", "abc", "bac"),
        ("K", "abc", "acb"),
        ("k K", "a", "a"),
        ("*02", "abc", "cba"),
        ("*03", "abc", "abc"),
        ("L0", "1b", "bb"),
        ("R0", "bb", "1b"),
        ("+0", "abc", "bbc"),
        ("-0", "bbc", "abc"),
        (".0", "abc", "bbc"),
        (".2", "abc", "abc"),
        (",1", "abc", "aac"),
        (",0", "abc", "abc"),
        ("M r 4", "abc", "cbaabc"),
        ("M r 6", "abc", "abccba"),
        ("M $! X121", "abc", "abcbc!"),
        ("$\\x41 ^\\x2d", "b", "-bA"),
        ("s\\x62c", "abc", "acc"),
        ("$\\ $x", "a", "a\\x"),
    ] {
        assert_eq!(made(rule, word.as_bytes()).as_deref(), Some(want.as_bytes()), "{rule} of {word}");
    }
    assert_eq!(made("+0 -1 u", b"\xff\x00\xe4"), Some(b"\x00\xff\xe4".to_vec()));
}

#[test]
fn conditions_reject_words() {
    for (rule, admitted, rejected) in [
        ("<3", "abc", "abcd"),
        (">3", "abc", "ab"),
        ("_3", "abc", "ab"),
        ("!x", "abc", "axc"),
        ("/x", "axc", "abc"),
        ("(a", "abc", "bac"),
        (")c", "abc", "acb"),
        ("(a", "a", ""),
        ("=1b", "abc", "acb"),
        ("=3b", "abcb", "abc"),
        ("%2a", "aba", "abb"),
        ("M $1 ]", "abc", "abc"),
        ("M c Q", "abc", "Abc"),
        ("M 'A 4", "abc", ""),
        ("M X020", "abc", "a"),
        ("M X013", "abc", "ab"),
    ] {
        assert!(made(rule, admitted.as_bytes()).is_some(), "{rule} of {admitted}");
        let is_rejected = made(rule, rejected.as_bytes()).is_none();
        assert_eq!(is_rejected, admitted != rejected, "{rule} of {rejected}");
    }
    assert_eq!(made("4", b"abc"), None, "nothing is stored");
}

#[test]
fn no_function_makes_a_word_of_256_bytes() {
    for rule in ["d", "f", "q", "p1", "p9", "$1", "^1", "i01", "z1", "Z1", "y9", "Y9", "M4", "M6", "MX099"] {
        let mut word = vec![b'a'; 255];
        assert!(made(rule, &word).is_none_or(|made| made == word), "{rule}");
        word.truncate(9);
        assert!(made(rule, &word).unwrap().len() > 9, "{rule}");
    }
}

#[test]
fn files_of_rules_are_read_to_their_end() {
    let (rules, unknown) = Rule::parse_known(b"\xef\xbb\xbf# marked\r\nv1x\r\nu\r\n\r\ng\r\n$1 $2").unwrap();
    assert_eq!(rules, [Rule::parse(b"u").unwrap(), Rule::parse(b"$1$2").unwrap()]);
    let unknown = unknown.unwrap();
    assert_eq!((unknown.lines, unknown.first, &unknown.rule[..]), (2, 2, "v1x"));
    assert!(matches!(Rule::parse_all(b"u\ng\n"), Err(Error::BadRule { .. })));
    assert!(matches!(Rule::parse_known(b"g\n"), Err(Error::NoRules)));
    assert!(matches!(Rule::parse_known(b"\xff\xfeu\0\n\0"), Err(Error::Utf16Rules(_))));
}

/// hashcat's candidates; `None` if it is not installed, or has no device.
fn by_hashcat(arguments: &[&str], words: &Path) -> Option<Vec<Vec<u8>>> {
    // It refuses to run twice at a time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let output = Command::new("hashcat").arg("--stdout").args(arguments).arg(words).output().ok()?;
    let is_well = output.status.success() && !output.stdout.is_empty();
    let lines = output.stdout.split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
    is_well.then(|| lines.filter(|line| !line.is_empty()).collect())
}

/// Our candidates of these words. hashcat prints no empty one.
fn ours(rule: &[u8], words: &str) -> Vec<Vec<u8>> {
    let rule = Rule::parse(rule).unwrap();
    let made = |word: &str| {
        let mut candidate = Vec::new();
        let is_made = rule.apply(word.as_bytes(), &mut candidate);
        (is_made && !candidate.is_empty()).then_some(candidate)
    };
    words.lines().filter_map(made).collect()
}

/// Words of several lengths, with capitals, digits and separators.
const WORDS: &str =
    "a\nab\npassword\nPass Word-99\naaaa\n-x-y-z\nabcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH\nZ1\n";

/// Those and other words of up to 24 bytes, 1000 in all.
fn many_words() -> String {
    let letters = b"abcdefghijklmnopqrstuvwxyzabcdeioustnABCRSTZ0123456789-_ !@.";
    let mut state = 1_u32;
    let mut next = |most: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % most
    };
    let mut words = WORDS.to_owned();
    for _ in WORDS.lines().count()..1000 {
        let len_bytes = 1 + next(24);
        words.extend((0..len_bytes).map(|_| char::from(letters[next(letters.len())])));
        words.push('\n');
    }
    words
}

/// Functions that hashcat computes only with `-j`, and two whose results with `-r` are wrong on CPUs (version 6.2.6 in
/// Debian 12: `d` of `-x-y-z` gives `-x-y-z-xm{o~`).
const NOT_BY_FILES: [&str; 16] = [
    "Reflect",
    "Repeat(",
    "Store",
    "AppendStored",
    "PrependStored",
    "InsertStored",
    "AtMost",
    "AtLeast",
    "Exactly",
    "Without",
    "With(",
    "Begins",
    "Ends",
    "Has(",
    "Counts",
    "Changed",
];

/// A file of rules: its name, and the rules that can be compared.
type File = (String, Vec<Vec<u8>>);

/// The files of rules that hashcat comes with.
fn shipped() -> Vec<File> {
    let is_compared = |line: &[u8]| {
        let rule = Rule::parse(line).map(|rule| format!("{rule:?}"));
        let is_by_files = |rule: String| !NOT_BY_FILES.iter().any(|name| rule.contains(name));
        !line.is_empty() && !line.starts_with(b"#") && rule.is_ok_and(is_by_files)
    };
    let paths = fs::read_dir("/usr/share/hashcat/rules").into_iter().flatten();
    let files = paths.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let file = |path: PathBuf| {
        let text = fs::read(&path).unwrap();
        let (_, unknown) = Rule::parse_known(&text).unwrap();
        // InsidePro's files have functions that hashcat does not know either.
        assert!(unknown.as_ref().is_none_or(|unknown| unknown.lines < 40), "{}: {unknown:?}", path.display());
        let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let lines = lines.filter(|line| is_compared(line)).map(<[u8]>::to_vec);
        (path.display().to_string(), lines.collect())
    };
    files.map(file).collect()
}

/// The least number of pairs of a word and a rule for each file.
const PAIRS: usize = 10_000;

/// Compares the candidates of files of rules in one run of hashcat, which takes seconds to start. Both programs must
/// make the same candidates equally often. `None` if hashcat does not run.
fn compared(files: &[File], words: &str) -> Option<usize> {
    let place = std::env::temp_dir().join(format!("crossgrain-rules-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    let (list, file) = (place.join("words"), place.join("rules"));
    let (mut rules, mut ours_made) = (Vec::new(), Vec::new());
    for (name, lines) in files {
        let before = rules.len();
        for line in lines {
            let made = ours(line, words);
            // In hashcat's output, a line end within a candidate looks like the end of the candidate.
            if made.iter().all(|candidate| !candidate.contains(&b'\n')) {
                ours_made.extend(made);
                rules.push(&line[..]);
            }
        }
        let pairs = (rules.len() - before) * words.lines().count();
        assert!(pairs >= PAIRS, "{name}: {pairs} pairs of a word and a rule are too few");
    }
    fs::write(&list, words).unwrap();
    fs::write(&file, rules.join(&b'\n')).unwrap();
    let theirs = by_hashcat(&["-r", file.to_str().unwrap()], &list);
    fs::remove_dir_all(&place).unwrap();
    let mut theirs = theirs?;
    ours_made.sort_unstable();
    theirs.sort_unstable();
    if let Some(at) = (0..ours_made.len().max(theirs.len())).find(|at| ours_made.get(*at) != theirs.get(*at))
    {
        let [ours, theirs] = [&ours_made, &theirs]
            .map(|made| made.get(at).map(|candidate| String::from_utf8_lossy(candidate).into_owned()));
        panic!("the first difference in sorted order: {ours:?} is ours, {theirs:?} is theirs");
    }
    Some(rules.len())
}

/// Rules of all shipped files, each on enough words for [`PAIRS`] pairs.
#[test]
fn shipped_files_of_rules_give_what_hashcat_gives() {
    let files = shipped();
    if files.is_empty() {
        println!("skipped: hashcat's files of rules are not installed");
        return;
    }
    let count = files.len();
    let is_short = |file: &File| file.1.len() * WORDS.lines().count() < PAIRS + PAIRS / 10;
    let (short, long): (Vec<_>, Vec<_>) = files.into_iter().partition(is_short);
    match (compared(&short, &many_words()), compared(&long, WORDS)) {
        (Some(short), Some(long)) => println!("{count} files loaded, {} rules compared", short + long),
        _ => println!("{count} files loaded; skipped: hashcat has no device"),
    }
}

/// The functions that hashcat has only for single rules.
#[test]
fn single_rules_give_what_hashcat_gives() {
    let list = std::env::temp_dir().join(format!("crossgrain-words-{}", std::process::id()));
    fs::write(&list, WORDS).unwrap();
    let rules = [
        "f", "d", "p2", "M r 4", "M r 6", "M X012", "M X120", "M '1 4", "<8", ">8", "_8", "!a", "/a", "(a",
        ")b", "=1b", "%2a", "M c Q", "31-", "e-",
    ];
    let mut compared = 0;
    for rule in rules {
        let Some(theirs) = by_hashcat(&["-j", rule], &list) else { continue };
        assert_eq!(ours(rule.as_bytes(), WORDS), theirs, "{rule}");
        compared += 1;
    }
    fs::remove_file(&list).unwrap();
    if compared == 0 {
        println!("skipped: hashcat is not installed, or has no device");
    } else {
        println!("{compared} rules compared");
    }
}
