//! The program's documentation of itself: help whose examples run, manual pages, completions.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Done, Place, painted};

/// The commands that the program has.
fn commands(place: &Place) -> Vec<String> {
    let help = String::from_utf8(place.run(&["--help"]).printed()).unwrap();
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !["", "help"].contains(name)).map(str::to_owned).collect()
}

/// A place with the files that the examples use.
fn example_place() -> Place {
    let place = Place::new();
    place.write("photos.tar", &painted(20_000, 1));
    place.write("passphrase", b"correct horse\n");
    place.run(&["keygen", "-o", "key"]).printed();
    place.run(&["encrypt", "--key-file", "key", "photos.tar", "-o", "photos.sealed"]).printed();
    place
}

#[test]
fn every_command_has_examples_that_run() {
    let names = commands(&Place::new());
    assert!(names.len() >= 16, "{names:?}");
    let program = Path::new(env!("CARGO_BIN_EXE_crossgrain")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for name in names {
        let place = example_place();
        let help = String::from_utf8(place.run(&[&name, "--help"]).printed()).unwrap();
        let (_, examples) =
            help.split_once("Examples:\n").unwrap_or_else(|| panic!("{name} has no examples"));
        assert!(examples.contains(&format!("crossgrain {name}")), "{examples}");
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", examples]).current_dir(place.path(".")).stdin(Stdio::null());
        let done: Done =
            shell.env("PATH", &path).env("CROSSGRAIN_WISDOM", "wisdom.json").output().unwrap().into();
        assert_eq!(done.code, Some(0), "{examples}: {}", done.err);
    }
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let place = Place::new();
    fs::create_dir(place.path("man")).unwrap();
    place.run(&["man", "man"]).printed();
    for name in commands(&place) {
        let page = fs::read_to_string(place.path("man").join(format!("crossgrain-{name}.1"))).unwrap();
        assert!(page.contains(".TH") && page.contains("Examples:"), "{name}: {page}");
    }
    assert!(place.path("man/crossgrain.1").exists());
    assert!(place.refuses(1, &["man", "nowhere"]).contains("nowhere"));
}

#[test]
fn every_shell_has_completions() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = String::from_utf8(place.run(&["complete", shell]).printed()).unwrap();
        assert!(script.contains("keygen") && script.contains("passphrase-file"), "{shell}");
        if shell == "bash" {
            place.write("script", script.as_bytes());
            let mut bash = Command::new("bash");
            bash.arg("-n").arg(place.path("script"));
            assert!(bash.status().is_ok_and(|status| status.success()));
        }
    }
    place.refuses(2, &["complete", "tcsh"]);
}
