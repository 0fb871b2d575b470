//! Directories in one encrypted file: round trips, agreement with GNU tar, listings, and names that exist.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod archived;
mod common;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use archived::{DIR, FILE, HARD, LINK, UNPACK, add, archive, keyed, listing, names, sealed, with_umask};
use common::{Done, MIB, Place, painted};
use tar::Builder;

/// A tree with all that is packed: modes, times before 1970 and between seconds, links, hard links, empty
/// directories, long names, and names that are no UTF-8.
fn tree(place: &Place, files: u64) {
    let root = place.path("tree");
    for directory in ["empty", "closed", "many"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    for number in 0..files {
        let path = root.join(format!("many/{number}"));
        fs::write(&path, painted(number as usize * 7 % 1500, number)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400 + number as u32 % 0o400)).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000 + number, 123_456_789);
        fs::File::open(&path).unwrap().set_modified(time).unwrap();
    }
    fs::write(root.join("zeros"), vec![0; 300_000]).unwrap();
    fs::write(root.join("large"), painted(3 * MIB + 5, 1)).unwrap();
    fs::hard_link(root.join("large"), root.join("empty-beside")).unwrap();
    fs::hard_link(root.join("many/7"), root.join("many/twin")).unwrap();
    symlink("many/1", root.join("link")).unwrap();
    symlink(format!("many/../{}zeros", "./".repeat(80)), root.join("long-link")).unwrap();
    symlink("missing", root.join("many/dangling")).unwrap();
    let deep = root.join("x".repeat(120)).join("y".repeat(130));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("leaf"), b"deep").unwrap();
    fs::write(root.join("line\nend"), b"odd").unwrap();
    fs::write(root.join(OsStr::from_bytes(b"\xff\xfe name")), b"no text").unwrap();
    fs::write(root.join(OsStr::from_bytes(&[b"\xe9".as_slice(), "n".repeat(150).as_bytes()].concat())), b"")
        .unwrap();
    for (name, time) in
        [("zeros", "1965-03-04 05:06:07.25"), ("closed", "1999-01-01"), ("large", "2001-02-03")]
    {
        assert!(Command::new("touch").arg("-d").arg(time).arg(root.join(name)).status().unwrap().success());
    }
    assert!(
        Command::new("touch")
            .args(["-h", "-d", "2002-02-02 12:00:00.5"])
            .arg(root.join("link"))
            .status()
            .unwrap()
            .success()
    );
    fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
}

/// Compares listings, and shows only the lines that differ.
#[track_caller]
fn assert_same(left: &[String], right: &[String]) {
    let only = |these: &[String], others: &[String]| -> Vec<String> {
        let others: BTreeSet<_> = others.iter().collect();
        these.iter().filter(|line| !others.contains(line)).cloned().collect()
    };
    assert_eq!((only(left, right), only(right, left)), (Vec::new(), Vec::new()));
    assert_eq!(left.len(), right.len());
}

#[test]
fn three_thousand_files_come_back_as_by_gnu_tar() {
    let place = keyed();
    tree(&place, 3000);
    let deep = place.path("tree").join("x".repeat(120)).join("line\nend");
    fs::write(deep, b"odd").unwrap();
    place.run(&["encrypt", "--key-file", "k", "--tar", "tree", "-o", "in.cg"]).printed();
    with_umask(&place, "0", &UNPACK).printed();
    let before = listing(&place.path("tree"));
    assert!(before.len() > 3010, "{}", before.len());
    assert_same(&listing(&place.path("out/tree")), &before);
    // Without --tar it is a plain archive.
    place.run(&["decrypt", "--key-file", "k", "in.cg", "-o", "in.tar"]).printed();
    fs::create_dir(place.path("by-tar")).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["-xpf", "in.tar", "-C", "by-tar"]).current_dir(place.path("."));
    let done = Done::from(tar.output().unwrap());
    assert!(done.code == Some(0), "{}", done.err);
    assert_same(&listing(&place.path("by-tar/tree")), &before);
    // The zeros take no space.
    assert!(fs::metadata(place.path("out/tree/zeros")).unwrap().blocks() * 512 < 300_000);
}

#[test]
fn archives_of_gnu_tar_are_unpacked() {
    let place = keyed();
    tree(&place, 50);
    let holes = fs::File::create(place.path("tree/holes")).unwrap();
    for at in (0..60).map(|number| number * 100_000) {
        std::os::unix::fs::FileExt::write_all_at(&holes, b"island", at).unwrap();
    }
    holes.set_len(7_000_000).unwrap();
    let before = listing(&place.path("tree"));
    let whole_seconds = |lines: Vec<String>| -> Vec<String> {
        let cut = |line: String| {
            let mut fields: Vec<_> = line.split('|').map(str::to_owned).collect();
            if let Some(time) = fields.get_mut(3) {
                *time = time.split('.').next().unwrap().to_owned();
            }
            fields.join("|")
        };
        lines.into_iter().map(cut).collect()
    };
    for options in [&["--format=gnu", "--sparse"][..], &["--format=gnu"], &["--format=posix"]] {
        let mut tar = Command::new("tar");
        tar.args(options).args(["-cf", "in.tar", "tree"]).current_dir(place.path("."));
        assert!(tar.status().unwrap().success());
        place.run(&["encrypt", "--force", "--key-file", "k", "in.tar", "-o", "in.cg"]).printed();
        let done = with_umask(&place, "0", &UNPACK);
        assert_eq!(done.code, Some(0), "{options:?}: {}", done.err);
        let after = listing(&place.path("out/tree"));
        if options == ["--format=posix"] {
            assert_same(&after, &before);
        } else {
            // Times before 1970 and fractions are rounded by GNU tar.
            let comparable = |lines| {
                whole_seconds(lines)
                    .into_iter()
                    .filter(|line| !line.starts_with("zeros|"))
                    .collect::<Vec<_>>()
            };
            assert_eq!(comparable(after), comparable(before.clone()), "{options:?}");
        }
        fs::remove_dir_all(place.path("out")).unwrap();
    }
    let mut tar = Command::new("tar");
    tar.args(["--format=posix", "--sparse", "-cf", "in.tar", "tree"]).current_dir(place.path("."));
    assert!(tar.status().unwrap().success());
    place.run(&["encrypt", "--force", "--key-file", "k", "in.tar", "-o", "in.cg"]).printed();
    assert!(place.refuses(3, &UNPACK).contains("use GNU tar"));
}

#[test]
fn an_existing_name_is_not_replaced() {
    let place = sealed(&archive(&[(FILE, "a/f", ""), (FILE, "b", "")]));
    fs::create_dir(place.path("out")).unwrap();
    place.write("out/b", b"mine");
    let line = place.run(&UNPACK).refused(5);
    assert!(line.contains("'out/b' exists"), "{line}");
    assert_eq!((names(&place.path("out")).len(), place.read("out/b")), (1, b"mine".to_vec()));
    fs::remove_file(place.path("out/b")).unwrap();
    place.write("out/other", b"mine");
    place.run(&UNPACK).printed();
    assert_eq!(place.read("out/a/f"), b"data");
    assert_eq!(names(&place.path("out")), ["a", "a/f", "b", "other"]);
    place.write("file", b"");
    let line = place.refuses(1, &["decrypt", "--key-file", "k", "--tar", "in.cg", "-C", "file"]);
    assert!(line.contains("'file'"), "{line}");
    place.refuses(1, &["decrypt", "--key-file", "k", "--tar", "in.cg", "-C", "no/where"]);
    place.refuses(2, &["decrypt", "--key-file", "k", "--tar", "in.cg"]);
    place.refuses(2, &["decrypt", "--key-file", "k", "--tar", "in.cg", "in.cg", "-C", "new"]);
    // A link of another place is followed to its directory.
    symlink("out", place.path("to-out")).unwrap();
    place.run(&["decrypt", "--key-file", "k", "--tar", "in.cg", "-C", "to-out"]).refused(5);
}

#[test]
fn names_are_listed() {
    let rows = [(DIR, "d", ""), (FILE, "d/f\u{1b}", ""), (LINK, "l", "d/f"), (HARD, "h", "d/f\u{1b}")];
    let place = sealed(&archive(&rows));
    let told = place.run(&["verify", "--key-file", "k", "--list", "in.cg"]).printed();
    let told = String::from_utf8(told).unwrap();
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines[0], "d/");
    assert!(lines[1].starts_with("d/f") && !lines[1].contains('\u{1b}'), "{told}");
    assert_eq!(lines[2], "l -> d/f");
    assert!(lines[3].starts_with("h = d/f"), "{told}");
    assert!(lines[4].contains("authentic"), "{told}");
    assert_eq!(lines.len(), 5);
    let mut file = place.read("in.cg");
    let last = file.len() - 1;
    file[last] ^= 1;
    place.write("in.cg", &file);
    assert_eq!(place.run(&["verify", "--key-file", "k", "--list", "in.cg"]).code, Some(3));
}

/// A listing that nobody reads still verifies the whole file.
#[test]
fn a_listing_verifies_to_the_end() {
    let names: Vec<_> = (0..5000).map(|number| format!("member{number}")).collect();
    let rows: Vec<_> = names.iter().map(|name| (FILE, &name[..], "")).collect();
    let place = sealed(&archive(&rows));
    let unread = || {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = place.command(&["verify", "--key-file", "k", "--list", "in.cg"]);
        Done::from(command.stdout(writer).output().unwrap())
    };
    assert_eq!(unread().code, Some(0));
    let mut file = place.read("in.cg");
    *file.last_mut().unwrap() ^= 1;
    place.write("in.cg", &file);
    assert_eq!(unread().code, Some(3));
}

#[test]
fn arguments_get_their_last_name_and_special_files_are_left_out() {
    let place = keyed();
    fs::create_dir_all(place.path("a/b")).unwrap();
    place.write("a/b/f", b"f");
    place.write("single", b"s");
    symlink("a/b", place.path("current")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.path("a/b/socket")).unwrap();
    assert!(Command::new("mkfifo").arg(place.path("a/b/pipe")).status().unwrap().success());
    symlink("/etc/passwd", place.path("a/b/outside")).unwrap();
    let absolute = place.path("single").into_os_string().into_string().unwrap();
    let done = place.run(&["encrypt", "--key-file", "k", "--tar", "a/b", &absolute, "-o", "a/b/in.cg"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    for told in ["'a/b/socket' is a socket", "'a/b/pipe' is a pipe", "lead out of the archive: 1"] {
        assert!(done.err.contains(told), "{}", done.err);
    }
    let unpack = ["decrypt", "--key-file", "k", "--tar", "a/b/in.cg", "-C", "out", "--outside-links"];
    place.run(&unpack).printed();
    assert_eq!(names(&place.path("out")), ["b", "b/f", "b/outside", "single"]);
    // The output of an earlier run is packed, and the new one is not.
    let done = place.run(&["encrypt", "--key-file", "k", "--tar", "current", "-o", "link.cg"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let told = place.run(&["verify", "--key-file", "k", "--list", "link.cg"]).printed();
    assert!(String::from_utf8(told).unwrap().starts_with("b/\nb/f\nb/in.cg\n"));
    assert!(place.refuses(2, &["encrypt", "--key-file", "k", "--tar", "/", "-o", "x"]).contains("no name"));
    fs::create_dir_all(place.path("c/b")).unwrap();
    assert!(
        place
            .refuses(2, &["encrypt", "--key-file", "k", "--tar", "a/b", "c/b", "-o", "x"])
            .contains("one name")
    );
    assert!(
        place
            .refuses(1, &["encrypt", "--key-file", "k", "--tar", "missing", "-o", "x"])
            .contains("'missing'")
    );
    assert!(place.refuses(2, &["encrypt", "--key-file", "k", "--tar", "-o", "x"]).contains("--tar"));
}

/// A pipe that is not read stops the program while it reads the file.
#[test]
fn files_that_change_while_they_are_read_are_refused() {
    let appended = |path: &Path| {
        fs::File::options().append(true).open(path).unwrap().write_all(b"more").unwrap();
    };
    let shortened = |path: &Path| fs::File::options().write(true).open(path).unwrap().set_len(1).unwrap();
    let changes: [&dyn Fn(&Path); 2] = [&appended, &shortened];
    for change in changes {
        let place = keyed();
        fs::create_dir(place.path("d")).unwrap();
        let big = fs::File::create(place.path("d/big")).unwrap();
        big.set_len(300 << 20).unwrap();
        let mut program = place.command(&["encrypt", "--key-file", "k", "--tar", "d"]);
        let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        output.read_exact(&mut [0; 1000]).unwrap();
        change(&place.path("d/big"));
        let draining = std::thread::spawn(move || io::copy(&mut output, &mut io::sink()).unwrap());
        let done = Done::from(child.wait_with_output().unwrap());
        draining.join().unwrap();
        assert!(done.refused(1).contains("'d/big' was changed while it was read"));
    }
}

/// A signal removes the unfinished tree.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_leaves_nothing() {
    let mut made = Builder::new(Vec::new());
    for number in 0..200 {
        add(&mut made, FILE, &format!("d/{number}"), "", &painted(50_000, number));
    }
    let place = sealed(&made.into_inner().unwrap());
    let sealed = place.read("in.cg");
    let before = place.look();
    let args = ["decrypt", "--key-file", "k", "--tar", "-C", "out"];
    let mut program = common::by_default_signals(&place.command(&args));
    let mut child = program.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&sealed[..sealed.len() - 100_000]).unwrap();
    common::until_written(&child, 3 << 20);
    assert_eq!(place.look().len(), before.len() + 1);
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    child.wait().unwrap();
    assert_eq!(place.look(), before);
}
