//! `cargo xtask files`: compares file encryption with `cp`, `age`, `gpg` and `openssl enc`, in turns, on a
//! memory file system.
//!
//! First, the decrypted files are compared with the originals. The fastest turn of each program counts,
//! because a disturbance can only slow a program down.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Result, cargo, succeed, target};

/// A memory file system that every Linux has.
const MEMORY: &str = "/dev/shm";

/// A program under test: its name, and the shell line that turns `in` into `out`.
struct Subject {
    name: &'static str,
    line: String,
    /// Another program that must be installed.
    needs: &'static str,
    best_s: f64,
}

/// Times all programs with a file of this many MiB.
///
/// # Errors
/// If a program cannot be run, or does not give back its input.
pub(crate) fn run(mebibytes: u64, turns: usize) -> Result<()> {
    succeed(cargo().args(["build", "--release", "--quiet", "--package", "crossgrain-cli"]))?;
    let program = crate::root().join(target()).join("release/crossgrain");
    let place = Path::new(MEMORY).join(format!("crossgrain-files-{}", std::process::id()));
    fs::create_dir(&place).map_err(|error| format!("cannot make {}: {error}", place.display()))?;
    let done = time(&place, &program, mebibytes, turns);
    fs::remove_dir_all(&place).map_err(|error| format!("cannot remove {}: {error}", place.display()))?;
    done
}

fn time(place: &Path, program: &Path, mebibytes: u64, turns: usize) -> Result<()> {
    write_input(&place.join("in"), mebibytes).map_err(|error| format!("cannot write the input: {error}"))?;
    let mut subjects = subjects(program);
    let set_up = format!("{0} keygen -o k; age-keygen -o agekey 2>agelog; echo pw >pw", program.display());
    Command::new("sh")
        .args(["-c", &set_up])
        .current_dir(place)
        .status()
        .map_err(|error| error.to_string())?;
    subjects.retain(|subject| {
        let is_there = shell(place, &format!("command -v {}", subject.needs)).is_ok();
        if !is_there {
            println!("skipped: {} (not installed)", subject.needs);
        }
        is_there
    });
    for turn in 0..=turns {
        for subject in &mut subjects {
            clear(place, subject.name)?;
            warm(place, mebibytes)?;
            let seconds = shell(place, &subject.line)?;
            if turn == 0 {
                check(place, subject.name)?;
            } else {
                subject.best_s = subject.best_s.min(seconds);
            }
        }
    }
    let copy_s = subjects.first().map_or(f64::NAN, |subject| subject.best_s);
    for Subject { name, best_s, .. } in &subjects {
        let gb_per_s = mebibytes as f64 * 1.048_576e-3 / best_s;
        println!("{name:<24} {best_s:>8.3} s {gb_per_s:>8.2} GB/s {:>6.2} x cp", best_s / copy_s);
    }
    Ok(())
}

/// `cp`, then each program in both directions. A decryption follows the encryption whose output it reads.
fn subjects(program: &Path) -> Vec<Subject> {
    let ours = program.display();
    let subject = |name, needs, line| Subject { name, needs, line, best_s: f64::INFINITY };
    let mut subjects = vec![subject("cp", "cp", "cp in out".to_owned())];
    for (name, back, suite) in [
        ("aes-256-gcm encrypt", "aes-256-gcm decrypt", "aes-256-gcm"),
        ("serpent-256-eax encrypt", "serpent-256-eax decrypt", "serpent-256-eax"),
    ] {
        let encrypt = format!("{ours} encrypt --suite {suite} --key-file k in -o sealed");
        subjects.push(subject(name, "cp", encrypt));
        subjects.push(subject(back, "cp", format!("{ours} decrypt --key-file k sealed -o out")));
    }
    // crossgrain and OpenSSL each decrypt the output of the other.
    let (key, iv) = ("5a".repeat(32), "01".repeat(16));
    let raw = format!("{ours} raw --cipher aes-256 --mode ctr --key {key} --iv {iv}");
    let openssl = format!("openssl enc -aes-256-ctr -K {key} -iv {iv}");
    subjects.push(subject("raw aes-256-ctr encrypt", "cp", format!("{raw} in -o sealed")));
    subjects.push(subject("openssl enc decrypt", "openssl", format!("{openssl} -d -in sealed -out out")));
    subjects.push(subject("openssl enc encrypt", "openssl", format!("{openssl} -in in -out sealed")));
    subjects.push(subject("raw aes-256-ctr decrypt", "cp", format!("{raw} --decrypt sealed -o out")));
    let recipient = "$(sed -n 's/.*public key: //p' agekey)";
    subjects.push(subject("age encrypt", "age", format!("age -r {recipient} -o sealed in")));
    subjects.push(subject("age decrypt", "age", "age -d -i agekey -o out sealed".to_owned()));
    let gpg = "gpg --batch --quiet --homedir . --pinentry-mode loopback --passphrase-file pw -o";
    let encrypt = format!("{gpg} sealed --symmetric --compress-algo none in 2>gpglog");
    subjects.push(subject("gpg encrypt", "gpg", encrypt));
    subjects
}

/// Removes the files of the turn before, except the input of a decryption. Freeing memory takes time and must
/// not be measured.
fn clear(place: &Path, name: &str) -> Result<()> {
    let left: &[&str] = if name.ends_with("decrypt") { &["out"] } else { &["out", "sealed"] };
    for file in left.iter().map(|name| place.join(name)).filter(|file| file.exists()) {
        fs::remove_file(&file).map_err(|error| format!("cannot remove {}: {error}", file.display()))?;
    }
    Ok(())
}

/// Writes and removes a file of the size of a program's output. A virtual machine returns idle memory to its
/// host. The first program to need it again would lose time.
fn warm(place: &Path, mebibytes: u64) -> Result<()> {
    let warm = place.join("warm");
    write_input(&warm, mebibytes)
        .and_then(|()| fs::remove_file(&warm))
        .map_err(|error| format!("cannot write {}: {error}", warm.display()))
}

/// Checks that the output of a decryption or of `cp` equals the input.
fn check(place: &Path, name: &str) -> Result<()> {
    if name.ends_with("encrypt") {
        return Ok(());
    }
    shell(place, "cmp in out").map(drop).map_err(|_| format!("{name} gives back something else"))
}

/// Runs a shell line and returns its seconds.
fn shell(place: &Path, line: &str) -> Result<f64> {
    let mut command = Command::new("sh");
    command.args(["-e", "-c", line]).current_dir(place).stdout(Stdio::null());
    let start = Instant::now();
    succeed(&mut command).map_err(|error| format!("{line}: {error}"))?;
    Ok(start.elapsed().as_secs_f64())
}

/// Writes incompressible bytes: a mebibyte of random data, repeated with a number at its front.
pub(crate) fn write_input(path: &Path, mebibytes: u64) -> io::Result<()> {
    let mut block = vec![0; 1 << 20];
    File::open("/dev/urandom")?.read_exact(&mut block)?;
    let mut file = File::create(path)?;
    for number in 0..mebibytes {
        block[..8].copy_from_slice(&number.to_le_bytes());
        file.write_all(&block)?;
    }
    Ok(())
}
