//! The source of the library as text: its files, without comments, and the items that each names.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the library: its path, its module and its code.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) module: Vec<String>,
    pub(crate) code: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

pub(crate) fn files_under(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files.extend(files_under(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Every Rust file under `src/`.
pub(crate) fn sources() -> Vec<Source> {
    let read = |path: PathBuf| {
        let below = path.strip_prefix(root()).unwrap().with_extension("");
        let mut module: Vec<_> = below.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        if matches!(module.last().unwrap().as_str(), "mod" | "lib") {
            module.pop();
        }
        let code = code_of(&fs::read_to_string(&path).unwrap());
        Source { path, module, code }
    };
    files_under(&root()).into_iter().map(read).collect()
}

/// The text without comments and without the contents of strings.
pub(crate) fn code_of(text: &str) -> String {
    let text = text.replace("'\"'", "' '");
    let mut code = String::new();
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|&char| char != '\n').is_some() {},
            '"' => {
                code.push('"');
                while let Some(char) = rest.next().filter(|&char| char != '"') {
                    if char == '\\' {
                        rest.next();
                    }
                }
                code.push('"');
            }
            _ => code.push(char),
        }
    }
    code
}

/// The items of the library that a file names, in `use` lines or elsewhere, as full paths from the root.
pub(crate) fn names(source: &Source) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = source.code.as_str();
    while let Some(at) = ["crate::", "super::", "self::"].iter().filter_map(|start| rest.find(start)).min() {
        let path = path_of(&rest[at..]);
        for leaf in leaves(path) {
            let name = absolute(&source.module, &leaf);
            // A macro for other crates names modules through `engine`.
            names.push(name.strip_prefix("engine::").unwrap_or(&name).to_owned());
        }
        rest = &rest[at + path.len()..];
    }
    names
}

/// The path, with its groups, at the start of the text.
fn path_of(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|char: char| {
        depth += i32::from(char == '{') - i32::from(char == '}');
        let goes_on = char.is_alphanumeric() || "_:{}".contains(char);
        depth < 0 || !(goes_on || depth > 0)
    });
    text[..end.unwrap_or(text.len())].trim_end_matches(':')
}

/// Expands a path with groups: `a::{b, c::{d, e}}` gives `a::b`, `a::c::d`, `a::c::e`.
fn leaves(path: &str) -> Vec<String> {
    let Some((stem, group)) = path.split_once('{') else {
        return vec![path.to_owned()];
    };
    let group = group.trim_end().strip_suffix('}').unwrap();
    let (mut depth, mut leaves_found) = (0, Vec::new());
    let members = group.split(|char: char| {
        depth += i32::from(char == '{') - i32::from(char == '}');
        char == ',' && depth == 0
    });
    for member in members.map(str::trim).filter(|member| !member.is_empty()) {
        let name = member.split(" as ").next().unwrap();
        leaves_found.extend(leaves(name).iter().map(|leaf| format!("{stem}{leaf}")));
    }
    leaves_found
}

/// The full path from the root of a path that begins with `crate`, `super` or `self` in this module.
fn absolute(module: &[String], path: &str) -> String {
    let mut here = module.to_vec();
    let mut steps = path.split("::").peekable();
    if steps.next_if_eq(&"crate").is_some() {
        here.clear();
    }
    steps.next_if_eq(&"self");
    while steps.next_if_eq(&"super").is_some() {
        here.pop().unwrap();
    }
    here.into_iter().chain(steps.map(str::to_owned)).collect::<Vec<_>>().join("::")
}

/// Whether a path names an item or something inside it. In `thing`, `*` stands for one segment.
pub(crate) fn is_within(path: &str, thing: &str) -> bool {
    let mut segments = path.split("::");
    thing.split("::").all(|wanted| segments.next().is_some_and(|segment| wanted == "*" || wanted == segment))
}
