//! `crossgrain deps`: the same dependences as text and as JSON.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs;
use std::path::Path;

use common::{Done, Place, crossgrain};
use serde_json::Value;

fn text(arguments: &[&str]) -> String {
    let arguments = [&["deps"], arguments].concat();
    String::from_utf8(Done::from(crossgrain(&arguments).output().unwrap()).printed()).unwrap()
}

fn objects(arguments: &[&str]) -> Vec<Value> {
    serde_json::from_str(&text(&[&["--json"], arguments].concat())).unwrap()
}

fn first_line(arguments: &[&str]) -> String {
    text(arguments).lines().next().unwrap().to_owned()
}

#[test]
fn cbc_is_told_in_one_line() {
    for (arguments, line) in [
        (&["--mode", "cbc"][..], "CBC encrypt: flow dependence, distance 1, serial"),
        (&["--mode", "cbc", "-d"], "CBC decrypt: none, parallel"),
        (
            &["--mode", "cbc", "-d", "--in-place"],
            "CBC decrypt, in place: anti dependence, distance -1, parallel once what is overwritten is saved",
        ),
    ] {
        assert_eq!(first_line(arguments), line);
    }
}

#[test]
fn without_a_mode_there_is_a_line_for_each_mode_and_direction() {
    let all = text(&[]);
    assert_eq!(all.lines().count(), 28);
    assert_eq!(text(&["-d"]).lines().count(), 14);
    let known: Vec<_> = all.lines().collect();
    for object in objects(&[]) {
        let arguments: &[&str] = if object["direction"] == "decrypt" { &["-d"] } else { &[] };
        let mode = ["--mode", object["mode"].as_str().unwrap()];
        assert!(known.contains(&first_line(&[&mode, arguments].concat()).as_str()), "{object}");
        assert!(known.contains(&object["summary"].as_str().unwrap()), "{object}");
    }
}

#[test]
fn the_json_of_a_mode_is_an_array_of_one_object() {
    let [gcm] = &objects(&["--mode", "gcm"])[..] else { panic!("not one object") };
    let names: Vec<_> = gcm["loops"].as_array().unwrap().iter().map(|found| &found["name"]).collect();
    assert_eq!(names, ["header", "blocks", "mac"]);
    assert_eq!(gcm["loops"][1]["private"], serde_json::json!(["counter", "keystream"]));
    assert_eq!(gcm["loops"][2]["verdict"], "parallel as a reduction");
    assert_eq!(gcm["loops"][2]["dependences"][0]["distances"], serde_json::json!([1]));
    assert_eq!(gcm["cipher_calls"]["affine"]["per_block"], 1);
    assert_eq!(gcm["critical_path"]["affine"]["per_block"], 0);
}

#[test]
fn the_table_tells_variables_and_the_critical_path() {
    let xts = text(&["--mode", "xts"]);
    for part in [
        "private  tweak",
        "reads    input[i], tweak",
        "flow",
        "first * x^i",
        "cipher calls for n blocks  n+1",
    ] {
        assert!(xts.contains(part), "{part} is not in:\n{xts}");
    }
}

#[test]
fn an_unknown_mode_is_refused() {
    let done: Done = crossgrain(&["deps", "--mode", "pmac"]).output().unwrap().into();
    assert!(done.refused(2).contains("pmac"));
}

/// An example from `crossgrain-deps`.
fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crossgrain-deps/examples/loops");
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn loops_of_a_file_are_judged() {
    let place = Place::new();
    place.write("own.loops", example("recurrence.loops").as_bytes());
    let printed = String::from_utf8(place.run(&["deps", "--loop", "own.loops"]).printed()).unwrap();
    let flow = "flow on a from 5:3 a[i] to 5:10 a[i-1], distance (1), direction (<)";
    assert!(printed.starts_with(&format!("loop i at 4:1: serial\n    {flow}\n")), "{printed}");
    assert!(printed.contains(&format!("  {flow}, carried by i at 4:1\n")), "{printed}");
    place.write("own.loops", example("aes-encrypt.loops").as_bytes());
    let printed = String::from_utf8(place.run(&["deps", "--loop", "own.loops"]).printed()).unwrap();
    assert!(printed.contains("parallel\n    in in closed form, 16 an iteration\n"), "{printed}");
    assert!(printed.contains("private i, j, r, wtxt, t, e\n"), "{printed}");
}

#[test]
fn the_json_of_loops_is_one_object() {
    let place = Place::new();
    place.write("own.loops", example("shift.loops").as_bytes());
    let printed = place.run(&["deps", "--json", "--loop", "own.loops"]).printed();
    let object: Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(object["loops"][0]["verdict"], "parallel");
    assert_eq!(object["loops"][0]["copied"], serde_json::json!(["a"]));
    assert_eq!(object["dependences"][0]["kind"], "anti");
    assert_eq!(object["dependences"][0]["distances"], serde_json::json!([[1, 1]]));
    assert_eq!((&object["pairs"]["all"], &object["parallel"][0]), (&3.into(), &0.into()));
}

#[test]
fn loops_are_written_out_to_files_that_are_not_overwritten() {
    let place = Place::new();
    place.write("own.loops", example("shift.loops").as_bytes());
    for (target, part) in [("c", "#pragma omp parallel for"), ("rust", "into_par_iter()")] {
        let args = ["deps", "--loop", "own.loops", "--emit", target, "-o", target];
        assert!(place.run(&args).printed().is_empty());
        assert!(String::from_utf8(place.read(target)).unwrap().contains(part));
        assert!(place.refuses(5, &args).contains("--force"));
    }
    place.refuses(2, &["deps", "--loop", "own.loops", "--emit", "c", "-o", "own.loops", "--force"]);
}

#[test]
fn a_profile_shows_the_work_of_each_loop() {
    let place = Place::new();
    place.write("own.loops", example("aes-encrypt.loops").as_bytes());
    let profile = ["deps", "--loop", "own.loops", "--profile", "--size", "blocks=2000"];
    let printed = String::from_utf8(place.run(&profile).printed()).unwrap();
    let lines: Vec<Vec<_>> = printed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["share", "operations", "iterations", "entered", "loop"]);
    assert_eq!((lines[1][3], lines[1][4], lines[1][5]), ("2,000", "1", "i"), "{printed}");
    assert_eq!((lines[2][3], lines[2][4], lines[2][5]), ("26,000", "2,000", "r"), "{printed}");
    let printed = place.run(&[&profile[..], &["--json"]].concat()).printed();
    let object: Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(
        (&object["profile"][1]["counter"], &object["profile"][1]["entered"]),
        (&"r".into(), &2000.into())
    );
    for size in ["blocks=0", "blocks", "blocks=x", "n=5", "=", "blocks=99999999999999999999", "\u{1b}=\n"] {
        let line = place.refuses(2, &["deps", "--loop", "own.loops", "--size", size]);
        assert!(line.contains("--size") && line.lines().count() == 1, "{line}");
    }
    place.refuses(2, &["deps", "--profile"]);
    place.refuses(2, &["deps", "--mode", "cbc", "--size", "n=1"]);
}

#[test]
fn serial_loops_are_transformed() {
    let place = Place::new();
    place.write("own.loops", example("wavefront.loops").as_bytes());
    let run = |arguments: &[&str]| {
        let arguments = [&["deps", "--loop", "own.loops"], arguments].concat();
        String::from_utf8(place.run(&arguments).printed()).unwrap()
    };
    let printed = run(&[]);
    let step = "skew: run the loops over i and j in waves of i + j, each parallel";
    let transformed = format!("\ntransformed\n  loop at 5:1: {step}\nloop wave at 5:1: serial\n");
    assert!(printed.contains(&transformed) && printed.contains("\n  loop i at 6:3: parallel\n"), "{printed}");
    let object: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    assert_eq!(object["transformed"]["steps"][0]["text"], step);
    assert_eq!(object["transformed"]["steps"][0]["kind"], "skewing");
    assert_eq!(object["transformed"]["loops"][1]["verdict"], "parallel");
    assert_eq!(
        (&object["parallel"], &object["transformed"]["parallel"]),
        (&serde_json::json!([]), &serde_json::json!([1]))
    );
    assert!(run(&["--emit", "c"]).contains("#pragma omp parallel for"));
    // As written, nothing is parallel.
    assert!(!run(&["--as-written"]).contains("transformed"));
    assert!(
        serde_json::from_str::<Value>(&run(&["--as-written", "--json"])).unwrap()["transformed"].is_null()
    );
    assert!(!run(&["--as-written", "--emit", "c"]).contains("#pragma omp parallel for"));
}

#[test]
fn bad_loops_are_refused_with_their_place() {
    let place = Place::new();
    for (text, told) in [
        ("for i = 1\nend", "own.loops:1:1: this loop has no bound"),
        (
            "array a[9]\nfor i = 0 to 2\n a[i*i] = 1\nend",
            "own.loops:3:2: `a[i*i]`: its subscript is not affine",
        ),
        ("word t\nt = u", "own.loops:2:5: `u` is not declared"),
        (
            "word t\nfor i = 1 to 1000000000\n t = i\nend",
            "own.loops:2:1: this loop has 1000000000 iterations",
        ),
        ("\u{1}\u{2}", "own.loops:1:1: "),
    ] {
        place.write("own.loops", text.as_bytes());
        let line = place.refuses(2, &["deps", "--loop", "own.loops"]);
        assert!(line.contains(told), "{line}");
    }
    place.write("own.loops", b"\xff\xfe");
    assert!(place.refuses(2, &["deps", "--loop", "own.loops"]).contains("UTF-8"));
    place.refuses(1, &["deps", "--loop", "nowhere"]);
    place.refuses(2, &["deps", "--loop", "own.loops", "--mode", "cbc"]);
    place.refuses(2, &["deps", "--emit", "c"]);
}
