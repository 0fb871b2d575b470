//! Archives for the tests of directories: made by hand, encrypted, and listed after they are unpacked.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::Path;
use std::process::{Command, Stdio};

use tar::{Builder, EntryType, Header};

use crate::common::{Done, Place};

pub(crate) const UNPACK: [&str; 7] = ["decrypt", "--key-file", "k", "--tar", "in.cg", "-C", "out"];
pub(crate) const FILE: EntryType = EntryType::Regular;
pub(crate) const LINK: EntryType = EntryType::Symlink;
pub(crate) const HARD: EntryType = EntryType::Link;
pub(crate) const DIR: EntryType = EntryType::Directory;

pub(crate) fn keyed() -> Place {
    let place = Place::new();
    place.run(&["keygen", "-o", "k"]).printed();
    place
}

/// A place with an encrypted archive `in.cg`, as it comes.
pub(crate) fn sealed(archive: &[u8]) -> Place {
    let place = keyed();
    place.write("in.tar", archive);
    place.run(&["encrypt", "--key-file", "k", "in.tar", "-o", "in.cg"]).printed();
    place
}

/// Appends a member. Its name and target are not checked.
pub(crate) fn add(archive: &mut Builder<Vec<u8>>, kind: EntryType, name: &str, target: &str, data: &[u8]) {
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

pub(crate) type Row<'a> = (EntryType, &'a str, &'a str);

pub(crate) fn archive(rows: &[Row<'_>]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for &(kind, name, target) in rows {
        add(&mut archive, kind, name, target, if kind == EntryType::Regular { b"data" } else { b"" });
    }
    archive.into_inner().unwrap()
}

/// All entries of a tree: path, kind, mode, time and target; then lengths, numbers of names and sums of files.
pub(crate) fn listing(root: &Path) -> Vec<String> {
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
pub(crate) fn names(root: &Path) -> Vec<String> {
    let lines = listing(root).into_iter().filter(|line| line.contains('|'));
    let mut names: Vec<_> = lines.map(|line| line.split('|').next().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// The program under another umask.
pub(crate) fn with_umask(place: &Place, umask: &str, args: &[&str]) -> Done {
    let shell = ["sh", "-c", r#"umask "$0" && exec "$@""#, umask];
    through(place, &shell, args).output().unwrap().into()
}

/// The program, started by another one.
pub(crate) fn through(place: &Place, starter: &[&str], args: &[&str]) -> Command {
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
