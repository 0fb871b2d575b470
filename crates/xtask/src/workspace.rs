//! The workspace in the ordinary profile: built once, with all that is optional, for the tests and the Python package.
//!
//! One call of cargo builds all of it. Calls for single packages do not agree on the features of what these depend on, and each would
//! compile the library once more.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Result, artifacts, cargo, root, target};

/// What is optional in the command line and the Python package.
pub(crate) const FEATURES: &str = "crossgrain-cli/gpu,crossgrain-py/gpu";

/// All that is compiled, but no benchmarks: by `--all-targets` every library would be compiled for those once more.
const TARGETS: &[&str] = &["--lib", "--bins", "--tests", "--examples"];

/// What was built.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) programs: Vec<TestProgram>,
    /// The native module of the Python package.
    pub(crate) module: PathBuf,
}

/// A program of tests.
#[derive(Debug)]
pub(crate) struct TestProgram {
    /// Its package and its own name, such as `crossgrain agree`.
    pub(crate) name: String,
    path: PathBuf,
    /// Of its package, where it expects to run.
    folder: PathBuf,
}

/// Builds what is not up to date.
///
/// # Errors
/// If it cannot be built.
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

/// The command line, once it is built.
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

    /// It runs as `cargo test` runs it; tests that pass show what they printed.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("--show-output").current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}
