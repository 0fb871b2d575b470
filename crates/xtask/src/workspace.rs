//! The build of the workspace in the ordinary profile, with all optional features, for the tests and the
//! Python package.
//!
//! One call of cargo builds everything. Calls for single packages would resolve different features, and each
//! would compile the library again.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Result, artifacts, cargo, root, target};

/// The optional features of the command line and the Python package.
pub(crate) const FEATURES: &str = "crossgrain-cli/gpu,crossgrain-py/gpu";

/// All targets except benchmarks. `--all-targets` would compile every library once more for those.
const TARGETS: &[&str] = &["--lib", "--bins", "--tests", "--examples"];

/// The files that were built.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) programs: Vec<TestProgram>,
    /// The native module of the Python package.
    pub(crate) module: PathBuf,
}

/// A test program.
#[derive(Debug)]
pub(crate) struct TestProgram {
    /// Its package and its name, for example `crossgrain agree`.
    pub(crate) name: String,
    path: PathBuf,
    /// The folder of its package, in which it must run.
    folder: PathBuf,
}

/// Builds everything that is out of date.
///
/// # Errors
/// If the build fails.
pub(crate) fn build() -> Result<Built> {
    let mut build = cargo();
    build.args(["build", "--workspace", "--features", FEATURES]).args(TARGETS);
    let mut built = Built::default();
    for artifact in artifacts(build)? {
        let target = &artifact["target"];
        if artifact["profile"]["test"] == true {
            built.programs.extend(TestProgram::of(&artifact));
        } else if target["name"] == "_native" {
            let module = artifact["filenames"].as_array().and_then(|files| files.first()?.as_str());
            built.module = module.map(PathBuf::from).unwrap_or_default();
        }
    }
    Ok(built)
}

/// The path of the command line after a build.
pub(crate) fn program() -> PathBuf {
    root().join(target()).join("debug/crossgrain")
}

impl TestProgram {
    fn of(artifact: &Value) -> Option<Self> {
        let path = PathBuf::from(artifact["executable"].as_str()?);
        let folder = Path::new(artifact["manifest_path"].as_str()?).parent()?.to_owned();
        let package = folder.file_name()?.to_string_lossy();
        let name = format!("{package} {}", artifact["target"]["name"].as_str()?);
        Some(Self { name, path, folder })
    }

    /// The command that `cargo test` would use. Passing tests show their output.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("--show-output").current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}
