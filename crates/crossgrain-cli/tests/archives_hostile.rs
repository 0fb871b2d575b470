//! Hostile, damaged and endless archives: nothing is unpacked, and nothing is written outside the destination.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod archived;
mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use archived::{DIR, FILE, HARD, LINK, Row, UNPACK, add, archive, names, sealed};
use common::{MIB, Place, painted};
use tar::{Builder, EntryType, Header};

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
        // The second link stays within by the names alone.
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
    // A loop leads nowhere, and a name that was in the folder before is not the archive's.
    let place = sealed(&archive(&[(LINK, "a", "b"), (LINK, "b", "a"), (LINK, "c", "later")]));
    place.run(&UNPACK).printed();
    let place = sealed(&archive(&[(LINK, "c", "mine/../../x")]));
    fs::create_dir(place.path("out")).unwrap();
    symlink("/tmp", place.path("out/mine")).unwrap();
    assert!(place.run(&UNPACK).refused(3).contains("leads outside"));
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
