//! The shell examples of the documentation: every page's, in order, in a place of its own.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Done, Place, painted};

/// Whatever builds or installs, and what leaves something out, is not run.
const LEFT_ALONE: [&str; 2] = ["cargo ", "…"];

/// The pages: the README and all of `docs/`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(root.join("README.md"));
    pages.sort();
    pages
}

/// The examples of a page that are run.
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
        // What the pages speak of: data, a key, a passphrase.
        place.write("photos.tar", &painted(2_000_000, 1));
        place.write("plain", &painted(20_000, 2));
        place.write("passphrase", b"correct horse\n");
        let mut has_key = false;
        for example in examples(&page) {
            if !has_key && example.contains("--key-file key ") && !example.contains(" -o key") {
                place.run(&["keygen", "-o", "key"]).printed();
                place.run(&["encrypt", "--key-file", "key", "photos.tar", "-o", "photos.sealed"]).printed();
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

/// Of links within the tree, that is, without the part of a page.
#[test]
fn every_link_leads_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.starts_with("http")) {
            let target = page.parent().unwrap().join(link);
            assert!(target.exists(), "{} links to {link}", page.display());
        }
    }
}
