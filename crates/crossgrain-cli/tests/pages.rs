//! Runs the shell examples of the documentation: those of each page in order, in a new directory.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Done, Place, painted};

/// Examples that build or install something, contain an ellipsis, or need another engine are not run. Those for
/// files of other tools are run by `search_files`, which makes the files.
const LEFT_ALONE: [&str; 4] = ["cargo ", "…", "wasmtime ", "--words words.txt"];

/// The pages: the README and all of `docs/`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(root.join("README.md"));
    pages.sort();
    pages
}

/// The shell examples of a page that the test runs.
fn examples(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let blocks = text.split("\n```sh\n").skip(1).map(|rest| rest.split("\n```").next().unwrap());
    blocks.filter(|block| !LEFT_ALONE.iter().any(|what| block.contains(what))).map(str::to_owned).collect()
}

#[test]
fn every_shell_example_runs() {
    let program = Path::new(env!("CARGO_BIN_EXE_crossgrain")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut run = 0;
    for page in pages() {
        let place = Place::new();
        // The files that the pages use: data and a passphrase.
        place.write("photos.tar", &painted(2_000_000, 1));
        place.write("plain", &painted(20_000, 2));
        place.write("passphrase", b"correct horse\n");
        let mut has_key = false;
        for example in examples(&page) {
            if !has_key && example.contains("--key-file key ") && !example.contains(" -o key") {
                place.run(&["keygen", "-o", "key"]).printed();
                place.run(&["encrypt", "--key-file", "key", "photos.tar", "-o", "photos.cg"]).printed();
            }
            has_key |= place.path("key").exists() || example.contains(" -o key");
            let mut shell = Command::new("sh");
            shell.args(["-e", "-c", &example]).current_dir(place.path(".")).stdin(Stdio::null());
            shell.env("PATH", &path).env("CROSSGRAIN_WISDOM", "wisdom.json").env_remove("CROSSGRAIN_ISA");
            let done: Done = shell.output().unwrap().into();
            assert_eq!(done.code, Some(0), "{}:\n{example}\n{}", page.display(), done.err);
            run += 1;
        }
    }
    assert!(run > 15, "only {run} examples were found");
}

/// The identifiers of a page's headings as GitHub and mdBook generate them: lower case, spaces as hyphens,
/// punctuation removed.
fn headings(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut ids = Vec::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if let (false, Some((marks, title))) = (is_code, line.split_once(' '))
            && !marks.is_empty()
            && marks.bytes().all(|mark| mark == b'#')
        {
            let kept = title.to_lowercase().replace(' ', "-");
            ids.push(kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect());
        }
    }
    ids
}

/// Checks links within the tree, including their headings.
#[test]
fn every_link_leads_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (target, heading) = link.split_once('#').unwrap_or((link, ""));
            if target.starts_with("http") {
                continue;
            }
            let target = if target.is_empty() { page.clone() } else { page.parent().unwrap().join(target) };
            assert!(target.exists(), "{} links to {link}", page.display());
            if !heading.is_empty() {
                let ids = headings(&fs::read_to_string(&target).unwrap());
                assert!(ids.iter().any(|id| id == heading), "{} links to {link}: {ids:?}", page.display());
            }
        }
    }
}

/// The program's output for a command line that succeeds.
fn printed(arguments: &[&str]) -> String {
    String::from_utf8(Place::new().run(arguments).printed()).unwrap()
}

/// docs/commands.md documents each command, each exit code and each JSON field.
#[test]
fn the_reference_is_complete() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let page = fs::read_to_string(page).unwrap();
    let help = printed(&["--help"]);
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in names.filter(|name| !["", "help"].contains(name)) {
        assert!(page.contains(&format!("| `{name}` | ")), "docs/commands.md lacks {name}");
    }
    for code in 0..=5 {
        assert!(page.contains(&format!("\n| {code} | ")), "docs/commands.md lacks exit code {code}");
    }
    let place = Place::with(&painted(64, 1));
    place.run(&["keygen", "-o", "k"]).printed();
    let outputs: [&[&str]; 7] = [
        &["encrypt", "--json", "--key-file", "k", "in", "-o", "sealed"],
        &["verify", "--json", "--key-file", "k", "sealed"],
        &["variants", "--json"],
        &["devices", "--json"],
        &["plan", "--cipher", "aes-128", "--job", "ctr", "--json"],
        &["circuit", "aes-sbox", "--json"],
        &["deps", "--mode", "cbc", "--json"],
    ];
    for arguments in outputs {
        let output: serde_json::Value = serde_json::from_slice(&place.run(arguments).printed()).unwrap();
        let object = output.as_array().map_or(&output, |array| &array[0]);
        for field in object.as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{field}`")), "docs/commands.md lacks {field} of {arguments:?}");
        }
    }
}
