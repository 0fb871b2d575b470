//! Building blocks for the text of all GPU programs.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::{KEY_FOURS_MAX, Kernel, Task};
use crate::circuit::Bits;
pub(crate) use crate::circuit::emit::PARTS;
use crate::circuit::emit::{Field, Language, Signature, function};
use crate::circuit::graph::Graph;
use crate::circuit::map::map;
use crate::circuit::trace::{Sym, Width, trace};

/// The element type of a program's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Blocks. Each thread writes its own.
    Blocks,
    /// Words. Several threads may write the same word atomically.
    Words,
}

/// A program text under construction.
pub(crate) struct Text {
    pub(crate) language: Language,
    goal: Goal,
    text: String,
}

impl Text {
    /// Begins a program on blocks.
    pub(crate) fn new(kernel: Kernel, language: Language) -> Self {
        Self::headed(kernel.name(), ["blocks", "rounds", "c0", "c1", "c2", "c3"], Goal::Blocks, language)
    }

    /// Begins a program: its bindings and the words of a job.
    pub(crate) fn headed(name: &str, job: [&str; 6], goal: Goal, language: Language) -> Self {
        let mut text = Self { language, goal, text: format!("// {name}, written by crossgrain.\n") };
        text.push(language.prelude());
        text.push(&language.structure("Job", &job.map(|name| (name, Field::Word))));
        let word = if goal == Goal::Blocks { "vec4<u32>" } else { "atomic<u32>" };
        text.push(&language.bindings(["vec4<u32>", word]));
        text.push(&language.constants(2, "keys", KEY_FOURS_MAX));
        text
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text += text;
    }

    /// Adds a structure.
    pub(crate) fn structure(&mut self, name: &str, fields: &[(&str, Field<'_>)]) {
        let text = self.language.structure(name, fields);
        self.push(&text);
    }

    /// Adds a circuit as a function, mapped to three-input gates.
    pub(crate) fn circuit<const INPUTS: usize, const OUTPUTS: usize>(
        &mut self,
        name: &str,
        signature: &Signature<'_>,
        circuit: impl FnOnce([Sym; INPUTS]) -> [Sym; OUTPUTS],
    ) {
        let graph = mapped(circuit);
        let text = function(&graph, name, signature, self.language);
        self.push(&text);
    }

    /// Adds a function. `body` is in the syntax common to both languages, where `let` and `var` declare
    /// variables.
    pub(crate) fn function(&mut self, name: &str, parameters: &[(&str, &str)], result: &str, body: &str) {
        let text = self.language.function(name, parameters, result, &self.language.declared(body));
        self.push(&text);
    }

    /// Ends the program with its entry point. `body` is in the common syntax and may use `thread`. If threads
    /// share memory it may also use `local`, the thread's index in its group.
    pub(crate) fn entry(self, kernel: Kernel, group_threads: u32, body: &str) -> String {
        let shares = kernel.shared_bytes(self.language) > 0;
        self.entry_named(&kernel.entry(), group_threads, shares, body)
    }

    /// The same with a name, a group size, and whether threads share memory.
    pub(crate) fn entry_named(mut self, name: &str, group: u32, shares: bool, body: &str) -> String {
        let goal = if self.goal == Goal::Blocks { "uint4" } else { "u32" };
        let text = self.language.entry(name, group, ["uint4", goal], shares, body);
        self.push(&text);
        self.text
    }

    /// An expression that constructs a structure from its fields.
    pub(crate) fn made(&self, structure: &str, fields: impl IntoIterator<Item = String>) -> String {
        self.language.made(structure, &fields.into_iter().collect::<Vec<_>>())
    }

    /// An expression that constructs a structure with one array of words.
    pub(crate) fn of_words<const N: usize>(&self, structure: &str, words: [String; N]) -> String {
        match self.language {
            Language::Cuda => self.made(structure, words),
            Language::Wgsl => format!("{structure}(array<u32, {N}>({}))", words.join(", ")),
        }
    }

    /// The code for block `first`. `cipher` returns lines that compute the state `s` from the block's four
    /// words.
    pub(crate) fn one_block(&self, task: Task, cipher: impl FnOnce([String; 4]) -> String) -> String {
        let given = ["given.x", "given.y", "given.z", "given.w"];
        let words = if task.counts() { counter_words(task) } else { given.map(str::to_owned) };
        let counter = if task.counts() { counter() } else { String::new() };
        let load = if task.reads_source() { "    let given = source[first];\n" } else { "" };
        let word = |at: usize| match task {
            Task::Count => format!("s.x[{at}] ^ {}", given[at]),
            _ => format!("s.x[{at}]"),
        };
        let written = self.block([word(0), word(1), word(2), word(3)]);
        format!("{counter}{load}{}    goal[first] = {written};\n", cipher(words))
    }

    /// A block of four words in memory order.
    pub(crate) fn block(&self, words: [String; 4]) -> String {
        let kind = if self.language == Language::Cuda { "uint4" } else { "vec4<u32>" };
        self.made(kind, words)
    }

    /// Adds `spread`: copies one bit of a word to all 32 lanes.
    pub(crate) fn spread(&mut self) {
        self.function(
            "spread",
            &[("v", "u32"), ("bit", "u32")],
            "u32",
            "    return 0u - ((v >> bit) & 1u);\n",
        );
    }

    /// Adds `swap_bytes`, for big-endian counters.
    pub(crate) fn swap_bytes(&mut self) {
        let body = "    return (v << 24u) | ((v & 0xff00u) << 8u) | ((v >> 8u) & 0xff00u) | (v >> 24u);\n";
        self.function("swap_bytes", &[("v", "u32")], "u32", body);
    }
}

/// Mapped circuits, cached: each mapping takes tens of milliseconds, and programs share many circuits.
static MAPPED: LazyLock<Mutex<HashMap<Graph, Graph>>> = LazyLock::new(Mutex::default);

/// A circuit, mapped to three-input gates.
pub(crate) fn mapped<const INPUTS: usize, const OUTPUTS: usize>(
    circuit: impl FnOnce([Sym; INPUTS]) -> [Sym; OUTPUTS],
) -> Graph {
    let graph = trace(Width::Three, circuit);
    let mut known = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(graph).or_insert_with_key(|graph| map(graph).scheduled()).clone()
}

/// Code for the counter of block `first`, as four words `b0` to `b3`, lowest first.
pub(crate) fn counter() -> String {
    counter_from("job.c0")
}

/// The same with another lowest word of the job's counter.
pub(crate) fn counter_from(lowest: &str) -> String {
    format!(
        "    let b0 = {lowest} + first;
    let carry0 = u32(b0 < first);
    let b1 = job.c1 + carry0;
    let carry1 = u32(b1 < carry0);
    let b2 = job.c2 + carry1;
    let carry2 = u32(b2 < carry1);
    let b3 = job.c3 + carry2;
"
    )
}

/// The words of a block that holds the counter `b0` to `b3`.
pub(crate) fn counter_words(task: Task) -> [String; 4] {
    match task {
        Task::Count => ["b3", "b2", "b1", "b0"].map(|word| format!("swap_bytes({word})")),
        _ => ["b0", "b1", "b2", "b3"].map(str::to_owned),
    }
}

/// The expressions `name.x[0]` to `name.x[count - 1]`.
pub(crate) fn words(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{name}.x[{at}]")).collect()
}

/// A key word with a constant index.
pub(crate) fn key_word(at: usize) -> String {
    format!("keys[{}u].{}", at / 4, PARTS[at % 4])
}

/// The first `count` key words from vector `k` on.
pub(crate) fn key_words(count: usize) -> Vec<String> {
    words_of_fours("keys", count)
}

/// The first `count` words of an array of vectors, from vector `k` on.
pub(crate) fn words_of_fours(array: &str, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{array}[k + {}u].{}", at / 4, PARTS[at % 4])).collect()
}

/// Adds a circuit on a byte.
pub(crate) fn byte(text: &mut Text, name: &str, circuit: impl FnOnce(Bits<Sym>) -> Bits<Sym>) {
    let [inputs, outputs] = ["x", ""].map(|name| words(name, 8));
    text.circuit(name, &Signature { parameters: &[("x", "Byte")], inputs, result: "Byte", outputs }, circuit);
}
