//! `crossgrain raw --record-size`: records under their own keys give the bytes of one run for each, for any number
//! of threads and sizes of chunks.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{IV, Place, crossgrain, fed, hex, painted};

/// A place with `count` keys of a cipher in `keys`.
fn place_with(data: &[u8], count: usize, key_bytes: usize) -> (Place, Vec<u8>) {
    let keys = painted(count * key_bytes, 3);
    let place = Place::with(data);
    place.write("keys", &keys);
    (place, keys)
}

#[test]
fn records_are_those_of_one_run_each() {
    for (cipher, key_bytes) in [("aes-128", 16), ("serpent-256", 32), ("sm4", 16)] {
        for (mode, iv) in [("ecb", &[][..]), ("cbc", &["--iv", IV]), ("ctr", &["--iv", IV])] {
            let (count, record_bytes) = (100, 64);
            let data = painted(count * record_bytes, 5);
            let (place, keys) = place_with(&data, count, key_bytes);
            let args = ["raw", "--cipher", cipher, "--mode", mode];
            let sized = ["--key-file", "keys", "--record-size", "64", "in"];
            let run = |more: &[&str]| place.run(&[&args[..], iv, &sized, more].concat()).printed();
            let sealed = run(&["--threads", "1"]);
            // Chunks of whole records, of which the last is shorter.
            assert_eq!(run(&["--threads", "3", "--chunk-size", "4100"]), sealed, "{cipher}-{mode}");
            for number in [0, 1, 63, 99] {
                let key = hex(&keys[number * key_bytes..][..key_bytes]);
                let record = number * record_bytes..(number + 1) * record_bytes;
                let one = [&args[..], iv, &["--key", &key]].concat();
                let want = fed(crossgrain(&one), &data[record.clone()]).printed();
                assert_eq!(sealed[record], want, "{cipher}-{mode}, record {number}");
            }
            place.write("in", &sealed);
            assert_eq!(run(&["-d"]), data, "{cipher}-{mode}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (place, _) = place_with(&painted(96, 1), 3, 16);
    place.write("none", b"");
    place.write("odd", &[1; 17]);
    let ctr = ["raw", "--cipher", "aes-128", "--mode", "ctr", "--iv", IV, "in"];
    let refuse = |code, more: &[&str]| place.run(&[&ctr[..], more].concat()).refused(code);
    let told = refuse(2, &["--key-file", "keys", "--record-size", "16"]);
    assert!(told.contains("more records than --key-file has keys"), "{told}");
    let told = refuse(4, &["--key-file", "keys", "--record-size", "40"]);
    assert!(told.contains("16 bytes into a record of 40"), "{told}");
    let told = refuse(2, &["--key-file", "none", "--record-size", "32"]);
    assert!(told.contains("is empty"), "{told}");
    let told = refuse(2, &["--key-file", "odd", "--record-size", "32"]);
    assert!(told.contains("17 bytes") && told.contains("have 16"), "{told}");
    assert!(refuse(2, &["--key-file", "keys", "--record-size", "0"]).contains("1 byte to 256M"));
    let gcm = [
        "raw",
        "--cipher",
        "aes-128",
        "--mode",
        "gcm",
        "--iv",
        IV,
        "in",
        "--key-file",
        "keys",
        "--record-size",
        "32",
    ];
    assert!(place.run(&gcm).refused(2).contains("gcm has no use for --record-size"));
}
