//! Writes a program as C with OpenMP or Rust with rayon: the serial loops, the parallel loops, and a `main`
//! that compares and times them.
//!
//! Parameters are arguments of the emitted program, so arrays are allocated at run time. The serial loops
//! are written twice: the first run checks subscripts and arithmetic, the runs that are timed do not. All
//! versions access the same elements.
//!
//! In Rust, all variables that several threads may access are atomic with relaxed ordering, at the cost of
//! ordinary loads and stores. In C they are plain variables. Iterations that the analysis calls independent
//! never access the same element. Private variables are declared inside the iteration and shadow the shared
//! ones.

mod c;
mod reduce;
mod rust;
mod text;
mod value;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use value::{bare, constant, times};

use super::memory::seed;
use super::program::{Expr, If, Kind, Node, Program, Statement};
use super::verdict::{Treatment, reduction};

/// The output language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C, with OpenMP.
    C,
    /// Rust, with rayon.
    Rust,
}

/// Private arrays of more words than this are allocated on the heap.
const STACK_WORDS: usize = 4096;

/// Writes a program: serially as the original, and transformed with these loops in parallel. The transformed
/// program has the variables of the original before new ones.
pub(super) fn emit(
    original: &Program,
    transformed: &Program,
    treatments: &HashMap<usize, &Treatment>,
    language: Language,
) -> String {
    let none = HashMap::new();
    let writer = |program, treatments| Writer {
        program,
        treatments,
        language,
        names: text::names(transformed),
        own: BTreeSet::new(),
        copied: BTreeMap::new(),
        skipped: BTreeSet::new(),
        reduced: BTreeSet::new(),
        checks: false,
        depth: 1,
        out: String::new(),
    };
    let checking = || Writer { checks: true, ..writer(original, &none) };
    let (checked, serial) = (checking().written(), writer(original, &none).written());
    let parallel = writer(transformed, treatments).written();
    checking().program([("checked", checked), ("serial", serial), ("parallel", parallel)])
}

struct Writer<'a> {
    program: &'a Program,
    treatments: &'a HashMap<usize, &'a Treatment>,
    language: Language,
    /// For each variable, its name in the emitted text.
    names: Vec<String>,
    /// Variables that are private to the iteration.
    own: BTreeSet<usize>,
    /// For each read that uses a copy, the copy's name.
    copied: BTreeMap<usize, String>,
    /// Statements that only the last iteration executes.
    skipped: BTreeSet<usize>,
    /// Variables of reductions, which several threads update.
    reduced: BTreeSet<usize>,
    /// Whether subscripts and arithmetic are checked.
    checks: bool,
    depth: usize,
    out: String,
}

impl Writer<'_> {
    fn written(mut self) -> String {
        self.body(&self.program.body);
        self.out
    }

    fn line(&mut self, text: &str) {
        let indent = "    ".repeat(self.depth);
        self.out += &format!("{indent}{text}\n");
    }

    fn open(&mut self, text: &str) {
        self.line(format!("{text} {{").trim_start());
        self.depth += 1;
    }

    fn close(&mut self, text: &str) {
        self.depth -= 1;
        self.line(text);
    }

    fn body(&mut self, body: &[Node]) {
        for &node in body {
            match node {
                Node::Statement(number) if self.skipped.contains(&number) => {}
                Node::Statement(number) => self.statement(&self.program.statements[number]),
                Node::Loop(number) => match self.treatments.get(&number) {
                    Some(treatment) => self.parallel(number, treatment),
                    None => self.serial(number),
                },
                Node::If(number) => self.branch(&self.program.ifs[number]),
            }
        }
    }

    fn branch(&mut self, condition: &If) {
        let If { left, is, right, then, otherwise, .. } = condition;
        let are_ints = left.is_int(self.program) && right.is_int(self.program);
        let side = |side: &Expr| if are_ints { self.int(side) } else { self.word(side) };
        let compared = format!("{} {} {}", side(left), is.sign(), side(right));
        self.open(&match self.language {
            Language::C => format!("if ({compared})"),
            Language::Rust => format!("if {compared}"),
        });
        self.body(then);
        if !otherwise.is_empty() {
            self.close("} else {");
            self.depth += 1;
            self.body(otherwise);
        }
        self.close("}");
    }

    fn serial(&mut self, number: usize) {
        let looped = &self.program.loops[number];
        let (i, step) = (self.names[looped.counter].clone(), looped.step);
        let (from, to) = (self.bound(&looped.from, step > 0), self.bound(&looped.to, step < 0));
        let head = match (self.language, step) {
            (Language::C, 1) => format!("for (int64_t {i} = {from}; {i} <= {to}; {i}++)"),
            (Language::C, 1..) => format!("for (int64_t {i} = {from}; {i} <= {to}; {i} += {step})"),
            (Language::C, _) => format!("for (int64_t {i} = {from}; {i} >= {to}; {i} -= {})", -step),
            (Language::Rust, 1) => format!("for {i} in {from}..={to}"),
            (Language::Rust, -1) => format!("for {i} in ({to}..={from}).rev()"),
            (Language::Rust, _) => {
                format!("for {i} in (0..trips({from}, {to}, {step})).map(|k_{i}| {from} + k_{i} * ({step}))")
            }
        };
        self.open(&head);
        self.body(&looped.body);
        self.close("}");
    }

    fn parallel(&mut self, number: usize, treatment: &Treatment) {
        let looped = &self.program.loops[number];
        let (i, step) = (self.names[looped.counter].clone(), looped.step);
        let (from, to) = (self.bound(&looped.from, step > 0), self.bound(&looped.to, step < 0));
        self.open("");
        self.constant(&format!("first_{i}"), &from);
        self.constant(&format!("trips_{i}"), &format!("trips(first_{i}, {to}, {step})"));
        self.copies(treatment);
        for &int in treatment.inductions.keys() {
            let now = self.load(&self.variable(int), int);
            self.constant(&format!("first_{}", self.names[int]), &now);
        }
        let rest = if treatment.peels { format!("trips_{i} - 1") } else { format!("trips_{i}") };
        self.own = treatment.private.iter().chain(treatment.inductions.keys()).copied().collect();
        self.skipped = treatment.last_only.clone();
        self.reduced = treatment.reductions.keys().copied().collect();
        match self.language {
            Language::C => {
                let pragma = format!("#pragma omp parallel for{}\n", self.clauses(treatment));
                self.out += &pragma;
                self.open(&format!("for (int64_t k_{i} = 0; k_{i} < {rest}; k_{i}++)"));
            }
            Language::Rust => self.open_iterations(treatment, &i, &rest),
        }
        self.constant(&i, &format!("first_{i} + {}", times(step, &format!("k_{i}"))));
        self.declare(treatment, &i);
        self.body(&looped.body);
        self.release(treatment);
        match self.language {
            Language::C => self.close("}"),
            Language::Rust => self.close_iterations(treatment),
        }
        self.own.clear();
        self.skipped.clear();
        self.reduced.clear();
        if treatment.peels {
            self.last(number, treatment, &i);
        }
        for (&int, step) in &treatment.inductions {
            let value = format!("first_{} + {}", self.names[int], times(*step, &format!("trips_{i}")));
            let line = self.assigned(&self.variable(int), int, &value);
            self.line(&line);
        }
        self.forget(treatment);
        self.close("}");
    }

    /// Writes the last iteration, which runs separately.
    fn last(&mut self, number: usize, treatment: &Treatment, i: &str) {
        let looped = &self.program.loops[number];
        let head = match self.language {
            Language::C => format!("if (trips_{i} > 0)"),
            Language::Rust => format!("if trips_{i} > 0"),
        };
        self.open(&head);
        self.constant(i, &format!("first_{i} + {}", times(looped.step, &format!("(trips_{i} - 1)"))));
        for (&int, step) in &treatment.inductions {
            let value = format!("first_{} + {}", self.names[int], times(*step, &format!("(trips_{i} - 1)")));
            let line = self.assigned(&self.variable(int), int, &value);
            self.line(&line);
        }
        self.body(&looped.body);
        self.close("}");
    }

    /// Declares a constant number.
    fn constant(&mut self, name: &str, value: &str) {
        match self.language {
            Language::C => self.line(&format!("const int64_t {name} = {value};")),
            Language::Rust => self.line(&format!("let {name}: i64 = {value};")),
        }
    }

    fn copies(&mut self, treatment: &Treatment) {
        for (&variable, reads) in &treatment.copied {
            let copy = format!("old_{}", self.names[variable]);
            let shared = self.variable(variable);
            match self.language {
                Language::C if self.program.variables[variable].dims().is_empty() => {
                    self.line(&format!("const uint32_t {copy} = {shared};"));
                }
                Language::C => {
                    let cells = self.cells(variable);
                    self.line(&format!("uint32_t *const {copy} = words({cells});"));
                    self.line(&format!("memcpy({copy}, {shared}, (size_t){cells} * sizeof(uint32_t));"));
                }
                Language::Rust if self.program.variables[variable].dims().is_empty() => {
                    self.line(&format!("let {copy} = {shared}.load(Relaxed);"));
                }
                Language::Rust => {
                    self.line(&format!(
                        "let {copy}: Vec<u32> = {shared}.iter().map(|word| word.load(Relaxed)).collect();"
                    ));
                }
            }
            self.copied.extend(reads.iter().map(|&read| (read, copy.clone())));
        }
    }

    /// Declares the private variables of an iteration.
    fn declare(&mut self, treatment: &Treatment, i: &str) {
        for (&int, step) in &treatment.inductions {
            let value = format!("first_{} + {}", self.names[int], times(*step, &format!("k_{i}")));
            let kind = if self.language == Language::C { "int64_t " } else { "let mut " };
            self.line(&format!("{kind}{} = {value};", self.names[int]));
        }
        for &own in &treatment.private {
            let (name, variable) = (self.names[own].clone(), &self.program.variables[own]);
            let (cells, on_stack) = (self.cells(own), self.is_on_stack(own));
            let line = match (self.language, variable.is_int(), variable.dims().is_empty()) {
                (Language::C, true, _) => format!("int64_t {name} = 0;"),
                (Language::C, _, true) => format!("uint32_t {name} = 0;"),
                (Language::C, ..) if on_stack => format!("uint32_t {name}[{cells}];"),
                (Language::C, ..) => format!("uint32_t *const {name} = words({cells});"),
                (Language::Rust, true, _) => format!("let mut {name} = 0_i64;"),
                (Language::Rust, _, true) => format!("let mut {name} = 0_u32;"),
                (Language::Rust, ..) if on_stack => format!("let mut {name} = [0_u32; {cells}];"),
                (Language::Rust, ..) => format!("let mut {name} = vec![0_u32; {cells}];"),
            };
            self.line(&line);
        }
    }

    /// Frees the private arrays of an iteration.
    fn release(&mut self, treatment: &Treatment) {
        for &own in &treatment.private {
            if self.language == Language::C && !self.is_on_stack(own) {
                self.line(&format!("free({});", self.names[own]));
            }
        }
    }

    /// Frees the copies of a loop.
    fn forget(&mut self, treatment: &Treatment) {
        for &variable in treatment.copied.keys() {
            if self.language == Language::C && !self.program.variables[variable].dims().is_empty() {
                self.line(&format!("free(old_{});", self.names[variable]));
            }
        }
        self.copied.clear();
    }

    /// Whether a private variable is small, with a constant size.
    fn is_on_stack(&self, variable: usize) -> bool {
        self.is_constant(variable) && self.program.variables[variable].cells() <= STACK_WORDS
    }

    /// The number of words of an array: a constant, or an expression.
    fn cells(&self, variable: usize) -> String {
        let name = &self.names[variable];
        match (self.is_constant(variable), self.language) {
            (true, _) => self.program.variables[variable].cells().to_string(),
            (false, Language::C) => format!("cells_{name}"),
            (false, Language::Rust) => format!("{name}.len()"),
        }
    }

    /// Whether the size of a variable does not depend on parameters.
    fn is_constant(&self, variable: usize) -> bool {
        self.program.variables[variable].spans.iter().all(|span| constant(&span.len).is_some())
    }

    fn statement(&mut self, statement: &Statement) {
        let target = &statement.target;
        let is_int = self.program.variables[target.variable].is_int();
        let reduced = reduction(statement).filter(|_| self.reduced.contains(&target.variable));
        let line = match (self.language, reduced) {
            (Language::C, Some((_, with))) => self.reduced_in_c(statement, with),
            (Language::Rust, Some((_, with))) => self.reduced_in_rust(statement, with),
            (_, None) => {
                let value = if is_int { self.int(&statement.value) } else { self.word(&statement.value) };
                self.assigned(&self.place(target), target.variable, &bare(value))
            }
        };
        self.line(&line);
    }
}
