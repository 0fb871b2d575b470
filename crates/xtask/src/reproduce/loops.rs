//! Programs that `crossgrain deps --emit` writes from the text of loops, in C with OpenMP and in Rust with rayon.
//!
//! The published experiment encrypts and decrypts 17 MB with 1 to N threads. Other examples of the same length
//! have loops that become parallel only after a transformation.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::both_ways::{self, MEBIBYTES, THEIRS};
use super::{Record, threads};
use crate::others::Begun;
use crate::{Result, bench, cargo, root, succeed, target};

/// The texts of the loops.
const TEXTS: &str = "crates/crossgrain-deps/examples/loops";

/// A text with its arguments.
struct Example {
    name: &'static str,
    arguments: &'static [&'static str],
}

/// Both directions of AES-256, with a byte in each word.
const DIRECTIONS: [Example; 2] = [
    Example { name: "aes-encrypt", arguments: &["blocks=1114112"] },
    Example { name: "aes-decrypt", arguments: &["blocks=1114112"] },
];

/// Loops that transformations make parallel.
const TRANSFORMED: [Example; 4] = [
    Example { name: "distribute", arguments: &["n=1114112"] },
    Example { name: "interchange", arguments: &["n=1492"] },
    Example { name: "wavefront", arguments: &["n=2112"] },
    Example { name: "gauss-seidel", arguments: &["n=2110", "sweeps=8"] },
];

fn examples() -> impl Iterator<Item = &'static Example> {
    DIRECTIONS.iter().chain(&TRANSFORMED)
}

/// The languages, as in ids.
const C: &str = "c";
const RUST: &str = "rust";

/// The version of the C compiler in a record.
const GCC: &str = "gcc";

/// The serial loops, as the programs name them where the others have a number of threads.
const SERIAL: &str = "serial";

/// How often each program runs. It repeats the loops itself.
const TURNS: usize = 3;

/// The benchmark whose output describes the machine. Every machine has it.
const ANY_ROW: &str = "sub-bytes/blocks/portable-table";

/// A package with all programs in Rust. An empty workspace keeps cargo from looking for one above.
const MANIFEST: &str = "[package]\nname = \"emitted\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                        [dependencies]\nrayon = \"1\"\n\n[workspace]\n";

/// Builds all programs, and times them in turns.
pub(super) fn measured() -> Result<Record> {
    let folder = root().join(target()).join("emitted-loops");
    fs::create_dir_all(folder.join("src/bin")).map_err(|error| format!("{}: {error}", folder.display()))?;
    let emitter = bench::own_program()?;
    let mut programs = in_rust(&emitter, &folder)?;
    let gcc = version_of_gcc();
    if gcc.is_some() {
        programs.extend(in_c(&emitter, &folder)?);
    } else {
        eprintln!("programs in C are not timed: gcc is not installed");
    }
    let mut lines = bench::own_rows(&[ANY_ROW.to_owned()])?;
    lines.truncate(1);
    let mut record = Record::new(lines)?;
    if let Some(gcc) = gcc {
        record.note(GCC, &gcc);
    }
    let begun = Begun::now();
    let mut fastest_s: BTreeMap<String, f64> = BTreeMap::new();
    for _ in 0..TURNS {
        for program in &programs {
            for (id, seconds) in program.run()? {
                let fastest_s = fastest_s.entry(id).or_insert(f64::INFINITY);
                *fastest_s = fastest_s.min(seconds);
            }
        }
    }
    record.add_others(begun.cpus_of_others());
    record.put("threads".to_owned(), threads::all_threads() as f64);
    fastest_s.into_iter().for_each(|(id, seconds)| record.put(id, seconds));
    Ok(record)
}

/// A compiled program.
struct Program {
    language: &'static str,
    example: &'static Example,
    path: PathBuf,
}

impl Program {
    /// Seconds by the id of a figure.
    fn run(&self) -> Result<Vec<(String, f64)>> {
        let done = Command::new(&self.path).args(self.example.arguments).output();
        let done = done.map_err(|error| format!("cannot run {}: {error}", self.path.display()))?;
        let times = times(&String::from_utf8_lossy(&done.stdout));
        if !done.status.success() || times.is_empty() {
            let told = String::from_utf8_lossy(&done.stderr);
            return Err(format!("{} failed ({}): {told}", self.path.display(), done.status));
        }
        let named = times.into_iter().map(|(by, seconds)| (id(self.language, self.example, &by), seconds));
        Ok(named.collect())
    }
}

fn id(language: &str, example: &Example, by: &str) -> String {
    format!("loops/{language}/{}/{by}", example.name)
}

/// Parses the output of a program: digests, a head, then one line for the serial loops and for each number of
/// threads.
fn times(printed: &str) -> Vec<(String, f64)> {
    let time = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
    };
    printed.lines().skip(2).filter_map(time).collect()
}

/// Emits all programs in Rust, and builds them as one package with the workspace's version of rayon.
fn in_rust(emitter: &Path, folder: &Path) -> Result<Vec<Program>> {
    for example in examples() {
        emit(emitter, example, RUST, &folder.join("src/bin").join(example.name).with_extension("rs"))?;
    }
    let written = fs::write(folder.join("Cargo.toml"), MANIFEST)
        .and_then(|()| fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")));
    written.map_err(|error| format!("{}: {error}", folder.display()))?;
    let built = folder.join("target");
    let mut build = cargo();
    build.args(["build", "--release", "--quiet", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    succeed(build.arg("--target-dir").arg(&built))?;
    let program = |example: &'static Example| Program {
        language: RUST,
        example,
        path: built.join("release").join(example.name),
    };
    Ok(examples().map(program).collect())
}

/// Emits all programs in C, and compiles them.
fn in_c(emitter: &Path, folder: &Path) -> Result<Vec<Program>> {
    examples()
        .map(|example| {
            let path = folder.join(example.name);
            let source = path.with_extension("c");
            emit(emitter, example, C, &source)?;
            succeed(Command::new("gcc").args(["-O2", "-fopenmp", "-o"]).arg(&path).arg(&source))?;
            Ok(Program { language: C, example, path })
        })
        .collect()
}

/// Writes a program from the text of its loops.
fn emit(emitter: &Path, example: &Example, language: &str, to: &Path) -> Result<()> {
    let _ = fs::remove_file(to); // it may come from another version
    let text = root().join(TEXTS).join(example.name).with_extension("loops");
    let mut emit = Command::new(emitter);
    succeed(emit.args(["deps", "--loop"]).arg(text).args(["--emit", language, "-o"]).arg(to))
}

fn version_of_gcc() -> Option<String> {
    let told =
        Command::new("gcc").arg("-dumpfullversion").output().ok().filter(|told| told.status.success())?;
    Some(String::from_utf8_lossy(&told.stdout).trim().to_owned())
}

/// The tables of a record.
pub(super) fn tables(record: &Record) -> Result<String> {
    let all = record.get("threads")? as usize;
    // A machine without gcc has no programs in C.
    let gcc = record.noted(GCC).map(|version| (C, format!("C, gcc {version}")));
    let languages: Vec<_> = gcc.into_iter().chain([(RUST, "Rust".to_owned())]).collect();
    let mut text = String::new();
    speed_ups(record, all, &languages, &mut text)?;
    seconds(record, all, &languages, &mut text)?;
    transformed(record, all, &languages, &mut text)?;
    Ok(text)
}

/// Languages, as in ids and in the tables.
type Languages = [(&'static str, String)];

/// Seconds of encryption, of decryption and of both, by the serial loops or a number of threads.
fn aes_s(record: &Record, language: &str, by: &str) -> Result<[f64; 3]> {
    let [encryption, decryption] =
        DIRECTIONS.each_ref().map(|example| record.get(&id(language, example, by)));
    let (encryption, decryption) = (encryption?, decryption?);
    Ok([encryption, decryption, encryption + decryption])
}

/// Speed-ups over the serial loops, next to the published ones.
fn speed_ups(record: &Record, all: usize, languages: &Languages, text: &mut String) -> Result<()> {
    let columns = both_ways::columns(all);
    let _ = write!(
        text,
        "| {MEBIBYTES} MiB of AES-256: speed-up over the serial loops | {}",
        both_ways::heads(&columns)
    );
    for (phase, speed_ups) in THEIRS {
        let _ = writeln!(text, "| theirs: {phase} | {} |", both_ways::their_cells(speed_ups, &columns));
    }
    for (language, name) in languages {
        let serial_s = aes_s(record, language, SERIAL)?;
        for (at, (phase, _)) in THEIRS.iter().enumerate() {
            let cell = |threads: &usize| {
                let many_s = aes_s(record, language, &threads.to_string());
                many_s.map_or_else(|_| "–".to_owned(), |many_s| format!("{:.3}", serial_s[at] / many_s[at]))
            };
            let cells: Vec<_> = columns.iter().map(cell).collect();
            let _ = writeln!(text, "| {name}: {phase} | {} |", cells.join(" | "));
        }
    }
    Ok(())
}

/// Times of both directions.
fn seconds(record: &Record, all: usize, languages: &Languages, text: &mut String) -> Result<()> {
    let _ = writeln!(
        text,
        "\n| {MEBIBYTES} MiB of AES-256, seconds | encryption | decryption | total | speed-up |\n|---|---|---|---|---|"
    );
    for (language, name) in languages {
        let [.., serial_s] = aes_s(record, language, SERIAL)?;
        let mut line = |by: &str, name: &str| {
            let [encryption, decryption, total] = aes_s(record, language, by)?;
            let speed_up = serial_s / total;
            let _ =
                writeln!(text, "| {name} | {encryption:.3} | {decryption:.3} | {total:.3} | {speed_up:.2} |");
            Ok::<_, String>(())
        };
        line(SERIAL, &format!("{name}: serial loops"))?;
        for threads in threads::counts_up_to(all) {
            line(&threads.to_string(), &format!("{name}: {}", counted(threads)))?;
        }
    }
    Ok(())
}

/// Times of the transformed examples.
fn transformed(record: &Record, all: usize, languages: &Languages, text: &mut String) -> Result<()> {
    let mut columns = vec![1, all];
    columns.dedup();
    let heads: Vec<_> = columns.iter().map(|&threads| format!("transformed, {}", counted(threads))).collect();
    let _ = writeln!(
        text,
        "\n| milliseconds | serial loops | {} |\n|---|---|{}",
        heads.join(" | "),
        "---|".repeat(columns.len())
    );
    for (language, name) in languages {
        for example in &TRANSFORMED {
            let ms = |by: &str| {
                record.get(&id(language, example, by)).map(|seconds| format!("{:.2}", 1e3 * seconds))
            };
            let all = [SERIAL.to_owned()].into_iter().chain(columns.iter().map(usize::to_string));
            let cells: Vec<_> = all.map(|by| ms(&by)).collect::<Result<_>>()?;
            let arguments = example.arguments.join(", ");
            let _ = writeln!(text, "| {name}: `{}`, {arguments} | {} |", example.name, cells.join(" | "));
        }
    }
    Ok(())
}

fn counted(threads: usize) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{C, GCC, RUST, Record, SERIAL, examples, id, tables, times};

    #[test]
    fn times_of_a_program_are_read() {
        let printed = "58b7a1fbcb43c7b0 58b7a1fbcb43c7b0\nthreads      seconds  speed-up\n serial     0.000344      1.00\n      \
                       1     0.000346      0.99\n";
        assert_eq!(times(printed), [("serial".to_owned(), 0.000_344), ("1".to_owned(), 0.000_346)]);
        assert!(times("").is_empty());
    }

    /// A record with the same times for every language.
    fn record(languages: &[&str]) -> Record {
        let mut record = Record::new(vec![json!({ "machine": "M, 2 threads" })]).unwrap();
        record.put("threads".to_owned(), 2.0);
        for language in languages {
            for example in examples() {
                for (by, seconds) in [(SERIAL, 0.2), ("1", 0.25), ("2", 0.1)] {
                    record.put(id(language, example, by), seconds);
                }
            }
        }
        record
    }

    #[test]
    fn a_machine_without_gcc_has_rust_only() {
        let mut with_gcc = record(&[C, RUST]);
        with_gcc.note(GCC, "12.2.0");
        let text = tables(&with_gcc).unwrap();
        for line in [
            "| C, gcc 12.2.0: total | 2.000 | – | – | – |",
            "| Rust: serial loops | 0.200 | 0.200 | 0.400 | 1.00 |",
            "| Rust: 1 thread | 0.250 | 0.250 | 0.500 | 0.80 |",
            "| Rust: `gauss-seidel`, n=2110, sweeps=8 | 200.00 | 250.00 | 100.00 |",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!tables(&record(&[RUST])).unwrap().contains("| C"));
    }
}
