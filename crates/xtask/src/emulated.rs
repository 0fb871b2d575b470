//! `cargo xtask emulated`: runs the quick tests of `arm` and `wasm`. The complete suites run
//! every night.
//!
//! Both tasks share the code below: test programs on other machines, the counts of passed cases, and files that
//! are exchanged with this machine.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::steps::{self, Job, Program, Step};
use crate::workspace::FEATURES;
use crate::{Result, cargo, root, succeed, target};

/// The tests of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    /// The quick ones.
    Short,
    /// All of them.
    Complete,
}

impl Suite {
    pub(crate) const fn of(is_short: bool) -> Self {
        if is_short { Self::Short } else { Self::Complete }
    }

    /// The names of the tests, from the quick ones and those of every night.
    pub(crate) fn tests(self, short: Tests, nightly: Tests) -> Vec<&'static str> {
        let more = if self == Self::Complete { nightly } else { &[] };
        short.iter().chain(more).copied().flatten().copied().collect()
    }
}

/// Groups of test programs.
pub(crate) type Tests = &'static [&'static [&'static str]];

/// Each builds and runs on all cores, so they run in sequence.
#[rustfmt::skip] // a table: one line a step
const STEPS: &[Step] = &[
    Step { name: "arm",  program: Program::Xtask, arguments: &["arm", "--short"], with: &[] },
    Step { name: "wasm", program: Program::Xtask, arguments: &["wasm", "--short"], with: &[] },
];

/// Runs all steps, even if some fail. Succeeds if all do.
pub(crate) fn run() -> ExitCode {
    steps::summary(&steps::run([Job::Steps(STEPS)].into_iter()))
}

/// Suites whose files are exchanged: an instruction for GCM, and Serpent by registers.
const FILE_SUITES: [&str; 3] = ["aes-256-gcm", "aes-256-gcm-siv", "serpent-256-eax"];

/// Lengths of the files: none, less than a chunk, and several chunks with a rest.
const FILE_BYTES: [usize; 3] = [0, 1000, 200_003];

/// The counts in the output of a machine's tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Numbers of cases, by their names.
    cases: BTreeMap<String, u64>,
}

/// Whether a program is installed: it can print its version.
pub(crate) fn runs(program: &str) -> bool {
    let mut version = Command::new(program);
    version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Runs `work` on each job, one per core of this machine. Returns the results in any order.
pub(crate) fn on_all_cores<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let (next, done) = (Mutex::new(jobs.iter()), Mutex::new(Vec::new()));
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let job = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(job) = job else { break };
                    let result = work(job);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test program. Prints the output of failing tests, and one line with its name.
pub(crate) fn shown(name: &str, mut command: Command) -> Counts {
    let start = Instant::now();
    let program = command.get_program().display().to_string();
    let told = command.output();
    let (text, succeeded) = match &told {
        Ok(told) => (String::from_utf8_lossy(&told.stdout).into_owned(), told.status.success()),
        Err(error) => (format!("cannot run {program}: {error}\n"), false),
    };
    let mut counts = Counts::of(&text);
    if !succeeded {
        counts.failed = counts.failed.max(1);
        let errors = told.map(|told| String::from_utf8_lossy(&told.stderr).into_owned()).unwrap_or_default();
        println!("{text}{errors}");
    }
    let seconds = start.elapsed().as_secs_f64();
    let Counts { passed, failed, .. } = counts;
    println!("{name}: {passed} passed, {failed} failed, {seconds:.0} s");
    counts
}

/// The command line for this machine, with the features of `cargo xtask test`, which then need not build the library
/// again.
///
/// # Errors
/// If the build fails.
pub(crate) fn native_program() -> Result<PathBuf> {
    succeed(cargo().args(["build", "--workspace", "--features", FEATURES, "--bin", "crossgrain"]))?;
    Ok(root().join(target()).join("debug/crossgrain"))
}

/// Encrypts files on each side and decrypts them on the other, in a folder. `emulated` makes a command of the
/// emulated program. Returns the number of files.
///
/// # Errors
/// If a program fails, or a file decrypts to other bytes.
pub(crate) fn exchange(
    machine: &str,
    folder: &Path,
    native: &Path,
    emulated: &dyn Fn() -> Command,
) -> Result<usize> {
    let mut count = 0;
    for suite in FILE_SUITES {
        let keygen = ["keygen", "--suite", suite, "--force", "-o", suite];
        succeed(Command::new(native).args(keygen).current_dir(folder))?;
        for len_bytes in FILE_BYTES {
            let plain = write_plain(folder, len_bytes)?;
            for from_here in [true, false] {
                let mut sides = [Command::new(native), emulated()];
                if !from_here {
                    sides.reverse();
                }
                let [mut encrypt, mut decrypt] = sides;
                encrypt.args(["encrypt", "--key-file", suite, "--force", "--suite", suite]);
                encrypt.args(["plain", "-o", "sealed"]);
                decrypt.args(["decrypt", "--key-file", suite, "--force", "sealed", "-o", "opened"]);
                for side in [&mut encrypt, &mut decrypt] {
                    succeed(side.current_dir(folder))?;
                }
                if read(&folder.join("opened"))? != plain {
                    return Err(format!("{machine}: {len_bytes} bytes under {suite} have changed"));
                }
                count += 1;
            }
        }
    }
    Ok(count)
}

/// An empty folder of this name for files.
///
/// # Errors
/// If it cannot be created.
pub(crate) fn fresh_folder(name: &str) -> Result<PathBuf> {
    let folder = root().join(target()).join(name);
    let _ = fs::remove_dir_all(&folder); // it may not be there
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// Writes the file `plain`, and returns its bytes.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write_plain(folder: &Path, len_bytes: usize) -> Result<Vec<u8>> {
    let plain: Vec<u8> = (0..len_bytes).map(|at| (at * at / 7) as u8).collect();
    let path = folder.join("plain");
    fs::write(&path, &plain).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(plain)
}

/// Reads a file.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

impl Counts {
    /// The counts of a test program's output.
    fn of(text: &str) -> Self {
        let mut counts = Self::default();
        for line in text.lines() {
            if let Some(numbers) = line.strip_prefix("test result: ") {
                let number = |what: &str| {
                    let mut words = numbers.split([' ', ';']).filter(|word| !word.is_empty());
                    let mut before = 0;
                    words.find_map(|word| {
                        let found = (word == what).then_some(before);
                        before = word.parse().unwrap_or(0);
                        found
                    })
                };
                counts.passed += number("passed").unwrap_or(0);
                counts.failed += number("failed").unwrap_or(0);
            } else if let Some((count, what)) =
                line.strip_prefix("counted: ").and_then(|rest| rest.split_once(' '))
            {
                *counts.cases.entry(what.to_owned()).or_default() += count.parse().unwrap_or(0);
            }
        }
        counts
    }

    /// The sum of two counts.
    pub(crate) fn with(mut self, other: &Self) -> Self {
        self.passed += other.passed;
        self.failed += other.failed;
        for (what, count) in &other.cases {
            *self.cases.entry(what.clone()).or_default() += count;
        }
        self
    }

    /// One line for a machine of a task.
    pub(crate) fn line(&self, task: &str, machine: &str, files: usize) -> String {
        let cases: String = self.cases.iter().map(|(what, count)| format!("; {count} {what}")).collect();
        let Self { passed, failed, .. } = self;
        format!("{task}: {machine}: {passed} tests passed, {failed} failed; {files} files exchanged{cases}")
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn counts_are_read_from_the_output_of_tests() {
        let text = "counted: 3 known answers\ntest a ... ok\ncounted: 4 known answers\n\
                    test result: FAILED. 5 passed; 1 failed; 0 ignored; 0 measured\n";
        let counts = Counts::of(text);
        assert_eq!((counts.passed, counts.failed), (5, 1));
        assert_eq!(counts.cases.into_iter().collect::<Vec<_>>(), [("known answers".to_owned(), 7)]);
    }
}
