//! `crossgrain deps`: the same dependences for people and for programs.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Done, crossgrain};
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
    assert_eq!(all.lines().count(), 16);
    assert_eq!(text(&["-d"]).lines().count(), 8);
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
    let done: Done = crossgrain(&["deps", "--mode", "ccm"]).output().unwrap().into();
    assert!(done.refused(2).contains("ccm"));
}
