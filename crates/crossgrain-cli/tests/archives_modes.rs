//! Modes of unpacked files and directories: those of the archive, under the umask and for users without rights.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod archived;
mod common;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

use archived::{DIR, FILE, UNPACK, add, sealed, through, with_umask};
use common::{Done, Place};
use tar::{Builder, Header};

#[test]
fn special_bits_are_dropped_and_modes_kept() {
    let mut made = Builder::new(Vec::new());
    for (name, mode) in [("set-user", 0o4755), ("set-group", 0o2711), ("read-only", 0o444)] {
        let mut header = Header::new_gnu();
        header.set_mode(mode);
        header.set_size(0);
        made.append_data(&mut header, name, io::empty()).unwrap();
    }
    let place = sealed(&made.into_inner().unwrap());
    let done = place.run(&UNPACK);
    assert!(done.code == Some(0) && done.err.contains("not restored (2 members)"), "{}", done.err);
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().mode() & 0o7777;
    let modes = ["out/set-user", "out/set-group", "out/read-only", "out"].map(mode);
    assert_eq!(modes, [0o755, 0o711, 0o444, 0o700]);
}

/// Another user may rename what appears in the destination, and put a link in its place.
#[test]
fn directories_outside_keep_their_modes() {
    for mode in [0o777, 0o555] {
        let mut made = Builder::new(Vec::new());
        add_directory(&mut made, "top", mode);
        add_directory(&mut made, "top/d", mode);
        let place = sealed(&made.into_inner().unwrap());
        for _ in 0..10 {
            fs::create_dir_all(place.path("out")).unwrap();
            fs::create_dir_all(place.path("victim/d")).unwrap();
            fs::set_permissions(place.path("victim"), fs::Permissions::from_mode(0o700)).unwrap();
            let mut child = place.command(&UNPACK).stderr(Stdio::null()).spawn().unwrap();
            let moved = loop {
                if fs::rename(place.path("out/top"), place.path("out/moved")).is_ok() {
                    symlink("../victim", place.path("out/top")).unwrap();
                    break true;
                }
                if child.try_wait().unwrap().is_some() {
                    break false;
                }
            };
            child.wait().unwrap();
            let mode_of = |name: &str| fs::metadata(place.path(name)).unwrap().mode() & 0o777;
            assert_eq!(mode_of("victim"), 0o700);
            if moved {
                assert_eq!(mode_of("out/moved"), mode & !umask());
            }
            fs::remove_dir_all(place.path("out")).unwrap();
        }
    }
}

#[test]
fn the_umask_applies_to_modes() {
    let mut made = Builder::new(Vec::new());
    add_directory(&mut made, "d", 0o777);
    add_directory(&mut made, "d/closed", 0o575);
    let mut header = Header::new_gnu();
    header.set_mode(0o666);
    header.set_size(0);
    made.append_data(&mut header, "d/f", io::empty()).unwrap();
    let place = sealed(&made.into_inner().unwrap());
    for (umask, expected) in
        [("077", [0o700, 0o500, 0o600]), ("027", [0o750, 0o550, 0o640]), ("000", [0o777, 0o575, 0o666])]
    {
        with_umask(&place, umask, &UNPACK).printed();
        let mode = |name: &str| fs::metadata(place.path(name)).unwrap().mode() & 0o7777;
        assert_eq!(["out/d", "out/d/closed", "out/d/f"].map(mode), expected, "{umask}");
        fs::remove_dir_all(place.path("out")).unwrap();
    }
}

/// An archive may list a directory before the parent that closes it, and directories that cannot be written.
/// Permissions do not apply to root, who runs the program as another user.
#[test]
fn closed_directories_are_complete_or_removed() {
    let mut made = Builder::new(Vec::new());
    add_directory(&mut made, "a/b/c", 0o500);
    add_directory(&mut made, "a/b", 0);
    add_directory(&mut made, "a", 0o555);
    add_directory(&mut made, "e", 0o555);
    let place = sealed(&made.into_inner().unwrap());
    let mut made = Builder::new(Vec::new());
    add_directory(&mut made, "a/b", 0);
    add(&mut made, FILE, "a/b/f", "", b"data");
    add_directory(&mut made, "t", 0o700);
    place.write("late.tar", &made.into_inner().unwrap());
    place.run(&["encrypt", "--key-file", "k", "late.tar", "-o", "late.cg"]).printed();
    fs::create_dir(place.path("old")).unwrap();
    let into_old: Vec<_> = UNPACK.iter().map(|&word| if word == "out" { "old" } else { word }).collect();
    if !permissions_apply(&place) {
        return;
    }
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().mode() & 0o777;
    for (args, directory) in [(UNPACK.as_slice(), "out"), (&into_old, "old")] {
        as_user(&place, args).printed();
        let modes = ["a", "a/b", "a/b/c", "e"].map(|name| mode(&format!("{directory}/{name}")));
        assert_eq!(modes.map(|mode| mode | umask()), [0o555, 0, 0o500, 0o555].map(|mode| mode | umask()));
        assert_eq!(fs::metadata(place.path(&format!("{directory}/a/b"))).unwrap().mtime(), 1_000_000_000);
    }
    // The last check fails, and the closed directory is removed with the file in it.
    let place_of_late = ["decrypt", "--key-file", "k", "--tar", "late.cg", "-C", "old"];
    assert!(as_user(&place, &place_of_late).refused(5).contains("'old/a' exists"));
    assert_eq!(fs::read_dir(place.path("old")).unwrap().count(), 2);
}

fn add_directory(archive: &mut Builder<Vec<u8>>, name: &str, mode: u32) {
    let mut header = Header::new_gnu();
    header.set_entry_type(DIR);
    header.set_mode(mode);
    header.set_mtime(1_000_000_000);
    header.set_size(0);
    archive.append_data(&mut header, name, io::empty()).unwrap();
}

/// The umask of this process, which no test changes.
fn umask() -> u32 {
    let place = Place::new();
    fs::create_dir(place.path("d")).unwrap();
    !fs::metadata(place.path("d")).unwrap().mode() & 0o777
}

/// Root's files are given to another user here. Returns whether that user can run the program.
fn permissions_apply(place: &Place) -> bool {
    if fs::metadata(place.path(".")).unwrap().uid() != 0 {
        return true;
    }
    let given = Command::new("chown").args(["-R", USER]).arg(place.path(".")).status().unwrap().success();
    let can = given && as_user(place, &["--version"]).code == Some(0);
    if !can {
        println!("skipped: permissions (root cannot run the program as another user)");
    }
    can
}

const USER: &str = "65534";
/// Runs the program as a user to whom permissions apply.
fn as_user(place: &Place, args: &[&str]) -> Done {
    if fs::metadata(place.path(".")).unwrap().uid().to_string() != USER {
        return place.run(args);
    }
    let starter = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"];
    match through(place, &starter, args).output() {
        Ok(output) => output.into(),
        Err(error) => Done { code: None, out: Vec::new(), err: error.to_string() },
    }
}
