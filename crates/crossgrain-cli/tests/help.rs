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
    place.run(&["encrypt", "--key-file", "key", "photos.tar", "-o", "photos.cg"]).printed();
    fs::create_dir(place.path("letters")).unwrap();
    place.write("letters/first", b"hello");
    place.run(&["encrypt", "--key-file", "key", "--tar", "letters", "-o", "letters.cg"]).printed();
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
        assert!(page.contains(".TH") && page.contains(".SH EXAMPLES\n.nf\n"), "{name}: {page}");
    }
    assert!(place.path("man/crossgrain.1").exists());
    assert!(place.refuses(1, &["man", "nowhere"]).contains("nowhere"));
}

/// The examples of a page are those of the help, line by line: they can be copied.
#[test]
fn pages_of_the_manual_keep_examples_as_they_are() {
    let place = Place::new();
    fs::create_dir(place.path("man")).unwrap();
    place.run(&["man", "man"]).printed();
    for name in commands(&place) {
        let help = String::from_utf8(place.run(&[&name, "--help"]).printed()).unwrap();
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        let mut groff = Command::new("groff");
        // A narrow page: lines that were filled would be broken.
        groff
            .args(["-man", "-Tascii", "-P-cbou", "-rLL=40n"])
            .arg(place.path(&format!("man/crossgrain-{name}.1")));
        let Ok(page) = groff.output() else {
            println!("skipped: pages of the manual (groff is not installed)");
            return;
        };
        let page = String::from_utf8(page.stdout).unwrap();
        let (_, shown) = page.split_once("EXAMPLES\n").unwrap_or_else(|| panic!("{name}: {page}"));
        let lines = |text: &str, indent: usize| -> Vec<String> {
            let lines = text.lines().take_while(|line| line.starts_with(' '));
            lines.map(|line| line[indent..].to_owned()).collect()
        };
        assert_eq!(lines(shown, 7), lines(examples, 2), "{name}: {page}");
    }
}

#[test]
fn the_long_version_tells_how_the_program_was_built() {
    let place = Place::new();
    let printed = |args: &[&str]| String::from_utf8(place.run(args).printed()).unwrap();
    let version = format!("crossgrain {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(printed(&["-V"]), version);
    let long = printed(&["--version"]);
    let rest = long.strip_prefix(&version).unwrap_or_else(|| panic!("{long}"));
    let (names, values): (Vec<_>, Vec<_>) = rest.lines().map(|line| line.split_once(": ").unwrap()).unzip();
    assert_eq!(names, ["features", "target", "instructions", "compiler"]);
    assert_eq!(values[0], if cfg!(feature = "gpu") { "gpu" } else { "none" });
    assert!(values[1].contains(std::env::consts::ARCH) && values[3].starts_with("rustc 1."), "{long}");
    let mut capped = place.command(&["--version"]);
    let capped: Done = capped.env("CROSSGRAIN_ISA", "portable").output().unwrap().into();
    assert!(String::from_utf8(capped.printed()).unwrap().contains("\ninstructions: portable\n"));
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
