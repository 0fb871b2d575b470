//! `cargo xtask evidence`: counts the checks for the table in `docs/security.md`.
//!
//! Tests with many cases print their number, for example `counted: 107 known answers`. Equal labels are added
//! up. Long tasks record their results in `bench/record/evidence.jsonl` instead: the time of fuzzing,
//! dieharder's verdicts on random streams, and the mutants that tests detected.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::{Result, cargo, day, pages, root};

const PAGE: &str = "docs/security.md";
const TASK: &str = "evidence";
const KEPT: &str = "bench/record/evidence.jsonl";

/// The tests that print counts, for each crate.
const COUNTING: [(&str, &[&str]); 2] = [
    (
        "crossgrain",
        &[
            "agree",
            "chained",
            "designs",
            "hardware",
            "laws",
            "libgcrypt",
            "mode_vectors",
            "own_keys",
            "registers",
            "rijndael",
            "sealed",
            "serpent",
            "vectors",
            "wycheproof",
        ],
    ),
    ("crossgrain-deps", &["emitted", "loops", "random_loops", "sized", "transformed"]),
];

/// The beginning of a line with a count.
const COUNTED: &str = "counted: ";

/// The crates with tests, from the root.
const TESTS: [&str; 9] = [
    "crates/crossgrain",
    "crates/crossgrain-cli",
    "crates/crossgrain-container",
    "crates/crossgrain-deps",
    "crates/crossgrain-files",
    "crates/crossgrain-gpu",
    "crates/crossgrain-py/tests",
    "crates/crossgrain-search",
    "crates/xtask",
];

/// Runs the tests that print counts, and writes the table.
///
/// # Errors
/// If a check fails or the table cannot be written.
pub(crate) fn run() -> Result<()> {
    let mut counts = Counts::default();
    for (package, names) in COUNTING {
        let mut tests = cargo();
        tests.args(["test", "--quiet", "-p", package]);
        tests.args(names.iter().flat_map(|test| ["--test", test])).args(["--", "--show-output"]);
        counts.gather(&mut tests)?;
    }
    let taint = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    counts.gather(Command::new(taint).arg("taint"))?;
    let table = table(&written(root())?, &counts, &kept(root())?);
    print!("{table}");
    pages::put(PAGE, TASK, &table)
}

/// Records the figures of a task, with today's date.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn keep(task: &str, figures: &Value) -> Result<()> {
    let path = root().join(KEPT);
    let line = json!({ "task": task, "date": day()?, "figures": figures });
    let file = fs::OpenOptions::new().create(true).append(true).open(&path);
    let written = file.and_then(|mut file| writeln!(file, "{line}"));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

/// The counts by label.
#[derive(Default)]
struct Counts(BTreeMap<String, u64>);

impl Counts {
    /// Runs a command, and adds its counts.
    fn gather(&mut self, command: &mut Command) -> Result<()> {
        let told = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
        let text = String::from_utf8_lossy(&told.stdout);
        if !told.status.success() {
            print!("{text}{}", String::from_utf8_lossy(&told.stderr));
            return Err(format!("{command:?} failed ({})", told.status));
        }
        text.lines().for_each(|line| self.add(line));
        Ok(())
    }

    fn add(&mut self, line: &str) {
        let counted = line.strip_prefix(COUNTED).and_then(|rest| rest.split_once(' '));
        if let Some((Ok(count), what)) = counted.map(|(count, what)| (count.parse::<u64>(), what)) {
            *self.0.entry(what.trim().to_owned()).or_default() += count;
        }
    }
}

/// Counts from the sources only: tests, and the properties among them.
#[derive(Debug, Default, PartialEq)]
struct Written {
    tests: usize,
    properties: usize,
}

impl Written {
    fn add(&mut self, text: &str, is_python: bool) {
        if is_python {
            self.tests += text.lines().filter(|line| line.trim_start().starts_with("def test_")).count();
            return;
        }
        // The test attribute is on a separate line, and a block of properties ends in the first column.
        self.tests += text.lines().filter(|line| line.trim() == "#[test]").count();
        for block in text.split("\nproptest! {").skip(1) {
            let block = block.split("\n}").next().unwrap_or_default();
            self.properties += block.lines().filter(|line| line.trim() == "#[test]").count();
        }
    }
}

/// Counts in all test sources.
fn written(root: &Path) -> Result<Written> {
    let mut written = Written::default();
    let mut folders: Vec<_> = TESTS.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if ending == "rs" || ending == "py" {
                written.add(&fs::read_to_string(&path).map_err(failed)?, ending == "py");
            }
        }
    }
    Ok(written)
}

/// The results of the last run of each task, and the sum of all fuzzing.
#[derive(Debug, Default, PartialEq)]
struct Kept {
    fuzz_seconds: u64,
    /// For each cipher.
    statistics: BTreeMap<String, (String, Value)>,
    mutants: Option<(String, Value)>,
}

fn kept(root: &Path) -> Result<Kept> {
    let text = fs::read_to_string(root.join(KEPT)).unwrap_or_default(); // nothing was kept yet
    let mut kept = Kept::default();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).map_err(|error| format!("{KEPT}: {error}"))?;
        let date = line["date"].as_str().unwrap_or_default().to_owned();
        match line["task"].as_str() {
            Some("fuzz") => kept.fuzz_seconds += line["figures"]["seconds"].as_u64().unwrap_or_default(),
            Some("mutants") => kept.mutants = Some((date, line["figures"].clone())),
            Some("statistics") => {
                let cipher = line["figures"]["cipher"].as_str().unwrap_or_default().to_owned();
                kept.statistics.insert(cipher, (date, line["figures"].clone()));
            }
            _ => return Err(format!("{KEPT} tells of a task that there is not: {line}")),
        }
    }
    Ok(kept)
}

/// Everything, as Markdown.
fn table(written: &Written, counts: &Counts, kept: &Kept) -> String {
    let mut text = "| what | how many | by |\n|---|---|---|\n".to_owned();
    let mut row = |what: &str, count: &str, by: &str| {
        let _ = writeln!(text, "| {what} | {count} | {by} |");
    };
    row(TEST_ROW, &written.tests.to_string(), "`cargo xtask test`");
    row(PROPERTY_ROW, &written.properties.to_string(), "the same");
    for (what, count) in &counts.0 {
        let by = if what.contains("memcheck") { "`cargo xtask taint`" } else { "`cargo xtask evidence`" };
        row(what, &count.to_string(), by);
    }
    row("minutes of fuzzing that are kept", &(kept.fuzz_seconds / 60).to_string(), "`cargo xtask fuzz`");
    for (cipher, (date, figures)) in &kept.statistics {
        let said = format!("{}, {}, {} ({date})", figures["passed"], figures["weak"], figures["failed"]);
        let what = format!("dieharder's tests of {cipher}'s stream that pass, are weak, fail");
        row(&what, &said, "`cargo xtask statistics`");
    }
    let score = kept.mutants.as_ref().map_or("not measured yet".to_owned(), |(date, figures)| {
        format!("{} of {} ({date})", figures["caught"], figures["viable"])
    });
    row("planted mistakes that the tests noticed", &score, "`cargo xtask mutants`");
    text
}

const TEST_ROW: &str = "tests";
const PROPERTY_ROW: &str = "of them, properties of random cases";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{COUNTING, Counts, PAGE, PROPERTY_ROW, TASK, TEST_ROW, TESTS, Written, kept, table, written};
    use crate::{pages, root};

    #[test]
    fn what_is_said_of_the_same_is_added() {
        let mut counts = Counts::default();
        for line in ["counted: 3 known answers", "counted: 4 known answers", "counted: x", "3 known answers"]
        {
            counts.add(line);
        }
        assert_eq!(counts.0.into_iter().collect::<Vec<_>>(), [("known answers".to_owned(), 7)]);
    }

    /// The file or its modules print counts.
    fn prints_counts(text: &str, folder: &Path) -> bool {
        let is_count = |line: &str| {
            line.contains("println!(\"counted: ") || line.contains("counted(") && line.contains(", \"")
        };
        let modules = text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
        text.lines().any(is_count)
            || modules.filter(|module| *module != "common").any(|module| {
                let text = fs::read_to_string(folder.join(module).join("mod.rs"));
                text.is_ok_and(|text| text.lines().any(is_count))
            })
    }

    #[test]
    fn all_tests_that_count_are_run() {
        let mut found = Vec::new();
        for crate_folder in TESTS {
            let folder = root().join(crate_folder).join("tests");
            for path in fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
                let is_rust = path.extension().is_some_and(|ending| ending == "rs");
                if is_rust && prints_counts(&fs::read_to_string(&path).unwrap(), &folder) {
                    let package = crate_folder.trim_start_matches("crates/").to_owned();
                    found.push((package, path.file_stem().unwrap().to_str().unwrap().to_owned()));
                }
            }
        }
        found.sort_unstable();
        let listed = COUNTING.iter().flat_map(|(package, tests)| {
            tests.iter().map(|test| ((*package).to_owned(), (*test).to_owned()))
        });
        assert_eq!(found, listed.collect::<Vec<_>>());
    }

    #[test]
    fn tests_and_properties_are_told_by_their_lines() {
        let text =
            "#[test]\nfn a() {}\nproptest! {\n    #[test]\n    fn b(x in 0..1) {}\n}\n\n#[test]\nfn c() {}\n";
        let mut found = Written::default();
        found.add(text, false);
        found.add("def test_a():\n    pass\ndef helper():\n", true);
        assert_eq!(found, Written { tests: 4, properties: 1 });
    }

    #[test]
    fn the_page_has_what_is_written_and_kept() {
        let page = fs::read_to_string(root().join(PAGE)).unwrap();
        let stands = pages::between(&page, TASK).unwrap();
        let made = table(&written(root()).unwrap(), &Counts::default(), &kept(root()).unwrap());
        // Every change adds or removes tests. The page may lag by a few, but must not claim more.
        for row in made.lines().skip(2) {
            let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
            let made = cells(row);
            let of_page = stands.lines().map(cells).find(|page| page.get(1) == made.get(1));
            let of_page = of_page.unwrap_or_else(|| panic!("{PAGE} lacks {row}: run `cargo xtask {TASK}`"));
            if [TEST_ROW, PROPERTY_ROW].contains(&&*made[1]) {
                let [page, made] = [&of_page[2], &made[2]].map(|count| count.parse::<usize>().unwrap());
                assert!(page <= made && made <= page + page / 4, "{row}: run `cargo xtask {TASK}`");
            } else {
                assert_eq!(of_page[2], made[2], "run `cargo xtask {TASK}`");
            }
        }
    }
}
