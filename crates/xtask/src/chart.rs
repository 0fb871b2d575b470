//! `cargo xtask chart`: draws what benchmark records say as pictures under `docs/`.
//!
//! The pictures are made from what `cargo xtask bench --record` kept, never typed in, so that no figure in
//! them can be older or better than the record they name. The table of speeds of all machines is made likewise.

mod lines;
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

use crate::bench::{GPU, PLANNER};
use crate::{Result, pages, root};
use lines::Lines;
use record::Record;
use series::Chart;

/// Where records are, from the root: a folder for each CPU, a file for each day.
const RECORDS: &str = "bench/record";

/// The page with the tables of speeds, and the task that makes them.
const PAGE: &str = "docs/measuring.md";
const TASK: &str = "chart";

/// The page with the short table for newcomers, and the name of that table.
const SUMMARY_PAGE: &str = "README.md";
const SUMMARY: &str = "chart # summary";

/// The name of the table of AES-256-GCM by message length.
const GCM: &str = "chart # gcm";

/// A picture of a record.
struct Picture {
    /// Where it goes, from the root.
    path: &'static str,
    /// Whether it shows what the planner was judged by, which is kept apart.
    is_of_planner: bool,
    drawing: Drawing,
}

/// What a picture shows of a record.
enum Drawing {
    Bars(fn(&Record) -> Chart),
    Lines(fn(&Record) -> Lines),
}

const fn picture(path: &'static str, chart: fn(&Record) -> Chart) -> Picture {
    Picture { path, is_of_planner: false, drawing: Drawing::Bars(chart) }
}

const PICTURES: [Picture; 7] = [
    picture("docs/speed.svg", series::speed),
    Picture { path: "docs/sealing.svg", is_of_planner: false, drawing: Drawing::Lines(lines::sealing) },
    picture("docs/representations.svg", series::representations),
    picture("docs/lengths.svg", series::lengths),
    picture("docs/calls.svg", series::calls),
    picture("docs/threads.svg", series::threads),
    Picture { path: "docs/plans.svg", is_of_planner: true, drawing: Drawing::Bars(series::plans) },
];

/// Draws what is in the record `file`, or else in the newest ones. What that does not tell of is left as it was. The
/// tables are of the newest ones always.
///
/// # Errors
/// If there is no record, it cannot be read, it tells of nothing, or a picture cannot be written.
pub(crate) fn run(file: Option<&Path>) -> Result<()> {
    let mut drawn = 0;
    for is_of_planner in [false, true] {
        let Some(file) = file.map(Path::to_owned).or_else(|| newest(is_of_planner)) else { continue };
        let (record, day) = read(&file)?;
        let shown = file.strip_prefix(root()).unwrap_or(&file).display();
        for picture in PICTURES.iter().filter(|picture| picture.is_of_planner == is_of_planner) {
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
    let (record, day) = read(&newest_record()?)?;
    pages::put(SUMMARY_PAGE, SUMMARY, &summary::table(&record, &day))?;
    pages::put(PAGE, GCM, &summary::gcm(&record, &day))?;
    pages::put(PAGE, TASK, &tables()?)
}

/// A record and its day.
fn read(file: &Path) -> Result<(Record, String)> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| at(&error))?;
    Ok((Record::parse(&text).map_err(|error| at(&error))?, day(file)))
}

/// The speeds of the newest record of every machine, the newest of all first.
fn tables() -> Result<String> {
    let mut newest: Vec<PathBuf> =
        entries(&root().join(RECORDS)).filter_map(|machine| newest_in(entries(&machine), false)).collect();
    newest.sort_by(|a, b| by_day(b, a));
    let tables: Result<Vec<String>> =
        newest.iter().map(|file| read(file).map(|(record, day)| table::speeds(&record, &day))).collect();
    Ok(tables?.join("\n"))
}

/// A picture of a record that was made on this day, if there is anything on it.
fn draw(picture: &Picture, record: &Record, day: &str) -> Option<String> {
    let caption = record.caption(day);
    match picture.drawing {
        Drawing::Bars(chart) => {
            let chart = chart(record);
            (!chart.panels.is_empty()).then(|| svg::document(&chart, &caption))
        }
        Drawing::Lines(lines) => {
            let lines = lines(record);
            (!lines.lines.is_empty()).then(|| lines::document(&lines, &caption))
        }
    }
}

/// The newest record of speeds.
///
/// # Errors
/// If there is none.
pub(crate) fn newest_record() -> Result<PathBuf> {
    newest(false).ok_or_else(|| format!("no record in {RECORDS}: `cargo xtask bench --record` makes one"))
}

/// The day of a record, by its name.
pub(crate) fn day(record: &Path) -> String {
    let name = record.file_stem().unwrap_or_default().to_string_lossy();
    name.strip_suffix(PLANNER).unwrap_or(&name).to_owned()
}

/// The record of the latest day, by its name; of several of that day, the last machine's. Those of the planner are apart, and those of GPUs are not drawn.
fn newest(is_of_planner: bool) -> Option<PathBuf> {
    newest_in(entries(&root().join(RECORDS)).flat_map(|machine| entries(&machine)), is_of_planner)
}

fn newest_in(files: impl Iterator<Item = PathBuf>, is_of_planner: bool) -> Option<PathBuf> {
    let is_wanted = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(".jsonl")
            .is_some_and(|day| day.ends_with(PLANNER) == is_of_planner && !day.ends_with(GPU))
    };
    files.filter(is_wanted).max_by(|a, b| by_day(a, b))
}

/// Records by their days, those of a day by their machines.
fn by_day(a: &Path, b: &Path) -> Ordering {
    (a.file_name(), a).cmp(&(b.file_name(), b))
}

/// What is in a folder; nothing where there is none.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
