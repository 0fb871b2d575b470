//! Runs `crossgrain plan`, and checks its answers and refusals.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crossgrain::Features;
use serde_json::Value;
use tempfile::TempDir;

/// Published costs of the parts of an AES round, word-parallel and bit-serial.
pub(crate) const PUBLISHED: &str = r#"{
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

/// Runs `crossgrain plan` with these instruction sets allowed.
pub(crate) fn plan_on(isa: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossgrain"));
    command.arg("plan").args(arguments).env_remove("CROSSGRAIN_ISA");
    // Ignores wisdom that the user of this machine has measured.
    command.env("CROSSGRAIN_WISDOM", "no/such/wisdom.json");
    if let Some(isa) = isa {
        command.env("CROSSGRAIN_ISA", isa);
    }
    command.output().unwrap()
}

pub(crate) fn plan(arguments: &[&str]) -> Output {
    plan_on(None, arguments)
}

pub(crate) fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_str(&text(output)).unwrap()
}

/// Every error is reported in one line.
pub(crate) fn refused(output: &Output, exit: i32, reason: &str) {
    let told = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(exit), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains(reason), "{told}");
    assert!(output.stdout.is_empty());
}

/// A temporary directory with a cost file.
pub(crate) fn costs(contents: &str) -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("costs.json");
    fs::write(&path, contents).unwrap();
    (directory, path)
}

pub(crate) fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Those of these caps that this machine has.
pub(crate) fn known_caps<const N: usize>(caps: [&'static str; N]) -> Vec<&'static str> {
    caps.into_iter().filter(|cap| cap.parse::<Features>().is_ok()).collect()
}

/// Checks that tags are balanced and closed, which is sufficient for this program's pictures.
pub(crate) fn well_formed(svg: &str) {
    let mut open = Vec::new();
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap();
        assert!(!text.contains('>'), "{text}");
        let name = tag.split([' ', '/']).find(|name| !name.is_empty()).unwrap();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        for entity in text.split('&').skip(1) {
            let (entity, _) = entity.split_once(';').unwrap();
            assert!(["amp", "lt", "gt", "quot"].contains(&entity), "{entity}");
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
