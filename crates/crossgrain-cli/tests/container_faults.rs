//! Encrypted files under faults of their surroundings: nothing is lost or half-written, and the error is one
//! clear line.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Done, MIB, Place, fed, painted};

/// A place with `in`, the key `k`, and `sealed`.
fn sealed(len: usize) -> (Place, Vec<u8>) {
    let data = painted(len, 5);
    let place = Place::with(&data);
    place.run(&["keygen", "-o", "k"]).printed();
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "sealed"]).printed();
    (place, data)
}

/// Names in a place that were not there at the beginning.
fn new_names(place: &Place) -> Vec<String> {
    let names = place.look().into_keys().map(|name| name.into_string().unwrap());
    names.filter(|name| !["in", "k", "sealed"].contains(&name.as_str())).collect()
}

const BOTH: [[&str; 6]; 2] = [
    ["encrypt", "--key-file", "k", "in", "-o", "out"],
    ["decrypt", "--key-file", "k", "sealed", "-o", "out"],
];

/// Fails unless `out` is the complete output of the command.
#[track_caller]
fn check(place: &Place, command: &str, data: &[u8]) {
    if command == "decrypt" {
        assert!(place.read("out") == data);
    } else {
        assert!(place.run(&["decrypt", "--key-file", "k", "out"]).printed() == data);
    }
}

#[test]
fn a_closed_pipe_is_told() {
    let (place, _) = sealed(8 * MIB);
    for args in [&["encrypt", "--key-file", "k", "in"][..], &["decrypt", "--key-file", "k", "sealed"]] {
        let mut command = place.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 100]).unwrap();
        drop(out);
        let line = Done::from(child.wait_with_output().unwrap()).refused(1);
        assert!(line.contains("its reader has gone"), "{line}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_told_before_anything_is_asked() {
    let (place, _) = sealed(10);
    for [command, ..] in BOTH {
        for resume in [&[][..], &["--resume"]].into_iter().take(if command == "decrypt" { 2 } else { 1 }) {
            let args = [&[command, "--passphrase", "in", "-o", "/proc/out"][..], resume].concat();
            let line = place.refuses(1, &args);
            assert!(line.contains("/proc/out"), "{line}");
        }
        place.refuses(1, &[command, "--key-file", "k", "in", "-o", "nowhere/out"]);
    }
}

/// A file whose first bytes can be read and whose next bytes fail: memory of this process and the unmapped
/// gap after it.
#[cfg(target_os = "linux")]
fn failing_after(len_bytes: u64) -> fs::File {
    use std::io::{Seek as _, SeekFrom};
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let regions: Vec<_> = maps
        .lines()
        .filter_map(|line| line.split_once(' ')?.0.split_once('-'))
        .map(|(from, to)| [from, to].map(|place| u64::from_str_radix(place, 16).unwrap()))
        .collect();
    let before_a_gap =
        regions.windows(2).find(|pair| pair[0][1] < pair[1][0] && pair[0][1] - pair[0][0] >= len_bytes);
    let mut memory = fs::File::open("/proc/self/mem").unwrap();
    memory.seek(SeekFrom::Start(before_a_gap.unwrap()[0][1] - len_bytes)).unwrap();
    memory
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_that_fails_leaves_nothing() {
    let (place, _) = sealed(10);
    let args = ["encrypt", "--key-file", "k", "/proc/self/mem", "-o", "out"];
    assert!(place.refuses(1, &args).contains("cannot read '/proc/self/mem'"));
    // In the middle of a chunk, and after a whole one.
    for len_bytes in [5000, 16384] {
        let before = place.look();
        for output in ["out", "-"] {
            let mut command = place.command(&["encrypt", "--key-file", "k", "-o", output]);
            let line = Done::from(command.stdin(failing_after(len_bytes)).output().unwrap()).refused(1);
            assert!(line.contains("cannot read standard input"), "{line}");
        }
        assert_eq!(place.look(), before);
    }
}

/// The peak memory of a program so far, in bytes.
#[cfg(target_os = "linux")]
fn peak_bytes(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    peak.unwrap().parse::<u64>().unwrap() << 10
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded_whatever_the_file_and_the_threads() {
    let place = Place::new();
    place.run(&["keygen", "-o", "k"]).printed();
    fs::File::create(place.path("in")).unwrap().set_len(160 << 20).unwrap();
    place.run(&["encrypt", "--key-file", "k", "in", "-o", "sealed"]).printed();
    for [command, input] in [["encrypt", "in"], ["decrypt", "sealed"]] {
        let args = [command, "--key-file", "k", "--threads", "16", "-o", "/dev/null"];
        let mut child = place.command(&args).stdin(Stdio::piped()).spawn().unwrap();
        let mut open = child.stdin.take().unwrap();
        std::io::copy(&mut fs::File::open(place.path(input)).unwrap(), &mut open).unwrap();
        let peak = peak_bytes(&child);
        drop(open);
        assert!(child.wait().unwrap().success());
        assert!(peak < 64 << 20, "{command}: {} MiB", peak >> 20);
    }
}

/// The passphrase arrives after the input was opened, and the input changes in between.
#[test]
fn an_input_that_changes_is_told() {
    let place = Place::with(&painted(MIB, 1));
    type Change = fn(&mut fs::File);
    let changes: [Change; 4] = [
        |file| file.write_all(b"longer").unwrap(),
        |file| file.set_len(1000).unwrap(),
        |file| file.set_len(0).unwrap(),
        // With the same length and modification time as before.
        |file| {
            let was = file.metadata().unwrap().modified().unwrap();
            std::os::unix::fs::FileExt::write_all_at(file, b"other", 5).unwrap();
            file.set_modified(was).unwrap();
        },
    ];
    for command in [&["encrypt", "--kdf-memory", "1"][..], &["decrypt"]] {
        for change in changes {
            place.write("in", &painted(MIB, 1));
            if command == ["decrypt"] {
                let sealing = ["encrypt", "--passphrase-fd", "0", "--kdf-memory", "1", "in"];
                let sealed = fed(place.command(&sealing), b"x\n").printed();
                place.write("in", &sealed);
            }
            let args = [command, &["--passphrase-fd", "0", "in", "-o", "out"]].concat();
            let mut child =
                place.command(&args).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            until_open(&child, &place.path("in"));
            change(&mut fs::File::options().append(true).open(place.path("in")).unwrap());
            child.stdin.take().unwrap().write_all(b"x\n").unwrap();
            let done = Done::from(child.wait_with_output().unwrap());
            let is_told = done.err.contains("was changed while it was read");
            // A sealed file that was changed may also count as damaged.
            assert!(is_told && done.code == Some(1) || matches!(done.code, Some(3 | 4)), "{done:?}");
            assert_eq!(new_names(&place), Vec::<String>::new());
        }
    }
}

/// Waits until a program has opened a file.
#[cfg(target_os = "linux")]
fn until_open(child: &Child, path: &Path) {
    let path = fs::canonicalize(path).unwrap();
    let open = || {
        let entries = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().flatten();
        entries.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|file| file == path)
    };
    let give_up = Instant::now() + Duration::from_secs(60);
    while !open() {
        assert!(Instant::now() < give_up, "it is not opened");
        thread::sleep(Duration::from_millis(1));
    }
    // The times are recorded after opening, once they are old enough to reveal a change.
    thread::sleep(Duration::from_millis(50));
}

/// A file in /proc, whose length is known only after it has been read.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_made_up_as_it_is_read_is_encrypted_whole() {
    let place = Place::new();
    place.run(&["keygen", "-o", "k"]).printed();
    let sealed = place.run(&["encrypt", "--key-file", "k", "/proc/filesystems"]).printed();
    let back = fed(place.command(&["decrypt", "--key-file", "k"]), &sealed).printed();
    assert_eq!(back, fs::read("/proc/filesystems").unwrap());
}

/// Moves a file, possibly to another file system.
fn move_file(from: &Path, to: &Path) {
    fs::copy(from, to).and_then(|_| fs::remove_file(from)).unwrap();
}

/// Frees the space of a file at once. A program that another test is starting holds all files open that this
/// process had open, until its exec. Removing the name alone would leave the space in use.
fn discard(path: &Path) {
    fs::write(path, []).and_then(|()| fs::remove_file(path)).unwrap();
}

/// A small file system that is unmounted when dropped.
struct Small<'a>(&'a Place);

impl<'a> Small<'a> {
    fn mount(place: &'a Place, mebibytes: usize) -> Option<Self> {
        fs::create_dir(place.path("small")).unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "tmpfs"]).arg(place.path("small"));
        if command.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            return Some(Self(place));
        }
        println!("skipped: disk full (a small file system cannot be mounted here)");
        None
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg(self.0.path("small")).status().unwrap();
    }
}

/// The input, the output and the directory for temporary files are on three file systems, or as many as
/// exist.
#[cfg(target_os = "linux")]
#[test]
fn an_output_on_another_file_system_is_made_there() {
    use std::os::unix::fs::MetadataExt as _;
    let (place, data) = sealed(3 * MIB + 1);
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: output on another file system (/dev/shm cannot be written)");
        return;
    };
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    println!("another: {}", device(elsewhere.path()) != device(&place.path(".")));
    let names = || fs::read_dir(&elsewhere).unwrap().map(|entry| entry.unwrap().file_name());
    for (link, [command, key_file, k, input, _, _]) in
        BOTH.iter().flat_map(|args| [(false, args), (true, args)])
    {
        let out = elsewhere.path().join("out");
        let (output, args) = if link {
            fs::write(&out, b"old").unwrap();
            std::os::unix::fs::symlink(&out, place.path("link")).unwrap();
            ("link", &["--force"][..])
        } else {
            (out.to_str().unwrap(), &[][..])
        };
        let args = [&[command, key_file, k, input, "-o", output], args].concat();
        // The program does not use the usual directory for temporary files.
        let done: Done = place.command(&args).env("TMPDIR", "/nowhere").output().unwrap().into();
        done.printed();
        assert!(names().eq(["out"]));
        if link {
            assert_eq!(fs::read_link(place.path("link")).unwrap(), out);
            fs::remove_file(place.path("link")).unwrap();
        }
        move_file(&out, &place.path("out"));
        check(&place, command, &data);
        fs::remove_file(place.path("out")).unwrap();
    }
    // From the other file system to this one.
    fs::copy(place.path("sealed"), elsewhere.path().join("sealed")).unwrap();
    let sealed = elsewhere.path().join("sealed");
    place.run(&["decrypt", "--key-file", "k", sealed.to_str().unwrap(), "-o", "out"]).printed();
    check(&place, "decrypt", &data);
}

/// A dangling link counts as an existing file.
#[test]
fn a_link_is_not_written_through_unasked() {
    let (place, data) = sealed(10);
    for target in ["in", "nowhere"] {
        std::os::unix::fs::symlink(target, place.path("link")).unwrap();
        place.refuses(5, &["decrypt", "--key-file", "k", "sealed", "-o", "link"]);
        place.run(&["decrypt", "--key-file", "k", "sealed", "-o", "link", "--force"]).printed();
        assert_eq!(place.read("link"), data);
        assert_eq!(fs::read_link(place.path("link")).is_ok(), target == "in");
        fs::remove_file(place.path("link")).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing_but_what_can_be_resumed() {
    let (place, data) = sealed(6 * MIB);
    let Some(_small) = Small::mount(&place, 7) else { return };
    // The system reserves pages for every CPU, so some space is left for the filler file.
    for filled in [7 * MIB - 256 * 1024, 5 * MIB, MIB + 5000] {
        let inside = place.path("small");
        fs::write(inside.join("filler"), vec![0; filled]).unwrap();
        let names =
            || fs::read_dir(&inside).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        for [command, key_file, k, input, _, _] in BOTH {
            let args = [command, key_file, k, input, "-o", "small/out"];
            assert!(place.run(&args).refused(1).contains("no space is left"));
            assert_eq!(names(), ["filler"], "{command} {filled}");
            let resume = ["--resume"];
            let resumed = [&args[..], &resume[usize::from(command == "encrypt")..]].concat();
            assert!(place.run(&resumed).refused(1).contains("no space is left"));
            discard(&inside.join("filler"));
            place.run(&resumed).printed();
            assert_eq!(names(), ["out"]);
            fs::copy(inside.join("out"), place.path("out")).unwrap();
            discard(&inside.join("out"));
            check(&place, command, &data);
            fs::remove_file(place.path("out")).unwrap();
            fs::write(inside.join("filler"), vec![0; filled]).unwrap();
        }
        discard(&inside.join("filler"));
    }
}
