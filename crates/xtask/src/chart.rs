//! `cargo xtask chart`: draws the speeds of a benchmark record as `docs/speed.svg`.
//!
//! The picture is made from what `cargo xtask bench --record` kept, never typed in, so that no figure in
//! it can be older or better than the record it names.

mod record;
mod series;
mod svg;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::PLANNER;
use crate::{Result, root};
use record::Record;

/// Where the picture goes, from the root.
const PICTURE: &str = "docs/speed.svg";
/// Where records are, from the root: a folder for each CPU, a file for each day.
const RECORDS: &str = "bench/record";

/// Draws the record `file`, or else the newest.
///
/// # Errors
/// If there is no record, it cannot be read, or the picture cannot be written.
pub(crate) fn run(file: Option<&Path>) -> Result<()> {
    let file = file.map_or_else(newest, |file| Ok(file.to_owned()))?;
    let at = |file: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = fs::read_to_string(&file).map_err(|error| at(&file, &error))?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let picture = draw(&text, &name).map_err(|error| at(&file, &error))?;
    let target = root().join(PICTURE);
    fs::write(&target, picture).map_err(|error| at(&target, &error))?;
    println!("{PICTURE} shows {}", file.strip_prefix(root()).unwrap_or(&file).display());
    Ok(())
}

/// The picture of a record, given its text and the file's name without its ending.
fn draw(text: &str, name: &str) -> Result<String> {
    let record = Record::parse(text)?;
    let panels = series::panels(&record);
    if panels.is_empty() {
        return Err("nothing to draw: no speed of AES-CTR for 1 MiB on one thread".into());
    }
    Ok(svg::document(&panels, &record.caption(name)))
}

/// The record of the latest day: files are named by day, and those of the planner are no speeds. Of several
/// of that day, any.
fn newest() -> Result<PathBuf> {
    let files = entries(&root().join(RECORDS)).flat_map(|cpu| entries(&cpu));
    let is_record = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(".jsonl").is_some_and(|day| !day.ends_with(PLANNER))
    };
    let records = files.filter(is_record);
    let latest = records.max_by(|a, b| a.file_name().cmp(&b.file_name()));
    latest.ok_or_else(|| format!("no record in {RECORDS}: `cargo xtask bench --record` makes one"))
}

/// What is in a folder; nothing where there is none.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
