//! `crossgrain search --file`: files made by other tools, whose passphrase the program finds; files that are damaged
//! or not supported, each refused in one line; and the commands of docs/search.md.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::fs;
use std::process::{Command, Stdio};

use common::{Done, Place, painted};

const PASSPHRASE: &str = "Tr0ub4dor&3";
const TEXT: &[u8] = b"Meet me at noon by the old oak, and bring the map.\n";

/// The message if nothing is found.
const EXHAUSTED: &str = "every candidate was tried, and none is the key";

/// A place with a text and a word list, of which the second word is the passphrase.
fn place() -> Place {
    let place = Place::with(TEXT);
    place.write("words", format!("letmein\n{PASSPHRASE}\nhunter2\n").as_bytes());
    place.write("wrong", b"letmein\nhunter2\n");
    place.write("pass", PASSPHRASE.as_bytes());
    place
}

/// A shell here, in which `$P` is the passphrase. Its tools may be those of an administrator.
fn shell(place: &Place, line: &str) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell.args(["-ec", line]).current_dir(place.path(".")).stdin(Stdio::null());
    shell.env("P", PASSPHRASE).env("PATH", format!("{path}:/usr/sbin:/sbin"));
    shell
}

/// Runs a shell line here, in which `$P` is the passphrase. `false`, with a printed skip, if one of the tools is not
/// installed.
#[track_caller]
fn made(place: &Place, tools: &[&str], line: &str) -> bool {
    for tool in tools {
        let found = shell(place, &format!("command -v {tool}")).output();
        if !found.is_ok_and(|found| found.status.success()) {
            println!("skipped: {tool} (not installed)");
            return false;
        }
    }
    let done = shell(place, line).output().unwrap();
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{line}: {err}{}", String::from_utf8_lossy(&done.stdout));
    true
}

fn search(place: &Place, args: &[&str]) -> Done {
    place.run(&[&["search", "--file", "out"], args].concat())
}

/// The program finds the passphrase of `out` in the list, and nothing in the list without it.
#[track_caller]
fn found(place: &Place, args: &[&str]) {
    let done = search(place, &[args, &["--words", "words"]].concat());
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{args:?}");
    let told = format!("passphrase '{PASSPHRASE}', candidate 1\n");
    assert_eq!(String::from_utf8(done.out).unwrap(), told, "{args:?}");
    let done = search(place, &[args, &["--words", "wrong"]].concat());
    assert_eq!((done.code, done.out.as_slice()), (Some(1), &b""[..]), "{args:?}");
    assert!(done.err.starts_with(&format!("crossgrain: {EXHAUSTED}\n")), "{}", done.err);
}

/// The program refuses the file `out` in one line, which contains this text.
#[track_caller]
fn refused(place: &Place, args: &[&str], told: &str) {
    let line = search(place, &[args, &["--words", "words"]].concat()).refused(3);
    assert!(line.contains(told) && line.contains("'out'"), "{line}");
}

#[test]
fn openssl_files_open() {
    let place = place();
    let cases: [(&str, &[&str]); 11] = [
        ("-aes-256-cbc -pbkdf2", &["--pbkdf2"]),
        ("-aes-256-cbc", &[]),
        ("-aes-128-cbc -md md5", &["--cipher", "aes-128"]),
        ("-aes-192-ctr -a", &["--cipher", "aes-192", "--mode", "ctr"]),
        ("-aes-256-cbc -pbkdf2 -a", &["--pbkdf2", "--format", "openssl"]),
        ("-aes-256-ecb -iter 1000 -md sha512", &["--mode", "ecb", "--iter", "1000", "--md", "sha512"]),
        (
            "-camellia-256-cbc -iter 100 -md sha1",
            &["--cipher", "camellia-256", "--iter", "100", "--md", "sha1"],
        ),
        ("-aes-128-cfb8", &["--cipher", "aes-128", "--mode", "cfb8"]),
        ("-camellia-192-cfb1", &["--cipher", "camellia-192", "--mode", "cfb1"]),
        ("-aria-128-cfb -md sha256", &["--cipher", "aria-128", "--mode", "cfb", "--md", "sha256"]),
        ("-camellia-128-ofb", &["--cipher", "camellia-128", "--mode", "ofb", "--looks", "printable"]),
    ];
    for (options, args) in cases {
        if !made(&place, &["openssl"], &format!("openssl enc {options} -k \"$P\" -in in -out out")) {
            return;
        }
        found(&place, args);
    }
}

/// A passphrase is printed in the same form when it is found and when it comes from a pot: also an empty one, one that
/// is no text, and one that is the key itself.
#[test]
fn passphrases_are_printed_alike_from_a_pot() {
    let place = place();
    let openssl = "openssl enc -aes-256-cbc -pbkdf2 -iter 10 -pass file:typed -in in -out out";
    let own = format!(
        "{} encrypt --passphrase-file typed --kdf-memory 1 --kdf-passes 1 in -o out --force",
        env!("CARGO_BIN_EXE_crossgrain")
    );
    for (typed, line, args, told) in [
        (&b""[..], openssl, &["--pbkdf2", "--iter", "10"][..], "''"),
        (b"p\xe4ss", openssl, &["--pbkdf2", "--iter", "10"], "$HEX[70e47373]"),
        (b"two words", openssl, &["--pbkdf2", "--iter", "10"], "'two words'"),
        (b"two words", &own, &[], "'two words'"),
    ] {
        place.write("typed", &[typed, b"\n"].concat());
        place.write("list", &[b"letmein\n", typed, b"\n"].concat());
        if !made(&place, &["openssl"], line) {
            return;
        }
        let told = format!("passphrase {told}, candidate 1\n");
        for rest in [&["--words", "list"][..], &["--show"]] {
            let done = search(&place, &[args, rest, &["--pot", "pot"]].concat());
            assert_eq!(
                (done.code, String::from_utf8(done.out).unwrap()),
                (Some(0), told.clone()),
                "{rest:?}"
            );
        }
    }
}

/// Without a tag, data that is no text needs a known beginning, or all passphrases that fit by padding are printed.
#[test]
fn openssl_files_of_other_data_need_more_to_be_known() {
    let place = place();
    place.write("in", &painted(1000, 7));
    let words: String = (0..2000).map(|number| format!("word{number}\n")).collect();
    place.write("words", format!("{PASSPHRASE}\n{words}").as_bytes());
    if !made(&place, &["openssl"], "openssl enc -aes-256-cbc -md sha256 -k \"$P\" -in in -out out") {
        return;
    }
    let args = ["--md", "sha256", "--words", "words"];
    let done = search(&place, &args);
    assert_eq!(done.code, Some(1));
    assert!(done.err.contains("--looks any"), "{}", done.err);
    let plain: String = painted(1000, 7)[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    let done = search(&place, &[&args[..], &["--plain", &format!("{plain}??")]].concat());
    let told = format!("passphrase '{PASSPHRASE}', candidate 0\n");
    assert_eq!((done.code, String::from_utf8(done.out).unwrap()), (Some(0), told.clone()));
    let done = search(&place, &[&args[..], &["--looks", "any"]].concat());
    let out = String::from_utf8(done.out).unwrap();
    assert_eq!(done.err, "crossgrain: one wrong passphrase in 2^8 fits too, so all that fit are printed\n");
    assert!(out.contains(&told) && (2..60).contains(&out.lines().count()), "{out}");
    refused(&place, &["--plain", "00ff", "--looks", "text"], "leave one out");
}

#[test]
fn openssl_files_that_are_damaged_are_refused() {
    let place = place();
    if !made(&place, &["openssl"], "openssl enc -aes-256-cbc -k \"$P\" -in in -out whole") {
        return;
    }
    let whole = place.read("whole");
    for (bytes, args, told) in [
        (&whole[..whole.len() - 1], &[][..], "whole blocks of 16: give --mode ctr"),
        (&whole[..16], &[], "nothing follows its salt"),
        (&whole[..7], &["--format", "openssl"], "too early"),
        (b"U2FsdGVkX1==.AAAAAAA", &[], "base64"),
        (b"U2FsdGVkX18=", &[], "too early"),
        (TEXT, &["--format", "openssl"], "Salted__"),
        (TEXT, &[], "no known format"),
        (b"", &[], "no known format"),
        (&whole, &["--mode", "xts"], "not supported"),
        (&whole, &["--slot", "1"], "no use for --slot"),
        (&whole, &["--mode", "ctr", "--looks", "any"], "no bit of the result is known"),
    ] {
        place.write("out", bytes);
        refused(&place, args, told);
    }
}

/// `cryptsetup` with cheap derivations.
fn luks(options: &str) -> String {
    let size = if options.contains("luks1") { "4M" } else { "20M" };
    format!(
        "rm -f out; truncate -s {size} out; \
         cryptsetup luksFormat --batch-mode --key-file pass {options} out"
    )
}

#[test]
fn luks_devices_open() {
    let place = place();
    let argon2 = "--type luks2 --pbkdf-memory 64 --pbkdf-force-iterations 4 --pbkdf-parallel 2";
    let cases = [
        "--type luks1 --pbkdf-force-iterations 1000".to_owned(),
        "--type luks1 --pbkdf-force-iterations 1000 --hash sha1 --cipher aes-cbc-essiv:sha256 --key-size 256"
            .to_owned(),
        "--type luks1 --pbkdf-force-iterations 1000 --hash sha512 --cipher aes-cbc-plain64 --key-size 128"
            .to_owned(),
        "--type luks1 --pbkdf-force-iterations 1000 --hash ripemd160 --cipher aes-cbc-plain --key-size 192"
            .to_owned(),
        "--type luks1 --pbkdf-force-iterations 1000 --hash whirlpool --key-size 256".to_owned(),
        "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --hash sha512".to_owned(),
        format!("{argon2} --pbkdf argon2id --sector-size 4096"),
        format!("{argon2} --pbkdf argon2i --key-size 256"),
    ];
    for options in cases {
        if options.contains("whirlpool") && !has_whirlpool(&place) {
            continue;
        }
        if !made(&place, &["cryptsetup"], &luks(&options)) {
            return;
        }
        found(&place, &[]);
    }
}

/// OpenSSL may lack Whirlpool, and cryptsetup uses OpenSSL.
fn has_whirlpool(place: &Place) -> bool {
    let line = luks("--type luks1 --pbkdf-force-iterations 1000 --hash whirlpool");
    let has = shell(place, &line).output();
    let has = has.is_ok_and(|done| done.status.success());
    if !has {
        println!("skipped: LUKS with Whirlpool (cryptsetup does not have it here)");
    }
    has
}

#[test]
fn luks_devices_with_several_slots_open_by_each() {
    let place = place();
    place.write("other", b"another one");
    for version in ["luks1", "luks2 --pbkdf pbkdf2"] {
        let cheap = "--pbkdf-force-iterations 1000";
        let line = format!(
            "{}; cryptsetup luksAddKey --batch-mode --key-file pass {cheap} {} out other",
            luks(&format!("--type {version} {cheap}")),
            if version == "luks1" { "" } else { "--pbkdf pbkdf2" },
        );
        if !made(&place, &["cryptsetup"], &line) {
            return;
        }
        place.write("words", format!("another one\n{PASSPHRASE}\n").as_bytes());
        let all = search(&place, &["--words", "words", "--all", "--explain"]);
        let out = String::from_utf8(all.out).unwrap();
        assert!(out.contains("'another one', candidate 0") && out.contains(PASSPHRASE), "{out}");
        assert!(all.err.contains("2 key slots"), "{}", all.err);
        found(&place, &["--slot", "0"]);
        let done = search(&place, &["--words", "words", "--slot", "1"]);
        assert_eq!(String::from_utf8(done.out).unwrap(), "passphrase 'another one', candidate 0\n");
        refused(&place, &["--slot", "5"], "no key slot of this number");
    }
}

#[test]
fn luks_headers_that_are_damaged_are_refused() {
    let place = place();
    if !made(&place, &["cryptsetup"], &luks("--type luks1 --pbkdf-force-iterations 1000")) {
        return;
    }
    let whole = place.read("out");
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = whole[..600_000].to_vec();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    for (bytes, told) in [
        (changed(6, &[0, 3]), "version 3 of LUKS is not supported"),
        (changed(8, b"twofish\0"), "twofish-xts-plain64"),
        (changed(40, b"gcm\0"), "not supported"),
        (changed(72, b"sha3\0\0\0"), "hash sha3 is not supported"),
        (changed(72, &[0xff; 32]), "no text"),
        (changed(108, &[0xff; 4]), "damaged"),
        (changed(164, &[0; 4]), "damaged"),
        (changed(208 + 4, &[0; 4]), "damaged"),
        (changed(208 + 40, &[0xff; 4]), "too early"),
        (changed(208 + 44, &[0xff; 4]), "damaged"),
        (changed(208, &[0; 4]), "no key slot"),
        (whole[..100].to_vec(), "too early"),
        (whole[..5000].to_vec(), "too early"),
    ] {
        place.write("out", &bytes);
        refused(&place, &[], told);
    }
    if !made(&place, &["cryptsetup"], &luks("--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000")) {
        return;
    }
    // The second header is whole.
    let mut damaged = place.read("out");
    damaged[5000] ^= 1;
    place.write("out", &damaged);
    found(&place, &[]);
    let beginning = damaged[..512].to_vec();
    damaged[..512].fill(0);
    place.write("out", &damaged);
    refused(&place, &[], "no known format");
    found(&place, &["--format", "luks"]);
    damaged[0x4000 + 5000] ^= 1;
    place.write("out", &damaged);
    refused(&place, &["--format", "luks"], "does not begin as a LUKS header");
    damaged[..512].copy_from_slice(&beginning);
    place.write("out", &damaged);
    refused(&place, &[], "checksums of both headers");
}

#[test]
fn zip_archives_open() {
    let place = place();
    place.write("long", &painted(300_000, 3));
    for strength in ["AES128", "AES192", "AES256"] {
        let line =
            format!("rm -f out out.zip; 7z a -tzip -mem={strength} -p\"$P\" out.zip long in; mv out.zip out");
        if !made(&place, &["7z"], &line) {
            return;
        }
        found(&place, &[]);
    }
    let whole = place.read("out");
    // A self-extracting archive: a program, whose length the places in the archive do not count.
    place.write("out", &[painted(3000, 4), whole.clone()].concat());
    found(&place, &["--format", "zip"]);
    // The long entry alone, whose tag is computed in pieces.
    assert!(made(&place, &["7z"], "rm -f out; 7z a -tzip -mem=AES256 -p\"$P\" out.zip long; mv out.zip out"));
    found(&place, &[]);
    let changed = |at: usize, value: u8| {
        let mut file = whole.clone();
        file[at] = value;
        file
    };
    let central = whole.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let end = whole.len() - 22;
    for (bytes, told) in [
        (whole[..whole.len() - 1].to_vec(), "directory is missing"),
        (whole[..100].to_vec(), "directory is missing"),
        (changed(end + 15, 0xff), "damaged"),
        (changed(end + 19, 0xff), "too early"),
        (changed(central + 28, 0xff), "an entry of its directory is cut off"),
        (b"PK\x03\x04".to_vec(), "directory is missing"),
    ] {
        place.write("out", &bytes);
        refused(&place, &[], told);
    }
    assert!(made(
        &place,
        &["7z"],
        "rm -f out; 7z a -tzip -mem=ZipCrypto -p\"$P\" out.zip in; mv out.zip out"
    ));
    refused(&place, &[], "ZipCrypto");
    assert!(made(&place, &["7z"], "rm -f out; 7z a -tzip out.zip in; mv out.zip out"));
    refused(&place, &[], "no entry of the archive is encrypted");
}

/// Types the passphrase at a terminal, twice. Each answer waits until the tool listens.
fn typed(command: &str) -> String {
    format!(
        "(for i in 1 2; do sleep 1; echo \"$P\"; done; sleep 1; echo y) | script -qec '{command}' /dev/null"
    )
}

#[test]
fn age_files_open() {
    let place = place();
    for armor in ["", "--armor "] {
        let line = typed(&format!("age -p {armor}-o out in"));
        if !made(&place, &["age", "script"], &format!("rm -f out; {line}")) {
            return;
        }
        place.write("words", format!("hunter2\n{PASSPHRASE}\n").as_bytes());
        let done = search(&place, &["--words", "words"]);
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
        assert!(String::from_utf8(done.out).unwrap().contains(PASSPHRASE));
    }
    let mask = ["--mask", "?d", "--limit", "1"];
    assert_eq!(search(&place, &mask).code, Some(1));
}

#[test]
fn age_headers_that_are_damaged_are_refused() {
    let place = place();
    let header = |recipient: &str| format!("age-encryption.org/v1\n{recipient}\n--- x\n");
    let salt = "yYnEZfEg5+4OXpGKRfJLnQ";
    let body = "CEH2pNDNTjVhhLsO5j/tSuKahIBLlFYPN07SXQ4Zn4U";
    for (recipient, told) in [
        ("-> X25519 abc\nabc".to_owned(), "encrypted to a key (X25519)"),
        (format!("-> scrypt {salt} 30\n{body}"), "2^30 in an age file is not supported"),
        (format!("-> scrypt {salt} 99\n{body}"), "cost of its scrypt"),
        (format!("-> scrypt {salt} x\n{body}"), "cost of its scrypt"),
        (format!("-> scrypt {salt}= 10\n{body}"), "base64"),
        (format!("-> scrypt {salt} 10\n{}", &body[1..]), "base64"),
        (format!("-> scrypt {salt} 10"), "base64"),
        ("->".to_owned(), "first recipient"),
        (String::new(), "first recipient"),
    ] {
        place.write("out", header(&recipient).as_bytes());
        refused(&place, &[], told);
    }
    place.write("out", b"age-encryption.org/v9\n");
    refused(&place, &["--format", "age"], "age version 1");
    place.write("out", b"-----BEGIN AGE ENCRYPTED FILE-----\n????\n");
    refused(&place, &[], "armor");
}

/// `tcplay` makes TrueCrypt volumes on block devices, and asks at a terminal.
#[test]
fn truecrypt_volumes_open() {
    let place = place();
    let cases = [
        ("RIPEMD160", "AES-256-XTS"),
        ("SHA512", "SERPENT-256-XTS"),
        ("whirlpool", "AES-256-XTS,SERPENT-256-XTS"),
        ("whirlpool", "AES-256-XTS"),
        ("whirlpool", "SERPENT-256-XTS"),
    ];
    for (hash, cipher) in cases {
        let create = typed(&format!("tcplay -c -d \"$L\" -a {hash} -b {cipher} -w -z"));
        let line = format!(
            "rm -f out; truncate -s 2M out; export L=$(losetup -f --show out); \
             trap 'losetup -d $L' EXIT; {create}"
        );
        if !can_loop(&place) || !made(&place, &["tcplay", "script"], &line) {
            return;
        }
        found_with_advice(&place, &["--format", "truecrypt"]);
        found_with_advice(
            &place,
            &["--format", "truecrypt", "--hash", &hash.to_lowercase(), "--header", "backup"],
        );
    }
    refused(&place, &["--format", "truecrypt", "--hash", "md5"], "no volume has this hash");
    refused(&place, &["--format", "truecrypt", "--pim", "1"], "no use for --pim");
    refused(
        &place,
        &["--format", "veracrypt", "--cipher", "aes-128"],
        "no volume is encrypted with this cipher",
    );
    refused(&place, &["--format", "veracrypt", "--pim", "4294967295"], "not possible");
    place.write("out", &[0; 1000]);
    refused(&place, &["--format", "truecrypt"], "no random bytes");
    refused(&place, &["--format", "truecrypt", "--header", "backup"], "too short");
    place.write("out", &[1; 511]);
    refused(&place, &["--format", "veracrypt"], "too early");
}

/// [`found`]. The program also gives advice.
#[track_caller]
fn found_with_advice(place: &Place, args: &[&str]) {
    found(place, args);
    let done = search(place, &[args, &["--words", "wrong"]].concat());
    assert!(done.err.contains("Twofish"), "{}", done.err);
}

/// Whether loop devices can be made.
fn can_loop(place: &Place) -> bool {
    fs::write(place.path("disk"), [0; 4096]).unwrap();
    let can = shell(place, "L=$(losetup -f --show disk); losetup -d $L").output();
    let can = can.is_ok_and(|done| done.status.success());
    if !can {
        println!("skipped: TrueCrypt volumes by tcplay (no loop device can be made here)");
    }
    can
}

/// Files of `crossgrain encrypt` are recognised as before, and take no details.
#[test]
fn own_files_open() {
    let place = place();
    let cost = ["--kdf-memory", "1", "--kdf-passes", "1"];
    let encrypt = ["encrypt", "--passphrase-file", "pass", "in", "-o", "out"];
    place.run(&[&encrypt[..], &cost].concat()).printed();
    found(&place, &[]);
    found(&place, &["--format", "crossgrain"]);
    refused(&place, &["--pbkdf2"], "no use for --pbkdf2");
    refused(&place, &["--format", "luks"], "damaged");
    let whole = place.read("out");
    place.write("out", &whole[..40]);
    refused(&place, &[], "");
}

/// A session keeps the details of a file, and goes on with them.
#[test]
fn sessions_keep_the_details_of_a_file() {
    let place = place();
    if !made(&place, &["openssl"], "openssl enc -aes-128-cbc -iter 10 -k \"$P\" -in in -out out") {
        return;
    }
    let args = ["--cipher", "aes-128", "--iter", "10", "--words", "words", "--session", "s", "--all"];
    let told = search(&place, &args);
    assert_eq!((told.code, told.err.as_str()), (Some(0), ""));
    let journal = String::from_utf8(place.read("s.session")).unwrap();
    place.write("s.session", journal.split_once("{\"outcome\"").unwrap().0.as_bytes());
    let again = place.run(&["search", "--session", "s", "--restore"]);
    assert_eq!((again.code, again.out), (Some(0), told.out));
    assert!(
        place.run(&["search", "--session", "s", "--restore", "--pbkdf2"]).refused(3).contains("--pbkdf2")
    );
}

/// How the files of the recipes in docs/search.md are made, and the tools that make them.
fn of_recipe(file: &str) -> (&'static [&'static str], String) {
    let enc = |options: &str, from: &str| format!("openssl enc {options} -k \"$P\" -in {from} -out {file}");
    match file {
        "letter.enc" => (&["openssl"], enc("-aes-256-cbc -pbkdf2", "in")),
        "old.enc" => (&["openssl"], enc("-aes-128-cbc -md md5 -a", "in")),
        "data.enc" => (
            &["openssl"],
            format!("printf MYTP > data; cat data words.txt > all; {}", enc("-aes-256-cbc -pbkdf2", "all")),
        ),
        "disk.img" => {
            let made = luks("--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000");
            (&["cryptsetup"], format!("{made}; mv out {file}"))
        }
        "photos.zip" => (&["7z"], format!("rm -f {file}; 7z a -tzip -mem=AES256 -p\"$P\" {file} in")),
        "notes.age" => (&["age", "script"], typed(&format!("age -p -o {file} in"))),
        "volume.tc" => {
            let create = typed("tcplay -c -d \"$L\" -a SHA512 -b AES-256-XTS -w -z");
            let disk = format!("truncate -s 2M {file}; export L=$(losetup -f --show {file})");
            (&["tcplay", "script"], format!("{disk}; trap 'losetup -d $L' EXIT; {create}"))
        }
        "letter.cg" => {
            let program = env!("CARGO_BIN_EXE_crossgrain");
            (&[], format!("{program} encrypt --passphrase-file pass --kdf-memory 1 in -o {file}"))
        }
        _ => panic!("no recipe makes {file}: say here how a test does"),
    }
}

/// The header of a VeraCrypt volume, published by hashcat 6.2.6 (`hashcat --hash-info -m 29451`). Its passphrase is
/// `hashcat`.
fn published_volume() -> Vec<u8> {
    let headers = include_str!("../../crossgrain-search/tests/veracrypt.txt");
    let line = headers.lines().find(|line| line.starts_with("veracrypt sha256")).unwrap();
    let digits = line.rsplit(' ').next().unwrap();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// Every command in the first section of docs/search.md finds the passphrase of a file that its tool made.
#[test]
fn the_recipes_of_the_guide_find_passphrases() {
    let guide = include_str!("../../../docs/search.md");
    let section = guide.split("\n## ").nth(1).unwrap();
    assert!(section.starts_with("Which file do you have?"));
    let recipes: Vec<&str> = section.lines().filter(|line| line.starts_with("crossgrain search")).collect();
    assert!(recipes.len() >= 10, "only {recipes:?}");
    for recipe in recipes {
        let args: Vec<&str> = recipe.split(' ').skip(1).collect();
        let file = args[args.iter().position(|arg| *arg == "--file").unwrap() + 1];
        let place = place();
        let mut passphrase = PASSPHRASE;
        if file == "volume.hc" {
            passphrase = "hashcat";
            place.write(file, &published_volume());
        }
        place.write("words.txt", format!("letmein\n{passphrase}\n").as_bytes());
        if file != "volume.hc" {
            let (tools, line) = of_recipe(file);
            if file == "volume.tc" && !can_loop(&place) || !made(&place, tools, &line) {
                continue;
            }
        }
        let done = place.run(&args);
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{recipe}");
        let told = format!("passphrase '{passphrase}', candidate 1\n");
        assert_eq!(String::from_utf8(done.out).unwrap(), told, "{recipe}");
    }
}
