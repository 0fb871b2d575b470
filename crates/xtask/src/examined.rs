//! The release build for inspection: `asm` reads its assembly, and `taint` runs it under memcheck. One call
//! of cargo builds both.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::qemu::ARM;
use crate::{Result, artifacts, cargo, root, target};

/// The files that were built.
#[derive(Debug, Default)]
pub(crate) struct Examined {
    /// The assembly of the library, one file per codegen unit.
    pub(crate) assembly: Vec<PathBuf>,
    /// The example that declares key and data secret.
    pub(crate) taint: PathBuf,
}

/// Builds everything that is out of date.
///
/// # Errors
/// If the build fails.
pub(crate) fn build() -> Result<Examined> {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut build = cargo();
    build.env("RUSTFLAGS", format!("{flags} --emit asm -C symbol-mangling-version=v0"));
    build.args(["build", "--quiet", "--release"]);
    build.args(["--package", "crossgrain", "--package", "xtask", "--lib", "--example", "taint"]);
    build.arg("--target-dir").arg(root().join(target()).join("examined"));
    let mut examined = Examined::default();
    for artifact in artifacts(build)? {
        let executable = || artifact["executable"].as_str().map(PathBuf::from).unwrap_or_default();
        match (artifact["target"]["name"].as_str(), artifact["target"]["kind"][0].as_str()) {
            (Some("crossgrain"), Some("lib")) => examined.assembly = assembly(&artifact["filenames"]),
            (Some("taint"), Some("example")) => examined.taint = executable(),
            _ => {}
        }
    }
    Ok(examined)
}

/// The release assembly of the library with all of its features for 64-bit ARM, one file per codegen unit.
///
/// # Errors
/// If the build fails, or the target is not installed.
pub(crate) fn build_for_arm() -> Result<Vec<PathBuf>> {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut build = cargo();
    build.env("RUSTFLAGS", format!("{flags} --emit asm -C symbol-mangling-version=v0"));
    build.args(["build", "--quiet", "--release", "--package", "crossgrain", "--all-features", "--lib"]);
    build.args(["--target", ARM[0].target, "--target-dir"]).arg(root().join(target()).join("examined"));
    ARM[0].with_linker(&mut build);
    let built = artifacts(build)?;
    let library = built.iter().find(|artifact| artifact["target"]["name"] == "crossgrain");
    Ok(library.map(|artifact| assembly(&artifact["filenames"])).unwrap_or_default())
}

/// The assembly files next to a library's metadata file `libNAME-HASH.rmeta`. They are called
/// `NAME-HASH.UNIT.s`. The folder also contains those of other builds, and of the program, which has the same
/// name.
fn assembly(filenames: &Value) -> Vec<PathBuf> {
    let mut filenames = filenames.as_array().into_iter().flatten().filter_map(Value::as_str).map(Path::new);
    let Some(metadata) = filenames.find(|file| file.extension().is_some_and(|ending| ending == "rmeta"))
    else {
        return Vec::new();
    };
    let stem = metadata.file_stem().unwrap_or_default().to_string_lossy();
    let unit = format!("{}.", stem.trim_start_matches("lib"));
    let is_text = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&unit) && name.ends_with(".s")
    };
    let beside = metadata.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    beside.into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_text).collect()
}
