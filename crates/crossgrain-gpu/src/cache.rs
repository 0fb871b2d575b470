//! A cache on disk for compiled programs. Its key is the digest of all compiler inputs.
//!
//! A file starts with the digest of the rest, so a truncated or accidentally changed file is ignored. This
//! does not protect against an attacker. An attacker with write access to the user's cache could also
//! replace the user's executables. Programs contain no keys.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use crossgrain::engine::auxiliary;
use sha2::{Digest, Sha256};

/// Maximum length of a program that is read. A longer file is cut here, and its digest then does not match.
const PROGRAM_BYTES_MAX: u64 = 1 << 28;

/// The cache's folder: `crossgrain/programs` in the user's cache folder. `None` if the user has no such
/// folder.
pub(super) fn folder() -> Option<PathBuf> {
    let path = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // The XDG specification requires that relative paths are ignored.
    let cache = path("XDG_CACHE_HOME").filter(|cache| cache.is_absolute());
    Some(cache.or_else(|| Some(path("HOME")?.join(".cache")))?.join("crossgrain").join("programs"))
}

/// Returns the cached program for `parts`. If none is cached, calls `make` and stores the result. A folder
/// that cannot be used is not an error.
pub(super) fn kept<E>(
    folder: Option<&Path>,
    parts: &[&str],
    make: impl FnOnce() -> Result<String, E>,
) -> Result<String, E> {
    let Some(folder) = folder else { return make() };
    let path = folder.join(digest(parts));
    if let Some(program) = read(&path) {
        return Ok(program);
    }
    let program = make()?;
    let _ = write(&path, &program);
    Ok(program)
}

fn read(path: &Path) -> Option<String> {
    let text = String::from_utf8(auxiliary::read(path, PROGRAM_BYTES_MAX).ok()?).ok()?;
    let (told, program) = text.split_once('\n')?;
    (told == digest(&[program])).then(|| program.to_owned())
}

/// Writes a temporary file and renames it, so that readers never see an incomplete file.
fn write(path: &Path, program: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension(format!("tmp.{}", process::id()));
    let written = fs::write(&beside, format!("{}\n{program}", digest(&[program])));
    written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// SHA-256 of the texts and their lengths, in hex.
fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn a_program_is_made_once_and_again_when_its_file_is_damaged() {
        let folder = env::temp_dir().join(format!("crossgrain-programs-{}", process::id()));
        let mut made = 0;
        let mut ask = |parts: &[&str]| {
            let make = || {
                made += 1;
                Ok::<_, ()>(format!("program {made}\nof two lines"))
            };
            kept(Some(&folder), parts, make).unwrap()
        };
        assert_eq!(ask(&["text", "sm_90"]), "program 1\nof two lines");
        assert_eq!(ask(&["text", "sm_90"]), "program 1\nof two lines");
        assert_eq!(ask(&["text", "sm_80"]), "program 2\nof two lines");
        assert_eq!(ask(&["tex", "tsm_90"]), "program 3\nof two lines");
        for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let mut text = fs::read(&file).unwrap();
            text.pop();
            fs::write(&file, text).unwrap();
        }
        assert_eq!(ask(&["text", "sm_90"]), "program 4\nof two lines");
        assert_eq!(ask(&["text", "sm_90"]), "program 4\nof two lines");
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(kept(None, &[], || Err::<String, _>("refused")), Err("refused"));
    }
}
