//! `cargo xtask page`: builds the browser page of `crossgrain-page` into `target/page`, and tests it in
//! Chromium.
//!
//! The page consists of static files: those of `crates/crossgrain-page/web`, the program as WebAssembly with
//! simd128, and pictures of plans that the command line draws. `page/checks.mjs` serves them on this machine,
//! operates Chromium by its DevTools protocol, and exchanges files with the command line.
//!
//! If a tool is missing, the task names it and counts the step as skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use crate::emulated::fresh_folder;
use crate::{Result, cargo, has_std, root, succeed, target};

const TARGET: &str = "wasm32-unknown-unknown";
const WEB: &str = "crates/crossgrain-page/web";
const CHECKS: &str = "crates/xtask/src/page/checks.mjs";

/// simd128, and random numbers from a function of the page instead of wasm-bindgen.
const FLAGS: &str = "-C target-feature=+simd128 --cfg getrandom_backend=\"custom\"";

/// Names of Chromium and of browsers with the same engine.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The jobs with a picture. EAX runs as the job `ctr`, followed by chains.
const JOBS: [&str; 8] = [
    "aes-256-gcm",
    "aes-128-gcm",
    "aes-256-ctr",
    "aes-256-ocb",
    "aes-256-gcm-siv",
    "aes-256-xts",
    "serpent-256-ctr",
    "serpent-256-ocb",
];

/// Caps of instructions, an instruction set that the CPU must have, and the machines that they stand for.
const MACHINES: [(&str, &str, &str); 5] = [
    ("avx512", "avx512", "x86-64 with AVX-512"),
    ("avx2-gfni", "vaes", "x86-64 with AVX2 and VAES"),
    ("avx2-vaes-vclmul-gfni", "aes", "x86-64 with AVX2 and AES-NI"),
    ("avx2-aes-vclmul-gfni", "avx2", "x86-64 with AVX2, without AES instructions"),
    ("portable", "portable", "64-bit integers only"),
];

/// Builds the page and tests it. With `is_large`, a file of 1 GiB is exchanged too, and speeds are printed.
///
/// # Errors
/// If the build or a check fails.
pub(crate) fn run(is_large: bool) -> Result<()> {
    if !has_std(TARGET) {
        println!("skipped: page (rustup target add {TARGET})");
        return Ok(());
    }
    succeed(cargo().args(["build", "--release", "--quiet", "--package", "crossgrain-cli"]))?;
    let program = root().join(target()).join("release/crossgrain");
    let page = build()?;
    let pictures = draw(&program, &page.join("plans"))?;
    println!("{}: {pictures} pictures", page.display());
    let Some(browser) = BROWSERS.into_iter().find(|browser| is_there(browser)) else {
        println!("skipped: page in a browser (apt-get install chromium)");
        return Ok(());
    };
    if !is_there("node") {
        println!("skipped: page in a browser (apt-get install nodejs)");
        return Ok(());
    }
    let folder = fresh_folder("page-files")?;
    let mut checks = Command::new("node");
    checks.arg(root().join(CHECKS)).arg(browser).args([&page, &program, &folder]);
    succeed(checks.args(is_large.then_some("large")).current_dir(root()))
}

fn is_there(program: &str) -> bool {
    let told = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    told.is_ok_and(|status| status.success())
}

/// Compiles the program, and copies it and the static files. Returns their folder.
fn build() -> Result<PathBuf> {
    let built = root().join(target()).join("wasm/page");
    let mut command = cargo();
    command.args(["build", "--profile", "page", "--package", "crossgrain-page", "--target", TARGET]);
    succeed(command.arg("--target-dir").arg(&built).env("RUSTFLAGS", FLAGS))?;
    let page = fresh_folder("page")?;
    let copy = |from: &Path, name: &str| {
        fs::copy(from, page.join(name)).map_err(|error| format!("{}: {error}", from.display()))
    };
    copy(&built.join(TARGET).join("page/crossgrain_page.wasm"), "crossgrain.wasm")?;
    let web = root().join(WEB);
    for entry in fs::read_dir(&web).map_err(|error| format!("{}: {error}", web.display()))?.flatten() {
        copy(&entry.path(), &entry.file_name().to_string_lossy())?;
    }
    Ok(page)
}

/// Draws all plans, and writes their list. Returns the number of pictures.
///
/// A cap does not add instructions, so a machine whose instructions this CPU lacks is left out.
fn draw(program: &Path, folder: &Path) -> Result<usize> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (mut plans, mut machines) = (Map::new(), Vec::new());
    for (cap, needs, title) in MACHINES {
        let draw_one = |job| Ok::<_, String>((format!("{job}-{cap}"), plan(program, folder, job, cap)?));
        let drawn = JOBS.into_iter().map(draw_one).collect::<Result<Vec<_>>>()?;
        let has = |features: &str| features.split(' ').any(|feature| feature == needs);
        if !drawn.iter().all(|(_, plan)| plan["features"].as_str().is_some_and(has)) {
            println!("skipped: pictures of plans on {title} (this CPU lacks the instructions)");
            for (name, _) in drawn {
                let _ = fs::remove_file(folder.join(name + ".svg")); // it is in no list
            }
            continue;
        }
        machines.push(json!({ "name": cap, "title": title }));
        plans.extend(drawn.into_iter().map(|(name, plan)| (name, described(&plan).into())));
    }
    let count = plans.len();
    let list = json!({ "jobs": JOBS, "machines": machines, "plans": plans });
    let path = folder.join("list.json");
    fs::write(&path, list.to_string()).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(count)
}

/// Draws a plan by the shipped costs, and returns it as JSON.
fn plan(program: &Path, folder: &Path, job: &str, cap: &str) -> Result<Value> {
    let mut command = Command::new(program);
    command.args(["plan", job, "--effort", "estimate", "--json", "--force", "--svg"]);
    command.arg(folder.join(format!("{job}-{cap}.svg"))).env("CROSSGRAIN_ISA", cap);
    let told = command.output().map_err(|error| format!("cannot run crossgrain: {error}"))?;
    if !told.status.success() {
        return Err(format!("plan {job}: {}", String::from_utf8_lossy(&told.stderr).trim()));
    }
    serde_json::from_slice(&told.stdout).map_err(|error| format!("plan {job}: {error}"))
}

/// A plan as one line: its kernels in their order, and their speed.
fn described(plan: &Value) -> String {
    let steps = plan["path"].as_array().map(Vec::as_slice).unwrap_or_default();
    let kernels: Vec<_> = steps.iter().filter_map(|step| step["variant"].as_str()).collect();
    let gb_per_s = plan["gb_per_s"].as_f64().unwrap_or_default();
    format!("{}, about {gb_per_s:.1} GB/s on one thread by estimated costs", kernels.join(", then "))
}
