//! The size and complexity of an AES generator in counter mode for all targets, compared with CUDA C and with a
//! sequential implementation.
//!
//! Well-known analysers count (`bench/productivity.py`), in a separate environment under `target/`. They are
//! installed from PyPI.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::Record;
use crate::python::{has_environment, install, program};
use crate::{Result, bench, root, succeed, target};

/// The analysers.
const ANALYSERS: [&str; 2] = ["lizard", "multimetric"];

/// The texts, as the script and the table name them. Our two versions come first.
const TEXTS: [(&str, &str); 7] = [
    ("kernel", "as a kernel of `parallel`: all register widths, CUDA C, WGSL, all key sizes"),
    ("s-box", "of it, the S-box"),
    ("engine", "the engine's own forms for CPUs and GPUs"),
    ("by-hand", "CUDA C by hand (`bench/hand_written.cu`)"),
    ("by-hand-gate-by-gate", "the same with one gate per line, as Rust's formatter writes"),
    ("emitted", "generated CUDA C"),
    ("sequential", "sequential code with tables"),
];

/// The figures of a text, as the script and the table name them.
const MEASURES: [(&str, &str); 4] = [
    ("lines", "lines"),
    ("mccabe", "McCabe's number"),
    ("volume", "Halstead's volume"),
    ("effort", "Halstead's effort"),
];

/// The texts that are compared with each other.
const OURS: [(&str, &str); 2] = [("kernel", "as a kernel"), ("engine", "the engine's own forms")];
const OTHERS: [(&str, &str); 3] = [
    ("by-hand", "CUDA C by hand"),
    ("by-hand-gate-by-gate", "CUDA C by hand, one gate per line"),
    ("sequential", "sequential code with tables"),
];

/// Counts everything. The figures are for [`Record::put`]. The list is empty if the analysers cannot be installed.
pub(super) fn count() -> Result<Vec<(String, f64)>> {
    let environment = root().join(target()).join("analysers");
    if !has_environment(&environment) || succeed(install(&environment).args(ANALYSERS)).is_err() {
        eprintln!("source lines are not counted: {} and Python's venv are needed", ANALYSERS.join(", "));
        return Ok(Vec::new());
    }
    let emitted = environment.join("aes-ctr.cu");
    // The file of an earlier run may come from another version.
    let _ = fs::remove_file(&emitted);
    let mut emit = Command::new(bench::own_program()?);
    succeed(emit.args(["circuit", "aes-ctr", "--emit", "cuda", "--output"]).arg(&emitted))?;
    let mut count = Command::new(program(&environment, "python"));
    let told = count.arg("bench/productivity.py").arg(&emitted).current_dir(root()).output();
    let told = told.map_err(|error| format!("cannot run bench/productivity.py: {error}"))?;
    if !told.status.success() {
        return Err(String::from_utf8_lossy(&told.stderr).into_owned());
    }
    figures(&String::from_utf8_lossy(&told.stdout))
}

/// Parses the output of the script.
fn figures(printed: &str) -> Result<Vec<(String, f64)>> {
    let mut figures = Vec::new();
    for line in printed.lines() {
        let counted: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        for (measure, _) in MEASURES {
            let text = counted["text"].as_str();
            let figure =
                text.zip(counted[measure].as_f64()).ok_or_else(|| format!("no {measure}: {line}"))?;
            figures.push((id(figure.0, measure), figure.1));
        }
    }
    Ok(figures)
}

fn id(text: &str, measure: &str) -> String {
    format!("text/{text}/{measure}")
}

/// The figures of a record, and their ratios next to the published ones.
pub(super) fn tables(record: &Record) -> String {
    let heads = MEASURES.map(|(_, name)| name).join(" | ");
    let mut text =
        format!("\n| AES in counter mode, without key expansion | {heads} |\n|---|---|---|---|---|\n");
    for (name, described) in TEXTS {
        row(&mut text, described, &MEASURES.map(|(measure, _)| record.get(&id(name, measure)).ok()), "");
    }
    let _ = writeln!(text, "\n| one source in % of another text | {heads} |\n|---|---|---|---|---|");
    let _ = writeln!(text, "| theirs, of CUDA C | 59.59 % | lower | lower | lower |");
    let _ = writeln!(text, "| theirs, of sequential C++ | 88.18 % | lower | lower | lower |");
    for (ours, our_name) in OURS {
        for (other, other_name) in OTHERS {
            let shares = MEASURES.map(|(measure, _)| {
                let [mine, its] = [ours, other].map(|text| record.get(&id(text, measure)).ok());
                Some(100.0 * mine? / its?)
            });
            row(&mut text, &format!("ours, {our_name}, of {other_name}"), &shares, " %");
        }
    }
    text
}

/// A machine without the analysers has no figures.
fn row(text: &mut String, name: &str, figures: &[Option<f64>], unit: &str) {
    let cells: Vec<_> = figures
        .iter()
        .map(|figure| figure.map_or_else(|| "not counted".to_owned(), |figure| format!("{figure:.0}{unit}")))
        .collect();
    let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{TEXTS, figures};
    use crate::root;

    #[test]
    fn each_line_of_the_script_has_all_figures() {
        let line =
            "{\"text\": \"kernel\", \"lines\": 195, \"mccabe\": 25, \"volume\": 1.5, \"effort\": 2.5}\n";
        let found = figures(line).unwrap();
        assert_eq!(found.len(), 4);
        assert_eq!(found[0], ("text/kernel/lines".to_owned(), 195.0));
        assert!(figures("{\"text\": \"kernel\", \"lines\": 195}").is_err());
    }

    /// The script names files and, after each, some of its functions and macros, all in quotation marks.
    #[test]
    fn all_that_is_counted_is_there() {
        let script = include_str!("../../../../bench/productivity.py");
        assert!(TEXTS.iter().all(|(text, _)| script.contains(&format!("(\"{text}\", "))));
        let (_, tables) = script.split_once("S_BOX = {").unwrap();
        let (tables, _) = tables.split_once("def ").unwrap();
        let (mut file, mut text, mut functions) = ("", String::new(), 0);
        for name in tables.split('"').skip(1).step_by(2) {
            if name.ends_with(".rs") {
                file = name;
                text = fs::read_to_string(root().join("crates").join(file)).unwrap();
            } else {
                let is_there = match name.strip_suffix('!') {
                    Some(name) => text.contains(&format!("macro_rules! {name} {{")),
                    None => ["(", "<"].iter().any(|next| text.contains(&format!("fn {name}{next}"))),
                };
                assert!(is_there, "{file} has no function {name}: mend bench/productivity.py");
                functions += 1;
            }
        }
        assert!(functions > 40);
    }
}
