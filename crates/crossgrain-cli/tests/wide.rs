//! `crossgrain raw` with Rijndael's wide blocks. Files and pipes, with any number of threads, give the
//! library's result for one piece. Undefined combinations are refused in one line.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Done, MIB, Place, crossgrain, fed, hex, painted};
use crossgrain::Direction;
use crossgrain::mode::{Lengths, Mode};
use crossgrain::wide::{Key, Options, Rijndael, State, Stream};

/// The modes that are defined for these block sizes.
fn wide_modes() -> impl Iterator<Item = Mode> {
    Mode::ALL.into_iter().filter(|mode| mode.entry().any_block_size)
}

/// The arguments of `raw` for a cipher and mode, with the key and initial value that [`library`] takes.
fn raw(cipher: Rijndael, mode: &str, rest: &[&str]) -> Vec<String> {
    let (key, iv) = (hex(&painted(cipher.key_bytes(), 1)), hex(&painted(cipher.block_bytes(), 2)));
    let iv = if mode == "ecb" { vec![] } else { vec!["--iv", &iv] };
    let start = ["raw", "--cipher", cipher.name(), "--mode", mode, "--key", &key];
    [&start, &iv[..], rest].concat().into_iter().map(str::to_owned).collect()
}

/// Pipes `data` through `raw`.
#[track_caller]
fn piped(data: &[u8], cipher: Rijndael, mode: &str, rest: &[&str]) -> Vec<u8> {
    let args = raw(cipher, mode, rest);
    fed(crossgrain(&args.iter().map(String::as_str).collect::<Vec<_>>()), data).printed()
}

/// Runs `raw` from `in` to `out`, which must fail with this code and leave no trace.
#[track_caller]
fn refused(code: i32, data: &[u8], cipher: Rijndael, mode: &str, rest: &[&str]) -> String {
    let args = raw(cipher, mode, &[rest, &["in", "-o", "out"]].concat());
    Place::with(data).refuses(code, &args.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The library's result for the data in one piece.
fn library(cipher: Rijndael, mode: Mode, data: &[u8]) -> Vec<u8> {
    let key = Key::new(cipher, &painted(cipher.key_bytes(), 1)).unwrap();
    let mut state = State::new(cipher, &painted(cipher.block_bytes(), 2)).unwrap();
    let mut data = data.to_vec();
    let stream = Stream::with_options(&key, mode, Direction::Encrypt, &Options::default()).unwrap();
    stream.apply(&mut state, &mut data).unwrap();
    data
}

#[test]
fn every_mode_gives_what_the_library_gives() {
    for cipher in Rijndael::ALL {
        for mode in wide_modes() {
            let name = mode.name();
            for len in [0, 1, 23, 24, 31, 32, 33, 4800, MIB + 7, 2 * MIB + 4800] {
                let block_bytes = cipher.block_bytes();
                // A block for each byte or bit is slow. Short chunks make up for the length.
                let (len, chunk) =
                    if mode.segment_bits().is_some() { (len.min(40_007), "4K") } else { (len, "1M") };
                let len =
                    if mode.entry().lengths == Lengths::Any { len } else { len / block_bytes * block_bytes };
                let (data, what) = (painted(len, 3), format!("{cipher}-{name}, {len} bytes"));
                let want = library(cipher, mode, &data);
                for threads in ["1", "3"] {
                    let options = ["--threads", threads, "--chunk-size", chunk];
                    assert!(piped(&data, cipher, name, &options) == want, "{what}");
                    let back = piped(&want, cipher, name, &[&["-d"], &options[..]].concat());
                    assert!(back == data, "{what}, back");
                }
            }
        }
    }
}

/// Gladman's vector for blocks and keys of 256 bits.
#[test]
fn published_answer() {
    let place = Place::new();
    let unhex = |digits: &str| -> Vec<u8> {
        let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    };
    place.write("in", &unhex("3243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c8"));
    place.write("key", b"2b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfe\n");
    let args =
        ["raw", "--cipher", "rijndael-256-256", "--mode", "ecb", "--key-file", "key", "in", "-o", "out"];
    assert!(place.run(&args).printed().is_empty());
    assert_eq!(hex(&place.read("out")), "a49406115dfb30a40418aafa4869b7c6a886ff31602a7dd19c889dc64f7e4e7a");
}

#[test]
fn padding_is_up_to_a_wide_block() {
    for cipher in [Rijndael::Block192Key128, Rijndael::Block256Key192] {
        let block_bytes = cipher.block_bytes();
        for len in (0..66).chain([MIB - 5, MIB + 16]) {
            let (data, what) = (painted(len, 4), format!("{cipher}, {len} bytes"));
            let padding = block_bytes - len % block_bytes;
            let padded = [&data[..], &vec![padding as u8; padding]].concat();
            let sealed = piped(&data, cipher, "cbc", &["--padding", "pkcs7"]);
            assert!(sealed == library(cipher, Mode::Cbc, &padded), "{what}");
            assert!(piped(&sealed, cipher, "cbc", &["--padding", "pkcs7", "-d"]) == data, "{what}, back");
        }
        let cut_off = refused(4, &[1; 33], cipher, "cbc", &["--padding", "pkcs7", "-d"]);
        assert!(cut_off.contains("33 bytes") && cut_off.contains(cipher.name()), "{cut_off}");
        let sealed = library(cipher, Mode::Ecb, &vec![33; block_bytes]);
        let line = refused(3, &sealed, cipher, "ecb", &["--padding", "pkcs7", "-d"]);
        assert!(line.contains("padding"), "{line}");
    }
}

#[test]
fn every_whole_cipher_gives_the_same_when_forced() {
    let (cipher, data) = (Rijndael::Block256Key128, painted(32 * 1030, 5));
    let want = library(cipher, Mode::Ctr, &data);
    let listed: Done = crossgrain(&["variants"]).output().unwrap().into();
    let listed = String::from_utf8(listed.printed()).unwrap();
    let mut count = 0;
    for row in listed.lines().filter(|row| row.starts_with("rijndael256-encrypt/") && row.ends_with("yes")) {
        let name = row.split_whitespace().next().unwrap();
        assert!(piped(&data, cipher, "ctr", &["--variant", name]) == want, "{name}");
        count += 1;
    }
    assert!(count >= 2, "portable words are everywhere");
}

#[test]
fn what_runs_is_told() {
    let args = raw(Rijndael::Block192Key192, "ofb", &["--explain"]);
    let mut command = crossgrain(&args.iter().map(String::as_str).collect::<Vec<_>>());
    command.env("CROSSGRAIN_ISA", "portable");
    let done = fed(command, b"data");
    assert_eq!(done.code, Some(0));
    assert!(done.err.contains("rijndael192-encrypt/bitsliced32/portable"), "{}", done.err);
}

#[test]
fn refusals() {
    let (cipher, data) = (Rijndael::Block256Key256, painted(64, 6));
    for mode in Mode::ALL.into_iter().filter(|mode| !mode.entry().any_block_size).map(Mode::name) {
        let args = ["raw", "--cipher", cipher.name(), "--mode", mode, "--key", "00", "in", "-o", "out"];
        let line = Place::with(&data).refuses(2, &args);
        assert!(line.contains("16 bytes") && line.contains("have 32") && line.contains("ctr"), "{line}");
    }
    let line = refused(2, &data, cipher, "ctr", &["--plan", "plan.json"]);
    assert!(line.contains("--plan"), "{line}");
    let line = refused(2, &data, cipher, "ctr", &["--variant", "aes-encrypt/blocks/portable-table"]);
    assert!(line.contains("aes-encrypt/blocks/portable-table"), "{line}");
    let line = refused(4, &painted(65, 6), cipher, "ecb", &[]);
    assert!(line.contains("65 bytes") && line.contains("32-byte"), "{line}");
    let wants_whole: [(&[&str], &str); 3] = [
        (&["--key", "0011", "--iv", &"00".repeat(32)], "not 2"),
        (&["--key", &"00".repeat(32), "--iv", &"00".repeat(16)], "not 16"),
        (&["--key", &"00".repeat(32)], "--iv"),
    ];
    for (options, words) in wants_whole {
        let start = ["raw", "--cipher", cipher.name(), "--mode", "cbc", "in", "-o", "out"];
        let line = Place::with(&data).refuses(2, &[&start[..], options].concat());
        assert!(line.contains(words), "{line}");
    }
}

/// Masks and lists, whole blocks and partly known ones, and every mode are searched.
#[test]
fn a_search_finds_the_key() {
    for cipher in Rijndael::ALL {
        let (key, iv) = (hex(&painted(cipher.key_bytes(), 1)), hex(&painted(cipher.block_bytes(), 2)));
        let place = Place::new();
        let words = [painted(cipher.key_bytes(), 9), painted(cipher.key_bytes(), 1)].concat();
        place.write("keys", &words);
        for mode in wide_modes() {
            let plain = painted(2 * cipher.block_bytes(), 3);
            let crypt = hex(&library(cipher, mode, &plain));
            let plain = hex(&plain);
            let partly = format!("{}??", &plain[..plain.len() - 2]);
            let iv = if mode == Mode::Ecb { vec![] } else { vec!["--iv", &iv] };
            let mask = format!("{}???", &key[..key.len() - 3]);
            for (plain, from) in [(&plain, ["--key-mask", &mask]), (&partly, ["--words", "keys"])] {
                let start = ["search", "--cipher", cipher.name(), "--mode", mode.name()];
                let known = ["--plain", plain, "--crypt", &crypt];
                let form: &[&str] = if from[0] == "--words" { &["--form", "raw"] } else { &[] };
                let done = place.run(&[&start, &known[..], &from, form, &iv].concat());
                let told = String::from_utf8(done.out).unwrap();
                assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{cipher} {mode}");
                assert!(told.starts_with(&format!("key {key}, ")), "{cipher} {mode}: {told}");
            }
        }
    }
}

#[test]
fn searches_that_wide_blocks_do_not_have() {
    let place = Place::with(b"Salted__12345678");
    let start = ["search", "--cipher", "rijndael-256-128", "--key-mask"];
    let mask = "?".repeat(32);
    let long = "00".repeat(32);
    let cases: [(&[&str], &str); 5] = [
        (&["--crypt", &long, "--looks", "text"], "--looks"),
        (&["--mode", "cbc", "--plain", &long, "--crypt", &long], "--iv"),
        (&["--mode", "cbc", "--plain", &long, "--crypt", &long, "--iv", "00"], "not 1"),
        (&["--mode", "xts", "--plain", &long, "--crypt", &long], "ctr"),
        (&["--plain", "00", "--crypt", "00"], "ciphertext"),
    ];
    for (options, words) in cases {
        let done = place.run(&[&start, &[mask.as_str()][..], options].concat());
        assert!(done.code != Some(0) && done.err.contains(words), "{options:?}: {}", done.err);
    }
    let done = place.run(&["search", "--cipher", "rijndael-256-128", "--file", "in", "--words", "in"]);
    assert!(done.code != Some(0) && done.err.contains("rijndael-256-128"), "{}", done.err);
}
