//! The dependency rules of the library, checked by reading its source.
//!
//! * A layer is a set of modules. A file may name only its own layer and layers below it (`LAYERS`), and a
//!   crate only crates below it (`CRATES`).
//! * Outside a cipher's folder, only registries name it (`NAME_CIPHERS`). Outside `mode`, files may name only
//!   two things in the folder of a mode: the modules that kernels use, and the slow form.
//! * Unsafe code and CPU instructions are confined to `arch`.
//! * Every file under `src/` is in the module tree.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod sources;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sources::{code_of, files_under, is_within, names, root, sources};

/// A layer: the modules that it consists of, and the modules, or single items of modules, that it may name in
/// addition to itself. `*` stands for one folder. A module belongs to the layer that has its longest prefix,
/// so permission to name `cipher` does not extend to `cipher::aes`.
type Layer = (&'static [&'static str], &'static [&'static str]);

/// The parts of modes that kernels use: the sources that they compute with, and the messages that they take.
const FACES: [&str; 14] = [
    "mode::ccm::serial",
    "mode::chained::chain",
    "mode::chained::serial",
    "mode::cmac::serial",
    "mode::ctr::counter",
    "mode::eax::serial",
    "mode::gcm::ghash",
    "mode::gcm::kernel",
    "mode::gcm_siv::kernel",
    "mode::ocb::kernel",
    "mode::ocb::mask",
    "mode::ocb::serial",
    "mode::siv::serial",
    "mode::xts::tweak",
];

/// The layers from the bottom up. Only `check` may name the slow forms.
const LAYERS: [Layer; 26] = [
    (&["text"], &[]),
    (&["auxiliary"], &[]),
    (&["arch"], &[]),
    (&["pool"], &["arch::DEEP_STACK_BYTES", "arch::wipe_stack"]),
    (&["block"], &["text", "arch::ClearRegisters", "arch::Wiped", "arch::known_caps"]),
    (
        &["cap"],
        &["block::Error", "arch::Features", "arch::CAP_BASES", "arch::CAP_REMOVALS", "arch::CAP_VARIABLE"],
    ),
    (&["message"], &["block", "arch::Buffers", "arch::ones_then_zeros"]),
    (&["circuit"], &["arch"]),
    // The registry, and what descriptions of ciphers are run on.
    (&["cipher"], &["block", "arch", "circuit"]),
    (&["layout"], &["arch"]),
    // The traits of kernels, and the parts of modes that they use.
    (
        &[
            "kernel",
            "mode::ccm::serial",
            "mode::chained::chain",
            "mode::chained::serial",
            "mode::cmac::serial",
            "mode::ctr::counter",
            "mode::eax::serial",
            "mode::gcm::ghash",
            "mode::gcm::kernel",
            "mode::gcm_siv::kernel",
            "mode::ocb::kernel",
            "mode::ocb::mask",
            "mode::ocb::serial",
            "mode::siv::serial",
            "mode::xts::tweak",
        ],
        &["block", "arch", "message", "cipher", "layout"],
    ),
    (&["cipher::derived"], &["block", "arch", "cipher", "layout", "kernel"]),
    // Descriptions and kernels.
    (
        &["cipher::*"],
        &[
            "block",
            "arch",
            "message",
            "circuit",
            "cipher",
            "layout",
            "kernel",
            "mode::chained::chain",
            "mode::chained::serial",
            "mode::ctr::counter",
            "mode::gcm::ghash",
            "mode::gcm::kernel",
            "mode::gcm_siv::kernel",
            "mode::ocb::kernel",
            "mode::ocb::mask",
            "mode::xts::tweak",
            "cipher::derived",
        ],
    ),
    // The slow forms of ciphers and modes.
    (
        &["cipher::reference", "cipher::rijndael::reference", "mode::*::reference"],
        &["block", "cipher", "cipher::aes::description"],
    ),
    // The named circuits, and the synthesis that tries them.
    (
        &["circuit::expansion", "circuit::inversion", "circuit::named", "circuit::synthesize"],
        &["arch", "circuit", "cipher::aes::linear_circuit", "cipher::serpent::sbox_circuit"],
    ),
    (
        &["device", "cipher::*::gpu"],
        &[
            "block",
            "pool",
            "arch",
            "circuit",
            "circuit::named",
            "circuit::synthesize",
            "cipher",
            "layout::convert::transpose_square",
            "kernel",
            "cipher::*",
        ],
    ),
    (
        &["variant", "cipher::*::rows", "cipher::*::search_rows"],
        &[
            "block",
            "arch",
            "circuit",
            "cipher",
            "layout",
            "kernel",
            "mode::ctr::counter",
            "cipher::derived",
            "cipher::*",
        ],
    ),
    (
        &["plan"],
        &[
            "block",
            "arch",
            "layout::repr",
            "layout::convert::Load",
            "layout::convert::Store",
            "kernel",
            "message",
            "mode::chained::chain",
            "mode::chained::serial",
            "mode::ctr::counter",
            "mode::gcm::ghash",
            "mode::gcm::kernel",
            "mode::gcm_siv::kernel",
            "mode::ocb::kernel",
            "mode::ocb::mask",
            "variant",
            "text",
        ],
    ),
    (
        &["run"],
        &[
            "block",
            "pool",
            "arch",
            "message",
            "layout",
            "kernel",
            "mode::chained::chain",
            "mode::chained::serial",
            "mode::ctr::counter",
            "mode::gcm::kernel",
            "mode::gcm_siv::kernel",
            "mode::ocb::kernel",
            "mode::xts::tweak",
            "variant",
            "plan",
        ],
    ),
    (
        &["mode"],
        &[
            "block",
            "arch::Buffers",
            "arch::ClearRegisters",
            "arch::Features",
            "arch::STACK_BYTES",
            "arch::Wiped",
            "arch::WipedBytes",
            "arch::wipe",
            "arch::wipe_stack",
            "message",
            "kernel::Keys",
            "kernel::Source",
            "kernel::own_keys",
            "kernel::serial::Serial",
            "kernel::sum",
            "mode::ccm::serial",
            "mode::chained::chain",
            "mode::chained::serial",
            "mode::cmac::serial",
            "mode::ctr::counter::Counter",
            "mode::eax::serial",
            "mode::gcm::ghash",
            "mode::gcm::kernel",
            "mode::gcm_siv::kernel",
            "mode::ocb::kernel",
            "mode::ocb::mask",
            "mode::ocb::serial",
            "mode::siv::serial",
            "mode::xts::tweak",
            "variant::Policy",
            "variant::find",
            "plan",
            "run",
        ],
    ),
    // Rijndael with wide blocks: its rows and modes.
    (
        &["cipher::rijndael::stream"],
        &[
            "block",
            "arch",
            "layout::repr::Repr",
            "layout::convert",
            "kernel::search",
            "cipher::aes::description",
            "cipher::substitution",
            "cipher::rijndael",
            "run::Threads",
            "mode",
        ],
    ),
    (
        &["check"],
        &[
            "block",
            "cipher::reference",
            "mode::*::reference",
            "arch::Features",
            "layout::repr::Repr",
            "kernel::search",
            "variant",
            "plan",
            "run::search",
            "mode",
        ],
    ),
    (&["tune"], &["block", "arch::Features", "variant", "plan", "run::search", "mode", "check"]),
    (
        &["wisdom"],
        &[
            "block",
            "cipher::Entry",
            "device::Kernel",
            "arch::Features",
            "arch::cpu_model",
            "variant",
            "plan",
            "text",
            "auxiliary",
        ],
    ),
    (&["rustcrypto"], &["block", "arch::Buffers", "arch::Features", "mode"]),
    (
        &["stream"],
        &[
            "block",
            "arch::bytes_of_mut",
            "arch::wipe",
            "plan::Plan",
            "mode",
            "rustcrypto::Kind",
            "rustcrypto::default_options",
        ],
    ),
];

/// The modules outside a cipher's folder that name it, each with the items that it may name. `cipher` itself,
/// the registry, names folders by its macros.
const NAME_CIPHERS: [(&str, &[&str]); 6] = [
    ("cipher::rijndael", &["cipher::aes"]), // the same rounds with more columns
    ("circuit::named", &["cipher::aes::linear_circuit", "cipher::serpent::sbox_circuit"]),
    ("device", &["cipher::aes::gpu::tables", "cipher::aes::gpu::cached_counter"]), // the sizes of their groups
    ("device::rounds", &["cipher::aes::gpu", "cipher::serpent::gpu", "cipher::serpent::sbox_circuit"]),
    ("device::search::begun", &["cipher::aes::search::LaneByte"]), // blocks to bits, on integers
    ("variant::table", &["cipher::aes", "cipher::serpent"]),       // the order of the rows
];

/// The folders of `cipher` that are no cipher.
const NO_CIPHERS: [&str; 1] = ["derived"];

/// The place in `LAYERS` of the layer that a path belongs to: the one with its longest prefix. Of two
/// prefixes of one length, the one without `*` decides.
fn layer_of(path: &str) -> Option<usize> {
    let prefixes =
        LAYERS.iter().enumerate().flat_map(|(at, (own, _))| own.iter().map(move |prefix| (at, *prefix)));
    let fitting = prefixes.filter(|(_, prefix)| is_within(path, prefix));
    let length = |prefix: &str| (prefix.split("::").count(), !prefix.contains('*'));
    fitting.max_by_key(|(_, prefix)| length(prefix)).map(|(at, _)| at)
}

/// The layer of an item: files of `cipher` and `mode` are no folders.
fn layer_of_name(path: &str) -> Option<usize> {
    let segments: Vec<_> = path.split("::").collect();
    let is_folder = |layer: &str, name: &str| root().join(layer).join(name).is_dir();
    match segments[..] {
        [layer @ ("cipher" | "mode"), name, ..] if name != "*" && !is_folder(layer, name) => {
            let exact = LAYERS.iter().position(|(own, _)| own.contains(&&*format!("{layer}::{name}")));
            exact.or_else(|| layer_of(layer))
        }
        _ => layer_of(path),
    }
}

#[test]
fn every_layer_may_name_only_layers_below_it() {
    for (at, (layer, may_name)) in LAYERS.iter().enumerate() {
        for thing in *may_name {
            assert!(layer_of_name(thing).is_some_and(|below| below < at), "{layer:?} may not name {thing}");
        }
    }
}

#[test]
fn every_module_at_the_root_is_a_layer() {
    let lib = sources().into_iter().find(|source| source.module.is_empty()).unwrap();
    let modules: BTreeSet<_> = modules_of(&lib.code).into_iter().collect();
    let prefixes = LAYERS.iter().flat_map(|(own, _)| own.iter());
    assert_eq!(modules, prefixes.map(|prefix| prefix.split("::").next().unwrap().to_owned()).collect());
}

#[test]
fn files_name_only_what_their_layer_may() {
    let mut count = 0;
    for source in sources().iter().filter(|source| !source.module.is_empty()) {
        let at = layer_of_name(&source.module.join("::")).unwrap();
        let (layer, may_name) = LAYERS[at];
        for path in names(source) {
            let named = layer_of_name(&path);
            let is_listed = |thing: &&str| is_within(&path, thing) && layer_of_name(thing) == named;
            // The registry's macros lead to the folders of ciphers, on behalf of the layers that use them.
            let is_registry = source.module == ["cipher"] && is_within(&path, "cipher");
            let allowed = named == Some(at) || is_registry || may_name.iter().any(is_listed);
            assert!(allowed, "{} names {path}, which {layer:?} may not", source.path.display());
            count += 1;
        }
    }
    assert!(count > 1000, "only {count} names were found: can this test still read the source?");
}

/// The folder below `layer` that a path leads into.
fn folder_of(layer: &str, path: &str) -> Option<String> {
    let mut segments = path.split("::");
    let name = segments.next().filter(|first| *first == layer).and(segments.next())?;
    root().join(layer).join(name).is_dir().then(|| name.to_owned())
}

#[test]
fn only_registries_name_a_ciphers_folder() {
    let mut used = BTreeSet::new();
    for source in sources() {
        let module = source.module.join("::");
        let own = folder_of("cipher", &module);
        for path in names(&source) {
            let cipher = folder_of("cipher", &path).filter(|name| !NO_CIPHERS.contains(&name.as_str()));
            if cipher.is_none() || cipher == own {
                continue;
            }
            let row = NAME_CIPHERS.iter().position(|(registry, may_name)| {
                let is_it = module == *registry || own.is_some() && is_within(&module, registry);
                is_it && may_name.iter().any(|thing| is_within(&path, thing))
            });
            let row = row.unwrap_or_else(|| panic!("{} names {path}", source.path.display()));
            used.insert(row);
        }
    }
    assert_eq!(used.len(), NAME_CIPHERS.len(), "remove the rows that are not in {used:?}");
}

#[test]
fn outside_of_modes_only_faces_and_slow_forms_are_named_in_their_folders() {
    for source in sources().iter().filter(|source| source.module.first().is_some_and(|layer| layer != "mode"))
    {
        for path in names(source).iter().filter(|path| folder_of("mode", path).is_some()) {
            let may = FACES.iter().any(|face| is_within(path, face)) || is_within(path, "mode::*::reference");
            assert!(may, "{} names {path}", source.path.display());
        }
    }
    for face in FACES {
        assert_eq!(layer_of(face), layer_of("kernel"), "{face} lies with the traits of kernels");
    }
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

/// The code without the paths that lead to the module `arch` of the library.
fn without_own_arch(code: &str) -> String {
    // The last is the module's name in the macro that makes it part of `engine`.
    let own = ["crate::arch::", "super::arch::", "mod arch;", "pub use arch::{", "\n        arch\n"];
    own.iter().fold(code.to_owned(), |code, path| code.replace(path, ""))
}

#[test]
fn unsafe_code_and_the_cpus_instructions_stay_in_arch() {
    for source in sources().iter().filter(|source| source.module.first().is_none_or(|layer| layer != "arch"))
    {
        let code = without_own_arch(&source.code);
        for word in ["unsafe", "target_feature", "target_arch", "arch"] {
            assert!(!has_word(&code, word), "{}: {word}", source.path.display());
        }
    }
}

/// The register types and ISA tokens that the machines' folders define.
fn registers() -> Vec<String> {
    let folders = fs::read_dir(root().join("arch")).unwrap().map(|entry| entry.unwrap().path());
    let machine: Vec<_> = folders.filter(|path| path.is_dir()).flat_map(|path| files_under(&path)).collect();
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
        if path.starts_with(root().join("../../crossgrain/src/arch")) || path.starts_with(root().join("arch"))
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
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("#[") || line.starts_with("path"));
    let named = lines.filter_map(|line| line.split_once("path = \""));
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
const CRATES: [(&str, &[&str]); 9] = [
    ("crossgrain", &[]),
    ("crossgrain-files", &[]),
    ("crossgrain-container", &["crossgrain"]),
    ("crossgrain-deps", &["crossgrain"]),
    ("crossgrain-search", &["crossgrain", "crossgrain-container"]),
    ("crossgrain-gpu", &["crossgrain", "crossgrain-search"]),
    ("crossgrain-page", &["crossgrain", "crossgrain-container"]),
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
