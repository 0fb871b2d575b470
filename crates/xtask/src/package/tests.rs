//! Checks that the packages are complete, as far as sources can show it.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::published;
use crate::root;

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The version in the manifest of the workspace.
fn version() -> String {
    let manifest = read("Cargo.toml");
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = ")).unwrap();
    line.trim_matches('"').to_owned()
}

#[test]
fn published_crates_have_their_files_and_fields() {
    let crates = published();
    assert!(crates.len() >= 7, "only {} crates are published", crates.len());
    for (name, manifest) in crates {
        let documentation = format!("documentation = \"https://docs.rs/{name}\"");
        let fields = ["description = ", "readme = \"README.md\"", "categories", "[package.metadata.docs.rs]"];
        for field in
            fields.into_iter().chain([&*documentation, "license.workspace", "rust-version.workspace"])
        {
            assert!(manifest.contains(&format!("\n{field}")), "{name} lacks `{field}`");
        }
        let keywords = manifest.lines().find(|line| line.starts_with("keywords"));
        let count = keywords.unwrap_or_else(|| panic!("{name} has no keywords")).matches(',').count() + 1;
        assert!(count <= 5, "{name} has {count} keywords");
        let folder = Path::new("crates").join(&name);
        assert!(read(folder.join("README.md")).starts_with(&format!("# {name}\n")), "{name}: README.md");
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert_eq!(read(folder.join(licence)), read(licence), "{name}: {licence}");
        }
    }
}

/// The sources under a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let nested = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    nested.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Whether a path that a source includes is outside of the crate. `depth` is the number of folders between
/// them.
fn leaves(included: &str, depth: usize) -> bool {
    let up = Path::new(included).components().take_while(|part| *part == Component::ParentDir).count();
    up > depth
}

/// cargo packs only the files of a crate's folder.
#[test]
fn published_sources_include_no_files_from_outside() {
    assert!(leaves("../../docs/a.md", 1) && !leaves("../tests/a.txt", 1) && !leaves("a.txt", 0));
    for (name, _) in published() {
        let folder = root().join("crates").join(&name);
        for path in sources(&folder.join("src")) {
            let depth = path.strip_prefix(&folder).unwrap().components().count() - 1;
            let text = fs::read_to_string(&path).unwrap();
            let included = ["include_str!(\"", "include_bytes!(\"", "include!(\""].into_iter();
            let included =
                included.flat_map(|by| text.split(by).skip(1)).filter_map(|rest| rest.split('"').next());
            for included in included {
                assert!(!leaves(included, depth), "{} includes {included}", path.display());
            }
        }
    }
}

#[test]
fn the_version_is_the_same_everywhere() {
    let version = version();
    let manifest = read("Cargo.toml");
    let own = manifest.lines().filter(|line| line.starts_with("crossgrain") && line.contains("path = "));
    for line in own {
        assert!(line.contains(&format!("version = \"{version}\"")), "Cargo.toml: {line}");
    }
    for (file, text) in [
        ("pyproject.toml", format!("\"crossgrain-gpu=={version}\"")),
        ("CITATION.cff", format!("\nversion: {version}\n")),
        ("SECURITY.md", format!("\n| {version}, not yet published |")),
        ("README.md", format!("Version {version};")),
        ("CHANGELOG.md", format!("\n## {version}")),
    ] {
        assert!(read(file).contains(&text), "{file} lacks `{}`", text.trim());
    }
}

/// The Debian package takes files from the folder in which the task leaves them.
#[test]
fn the_debian_package_has_the_completions_that_are_made() {
    let manifest = read("crates/crossgrain-cli/Cargo.toml");
    for (_, name) in super::COMPLETIONS {
        assert!(manifest.contains(&format!("[\"target/release/completions/{name}\", ")), "{name}");
    }
    assert!(manifest.contains("[\"target/release/man/*.1.gz\", "));
    let image = format!("target/{}/release/crossgrain", super::MUSL);
    assert!(read("Dockerfile").contains(&image) && read(".dockerignore").contains(&format!("!{image}")));
}
