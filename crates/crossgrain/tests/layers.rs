//! The dependency rules of the library, checked by reading its source.
//!
//! * A module may name only modules below it (`LAYERS`), and a crate only crates below it (`CRATES`).
//! * Unsafe code and CPU instructions are confined to `word`.
//! * Every file under `src/` is in the module tree.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers from the bottom up. The second field lists the modules, or single items of modules, that the
/// layer may name in addition to itself. Only `check` may name `reference`.
const LAYERS: [(&str, &[&str]); 24] = [
    ("text", &[]),
    ("auxiliary", &[]),
    ("pool", &[]),
    ("word", &[]),
    ("block", &["text", "word::ClearRegisters"]),
    ("cap", &["block::Error", "word::Features", "word::CAP_VARIABLE"]),
    ("message", &["block", "word::Buffers", "word::ones_then_zeros"]),
    ("circuit", &["word"]),
    ("cipher", &["block", "word", "circuit"]),
    ("reference", &["block", "cipher"]),
    ("repr", &["block", "word"]),
    ("convert", &["block", "word", "repr"]),
    ("part", &["block", "word", "message", "circuit", "cipher", "repr", "convert"]),
    ("device", &["block", "pool", "word", "circuit", "cipher", "convert::transpose_square", "part"]),
    ("variant", &["block", "word", "circuit", "cipher", "repr", "convert", "part"]),
    ("plan", &["block", "word", "repr", "convert::Load", "convert::Store", "part", "variant", "text"]),
    ("exec", &["block", "pool", "word", "message", "circuit", "repr", "convert", "part", "variant", "plan"]),
    (
        "mode",
        &[
            "block",
            "word::Buffers",
            "word::ClearRegisters",
            "word::Features",
            "word::WipedBytes",
            "word::wipe",
            "word::wipe_stack",
            "message",
            "mode::gcm::params::GcmWay",
            "kernel::Source",
            "mode::chained::chain",
            "mode::ctr::counter::Counter",
            "mode::gcm::ghash",
            "mode::ocb::mask",
            "kernel::own_keys",
            "part::sum",
            "mode::xts::tweak",
            "variant::Policy",
            "variant::find",
            "plan",
            "exec",
        ],
    ),
    ("wide", &["block", "word", "repr::Repr", "convert", "cipher::rijndael", "exec::Threads", "mode"]),
    (
        "check",
        &[
            "block",
            "reference",
            "word::Buffers",
            "word::Features",
            "repr::Repr",
            "part::search",
            "variant",
            "plan",
            "exec::search",
            "mode",
        ],
    ),
    (
        "tune",
        &["block", "word::Buffers", "word::Features", "variant", "plan", "exec::search", "mode", "check"],
    ),
    (
        "wisdom",
        &[
            "block",
            "cipher::Entry",
            "device::Kernel",
            "word::Features",
            "word::cpu_model",
            "variant",
            "plan",
            "text",
            "auxiliary",
        ],
    ),
    ("rustcrypto", &["block", "word::Buffers", "word::Features", "mode"]),
    (
        "stream",
        &[
            "block",
            "word::bytes_of_mut",
            "word::wipe",
            "plan::Plan",
            "mode",
            "rustcrypto::Kind",
            "rustcrypto::default_options",
            "rustcrypto::kind",
        ],
    ),
];

/// A file of the library: its path, its module and its code.
struct Source {
    path: PathBuf,
    module: Vec<String>,
    code: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
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
fn sources() -> Vec<Source> {
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
fn code_of(text: &str) -> String {
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
fn names(source: &Source) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = source.code.as_str();
    while let Some(at) = ["crate::", "super::"].iter().filter_map(|start| rest.find(start)).min() {
        let path = path_of(&rest[at..]);
        for leaf in leaves(path) {
            let name = absolute(&source.module, &leaf);
            // A macro for other crates names modules through `internal`.
            names.push(name.strip_prefix("internal::").unwrap_or(&name).to_owned());
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

/// The full path from the root of a path that begins with `crate` or `super` in this module.
fn absolute(module: &[String], path: &str) -> String {
    let mut here = module.to_vec();
    let mut steps = path.split("::").peekable();
    if steps.next_if_eq(&"crate").is_some() {
        here.clear();
    }
    while steps.next_if_eq(&"super").is_some() {
        here.pop().unwrap();
    }
    here.into_iter().chain(steps.map(str::to_owned)).collect::<Vec<_>>().join("::")
}

/// Whether a path names an item or something inside it.
fn is_within(path: &str, thing: &str) -> bool {
    path.strip_prefix(thing).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[test]
fn every_layer_may_name_only_layers_below_it() {
    let below = |at: usize| LAYERS[..at].iter().map(|(layer, _)| *layer);
    for (at, (layer, may_name)) in LAYERS.iter().enumerate() {
        for thing in *may_name {
            assert!(below(at).any(|lower| is_within(thing, lower)), "{layer} may not name {thing}");
        }
    }
}

#[test]
fn every_module_at_the_root_is_a_layer() {
    let lib = sources().into_iter().find(|source| source.module.is_empty()).unwrap();
    let modules: BTreeSet<_> = modules_of(&lib.code).into_iter().collect();
    assert_eq!(modules, LAYERS.iter().map(|(layer, _)| (*layer).to_owned()).collect());
}

#[test]
fn files_name_only_what_their_layer_may() {
    let mut count = 0;
    for source in sources().iter().filter(|source| !source.module.is_empty()) {
        let (layer, may_name) = LAYERS.iter().find(|(layer, _)| *layer == source.module[0]).unwrap();
        for path in names(source) {
            let allowed = [layer].into_iter().chain(*may_name).any(|thing| is_within(&path, thing));
            assert!(allowed, "{} names {path}, which {layer} may not", source.path.display());
            count += 1;
        }
    }
    assert!(count > 100, "only {count} names were found: can this test still read the source?");
}

/// One `use` line per layer, so a reader sees at once which layers a file names.
#[test]
fn no_line_names_several_layers() {
    for source in sources() {
        let at_root = source.module.len() == 1 && source.code.contains("super::{");
        assert!(!at_root && !source.code.contains("crate::{"), "{}: one line a layer", source.path.display());
    }
}

/// Unit tests inside the library would never run, because the library is not compiled for tests.
#[test]
fn no_file_has_tests_of_its_own() {
    for source in sources() {
        assert!(!source.code.contains("cfg(test)"), "{}: tests are in tests/", source.path.display());
    }
}

/// Whether the code contains this word as a whole identifier.
fn has_word(code: &str, word: &str) -> bool {
    code.split(|char: char| !char.is_alphanumeric() && char != '_').any(|found| found == word)
}

#[test]
fn unsafe_code_and_the_cpus_instructions_stay_with_the_words() {
    for source in sources().iter().filter(|source| source.module.first().is_none_or(|layer| layer != "word"))
    {
        for word in ["unsafe", "target_feature", "target_arch", "arch"] {
            assert!(!has_word(&source.code, word), "{}: {word}", source.path.display());
        }
    }
}

/// The register types and ISA tokens that `word/x86` defines.
fn registers() -> Vec<String> {
    let machine = files_under(&root().join("word/x86"));
    let code: String = machine.iter().map(|path| code_of(&fs::read_to_string(path).unwrap())).collect();
    let aliases = code.lines().filter_map(|line| line.trim().strip_prefix("pub type ")?.split(' ').next());
    let tokens = code.split("isa!(").skip(1).filter_map(|row| row.trim().split(',').next());
    let mut names: Vec<_> = aliases.chain(tokens).map(str::to_owned).collect();
    names.retain(|name| !name.starts_with('$'));
    assert!(names.len() >= 26, "only {names:?} were found: can this test still read the source?");
    names
}

#[test]
fn only_a_machines_folder_names_its_registers() {
    let crates = root().join("../..");
    let names = registers();
    let folders = fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path());
    for path in
        folders.filter(|path| !path.ends_with("xtask")).flat_map(|path| files_under(&path.join("src")))
    {
        if path.starts_with(root().join("../../crossgrain/src/word")) || path.starts_with(root().join("word"))
        {
            continue;
        }
        let code = code_of(&fs::read_to_string(&path).unwrap());
        let named = names.iter().find(|name| has_word(&code, name));
        assert_eq!(named, None, "{}: use `for_each_register!` or `on_widest`", path.display());
    }
}

/// The modules that `mod` lines declare. `cfg` and `path` attributes are ignored.
fn modules_of(code: &str) -> Vec<String> {
    let declared = |line: &str| {
        let line = line.trim().strip_suffix(';')?;
        let (before, name) = line.rsplit_once("mod ")?;
        matches!(before, "" | "pub " | "pub(crate) " | "pub(super) ").then(|| name.to_owned())
    };
    code.lines().filter_map(declared).collect()
}

/// The files that `path` attributes name as an alternative body of a module.
fn other_bodies(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let named = text.lines().filter_map(|line| line.trim().strip_prefix("#[")?.split_once("path = \""));
    named.map(|(_, rest)| rest.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn every_file_is_in_the_module_tree() {
    let sources = sources();
    let mut reached = BTreeSet::from([root().join("lib.rs")]);
    for source in &sources {
        let folder = source.module.iter().fold(root(), |folder, name| folder.join(name));
        for module in modules_of(&source.code) {
            let bodies = [folder.join(&module).with_extension("rs"), folder.join(&module).join("mod.rs")];
            reached.extend(bodies.into_iter().find(|body| body.exists()));
        }
        reached.extend(other_bodies(&source.path).iter().map(|name| folder.join(name)));
    }
    assert_eq!(sources.into_iter().map(|source| source.path).collect::<BTreeSet<_>>(), reached);
}

/// `plan::compose` composes parts of any kind. Outside itself it uses only `text`, which escapes text in
/// messages.
#[test]
fn composing_names_nothing_but_itself() {
    let mut files = 0;
    for source in
        sources().iter().filter(|source| source.module.starts_with(&["plan", "compose"].map(str::to_owned)))
    {
        for path in names(source) {
            let is_own = is_within(&path, "plan::compose") || is_within(&path, "text");
            assert!(is_own, "{} names {path}", source.path.display());
        }
        files += 1;
    }
    assert!(files > 5, "only {files} files were found");
}

/// The crates of the workspace, each with the workspace crates that it may depend on.
const CRATES: [(&str, &[&str]); 8] = [
    ("crossgrain", &[]),
    ("crossgrain-files", &[]),
    ("crossgrain-container", &["crossgrain"]),
    ("crossgrain-deps", &["crossgrain"]),
    ("crossgrain-search", &["crossgrain", "crossgrain-container"]),
    ("crossgrain-gpu", &["crossgrain", "crossgrain-search"]),
    ("crossgrain-cli", PROGRAM),
    ("crossgrain-py", PROGRAM),
];

/// The crates that the program and the Python module build on.
const PROGRAM: &[&str] = &[
    "crossgrain",
    "crossgrain-container",
    "crossgrain-deps",
    "crossgrain-files",
    "crossgrain-search",
    "crossgrain-gpu",
];

/// The workspace crates in the `dependencies` section of a manifest.
fn depends_on(manifest: &str) -> Vec<&str> {
    let section = manifest.split("\n[").find_map(|section| section.strip_prefix("dependencies]"));
    let names = section.unwrap_or_default().lines().filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| name.starts_with("crossgrain")).collect()
}

#[test]
fn crates_depend_only_on_those_they_may() {
    let folder = root().join("../..");
    let mut seen = 0;
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Ok(manifest) = fs::read_to_string(path.join("Cargo.toml")) else { continue };
        let may = CRATES.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, may)| may);
        for dependency in depends_on(&manifest) {
            assert!(may.contains(&dependency), "{name} depends on {dependency}, which it may not");
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} dependencies were found");
}
