//! The figures of one run on one machine, kept as JSON lines.

use std::collections::BTreeMap;
use std::fs;
#[cfg(test)]
use std::path::Path;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::chart::LOAD_MAX;
use crate::{Result, bench, day, root, rustc};

/// The median spread above which figures are marked: other processes took part of the time.
const SPREAD_MAX: f64 = 0.05;

/// A run: its first line tells the machine, each further one a figure.
pub(super) struct Record {
    head: Value,
    rows: Vec<Value>,
}

impl Record {
    /// The output of a benchmark, whose first line tells the machine.
    pub(super) fn new(lines: Vec<Value>) -> Result<Self> {
        let mut lines = lines.into_iter();
        let mut head = lines.next().ok_or("the benchmark printed nothing")?;
        head["day"] = day()?.into();
        head["rustc"] = rustc("release")?.into();
        let mut record = Self { head, rows: Vec::new() };
        record.rows.extend(lines.filter(|row| row["id"].is_string()));
        Ok(record)
    }

    /// Adds the rows of another benchmark on this machine.
    pub(super) fn add(&mut self, lines: Vec<Value>) -> Result<()> {
        self.rows.extend(Self::new(lines)?.rows);
        Ok(())
    }

    /// Adds a figure that no benchmark prints.
    pub(super) fn put(&mut self, id: String, figure: f64) {
        self.rows.push(json!({ "id": id, "figure": figure }));
    }

    /// Reads a run.
    #[cfg(test)]
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let line = |line| serde_json::from_str(line).map_err(|error| format!("{}: {error}", path.display()));
        let mut lines = text.lines().map(line);
        let head = lines.next().ok_or_else(|| format!("{} is empty", path.display()))??;
        Ok(Self { head, rows: lines.collect::<Result<_>>()? })
    }

    /// Writes the run in place of an earlier one for the same table.
    pub(super) fn keep(&self, table: &str) -> Result<()> {
        let path = self.path(table)?;
        let lines = [&self.head].into_iter().chain(&self.rows);
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        let folder = path.parent().unwrap_or(&path);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))
    }

    fn path(&self, table: &str) -> Result<PathBuf> {
        let machine = bench::cpu_of(&self.head.to_string())?;
        Ok(root().join("bench/record").join(machine).join(format!("reproduce-{table}.jsonl")))
    }

    /// A sentence about the machine, its load and the spread, for the page.
    pub(super) fn origin(&self, table: &str) -> Result<String> {
        let told = |key: &str| self.head[key].as_str().unwrap_or("unknown");
        let mut spreads: Vec<f64> = self.rows.iter().filter_map(|row| row["spread"].as_f64()).collect();
        spreads.sort_by(f64::total_cmp);
        let (median, most) = match &spreads[..] {
            [] => (0.0, 0.0),
            all => (all[all.len() / 2], all[all.len() - 1]),
        };
        let load: f64 = told("load_average").parse().unwrap_or(0.0);
        let busy = load > LOAD_MAX || median > SPREAD_MAX;
        let mark = if busy { "**The machine was busy: do not compare.** " } else { "" };
        let path = self.path(table)?;
        Ok(format!(
            "{mark}Ours on {}, {}, load {load:.2}, rustc {}. Samples of a row spread by {:.1} % in the median and {:.1} % at \
             most. The run is kept in `{}`.",
            told("machine"),
            told("day"),
            told("rustc"),
            100.0 * median,
            100.0 * most,
            path.strip_prefix(root()).unwrap_or(&path).display(),
        ))
    }

    pub(super) fn cycles_per_byte(&self, id: &str) -> Result<f64> {
        self.figure(id, "cycles_per_byte")
    }

    pub(super) fn gb_per_s(&self, id: &str) -> Result<f64> {
        self.figure(id, "gb_per_s")
    }

    /// A figure that [`Record::put`] added.
    pub(super) fn get(&self, id: &str) -> Result<f64> {
        self.figure(id, "figure")
    }

    fn figure(&self, id: &str, key: &str) -> Result<f64> {
        let row = self.rows.iter().find(|row| row["id"] == id);
        row.and_then(|row| row[key].as_f64()).ok_or_else(|| format!("the run has no {key} of {id}"))
    }

    /// The numbers of threads for which an id that begins so has speeds.
    pub(super) fn threads(&self, beginning: &str) -> BTreeMap<usize, f64> {
        let of = |row: &Value| {
            let threads = row["id"].as_str()?.strip_prefix(beginning)?.parse().ok()?;
            Some((threads, row["gb_per_s"].as_f64()?))
        };
        self.rows.iter().filter_map(of).collect()
    }
}
