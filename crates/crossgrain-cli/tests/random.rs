//! `crossgrain random`: the published bytes, any part of them, and an end when the reader closes the pipe.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::io::Read as _;
use std::process::{Command, Stdio};

use common::{Done, MIB, Place, crossgrain, hex};

fn bytes(arguments: &[&str]) -> Vec<u8> {
    Done::from(crossgrain(&[&["random"], arguments].concat()).output().unwrap()).printed()
}

/// The rows of docs/streams.md.
#[test]
fn the_bytes_are_the_published_ones() {
    let text = include_str!("../../../docs/streams.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix("` |"));
    let mut count = 0;
    for row in rows {
        let [cipher, seed, stream, offset, want] = row.split(" | ").collect::<Vec<_>>()[..] else { continue };
        let arguments =
            ["--cipher", cipher, "--seed", seed, "--stream", stream, "--offset", offset, "--bytes", "32"];
        assert_eq!(hex(&bytes(&arguments)), want.trim_matches('`'), "{row}");
        count += 1;
    }
    assert!(count >= 30, "only {count} rows were found");
}

#[test]
fn any_piece_is_a_piece_of_the_whole() {
    let whole = bytes(&["--seed", "5", "--bytes", &(3 * MIB + 17).to_string()]);
    assert_eq!(whole.len(), 3 * MIB + 17);
    for (offset, len) in [(0, 0), (0, 1), (17, 100), (MIB - 3, 2 * MIB + 1), (3 * MIB, 17)] {
        for threads in ["1", "3"] {
            let (at, count) = (offset.to_string(), len.to_string());
            let piece = bytes(&["--seed", "5", "--offset", &at, "--bytes", &count, "--threads", threads]);
            assert!(piece == whole[offset..][..len], "{len} bytes at {offset}");
        }
    }
    assert_ne!(bytes(&["--seed", "5", "--stream", "1", "--bytes", "64"]), whole[..64]);
    assert_ne!(bytes(&["--seed", "6", "--bytes", "64"]), whole[..64]);
}

#[test]
fn a_file_appears_when_it_is_whole() {
    let place = Place::new();
    let arguments = ["random", "--seed", "7", "--bytes", "3000000", "-o", "out"];
    place.run(&arguments).printed();
    assert!(place.read("out") == bytes(&["--seed", "7", "--bytes", "3000000"]));
    assert!(place.refuses(5, &arguments).contains("--force"));
    place.run(&[&arguments[..], &["--force"]].concat()).printed();
}

#[test]
fn who_stops_reading_has_had_enough() {
    let mut child = crossgrain(&["random", "--seed", "1"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut head = vec![0; 5 * MIB];
    child.stdout.take().unwrap().read_exact(&mut head).unwrap();
    assert!(head == bytes(&["--seed", "1", "--bytes", &(5 * MIB).to_string()]));
    Done::from(child.wait_with_output().unwrap()).printed();
}

#[test]
fn nonsense_is_refused_in_one_line() {
    let place = Place::new();
    for (arguments, mends) in [
        (&["random"][..], "--seed"),
        (&["random", "--seed", "x"], "--seed"),
        (&["random", "--seed", "-1"], ""),
        (&["random", "--seed", "1", "-o", "out"], "--bytes"),
        (&["random", "--seed", "1", "--bytes", "1", "--stream", "18446744073709551616"], "--stream"),
        (&["random", "--seed", "1", "--bytes", "1", "--cipher", "des"], "aes-128"),
    ] {
        assert!(place.refuses(2, arguments).contains(mends), "{arguments:?}");
    }
    place.refuses(1, &["random", "--seed", "1", "--bytes", "9", "-o", "nowhere/out"]);
}

/// A quick run of dieharder's randomness tests, if it is installed.
#[test]
fn dieharder_finds_nothing() {
    // The birthdays test, and the two tests of the sts battery that need the fewest numbers.
    for test in ["0", "100", "101"] {
        let random = crossgrain(&["random", "--seed", "20261121"]).stdout(Stdio::piped()).spawn();
        let mut random = random.unwrap();
        let dieharder = Command::new("dieharder")
            .args(["-g", "200", "-d", test])
            .stdin(random.stdout.take().unwrap())
            .output();
        let Ok(done) = dieharder else {
            println!("skipped: dieharder (not installed)");
            random.kill().unwrap();
            random.wait().unwrap();
            return;
        };
        let told = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && told.contains("PASSED") || told.contains("WEAK"), "{told}");
        assert!(!told.contains("FAILED"), "{told}");
        assert!(random.wait().unwrap().success());
    }
}
