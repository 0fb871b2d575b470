//! The public home of the project: `repository` in the workspace's `Cargo.toml`, and nowhere else.
//!
//! The project has none yet. Until it has, SECURITY.md asks readers to report to the party that gave them the software.
//! The test lists each place that does not match the setting. maturin copies `repository` into the metadata of the Python package.

use crate::package::manifests;

/// The text of SECURITY.md while there is no public home.
const NO_HOME: &str = "The project has no public home yet.";

/// Hosts that would give an address of the project away.
const HOSTS: [&str; 3] = ["github.com/", "gitlab.com/", "codeberg.org/"];

/// The value of `repository` in a manifest, if it is set there.
fn repository(manifest: &str) -> Option<&str> {
    let line = manifest.lines().find(|line| line.starts_with("repository = "))?;
    line.split('"').nth(1).filter(|address| !address.is_empty())
}

/// All places that do not match `home`. `crates` are the names and manifests of the crates.
fn missing(home: Option<&str>, crates: &[(String, String)], security: &str) -> Vec<String> {
    let mut missing = Vec::new();
    let mut require = |holds: bool, what: String| {
        if !holds {
            missing.push(what);
        }
    };
    for (name, manifest) in crates {
        let inherits = manifest.lines().any(|line| line == "repository.workspace = true");
        require(
            inherits == home.is_some(),
            match home {
                Some(_) => format!("{name} needs `repository.workspace = true`"),
                None => format!("{name} inherits `repository`, which the workspace does not set"),
            },
        );
        require(repository(manifest).is_none(), format!("{name} sets `repository` itself"));
    }
    match home {
        Some(address) => {
            require(security.contains(address), format!("SECURITY.md does not name {address}"));
            require(!security.contains(NO_HOME), "SECURITY.md still says that there is no home".into());
        }
        None => {
            require(security.contains(NO_HOME), format!("SECURITY.md does not say: {NO_HOME}"));
            let names_host = HOSTS.iter().any(|host| security.contains(host));
            require(!names_host, "SECURITY.md names an address that `Cargo.toml` does not have".into());
        }
    }
    missing
}

#[test]
fn every_place_matches_the_repository_of_the_workspace() {
    let root = crate::root();
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let workspace = read("Cargo.toml");
    let missing = missing(repository(&workspace), &manifests(), &read("SECURITY.md"));
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn each_missing_place_is_listed() {
    let manifest = |text: &str| vec![("a".to_owned(), text.to_owned())];
    let home = Some("https://example.org/crossgrain");
    assert_eq!(repository("name = \"a\"\nrepository = \"https://example.org/crossgrain\"\n"), home);
    assert_eq!(repository("repository = \"\"\n"), None);
    assert_eq!(
        missing(home, &manifest(""), NO_HOME),
        [
            "a needs `repository.workspace = true`",
            "SECURITY.md does not name https://example.org/crossgrain",
            "SECURITY.md still says that there is no home",
        ]
    );
    assert_eq!(
        missing(None, &manifest("repository.workspace = true"), "github.com/x"),
        [
            "a inherits `repository`, which the workspace does not set",
            "SECURITY.md does not say: The project has no public home yet.",
            "SECURITY.md names an address that `Cargo.toml` does not have",
        ]
    );
    let inherits = manifest("repository.workspace = true");
    assert!(missing(home, &inherits, "https://example.org/crossgrain").is_empty());
}
