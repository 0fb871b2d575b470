//! Directory trees that appear complete or not at all, and files that are completed together.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use crossgrain_files::{Content, Error, NewTree, begin, finish_all};
use rustix::fs::{Mode, OFlags, mkdirat, openat};

/// Begins a tree, and gives the path of its staging directory.
fn begun(destination: &Path) -> Result<(NewTree, PathBuf), Error> {
    let mut staging = PathBuf::new();
    let tree = NewTree::begin(destination, &mut |path| {
        path.clone_into(&mut staging);
        Ok(())
    })?;
    Ok((tree, staging))
}

fn write(tree: &NewTree, name: &str, data: &[u8]) {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let file = openat(tree.staging(), name, flags, Mode::RWXU).unwrap();
    File::from(file).write_all(data).unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_directory_appears_when_it_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (tree, staging) = begun(&out).unwrap();
    assert_eq!(fs::metadata(&staging).unwrap().mode() & 0o777, 0o700);
    assert!(!tree.is_in_existing() && tree.is_free("a".as_ref()).unwrap());
    write(&tree, "a", b"all");
    assert!(!out.exists());
    let made = tree.finish().unwrap();
    assert_eq!((names(folder.path()), names(&out)), (vec!["out".to_owned()], vec!["a".to_owned()]));
    assert_eq!(made.metadata().unwrap().ino(), fs::metadata(&out).unwrap().ino());
    // A directory that appears meanwhile stays, even an empty one.
    let late = folder.path().join("late");
    let (tree, _) = begun(&late).unwrap();
    fs::create_dir(&late).unwrap();
    assert!(matches!(tree.finish(), Err(Error::Exists)));
    assert_eq!((names(folder.path()).len(), names(&late).len()), (2, 0));
}

#[test]
fn entries_join_an_existing_directory_all_or_none() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), b"mine").unwrap();
    let (tree, _) = begun(folder.path()).unwrap();
    assert!(tree.is_in_existing() && !tree.is_free("mine".as_ref()).unwrap());
    for name in ["a", "b", "c", "d"] {
        write(&tree, name, b"new");
    }
    // It appears after the names were checked.
    fs::write(folder.path().join("c"), b"late").unwrap();
    assert!(matches!(tree.finish(), Err(Error::Exists)));
    assert_eq!(names(folder.path()), ["c", "mine"]);
    assert_eq!(fs::read(folder.path().join("c")).unwrap(), b"late");
    let (tree, _) = begun(folder.path()).unwrap();
    write(&tree, "a", b"new");
    mkdirat(tree.staging(), "b", Mode::RWXU).unwrap();
    let made = tree.finish().unwrap();
    assert_eq!(names(folder.path()), ["a", "b", "c", "mine"]);
    assert_eq!(made.metadata().unwrap().ino(), fs::metadata(folder.path()).unwrap().ino());
}

#[test]
fn a_dropped_tree_is_removed_and_no_other_directory() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (tree, _) = begun(&out).unwrap();
    mkdirat(tree.staging(), "d", Mode::RWXU).unwrap();
    write(&tree, "d/f", b"part");
    drop(tree);
    assert!(names(folder.path()).is_empty());
    // Another directory was put in its place.
    let (tree, staging) = begun(&out).unwrap();
    fs::rename(&staging, folder.path().join("away")).unwrap();
    fs::create_dir(&staging).unwrap();
    fs::write(staging.join("precious"), b"").unwrap();
    drop(tree);
    assert!(staging.join("precious").exists());
    let (tree, staging) = begun(&out).unwrap();
    fs::rename(&staging, folder.path().join("away-too")).unwrap();
    fs::create_dir(&staging).unwrap();
    assert!(matches!(tree.finish(), Err(Error::Busy)));
}

/// If entries appear while the tree is finished, all of them are moved, or none and all are removed.
#[test]
fn entries_of_another_thread_do_not_stay_behind() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let (tree, staging) = begun(folder.path()).unwrap();
        let writer = std::thread::spawn(move || {
            let mut written = 0;
            while written < 2000 && File::create_new(staging.join(written.to_string())).is_ok() {
                written += 1;
            }
            written
        });
        while fs::metadata(tree.path().join("20")).is_err() {}
        let done = tree.finish();
        let written = writer.join().unwrap();
        let after = names(folder.path());
        assert!(!after.iter().any(|name| name.starts_with(".crossgrain")), "{after:?}");
        assert_eq!(after.len(), if done.is_ok() { written } else { 0 });
    }
}

#[test]
fn a_remover_removes_an_unfinished_tree_only() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (tree, staging) = begun(&out).unwrap();
    write(&tree, "a", b"part");
    let remover = tree.remover().unwrap();
    // Another directory was put in its place.
    fs::rename(&staging, folder.path().join("away")).unwrap();
    fs::create_dir(&staging).unwrap();
    fs::write(staging.join("precious"), b"").unwrap();
    remover.remove().unwrap();
    assert!(staging.join("precious").exists());
    fs::remove_dir_all(&staging).unwrap();
    fs::rename(folder.path().join("away"), &staging).unwrap();
    remover.remove().unwrap();
    assert!(names(folder.path()).is_empty());
    drop(tree);
    let (tree, _) = begun(&out).unwrap();
    write(&tree, "a", b"all");
    let remover = tree.remover().unwrap();
    tree.finish().unwrap();
    remover.remove().unwrap();
    assert_eq!(names(&out), ["a"]);
}

#[test]
fn bad_destinations_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let kind = |path: &Path| match begun(path) {
        Err(Error::Io(error)) => error.kind(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(&file), io::ErrorKind::NotADirectory);
    assert_eq!(kind(&folder.path().join("no/where")), io::ErrorKind::NotFound);
    assert!(matches!(begun(&folder.path().join("missing/..")), Err(Error::NoFile | Error::Io(_))));
    let link = folder.path().join("link");
    symlink(folder.path(), &link).unwrap();
    let (tree, _) = begun(&link).unwrap();
    write(&tree, "a", b"");
    tree.finish().unwrap();
    assert_eq!(names(folder.path()), ["a", "file", "link"]);
}

#[test]
fn several_files_are_finished_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let files = ["a", "b", "c"].map(|name| {
        let file = begin(&path(name), false, Content::Key, &mut |_| Ok(())).unwrap();
        file.file().write_all(name.as_bytes()).unwrap();
        file
    });
    fs::write(path("b"), b"late").unwrap();
    let done = finish_all(files.into());
    assert!(matches!(done.as_slice(), [Ok(()), Err(Error::Exists), Ok(())]), "{done:?}");
    assert_eq!(["a", "b", "c"].map(|name| fs::read_to_string(path(name)).unwrap()), ["a", "late", "c"]);
    assert_eq!(fs::metadata(path("a")).unwrap().mode() & 0o777, 0o600);
    assert!(finish_all(Vec::new()).is_empty());
}
