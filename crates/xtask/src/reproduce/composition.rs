//! Three tables: the composition of a run's time, the speed-up by threads for inputs of different lengths,
//! and the best chunk size for reading and writing.
//!
//! The composition comes from `crossgrain raw --profile` on one thread. In the published program, everything
//! except computing was serial. Ours reads and writes while other threads compute, so Amdahl's limit here
//! applies to a program that does not.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::threads::{all_threads, unwritten};
use crate::{Result, files};

/// As published: AES-256 in ECB, 17 MB.
const MEBIBYTES: u64 = 17;
const TURNS: usize = 5;

/// Bytes of input, from 1 KiB to 20 MiB.
const LENGTHS: [(&str, usize); 7] = [
    ("1 KiB", 1 << 10),
    ("16 KiB", 1 << 14),
    ("128 KiB", 1 << 17),
    ("1 MiB", 1 << 20),
    ("4 MiB", 1 << 22),
    ("10 MiB", 10 << 20),
    ("20 MiB", 20 << 20),
];

/// Chunk sizes for reading, computing and writing, and the length of the input. The published size was found
/// by trial, too.
const CHUNKS: [&str; 8] = ["4K", "16K", "64K", "256K", "1M", "4M", "16M", "64M"];
const CHUNKED_MEBIBYTES: u64 = 256;

/// Seconds of a run on one thread.
#[derive(Debug, PartialEq)]
struct Composition {
    total_s: f64,
    /// Before and after the stream: key, plan, opening and naming of files.
    around_s: f64,
    reading_s: f64,
    computing_s: f64,
    writing_s: f64,
    waiting_s: f64,
}

impl Composition {
    /// Parses the output of `--profile`.
    fn of(printed: &str) -> Option<Self> {
        let mut lines = printed.lines().filter_map(|line| line.strip_prefix("crossgrain: profile: "));
        let numbers = |line: &str| -> Vec<f64> {
            line.split([' ', ','])
                .filter(|word| word.contains('.'))
                .filter_map(|word| word.parse().ok())
                .collect()
        };
        let [total_s, before_s, after_s] = numbers(lines.next()?)[..] else { return None };
        let [reading_s, computing_s, writing_s, waiting_s] = numbers(lines.next()?)[..] else { return None };
        let around_s = before_s + after_s;
        Some(Self { total_s, around_s, reading_s, computing_s, writing_s, waiting_s })
    }

    /// The share of the time that more threads do not reduce, if only computing is parallel.
    fn serial_share(&self) -> f64 {
        1.0 - self.computing_s / self.total_s
    }
}

/// All three tables.
pub(super) fn tables(place: &Path, program: &Path) -> Result<String> {
    Ok(compositions(place, program)? + &lengths(place, program)? + &chunks(place, program)?)
}

/// The composition of a run on one thread.
fn compositions(place: &Path, program: &Path) -> Result<String> {
    files::write_input(&place.join("in"), MEBIBYTES).map_err(unwritten)?;
    let mut text =
        "\n| one thread, 17 MiB of AES-256 in ECB | before and after | reading | computing | writing | \
         waiting | serial share | Amdahl's limit |\n|---|---|---|---|---|---|---|---|\n\
         | theirs | | | | | | 0.244 | 4.10 |\n"
            .to_owned();
    for (cap, name) in [("", "by the fastest instructions"), ("portable", "on u64")] {
        let mut best: Option<Composition> = None;
        for _ in 0..TURNS {
            let printed = run(place, program, cap, 1, &[])?.1;
            let new = Composition::of(&printed).ok_or_else(|| format!("no profile in: {printed}"))?;
            best = best.filter(|old| old.total_s <= new.total_s).or(Some(new));
        }
        if let Some(best) = best {
            let percent = |part_s: f64| 100.0 * part_s / best.total_s;
            let parts = [best.around_s, best.reading_s, best.computing_s, best.writing_s, best.waiting_s];
            let cells: Vec<_> = parts.iter().map(|&part_s| format!("{:.1} %", percent(part_s))).collect();
            let serial = best.serial_share();
            let _ = writeln!(text, "| {name} | {} | {serial:.3} | {:.2} |", cells.join(" | "), 1.0 / serial);
        }
    }
    Ok(text)
}

/// The speed-up by threads for inputs of different lengths.
fn lengths(place: &Path, program: &Path) -> Result<String> {
    let threads = all_threads();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "\n| input | speed-up of whole runs by {threads} threads, by the fastest instructions | on u64 |\n|---|---|---|"
    );
    for (name, len_bytes) in LENGTHS {
        fs::write(place.join("in"), vec![7; len_bytes]).map_err(unwritten)?;
        let mut cells = Vec::new();
        for cap in ["", "portable"] {
            let mut fastest_s = [f64::INFINITY; 2];
            for _ in 0..TURNS {
                for (fastest_s, threads) in fastest_s.iter_mut().zip([1, threads]) {
                    *fastest_s = fastest_s.min(run(place, program, cap, threads, &[])?.0);
                }
            }
            cells.push(format!("{:.2}", fastest_s[0] / fastest_s[1]));
        }
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    Ok(text)
}

/// The time of a long input for each chunk size. The sizes take turns, so that a disturbance slows all of
/// them.
fn chunks(place: &Path, program: &Path) -> Result<String> {
    files::write_input(&place.join("in"), CHUNKED_MEBIBYTES).map_err(unwritten)?;
    let all = all_threads();
    let columns = [("", 1), ("", all), ("portable", 1), ("portable", all)];
    let mut fastest_s = [[f64::INFINITY; 4]; CHUNKS.len()];
    for _ in 0..TURNS {
        for (chunk, fastest_s) in CHUNKS.iter().zip(&mut fastest_s) {
            for (&(cap, threads), fastest_s) in columns.iter().zip(fastest_s) {
                *fastest_s = fastest_s.min(run(place, program, cap, threads, &["--chunk-size", chunk])?.0);
            }
        }
    }
    let mut text = format!(
        "\n| GB/s, {CHUNKED_MEBIBYTES} MiB from file to file, by size of chunks | one thread | {all} threads | on u64, one thread | \
         {all} threads |\n|---|---|---|---|---|\n| theirs: 16 bytes to read, 512 to write | | | | |\n"
    );
    let bytes = (CHUNKED_MEBIBYTES << 20) as f64;
    for (chunk, fastest_s) in CHUNKS.iter().zip(fastest_s) {
        let cells: Vec<_> = fastest_s.iter().map(|s| format!("{:.2}", bytes / s / 1e9)).collect();
        let _ = writeln!(text, "| {chunk} | {} |", cells.join(" | "));
    }
    Ok(text)
}

/// One run from a file to a file: its seconds, and the profile that it prints.
fn run(place: &Path, program: &Path, cap: &str, threads: usize, more: &[&str]) -> Result<(f64, String)> {
    let mut run = Command::new(program);
    run.current_dir(place).args(["raw", "--cipher", "aes-256", "--mode", "ecb", "--force", "--profile"]);
    run.args(["--key", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"]);
    run.args(["--threads", &threads.to_string(), "in", "-o", "out"]).args(more);
    if !cap.is_empty() {
        run.env("CROSSGRAIN_ISA", cap);
    }
    let start = Instant::now();
    let done = run.output().map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    let seconds = start.elapsed().as_secs_f64();
    let printed = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() { Ok((seconds, printed)) } else { Err(printed) }
}

#[cfg(test)]
mod tests {
    use super::Composition;

    #[test]
    fn a_profile_is_read() {
        let printed = "crossgrain: profile: 1.000000 s, of it 0.100000 before and 0.050000 after the threads\n\
                       crossgrain: profile: thread 1: reading 0.100000 s, computing 0.600000 s, writing 0.150000 s, waiting 0.000000 s\n";
        let composition = Composition::of(printed).unwrap();
        assert!(
            (composition.around_s - 0.15).abs() < 1e-9 && (composition.serial_share() - 0.4).abs() < 1e-9
        );
        assert_eq!(Composition::of("crossgrain: profile: nothing\n"), None);
    }
}
