//! Directories in one encrypted file: round trips, agreement with GNU tar, and hostile archives.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod common;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Done, MIB, Place, painted};
use tar::{Builder, EntryType, Header};

const UNPACK: [&str; 7] = ["decrypt", "--key-file", "k", "--tar", "in.cg", "-C", "out"];

fn keyed() -> Place {
    let place = Place::new();
    place.run(&["keygen", "-o", "k"]).printed();
    place
}

/// A place with an encrypted archive `in.cg`, as it comes.
fn sealed(archive: &[u8]) -> Place {
    let place = keyed();
    place.write("in.tar", archive);
    place.run(&["encrypt", "--key-file", "k", "in.tar", "-o", "in.cg"]).printed();
    place
}

/// Appends a member. Its name and target are not checked.
fn add(archive: &mut Builder<Vec<u8>>, kind: EntryType, name: &str, target: &str, data: &[u8]) {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_link_name_literal(target).unwrap();
    header.set_mode(0o644);
    header.set_mtime(1_000_000_000);
    header.set_size(data.len() as u64);
    header.set_cksum();
    archive.append(&header, data).unwrap();
}

type Row<'a> = (EntryType, &'a str, &'a str);

fn archive(rows: &[Row<'_>]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for &(kind, name, target) in rows {
        add(&mut archive, kind, name, target, if kind == EntryType::Regular { b"data" } else { b"" });
    }
    archive.into_inner().unwrap()
}

/// All entries of a tree: path, kind, mode, time and target; then lengths, numbers of names and sums of files.
fn listing(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let entries: &[&str] = &["-mindepth", "1", "-printf", r"%P|%y|%m|%T@|%l|\n"];
    let files: &[&str] = &["-type", "f", "-printf", r"%P %s %n\n"];
    let sums: &[&str] = &["-type", "f", "-exec", "md5sum", "--", "{}", "+"];
    for arguments in [entries, files, sums] {
        let found = Command::new("find").arg(root).args(arguments).output().unwrap();
        assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
        let root = format!("{}/", root.display());
        let text = String::from_utf8_lossy(&found.stdout).replace(&root, "");
        lines.extend(text.lines().map(str::to_owned));
    }
    lines.sort();
    lines
}

/// The names in a tree.
fn names(root: &Path) -> Vec<String> {
    let lines = listing(root).into_iter().filter(|line| line.contains('|'));
    let mut names: Vec<_> = lines.map(|line| line.split('|').next().unwrap().to_owned()).collect();
    names.sort();
    names
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

const FILE: EntryType = EntryType::Regular;
const LINK: EntryType = EntryType::Symlink;
const HARD: EntryType = EntryType::Link;
const DIR: EntryType = EntryType::Directory;

#[test]
fn hostile_members_are_refused_and_leave_nothing() {
    let cases: &[(&str, &[Row<'_>])] = &[
        ("'..'", &[(FILE, "../out-side", "")]),
        ("'..'", &[(FILE, "a/../../b", "")]),
        ("'..'", &[(DIR, "..", "")]),
        ("absolute", &[(FILE, "/tmp/crossgrain-escaped", "")]),
        ("absolute", &[(DIR, "/", "")]),
        ("leads outside", &[(LINK, "l", "/etc/passwd")]),
        ("leads outside", &[(LINK, "l", "..")]),
        ("leads outside", &[(DIR, "d", ""), (LINK, "d/l", "../../x")]),
        ("leads outside", &[(LINK, "l", "missing/../..")]),
        // By the names alone, the second link stays within.
        ("leads outside", &[(DIR, "d", ""), (LINK, "d/l", ".."), (LINK, "m", "d/l/../x")]),
        ("leads outside", &[(LINK, "a", "b"), (LINK, "b", "c"), (LINK, "c", "../out")]),
        ("through the link 'l'", &[(DIR, "d", ""), (LINK, "l", "d"), (FILE, "l/f", "")]),
        ("through the link 'l'", &[(LINK, "l", "/tmp"), (FILE, "l/crossgrain-escaped", "")]),
        ("through the link 'l'", &[(LINK, "l", "/tmp"), (DIR, "l/crossgrain-escaped", "")]),
        ("occurs twice", &[(FILE, "l/f", ""), (LINK, "l", "/tmp")]),
        ("occurs twice", &[(LINK, "l", "/tmp/x"), (FILE, "l", "")]),
        ("occurs twice", &[(LINK, "l", "a"), (LINK, "l", "b")]),
        ("occurs twice", &[(FILE, "f", ""), (FILE, "./f", "")]),
        ("occurs twice", &[(FILE, "f", ""), (DIR, "f", "")]),
        ("occurs twice", &[(LINK, "l/m", "x"), (LINK, "l", "/tmp")]),
        ("through the link 'l'", &[(LINK, "l", "x"), (LINK, "l.txt", "x"), (LINK, "l/m", "x")]),
        ("hard link that leads outside", &[(HARD, "h", "/etc/passwd")]),
        ("hard link that leads outside", &[(HARD, "h", "../k")]),
        ("no file before it", &[(HARD, "h", "f"), (FILE, "f", "")]),
        ("no file before it", &[(DIR, "d", ""), (HARD, "h", "d")]),
        ("no file before it", &[(LINK, "l", "/etc"), (HARD, "h", "l/passwd")]),
        ("device", &[(EntryType::Char, "null", "")]),
        ("device", &[(EntryType::Block, "sda", "")]),
        ("named pipe", &[(EntryType::Fifo, "p", "")]),
        ("cannot be unpacked", &[(EntryType::new(b'V'), "volume", "")]),
        ("no name", &[(FILE, "./", ""), (FILE, ".", "")]),
        ("without a target", &[(LINK, "l", "")]),
    ];
    for (why, rows) in cases {
        let mut all = vec![(FILE, "before", "")];
        all.extend_from_slice(rows);
        let place = sealed(&archive(&all));
        let line = place.refuses(3, &UNPACK);
        assert!(line.contains(why), "{rows:?}: {line}");
        // An existing directory stays as it is.
        fs::create_dir(place.path("out")).unwrap();
        place.write("out/mine", b"mine");
        let line = place.run(&UNPACK).refused(3);
        assert!(line.contains(why), "{rows:?}: {line}");
        assert_eq!(names(&place.path("out")), ["mine"]);
    }
    assert!(!Path::new("/tmp/crossgrain-escaped").exists());
}

#[test]
fn links_that_lead_outside_are_unpacked_on_request() {
    let rows = [(DIR, "d", ""), (LINK, "d/l", "/nowhere/x"), (LINK, "up", "../k"), (HARD, "twin", "d/l")];
    let place = sealed(&archive(&rows));
    place.run(&[UNPACK.as_slice(), &["--outside-links"]].concat()).printed();
    for (name, target) in [("out/d/l", "/nowhere/x"), ("out/up", "../k"), ("out/twin", "/nowhere/x")] {
        assert_eq!(fs::read_link(place.path(name)).unwrap(), Path::new(target));
    }
    // Even so, nothing is written through them.
    let place = sealed(&archive(&[(LINK, "l", "/tmp"), (FILE, "l/crossgrain-escaped", "")]));
    place.refuses(3, &[UNPACK.as_slice(), &["--outside-links"]].concat());
    // A loop leads nowhere, and a name beside the archive's own is not its own.
    let place = sealed(&archive(&[(LINK, "a", "b"), (LINK, "b", "a"), (LINK, "c", "later")]));
    place.run(&UNPACK).printed();
    let place = sealed(&archive(&[(LINK, "c", "mine/../../x")]));
    fs::create_dir(place.path("out")).unwrap();
    symlink("/tmp", place.path("out/mine")).unwrap();
    assert!(place.run(&UNPACK).refused(3).contains("leads outside"));
}

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

#[test]
fn damaged_containers_and_archives_leave_nothing() {
    let mut made = Builder::new(Vec::new());
    for number in 0..40 {
        add(&mut made, FILE, &format!("d/{number}"), "", &painted(5000, number));
    }
    let made = made.into_inner().unwrap();
    let place = sealed(&made);
    let whole = place.read("in.cg");
    fs::create_dir(place.path("old")).unwrap();
    place.write("old/mine", b"mine");
    let into_old: Vec<_> = UNPACK.iter().map(|&word| if word == "out" { "old" } else { word }).collect();
    let flipped = |at: usize| {
        let mut file = whole.clone();
        file[at] ^= 1;
        file
    };
    let cut = 69 + 5 * (16_384 + 16);
    let damaged = [
        (3, flipped(whole.len() - 1)),
        (3, flipped(whole.len() - 20_000)),
        (4, whole[..cut].to_vec()),
        (3, whole[..cut + 99].to_vec()),
    ];
    for (code, file) in damaged {
        place.write("in.cg", &file);
        place.refuses(code, &UNPACK);
        place.refuses(code, &into_old);
        assert_eq!(names(&place.path("old")), ["mine"]);
    }
    // The container is authentic, and the archive in it is not whole.
    for (end, why) in [(512 + 100, "is cut off"), (512 * 11 + 7, "no readable tar archive")] {
        let place = sealed(&made[..end]);
        let line = place.refuses(3, &UNPACK);
        assert!(line.contains(why), "{line}");
    }
    let place = sealed(&painted(5000, 1));
    assert!(place.refuses(3, &UNPACK).contains("leave out --tar"));
    place.run(&["keygen", "-o", "other"]).printed();
    let other: Vec<_> = UNPACK.iter().map(|&word| if word == "k" { "other" } else { word }).collect();
    assert!(place.refuses(2, &other).contains("wrong"));
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

/// Names and tables are held in memory, so their length is limited.
#[test]
fn endless_names_are_refused() {
    for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
        let mut made = Builder::new(Vec::new());
        add(&mut made, kind, "x", "", &vec![b'x'; 5 * MIB]);
        add(&mut made, FILE, "f", "", b"");
        let place = sealed(&made.into_inner().unwrap());
        assert!(place.refuses(3, &UNPACK).contains("too long"), "{kind:?}");
    }
    // Records that cannot be read would leave a wrong name.
    let mut made = Builder::new(Vec::new());
    add(&mut made, EntryType::XHeader, "x", "", b"12 path=a\nbc\n");
    add(&mut made, FILE, "f", "", b"");
    assert!(sealed(&made.into_inner().unwrap()).refuses(3, &UNPACK).contains("no readable tar archive"));
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

/// A link that is created through another one would be outside, even if the archive is refused later.
#[test]
fn links_are_not_created_through_links() {
    let outside = Place::new();
    let target = outside.path(".").into_os_string().into_string().unwrap();
    for kind in [LINK, HARD] {
        let place = sealed(&archive(&[(LINK, "l/m", "x"), (LINK, "k", &target), (kind, "l", "k")]));
        let (code, options) = (3, [UNPACK.as_slice(), &["--outside-links"]].concat());
        assert!(place.refuses(code, &UNPACK).contains("'l' occurs twice"));
        assert!(place.refuses(code, &options).contains("'l' occurs twice"));
    }
    assert!(outside.look().is_empty());
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

/// The program under another umask.
fn with_umask(place: &Place, umask: &str, args: &[&str]) -> Done {
    let shell = ["sh", "-c", r#"umask "$0" && exec "$@""#, umask];
    through(place, &shell, args).output().unwrap().into()
}

/// The program, started by another one.
fn through(place: &Place, starter: &[&str], args: &[&str]) -> Command {
    let program = place.command(args);
    let mut command = Command::new(starter[0]);
    command.args(&starter[1..]).arg(program.get_program()).args(args);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(place.path(".")).stdin(Stdio::null());
    command
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

/// Names are kept in memory, and deep trees take descriptors.
#[test]
fn long_and_deep_names_are_refused() {
    let long = "x/".repeat(2048);
    let cases = [
        (FILE, "f".repeat(4096), String::new(), "a name of more than 4095 bytes"),
        (FILE, "d/".repeat(256) + "f", String::new(), "more than 256 directories deep"),
        (LINK, "l".to_owned(), long.clone(), "a target of more than 4095 bytes"),
        (HARD, "h".to_owned(), long, "a target of more than 4095 bytes"),
    ];
    for (kind, name, target, why) in cases {
        let mut made = Builder::new(Vec::new());
        add(&mut made, EntryType::GNULongName, "x", "", name.as_bytes());
        if !target.is_empty() {
            add(&mut made, EntryType::GNULongLink, "x", "", target.as_bytes());
        }
        add(&mut made, kind, "x", "", b"");
        let line = sealed(&made.into_inner().unwrap()).refuses(3, &UNPACK);
        assert!(line.contains(why) && line.len() < 500, "{line}");
    }
    let mut made = Builder::new(Vec::new());
    add(&mut made, EntryType::GNULongName, "x", "", ("d/".repeat(255) + "f").as_bytes());
    add(&mut made, FILE, "x", "", b"");
    let place = sealed(&made.into_inner().unwrap());
    place.run(&UNPACK).printed();
    // A tree that could not be unpacked is not packed.
    fs::create_dir_all(place.path(&format!("out/{}", "d/".repeat(257)))).unwrap();
    let line = place.refuses(1, &["encrypt", "--key-file", "k", "--tar", "out", "-o", "x"]);
    assert!(line.contains("more than 256 directories deep"), "{line}");
}

/// A sparse file with one byte at its end.
fn add_sparse(archive: &mut Builder<Vec<u8>>, name: &str, len_bytes: u64) {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNUSparse);
    header.set_path(name).unwrap();
    header.set_mode(0o644);
    header.set_size(1);
    let gnu = header.as_gnu_mut().unwrap();
    let number = |field: &mut [u8; 12], number: u64| {
        field.copy_from_slice(&[0; 12]);
        field[0] = 0x80;
        field[4..].copy_from_slice(&number.to_be_bytes());
    };
    number(&mut gnu.sparse[0].offset, len_bytes - 1);
    number(&mut gnu.sparse[0].numbytes, 1);
    number(&mut gnu.realsize, len_bytes);
    header.set_cksum();
    archive.append(&header, b"x".as_slice()).unwrap();
}

/// The zeros of sparse files take time to write, whether in one file or in many.
#[test]
fn holes_are_limited() {
    let (most, gib) = ((1 << 30) + 1000 * 1024, 1 << 30);
    for files in [&[1 << 40][..], &[most + 1001], &[gib / 2, gib / 2, 8 << 20]] {
        let mut made = Builder::new(Vec::new());
        for (number, &len_bytes) in files.iter().enumerate() {
            add_sparse(&mut made, &number.to_string(), len_bytes);
        }
        let line = sealed(&made.into_inner().unwrap()).refuses(3, &UNPACK);
        assert!(line.contains("too large holes"), "{files:?}: {line}");
    }
    let mut made = Builder::new(Vec::new());
    add_sparse(&mut made, "f", 1 << 27);
    let place = sealed(&made.into_inner().unwrap());
    place.run(&UNPACK).printed();
    let found = fs::metadata(place.path("out/f")).unwrap();
    assert!(found.len() == 1 << 27 && found.blocks() * 512 < MIB as u64);
}

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
