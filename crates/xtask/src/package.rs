//! `cargo xtask package`: builds the packages of a release.
//!
//! * `crates`: packs the published crates and builds each packed crate, in the order of their dependencies.
//! * `program`: the static program for Linux on x86-64, with manual pages and shell completions.
//! * `deb`: a Debian package of these files, by cargo-deb.
//! * `wheel`: the source distribution of the Python package, and a wheel that is built from it.
//! * `musl-wheel`: a wheel of the same package for systems with musl, such as Alpine Linux.
//! * `gpu-wheel`: source distribution and wheel of the package with GPU support.
//!
//! If a tool is missing, the task names it and counts as skipped.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;

use crate::{Result, cargo, has_std, python, root, succeed, target};

/// A package that the task builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Package {
    Crates,
    Program,
    Deb,
    Wheel,
    MuslWheel,
    GpuWheel,
}

/// The target of the static program and of the wheel for musl. Its C library is linked statically by default;
/// maturin links that of a wheel dynamically.
const MUSL: &str = "x86_64-unknown-linux-musl";

/// The package of the program.
const PROGRAM: &str = "crossgrain-cli";

/// Shells, and the names that they give to a file of completions for `crossgrain`.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "crossgrain"), ("zsh", "_crossgrain"), ("fish", "crossgrain.fish")];

/// The wheels: a package, the folder of its project, and the options of maturin. The tags name the oldest C
/// library that a wheel supports: glibc 2.17, of 2012, and musl 1.2. zig links against its symbols.
const WHEELS: [(Package, &str, &[&str]); 3] = [
    (Package::Wheel, ".", &["--sdist", "--compatibility", "manylinux2014"]),
    (Package::MuslWheel, ".", &["--target", MUSL, "--compatibility", "musllinux_1_2"]),
    (Package::GpuWheel, "crates/crossgrain-py/gpu", &["--sdist", "--compatibility", "manylinux2014"]),
];

/// Builds some packages, or all of them.
///
/// # Errors
/// If a build fails.
pub(crate) fn run(packages: &[Package]) -> Result<()> {
    let has = |package: Package| packages.is_empty() || packages.contains(&package);
    if has(Package::Crates) {
        crates()?;
    }
    if has(Package::Program) || has(Package::Deb) {
        program()?;
    }
    if has(Package::Deb) {
        deb()?;
    }
    wheels(WHEELS.into_iter().filter(|(package, ..)| has(*package)))
}

/// Packs all published crates. cargo builds each from its package, with the packages of the others as its
/// dependencies.
fn crates() -> Result<()> {
    let names = published().into_iter().flat_map(|(name, _)| ["-p".to_owned(), name]);
    succeed(cargo().arg("package").args(names))
}

/// The folder of the static program. Next to it are `man` and `completions`.
fn program_folder() -> PathBuf {
    root().join(target()).join(MUSL).join("release")
}

/// Builds the program. It writes its manual pages and completions itself.
fn program() -> Result<()> {
    if !has_std(MUSL) {
        println!("skipped: program (rustup target add {MUSL})");
        return Ok(());
    }
    succeed(cargo().args(["build", "--release", "--locked", "-p", PROGRAM, "--target", MUSL]))?;
    let folder = program_folder();
    let program = folder.join("crossgrain");
    expect_static(&program)?;
    let (manual, completions) = (folder.join("man"), folder.join("completions"));
    for made in [&manual, &completions] {
        let _ = fs::remove_dir_all(made); // pages of an earlier version must not be packed
        fs::create_dir_all(made).map_err(|error| format!("{}: {error}", made.display()))?;
    }
    succeed(Command::new(&program).arg("man").arg(&manual))?;
    succeed(Command::new("gzip").args(["-9", "-n", "-r"]).arg(&manual))?; // as Debian wants them
    for (shell, name) in COMPLETIONS {
        let file = completions.join(name);
        let file = fs::File::create(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        succeed(Command::new(&program).args(["complete", shell]).stdout(file))?;
    }
    println!("{}", program.display());
    Ok(())
}

/// Fails if a program needs a dynamic loader.
fn expect_static(program: &Path) -> Result<()> {
    let told = Command::new("ldd").arg(program).output();
    let told = told.map_err(|error| format!("cannot run ldd: {error}"))?;
    let text = [told.stdout, told.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let is_static = ["statically linked", "not a dynamic executable"].iter().any(|is| text.contains(is));
    if is_static { Ok(()) } else { Err(format!("{} is not static:\n{text}", program.display())) }
}

/// Packs the files of [`program`] as `crates/crossgrain-cli/Cargo.toml` describes.
fn deb() -> Result<()> {
    let mut version = cargo();
    version.args(["deb", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status().is_ok_and(|status| status.success()) || !has_std(MUSL) {
        println!("skipped: deb (cargo install cargo-deb)");
        return Ok(());
    }
    let out = root().join(target()).join("debian");
    succeed(cargo().args(["deb", "--no-build", "--target", MUSL, "-p", PROGRAM, "-o"]).arg(out))
}

/// Builds wheels. Those with a source distribution are built from it.
fn wheels(wheels: impl Iterator<Item = (Package, &'static str, &'static [&'static str])>) -> Result<()> {
    let mut wheels = wheels.peekable();
    if wheels.peek().is_none() {
        return Ok(());
    }
    let environment = root().join(target()).join("maturin");
    let tools = [python::BUILDS, "ziglang"];
    let has_tools = python::has_environment(&environment)
        && python::install(&environment).args(tools).status().is_ok_and(|status| status.success());
    if !has_tools {
        println!("skipped: wheel (pip cannot install {})", tools.join(" "));
        return Ok(());
    }
    let out = root().join(target()).join("wheels");
    wheels.try_for_each(|(package, folder, options)| {
        if package == Package::MuslWheel && !has_std(MUSL) {
            println!("skipped: musl-wheel (rustup target add {MUSL})");
            return Ok(());
        }
        let mut build = Command::new(python::program(&environment, "maturin"));
        build.args(["build", "--release", "--zig"]).args(options).arg("--out").arg(&out);
        build.env("CARGO_ZIGBUILD_PYTHON_PATH", python::program(&environment, "python")); // finds zig there
        succeed(build.current_dir(root().join(folder)))
    })
}

/// The manifests of the crates that are published, by name.
fn published() -> Vec<(String, String)> {
    let is_published = |manifest: &str| !manifest.contains("\npublish = false");
    manifests().into_iter().filter(|(_, manifest)| is_published(manifest)).collect()
}

/// The manifests of all crates in `crates/`, by name.
pub(crate) fn manifests() -> Vec<(String, String)> {
    let folders = fs::read_dir(root().join("crates")).into_iter().flatten().flatten();
    let manifest = |folder: fs::DirEntry| {
        let text = fs::read_to_string(folder.path().join("Cargo.toml")).ok()?;
        Some((folder.file_name().to_string_lossy().into_owned(), text))
    };
    let mut manifests: Vec<_> = folders.filter_map(manifest).collect();
    manifests.sort();
    manifests
}
