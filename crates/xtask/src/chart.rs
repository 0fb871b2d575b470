//! `cargo xtask chart`: draws benchmark records as pictures under `docs/`.
//!
//! The pictures are generated from the records of `cargo xtask bench --record`, so their figures always match
//! the record that they name. The tables of speeds are generated in the same way.

mod lines;
mod ratios;
mod record;
mod series;
mod summary;
mod svg;
mod table;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::{PEERS, PLANNER};
use crate::{Result, pages, root};
use lines::Lines;
use record::Record;
use series::Chart;

/// The folder of records, from the root. It has a folder for each CPU, with a file for each day.
const RECORDS: &str = "bench/record";

/// The page with the tables of speeds, and the task that generates them.
const PAGE: &str = "docs/measuring.md";
const TASK: &str = "chart";

/// The page with the short table for newcomers, and the name of that table.
const SUMMARY_PAGE: &str = "README.md";
const SUMMARY: &str = "chart # summary";

/// The name of the table of AES-256-GCM by message length.
const GCM: &str = "chart # gcm";

/// The name of the table of ratios to the fastest peer.
const RATIOS: &str = "chart # ratios";

/// A picture of a record.
struct Picture {
    /// Its path, from the root.
    path: &'static str,
    /// The end of its records' names, after the day.
    kind: &'static str,
    drawing: Drawing,
}

/// The content of a picture.
enum Drawing {
    Bars(fn(&Record) -> Chart),
    Lines(fn(&Record) -> Lines),
}

const fn bars(path: &'static str, kind: &'static str, chart: fn(&Record) -> Chart) -> Picture {
    Picture { path, kind, drawing: Drawing::Bars(chart) }
}

const PICTURES: [Picture; 7] = [
    bars("docs/speed.svg", PEERS, series::speed),
    Picture { path: "docs/sealing.svg", kind: PEERS, drawing: Drawing::Lines(lines::sealing) },
    bars("docs/representations.svg", OURS, series::representations),
    bars("docs/lengths.svg", OURS, series::lengths),
    bars("docs/calls.svg", OURS, series::calls),
    bars("docs/threads.svg", OURS, series::threads),
    bars("docs/plans.svg", PLANNER, series::plans),
];

/// The ending of the names of records without peers: nothing follows the day.
const OURS: &str = "";

/// The highest load average at the start of a benchmark that charts accept, because other work distorts the
/// figures. The build just before the benchmark counts too.
pub(crate) const LOAD_MAX: f64 = 2.0;

/// Draws the record `file`, or else the newest ones. A picture whose data the record lacks is left unchanged.
/// The tables always come from the newest records.
///
/// # Errors
/// If no record exists, it cannot be read, it gives no picture, or a picture cannot be written.
pub(crate) fn run(file: Option<&Path>) -> Result<()> {
    let mut drawn = 0;
    for kind in [OURS, PEERS, PLANNER] {
        let Some(file) = file.map(Path::to_owned).or_else(|| newest(kind)) else { continue };
        let (record, day) = read(&file)?;
        let shown = file.strip_prefix(root()).unwrap_or(&file).display();
        for picture in PICTURES.iter().filter(|picture| picture.kind == kind) {
            let Some(document) = draw(picture, &record, &day) else {
                println!("{} stays as it was: {shown} has nothing for it", picture.path);
                continue;
            };
            let target = root().join(picture.path);
            fs::write(&target, document).map_err(|error| format!("{}: {error}", target.display()))?;
            println!("{} shows {shown}", picture.path);
            drawn += 1;
        }
    }
    if drawn == 0 {
        return Err(format!("nothing to draw in {RECORDS}: `cargo xtask bench --record` makes a record"));
    }
    for (page, task, table) in by_length()? {
        pages::put(page, task, &table)?;
    }
    pages::put(PAGE, TASK, &tables()?)
}

/// A record and its day.
fn read(file: &Path) -> Result<(Record, String)> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| at(&error))?;
    Ok((Record::parse(&text).map_err(|error| at(&error))?, day(file)))
}

/// The tables by message length of the newest comparison, with their pages. A record without these rows
/// leaves the pages unchanged.
fn by_length() -> Result<Vec<(&'static str, &'static str, String)>> {
    let Some(file) = newest(PEERS) else { return Ok(Vec::new()) };
    let (record, day) = read(&file)?;
    let tables = [
        (SUMMARY_PAGE, SUMMARY, summary::table(&record, &day)),
        (PAGE, GCM, summary::gcm(&record, &day)),
        (PAGE, RATIOS, ratios::table(&record, &day)),
    ];
    Ok(tables.into_iter().filter_map(|(page, task, table)| Some((page, task, table?))).collect())
}

/// The speeds of the newest record of every machine, the newest first.
fn tables() -> Result<String> {
    let mut newest: Vec<PathBuf> =
        entries(&root().join(RECORDS)).filter_map(|machine| newest_in(entries(&machine), PEERS)).collect();
    newest.sort_by(|a, b| by_day(b, a));
    let tables: Result<Vec<String>> =
        newest.iter().map(|file| read(file).map(|(record, day)| table::speeds(&record, &day))).collect();
    Ok(tables?.join("\n"))
}

/// A picture of a record of this day. `None` if it would be empty.
fn draw(picture: &Picture, record: &Record, day: &str) -> Option<String> {
    match picture.drawing {
        Drawing::Bars(chart) => {
            let chart = chart(record);
            let caption = record.caption(day, &chart.peers());
            (!chart.panels.is_empty()).then(|| svg::document(&chart, &caption))
        }
        Drawing::Lines(lines) => {
            let lines = lines(record);
            let caption = record.caption(day, &lines.peers());
            (!lines.lines.is_empty()).then(|| lines::document(&lines, &caption))
        }
    }
}

/// The newest record of speeds.
///
/// # Errors
/// If no record exists.
pub(crate) fn newest_record() -> Result<PathBuf> {
    newest_in(records(), OURS)
        .ok_or_else(|| format!("no record in {RECORDS}: `cargo xtask bench --record` makes one"))
}

/// The day of a record, from its name.
pub(crate) fn day(record: &Path) -> String {
    let name = record.file_stem().unwrap_or_default().to_string_lossy();
    let kinds = [PEERS, PLANNER];
    kinds.iter().find_map(|kind| name.strip_suffix(kind)).unwrap_or(&name).to_owned()
}

/// The record for the pictures of a kind. All pictures come from one machine, that of the newest comparison, if
/// it has a record of each kind. A kind that it lacks takes the newest record of any machine.
fn newest(kind: &str) -> Option<PathBuf> {
    let compared = newest_in(records(), PEERS)?;
    newest_in(entries(compared.parent()?), kind).or_else(|| newest_in(records(), kind))
}

/// The records of all machines.
fn records() -> impl Iterator<Item = PathBuf> {
    entries(&root().join(RECORDS)).flat_map(|machine| entries(&machine))
}

/// The newest record of a kind, without those of a loaded machine.
fn newest_in(files: impl Iterator<Item = PathBuf>, kind: &str) -> Option<PathBuf> {
    let is_wanted = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let day = name.strip_suffix(".jsonl").and_then(|name| name.strip_suffix(kind));
        day.is_some_and(record::is_day) && is_quiet(file)
    };
    files.filter(is_wanted).max_by(|a, b| by_day(a, b))
}

/// Whether the machine was quiet, according to the record's first line. Older records lack this and are
/// accepted.
fn is_quiet(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    let head: Option<serde_json::Value> =
        text.lines().next().and_then(|line| serde_json::from_str(line).ok());
    let load = head.and_then(|head| head["load_average"].as_str()?.parse::<f64>().ok());
    load.is_none_or(|load| load <= LOAD_MAX)
}

/// Orders records by day, and those of one day by machine.
fn by_day(a: &Path, b: &Path) -> Ordering {
    (a.file_name(), a).cmp(&(b.file_name(), b))
}

/// The entries of a folder. Empty if the folder does not exist.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
