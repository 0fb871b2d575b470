//! Input that `crossgrain raw` refuses, with the exit code, one line of explanation, and no output file.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::process::Stdio;

use common::{Done, IV, MIB, Place, crossgrain, fed, painted};
use crossgrain::Features;
use crossgrain::engine::variant::table;

/// An AES-128 key.
const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3c";

const CTR: [&str; 9] = ["raw", "--cipher", "aes-128", "--mode", "ctr", "--key", KEY, "--iv", IV];
const ECB: [&str; 7] = ["raw", "--cipher", "aes-128", "--mode", "ecb", "--key", KEY];

/// A place with some whole blocks to encrypt.
fn place() -> Place {
    Place::with(&painted(64, 1))
}

/// Runs `raw` with these options from `in` to `out`; it must fail with this code and leave no trace.
#[track_caller]
fn refused(code: i32, options: &str) -> String {
    let args: Vec<_> = ["raw"].into_iter().chain(options.split(' ')).chain(["in", "-o", "out"]).collect();
    place().refuses(code, &args)
}

/// The same with this key.
#[track_caller]
fn refused_key(key: &str) -> String {
    let line = refused(2, &format!("--cipher aes-128 --mode ecb --key {key}"));
    assert!(!line.contains(key), "it tells the key");
    line
}

/// The same with this initial value.
#[track_caller]
fn refused_iv(iv: &str) -> String {
    refused(2, &format!("--cipher aes-128 --mode ctr --key {KEY} --iv {iv}"))
}

/// Runs `raw` with a key file of this content.
#[track_caller]
fn refused_key_file(content: &[u8]) -> String {
    let place = place();
    place.write("key", content);
    let options = ["raw", "--cipher", "aes-192", "--mode", "ecb", "--key-file", "key"];
    place.refuses(2, &[&options, &["in", "-o", "out"][..]].concat())
}

#[track_caller]
fn assert_tells(line: &str, words: &str) {
    assert!(line.contains(words), "not a word of '{words}': {line}");
}

#[test]
fn what_is_tried_here_would_go_well_but_for_one_thing() {
    for args in [&CTR[..], &ECB[..]] {
        let place = place();
        place.run(&[args, &["in", "-o", "out"]].concat()).printed();
        assert_eq!(place.read("out").len(), 64);
    }
}

#[test]
fn a_key_of_an_odd_number_of_digits() {
    assert_tells(&refused_key(&KEY[1..]), "odd");
}

#[test]
fn a_key_of_other_than_hex_digits() {
    assert_tells(&refused_key(&KEY.replace('b', "g")), "hex digit");
    assert_tells(&refused_key(&KEY.replace("2b", "0x")), "hex digit");
    assert_tells(&refused_key(&KEY.replace("2b", "é")), "hex digit");
}

#[test]
fn a_key_of_another_length() {
    assert_tells(&refused_key(&KEY[2..]), "16 bytes");
    assert_tells(&refused_key(&format!("{KEY}00")), "16 bytes");
    assert_tells(&refused_key(&format!("{KEY}{KEY}")), "16 bytes");
}

#[test]
fn an_empty_key() {
    let place = place();
    let args = ["raw", "--cipher", "aes-128", "--mode", "ecb", "--key", "", "in", "-o", "out"];
    assert_tells(&place.refuses(2, &args), "key");
}

#[test]
fn a_key_file_that_holds_none() {
    assert_tells(&refused_key_file(b""), "24 bytes");
    assert_tells(&refused_key_file(&[0x80; 23]), "24 bytes");
    assert_tells(&refused_key_file(&[0x80; 25]), "24 bytes");
    assert_tells(&refused_key_file(&painted(5000, 2)), "24 bytes");
    assert_tells(&refused_key_file(KEY.as_bytes()), "48 hex digits");
    // 24 bytes that are all hex digits are taken as a key of twelve bytes.
    assert_tells(&refused_key_file(&KEY.as_bytes()[..24]), "48 hex digits");
}

#[test]
fn a_key_file_that_is_not_there() {
    assert_tells(&refused(1, "--cipher aes-128 --mode ecb --key-file none"), "'none'");
    assert_tells(&refused(1, "--cipher aes-128 --mode ecb --key-file ."), "directory");
    assert_tells(&refused(2, "--cipher aes-128 --mode ecb --key-file -"), "standard input");
}

#[test]
fn no_key_or_two() {
    assert_tells(&refused(2, "--cipher aes-128 --mode ecb"), "--key");
    assert_tells(
        &refused(2, &format!("--cipher aes-128 --mode ecb --key {KEY} --key-file in")),
        "--key-file",
    );
}

#[test]
fn an_initial_value_that_is_no_block() {
    assert_tells(&refused(2, &format!("--cipher aes-128 --mode ctr --key {KEY}")), "--iv");
    assert_tells(&refused_iv(&IV[2..]), "16 bytes");
    assert_tells(&refused_iv(&format!("{IV}00")), "16 bytes");
    assert_tells(&refused_iv(&IV[1..]), "odd");
    assert_tells(&refused_iv(&IV.replace('f', "x")), "hex digit");
}

#[test]
fn an_initial_value_for_ecb() {
    assert_tells(&refused(2, &format!("--cipher aes-128 --mode ecb --key {KEY} --iv {IV}")), "--iv");
}

#[test]
fn a_tag_that_would_replace_its_message() {
    let place = place();
    for name in ["out", "-"] {
        let args =
            ["raw", "--cipher", "aes-128", "--mode", "gcm", "--key", KEY, "--iv", "00", "in", "-o", "out"];
        assert_tells(&place.refuses(2, &[&args[..], &["--tag-file", name]].concat()), "--tag-file");
    }
}

#[test]
fn more_than_there_is_memory_or_patience_for() {
    assert_tells(&place().refuses(2, &["demo", "--bytes", "18446744073709551615"]), "--bytes");
    assert_tells(&place().refuses(2, &["bench", "--turns", "18446744073709551615"]), "--turns");
}

#[test]
fn names_that_nothing_has() {
    assert_tells(&refused(2, &format!("--cipher aes-129 --mode ecb --key {KEY}")), "aes-129");
    assert_tells(&refused(2, &format!("--cipher aes-128 --mode cbd --key {KEY}")), "cbd");
    assert_tells(&refused(2, &format!("--mode ecb --key {KEY}")), "--cipher");
    assert_tells(&refused(2, &format!("--cipher aes-128 --key {KEY}")), "--mode");
    let ecb = format!("--cipher aes-128 --mode ecb --key {KEY}");
    assert_tells(&refused(2, &format!("{ecb} --variant aes-encrypt/blocks/abacus")), "abacus");
    assert_tells(&refused(2, &format!("{ecb} --policy some")), "some");
    assert_tells(&refused(2, &format!("{ecb} --no-such-option")), "--no-such-option");
    for threads in ["0", "1025", "-1", "two"] {
        assert_tells(&refused(2, &format!("{ecb} --threads={threads}")), threads);
    }
}

#[test]
fn a_variant_that_has_no_place_in_the_job() {
    let options = format!("--cipher aes-128 --mode ecb --key {KEY} --variant inv-shift-rows/blocks/portable");
    assert_tells(&refused(2, &options), "inv-shift-rows/blocks/portable");
}

#[test]
fn a_variant_that_the_cap_takes_away() {
    let place = place();
    let mut command = place.command(&ECB);
    let Some(variant) = table().iter().find(|variant| variant.needs != Features::NONE) else {
        println!("skipped: a variant that the cap takes away (this machine has integers only)");
        return;
    };
    command.args(["--variant", &variant.name, "in", "-o", "out"]);
    let done: Done = command.env("CROSSGRAIN_ISA", "portable").output().unwrap().into();
    assert_tells(&done.refused(2), &variant.name);
    assert_eq!(place.look().len(), 1);
}

#[test]
fn a_cap_that_cannot_be_read() {
    for cap in ["abacus", "avx2-abacus", "AVX2", "avx2\nsse2"] {
        let place = place();
        let mut command = place.command(&CTR);
        command.args(["in", "-o", "out"]).env("CROSSGRAIN_ISA", cap);
        assert_tells(&Done::from(command.output().unwrap()).refused(2), "ISA cap");
        assert_eq!(place.look().len(), 1, "it left something behind");
    }
}

#[test]
fn an_input_that_is_not_there() {
    let place = place();
    assert_tells(&place.refuses(1, &[&CTR[..], &["none", "-o", "out"]].concat()), "'none'");
    assert_tells(&place.refuses(1, &[&CTR[..], &["in/none", "-o", "out"]].concat()), "'in/none'");
}

#[test]
fn a_name_with_a_line_end_stays_on_one_line() {
    let line = place().refuses(1, &[&CTR[..], &["no\nsuch\r\x1b[1mfile", "-o", "out"]].concat());
    assert_tells(&line, r"no\nsuch\r\u{1b}[1mfile");
}

#[test]
fn a_directory_as_input() {
    let place = place();
    std::fs::create_dir(place.path("dir")).unwrap();
    assert_tells(&place.refuses(1, &[&CTR[..], &["dir", "-o", "out"]].concat()), "directory");
}

#[test]
fn an_output_where_none_can_be() {
    let place = place();
    std::fs::create_dir(place.path("dir")).unwrap();
    assert_tells(&place.refuses(1, &[&CTR[..], &["in", "-o", "none/out"]].concat()), "'none/out'");
    assert_tells(&place.refuses(1, &[&CTR[..], &["in", "-o", "in/out"]].concat()), "'in/out'");
    for force in [&[][..], &["--force"]] {
        let line = place.refuses(1, &[&CTR[..], &["in", "-o", "dir"], force].concat());
        assert_tells(&line, "directory");
    }
    assert_eq!(std::fs::read_dir(place.path("dir")).unwrap().count(), 0);
}

#[test]
fn an_output_that_exists() {
    let place = place();
    place.write("out", b"of value");
    let args = [&CTR[..], &["in", "-o", "out"]].concat();
    assert_tells(&place.refuses(5, &args), "--force");
    place.run(&[&args[..], &["--force"]].concat()).printed();
    assert_eq!(place.read("out"), place.run(&[&CTR[..], &["in"]].concat()).printed());
    assert_eq!(place.look().len(), 2, "it left something behind");
}

#[test]
fn an_existing_output_survives_a_failure_in_spite_of_force() {
    let place = Place::with(&painted(MIB + 1, 3));
    place.write("out", b"of value");
    let args = [&ECB[..], &["in", "-o", "out", "--force"]].concat();
    assert_tells(&place.refuses(4, &args), "block");
}

#[test]
fn ecb_of_a_partial_block() {
    for len_bytes in [1, 15, 17, MIB - 1, 3 * MIB + 8] {
        let place = Place::with(&painted(len_bytes, 4));
        for extra in [&[][..], &["-d"], &["--threads", "1"], &["--threads", "3"]] {
            let line = place.refuses(4, &[&ECB[..], &["in", "-o", "out"], extra].concat());
            assert_tells(&line, &format!("{len_bytes} bytes"));
        }
        let done = fed(crossgrain(&ECB), &place.read("in"));
        assert_tells(&done.refused(4), "standard input");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device() {
    let place = Place::with(&painted(3 * MIB, 5));
    for threads in ["1", "3"] {
        let mut command = place.command(&CTR);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        command.args(["--threads", threads, "in"]).stdout(full);
        assert_tells(&Done::from(command.output().unwrap()).refused(1), "standard output");
        let args = [&CTR[..], &["--threads", threads, "in", "-o", "/dev/full"]].concat();
        assert_tells(&place.refuses(1, &args), "space");
    }
}

/// Closes the reader of standard output before anything is written.
#[cfg(unix)]
#[test]
fn a_reader_that_has_gone() {
    for threads in ["1", "3"] {
        let mut command = crossgrain(&CTR);
        command.args(["--threads", threads]).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().unwrap();
        let feeder = std::thread::spawn(move || {
            // The program may end before it has read all input.
            let _ = std::io::Write::write_all(&mut stdin, &painted(4 * MIB, 6));
        });
        let done = Done::from(child.wait_with_output().unwrap());
        feeder.join().unwrap();
        assert_tells(&done.refused(1), "reader");
    }
}

/// A reader that closes the pipe early is not an error.
#[test]
fn a_reader_who_has_gone_is_told_nothing() {
    let place = Place::with(b"data");
    place.run(&["keygen", "-o", "k"]).printed();
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "sealed"]).printed();
    let commands: [&[&str]; 5] = [
        &["inspect", "sealed"],
        &["inspect", "--json", "sealed"],
        &["variants"],
        &["demo", "in"],
        &["--help"],
    ];
    for args in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Done::from(place.command(args).stdout(writer).output().unwrap()).printed();
    }
}

/// A small file system, unmounted when dropped.
#[cfg(target_os = "linux")]
struct SmallDisk(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    fn mount(at: std::path::PathBuf) -> Option<Self> {
        let mut command = std::process::Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=64k", "crossgrain-test"]).arg(&at);
        let done = command.stdin(Stdio::null()).output();
        done.is_ok_and(|done| done.status.success()).then_some(Self(at))
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let done = std::process::Command::new("umount").arg(&self.0).status();
        if !done.is_ok_and(|status| status.success()) {
            println!("could not unmount {}", self.0.display());
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let place = Place::with(&painted(2 * MIB, 7));
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mounted) = SmallDisk::mount(disk.clone()) else {
        println!("skipped: a full disk (mounting a tmpfs is not permitted)");
        return;
    };
    for threads in ["1", "3"] {
        let args = [&CTR[..], &["--threads", threads, "in", "-o", "disk/out"]].concat();
        assert_tells(&place.refuses(1, &args), "space");
        assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0, "it left something behind");
    }
    place.write("disk/out", b"of value");
    let args = [&CTR[..], &["in", "-o", "disk/out", "--force"]].concat();
    assert_tells(&place.refuses(1, &args), "space");
    assert_eq!(place.read("disk/out"), b"of value");
    assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 1, "it left something behind");
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_or_written() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    let place = place();
    fs::create_dir(place.path("closed")).unwrap();
    fs::write(place.path("secret"), painted(24, 8)).unwrap();
    let set = |name: &str, mode| fs::set_permissions(place.path(name), Permissions::from_mode(mode)).unwrap();
    set("secret", 0o000);
    set("closed", 0o555);
    set(".", 0o777);
    let is_root = fs::File::open(place.path("secret")).is_ok();
    let key_file = ["raw", "--cipher", "aes-192", "--mode", "ecb", "--key-file", "secret"];
    let cases = [
        ([&CTR[..], &["secret", "-o", "out"]].concat(), "'secret': permission denied"),
        ([&CTR[..], &["in", "-o", "closed/out"]].concat(), "'closed/out': permission denied"),
        ([&key_file[..], &["in", "-o", "out"]].concat(), "permission denied"),
    ];
    for (args, words) in cases {
        let mut command = place.command(&args);
        if is_root {
            command.uid(65534).gid(65534); // nobody: root may do everything
        }
        let Ok(output) = command.output() else {
            println!("skipped: an unreadable file (root reads it, and nobody may not run the program)");
            break;
        };
        assert_tells(&Done::from(output).refused(1), words);
        assert_eq!(place.look().len(), 3, "it left something behind");
    }
    set("closed", 0o700);
}
