//! `cargo xtask chart productivity`: the code size of an AES generator in counter mode, for all targets
//! together. It is compared with the emitted CUDA C and with a sequential implementation.
//!
//! Well-known analysers count (`bench/productivity.py`), in a separate environment under `target/`.

use std::fs;
use std::process::Command;

use crate::python::{has_environment, install, program};
use crate::{Result, cargo, root, succeed, target};

/// The analysers.
const ANALYSERS: [&str; 2] = ["lizard", "multimetric"];

/// Prints the table of docs/parallel.md.
///
/// # Errors
/// If Python or the analysers cannot be installed, or the program cannot be built.
pub(crate) fn run() -> Result<()> {
    let environment = root().join(target()).join("analysers");
    if !has_environment(&environment) {
        return Err("python3 with its venv is not installed: install it to count".to_owned());
    }
    succeed(install(&environment).args(ANALYSERS))?;
    let emitted = environment.join("aes-ctr.cu");
    // The file of an earlier run may come from another version.
    let _ = fs::remove_file(&emitted);
    let mut emit = cargo();
    emit.args(["run", "--quiet", "-p", "crossgrain-cli", "--", "circuit", "aes-ctr", "--emit", "cuda"]);
    succeed(emit.arg("--output").arg(&emitted))?;
    let mut count = Command::new(program(&environment, "python"));
    succeed(count.arg("bench/productivity.py").arg(&emitted).current_dir(root()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::root;

    /// The script names files and, after each, some of its functions and macros, all in quotation marks.
    #[test]
    fn all_that_is_counted_is_there() {
        let script = include_str!("../../../bench/productivity.py");
        let (_, tables) = script.split_once("STEPS = {").unwrap();
        let (tables, _) = tables.split_once("def ").unwrap();
        let (mut file, mut text, mut functions) = ("", String::new(), 0);
        for name in tables.split('"').skip(1).step_by(2) {
            if name.ends_with(".rs") {
                file = name;
                text = fs::read_to_string(root().join("crates").join(file)).unwrap();
            } else {
                let is_there = match name.strip_suffix('!') {
                    Some(name) => text.contains(&format!("macro_rules! {name} {{")),
                    None => ["(", "<"].iter().any(|next| text.contains(&format!("fn {name}{next}"))),
                };
                assert!(is_there, "{file} has no function {name}: mend bench/productivity.py");
                functions += 1;
            }
        }
        assert!(functions > 40);
    }
}
