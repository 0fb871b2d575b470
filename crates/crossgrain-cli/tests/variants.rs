//! `crossgrain variants`: the same table as text and as JSON.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::BTreeSet;
use std::process::Stdio;

use common::{Done, crossgrain};
use serde_json::Value;

const COLUMNS: [&str; 5] = ["name", "representation", "isa", "leaks", "available"];

fn text() -> String {
    String::from_utf8(Done::from(crossgrain(&["variants"]).output().unwrap()).printed()).unwrap()
}

fn objects(cap: Option<&str>) -> Vec<Value> {
    let mut command = crossgrain(&["variants", "--json"]);
    command.envs(cap.map(|cap| ("CROSSGRAIN_ISA", cap)));
    serde_json::from_slice(&Done::from(command.output().unwrap()).printed()).unwrap()
}

fn available(objects: &[Value]) -> BTreeSet<&str> {
    let there = objects.iter().filter(|object| object["available"] == true);
    there.map(|object| object["name"].as_str().unwrap()).collect()
}

/// The cells of a row. At least two spaces separate columns; cells contain single spaces.
fn cells(row: &str) -> Vec<&str> {
    row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

#[test]
fn who_has_read_enough_is_told_nothing() {
    let mut command = crossgrain(&["variants", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(Done::from(child.wait_with_output().unwrap()).printed().is_empty());
}

#[test]
fn the_text_has_a_header_and_a_row_for_each_variant() {
    let text = text();
    let mut rows = text.lines();
    assert_eq!(cells(rows.next().unwrap()), COLUMNS);
    let told: Vec<Vec<String>> =
        rows.map(|row| cells(row).into_iter().map(str::to_owned).collect()).collect();
    let cell = |value: &Value| match value {
        Value::Bool(available) => if *available { "yes" } else { "no" }.to_owned(),
        value => value.as_str().unwrap().to_owned(),
    };
    let expected: Vec<Vec<_>> =
        objects(None).iter().map(|object| COLUMNS.map(|key| cell(&object[key])).to_vec()).collect();
    assert!(!told.is_empty());
    assert_eq!(told, expected);
}

#[test]
fn the_json_has_these_keys_and_no_others() {
    let objects = objects(None);
    for object in &objects {
        let keys: BTreeSet<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, BTreeSet::from(COLUMNS));
        let words = ["name", "representation", "isa", "leaks"].map(|key| object[key].as_str().unwrap());
        assert!(words.iter().all(|word| !word.is_empty()), "{object}");
        assert!(object["available"].is_boolean(), "{object}");
    }
    let names: BTreeSet<_> = objects.iter().map(|object| object["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), objects.len(), "two variants of one name");
}

#[test]
fn some_leak_and_say_so() {
    let objects = objects(None);
    for object in &objects {
        let looks_up = object["name"].as_str().unwrap().ends_with("-table");
        assert_eq!(object["leaks"] != "nothing", looks_up, "{object}");
    }
    assert!(objects.iter().any(|object| object["leaks"] != "nothing"));
}

#[test]
fn a_cap_takes_variants_away_but_lists_them() {
    let (all, capped) = (objects(None), objects(Some("portable")));
    assert_eq!(capped.len(), all.len());
    assert!(available(&capped).is_subset(&available(&all)));
    for object in &capped {
        assert_eq!(object["available"] == true, object["isa"] == "portable", "{object}");
    }
}

#[test]
fn an_unreadable_cap_is_refused() {
    let done: Done = crossgrain(&["variants"]).env("CROSSGRAIN_ISA", "abacus").output().unwrap().into();
    assert!(done.out.is_empty());
    assert!(done.refused(2).contains("abacus"));
}

#[test]
fn an_argument_too_many_is_refused() {
    let done: Done = crossgrain(&["variants", "--yaml"]).output().unwrap().into();
    assert!(done.refused(2).contains("--yaml"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_told() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let done: Done = crossgrain(&["variants"]).stdout(full).output().unwrap().into();
    assert!(done.refused(1).contains("standard output"));
}
