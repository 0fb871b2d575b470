//! The program as a whole: it starts workers, and prints rows of those that compute the same.
#![cfg(unix)]

use std::fs;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_crossgrain-peers");

fn bench(workers: &[&str], arguments: &[&str]) -> Output {
    let mut bench = Command::new(PROGRAM);
    bench.args(["bench", "--json", "--turns", "1", "--patience", "1", "--sample", "1"]);
    bench.args(workers.iter().flat_map(|worker| ["--worker", worker]));
    bench.args(arguments).output().expect("the program runs")
}

#[test]
fn rows_are_in_json_and_say_where_they_are_from() {
    let (ours, theirs) = (format!("{PROGRAM} worker crossgrain"), format!("{PROGRAM} worker ring"));
    let output = bench(&[&ours, &theirs, "false"], &["aes-128-gcm/apart/64"]);
    assert!(!output.status.success()); // the last worker does not answer
    let output = bench(&[&ours, &theirs], &["aes-128-gcm/apart/64"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for key in ["machine", "features", "load_average", "cpus", "crossgrain", "cc"] {
        assert!(lines[0][key].is_string(), "{key} in {}", lines[0]);
    }
    assert_eq!(lines[0]["peers"].as_array().unwrap().len(), 2);
    let ids: Vec<_> = lines[1..].iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"aes-128-gcm/apart/64/crossgrain") && ids.contains(&"aes-128-gcm/apart/64/ring"));
    assert!(lines[1..].iter().all(|row| row["ns"].as_f64().unwrap() > 0.0));
}

/// A worker that computes something else is never timed.
#[test]
fn workers_that_disagree_are_not_timed() {
    let script = std::env::temp_dir().join(format!("crossgrain-peers-{}.sh", std::process::id()));
    let answers = "while read -r word rest; do case $word in name) echo wrong 1;; check) echo 42;; *) echo 7;; esac; done";
    fs::write(&script, answers).unwrap();
    let (ours, wrong) = (format!("{PROGRAM} worker crossgrain"), format!("sh {}", script.display()));
    let output = bench(&[&ours, &wrong], &["aes-128-gcm/apart/16"]);
    fs::remove_file(&script).unwrap();
    assert!(!output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 1, "only the first line");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("aes-128-gcm/apart/16 is not timed: crossgrain and wrong compute different bytes"),
        "{told}"
    );
}
