//! Three tables: the composition of a run's time, the speed-up by threads for inputs of different lengths,
//! and the best chunk size for reading and writing.
//!
//! The composition comes from `crossgrain raw --profile` on one thread. In the published program, everything
//! except computing was serial. Ours reads and writes while other threads compute, so Amdahl's limit here
//! applies to a program that does not.

use std::fmt::Write as _;

use super::Record;
use super::threads::{CAPS, Place, all_threads};
use crate::Result;

/// As published: AES-256 in ECB, 17 MB.
const MEBIBYTES: u64 = 17;
const TURNS: usize = 5;

/// Bytes of input, from 1 KiB to 20 MiB.
const LENGTHS: [(&str, u64); 7] = [
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

/// The parts of a composition, as the record and the table name them.
const PARTS: [&str; 5] = ["before and after", "reading", "computing", "writing", "waiting"];

/// Times everything for the three tables.
pub(super) fn measure(place: &Place, record: &mut Record) -> Result<()> {
    compositions(place, record)?;
    lengths(place, record)?;
    chunks(place, record)
}

/// The composition of the fastest run on one thread.
fn compositions(place: &Place, record: &mut Record) -> Result<()> {
    place.write(MEBIBYTES << 20)?;
    for (cap, name) in CAPS {
        let mut best: Option<Composition> = None;
        for _ in 0..TURNS {
            let printed = place.run(cap, 1, &["--profile"])?.1;
            let new = Composition::of(&printed).ok_or_else(|| format!("no profile in: {printed}"))?;
            best = best.filter(|old| old.total_s <= new.total_s).or(Some(new));
        }
        let Some(best) = best else { continue };
        let parts = [best.around_s, best.reading_s, best.computing_s, best.writing_s, best.waiting_s];
        for (part, seconds) in PARTS.iter().zip(parts) {
            record.put(format!("share/{name}/{part}"), seconds / best.total_s);
        }
        record.put(format!("share/{name}/serial"), best.serial_share());
    }
    Ok(())
}

/// The speed-up by threads for inputs of different lengths.
fn lengths(place: &Place, record: &mut Record) -> Result<()> {
    for (length, len_bytes) in LENGTHS {
        place.write(len_bytes)?;
        for (cap, name) in CAPS {
            let mut fastest_s = [f64::INFINITY; 2];
            for _ in 0..TURNS {
                for (fastest_s, threads) in fastest_s.iter_mut().zip([1, all_threads()]) {
                    *fastest_s = fastest_s.min(place.run(cap, threads, &[])?.0);
                }
            }
            record.put(format!("length/{name}/{length}"), fastest_s[0] / fastest_s[1]);
        }
    }
    Ok(())
}

/// The time of a long input for each chunk size. The sizes take turns, so that a disturbance slows all of
/// them.
fn chunks(place: &Place, record: &mut Record) -> Result<()> {
    place.write(CHUNKED_MEBIBYTES << 20)?;
    let columns = columns(all_threads());
    let mut fastest_s = vec![vec![f64::INFINITY; columns.len()]; CHUNKS.len()];
    for _ in 0..TURNS {
        for (chunk, fastest_s) in CHUNKS.iter().zip(&mut fastest_s) {
            for ((_, cap, threads), fastest_s) in columns.iter().zip(fastest_s) {
                *fastest_s = fastest_s.min(place.run(cap, *threads, &["--chunk-size", chunk])?.0);
            }
        }
    }
    let bytes = (CHUNKED_MEBIBYTES << 20) as f64;
    for (chunk, fastest_s) in CHUNKS.iter().zip(fastest_s) {
        for ((name, _, threads), seconds) in columns.iter().zip(fastest_s) {
            record.put(format!("chunk/{name}/{chunk}/{threads}"), bytes / seconds / 1e9);
        }
    }
    Ok(())
}

/// The columns of the table of chunks: instructions, cap, threads.
fn columns(all: usize) -> Vec<(&'static str, &'static str, usize)> {
    let counts = [1].into_iter().chain((all > 1).then_some(all));
    let counts: Vec<_> = counts.collect();
    CAPS.iter().flat_map(|(cap, name)| counts.iter().map(|threads| (*name, *cap, *threads))).collect()
}

/// The three tables of a record.
pub(super) fn tables(record: &Record, threads: usize) -> Result<String> {
    let mut text = format!(
        "\n| one thread, {MEBIBYTES} MiB of AES-256 in ECB | {} | serial share | Amdahl's limit |\n|---|{}\n\
         | theirs | | | | | | 0.244 | 4.10 |\n",
        PARTS.join(" | "),
        "---|".repeat(PARTS.len() + 2),
    );
    for (_, name) in CAPS {
        let share = |part: &str| record.get(&format!("share/{name}/{part}"));
        let cells: Vec<_> = PARTS
            .iter()
            .map(|part| share(part).map(|share| format!("{:.1} %", 100.0 * share)))
            .collect::<Result<_>>()?;
        let serial = share("serial")?;
        let _ = writeln!(text, "| {name} | {} | {serial:.3} | {:.2} |", cells.join(" | "), 1.0 / serial);
    }
    let _ = writeln!(
        text,
        "\n| input | speed-up of whole runs by {threads} threads, {} | {} |\n|---|---|---|",
        CAPS[0].1, CAPS[1].1
    );
    for (length, _) in LENGTHS {
        let [fast, slow] = CAPS.map(|(_, name)| record.get(&format!("length/{name}/{length}")));
        let _ = writeln!(text, "| {length} | {:.2} | {:.2} |", fast?, slow?);
    }
    let columns = columns(threads);
    let heads: Vec<_> =
        columns.iter().map(|(name, _, threads)| format!("{name}, {threads} threads")).collect();
    let _ = writeln!(
        text,
        "\n| GB/s, {CHUNKED_MEBIBYTES} MiB from file to file, by size of chunks | {} |\n|---|{}",
        heads.join(" | ").replace(", 1 threads", ", one thread"),
        "---|".repeat(columns.len()),
    );
    for chunk in CHUNKS {
        let cell = |(name, _, threads): &(&str, &str, usize)| {
            record.get(&format!("chunk/{name}/{chunk}/{threads}")).map(|speed| format!("{speed:.2}"))
        };
        let cells: Vec<_> = columns.iter().map(cell).collect::<Result<_>>()?;
        let _ = writeln!(text, "| {chunk} | {} |", cells.join(" | "));
    }
    Ok(text)
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
