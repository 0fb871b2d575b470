//! The newest libraries of Debian unstable in a separate folder, for `cargo xtask bench --peers newest`.
//!
//! apt downloads them with its lists, state and cache in that folder, so nothing is installed and the
//! system's lists are unchanged. It checks signatures and hashes as usual. The C library and the dynamic
//! loader are downloaded too, and that loader runs the benchmark program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, root, succeed, target};

/// Packages of the peers' libraries, by name or regular expression. apt adds their dependencies.
const PACKAGES: [&str; 5] =
    ["libgcrypt20", "libipsec-mb2", "libssl3t64", "^libbotan-3-[0-9]+$", "^libnettle[0-9]+(t64)?$"];

/// The folder of the libraries in the unpacked packages, and the loader in it.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";

/// Debian's keys on a Debian system. On other systems apt uses its default keys.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Downloads and unpacks the newest libraries. Returns the command prefix that runs a program with them.
///
/// # Errors
/// If apt or dpkg is missing, the mirror cannot be reached, or this is not Linux on x86-64.
pub(crate) fn unpack(mirror: Option<&str>) -> Result<String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("the newest peers are libraries for Linux on x86-64".into());
    }
    let folder = Folder(root().join(target()).join("peers-newest"));
    folder.configure(&mirror.map_or_else(configured_mirror, |url| Ok(url.to_owned()))?)?;
    succeed(folder.apt().arg("update"))?;
    succeed(folder.apt().arg("autoclean"))?; // removes older packages
    let fetch = ["--download-only", "--no-install-recommends", "install"];
    succeed(folder.apt().args(fetch).args(PACKAGES))?;
    folder.unpack()?;
    Ok(folder.command())
}

/// The mirror from which apt is configured to take Debian's packages.
fn configured_mirror() -> Result<String> {
    let mut apt = Command::new("apt-get");
    apt.args([
        "indextargets",
        "--format",
        "$(REPO_URI)",
        "Created-By: Packages",
        "Origin: Debian",
        "Label: Debian",
    ]);
    let told = apt.output().map_err(|error| format!("cannot run apt-get: {error}"))?;
    let told = String::from_utf8_lossy(&told.stdout);
    let mirror = told.lines().find(|line| !line.trim().is_empty());
    mirror.map(str::to_owned).ok_or_else(|| "apt knows no mirror of Debian: name one by --mirror URL".into())
}

/// The folder that contains everything.
struct Folder(PathBuf);

impl Folder {
    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes apt's configuration.
    fn configure(&self, mirror: &str) -> Result<()> {
        let keys = Path::new(KEYS).exists().then_some(KEYS);
        let files = [
            ("sources.list", source(mirror, keys)),
            ("apt.conf", configuration(&self.0)),
            ("state/status", String::new()), // of a system without packages
        ];
        ["state/lists/partial", "cache/archives/partial"].iter().try_for_each(|name| {
            let folder = self.at(name);
            fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))
        })?;
        files.iter().try_for_each(|(name, text)| {
            let file = self.at(name);
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
        })
    }

    fn apt(&self) -> Command {
        let mut apt = Command::new("apt-get");
        apt.arg("-c").arg(self.at("apt.conf")).args(["--quiet", "--yes"]);
        apt
    }

    /// Unpacks all downloaded packages, and replaces those of an earlier run.
    fn unpack(&self) -> Result<()> {
        let (archives, unpacked) = (self.at("cache/archives"), self.at("unpacked"));
        if unpacked.exists() {
            fs::remove_dir_all(&unpacked).map_err(|error| format!("{}: {error}", unpacked.display()))?;
        }
        let files = fs::read_dir(&archives).map_err(|error| format!("{}: {error}", archives.display()))?;
        let packages = files.flatten().map(|file| file.path());
        packages
            .filter(|file| file.extension().is_some_and(|end| end == "deb"))
            .try_for_each(|package| succeed(Command::new("dpkg-deb").arg("-x").arg(package).arg(&unpacked)))
    }

    /// The loader and its library path. The program follows.
    fn command(&self) -> String {
        let libraries = self.at("unpacked").join(LIBRARIES);
        format!("{} --library-path {}", libraries.join(LOADER).display(), libraries.display())
    }
}

/// The line of `sources.list`. It covers only the package lists of the suite.
fn source(mirror: &str, keys: Option<&str>) -> String {
    let keys = keys.map(|keys| format!(" signed-by={keys}")).unwrap_or_default();
    format!("deb [arch=amd64 lang=none target=Packages{keys}] {mirror} sid main\n")
}

/// Redirects all of apt's files to a folder, and disables the system's hooks after an update.
fn configuration(folder: &Path) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    let settings = [
        ("Dir::State", at("state")),
        ("Dir::State::status", at("state/status")),
        ("Dir::Cache", at("cache")),
        ("Dir::Etc::sourcelist", at("sources.list")),
        ("Dir::Etc::sourceparts", "-".to_owned()),
    ];
    let settings = settings.map(|(name, value)| format!("{name} \"{value}\";\n"));
    format!("{}#clear APT::Update;\n#clear DPkg::Post-Invoke;\n", settings.concat())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Folder, configuration, source};

    #[test]
    fn a_source_is_one_line_with_the_keys_that_there_are() {
        let line = source("http://mirror.example/debian", Some("/keys.gpg"));
        assert!(line.ends_with(" signed-by=/keys.gpg] http://mirror.example/debian sid main\n"), "{line}");
        assert!(!source("http://mirror.example/debian", None).contains("signed-by"));
    }

    #[test]
    fn apt_keeps_everything_in_the_folder() {
        let text = configuration(Path::new("/t/newest"));
        for line in ["Dir::State \"/t/newest/state\";", "Dir::Etc::sourceparts \"-\";", "#clear APT::Update;"]
        {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }

    #[test]
    fn a_program_follows_the_loader() {
        let command = Folder("/t".into()).command();
        let libraries = "/t/unpacked/usr/lib/x86_64-linux-gnu";
        assert_eq!(command, format!("{libraries}/ld-linux-x86-64.so.2 --library-path {libraries}"));
    }
}
