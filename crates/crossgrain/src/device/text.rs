//! What the programs of both ciphers are made of.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::{KEY_FOURS_MAX, Kernel, Task};
pub(super) use crate::circuit::emit::PARTS;
use crate::circuit::emit::{Field, Language, Signature, function};
use crate::circuit::graph::Graph;
use crate::circuit::map::map;
use crate::circuit::trace::{Sym, Width, trace};

/// What a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Blocks, each thread its own.
    Blocks,
    /// Words, which several threads may write by turns.
    Words,
}

/// A text that grows.
pub(super) struct Text {
    pub(super) language: Language,
    goal: Goal,
    text: String,
}

impl Text {
    /// The beginning of a program on blocks.
    pub(super) fn new(kernel: Kernel, language: Language) -> Self {
        Self::headed(kernel.name(), ["blocks", "rounds", "c0", "c1", "c2", "c3"], Goal::Blocks, language)
    }

    /// The beginning of a program: what is bound, and the words of a job.
    pub(super) fn headed(name: &str, job: [&str; 6], goal: Goal, language: Language) -> Self {
        let mut text = Self { language, goal, text: format!("// {name}, written by crossgrain.\n") };
        text.push(language.prelude());
        text.push(&language.structure("Job", &job.map(|name| (name, Field::Word))));
        let word = if goal == Goal::Blocks { "vec4<u32>" } else { "atomic<u32>" };
        text.push(&language.bindings(["vec4<u32>", word]));
        text.push(&language.constants(2, "keys", KEY_FOURS_MAX));
        text
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text += text;
    }

    /// A structure.
    pub(super) fn structure(&mut self, name: &str, fields: &[(&str, Field<'_>)]) {
        let text = self.language.structure(name, fields);
        self.push(&text);
    }

    /// A circuit as a function, mapped to gates of three inputs.
    pub(super) fn circuit<const INPUTS: usize, const OUTPUTS: usize>(
        &mut self,
        name: &str,
        signature: &Signature<'_>,
        circuit: impl FnOnce([Sym; INPUTS]) -> [Sym; OUTPUTS],
    ) {
        let graph = mapped(circuit);
        let text = function(&graph, name, signature, self.language);
        self.push(&text);
    }

    /// A function around a body in the common syntax, in which `let` and `var` declare.
    pub(super) fn function(&mut self, name: &str, parameters: &[(&str, &str)], result: &str, body: &str) {
        let text = self.language.function(name, parameters, result, &self.language.declared(body));
        self.push(&text);
    }

    /// The end of the program: its entry, around a body in the common syntax that is told its `thread`, and, where threads share
    /// memory, which one of its group it is, `local`.
    pub(super) fn entry(self, kernel: Kernel, group_threads: u32, body: &str) -> String {
        let shares = kernel.shared_bytes(self.language) > 0;
        self.entry_named(&kernel.entry(), group_threads, shares, body)
    }

    /// The same by the name, the threads of a group and whether they share memory.
    pub(super) fn entry_named(mut self, name: &str, group: u32, shares: bool, body: &str) -> String {
        let goal = if self.goal == Goal::Blocks { "uint4" } else { "u32" };
        let text = self.language.entry(name, group, ["uint4", goal], shares, body);
        self.push(&text);
        self.text
    }

    /// A structure made of fields.
    pub(super) fn made(&self, structure: &str, fields: impl IntoIterator<Item = String>) -> String {
        self.language.made(structure, &fields.into_iter().collect::<Vec<_>>())
    }

    /// A structure of an array of words.
    pub(super) fn of_words<const N: usize>(&self, structure: &str, words: [String; N]) -> String {
        match self.language {
            Language::Cuda => self.made(structure, words),
            Language::Wgsl => format!("{structure}(array<u32, {N}>({}))", words.join(", ")),
        }
    }

    /// What becomes of block `first`, by lines of `cipher` that make the state `s` from its four words.
    pub(super) fn one_block(&self, task: Task, cipher: impl FnOnce([String; 4]) -> String) -> String {
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

    /// Four words as they lie in memory.
    pub(super) fn block(&self, words: [String; 4]) -> String {
        let kind = if self.language == Language::Cuda { "uint4" } else { "vec4<u32>" };
        self.made(kind, words)
    }

    /// A bit of a word in all lanes of one bit.
    pub(super) fn spread(&mut self) {
        self.function(
            "spread",
            &[("v", "u32"), ("bit", "u32")],
            "u32",
            "    return 0u - ((v >> bit) & 1u);\n",
        );
    }

    /// The functions that both ciphers' counters need.
    pub(super) fn swap_bytes(&mut self) {
        let body = "    return (v << 24u) | ((v & 0xff00u) << 8u) | ((v >> 8u) & 0xff00u) | (v >> 24u);\n";
        self.function("swap_bytes", &[("v", "u32")], "u32", body);
    }
}

/// The covers found so far of the library's circuits: each takes tens of milliseconds, and programs have many in common.
static MAPPED: LazyLock<Mutex<HashMap<Graph, Graph>>> = LazyLock::new(Mutex::default);

/// A circuit in gates of three inputs.
pub(super) fn mapped<const INPUTS: usize, const OUTPUTS: usize>(
    circuit: impl FnOnce([Sym; INPUTS]) -> [Sym; OUTPUTS],
) -> Graph {
    let graph = trace(Width::Three, circuit);
    let mut known = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(graph).or_insert_with_key(|graph| map(graph).scheduled()).clone()
}

/// The counter of block `first` of the job as four words `b0` to `b3`, the lowest first.
pub(super) fn counter() -> String {
    counter_from("job.c0")
}

/// The same from a lowest word of the job's counter that is another.
pub(super) fn counter_from(lowest: &str) -> String {
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

/// The words of a block that is the counter `b0` to `b3`.
pub(super) fn counter_words(task: Task) -> [String; 4] {
    match task {
        Task::Count => ["b3", "b2", "b1", "b0"].map(|word| format!("swap_bytes({word})")),
        _ => ["b0", "b1", "b2", "b3"].map(str::to_owned),
    }
}

/// The parts `.x[0]` and on of a name.
pub(super) fn words(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{name}.x[{at}]")).collect()
}

/// A word of the keys.
pub(super) fn key_word(at: usize) -> String {
    format!("keys[{}u].{}", at / 4, PARTS[at % 4])
}

/// Words of the keys from the four `k` on.
pub(super) fn key_words(count: usize) -> Vec<String> {
    words_of_fours("keys", count)
}

/// Words of an array of vectors from the vector `k` on.
pub(super) fn words_of_fours(array: &str, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{array}[k + {}u].{}", at / 4, PARTS[at % 4])).collect()
}
