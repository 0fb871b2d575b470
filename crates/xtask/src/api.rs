//! `cargo xtask api`: writes the public interface of each library to `docs/api/CRATE.txt`, one line per item.
//! Changes of the interface thus appear in diffs. `cargo xtask api --check` is a step of the tests.
//!
//! The items come from rustdoc's JSON, an unstable option that `RUSTC_BOOTSTRAP` enables. The format changes
//! with the compiler. If it is not [`FORMAT`], the task is skipped with a message. Hidden items, the module
//! `engine`, and impls that all types have are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::{Result, cargo, root, succeed, target};

/// The supported version of rustdoc's JSON: that of Rust 1.95.
const FORMAT: u64 = 57;

/// The libraries with a public interface.
pub(crate) const CRATES: &str =
    "crossgrain crossgrain-container crossgrain-deps crossgrain-files crossgrain-gpu crossgrain-search";

/// A module without a promise of stability, which is not listed.
pub(crate) const UNSTABLE: &str = "engine";

/// Writes the listings, or compares them.
///
/// # Errors
/// If rustdoc fails, a file cannot be written, or a listing differs.
pub(crate) fn run(only_check: bool) -> Result<()> {
    let mut differ = Vec::new();
    for name in CRATES.split(' ') {
        let folder = target().join("api");
        let mut rustdoc = cargo();
        rustdoc
            .args(["rustdoc", "--quiet", "--lib", "--all-features", "-p", name, "--target-dir"])
            .arg(&folder);
        rustdoc.args(["--", "-Zunstable-options", "--output-format=json", "--cap-lints=allow"]);
        succeed(rustdoc.env("RUSTC_BOOTSTRAP", "1"))?;
        let json = root().join(folder).join("doc").join(name.replace('-', "_") + ".json");
        let text = fs::read_to_string(&json).map_err(|error| format!("{}: {error}", json.display()))?;
        let told: Value = serde_json::from_str(&text).map_err(|error| format!("rustdoc's JSON: {error}"))?;
        if told["format_version"] != FORMAT {
            println!("skipped: api (rustdoc writes format {}, and {FORMAT} is read)", told["format_version"]);
            return Ok(());
        }
        let listing = Listing::of(&told);
        let page = root().join(format!("docs/api/{name}.txt"));
        println!("{name}: {} items", listing.lines.len());
        if !only_check {
            fs::write(&page, listing.text()).map_err(|error| format!("{}: {error}", page.display()))?;
        } else if fs::read_to_string(&page).unwrap_or_default() != listing.text() {
            differ.push(name);
        }
    }
    if !differ.is_empty() {
        return Err(format!("{} differ from docs/api: run `cargo xtask api`", differ.join(", ")));
    }
    Ok(())
}

/// Lines of a listing, with the paths by which they are sorted.
struct Listing<'a> {
    index: &'a Value,
    lines: BTreeSet<(String, String)>,
    /// The traits of each type.
    traits: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Listing<'a> {
    fn of(told: &'a Value) -> Self {
        let (lines, traits) = (BTreeSet::new(), BTreeMap::new());
        let mut listing = Self { index: &told["index"], lines, traits };
        let items = &listing.item(&told["root"])["inner"]["module"]["items"];
        listing.add_all(items, "");
        listing
    }

    fn text(&self) -> String {
        let traits = self.traits.iter().map(|(path, traits)| {
            let all: Vec<_> = traits.iter().map(String::as_str).collect();
            (path, format!("impl {path}: {}", all.join(", ")))
        });
        let mut lines: Vec<_> =
            self.lines.iter().map(|(path, line)| (path, line.clone())).chain(traits).collect();
        lines.sort();
        lines.into_iter().map(|(_, line)| line + "\n").collect()
    }

    fn item(&self, id: &Value) -> &'a Value {
        &self.index[id.to_string()]
    }

    fn add_all(&mut self, ids: &Value, path: &str) {
        for id in list(ids) {
            self.add(self.item(id), path, None);
        }
    }

    fn line(&mut self, path: &str, line: String) {
        self.lines.insert((path.to_owned(), line));
    }

    /// Adds an item at a path, and its content.
    fn add(&mut self, item: &'a Value, path: &str, name: Option<&str>) {
        let Some((kind, inner)) = item["inner"].as_object().and_then(|inner| inner.iter().next()) else {
            return;
        };
        let name = name.unwrap_or(text(&item["name"]));
        let here = if path.is_empty() { name.to_owned() } else { format!("{path}::{name}") };
        let (params, bounds) = generics(&inner["generics"]);
        match kind.as_str() {
            "module" if here == UNSTABLE => {}
            "module" => {
                self.line(&here, format!("mod {here}"));
                self.add_all(&inner["items"], &here);
            }
            "use" => self.add(self.item(&inner["id"]), path, Some(text(&inner["name"]))),
            "struct" | "enum" => {
                self.line(&here, format!("{kind} {here}{params}{bounds}"));
                for field in list(&inner["variants"]).iter().chain(list(&inner["kind"]["plain"]["fields"])) {
                    self.add(self.item(field), &here, None);
                }
                for id in list(&inner["impls"]) {
                    self.add_impl(&self.item(id)["inner"]["impl"], &here, &item["id"]);
                }
            }
            "trait" => {
                let above = around(": ", joined(&inner["bounds"], bound, " + "), "");
                self.line(&here, format!("trait {here}{params}{above}{bounds}"));
                self.add_all(&inner["items"], &here);
            }
            "function" => {
                let made = if inner["header"]["is_const"] == true { "const fn" } else { "fn" };
                let line = format!("{made} {here}{params}{}{bounds}", signature(&inner["sig"]));
                self.line(&here, line);
            }
            "variant" => {
                let fields = &inner["kind"]["struct"]["fields"];
                let field = |id: &Value| ty(&self.item(id)["inner"]["struct_field"]);
                let tuple = around("(", joined(&inner["kind"]["tuple"], field, ", "), ")");
                self.line(&here, format!("variant {here}{tuple}"));
                self.add_all(fields, &here);
            }
            "struct_field" => self.line(&here, format!("field {here}: {}", ty(inner))),
            "constant" | "assoc_const" => self.line(&here, format!("const {here}: {}", ty(&inner["type"]))),
            "type_alias" => self.line(&here, format!("type {here}{params} = {}", ty(&inner["type"]))),
            "assoc_type" => self.line(&here, format!("type {here}")),
            _ => self.line(&here, format!("{kind} {here}")),
        }
    }

    /// Adds the methods of a type, or records a trait that it implements.
    fn add_impl(&mut self, found: &'a Value, path: &str, id: &Value) {
        if found["trait"].is_null() {
            return self.add_all(&found["items"], path);
        }
        let name = resolved(&found["trait"]);
        if found["is_synthetic"] == false && found["blanket_impl"].is_null() && name != "StructuralPartialEq"
        {
            let own = found["for"]["resolved_path"]["id"] == *id;
            let name = if own { name } else { format!("{name} for {}", ty(&found["for"])) };
            self.traits.entry(path.to_owned()).or_default().insert(name);
        }
    }
}

fn list(values: &Value) -> &[Value] {
    values.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("_")
}

fn joined(values: &Value, print: impl Fn(&Value) -> String, between: &str) -> String {
    list(values).iter().map(print).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(between)
}

/// Text with a prefix and a suffix, or nothing if it is empty.
fn around(before: &str, text: String, after: &str) -> String {
    if text.is_empty() { text } else { format!("{before}{text}{after}") }
}

/// The generic parameters in angle brackets, and the `where` clause.
fn generics(generics: &Value) -> (String, String) {
    let param = |param: &Value| {
        let (name, kind) = (text(&param["name"]), &param["kind"]);
        if kind["type"]["is_synthetic"] == true {
            return String::new();
        }
        let number = kind.get("const").map(|number| ty(&number["type"])).unwrap_or_default();
        let bounds = joined(&kind["type"]["bounds"], bound, " + ");
        name.to_owned() + &around(": const ", number, "") + &around(": ", bounds, "")
    };
    let demand = |demand: &Value| {
        let bounded = &demand["bound_predicate"];
        format!("{}: {}", ty(&bounded["type"]), joined(&bounded["bounds"], bound, " + "))
    };
    let (params, demands) =
        (joined(&generics["params"], param, ", "), joined(&generics["where_predicates"], demand, ", "));
    (around("<", params, ">"), around(" where ", demands, ""))
}

fn signature(sig: &Value) -> String {
    let input = |input: &Value| match (text(&input[0]), ty(&input[1])) {
        ("self", own) if own == "Self" => "self".to_owned(),
        ("self", own) if own.starts_with('&') => own.replace("Self", "self"),
        (name, type_) => format!("{name}: {type_}"),
    };
    let output = if sig["output"].is_null() { String::new() } else { ty(&sig["output"]) };
    format!("({}){}", joined(&sig["inputs"], input, ", "), around(" -> ", output, ""))
}

fn bound(bound: &Value) -> String {
    match bound.get("trait_bound") {
        Some(found) if found["modifier"] == "maybe" => format!("?{}", resolved(&found["trait"])),
        Some(found) => resolved(&found["trait"]),
        None => text(&bound["outlives"]).to_owned(),
    }
}

/// The last name of a path, with its arguments.
fn resolved(path: &Value) -> String {
    let name = text(&path["path"]).rsplit("::").next().unwrap_or_default();
    let args = &path["args"];
    if let Some(call) = args.get("parenthesized") {
        let output = if call["output"].is_null() { String::new() } else { ty(&call["output"]) };
        return format!("{name}({}){}", joined(&call["inputs"], ty, ", "), around(" -> ", output, ""));
    }
    let arg = |arg: &Value| match arg.get("type") {
        Some(found) => ty(found),
        None => text(arg.get("lifetime").unwrap_or(&arg["const"]["expr"])).to_owned(),
    };
    let equal =
        |equal: &Value| format!("{} = {}", text(&equal["name"]), ty(&equal["binding"]["equality"]["type"]));
    let args = &args["angle_bracketed"];
    let (types, equals) = (joined(&args["args"], arg, ", "), joined(&args["constraints"], equal, ", "));
    format!("{name}{}", around("<", [types, equals].join(", ").trim_matches([',', ' ']).to_owned(), ">"))
}

fn ty(found: &Value) -> String {
    let Some((kind, inner)) = found.as_object().and_then(|found| found.iter().next()) else {
        return "_".to_owned();
    };
    let mutable = if inner["is_mutable"] == true { "mut " } else { "" };
    match kind.as_str() {
        "resolved_path" => resolved(inner),
        "generic" | "primitive" => text(inner).to_owned(),
        "tuple" => format!("({})", joined(inner, ty, ", ")),
        "slice" => format!("[{}]", ty(inner)),
        "array" => format!("[{}; {}]", ty(&inner["type"]), text(&inner["len"])),
        "borrowed_ref" => {
            let lifetime = around("", inner["lifetime"].as_str().unwrap_or_default().to_owned(), " ");
            format!("&{lifetime}{mutable}{}", ty(&inner["type"]))
        }
        "impl_trait" => format!("impl {}", joined(inner, bound, " + ")),
        "dyn_trait" => format!("dyn {}", joined(&inner["traits"], |found| resolved(&found["trait"]), " + ")),
        "qualified_path" => format!("{}::{}", ty(&inner["self_type"]), text(&inner["name"])),
        "function_pointer" => format!("fn{}", signature(&inner["sig"])),
        _ => kind.clone(),
    }
}
