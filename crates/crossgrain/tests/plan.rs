//! The published example of mixed word-parallel and bit-serial AES, and costs read from a file.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use crossgrain::plan::compose::{Answer, CostFile, Error, Path};

/// The most path prefixes that the exhaustive oracle may visit.
const LIMIT: usize = 1_000_000;

/// Published costs of the parts of an AES round, word-parallel and bit-serial.
const PUBLISHED: &str = r#"{
    "parts": ["SubBytes", "ShiftRows", "MixColumns", "AddRoundKey"],
    "representations": ["word", "bit"],
    "cost": {
        "SubBytes": {"word": 14337, "bit": 38563},
        "ShiftRows": {"word": 5788, "bit": 0},
        "MixColumns": {"word": 27908, "bit": 5991},
        "AddRoundKey": {"word": 6427, "bit": 10062}
    },
    "convert": {"word>bit": 11856, "bit>word": 11856},
    "start": ["word"], "end": ["word"], "rounds": 1
}"#;

fn published(start: &[&str], end: &[&str], rounds: usize) -> CostFile {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    CostFile { start: owned(start), end: owned(end), rounds, ..PUBLISHED.parse().unwrap() }
}

fn names(path: &Path) -> Vec<&str> {
    path.names().collect()
}

#[test]
fn the_published_round() {
    let flow = PUBLISHED.parse::<CostFile>().unwrap().flow().unwrap();
    let report = flow.at(0).report(3).unwrap();
    let mixed =
        ["SubBytes/word", "word>bit", "ShiftRows/bit", "MixColumns/bit", "bit>word", "AddRoundKey/word"];
    assert_eq!(names(&report.best), mixed);
    assert_eq!(report.best.total_ns, 50467.0);

    let alone: Vec<_> = report.pure.iter().map(|form| form.parts.as_ref().unwrap().total_ns).collect();
    assert_eq!(alone, [54460.0, 54616.0]);
    let with_ends: Vec<_> = report.pure.iter().map(|form| form.whole.as_ref().unwrap().total_ns).collect();
    assert_eq!(with_ends, [54460.0, 54616.0 + 2.0 * 11856.0]);
    assert_eq!(report.best_pure().unwrap().total_ns, 54460.0);
    let gain = report.gain_percent().unwrap();
    assert!((7.3..=7.4).contains(&gain), "{gain}");

    let every = flow.at(0).every(LIMIT).unwrap();
    assert_eq!(every.len(), 1 << 4, "each part in either representation");
    assert_eq!(report.runners_up, every[1..4]);
    // The greedy path converts for MixColumns, and then stays in the representation where AddRoundKey is
    // expensive.
    assert_eq!(report.greedy.total_ns, 59890.0);
}

#[test]
fn the_published_round_as_json() {
    let flow = PUBLISHED.parse::<CostFile>().unwrap().flow().unwrap();
    let answer = serde_json::to_value(Answer::from(&flow.at(0).report(1).unwrap())).unwrap();
    assert_eq!(answer["total"].to_string(), "50467", "whole numbers are written whole");
    assert_eq!(answer["path"][0], "SubBytes/word");
    assert_eq!(answer["path"][1], "word>bit");
    assert_eq!(answer["pure"], serde_json::json!({"word": 54460, "bit": 54616}));
    assert_eq!(answer["pure_with_ends"], serde_json::json!({"word": 54460, "bit": 78328}));
    assert_eq!(answer["runners_up"].as_array().unwrap().len(), 1);
    assert_eq!(answer["greedy"]["total"], 59890);
    let gain = answer["gain_percent"].as_f64().unwrap();
    assert!((7.3..=7.4).contains(&gain), "{gain}");
}

/// The least total over all paths from one representation to another, by enumeration.
fn tried(start: &str, end: &str, rounds: usize) -> f64 {
    let flow = published(&[start], &[end], rounds).flow().unwrap();
    flow.at(0).every(LIMIT).unwrap()[0].total_ns
}

/// Ten rounds have too many paths to enumerate; one round has few. So the best totals of one and three rounds
/// between each two representations are combined into the best for ten.
#[test]
fn ten_published_rounds_with_ends_in_either_representation() {
    const REPRS: [&str; 2] = ["word", "bit"];
    let round = |rounds| REPRS.map(|start| REPRS.map(|end| tried(start, end, rounds)));
    let after = |a: [[f64; 2]; 2], b: [[f64; 2]; 2]| {
        [0, 1].map(|i| [0, 1].map(|j| (a[i][0] + b[0][j]).min(a[i][1] + b[1][j])))
    };
    let (one, three) = (round(1), round(3));
    assert_eq!(after(after(one, one), one), three);
    let ten = after(after(three, three), after(three, one));
    for (start, from) in REPRS.into_iter().zip(ten) {
        for (end, want) in REPRS.into_iter().zip(from) {
            let flow = published(&[start], &[end], 10).flow().unwrap();
            assert_eq!(flow.at(0).best().unwrap().total_ns, want, "{start} to {end}");
        }
    }
    let free = published(&REPRS, &REPRS, 10).flow().unwrap();
    let report = free.at(0).report(4).unwrap();
    assert_eq!(report.best.total_ns, ten.into_iter().flatten().fold(f64::INFINITY, f64::min));
    assert_eq!(report.best_pure().unwrap().total_ns, 544_600.0);
    assert!(report.gain_percent().unwrap() > 7.3);
    assert!(report.runners_up.is_sorted_by(|a, b| a.total_ns <= b.total_ns));
}
#[test]
fn too_many_paths_are_not_enumerated() {
    let flow = published(&["word"], &["word"], 10).flow().unwrap();
    assert_eq!(flow.at(0).every(1000), Err(Error::TooManyPaths { limit: 1000 }));
}
#[test]
fn bad_cost_files_are_refused_in_one_line() {
    let bad = [
        ("", "EOF"),
        ("[]", "invalid"),
        (r#""start": ["word"], "#, "missing field `start`"),
        (r#""start": ["word"]"#, r#""start": [] # start names no representation"#),
        (r#""end": ["word"]"#, r#""end": [] # end names no representation"#),
        (r#""end": ["word"]"#, r#""end": ["bit", "word", "bit"] # end names 'bit' twice"#),
        (r#""start": ["word"]"#, r#""start": ["byte"] # no representation 'byte'"#),
        ("word>bit", "word>byte # no representation 'byte'"),
        ("word>bit", "word-bit # not of the form a>b"),
        ("word>bit", "word>word # leads to where it began"),
        (r#"{"word": 5788"#, r#"{"byte": 5788 # no representation 'byte'"#),
        (r#""ShiftRows": {"#, r#""ShiftColumns": { # computes 'ShiftColumns'"#),
        (r#"["word", "bit"]"#, r#"["word", "bit", "bit"] # two representations are called 'bit'"#),
        (r#"["SubBytes", "ShiftRows", "MixColumns", "AddRoundKey"]"#, "[] # at least one part"),
        ("14337", "-14337 # 'SubBytes/word' must be from 0 to 1e18: it is -1.4337e4"),
        ("14337", "1e308 # 'SubBytes/word' must be from 0 to 1e18: it is 1e308"),
        (r#""bit>word": "#, r#""bit>word": 9999999999999999999 # 'bit>word' must be from 0 to 1e18"#),
        ("14337", "1e999 # 'SubBytes': 'word': number out of range"),
        (r#"{"word": 5788"#, r#"{"word": 1, "word": 5788 # 'word' has two costs"#),
        ("14337", "\"dear\" # invalid type"),
        (r#""rounds": 1"#, r#""rounds": 0 # at least 1"#),
        (r#""rounds": 1"#, r#""rounds": 18446744073709551615 # too many"#),
        (r#""rounds": 1"#, r#""rounds": 1, "round": 2 # unknown field"#),
    ];
    for (at, (old, new)) in bad.into_iter().enumerate() {
        let (new, want) = new.split_once(" # ").unwrap_or(("", new));
        let json = if at < 2 { old.to_owned() } else { PUBLISHED.replacen(old, new, 1) };
        assert_ne!(json, PUBLISHED);
        let error = json.parse::<CostFile>().and_then(|file| file.flow()).unwrap_err().to_string();
        assert!(error.contains(want), "{error}: {want}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn cost_files_may_leave_costs_out() {
    let sparse = r#"{"parts": ["a", "b"], "representations": ["x", "y"],
        "cost": {"a": {"x": 1.5}, "b": {"y": 2}}, "convert": {"x>y": 3}, "start": ["x"], "end": ["y"]}"#;
    let file: CostFile = sparse.parse().unwrap();
    assert_eq!(file.rounds, 1);
    let answer = Answer::from(&file.flow().unwrap().at(0).report(5).unwrap());
    assert_eq!((answer.best.total, answer.best.path.join(" ")), (6.5, "a/x x>y b/y".to_owned()));
    assert_eq!((answer.pure.len(), answer.gain_percent, answer.runners_up.len()), (0, None, 0));
    let again: CostFile = serde_json::to_string(&file).unwrap().parse().unwrap();
    assert_eq!(again, file);

    let twice = CostFile { rounds: 2, ..file };
    let error = twice.flow().unwrap().at(0).best().unwrap_err().to_string();
    assert!(error.ends_with("computes 'a' (part 3 of 4)"), "{error}");
}
