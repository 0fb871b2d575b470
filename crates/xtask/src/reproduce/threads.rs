//! The speed-up by threads, in memory and from file to file, and an extrapolation to many threads.
//!
//! The model is Amdahl's: a run takes `serial + parallel / threads` seconds. Its two parameters are fitted to the
//! times of one thread and of all threads of this machine. It does not include the memory bandwidth of larger
//! machines.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::{Record, both_ways, composition};
use crate::others::Begun;
use crate::{Result, bench, files};

/// The rows of `crossgrain bench` for threads in memory.
pub(super) const IN_MEMORY: &str = "threads/aes-128-ctr/";

/// Their kinds of code, with the names in ids.
pub(super) const GENERATORS: [(&str, &str); 2] =
    [("by the fastest instructions", "best"), ("without AES instructions", "without-aes")];

/// A memory file system that every Linux has.
const MEMORY: &str = "/dev/shm";
const MEBIBYTES: u64 = 512;
const TURNS: usize = 5;

/// The numbers of threads for which the model is evaluated.
const ASKED: [f64; 2] = [16.0, 64.0];

/// ISA caps of the program, and what they leave.
pub(super) const CAPS: [(&str, &str); 2] = [("", "by the fastest instructions"), ("portable", "on u64")];

/// The directions of a run, and the option of each. Counter mode decrypts by encrypting, so runs use ECB.
const DIRECTIONS: [(&str, &[&str]); 2] = [("encryption", &[]), ("decryption", &["-d"])];

/// Seconds by the number of threads.
struct Model {
    serial_s: f64,
    parallel_s: f64,
}

impl Model {
    /// Fits the model to the times of one thread and of several. `None` for one thread, which tells nothing.
    fn through(one_s: f64, threads: usize, many_s: f64) -> Option<Self> {
        let saved = 1.0 - 1.0 / threads as f64;
        let parallel_s = ((one_s - many_s) / saved).clamp(0.0, one_s);
        (threads > 1).then_some(Self { serial_s: one_s - parallel_s, parallel_s })
    }

    fn speed_up(&self, threads: f64) -> f64 {
        (self.serial_s + self.parallel_s) / (self.serial_s + self.parallel_s / threads)
    }
}

/// The program under test, in a folder in memory.
pub(super) struct Place {
    folder: PathBuf,
    program: PathBuf,
}

impl Place {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs the program on `in`, from a file to a file, and returns its seconds and what it printed.
    pub(super) fn run(&self, cap: &str, threads: usize, more: &[&str]) -> Result<(f64, String)> {
        let mut run = Command::new(&self.program);
        run.current_dir(&self.folder).args([
            "raw",
            "--cipher",
            "aes-256",
            "--mode",
            "ecb",
            "--padding",
            "none",
        ]);
        run.args(["--key", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "--force"]);
        run.args(["--threads", &threads.to_string(), "in", "-o", "out"]).args(more);
        if !cap.is_empty() {
            run.env("CROSSGRAIN_ISA", cap);
        }
        let start = Instant::now();
        let done = run.output().map_err(|error| format!("cannot run {}: {error}", self.program.display()))?;
        let seconds = start.elapsed().as_secs_f64();
        let printed = String::from_utf8_lossy(&done.stderr).into_owned();
        if done.status.success() { Ok((seconds, printed)) } else { Err(printed) }
    }

    /// Fills `in`.
    pub(super) fn write(&self, len_bytes: u64) -> Result<()> {
        let (path, mebibytes) = (self.folder.join("in"), len_bytes >> 20);
        let written = match mebibytes {
            0 => fs::write(&path, vec![7; len_bytes as usize]),
            _ => files::write_input(&path, mebibytes),
        };
        written.map_err(|error| format!("cannot write the input: {error}"))
    }
}

/// Times whole runs, and adds their seconds to the record.
pub(super) fn measure(record: &mut Record) -> Result<()> {
    let program = bench::own_program()?;
    let peers = bench::peers_program()?;
    let folder = Path::new(MEMORY).join(format!("crossgrain-threads-{}", std::process::id()));
    fs::create_dir(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let place = Place { folder, program };
    let begun = Begun::now();
    let measured = both_ways::measure(&peers, &place, record)
        .and_then(|()| long_runs(&place, record))
        .and_then(|()| composition::measure(&place, record));
    record.add_others(begun.cpus_of_others());
    let removed = fs::remove_dir_all(&place.folder);
    removed.map_err(|error| format!("cannot remove {}: {error}", place.folder.display()))?;
    measured
}

/// The fastest of several runs of each kind on a long input. The kinds take turns.
fn long_runs(place: &Place, record: &mut Record) -> Result<()> {
    place.write(MEBIBYTES << 20)?;
    for (cap, name) in CAPS {
        for (what, options) in DIRECTIONS {
            let mut fastest_s: Vec<_> = counts().map(|threads| (threads, f64::INFINITY)).collect();
            for _ in 0..TURNS {
                for (threads, fastest_s) in &mut fastest_s {
                    *fastest_s = fastest_s.min(place.run(cap, *threads, options)?.0);
                }
            }
            for (threads, seconds) in fastest_s {
                record.put(format!("files/{name}/{what}/{threads}"), seconds);
            }
        }
    }
    record.put("threads".to_owned(), all_threads() as f64);
    Ok(())
}

/// Every number of threads up to sixteen, then powers of two, and all threads of this machine.
pub(super) fn counts() -> impl Iterator<Item = usize> {
    counts_up_to(all_threads())
}

pub(super) fn counts_up_to(all: usize) -> impl Iterator<Item = usize> {
    let next = |&threads: &usize| Some(if threads < 16 { threads + 1 } else { 2 * threads });
    std::iter::successors(Some(1), next).take_while(move |&threads| threads < all).chain([all])
}

/// The threads of this machine.
pub(super) fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The tables of a record.
pub(super) fn table(record: &Record) -> Result<String> {
    let threads = record.get("threads")? as usize;
    let mut text = both_ways::tables(record, threads)?;
    let _ = writeln!(
        text,
        "\n| speed-up over one thread | {threads} threads | 16, by the model | 64, by the model |\n|---|---|---|---|\n\
         | theirs, 16 processors: decryption, encryption, in total | | 12.4, 5.6, 2.3 | |"
    );
    for (name, id) in GENERATORS {
        let speeds = record.threads(&format!("{IN_MEMORY}{id}/"));
        let (Some(one), Some((most, many))) = (speeds.get(&1), speeds.last_key_value()) else { continue };
        line(&mut text, &format!("in memory, AES-128 in CTR, {name}"), [1.0 / one, 1.0 / many], *most);
    }
    for (_, name) in CAPS {
        let mut both_s = [0.0; 2];
        for (what, _) in DIRECTIONS {
            let seconds = |threads: usize| record.get(&format!("files/{name}/{what}/{threads}"));
            let times_s = [seconds(1)?, seconds(threads)?];
            both_s = [both_s[0] + times_s[0], both_s[1] + times_s[1]];
            line(&mut text, &format!("from file to file, AES-256 in ECB, {name}: {what}"), times_s, threads);
        }
        line(&mut text, &format!("the same, {name}: in total"), both_s, threads);
    }
    Ok(text + &composition::tables(record, threads)?)
}

fn line(text: &mut String, name: &str, [one_s, many_s]: [f64; 2], threads: usize) {
    let speed_up = one_s / many_s;
    let [few, many] = ASKED.map(|asked| {
        let model = Model::through(one_s, threads, many_s);
        model.map_or_else(|| "–".to_owned(), |model| format!("{:.1}", model.speed_up(asked)))
    });
    let _ = writeln!(text, "| {name} | {speed_up:.2} | {few} | {many} |");
}

#[cfg(test)]
mod tests {
    use super::{Model, counts_up_to};

    #[test]
    fn any_number_of_threads_begins_with_one() {
        assert_eq!(counts_up_to(1).collect::<Vec<_>>(), [1]);
        assert_eq!(counts_up_to(3).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(counts_up_to(40).last(), Some(40));
        assert_eq!(counts_up_to(40).skip(15).collect::<Vec<_>>(), [16, 32, 40]);
    }

    #[test]
    fn the_model_goes_through_both_times() {
        let model = Model::through(10.0, 2, 6.0).unwrap();
        assert_eq!((model.serial_s, model.parallel_s, model.speed_up(2.0)), (2.0, 8.0, 10.0 / 6.0));
        assert_eq!(Model::through(10.0, 2, 12.0).unwrap().speed_up(64.0), 1.0);
        assert!(Model::through(10.0, 1, 10.0).is_none());
    }
}
