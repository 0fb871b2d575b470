//! `cargo xtask site`: the documentation as a searchable site, built by mdBook from `docs/` and `book.toml`.
//!
//! After the build, every link of the site is checked, with the headings it names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Result, root, succeed};

/// `build-dir` of `book.toml`.
const SITE: &str = "target/book";

/// mdBook in the checkout, where `.ci/run` installs it.
const INSTALLED: &str = "target/mdbook/bin/mdbook";

/// Pages with generated content that links to nothing else.
const WITHOUT_LINKS: [&str; 3] = ["print.html", "404.html", "toc.html"];

/// Builds the site and checks its links, if mdBook is installed in the checkout or on the path.
///
/// # Errors
/// If the build fails or a link leads nowhere.
pub(crate) fn run() -> Result<()> {
    let installed = root().join(INSTALLED);
    let mdbook = if installed.exists() { installed } else { PathBuf::from("mdbook") };
    let version = Command::new(&mdbook).arg("--version").stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        println!("skipped: site (mdBook is not installed: `cargo install mdbook --root target/mdbook`)");
        return Ok(());
    }
    succeed(Command::new(&mdbook).arg("build").current_dir(root()))?;
    let pages = pages(&root().join(SITE))?;
    let dead = dead_links(&pages);
    if dead.is_empty() {
        println!("{SITE}/index.html: {} pages, all links lead somewhere", pages.len());
        return Ok(());
    }
    Err(format!("dead links in {SITE}:\n{}", dead.join("\n")))
}

/// The texts of all HTML pages, by their names. All pages of the book are in one folder.
fn pages(site: &Path) -> Result<BTreeMap<String, String>> {
    let failed = |error: std::io::Error| format!("{}: {error}", site.display());
    let entries = fs::read_dir(site).map_err(failed)?.flatten().map(|entry| entry.path());
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "html");
    let named = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, fs::read_to_string(&path).map_err(failed)?))
    };
    entries.filter(is_page).map(named).collect()
}

/// All values of an attribute in a page.
fn values<'t>(page: &'t str, attribute: &str) -> impl Iterator<Item = &'t str> {
    let start = format!(" {attribute}=\"");
    page.match_indices(&start)
        .map(|(at, start)| &page[at + start.len()..])
        .filter_map(|rest| rest.split('"').next())
        .collect::<Vec<_>>()
        .into_iter()
}

/// The links to pages or headings that do not exist, each with its page.
fn dead_links(pages: &BTreeMap<String, String>) -> Vec<String> {
    let ids: BTreeMap<&str, BTreeSet<&str>> =
        pages.iter().map(|(name, page)| (&**name, values(page, "id").collect())).collect();
    let mut dead = Vec::new();
    for (name, page) in pages.iter().filter(|(name, _)| !WITHOUT_LINKS.contains(&name.as_str())) {
        for link in values(page, "href") {
            let (target, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if target.is_empty() { name } else { target };
            if target.contains(':') || !target.ends_with(".html") {
                continue;
            }
            let is_alive = ids.get(target).is_some_and(|ids| heading.is_empty() || ids.contains(heading));
            if !is_alive {
                dead.push(format!("{name}: {link}"));
            }
        }
    }
    dead.sort();
    dead.dedup();
    dead
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::dead_links;
    use crate::root;

    #[test]
    fn dead_links_are_found() {
        let page = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let pages: BTreeMap<_, _> = [
            page(
                "a.html",
                r##"<h1 id="x"></h1><a href="b.html#y"></a><a href="#x"></a><a href="https://c"></a>"##,
            ),
            page(
                "b.html",
                r##"<h1 id="y"></h1><a href="a.html#z"></a><a href="d.html"></a><a href="e.css"></a>"##,
            ),
        ]
        .into();
        assert_eq!(dead_links(&pages), ["b.html: a.html#z", "b.html: d.html"]);
    }

    #[test]
    fn the_table_of_contents_has_every_page() {
        let contents = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
        for entry in fs::read_dir(root().join("docs")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let is_page = name.ends_with(".md") && name != "SUMMARY.md";
            assert!(!is_page || contents.contains(&format!("]({name})")), "docs/SUMMARY.md lacks {name}");
        }
    }

    /// The site has the pages of `docs/` only, so their links must stay there.
    #[test]
    fn pages_link_to_pages_of_the_site_only() {
        for entry in fs::read_dir(root().join("docs")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(&path).unwrap();
                assert!(!text.contains("](../"), "{} links to a file outside of docs/", path.display());
            }
        }
    }
}
