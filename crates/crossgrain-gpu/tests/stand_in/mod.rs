//! A stand-in for NVIDIA's driver and run-time compiler: `driver.cpp`, which runs programs on the host. It
//! tests all calls to them, and the handling of their failures, on any machine.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{fs, process};

const DRIVER: &str = include_str!("driver.cpp");
const PROGRAM: &str = include_str!("program.h");

/// The folder with the libraries, built at the first call. `None` without a compiler for them.
fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(made).as_deref()
}

fn made() -> Option<PathBuf> {
    if !cfg!(target_os = "linux") || Command::new("c++").arg("--version").output().is_err() {
        eprintln!("skipped: a driver that stands in for CUDA's takes Linux and a C++ compiler");
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (DRIVER, PROGRAM).hash(&mut hasher);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stand-in-{:x}", hasher.finish()));
    let library = folder.join("libcuda.so");
    if !library.exists() {
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("driver.cpp"), DRIVER).unwrap();
        fs::write(folder.join("program.h"), PROGRAM).unwrap();
        let mine = folder.join(format!("mine.{}", process::id()));
        let options = [
            "-std=c++17",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            "driver.cpp",
            "-ldl",
            "-o",
        ];
        let status = Command::new("c++").args(options).arg(&mine).current_dir(&folder).status();
        assert!(status.unwrap().success());
        fs::copy(&mine, folder.join("libnvrtc.so")).unwrap();
        fs::rename(&mine, library).unwrap();
    }
    Some(folder)
}

/// Lets a program find only the stand-in, which is intact or has this fault. Returns false if the stand-in
/// cannot be built.
pub(crate) fn lent_to(command: &mut Command, fault: &str) -> bool {
    let Some(folder) = folder() else { return false };
    command.env("LD_LIBRARY_PATH", folder).env("STAND_IN", fault).env("XDG_CACHE_HOME", folder);
    command.env("VK_DRIVER_FILES", "/nowhere").env("VK_ICD_FILENAMES", "/nowhere");
    command.env("CROSSGRAIN_REQUIRE", "cuda");
    true
}

/// Runs the selected tests of this program again with the stand-in as driver. Returns whether the stand-in
/// exists. If `texts` is given, all program texts are written to it, and no programs are cached from other
/// runs.
#[track_caller]
pub(crate) fn again(tests: &[&str], texts: Option<&Path>) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let is_lent = lent_to(command.args(tests).arg("--nocapture"), "");
    if let Some(texts) = texts {
        command.env("STAND_IN_TEXTS", texts).env("XDG_CACHE_HOME", texts);
    }
    if is_lent {
        let done = command.output().unwrap();
        let [out, err] = [&done.stdout, &done.stderr].map(|told| String::from_utf8_lossy(told));
        assert!(done.status.success(), "{out}\n{err}");
        println!("{out}");
    }
    is_lent
}
