//! `cargo xtask semver`: compares the public interface of each library with the last release, by
//! cargo-semver-checks. It fails if an incompatible change needs a higher version than the one in the tree.
//!
//! The baseline is a revision of this repository, so nothing is downloaded. The tool reads rustdoc's JSON of
//! both versions, with all features. It cannot leave out a module, so findings in `engine` are filtered here.

use std::process::{Command, Stdio};

use crate::{Result, api, cargo, root, target};

/// Tags of releases.
const TAGS: &str = "v[0-9]*";

/// Compares with a revision, or with the newest tag of a release that HEAD contains.
///
/// # Errors
/// If the tool fails, or finds an incompatible change.
pub(crate) fn run(baseline: Option<&str>) -> Result<()> {
    let mut version = cargo();
    version.args(["semver-checks", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status().is_ok_and(|status| status.success()) {
        println!("skipped: semver (cargo install cargo-semver-checks)");
        return Ok(());
    }
    let Some(baseline) = baseline.map(str::to_owned).or_else(last_release) else {
        println!("skipped: semver (no tag {TAGS} names a release to compare with)");
        return Ok(());
    };
    let mut check = cargo();
    check.args(["semver-checks", "--color=never", "--all-features", "--baseline-rev", &baseline]);
    check.args(api::CRATES.split(' ').flat_map(|name| ["-p", name]));
    check.env("CARGO_TARGET_DIR", root().join(target()).join("semver")).env("CARGO_NET_OFFLINE", "true");
    let done = check.stderr(Stdio::inherit()).output();
    let done = done.map_err(|error| format!("cannot run cargo semver-checks: {error}"))?;
    let report = String::from_utf8_lossy(&done.stdout);
    let found = incompatible(&report);
    match (found.len(), done.status.success()) {
        (0, true) => println!("compatible with {baseline}"),
        // Without any finding, the tool itself failed.
        (0, false) if !report.contains(FINDINGS) => {
            return Err(format!("cargo semver-checks failed:\n{report}"));
        }
        (0, false) => println!("compatible with {baseline}, but for `{}`", api::UNSTABLE),
        _ => return Err(format!("incompatible with {baseline}:\n{}", found.join("\n"))),
    }
    Ok(())
}

/// The line before the items that a lint has found.
const FINDINGS: &str = "Failed in:";

/// The items in a report with incompatible changes, each after the lint that found it. Items of the module
/// without a promise are left out.
fn incompatible(report: &str) -> Vec<String> {
    let unstable = format!("::{}::", api::UNSTABLE);
    let (mut lint, mut is_item, mut found) = ("", false, Vec::new());
    for line in report.lines() {
        if let Some(title) = line.strip_prefix("--- failure ") {
            (lint, is_item) = (title.trim_end_matches(" ---"), false);
        } else if line.trim() == FINDINGS {
            is_item = true;
        } else if is_item && line.starts_with("  ") && !line.contains(&unstable) {
            found.push(format!("{lint}: {}", line.trim()));
        }
    }
    found
}

/// The newest tag of a release in the history of HEAD.
fn last_release() -> Option<String> {
    let mut describe = Command::new("git");
    describe.args(["describe", "--tags", "--abbrev=0", "--match", TAGS]).stderr(Stdio::null());
    let told = describe.current_dir(root()).output().ok().filter(|told| told.status.success())?;
    Some(String::from_utf8_lossy(&told.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::incompatible;

    #[test]
    fn findings_are_read_and_those_of_the_engine_left_out() {
        let report = "\n--- failure function_missing: pub fn removed or renamed ---\n\nDescription:\nA function is gone.\n\
            \x20       ref: https://doc.rust-lang.org/cargo/reference/semver.html\n\nFailed in:\n\
            \x20 function crossgrain_container::fill, previously in file src/lib.rs:1\n\
            \x20 function crossgrain::engine::wipe, previously in file src/arch/wiped.rs:7\n\n\
            --- failure enum_missing: pub enum removed or renamed ---\n\nFailed in:\n\
            \x20 enum crossgrain::engine::text::Kind, previously in file src/text.rs:3\n";
        let only = "function_missing: pub fn removed or renamed: function crossgrain_container::fill, previously in \
            file src/lib.rs:1";
        assert_eq!(incompatible(report), [only]);
        assert!(incompatible("").is_empty());
    }
}
