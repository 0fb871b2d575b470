//! `cargo xtask dependencies`: every direct dependency must be listed in `docs/dependencies.md` with its
//! licence and its reason. The licences of all compiled packages must be allowed by `deny.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Result, cargo, root, succeed};

const PAGE: &str = "docs/dependencies.md";
const DENY: &str = "deny.toml";

/// Checks all dependencies. If cargo-deny is installed, it also checks for advisories.
///
/// # Errors
/// If the page or a licence is wrong, or there is an advisory.
pub(crate) fn run() -> Result<()> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--locked", "--all-features"]);
    let told = command.output().map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !told.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&told.stderr).trim()));
    }
    let metadata: Value =
        serde_json::from_slice(&told.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let read = |name: &str| fs::read_to_string(root().join(name)).map_err(|error| format!("{name}: {error}"));
    let (page, deny) = (read(PAGE)?, read(DENY)?);
    let packages = packages(&metadata);
    if !deny.contains("[advisories]") {
        return Err(format!("{DENY} has no section [advisories]"));
    }
    let faults = [unlike(&page, &direct(&metadata, &packages)), denied(&packages, &allowed(&deny))].concat();
    faults.iter().for_each(|fault| println!("fault: {fault}"));
    if !faults.is_empty() {
        return Err(format!("dependencies: {} faults", faults.len()));
    }
    println!("{} packages, all under licences that are allowed", packages.len());
    advisories()
}

/// Runs cargo-deny, if it is installed. It uses the database that `cargo deny fetch` has downloaded.
fn advisories() -> Result<()> {
    let mut version = cargo();
    let is_there = version.args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !is_there.is_ok_and(|status| status.success()) {
        println!("skipped: advisories (cargo-deny is not installed)");
        return Ok(());
    }
    let mut deny: Command = cargo();
    deny.args(["deny", "--offline", "check", "bans", "sources"]);
    if has_database() {
        deny.arg("advisories");
    } else {
        println!("skipped: advisories (there is no database: run `cargo deny fetch`)");
    }
    succeed(&mut deny)
}

/// Whether cargo-deny has a database of advisories in its default folder.
fn has_database() -> bool {
    let path = |name: &str| env::var_os(name).map(PathBuf::from);
    let cargo_home = path("CARGO_HOME").or_else(|| Some(path("HOME")?.join(".cargo")));
    let found = cargo_home.and_then(|home| fs::read_dir(home.join("advisory-dbs")).ok());
    found.is_some_and(|mut databases| databases.next().is_some())
}

/// Name and licence of each external package, by its id.
fn packages(metadata: &Value) -> BTreeMap<String, (String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let foreign = packages.filter(|package| !package["source"].is_null());
    foreign
        .map(|package| (text(&package["id"]), (text(&package["name"]), text(&package["license"]))))
        .collect()
}

/// Name and licence of the direct dependencies.
fn direct(metadata: &Value, packages: &BTreeMap<String, (String, String)>) -> BTreeMap<String, String> {
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let ours = nodes.filter(|node| !packages.contains_key(node["id"].as_str().unwrap_or_default()));
    let named = ours.flat_map(|node| node["deps"].as_array().into_iter().flatten());
    named.filter_map(|named| packages.get(named["pkg"].as_str()?)).cloned().collect()
}

/// The differences between the page and the manifests.
fn unlike(page: &str, direct: &BTreeMap<String, String>) -> Vec<String> {
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    // Rows have three cells and nothing outside them. The first two rows of each table are its head.
    let is_row = |row: &Vec<String>| row.len() == 5 && row[1] != "crate" && row[1] != "---";
    let rows = page.lines().map(cells).filter(is_row);
    let told: BTreeMap<String, String> = rows.map(|row| (row[1].clone(), row[2].clone())).collect();
    let missing = direct.iter().filter(|(name, licence)| told.get(*name) != Some(licence));
    let missing = missing.map(|(name, licence)| format!("{PAGE} lacks {name}, {licence}"));
    let stale = told.keys().filter(|name| !direct.contains_key(*name));
    missing.chain(stale.map(|name| format!("{PAGE} has {name}, which no manifest names"))).collect()
}

/// The list `allow` of `deny.toml`.
fn allowed(deny: &str) -> BTreeSet<String> {
    let list = deny.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    list.split(',')
        .map(|name| name.trim().trim_matches('"').to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

/// Packages without an allowed choice of licences.
fn denied(packages: &BTreeMap<String, (String, String)>, allowed: &BTreeSet<String>) -> Vec<String> {
    let bad = packages.values().filter(|(_, licence)| !is_allowed(licence, allowed));
    bad.map(|(name, licence)| format!("{name} is under {licence:?}, which {DENY} does not allow")).collect()
}

/// Whether each part of `A AND (B OR C)` offers an allowed licence. Old manifests write OR as a slash.
fn is_allowed(licence: &str, allowed: &BTreeSet<String>) -> bool {
    let licence = licence.replace('/', " OR ").replace(['(', ')'], "");
    licence.split(" AND ").all(|part| part.split(" OR ").any(|name| allowed.contains(name.trim())))
}

#[cfg(test)]
mod tests {
    use super::{allowed, is_allowed, unlike};

    #[test]
    fn one_choice_of_each_part_suffices() {
        let allowed = allowed("[licenses]\nallow = [\n  \"MIT\",\n  \"Zlib\",\n]\n");
        assert_eq!(allowed.len(), 2);
        for good in ["MIT", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Zlib", "Apache-2.0/MIT"] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in ["", "GPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0"] {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn the_page_is_compared_both_ways() {
        let page = "| crate | licence | what for |\n|---|---|---|\n| a-b | MIT | x |\n| c | MIT | y |\n";
        let direct = [("a-b".to_owned(), "MIT".to_owned()), ("d".to_owned(), "ISC".to_owned())].into();
        assert_eq!(
            unlike(page, &direct),
            ["docs/dependencies.md lacks d, ISC", "docs/dependencies.md has c, which no manifest names"]
        );
    }
}
