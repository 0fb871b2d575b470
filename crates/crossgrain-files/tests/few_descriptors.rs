//! Removal and errors when the process may open only a few files. The limit applies to the whole process, so
//! this is one test in a program of its own.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

use std::fs;
use std::io::Write as _;

use crossgrain_files::{Content, Error, NewTree, begin, finish_all};
use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::process::{Resource, getrlimit, setrlimit};

/// Runs `work` while new descriptors must be below `limit`.
fn limited<T>(limit: u64, work: impl FnOnce() -> T) -> T {
    let old = getrlimit(Resource::Nofile);
    let mut new = old;
    new.current = Some(limit);
    setrlimit(Resource::Nofile, new).unwrap();
    let done = work();
    setrlimit(Resource::Nofile, old).unwrap();
    done
}

/// A tree with 600 nested directories and a file in the deepest, below a directory without permissions.
fn deep_tree(folder: &std::path::Path) -> NewTree {
    let tree = NewTree::begin(&folder.join("out"), &mut |_| Ok(())).unwrap();
    let mut at = tree.staging().try_clone().unwrap();
    for _ in 0..600 {
        mkdirat(&at, "0", Mode::RWXU).unwrap();
        at = openat(&at, "0", OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap().into();
    }
    openat(&at, "plaintext", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
    rustix::fs::chmodat(tree.staging(), "0", Mode::empty(), rustix::fs::AtFlags::empty()).unwrap();
    tree
}

#[test]
fn a_deep_tree_is_removed_and_every_file_gets_the_error_of_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let tree = deep_tree(folder.path());
    limited(64, || drop(tree));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let tree = deep_tree(folder.path());
    let remover = tree.remover().unwrap();
    limited(64, || remover.remove()).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    drop(tree);

    let path = |name: &str| folder.path().join(name);
    let files = ["a", "b"].map(|name| {
        let file = begin(&path(name), false, Content::Key, &mut |_| Ok(())).unwrap();
        file.file().write_all(name.as_bytes()).unwrap();
        file
    });
    // The directory cannot be opened, so it is not synced.
    let done = limited(3, || finish_all(files.into()));
    assert!(matches!(done.as_slice(), [Err(Error::Io(_)), Err(Error::Io(_))]), "{done:?}");
}
