//! `--profile`: the time of a run in parts that add up.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Place, painted};

/// Printed times are rounded to this, in seconds.
const ROUNDED_S: f64 = 1e-6;

/// A printed profile: the total, the time outside the threads, and the parts of each thread.
struct Profile {
    total_s: f64,
    outside_s: f64,
    threads: Vec<Vec<f64>>,
}

/// The numbers with a decimal point in a line.
fn numbers(line: &str) -> Vec<f64> {
    line.split([' ', ',']).filter(|word| word.contains('.')).map(|word| word.parse().unwrap()).collect()
}

fn profile(err: &str) -> Profile {
    let lines: Vec<_> = err.lines().filter_map(|line| line.strip_prefix("crossgrain: profile: ")).collect();
    let [total_s, before_s, after_s] = numbers(lines[0])[..] else { panic!("{err}") };
    for line in &lines[1..] {
        for name in ["thread ", "reading ", "computing ", "writing ", "waiting "] {
            assert!(line.contains(name), "{line}");
        }
    }
    Profile {
        total_s,
        outside_s: before_s + after_s,
        threads: lines[1..].iter().map(|line| numbers(line)).collect(),
    }
}

/// Runs the program and gives its profile.
fn profiled(place: &Place, args: &[&str]) -> Profile {
    let done = place.run(&[args, &["--profile"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    profile(&done.err)
}

const RAW: [&str; 7] = ["raw", "--cipher", "aes-128", "--key-file", "key", "in", "--force"];

fn place() -> Place {
    let place = Place::with(&painted(5_000_000, 1));
    place.write("key", b"000102030405060708090a0b0c0d0e0f");
    place.run(&["keygen", "-o", "own.key"]).printed();
    place
}

#[test]
fn the_parts_of_one_thread_add_up() {
    let place = place();
    let iv = ["--iv", "000102030405060708090a0b0c0d0e0f", "-o", "out", "--threads", "1"];
    let encrypt = ["encrypt", "--key-file", "own.key", "in", "-o", "sealed", "--threads", "1"];
    for args in [
        [&RAW[..], &["--mode", "ctr"], &iv].concat(),
        [&RAW[..], &["--mode", "gcm"], &iv].concat(),
        encrypt.to_vec(),
        ["decrypt", "--key-file", "own.key", "sealed", "-o", "back", "--threads", "1"].to_vec(),
        ["verify", "--key-file", "own.key", "sealed", "--threads", "1"].to_vec(),
    ] {
        let Profile { total_s, outside_s, threads } = profiled(&place, &args);
        let [parts] = &threads[..] else { panic!("{} threads: {args:?}", threads.len()) };
        let sum_s = outside_s + parts.iter().sum::<f64>();
        assert!((sum_s - total_s).abs() <= 8.0 * ROUNDED_S, "{sum_s} of {total_s}: {args:?}");
        assert!(parts[0] > 0.0 && parts[1] > 0.0, "{parts:?}: {args:?}");
    }
}

#[test]
fn every_thread_has_a_line_and_none_is_printed_unasked() {
    let place = place();
    let ecb = [&RAW[..], &["--mode", "ecb", "--padding", "pkcs7", "-o", "out", "--threads", "3"]].concat();
    let Profile { total_s, threads, .. } = profiled(&place, &ecb);
    assert_eq!(threads.len(), 3);
    for parts in threads {
        assert!(parts.iter().sum::<f64>() <= total_s + 8.0 * ROUNDED_S);
    }
    assert!(!place.run(&ecb).err.contains("profile"));
}
