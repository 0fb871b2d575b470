//! Files that appear complete or not at all, with the right permissions, and never at a path that another
//! user prepared.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use crossgrain_files::{
    Content, Error, NewFile, Stamp, begin, continued, is_same, open_special, resume, settled, unfinished,
};
use tempfile::TempDir;

fn begun(path: &Path, replace: bool, content: Content) -> Result<NewFile, Error> {
    begin(path, replace, content, &mut |_| Ok(()))
}

fn names(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_appears_when_it_is_finished_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let file = begun(&path, false, Content::Open).unwrap();
    file.file().write_all(b"all of it").unwrap();
    assert!(!path.exists());
    file.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"all of it");
    drop(begun(&path, true, Content::Open).unwrap());
    assert_eq!((names(&folder), fs::read(&path).unwrap()), (vec!["out".to_owned()], b"all of it".to_vec()));
}

#[test]
fn what_is_there_is_replaced_on_request_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    fs::write(&path, b"old").unwrap();
    assert!(matches!(begun(&path, false, Content::Open), Err(Error::Exists)));
    let file = begun(&path, true, Content::Open).unwrap();
    file.file().write_all(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    file.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    // A file that appears at the same path meanwhile stays.
    let (late, other) = (folder.path().join("late"), b"somebody else's");
    let file = begun(&late, false, Content::Open).unwrap();
    fs::write(&late, other).unwrap();
    assert!(matches!(file.finish(), Err(Error::Exists)));
    assert_eq!(fs::read(&late).unwrap(), other);
    let is_directory =
        |refusal| matches!(refusal, Error::Io(error) if error.kind() == io::ErrorKind::IsADirectory);
    assert!(is_directory(begun(folder.path(), true, Content::Open).unwrap_err()));
}

#[test]
fn a_file_is_kept_and_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let file = begun(&path, false, Content::Plaintext).unwrap();
    file.file().write_all(b"the beginning and more").unwrap();
    assert_eq!(file.keep(13).unwrap(), unfinished(&path));
    assert_eq!(fs::read(unfinished(&path)).unwrap(), b"the beginning");
    let file = resume(&path, false).unwrap();
    assert!(matches!(resume(&path, false), Err(Error::Busy)));
    let mut there = String::new();
    let mut handle = file.file();
    handle.read_to_string(&mut there).unwrap();
    assert_eq!(there, "the beginning");
    handle.write_all(b", and the end").unwrap();
    file.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"the beginning, and the end");
    assert_eq!(names(&folder), ["out"]);
    // An empty file is removed; a file that is to stay remains.
    drop(resume(&path, true).unwrap());
    assert_eq!(names(&folder), ["out"]);
    let mut file = resume(&path, true).unwrap();
    file.stay();
    drop(file);
    assert_eq!(names(&folder), ["out", "out.part"]);
    assert!(matches!(resume(folder.path(), true), Err(Error::NoFile)));
}

/// A second process may open the file before the first one finishes it, and lock it afterwards. It would then
/// write to the final file.
#[cfg(unix)]
#[test]
fn what_was_finished_meanwhile_is_not_gone_on_with() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    resume(&path, true).unwrap().finish().unwrap();
    let finish_many = || {
        for _ in 0..4000 {
            match resume(&path, true) {
                Ok(file) => {
                    let (unfinished, finished) =
                        (file.file().metadata().unwrap(), fs::metadata(&path).unwrap());
                    assert_ne!(unfinished.ino(), finished.ino());
                    file.finish().unwrap();
                }
                Err(error) => assert!(matches!(error, Error::Busy), "{error}"),
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(finish_many))));
}

#[test]
fn two_names_of_one_file_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    fs::write(&a, b"").unwrap();
    assert!(is_same(&a, &a) && !is_same(&a, &b));
    if cfg!(unix) {
        fs::hard_link(&a, &b).unwrap();
        assert!(is_same(&a, &b) && is_same(&folder.path().join("./c"), &folder.path().join("c")));
    }
}

#[test]
fn a_change_shows_in_the_stamp() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in");
    fs::write(&path, b"text").unwrap();
    let file = File::open(&path).unwrap();
    let before = Stamp::of(&settled(&file).unwrap());
    assert_eq!(before.len_bytes(), 4);
    assert!(before == Stamp::of(&file.metadata().unwrap()));
    fs::write(&path, b"Text").unwrap();
    assert!(before != Stamp::of(&file.metadata().unwrap()));
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    use std::time::{Duration, SystemTime};

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    /// In a directory that can be written but not read, the file is created without an error.
    #[test]
    fn a_file_is_finished_in_a_directory_that_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o300)).unwrap();
        if File::open(folder.path()).is_ok() {
            println!("skipped: a directory that cannot be read (this user reads all)");
        }
        let path = folder.path().join("out");
        for replace in [false, true] {
            let new = begin(&path, replace, Content::Open, &mut |_| Ok(())).unwrap();
            new.file().write_all(b"text").unwrap();
            new.finish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"text");
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }

    /// The time of modification may be set back. `settled` still waits until the time of change is from an
    /// earlier tick.
    #[test]
    fn a_time_that_was_set_back_settles_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in");
        for days in [-30_i64, 30] {
            fs::write(&path, b"text").unwrap();
            let now = SystemTime::now();
            let away = Duration::from_secs(86_400 * days.unsigned_abs());
            let set = if days < 0 { now - away } else { now + away };
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(set).unwrap();
            let found = settled(&file).unwrap();
            let changed = Duration::new(found.ctime() as u64, found.ctime_nsec() as u32);
            let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + changed).unwrap();
            assert!(age >= Duration::from_millis(15), "{age:?}");
        }
    }

    /// The umask belongs to the process, and no test here changes it.
    fn common_mode(folder: &TempDir) -> u32 {
        let path = folder.path().join("common");
        fs::write(&path, b"").unwrap();
        let common = mode(&path);
        fs::remove_file(&path).unwrap();
        common
    }

    #[test]
    fn rights_are_the_umasks_the_owners_or_those_of_what_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (path, common) = (folder.path().join("out"), common_mode(&folder));
        for (content, old, want) in [
            (Content::Open, None, common),
            (Content::Plaintext, None, 0o600),
            (Content::Key, None, 0o600),
            (Content::Open, Some(0o640), 0o640),
            (Content::Plaintext, Some(0o6755), 0o755),
            (Content::Key, Some(0o644), 0o600),
        ] {
            if let Some(old) = old {
                fs::write(&path, b"old").unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(old)).unwrap();
            }
            let file = begun(&path, true, content).unwrap();
            assert_eq!(file.file().metadata().unwrap().mode() & 0o7777, 0o600, "meanwhile");
            file.finish().unwrap();
            assert_eq!(mode(&path), want, "{content:?} {old:?}");
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_link_of_ones_own_stays_and_what_it_leads_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&path, b"old").unwrap();
        symlink("file", &link).unwrap();
        assert!(matches!(begun(&link, false, Content::Open), Err(Error::Exists)));
        let file = begun(&link, true, Content::Open).unwrap();
        file.file().write_all(b"new").unwrap();
        file.finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        // A dangling link counts as an existing file.
        let nowhere = folder.path().join("nowhere");
        symlink("missing", &nowhere).unwrap();
        assert!(matches!(begun(&nowhere, false, Content::Open), Err(Error::Exists)));
    }

    #[test]
    fn what_may_be_anothers_work_is_not_continued() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["out.part", "other"].map(|name| folder.path().join(name));
        let refused = || match continued(File::options().read(true).write(true), &path) {
            Err(Error::Unsafe(why)) => why,
            other => panic!("{other:?}"),
        };
        fs::write(&path, b"").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(refused().contains("others"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::hard_link(&path, &other).unwrap();
        assert!(refused().contains("more than one name"));
        fs::remove_file(&path).unwrap();
        symlink(&other, &path).unwrap();
        assert!(refused().contains("symbolic link"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let refused = continued(File::options().read(true), &path);
        assert!(refused.is_err());
    }

    #[test]
    fn pipes_and_devices_are_opened_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert!(open_special(&path).unwrap().is_none());
        fs::write(&path, b"").unwrap();
        assert!(open_special(&path).unwrap().is_none());
        open_special(Path::new("/dev/null")).unwrap().unwrap().write_all(b"gone").unwrap();
        assert!(matches!(begun(Path::new("/dev/null"), true, Content::Open), Err(Error::NoFile)));
    }

    /// Only root can change the owner of a file.
    #[test]
    fn what_another_user_put_there_is_refused_and_says_nothing_of_rights() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["out", "link"].map(|name| folder.path().join(name));
        fs::write(&path, b"planted").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        symlink("out", &link).unwrap();
        let given = std::os::unix::fs::chown(&path, Some(12345), Some(12345))
            .and_then(|()| std::os::unix::fs::lchown(&link, Some(12345), Some(12345)));
        if let Err(error) = given {
            println!("skipped: files of other users ({error})");
            return;
        }
        assert!(matches!(begun(&link, true, Content::Plaintext), Err(Error::ForeignLink)));
        begun(&path, true, Content::Plaintext).unwrap().finish().unwrap();
        assert_eq!((mode(&path), fs::metadata(&path).unwrap().uid()), (0o600, 0));
    }
}
