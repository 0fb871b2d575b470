//! Each step has one source text per kind of word, shared by CPUs and GPUs.
//!
//! The test finds these texts by reading the sources: a function with many gates must be in the list.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crossgrain::engine::circuit::named;
use crossgrain::engine::circuit::trace::Width;

/// The kind of word that a step is computed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Words that hold one bit of many bytes.
    Bits,
    /// Words that hold whole bytes, with byte shuffles.
    Bytes,
    /// Four bytes of one block in an integer.
    Integer,
    /// Lanes of 32 bits.
    Lanes,
    /// Words that hold one bit of many blocks, without three-input gates.
    TwoInputs,
}

const S_BOXES: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
const INV_S_BOXES: [&str; 8] =
    ["inv_s0", "inv_s1", "inv_s2", "inv_s3", "inv_s4", "inv_s5", "inv_s6", "inv_s7"];

/// Every cipher step that has gates: its kind of word, and its only source text by file and function.
const STEPS: [(&str, Kind, &str, &[&str]); 17] = [
    ("SubBytes", Kind::Bits, "circuit/aes_sbox.rs", &["forward_input", "forward_output"]),
    ("InvSubBytes", Kind::Bits, "circuit/aes_sbox.rs", &["inverse"]),
    ("inversion", Kind::Bits, "circuit/aes_sbox.rs", &["invert"]),
    ("MixColumns", Kind::Bits, "cipher/aes/linear_circuit.rs", &["mix_bit", "neighbours", "double"]),
    ("InvMixColumns", Kind::Bits, "cipher/aes/linear_circuit.rs", &["inv_mix_column"]),
    ("SubBytes", Kind::Bytes, "cipher/aes/search/substitute.rs", &["substitute"]),
    ("MixColumns", Kind::Bytes, "cipher/aes/search/substitute.rs", &["mix_column"]),
    ("InvMixColumns", Kind::Bytes, "cipher/aes/search/substitute.rs", &["inv_mix_column"]),
    ("MixColumns", Kind::Integer, "cipher/aes/scalar.rs", &["mix_column"]),
    ("π and its inverse", Kind::Bits, "circuit/pi_sbox.rs", &["function", "multiply", "add_if_zero"]),
    ("S-boxes", Kind::Bits, "cipher/serpent/sbox_circuit/three.rs", &S_BOXES),
    ("S-boxes", Kind::TwoInputs, "cipher/serpent/sbox_circuit/two.rs", &S_BOXES),
    ("inverse S-boxes", Kind::Bits, "cipher/serpent/sbox_circuit/three.rs", &INV_S_BOXES),
    ("inverse S-boxes", Kind::TwoInputs, "cipher/serpent/sbox_circuit/two.rs", &INV_S_BOXES),
    ("linear transformation", Kind::Lanes, "cipher/serpent/description.rs", &["transform"]),
    ("inverse linear transformation", Kind::Lanes, "cipher/serpent/description.rs", &["inv_transform"]),
    (
        "linear transformation",
        Kind::Bits,
        "cipher/serpent/linear_circuit.rs",
        &["transform", "add_to_odd", "add_to_even"],
    ),
];

/// Functions with many gates that are not a cipher step.
const OTHERS: [(&str, &str); 8] = [
    // The initial state of a cached counter is the XOR of its columns' shares.
    ("cipher/aes/bitsliced.rs", "sub_bytes_of_sum"),
    ("cipher/aes/cached_counter.rs", "run"),
    // XORs table entries.
    ("cipher/aes/gpu/tables.rs", "columns"),
    // A reduction in GF(2¹²⁸).
    ("mode/gcm/ghash/field.rs", "reduced"),
    ("mode/gcm/ghash/mod.rs", "product"),
    // Sums of a chain's blocks and round keys.
    ("cipher/aes/serial.rs", "link"),
    // Counters.
    ("mode/ctr/counter.rs", "low"),
    ("mode/ctr/counter.rs", "count_bundle"),
];

/// A function with at least this number of gates counts as the text of a step.
const MANY_GATES: usize = 5;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    if folder.is_file() {
        return vec![folder.to_owned()];
    }
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] }).collect()
}

/// The functions of a file with their bodies, without comments.
fn functions(path: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| line.split("//").next().unwrap().to_owned() + "\n");
    let code: String = lines.collect();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let rest = &code[at + 3..];
        let name = rest.split(|char: char| !char.is_alphanumeric() && char != '_').next().unwrap();
        let Some(open) = rest.find('{').filter(|&open| !rest[..open].contains(";\n")) else { continue };
        let mut depth = 0;
        let end = rest[open..].find(|char: char| {
            depth += i32::from(char == '{') - i32::from(char == '}');
            depth == 0
        });
        found.push((name.to_owned(), rest[open..open + end.unwrap()].to_owned()));
    }
    found
}

fn gates(body: &str) -> usize {
    [" ^ ", " & ", "::ternary"].iter().map(|gate| body.matches(gate).count()).sum()
}

/// The folders and files that may contain steps.
const MAY_CONTAIN_STEPS: [&str; 13] = [
    "circuit",
    "layout/convert",
    "kernel",
    "device",
    "cipher/aes",
    "cipher/derived",
    "cipher/rijndael",
    "cipher/serpent",
    "mode/chained/chain.rs",
    "mode/ctr/counter.rs",
    "mode/gcm/ghash",
    "mode/ocb/mask.rs",
    "mode/xts/tweak.rs",
];

/// All functions, by file, where there may be steps.
fn texts() -> BTreeMap<String, Vec<(String, String)>> {
    let files = MAY_CONTAIN_STEPS.iter().flat_map(|layer| files_under(&root().join(layer)));
    let name = |path: &Path| path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
    files.map(|path| (name(&path), functions(&path))).collect()
}

#[test]
fn every_step_has_one_text() {
    let texts = texts();
    let kinds: BTreeSet<_> = STEPS.iter().map(|(step, kind, ..)| (step, kind)).collect();
    assert_eq!(kinds.len(), STEPS.len(), "a step has two texts");
    for (step, kind, file, names) in STEPS {
        for name in names {
            assert!(
                texts[file].iter().any(|(found, _)| found == name),
                "{step} on {kind:?}: no {name} in {file}"
            );
        }
    }
}

#[test]
fn every_text_of_gates_is_a_step() {
    let listed = |file: &str, name: &str| {
        STEPS.iter().any(|(_, _, at, names)| *at == file && names.contains(&name))
            || OTHERS.contains(&(file, name))
    };
    let mut count = 0;
    for (file, functions) in texts() {
        // Code that constructs and maps circuits works on tables of numbers, so it is excluded.
        if [
            "affine",
            "expansion",
            "functions",
            "linear",
            "inversion",
            "graph",
            "map",
            "synthesize",
            "emit",
            "trace",
        ]
        .iter()
        .any(|name| file == format!("circuit/{name}.rs"))
        {
            continue;
        }
        for (name, body) in functions.iter().filter(|(_, body)| gates(body) >= MANY_GATES) {
            assert!(listed(&file, name), "{name} in {file} has {} gates: which step is it?", gates(body));
            count += 1;
        }
    }
    assert!(count > 15, "only {count} texts were found: can this test still read the sources?");
}

#[test]
fn no_text_of_gates_is_there_twice() {
    let mut known = BTreeMap::new();
    for (file, functions) in texts() {
        for (name, body) in functions.into_iter().filter(|(_, body)| gates(body) > 1) {
            let words: Vec<_> = body.split_whitespace().map(str::to_owned).collect();
            if let Some(other) = known.insert(words, format!("{name} in {file}")) {
                panic!("{name} in {file} is {other} once more");
            }
        }
    }
}

#[test]
fn no_two_circuits_compute_the_same() {
    let samples: Vec<_> = (1..=64_u32).map(|at| at.wrapping_mul(0x9e37_79b9).rotate_left(at)).collect();
    let mut known = BTreeMap::new();
    for circuit in named::ALL {
        let graph = circuit.graph(Width::Three);
        if let Some(other) = known.insert(graph.evaluate(&samples), circuit.name) {
            panic!("{} and {other} compute the same", circuit.name);
        }
    }
}
