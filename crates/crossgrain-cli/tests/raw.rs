//! `crossgrain raw` gives the bytes of `openssl enc`, for files and for pipes.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Done, IV, KEY_BITS, MIB, Place, crossgrain, fed, hex, key, openssl, painted};
use crossgrain::engine::arch::CAPS;
use serde_json::Value;

/// Lengths around a block, a page and the program's chunk size.
const LENGTHS: [usize; 8] = [0, 1, 15, 16, 17, 4095, MIB + 7, 5 * MIB + 4097];

/// Counter blocks that carry out of 32, 64 and all 128 bits within a few blocks.
const WRAPPING: [&str; 4] = [
    "ffffffffffffffffffffffffffffffff",
    "fffffffffffffffffffffffffffffff0",
    "0123456789abcdef01234567fffffffe",
    "0123456789abcdeffffffffffffffffd",
];

/// The arguments of `raw`, with further ones.
fn raw<'a>(bits: usize, mode: &[&'a str], rest: &[&'a str]) -> Vec<String> {
    let cipher = format!("aes-{bits}");
    let key = key(bits);
    let start = ["raw", "--cipher", &cipher, "--key", &key, "--mode"];
    [&start, mode, rest].concat().into_iter().map(str::to_owned).collect()
}

fn borrowed(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// Runs `raw` on the file `in` of a place and gives the file that it writes.
#[track_caller]
fn by_file(place: &Place, bits: usize, mode: &[&str], rest: &[&str]) -> Vec<u8> {
    let rest = [rest, &["in", "-o", "out", "--force"]].concat();
    let printed = place.run(&borrowed(&raw(bits, mode, &rest))).printed();
    assert!(printed.is_empty(), "something besides the file");
    let out = place.read("out");
    let names: Vec<_> = place.look().into_keys().collect();
    assert_eq!(names, ["in", "out"], "it left something behind");
    out
}

/// Pipes `data` through `raw`.
#[track_caller]
fn by_pipe(data: &[u8], bits: usize, mode: &[&str], rest: &[&str]) -> Vec<u8> {
    fed(crossgrain(&borrowed(&raw(bits, mode, rest))), data).printed()
}

/// Compares without printing megabytes.
#[track_caller]
fn assert_same(got: &[u8], want: &[u8], what: &str) {
    assert_eq!(got.len(), want.len(), "length: {what}");
    let first = got.iter().zip(want).position(|(got, want)| got != want);
    assert_eq!(first, None, "first byte that differs: {what}");
}

/// Compares `raw` with openssl by file and by pipe, in both directions.
fn agrees(bits: usize, mode: &str, iv: Option<&str>, len_bytes: usize) {
    let what = format!("aes-{bits}-{mode}, iv {iv:?}, {len_bytes} bytes");
    let data = painted(len_bytes, len_bytes as u64);
    let place = Place::with(&data);
    let Some(want) = openssl(&place, &format!("aes-{bits}-{mode}"), &key(bits), iv) else { return };
    let words: Vec<_> = [mode].into_iter().chain(iv.map(|iv| ["--iv", iv]).into_iter().flatten()).collect();
    assert_same(&by_file(&place, bits, &words, &[]), &want, &what);
    assert_same(&by_pipe(&data, bits, &words, &[]), &want, &what);
    assert_same(&by_pipe(&want, bits, &words, &["-d", "-", "-o", "-"]), &data, &what);
}

#[test]
fn ctr_agrees_with_openssl_at_every_length() {
    for bits in KEY_BITS {
        for len_bytes in LENGTHS {
            agrees(bits, "ctr", Some(IV), len_bytes);
        }
    }
}

#[test]
fn ecb_agrees_with_openssl_at_every_length() {
    for bits in KEY_BITS {
        for len_bytes in LENGTHS {
            agrees(bits, "ecb", None, len_bytes.next_multiple_of(16));
        }
    }
}

#[test]
fn the_counter_carries_as_openssl_does() {
    for bits in KEY_BITS {
        for iv in WRAPPING {
            agrees(bits, "ctr", Some(iv), 70_001);
        }
    }
}

#[test]
fn the_counter_carries_between_steps_too() {
    // A mebibyte is 0x10000 blocks. The carry falls right after the first chunk, or one block earlier.
    for iv in ["0000000000000000ffffffffffff0000", "00000000000000000000000fffff0001"] {
        agrees(256, "ctr", Some(iv), 2 * MIB + 33);
    }
}

#[test]
fn every_number_of_threads_gives_the_same() {
    let data = painted(7 * MIB + 16 * 5, 3);
    let place = Place::with(&data);
    let modes = [("ctr", Some(IV)), ("ecb", None)];
    for (mode, iv) in modes {
        let words: Vec<_> =
            [mode].into_iter().chain(iv.map(|iv| ["--iv", iv]).into_iter().flatten()).collect();
        let one = by_file(&place, 192, &words, &["--threads", "1"]);
        if let Some(want) = openssl(&place, &format!("aes-192-{mode}"), &key(192), iv) {
            assert_same(&one, &want, mode);
        }
        for threads in ["2", "3", "16"] {
            assert_same(&by_file(&place, 192, &words, &["--threads", threads]), &one, threads);
            assert_same(&by_pipe(&data, 192, &words, &["--threads", threads]), &one, threads);
            assert_same(&by_pipe(&one, 192, &words, &["-d", "--threads", threads]), &data, threads);
        }
    }
}

#[test]
fn upper_and_lower_case_digits_are_the_same() {
    let data = painted(1000, 4);
    let iv = "a0b1c2d3e4f5a6b7c8d9eafbacbdcedf";
    let args = raw(256, &["ctr", "--iv", iv], &[]);
    let upper: Vec<_> =
        args.iter().map(|arg| if arg.len() >= 32 { arg.to_uppercase() } else { arg.clone() }).collect();
    assert_ne!(args, upper);
    let lower = fed(crossgrain(&borrowed(&args)), &data).printed();
    assert_same(&fed(crossgrain(&borrowed(&upper)), &data).printed(), &lower, "upper case");
}

#[test]
fn a_key_file_holds_the_key_or_its_digits() {
    let data = painted(100, 5);
    for bits in KEY_BITS {
        let want = by_pipe(&data, bits, &["ctr", "--iv", IV], &[]);
        let plain = painted(bits / 8, bits as u64);
        let digits = hex(&plain);
        let contents = [
            ("as it is", plain),
            ("hex", digits.clone().into_bytes()),
            ("upper case", digits.to_uppercase().into_bytes()),
            ("a line", format!("{digits}\n").into_bytes()),
            ("a line of another system", format!("{digits}\r\n").into_bytes()),
        ];
        let cipher = format!("aes-{bits}");
        for (what, content) in contents {
            let place = Place::with(&data);
            place.write("key", &content);
            let args = ["raw", "--cipher", &cipher, "--mode", "ctr", "--iv", IV, "--key-file", "key", "in"];
            assert_same(&place.run(&args).printed(), &want, what);
        }
    }
}

/// The names of available variants that leak, or of those that do not, according to the JSON field `leaks`.
fn names(leaks: bool) -> Vec<String> {
    let done: Done = crossgrain(&["variants", "--json"]).output().unwrap().into();
    let objects: Vec<Value> = serde_json::from_slice(&done.printed()).unwrap();
    let found = objects.iter().filter(|object| object["available"] == true);
    let found = found.filter(|object| (object["leaks"] != "nothing") == leaks);
    found.map(|object| object["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_whole_cipher_and_counter_gives_the_same_when_forced() {
    let data = painted(16 * 4099, 6);
    let modes: [(&[&str], &[&str]); 3] = [
        (&["ctr", "--iv", WRAPPING[1]], &["aes-ctr/", "aes-ctr-cached/"]),
        (&["ecb"], &["aes-encrypt/"]),
        (&["ecb", "-d"], &["aes-decrypt/"]),
    ];
    for (mode, starts) in modes {
        let want = by_pipe(&data, 128, mode, &[]);
        let names = names(false);
        let meant: Vec<_> =
            names.iter().filter(|name| starts.iter().any(|start| name.starts_with(start))).collect();
        assert!(!meant.is_empty());
        for name in meant {
            assert_same(&by_pipe(&data, 128, mode, &["--variant", name]), &want, name);
        }
    }
}

#[test]
fn a_variant_of_one_step_gives_the_same_when_forced() {
    let data = painted(16 * 1025, 7);
    let want = by_pipe(&data, 256, &["ecb"], &[]);
    for name in names(false).iter().filter(|name| name.starts_with("sub-bytes/")) {
        assert_same(&by_pipe(&data, 256, &["ecb"], &["--variant", name]), &want, name);
    }
}

#[test]
fn a_leaking_variant_needs_leave() {
    let data = painted(16 * 1025, 8);
    let place = Place::with(&data);
    let want = by_pipe(&data, 128, &["ecb"], &[]);
    let leaking = names(true);
    assert!(!leaking.is_empty());
    for name in &leaking {
        let args = raw(128, &["ecb"], &["in", "-o", "out", "--variant", name]);
        let line = place.refuses(2, &borrowed(&args));
        assert!(line.contains(name.as_str()), "{line}");
    }
    for name in
        leaking.iter().filter(|name| name.starts_with("aes-encrypt/") || name.starts_with("sub-bytes/"))
    {
        let rest = ["--variant", name, "--policy", "any"];
        assert_same(&by_pipe(&data, 128, &["ecb"], &rest), &want, name);
    }
}

#[test]
fn a_cap_changes_no_byte() {
    let data = painted(3 * MIB + 11, 9);
    let args = raw(256, &["ctr", "--iv", WRAPPING[2]], &[]);
    let want = fed(crossgrain(&borrowed(&args)), &data).printed();
    for cap in CAPS.into_iter().chain([""]) {
        let mut command = crossgrain(&borrowed(&args));
        command.env("CROSSGRAIN_ISA", cap);
        assert_same(&fed(command, &data).printed(), &want, cap);
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let data = painted(100, 10);
    let place = Place::with(&data);
    place.write("old", b"old");
    std::os::unix::fs::symlink("old", place.path("link")).unwrap();
    let args = raw(128, &["ctr", "--iv", IV], &["in", "-o", "link"]);
    place.refuses(5, &borrowed(&args));
    let args = raw(128, &["ctr", "--iv", IV], &["in", "-o", "link", "--force"]);
    place.run(&borrowed(&args)).printed();
    assert!(place.path("link").is_symlink());
    assert_same(&place.read("old"), &by_pipe(&data, 128, &["ctr", "--iv", IV], &[]), "through the link");
}

#[test]
fn a_file_may_be_replaced_by_its_own_cipher_text() {
    let data = painted(2 * MIB + 1, 11);
    let place = Place::with(&data);
    let want = by_pipe(&data, 128, &["ctr", "--iv", IV], &[]);
    let args = raw(128, &["ctr", "--iv", IV], &["in", "-o", "in", "--force"]);
    place.run(&borrowed(&args)).printed();
    assert_same(&place.read("in"), &want, "onto itself");
}
