//! The speed-up by threads, including reading and writing of files, and an extrapolation to many threads.
//!
//! The model is Amdahl's: a run takes `serial + parallel / threads` seconds. Its two parameters are fitted to
//! the times of one thread and of all threads of this machine. It does not include the memory bandwidth of
//! larger machines.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::{Record, composition};
use crate::{Result, cargo, files, root, succeed, target};

/// A memory file system that every Linux has.
const MEMORY: &str = "/dev/shm";
const MEBIBYTES: u64 = 512;
const TURNS: usize = 5;

/// The numbers of threads for which the model is evaluated.
const ASKED: [f64; 2] = [16.0, 64.0];

/// Seconds by the number of threads.
struct Model {
    serial_s: f64,
    parallel_s: f64,
}

impl Model {
    /// Fits the model to the times of one thread and of several.
    fn through(one_s: f64, threads: f64, many_s: f64) -> Self {
        let parallel_s = ((one_s - many_s) / (1.0 - 1.0 / threads)).clamp(0.0, one_s);
        Self { serial_s: one_s - parallel_s, parallel_s }
    }

    fn speed_up(&self, threads: f64) -> f64 {
        (self.serial_s + self.parallel_s) / (self.serial_s + self.parallel_s / threads)
    }
}

pub(super) fn table(record: &Record) -> Result<String> {
    succeed(cargo().args(["build", "--release", "--quiet", "-p", "crossgrain-cli"]))?;
    let program = root().join(target()).join("release/crossgrain");
    let place = Path::new(MEMORY).join(format!("crossgrain-threads-{}", std::process::id()));
    fs::create_dir(&place).map_err(|error| format!("cannot make {}: {error}", place.display()))?;
    let text = timed(&place, &program, record);
    fs::remove_dir_all(&place).map_err(|error| format!("cannot remove {}: {error}", place.display()))?;
    text
}

fn timed(place: &Path, program: &Path, record: &Record) -> Result<String> {
    files::write_input(&place.join("in"), MEBIBYTES).map_err(unwritten)?;
    let threads = all_threads();
    let mut text = format!(
        "| speed-up over one thread | {threads} threads | 16, by the model | 64, by the model |\n|---|---|---|---|\n\
         | theirs, 16 processors: decryption, encryption, in total | | 12.4, 5.6, 2.3 | |\n"
    );
    for (name, id) in [("by the fastest instructions", "best"), ("without AES instructions", "without-aes")] {
        let speed = |threads: usize| record.gb_per_s(&format!("threads/aes-128-ctr/{id}/{threads}"));
        let model = Model::through(1.0 / speed(1)?, threads as f64, 1.0 / speed(threads)?);
        line(&mut text, &format!("in memory, {name}"), &model, threads);
    }
    // Whole runs, including reading and writing. Decryption in counter mode is encryption, so a block mode is
    // used.
    for (cap, name) in [("", "by the fastest instructions"), ("portable", "on u64")] {
        for (what, direction) in [("encryption", ""), ("decryption", "-d")] {
            let mut fastest_s = [f64::INFINITY; 2];
            for _ in 0..TURNS {
                for (fastest_s, threads) in fastest_s.iter_mut().zip([1, threads]) {
                    *fastest_s = fastest_s.min(seconds(place, program, cap, direction, threads)?);
                }
            }
            let model = Model::through(fastest_s[0], threads as f64, fastest_s[1]);
            line(&mut text, &format!("in total, from file to file, {name}: {what}"), &model, threads);
        }
    }
    Ok(text + &composition::tables(place, program)?)
}

/// The threads of this machine.
pub(super) fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The error message if the input of a run cannot be written.
pub(super) fn unwritten(error: std::io::Error) -> String {
    format!("cannot write the input: {error}")
}

fn line(text: &mut String, name: &str, model: &Model, threads: usize) {
    let [few, many] = ASKED.map(|threads| model.speed_up(threads));
    let _ = writeln!(text, "| {name} | {:.2} | {few:.1} | {many:.1} |", model.speed_up(threads as f64));
}

/// One run of ECB, from a file to a file.
fn seconds(place: &Path, program: &Path, cap: &str, direction: &str, threads: usize) -> Result<f64> {
    let mut run = Command::new(program);
    run.current_dir(place).args([
        "raw",
        "--cipher",
        "aes-128",
        "--mode",
        "ecb",
        "--padding",
        "none",
        "--force",
    ]);
    run.args([
        "--key",
        "000102030405060708090a0b0c0d0e0f",
        "--threads",
        &threads.to_string(),
        "in",
        "-o",
        "out",
    ]);
    if !direction.is_empty() {
        run.arg(direction);
    }
    if !cap.is_empty() {
        run.env("CROSSGRAIN_ISA", cap);
    }
    let start = Instant::now();
    succeed(&mut run)?;
    Ok(start.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::Model;

    #[test]
    fn the_model_goes_through_both_times() {
        let model = Model::through(10.0, 2.0, 6.0);
        assert_eq!((model.serial_s, model.parallel_s, model.speed_up(2.0)), (2.0, 8.0, 10.0 / 6.0));
        assert_eq!(Model::through(10.0, 2.0, 12.0).speed_up(64.0), 1.0);
    }
}
