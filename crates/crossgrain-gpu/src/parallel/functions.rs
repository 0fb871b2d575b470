//! The functions of a program: a user's kernel and what stands beside it, traced, and the words of state that they are given.
//!
//! What a text says of functions are their graphs ([`Texts`]), by which a program is known; state lies apart from them. A program has one array of state, `keys`, in vectors of four words. Each function has its own part of it, which begins with a vector,
//! and a round of a loop has one each time. A function that is given any state is told where, by its last parameter `k`.

use crossgrain::internal::circuit::emit::{Language, Signature, called_by, function};
use crossgrain::internal::circuit::graph::{Graph, Operation};
use crossgrain::internal::circuit::map::map;
use zeroize::Zeroizing;

use crate::Error;
use crate::gpu::STATE_WORDS_MAX;

/// Larger kernels are left as they were traced: to look for fewer gates would take longer than it saves, and a device's compiler
/// looks for them too.
const MAPPED_GATES_MAX: usize = 1000;

/// A circuit that was traced, and the words that it is given.
pub(super) type Traced = (Graph, Zeroizing<Vec<u32>>);

/// What a function is called, takes and gives.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Head {
    pub(super) name: &'static str,
    /// Names and types.
    pub(super) parameters: Vec<(&'static str, &'static str)>,
    /// Where each input of the graph is found.
    pub(super) inputs: Vec<String>,
    /// The type of the result, a structure.
    pub(super) result: &'static str,
    /// Which part of the result each output of the graph is.
    pub(super) outputs: Vec<String>,
}

#[derive(PartialEq, Eq, Hash)]
struct Function {
    head: Head,
    graph: Graph,
    /// Vectors of state each time that it is called.
    fours: usize,
    /// How many times it has state for: once, or for every round of a loop.
    times: usize,
}

/// What a program's text says of all functions.
#[derive(Default, PartialEq, Eq, Hash)]
pub(super) struct Texts {
    all: Vec<Function>,
    /// Whether there are rounds that are alike, of which the state says how many.
    pub(super) are_alike: bool,
}

/// All functions of a program, and what they are given.
#[derive(Default)]
pub(super) struct Functions {
    pub(super) texts: Texts,
    /// How many rounds are alike, if any are.
    alike: Option<u32>,
    /// Words of state, of each function every time.
    given: Vec<Zeroizing<Vec<u32>>>,
}

impl Functions {
    pub(super) fn add(&mut self, head: Head, (graph, given): Traced) {
        self.push(head, graph, vec![given]);
    }

    fn push(&mut self, head: Head, graph: Graph, given: Vec<Zeroizing<Vec<u32>>>) {
        let (fours, times) = (given[0].len().div_ceil(4), given.len());
        self.texts.all.push(Function { head, graph, fours, times });
        self.given.extend(given);
    }

    /// Adds a function that is called in a loop as often as the state says, always alike.
    pub(super) fn add_alike(&mut self, head: Head, round: Traced, rounds: u32) {
        self.alike = Some(rounds);
        self.texts.are_alike = true;
        self.add(head, round);
    }

    /// Adds a function that is called in a loop, by what was traced of it each time.
    pub(super) fn add_round(
        &mut self,
        head: Head,
        mut rounds: impl Iterator<Item = Traced>,
    ) -> Result<(), Error> {
        let Some((graph, words)) = rounds.next() else { return Ok(()) };
        let mut given = vec![words];
        for (other, words) in rounds {
            if other != graph || words.len() != given[0].len() {
                return Err(Error::Program("its rounds differ in more than their state".to_owned()));
            }
            given.push(words);
        }
        self.push(head, graph, given);
        Ok(())
    }

    /// The words of state of all.
    pub(super) fn state(&self) -> Result<Zeroizing<Vec<u32>>, Error> {
        let vectors = self.texts.all.iter().map(|called| called.fours * called.times);
        let words = 4 * (usize::from(self.texts.are_alike) + vectors.sum::<usize>());
        if words > STATE_WORDS_MAX {
            let told = format!("it has {words} words of state, and there is room for {STATE_WORDS_MAX}");
            return Err(Error::Program(told));
        }
        let mut state = Zeroizing::new(Vec::with_capacity(words));
        if let Some(rounds) = self.alike {
            state.extend_from_slice(&[rounds, 0, 0, 0]);
        }
        for given in &self.given {
            state.extend_from_slice(given);
            let padded = state.len().next_multiple_of(4);
            state.resize(padded, 0);
        }
        Ok(state)
    }
}

impl Texts {
    /// Those in a language, in fewer gates where some are found. Also whether any reads state.
    pub(super) fn text(&self, language: Language) -> (String, bool) {
        let graphs: Vec<_> = self.all.iter().map(|called| &called.graph).collect();
        let (mut text, mut reads_state) = (called_by(&graphs, language), self.are_alike);
        for called in &self.all {
            let Function { head, graph, .. } = called;
            let mapped = (graph.gates().len() <= MAPPED_GATES_MAX).then(|| map(graph));
            let graph = mapped.as_ref().unwrap_or(graph);
            let mut parameters = head.parameters.clone();
            if called.fours > 0 {
                parameters.push(("k", "u32"));
            }
            let (inputs, outputs) = (head.inputs.clone(), head.outputs.clone());
            let signature = Signature { parameters: &parameters, inputs, result: head.result, outputs };
            text += &function(graph, head.name, &signature, language);
            reads_state |= graph.gates().iter().any(|gate| matches!(gate.operation, Operation::Given(_)));
        }
        (text, reads_state)
    }

    /// A call of the function of this name; in a loop, in the round `number`.
    pub(super) fn call(&self, name: &str, arguments: &str) -> String {
        let mut first = usize::from(self.are_alike);
        for called in &self.all {
            let &Function { fours, times, .. } = called;
            if called.head.name == name && fours > 0 {
                let place =
                    if times > 1 { format!("{first}u + {fours}u * number") } else { format!("{first}u") };
                return format!("{name}({arguments}, {place})");
            }
            first += fours * times;
        }
        format!("{name}({arguments})")
    }

    /// How many rounds a loop has, as an expression: `each` unless they are alike.
    pub(super) fn rounds(&self, each: usize) -> String {
        if self.are_alike { "keys[0u].x".to_owned() } else { format!("{each}u") }
    }

    pub(super) fn have_state(&self) -> bool {
        self.are_alike || self.all.iter().any(|function| function.fours > 0)
    }
}
