//! `cargo xtask platforms`: compiles the command line for systems that this machine is not, and runs it for Windows
//! under Wine.
//!
//! macOS and the other systems are only checked: that needs their standard library and no linker. Windows is linked
//! by MinGW. Its program and this machine's encrypt files, and each decrypts those of the other.
//!
//! If a tool is missing, the task names it and counts as skipped.

use std::path::Path;
use std::process::Command;

use crate::emulated::{exchange, fresh_folder, native_program, runs};
use crate::{Result, cargo, has_std, root, succeed, target};

/// Systems for which the command line is checked.
const CHECKED: [&str; 3] = ["x86_64-apple-darwin", "aarch64-apple-darwin", "riscv64gc-unknown-linux-gnu"];

const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// The programs that Windows needs, each with its remedy. Debian keeps Wine out of the path.
const MINGW: &str = "x86_64-w64-mingw32-gcc";
const WINE: [&str; 2] = ["wine64", "/usr/lib/wine/wine64"];

/// Checks all systems, and runs the program for Windows.
///
/// # Errors
/// If the program does not compile for a system, or a file decrypts to other bytes.
pub(crate) fn run() -> Result<()> {
    for system in CHECKED {
        if !has_std(system) {
            println!("skipped: {system} (rustup target add {system})");
            continue;
        }
        succeed(cargo().args(["check", "--quiet", "-p", "crossgrain-cli", "--target", system]))?;
        println!("platforms: {system}: compiles");
    }
    if !has_std(WINDOWS) {
        println!("skipped: {WINDOWS} (rustup target add {WINDOWS})");
        return Ok(());
    }
    let wine = WINE.into_iter().find(|wine| runs(wine));
    let Some(wine) = wine.filter(|_| runs(MINGW)) else {
        println!("skipped: {WINDOWS} (apt-get install gcc-mingw-w64-x86-64 wine64)");
        return Ok(());
    };
    succeed(cargo().args([
        "build",
        "--quiet",
        "-p",
        "crossgrain-cli",
        "--bin",
        "crossgrain",
        "--target",
        WINDOWS,
    ]))?;
    let program = root().join(target()).join(WINDOWS).join("debug/crossgrain.exe");
    let folder = fresh_folder("windows-files")?;
    let count = exchange(WINDOWS, &folder, &native_program()?, &|| under_wine(wine, &program))?;
    println!("platforms: {WINDOWS}: {count} files exchanged under Wine");
    Ok(())
}

/// A program for Windows, without Wine's own messages.
fn under_wine(wine: &str, program: &Path) -> Command {
    let mut command = Command::new(wine);
    command.arg(program).env("WINEDEBUG", "-all");
    command
}
