//! The text around the loops: names, declarations, initial values, and the comparison of both versions.

use std::collections::BTreeSet;

use super::{Kind, Language, Writer, seed};
use crate::loops::program::{Program, Variable};

/// The names of variables in emitted text.
///
/// Each name gets a prefix that no name of the emitter, of C, of Rust or of their libraries has. So a
/// program may use any name. A counter gets a second prefix if a variable has the same name, because a Rust
/// loop counter cannot shadow a constant.
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

const C_HEAD: &str = r#"/* Written by `crossgrain deps`. Compile with `cc -fopenmp`; it compares both versions, and fails if they differ.
   Names of the loops begin with `my_`. */
#ifndef _OPENMP
#error "compile with -fopenmp: without it, both versions are serial"
#endif
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint32_t rotl(uint32_t word, int by) { return word << (by & 31) | word >> (-by & 31); }
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }

/* How many iterations a loop has. */
static inline int64_t trips(int64_t from, int64_t to, int64_t step) {
    const int64_t room = step > 0 ? to - from : from - to;
    return room < 0 ? 0 : room / (step > 0 ? step : -step) + 1;
}

"#;

const RUST_HEAD: &str = "// Written by `crossgrain deps`. It compares both versions, and fails if they differ. Names of the loops begin with `my_`.
#![allow(dead_code, non_snake_case, non_upper_case_globals, unused_imports, unused_mut, unused_parens, unused_variables)]
#![allow(unused_assignments, unused_comparisons, clippy::all)]

use rayon::prelude::*;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};

/// How many iterations a loop has.
fn trips(from: i64, to: i64, step: i64) -> i64 {
    let room = if step > 0 { to - from } else { from - to };
    if room < 0 { 0 } else { room / step.abs() + 1 }
}

";

const C_FILL: &str = "static void fill(void *to, int64_t cells, uint32_t seed) {
    uint32_t *words = to;
    for (int64_t cell = 0; cell < cells; cell++) {
        const uint32_t word = (seed + (uint32_t)cell * 0x9e3779b9u) * 0x85ebca6bu;
        words[cell] = word ^ word >> 15;
    }
}

static uint64_t add(uint64_t sum, const void *from, int64_t cells) {
    const uint32_t *words = from;
    for (int64_t cell = 0; cell < cells; cell++) sum = (sum ^ words[cell]) * 0x100000001b3u;
    return sum;
}

static uint64_t add_number(uint64_t sum, int64_t number) {
    const uint32_t halves[2] = {(uint32_t)number, (uint32_t)((uint64_t)number >> 32)};
    return add(sum, halves, 2);
}

";

const RUST_FILL: &str = "fn painted(seed: u32, cell: usize) -> AtomicU32 {
    let word = seed.wrapping_add((cell as u32).wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
    AtomicU32::new(word ^ word >> 15)
}

fn add(sum: u64, word: u32) -> u64 {
    (sum ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3)
}

fn add_number(sum: u64, number: i64) -> u64 {
    add(add(sum, number as u32), (number >> 32) as u32)
}

";

impl Writer<'_> {
    /// All declarations.
    pub(super) fn prelude(&self) -> String {
        let (head, mut fields) = match self.language {
            Language::C => (C_HEAD, String::new()),
            Language::Rust => {
                (RUST_HEAD, "/// The variables of the loops.\npub struct Variables {\n".to_owned())
            }
        };
        let mut text = head.to_owned();
        for (number, variable) in self.program.variables.iter().enumerate() {
            let (name, dims, cells) = (&self.names[number], self.dims(number), variable.cells());
            match (self.language, &variable.kind) {
                (_, Kind::Counter) => {}
                (Language::C, Kind::Param { run, .. }) => {
                    text += &format!("static const int64_t {name} = {run};\n")
                }
                (Language::Rust, Kind::Param { run, .. }) => text += &format!("const {name}: i64 = {run};\n"),
                (Language::C, Kind::Int(_)) => text += &format!("static int64_t {name};\n"),
                (Language::C, Kind::Word | Kind::Array(_)) => {
                    text += &format!("static uint32_t {name}{dims};\n")
                }
                (Language::C, Kind::Table(_, values)) => {
                    text += &format!("static const uint32_t {name}{dims} = {{{}}};\n", listed(values));
                }
                (Language::Rust, Kind::Table(_, values)) => {
                    text += &format!("static {name}: [u32; {cells}] = [{}];\n", listed(values));
                }
                (Language::Rust, Kind::Int(_)) => fields += &format!("    pub {name}: AtomicI64,\n"),
                (Language::Rust, Kind::Word) => fields += &format!("    pub {name}: AtomicU32,\n"),
                (Language::Rust, Kind::Array(_)) => fields += &format!("    pub {name}: Vec<AtomicU32>,\n"),
            }
        }
        if self.language == Language::Rust {
            fields += "}\n";
        }
        format!("{text}\n{fields}\n")
    }

    /// Initial values, the digest, and `main`.
    pub(super) fn judge(&self) -> String {
        let (mut reset, mut digest) = (String::new(), String::new());
        for (number, variable) in self.program.variables.iter().enumerate() {
            let (first, sum) = match self.language {
                Language::C => self.in_c(number, variable),
                Language::Rust => self.in_rust(number, variable),
            };
            reset += &first;
            if !variable.is_local {
                digest += &sum;
            }
        }
        match self.language {
            Language::C => format!(
                "{C_FILL}static void reset(void) {{\n{reset}}}\n\nstatic uint64_t digest(void) {{\n    uint64_t \
                 sum = 0xcbf29ce484222325u;\n{digest}    return sum;\n}}\n\n\
                 int main(void) {{\n    reset();\n    serial();\n    const uint64_t a = digest();\n    reset();\n    \
                 parallel();\n    const uint64_t b = digest();\n    printf(\"%016\" PRIx64 \" %016\" PRIx64 \"\\n\", a, b);\n    \
                 return a != b;\n}}\n"
            ),
            Language::Rust => format!(
                "{RUST_FILL}fn reset() -> Variables {{\n    Variables {{\n{reset}    }}\n}}\n\n\
                 fn digest(v: &Variables) -> u64 {{\n    let mut sum = 0xcbf2_9ce4_8422_2325;\n{digest}    sum\n}}\n\n\
                 pub fn main() {{\n    let (mut a, mut b) = (reset(), reset());\n    serial(&mut a);\n    parallel(&mut b);\n    \
                 println!(\"{{:016x}} {{:016x}}\", digest(&a), digest(&b));\n    assert_eq!(digest(&a), digest(&b));\n}}\n"
            ),
        }
    }

    /// The initial value of a variable, and its part of the digest.
    fn in_c(&self, number: usize, variable: &Variable) -> (String, String) {
        let (name, cells, seed) = (&self.names[number], variable.cells(), seed(&variable.name));
        let address = if variable.dims().is_empty() { "&" } else { "" };
        match variable.kind {
            Kind::Int(first) => {
                (format!("    {name} = {first};\n"), format!("    sum = add_number(sum, {name});\n"))
            }
            Kind::Word | Kind::Array(_) => (
                format!("    fill({address}{name}, {cells}, {seed:#x}u);\n"),
                format!("    sum = add(sum, {address}{name}, {cells});\n"),
            ),
            _ => Default::default(),
        }
    }

    fn in_rust(&self, number: usize, variable: &Variable) -> (String, String) {
        let (name, cells, seed) = (&self.names[number], variable.cells(), seed(&variable.name));
        match variable.kind {
            Kind::Int(first) => (
                format!("        {name}: AtomicI64::new({first}),\n"),
                format!("    sum = add_number(sum, v.{name}.load(Relaxed));\n"),
            ),
            Kind::Word => (
                format!("        {name}: painted({seed:#x}, 0),\n"),
                format!("    sum = add(sum, v.{name}.load(Relaxed));\n"),
            ),
            Kind::Array(_) => (
                format!("        {name}: (0..{cells}).map(|cell| painted({seed:#x}, cell)).collect(),\n"),
                format!("    sum = v.{name}.iter().fold(sum, |sum, word| add(sum, word.load(Relaxed)));\n"),
            ),
            _ => Default::default(),
        }
    }
}

fn listed(values: &[u32]) -> String {
    values.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
