//! `--version`: the version, how the program was built, and the instructions that it uses here.

use crossgrain::Features;

/// The text after the program's name. `-V` prints only the first line.
pub(crate) fn long() -> String {
    let features = if cfg!(feature = "gpu") { "gpu" } else { "none" };
    // The fuzz target is built without this package's build script.
    let target = option_env!("CROSSGRAIN_TARGET").unwrap_or("unknown");
    let compiler = option_env!("CROSSGRAIN_RUSTC").filter(|version| !version.is_empty()).unwrap_or("unknown");
    let instructions = match Features::from_environment() {
        Ok(features) => features.to_string(),
        Err(error) => error.to_string(),
    };
    format!(
        "{}\nfeatures: {features}\ntarget: {target}\ninstructions: {instructions}\ncompiler: {compiler}",
        env!("CARGO_PKG_VERSION")
    )
}
