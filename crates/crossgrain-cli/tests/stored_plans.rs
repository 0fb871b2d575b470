//! Stored plans in use: they change the variants that run but no byte, and are refused where they do not fit.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs;

use common::{Done, Place, key, painted};

const IV: &str = "000102030405060708090a0b0c0d0e0f";

/// A place with input, and a plan for AES-CTR of one key size made under an ISA cap.
fn place_with_plan(cipher: &str, isa: &str, policy: &str) -> Place {
    let place = Place::with(&painted(100_003, 1));
    let mut command = place.command(&[
        "plan",
        "--cipher",
        cipher,
        "--job",
        "ctr",
        "--policy",
        policy,
        "--save",
        "plan.json",
    ]);
    let done: Done = command.env("CROSSGRAIN_ISA", isa).output().unwrap().into();
    done.printed();
    place
}

/// The arguments of `raw` with further ones.
fn raw<'a>(key: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mode = ["raw", "--cipher", "aes-256", "--mode", "ctr", "--key", key, "--iv", IV, "in", "-o"];
    [&mode[..], more].concat()
}

#[test]
fn raw_runs_the_plan_it_is_given_and_explains_it() {
    let place = place_with_plan("aes-256", "portable", "constant-time");
    let key = key(256);
    assert!(place.run(&raw(&key, &["chosen"])).printed().is_empty());
    let planned = place.run(&raw(&key, &["planned", "--plan", "plan.json", "--explain"]));
    assert_eq!(planned.code, Some(0), "{}", planned.err);
    assert!(planned.err.lines().all(|line| line.starts_with("crossgrain: plan, by ")), "{}", planned.err);
    assert!(planned.err.contains("bitsliced") && planned.err.contains("/portable"), "{}", planned.err);
    assert_eq!(fs::read(place.path("planned")).unwrap(), place.read("chosen"));
}

#[test]
fn a_plan_that_does_not_fit_is_refused() {
    let key = key(256);
    let other = place_with_plan("aes-128", "portable", "constant-time");
    let line = other.refuses(2, &raw(&key, &["out", "--plan", "plan.json"]));
    assert!(line.contains("it is of aes-128") && line.contains("aes-256"), "{line}");
    let line = other.refuses(2, &raw(&key, &["out", "--plan", "plan.json", "--variant", "x"]));
    assert!(line.contains("cannot be used with"), "{line}");
    other.write("plan.json", b"{");
    let line = other.refuses(3, &raw(&key, &["out", "--plan", "plan.json"]));
    assert!(line.contains("corrupt"), "{line}");
}

#[test]
fn demo_draws_its_plan_where_told_and_overwrites_nothing() {
    let place = Place::new();
    let demo = ["demo", "--bytes", "64K"];
    let told = String::from_utf8(place.run(&demo).printed()).unwrap();
    assert!(told.contains("predicted") && place.look().is_empty(), "{told}");
    let drawn = [&demo[..], &["--svg", "plan.svg"]].concat();
    let told = String::from_utf8(place.run(&drawn).printed()).unwrap();
    assert!(told.contains("plan.svg shows how the plan was chosen"), "{told}");
    let picture = place.read("plan.svg");
    assert!(picture.starts_with(b"<svg"), "a picture");

    place.write("plan.svg", b"mine");
    assert_eq!(place.run(&drawn).code, Some(5));
    assert_eq!(place.read("plan.svg"), b"mine");
    place.run(&[&drawn[..], &["--force"]].concat()).printed();
    assert_eq!(place.read("plan.svg"), picture);
}

#[test]
fn demo_runs_a_stored_plan() {
    let place = place_with_plan("aes-256", "portable", "constant-time");
    let told = place.run(&["demo", "--bytes", "65536", "--plan", "plan.json"]).printed();
    let told = String::from_utf8(told).unwrap();
    assert!(told.contains("as planned: ") && told.contains("every byte back"), "{told}");
    let wrong = place_with_plan("aes-128", "portable", "constant-time");
    assert_eq!(wrong.run(&["demo", "--bytes", "65536", "--plan", "plan.json"]).code, Some(2));
}

#[test]
fn the_planner_is_judged_for_jobs_that_exist() {
    let line = Place::new().refuses(2, &["bench", "--planner", "des-56-ctr"]);
    assert!(line.contains("no job and cap"), "{line}");
}

#[test]
fn plans_that_may_leak_are_timed_when_they_are_asked_for() {
    let bench = ["bench", "--json", "--turns", "1", "--patience", "1", "aes-128-ctr/u64-any"];
    let place = Place::new();
    let rows = |arguments: &[&str]| {
        let told = String::from_utf8(place.run(arguments).printed()).unwrap();
        told.lines().filter(|line| line.contains("aes-128-ctr/u64-any")).count()
    };
    place.refuses(2, &bench);
    assert_eq!(rows(&[&bench[..], &["--policy", "any"]].concat()), 1);
}

#[test]
fn a_plan_is_timed_with_the_others_of_its_job() {
    let bench = ["bench", "--json", "--turns", "1", "--patience", "1", "--plan", "plan.json"];
    let place = place_with_plan("sm4", "portable", "constant-time");
    let told = String::from_utf8(place.run(&bench).printed()).unwrap();
    let ids: Vec<_> = told.lines().filter(|line| line.contains("\"id\"")).collect();
    assert!(ids.iter().any(|line| line.contains("sm4-ctr/plan")), "{told}");
    assert!(ids.iter().all(|line| line.contains("sm4-ctr/")), "{told}");
    place.run(&["plan", "--cipher", "sm4", "--job", "search", "--save", "plan.json", "--force"]).printed();
    let line = place.refuses(2, &bench);
    assert!(line.contains("plans of ECB and CTR"), "{line}");
}
