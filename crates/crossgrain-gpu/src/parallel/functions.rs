//! The functions of a program: the traced kernel and its helpers, and their words of state.
//!
//! [`Texts`] has the functions' graphs, which identify a program. State is kept apart from them.
//!
//! ```text
//! keys:  [number of rounds, if rounds are identical] [state of function 0] [state of function 1] …
//! ```
//!
//! A program has one state array, `keys`, of four-word vectors. Each function has a range of whole vectors,
//! and a loop's function has one range per round. A function with state gets the index of its range in its
//! last parameter `k`.

use crossgrain::engine::circuit::emit::{Language, Signature, called_by, function};
use crossgrain::engine::circuit::graph::{Graph, Operation};
use crossgrain::engine::circuit::map::map;
use zeroize::Zeroizing;

use crate::Error;
use crate::gpu::STATE_WORDS_MAX;

/// Maximum size of a kernel whose gates are reduced. For larger ones the search takes longer than it saves,
/// and a device's compiler reduces gates as well.
const MAPPED_GATES_MAX: usize = 1000;

/// A traced circuit, and its words of state.
pub(super) type Traced = (Graph, Zeroizing<Vec<u32>>);

/// A function's name, parameters and result.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Head {
    pub(super) name: &'static str,
    /// Names and types.
    pub(super) parameters: Vec<(&'static str, &'static str)>,
    /// The expression for each input of the graph.
    pub(super) inputs: Vec<String>,
    /// The type of the result, a structure.
    pub(super) result: &'static str,
    /// The field of the result for each output of the graph.
    pub(super) outputs: Vec<String>,
}

#[derive(PartialEq, Eq, Hash)]
struct Function {
    head: Head,
    graph: Graph,
    /// Vectors of state per call.
    fours: usize,
    /// Number of state ranges: one, or one per round of a loop.
    times: usize,
}

/// Everything in a program's text that depends on functions.
#[derive(Default, PartialEq, Eq, Hash)]
pub(super) struct Texts {
    all: Vec<Function>,
    /// Whether the loop's rounds are identical. Their number is then in the state.
    pub(super) are_alike: bool,
}

/// All functions of a program, with their state.
#[derive(Default)]
pub(super) struct Functions {
    pub(super) texts: Texts,
    /// Number of rounds, if they are identical.
    alike: Option<u32>,
    /// Words of state of each range.
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

    /// Adds the function for a loop of identical rounds, whose number is in the state.
    pub(super) fn add_alike(&mut self, head: Head, round: Traced, rounds: u32) {
        self.alike = Some(rounds);
        self.texts.are_alike = true;
        self.add(head, round);
    }

    /// Adds the function for a loop, from the traces of all its rounds.
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

    /// The state of all functions.
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
    /// The functions' texts in a language, with fewer gates if some can be saved. Also returns whether any
    /// of them reads state.
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

    /// A call of the function with this name. In a loop, `number` is the round.
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

    /// The number of rounds as an expression: `each`, unless rounds are identical.
    pub(super) fn rounds(&self, each: usize) -> String {
        if self.are_alike { "keys[0u].x".to_owned() } else { format!("{each}u") }
    }

    pub(super) fn have_state(&self) -> bool {
        self.are_alike || self.all.iter().any(|function| function.fours > 0)
    }
}
