//! Passes the target and the compiler's version to `crossgrain --version`.

use std::env::{var, var_os};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=CROSSGRAIN_TARGET={target}");
    let version = var_os("RUSTC").and_then(|rustc| Command::new(rustc).arg("--version").output().ok());
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    println!("cargo::rustc-env=CROSSGRAIN_RUSTC={}", version.unwrap_or_default().trim());
}
