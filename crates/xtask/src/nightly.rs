//! `cargo xtask statistics`: runs all of dieharder's tests on random streams. `cargo xtask nightly`: runs
//! these and all other checks that take too long for every change.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Value, json};

use crate::emulated::Suite;
use crate::{
    Result, asm, cargo, evidence, fuzz, mutants, page, platforms, python, qemu, root, sanitize, succeed,
    target, wasm,
};

/// The streams that are tested every night.
const CIPHERS: [&str; 2] = ["aes-128", "serpent-128"];
/// Random cases of every property of the library.
const CASES: &str = "20000";
/// The run time of each fuzz target.
const FUZZ_SECONDS: u64 = 600;

/// Runs everything.
///
/// # Errors
/// As each of the checks. The first failure ends the task.
pub(crate) fn run() -> Result<()> {
    succeed(cargo().args(["test", "--workspace", "--release", "--", "--ignored", "--show-output"]))?;
    succeed(cargo().env("PROPTEST_CASES", CASES).args(["test", "--package", "crossgrain", "--release"]))?;
    // Optimised functions have other frames, which hold other secrets.
    succeed(cargo().args(["test", "--package", "crossgrain-cli", "--release", "--test", "memory_at_exit"]))?;
    // The tests build the command line with GPU support, and copy the Python package.
    succeed(cargo().args([
        "test",
        "--package",
        "crossgrain-cli",
        "--test",
        "devices",
        "--",
        "--show-output",
    ]))?;
    if python::run_with_wheel()? != ExitCode::SUCCESS {
        return Err("the Python tests failed with the wheel".to_owned());
    }
    for cipher in CIPHERS {
        statistics(cipher, 0, None)?;
    }
    if qemu::run(&qemu::ARM, Suite::Complete)? != ExitCode::SUCCESS {
        return Err("tests failed on emulated 64-bit ARM".to_owned());
    }
    if qemu::run(&qemu::FOREIGN, Suite::Complete)? != ExitCode::SUCCESS {
        return Err("tests failed on an emulated 32-bit or big-endian CPU".to_owned());
    }
    platforms::run()?;
    asm::run_for_arm(false, None)?;
    if wasm::run(Suite::Complete)? != ExitCode::SUCCESS {
        return Err("tests failed on WebAssembly".to_owned());
    }
    page::run(false)?;
    sanitize::run()?;
    fuzz::run(&[], FUZZ_SECONDS)?;
    if mutants::is_there() {
        return mutants::run();
    }
    println!("skipped: mutants (cargo-mutants is not installed)");
    Ok(())
}

/// Runs dieharder's tests on the stream of a seed. Each test takes `samples` samples, or its default number.
///
/// # Errors
/// If a program cannot be run, or a test fails.
pub(crate) fn statistics(cipher: &str, seed: u128, samples: Option<u32>) -> Result<()> {
    succeed(cargo().args(["build", "--release", "--quiet", "--package", "crossgrain-cli"]))?;
    let program = root().join(target()).join("release/crossgrain");
    let mut random = Command::new(program);
    random.args(["random", "--cipher", cipher, "--seed", &seed.to_string()]).stdout(Stdio::piped());
    let mut random = random.spawn().map_err(|error| format!("cannot run crossgrain: {error}"))?;
    let stream = random.stdout.take().ok_or("crossgrain has no output")?;
    let mut tests = Command::new("dieharder");
    // Generator 200 is standard input. `-k 2` selects the exact test for the distribution of p-values.
    tests.args(["-a", "-g", "200", "-k", "2"]).stdin(stream).stdout(Stdio::piped());
    if let Some(samples) = samples {
        tests.args(["-p", &samples.to_string()]);
    }
    let mut dieharder = tests.spawn().map_err(|error| format!("cannot run dieharder: {error}"))?;
    // Drops the copy of the pipe's reading end. Otherwise the generator would not notice when dieharder ends.
    drop(tests);
    let lines = BufReader::new(dieharder.stdout.take().ok_or("dieharder has no output")?).lines();
    let mut verdicts = Verdicts::default();
    for line in lines {
        let line = line.map_err(|error| format!("dieharder: {error}"))?;
        println!("{line}");
        verdicts.add(&line);
    }
    let done = dieharder.wait().map_err(|error| format!("dieharder: {error}"))?;
    let _ = random.wait();
    if !done.success() {
        return Err(format!("dieharder failed ({done})"));
    }
    verdicts.told(cipher, seed)?;
    // Runs with fewer samples than the tests want are not recorded.
    if samples.is_none() { evidence::keep("statistics", &verdicts.figures(cipher, seed)) } else { Ok(()) }
}

/// The number of each verdict.
#[derive(Debug, Default, PartialEq)]
struct Verdicts {
    passed: usize,
    weak: usize,
    failed: usize,
}

impl Verdicts {
    /// Counts the verdict at the end of a line of dieharder's table. Other lines have none.
    fn add(&mut self, line: &str) {
        match line.rsplit('|').next().map(str::trim) {
            Some("PASSED") => self.passed += 1,
            Some("WEAK") => self.weak += 1,
            Some("FAILED") => self.failed += 1,
            _ => {}
        }
    }

    fn figures(&self, cipher: &str, seed: u128) -> Value {
        let Self { passed, weak, failed } = self;
        json!({ "cipher": cipher, "seed": seed.to_string(), "passed": passed, "weak": weak, "failed": failed })
    }

    /// One p-value in two hundred is weak by chance, and one in a million fails.
    fn told(&self, cipher: &str, seed: u128) -> Result<()> {
        let Self { passed, weak, failed } = self;
        let told = format!("{cipher}, seed {seed}: {passed} passed, {weak} weak, {failed} failed");
        if *failed > 0 || passed + weak == 0 {
            return Err(told);
        }
        println!("{told}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Verdicts;

    #[test]
    fn verdicts_are_counted() {
        let mut verdicts = Verdicts::default();
        for line in [
            "#        test_name   |ntup| tsamples |psamples|  p-value |Assessment",
            "   diehard_birthdays|   0|       100|     100|0.53290842|  PASSED  ",
            "          sts_serial|   3|    100000|     100|0.99900000|   WEAK   ",
            "   diehard_birthdays|   0|       100|     100|0.00000000|  FAILED  ",
        ] {
            verdicts.add(line);
        }
        assert_eq!(verdicts, Verdicts { passed: 1, weak: 1, failed: 1 });
        assert_eq!(verdicts.told("aes-128", 5).unwrap_err(), "aes-128, seed 5: 1 passed, 1 weak, 1 failed");
        assert!(Verdicts::default().told("aes-128", 5).is_err());
    }
}
