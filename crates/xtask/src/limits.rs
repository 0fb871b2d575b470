//! `cargo xtask limits`: the fewest cycles per block that each variant can take on a core, compared with the
//! measured cycles.
//!
//! A variant's release code is executed instruction by instruction (`limits/trace.rs`), so a loop's
//! instructions count once per iteration. A model of the core turns the counts into a limit
//! (`limits/ports.rs`, `limits/cores.rs`). The core and the measured cycles come from the newest record, or
//! from one given by name. All rows go into a CSV next to the record. `docs/limits.md` has a summary of these
//! files (`limits/summary.rs`).

mod cores;
mod ports;
mod summary;
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), path = "limits/absent.rs")]
mod trace;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Result, cargo, chart, pages, root, succeed, target};
use ports::{Core, Work};

const PAGE: &str = "docs/limits.md";
const TASK: &str = "limits";
const BLOCK_BYTES: f64 = 16.0;

/// A part of the mangled symbol of the function whose instructions are counted.
const COUNTED: &str = "4plan5trial5Trial3run";

/// One run of a variant on `len_bytes` bytes. `counts` has the number of executions of each instruction, by
/// its address.
struct Run {
    name: String,
    len_bytes: u64,
    counts: HashMap<u64, u64>,
}

/// The limit of a variant.
struct Row {
    name: String,
    /// Per block.
    instructions: f64,
    limit_cycles: f64,
    by: &'static str,
    /// The measured cycles, from the record.
    cycles: Option<f64>,
}

/// Counts, computes the limits, and writes them.
///
/// # Errors
/// If the program cannot be built, read or traced, or the page cannot be written.
pub(crate) fn run(filter: &str, record: Option<PathBuf>) -> Result<()> {
    succeed(cargo().args([
        "build",
        "--release",
        "--quiet",
        "-p",
        "crossgrain",
        "--example",
        "each_variant",
    ]))?;
    let program = root().join(target()).join("release/examples/each_variant");
    let listing = disassembled(&program)?;
    let code = instructions(&listing);
    let entry = entry(&listing)?;
    let record = record.map_or_else(chart::newest_record, Ok)?;
    let (core, reached) = reached(&record)?;
    if filter.is_empty() {
        pages::expect(PAGE, TASK)?; // fails early, because the rest takes half an hour
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut before: Option<Run> = None;
    let mut traced = Command::new(program);
    traced.arg(filter);
    trace::trace(traced, entry, |run| {
        let base = before.take().filter(|base| base.name == run.name);
        if base.is_some() {
            rows.pop();
        }
        eprintln!("{}, {} bytes", run.name, run.len_bytes);
        rows.push(row(core, &run, base.as_ref(), &code, reached.get(&run.name).copied()));
        before = Some(run);
    })?;
    if !filter.is_empty() {
        print!("{}", markdown(&rows, &record));
        return Ok(());
    }
    let csv_file = record.with_file_name(format!("{}-limits.csv", chart::day(&record)));
    std::fs::write(&csv_file, csv(&rows)).map_err(|error| format!("{}: {error}", csv_file.display()))?;
    pages::put(PAGE, TASK, &summary::table()?)
}

/// The name of a machine's core, if a model of it exists.
pub(crate) fn core(machine: &str) -> Option<&'static str> {
    cores::of(machine).map(|core| core.name)
}

/// The row of a run, minus the counts of a run on fewer bytes.
fn row(
    core: &'static Core,
    run: &Run,
    base: Option<&Run>,
    code: &HashMap<u64, &str>,
    cycles_per_byte: Option<f64>,
) -> Row {
    let mut work = Work::on(core);
    let has = |base: Option<&Run>, place| base.and_then(|base| base.counts.get(place)).copied().unwrap_or(0);
    for (place, count) in &run.counts {
        // Addresses outside the program belong to the system library's memory copies. They are stepped
        // through byte by byte, but normally copy whole lines.
        if let Some(instruction) = code.get(place) {
            work.add(instruction, count.saturating_sub(has(base, place)));
        }
    }
    let len_bytes = run.len_bytes - base.map_or(0, |base| base.len_bytes);
    let blocks = len_bytes as f64 / BLOCK_BYTES;
    let (cycles, by) = work.limit();
    Row {
        name: run.name.clone(),
        instructions: work.instructions() as f64 / blocks,
        limit_cycles: cycles / blocks,
        by,
        cycles: cycles_per_byte.map(|cycles| cycles * BLOCK_BYTES),
    }
}

/// The disassembly of the program in AT&T syntax.
fn disassembled(program: &Path) -> Result<String> {
    let mut objdump = Command::new("objdump");
    objdump.args(["--disassemble", "--no-show-raw-insn"]).arg(program);
    let told = objdump.output().map_err(|error| format!("cannot run objdump: {error}"))?;
    if !told.status.success() {
        return Err(format!("objdump failed ({})", told.status));
    }
    String::from_utf8(told.stdout).map_err(|_| "objdump wrote what is no text".into())
}

/// Each instruction by its address. Lines are `  4f2a:<tab>vpxor (%rdi),%ymm1,%ymm2`.
fn instructions(listing: &str) -> HashMap<u64, &str> {
    let line = |line: &'_ str| -> Option<(u64, usize)> {
        let (place, code) = line.trim_start().split_once(":\t")?;
        Some((u64::from_str_radix(place, 16).ok()?, line.len() - code.len()))
    };
    listing
        .lines()
        .filter_map(|text| line(text).map(|(place, start)| (place, text[start..].trim())))
        .collect()
}

/// The address of the counted function, from the line `0000000000004f2a <NAME>:`.
fn entry(listing: &str) -> Result<u64> {
    let label = listing.lines().find(|line| line.ends_with(">:") && line.contains(COUNTED));
    let place = label.and_then(|label| u64::from_str_radix(label.split(' ').next()?, 16).ok());
    place.ok_or_else(|| format!("no function of the program is called {COUNTED}"))
}

/// The core of a record's machine, and the cycles per byte of each variant.
fn reached(record: &Path) -> Result<(&'static Core, BTreeMap<String, f64>)> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", record.display());
    let text = std::fs::read_to_string(record).map_err(|error| at(&error))?;
    let values: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let core = values.iter().find_map(|line| cores::of(line["machine"].as_str()?));
    let core = core
        .ok_or_else(|| at(&"of a core without a model: `bench/ports.py` measures one for limits/cores.rs"))?;
    let of = |row: &Value| Some((row["id"].as_str()?.to_owned(), row["cycles_per_byte"].as_f64()?));
    Ok((core, values.iter().filter_map(of).collect()))
}

fn markdown(rows: &[Row], record: &Path) -> String {
    let mut text = format!(
        "Cycles reached: `{}`.\n\n| variant | instructions a block | cycles at least | by | cycles reached | of the limit |\n\
         |---|---|---|---|---|---|\n",
        record.strip_prefix(root()).unwrap_or(record).display()
    );
    for Row { name, instructions, limit_cycles, by, cycles } in rows {
        let (reached, share) = cycles.map_or(("–".into(), "–".into()), |cycles| {
            (format!("{cycles:.2}"), format!("{:.0} %", 100.0 * limit_cycles / cycles))
        });
        let _ =
            writeln!(text, "| {name} | {instructions:.2} | {limit_cycles:.2} | {by} | {reached} | {share} |");
    }
    text
}

fn csv(rows: &[Row]) -> String {
    let mut text =
        "variant,instructions_per_block,limit_cycles_per_block,limited_by,cycles_per_block\n".to_owned();
    for Row { name, instructions, limit_cycles, by, cycles } in rows {
        let cycles = cycles.map_or(String::new(), |cycles| format!("{cycles:.4}"));
        let by = by.replace(", ", " and ");
        let _ = writeln!(text, "{name},{instructions:.4},{limit_cycles:.4},{by},{cycles}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{PAGE, TASK, entry, instructions, summary};
    use crate::{pages, root};

    const LISTING: &str = "\n0000000000004f20 <_ZN10crossgrain4plan5trial5Trial3run17h0123456789abcdefE>:\n    \
         4f20:\tpush   %rbp\n    4f21:\tvpxor  0x20(%rdi),%ymm1,%ymm2\n";

    #[test]
    fn the_page_summarises_all_files() {
        let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
        let table = pages::between(&page, TASK).unwrap();
        assert_eq!(table.trim(), summary::table().unwrap().trim(), "run `cargo xtask limits`");
    }

    #[test]
    fn a_listing_is_read() {
        let code = instructions(LISTING);
        assert_eq!((code.len(), code[&0x4f21]), (2, "vpxor  0x20(%rdi),%ymm1,%ymm2"));
        assert_eq!(entry(LISTING), Ok(0x4f20));
        assert!(entry("").is_err());
    }
}
