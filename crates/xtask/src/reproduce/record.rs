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

/// The CPUs that other processes may use without a mark: services of the system take a few percent.
const OTHERS_MAX: f64 = 0.1;

/// A run: its first line has the machine, each further one a figure.
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

    /// Adds the rows of another benchmark on this machine. The run has the higher load of the two.
    pub(super) fn add(&mut self, lines: Vec<Value>) -> Result<()> {
        let other = Self::new(lines)?;
        if other.load() > self.load() {
            self.head["load_average"] = other.head["load_average"].clone();
        }
        self.add_others(other.head["cpus_of_others"].as_f64());
        self.rows.extend(other.rows);
        Ok(())
    }

    /// The CPUs that other processes used during a part of the run. The busiest part counts.
    pub(super) fn add_others(&mut self, cpus: Option<f64>) {
        let most = self.head["cpus_of_others"].as_f64().into_iter().chain(cpus).reduce(f64::max);
        if let Some(most) = most {
            self.head["cpus_of_others"] = most.into();
        }
    }

    /// The load average when the run began.
    fn load(&self) -> f64 {
        self.head["load_average"].as_str().and_then(|load| load.parse().ok()).unwrap_or(0.0)
    }

    /// Adds a figure that no benchmark prints.
    pub(super) fn put(&mut self, id: String, figure: f64) {
        self.rows.push(json!({ "id": id, "figure": figure }));
    }

    /// Adds a fact about the machine, such as the version of a program.
    pub(super) fn note(&mut self, key: &str, fact: &str) {
        self.head[key] = fact.into();
    }

    /// Such a fact.
    pub(super) fn noted(&self, key: &str) -> Option<&str> {
        self.head[key].as_str()
    }

    /// All figures.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Value> {
        self.rows.iter()
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
        let (median, spread) = match &spreads[..] {
            [] => (0.0, String::new()),
            [.., most] => {
                let median = spreads[spreads.len() / 2];
                let [median_percent, most_percent] = [median, *most].map(|spread| 100.0 * spread);
                let told = format!(
                    " Samples of a row spread by {median_percent:.1} % in the median and {most_percent:.1} % at most."
                );
                (median, told)
            }
        };
        let load = self.load();
        let others = self.head["cpus_of_others"].as_f64();
        let busy = load > LOAD_MAX || median > SPREAD_MAX || others.is_some_and(|cpus| cpus > OTHERS_MAX);
        let others = others.map_or_else(String::new, |cpus| format!(", {cpus:.2} CPUs used by others"));
        let mark = if busy { "**Do not compare: the machine was busy, or samples spread.** " } else { "" };
        let path = self.path(table)?;
        Ok(format!(
            "{mark}Ours on {}, {}, load {load:.2}{others}, rustc {}.{spread} The run is kept in `{}`.",
            told("machine"),
            told("day"),
            told("rustc"),
            path.strip_prefix(root()).unwrap_or(&path).display(),
        ))
    }

    /// Cycles per byte of the fastest sample. The benchmark prints those of the median.
    pub(super) fn cycles_per_byte(&self, id: &str) -> Result<f64> {
        let of_median = self.figure(id, "cycles_per_byte")?;
        Ok(of_median * self.figure(id, "gb_per_s")? / self.gb_per_s(id)?)
    }

    /// The speed of the fastest sample, which other processes disturbed least.
    pub(super) fn gb_per_s(&self, id: &str) -> Result<f64> {
        self.figure(id, "best_gb_per_s")
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
            Some((threads, row["best_gb_per_s"].as_f64()?))
        };
        self.rows.iter().filter_map(of).collect()
    }
}
