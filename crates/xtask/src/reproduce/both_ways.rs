//! One program that reads a file, encrypts it, decrypts it and writes it, by `crossgrain-peers both-ways`.
//!
//! The published program did the same: only encryption and decryption were parallel. Tables: the speed-up of both
//! directions and of the whole program, the serial share, and the sizes of pieces that are read and written.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::Record;
use super::threads::{CAPS, Place, all_threads, counts};
use crate::Result;

/// As published: AES-256 in ECB, 17 MB.
pub(super) const MEBIBYTES: u64 = 17;
const TURNS: usize = 7;

/// The phases that the program times, in order.
const PHASES: [&str; 5] = ["reading", "encryption", "decryption", "writing", "total"];

/// The published speed-ups by 2, 4, 8 and 16 threads.
pub(super) const THEIRS: [(&str, [f64; 4]); 3] = [
    ("encryption", [1.957, 3.112, 5.274, 5.554]),
    ("decryption", [1.996, 3.285, 6.829, 12.357]),
    ("total", [1.600, 1.941, 2.222, 2.300]),
];
const THEIR_THREADS: [usize; 4] = [2, 4, 8, 16];

/// Bytes that are read and written at a time: the published sizes, one of them larger, both larger.
const PIECES: [(usize, usize); 7] =
    [(16, 16), (16, 512), (512, 16), (512, 512), (16, 65_536), (65_536, 512), (65_536, 65_536)];

/// Times the program with every number of threads, then with every size of pieces.
pub(super) fn measure(program: &Path, place: &Place, record: &mut Record) -> Result<()> {
    place.write(MEBIBYTES << 20)?;
    for (cap, name) in CAPS {
        let all: Vec<_> = counts().collect();
        let mut fastest = vec![[f64::INFINITY; PHASES.len()]; all.len()];
        for _ in 0..TURNS {
            for (fastest, &threads) in fastest.iter_mut().zip(&all) {
                shorten(fastest, run(program, place, cap, threads, (16, 512))?);
            }
        }
        for (fastest, threads) in fastest.iter().zip(all) {
            for (phase, seconds) in PHASES.iter().zip(fastest) {
                record.put(format!("both-ways/{name}/{phase}/{threads}"), *seconds);
            }
        }
    }
    let mut fastest = [[f64::INFINITY; PHASES.len()]; PIECES.len()];
    for _ in 0..TURNS {
        for (fastest, pieces) in fastest.iter_mut().zip(PIECES) {
            shorten(fastest, run(program, place, CAPS[0].0, all_threads(), pieces)?);
        }
    }
    for (fastest, (read, write)) in fastest.iter().zip(PIECES) {
        for (phase, seconds) in PHASES.iter().zip(fastest) {
            record.put(format!("pieces/{read}/{write}/{phase}"), *seconds);
        }
    }
    Ok(())
}

/// Keeps the shorter time of each phase.
fn shorten(fastest: &mut [f64; PHASES.len()], new: [f64; PHASES.len()]) {
    fastest.iter_mut().zip(new).for_each(|(fastest, new)| *fastest = fastest.min(new));
}

fn run(
    program: &Path,
    place: &Place,
    cap: &str,
    threads: usize,
    (read, write): (usize, usize),
) -> Result<[f64; PHASES.len()]> {
    let mut run = Command::new(program);
    run.current_dir(place.folder()).args(["both-ways", "in", "out", "--threads", &threads.to_string()]);
    run.args(["--read", &read.to_string(), "--write", &write.to_string()]);
    if !cap.is_empty() {
        run.env("CROSSGRAIN_ISA", cap);
    }
    let done = run.output().map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    let printed = String::from_utf8_lossy(&done.stdout);
    let seconds: Vec<f64> = printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    seconds.try_into().map_err(|_| String::from_utf8_lossy(&done.stderr).into_owned())
}

/// The tables of a record.
pub(super) fn tables(record: &Record, threads: usize) -> Result<String> {
    let mut text = speed_ups(record, threads)?;
    shares(record, &mut text)?;
    pieces(record, &mut text)?;
    Ok(text)
}

/// The published numbers of threads, and all of this machine.
pub(super) fn columns(all: usize) -> Vec<usize> {
    let mut columns: Vec<_> = THEIR_THREADS.into_iter().chain((all > 1).then_some(all)).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The heads of these columns, and the line below a head with one column more.
pub(super) fn heads(columns: &[usize]) -> String {
    let heads: Vec<_> = columns.iter().map(|threads| format!("{threads} threads")).collect();
    format!("{} |\n|---|{}\n", heads.join(" | "), "---|".repeat(columns.len()))
}

/// The published speed-ups in these columns.
pub(super) fn their_cells(speed_ups: [f64; 4], columns: &[usize]) -> String {
    let cell = |threads: &usize| {
        let mut known = THEIR_THREADS.iter().zip(speed_ups).filter(|(known, _)| *known == threads);
        known.next().map_or_else(String::new, |(_, speed_up)| format!("{speed_up:.3}"))
    };
    columns.iter().map(cell).collect::<Vec<_>>().join(" | ")
}

/// Speed-ups with the published numbers of threads and with all of this machine.
fn speed_ups(record: &Record, all: usize) -> Result<String> {
    let columns = columns(all);
    let mut text = format!("| one program, {MEBIBYTES} MiB: speed-up over one thread | {}", heads(&columns));
    for (phase, speed_ups) in THEIRS {
        let _ = writeln!(text, "| theirs: {phase} | {} |", their_cells(speed_ups, &columns));
    }
    for (_, name) in CAPS {
        for (phase, _) in THEIRS {
            let seconds = |threads: usize| record.get(&format!("both-ways/{name}/{phase}/{threads}"));
            let one_s = seconds(1)?;
            // A machine may have fewer threads, or not have measured this number of them.
            let cell = |threads: &usize| {
                seconds(*threads).map_or_else(|_| "–".to_owned(), |many_s| format!("{:.3}", one_s / many_s))
            };
            let cells: Vec<_> = columns.iter().map(cell).collect();
            let _ = writeln!(text, "| {name}: {phase} | {} |", cells.join(" | "));
        }
    }
    Ok(text)
}

/// The phases of a run on one thread, the share that more threads do not reduce, and the limit that follows.
fn shares(record: &Record, text: &mut String) -> Result<()> {
    let _ = writeln!(
        text,
        "\n| one program, one thread | {} | serial share | Amdahl's limit |\n|---|{}\n| theirs | | | | | 0.244 | 4.10 |",
        PHASES[..4].join(" | "),
        "---|".repeat(6)
    );
    for (_, name) in CAPS {
        let seconds = |phase: &str| record.get(&format!("both-ways/{name}/{phase}/1"));
        let phases: Vec<_> = PHASES[..4].iter().map(|phase| seconds(phase)).collect::<Result<_>>()?;
        let total_s: f64 = phases.iter().sum();
        let cells: Vec<_> = phases.iter().map(|phase| format!("{:.1} %", 100.0 * phase / total_s)).collect();
        let serial = (phases[0] + phases[3]) / total_s;
        let _ = writeln!(text, "| {name} | {} | {serial:.3} | {:.2} |", cells.join(" | "), 1.0 / serial);
    }
    Ok(())
}

/// Times of reading and writing by the size of pieces.
fn pieces(record: &Record, text: &mut String) -> Result<()> {
    let _ = writeln!(
        text,
        "\n| one program, bytes to read, to write at a time | reading, ms | writing, ms | total, ms |\n|---|---|---|---|\n\
         | theirs: 16 and 512 were best | | | |"
    );
    for (read, write) in PIECES {
        let ms =
            |phase: &str| record.get(&format!("pieces/{read}/{write}/{phase}")).map(|seconds| 1e3 * seconds);
        let (reading, writing, total) = (ms("reading")?, ms("writing")?, ms("total")?);
        let _ = writeln!(text, "| {read}, {write} | {reading:.1} | {writing:.1} | {total:.1} |");
    }
    Ok(())
}
