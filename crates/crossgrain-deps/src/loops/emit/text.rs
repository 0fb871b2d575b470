//! The text around the loops: names, declarations, sizes, initial values and digests.

use std::collections::BTreeSet;

use super::value::bare;
use super::{Kind, Language, Writer, c, rust, seed};
use crate::loops::program::{Program, Variable};

/// The names of variables in emitted text.
///
/// Each name gets a prefix that no name of the emitter, of C, of Rust or of their libraries has. So a
/// program may use any name. A counter gets a second prefix if a variable has the same name, because a Rust
/// loop counter cannot shadow a table.
pub(super) fn names(program: &Program) -> Vec<String> {
    let is_counter = |variable: &Variable| matches!(variable.kind, Kind::Counter);
    let others: BTreeSet<_> = program
        .variables
        .iter()
        .filter(|variable| !is_counter(variable))
        .map(|variable| variable.name.as_str())
        .collect();
    let name = |variable: &Variable| {
        let is_twice = is_counter(variable) && others.contains(variable.name.as_str());
        format!("{}my_{}", if is_twice { "loop_" } else { "" }, variable.name)
    };
    program.variables.iter().map(name).collect()
}

/// The text for each variable.
#[derive(Default)]
struct Parts {
    /// Items outside all functions.
    items: String,
    /// Fields of the Rust structure, and their initial values.
    fields: String,
    declared: String,
    /// Statements that bind names to the fields.
    bound: String,
    /// Branches that set a parameter.
    set: String,
    allocate: String,
    reset: String,
    digest: String,
}

impl Writer<'_> {
    /// The whole program around the texts of the three versions.
    pub(super) fn program(&self, versions: [(&str, String); 3]) -> String {
        let mut parts = Parts::default();
        for (number, variable) in self.program.variables.iter().enumerate() {
            match self.language {
                Language::C => self.in_c(number, variable, &mut parts),
                Language::Rust => self.in_rust(number, variable, &mut parts),
            }
        }
        let Parts { items, fields, declared, bound, set, allocate, reset, digest } = parts;
        let versions = versions.map(|(name, body)| match self.language {
            Language::C => format!("static void {name}(void) {{\n{body}}}\n\n"),
            Language::Rust => format!("pub fn {name}(v: &Variables) {{\n{bound}{body}}}\n\n"),
        });
        let (versions, names) = (versions.concat(), self.known_names());
        match self.language {
            Language::C => format!(
                "{}{items}\n{versions}{}static void allocate(void) {{\n{allocate}}}\n\n\
                 static void reset(void) {{\n{reset}}}\n\n\
                 static uint64_t digest(void) {{\n    uint64_t sum = 0xcbf29ce484222325u;\n{digest}    return sum;\n}}\n\n\
                 static const char NAMES[] = \"{names}\";\n\n\
                 static int set(const char *name, int64_t value) {{\n{set}    return 0;\n}}\n\n{}",
                c::HEAD,
                c::FILL,
                c::MAIN
            ),
            Language::Rust => format!(
                "{}{items}/// The variables of the loops.\npub struct Variables {{\n{fields}}}\n\n\
                 fn declared() -> Variables {{\n    Variables {{\n{declared}    }}\n}}\n\n{versions}{}\
                 fn allocate(v: &mut Variables) {{\n    let mut total = 0;\n{bound_params}{allocate}}}\n\n\
                 fn reset(v: &Variables) {{\n{reset}}}\n\n\
                 fn digest(v: &Variables) -> u64 {{\n    let mut sum = 0xcbf2_9ce4_8422_2325;\n{digest}    sum\n}}\n\n\
                 const NAMES: &str = \"{names}\";\n\n\
                 fn set(v: &mut Variables, name: &str, value: i64) -> bool {{\n{set}    false\n}}\n\n{}",
                rust::HEAD,
                rust::FILL,
                rust::MAIN,
                bound_params = self.bound_params(),
            ),
        }
    }

    /// The names that the program takes as arguments.
    fn known_names(&self) -> String {
        let shown = |variable: &Variable| match variable.kind {
            Kind::Param { at_least, run } => {
                let least = at_least.map(|least| format!(", at least {least}")).unwrap_or_default();
                Some(format!("{} ({run}{least})", variable.name))
            }
            _ => None,
        };
        let mut names: Vec<_> = self.program.variables.iter().filter_map(shown).collect();
        for option in ["threads", "runs"] {
            if !names.iter().any(|name| name.split(' ').next() == Some(option)) {
                names.push(option.to_owned());
            }
        }
        format!("the names are {}", names.join(", "))
    }

    /// Binds the parameters in Rust.
    fn bound_params(&self) -> String {
        let variables = self.program.variables.iter().zip(&self.names);
        let params = variables.filter(|(variable, _)| matches!(variable.kind, Kind::Param { .. }));
        params.map(|(_, name)| format!("    let {name} = v.{name};\n")).collect()
    }

    /// The number of an array's elements, with checked arithmetic.
    fn elements(&self, number: usize) -> String {
        let name = &self.program.variables[number].name;
        let lens = self.spans(number).into_iter().map(|(_, len)| bare(len));
        lens.fold("1".to_owned(), |cells, len| format!("elements(\"{name}\", {len}, {cells})"))
    }

    /// Sets a parameter to `value`, if `name` is its name.
    fn setter(&self, number: usize, at_least: Option<i64>) -> String {
        let (to, own) = (&self.names[number], &self.program.variables[number].name);
        let refusal = |least: i64| match self.language {
            Language::C => format!("        if (value < {least}) refuse(\"`{own}` is at least {least}\");\n"),
            Language::Rust => format!(
                "        if value < {least} {{\n            refuse(\"`{own}` is at least {least}\");\n        }}\n"
            ),
        };
        let refusal = at_least.map(refusal).unwrap_or_default();
        match self.language {
            Language::C => format!(
                "    if (!strcmp(name, \"{own}\")) {{\n{refusal}        {to} = value;\n        return 1;\n    }}\n"
            ),
            Language::Rust => format!(
                "    if name == \"{own}\" {{\n{refusal}        v.{to} = value;\n        return true;\n    }}\n"
            ),
        }
    }

    fn in_c(&self, number: usize, variable: &Variable, parts: &mut Parts) {
        let (name, seed) = (&self.names[number], seed(&variable.name));
        let mut digest = String::new();
        match &variable.kind {
            Kind::Counter => {}
            Kind::Param { at_least, run } => {
                parts.items += &format!("static int64_t {name} = {run};\n");
                parts.set += &self.setter(number, *at_least);
            }
            Kind::Table(_, values) => {
                parts.items += &format!(
                    "static const uint32_t {name}[{}] = {{{}}};\n",
                    variable.cells(),
                    listed(values)
                );
            }
            Kind::Int(first) => {
                parts.items += &format!("static int64_t {name};\n");
                parts.reset += &format!("    {name} = {first};\n");
                digest = format!("    sum = add_number(sum, {name});\n");
            }
            Kind::Word => {
                parts.items += &format!("static uint32_t {name};\n");
                parts.reset += &format!("    {name} = painted({seed:#x}u, 0);\n");
                digest = format!("    sum = add_word(sum, {name});\n");
            }
            Kind::Array(_) => {
                parts.items += &format!("static uint32_t *{name};\nstatic int64_t cells_{name};\n");
                let cells = self.elements(number);
                parts.allocate +=
                    &format!("    cells_{name} = {cells};\n    {name} = taken(cells_{name});\n");
                parts.reset += &format!("    fill({name}, cells_{name}, {seed:#x}u);\n");
                digest = format!("    sum = add(sum, {name}, cells_{name});\n");
            }
        }
        if !variable.is_local {
            parts.digest += &digest;
        }
    }

    fn in_rust(&self, number: usize, variable: &Variable, parts: &mut Parts) {
        let (name, seed) = (&self.names[number], seed(&variable.name));
        let (mut field, mut digest) = (None, String::new());
        match &variable.kind {
            Kind::Counter => {}
            Kind::Param { at_least, run } => {
                field = Some(("i64", run.to_string()));
                parts.set += &self.setter(number, *at_least);
            }
            Kind::Table(_, values) => {
                let (cells, values) = (variable.cells(), listed(values));
                parts.items += &format!("static {name}: [u32; {cells}] = [{values}];\n");
            }
            Kind::Int(first) => {
                field = Some(("AtomicI64", "AtomicI64::new(0)".to_owned()));
                parts.reset += &format!("    v.{name}.store({first}, Relaxed);\n");
                digest = format!("    sum = add_number(sum, v.{name}.load(Relaxed));\n");
            }
            Kind::Word => {
                field = Some(("AtomicU32", "AtomicU32::new(0)".to_owned()));
                parts.reset += &format!("    v.{name}.store(painted({seed:#x}, 0), Relaxed);\n");
                digest = format!("    sum = add(sum, v.{name}.load(Relaxed));\n");
            }
            Kind::Array(_) => {
                field = Some(("Vec<AtomicU32>", "Vec::new()".to_owned()));
                let cells = self.elements(number);
                parts.allocate += &format!("    v.{name} = taken(&mut total, {cells});\n");
                parts.reset += &format!("    fill(&v.{name}, {seed:#x});\n");
                digest = format!(
                    "    sum = v.{name}.iter().fold(sum, |sum, word| add(sum, word.load(Relaxed)));\n"
                );
            }
        }
        if let Some((kind, first)) = field {
            parts.fields += &format!("    pub {name}: {kind},\n");
            parts.declared += &format!("        {name}: {first},\n");
            let to = if kind == "i64" { "" } else { "&" };
            let slice = if kind == "Vec<AtomicU32>" { "[..]" } else { "" };
            parts.bound += &format!("    let {name} = {to}v.{name}{slice};\n");
        }
        if !variable.is_local {
            parts.digest += &digest;
        }
    }
}

fn listed(values: &[u32]) -> String {
    values.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
