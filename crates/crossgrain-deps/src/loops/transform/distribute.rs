//! Distribution of a loop over the strongly connected components of its body.

use std::collections::BTreeSet;

use super::tree::{Tree, replaced, trees};
use super::{Candidate, Step, Transformation};
use crate::loops::program::{Loop, Node, Program};
use crate::loops::verdict::{Facts, Judged};

/// The distribution of a loop, if it has several parts and some part without a reason to be serial.
pub(super) fn distribution(program: &Program, facts: &Facts, number: usize) -> Option<Candidate> {
    let looped = &program.loops[number];
    let Judged::Serial { hindrances, .. } = &facts.judged[number] else { return None };
    let graph = Graph::new(program, facts, number);
    let parts = graph.components();
    if parts.len() < 2 {
        return None;
    }
    let hindered: Vec<_> = hindrances.iter().filter_map(|&found| graph.ends(facts, found)).collect();
    let is_serial = |part: &BTreeSet<usize>| {
        hindered.iter().any(|(source, sink)| part.contains(source) && part.contains(sink))
    };
    let groups = graph.grouped(parts, is_serial);
    if groups.len() < 2 || groups.iter().all(is_serial) {
        return None;
    }
    let body = trees(program, &looped.body);
    let head = Loop { body: Vec::new(), ..looped.clone() };
    let of_group = |group: &BTreeSet<usize>| {
        Tree::Loop(head.clone(), group.iter().map(|&node| body[node].clone()).collect())
    };
    let new: Vec<_> = groups.iter().map(of_group).collect();
    let (mut wanted, mut next) = (Vec::new(), number);
    for (tree, group) in new.iter().zip(&groups) {
        wanted.extend((!is_serial(group)).then_some(next));
        next += tree.loops();
    }
    let text = format!("distribute into {} loops", new.len());
    let step = Step { kind: Transformation::Distribution, at: looped.at, text };
    Some(Candidate { program: replaced(program, program.variables.clone(), number, &new), step, wanted })
}

/// The dependences between the nodes of a loop's body within one execution of the loop.
struct Graph {
    /// For each node, the numbers of its references: the first, and the first of the next node.
    spans: Vec<(usize, usize)>,
    /// For each node, the nodes that depend on it directly.
    sinks: Vec<BTreeSet<usize>>,
}

impl Graph {
    fn new(program: &Program, facts: &Facts, number: usize) -> Self {
        let spans: Vec<_> = program.loops[number].body.iter().map(|&node| span(program, node)).collect();
        let sinks = vec![BTreeSet::new(); spans.len()];
        let mut graph = Self { spans, sinks };
        let outer = &program.loops[number].around;
        for (found, dependence) in facts.found.iter().enumerate() {
            if dependence.carrier.is_some_and(|carrier| outer.contains(&carrier)) {
                continue;
            }
            if let Some((source, sink)) = graph.ends(facts, found) {
                graph.sinks[source].insert(sink);
            }
        }
        graph
    }

    /// The nodes of a dependence, if both are in the loop.
    fn ends(&self, facts: &Facts, found: usize) -> Option<(usize, usize)> {
        let node = |access: usize| {
            let number = facts.walk.accesses[access].number;
            self.spans.iter().position(|&(from, to)| (from..to).contains(&number))
        };
        Some((node(facts.found[found].source)?, node(facts.found[found].sink)?))
    }

    /// The nodes that depend on a node, directly or not.
    fn reached(&self, node: usize) -> BTreeSet<usize> {
        let (mut reached, mut next) = (BTreeSet::new(), vec![node]);
        while let Some(node) = next.pop() {
            next.extend(self.sinks[node].iter().filter(|&&sink| reached.insert(sink)));
        }
        reached
    }

    /// The strongly connected components, in the order of their first nodes.
    fn components(&self) -> Vec<BTreeSet<usize>> {
        let reached: Vec<_> = (0..self.spans.len()).map(|node| self.reached(node)).collect();
        let mut parts: Vec<BTreeSet<usize>> = Vec::new();
        for node in 0..self.spans.len() {
            let is_in_cycle = |part: &&mut BTreeSet<usize>| {
                part.first()
                    .is_some_and(|first| reached[*first].contains(&node) && reached[node].contains(first))
            };
            match parts.iter_mut().find(is_in_cycle) {
                Some(part) => drop(part.insert(node)),
                None => parts.push(BTreeSet::from([node])),
            }
        }
        parts
    }

    /// Sorts components topologically, and joins adjacent ones while this leaves parallel ones parallel.
    fn grouped(
        &self,
        mut left: Vec<BTreeSet<usize>>,
        is_serial: impl Fn(&BTreeSet<usize>) -> bool,
    ) -> Vec<BTreeSet<usize>> {
        let mut groups: Vec<BTreeSet<usize>> = Vec::new();
        while !left.is_empty() {
            let is_ready = |at: &usize| {
                let others = left.iter().enumerate().filter(|(other, _)| other != at);
                let mut sources = others.flat_map(|(_, part)| part);
                !sources.any(|source| self.sinks[*source].iter().any(|sink| left[*at].contains(sink)))
            };
            let ready: Vec<usize> = (0..left.len()).filter(is_ready).collect();
            // The graph of components has no cycle, so one of them is ready.
            let Some(&first) = ready.first() else { return groups };
            let joins = |at: &usize| {
                let last = groups.last()?;
                let joined: BTreeSet<_> = last.union(&left[*at]).copied().collect();
                let is_alike =
                    is_serial(last) == is_serial(&left[*at]) && is_serial(last) == is_serial(&joined);
                is_alike.then_some((*at, joined))
            };
            match ready.iter().find_map(joins) {
                Some((at, joined)) => {
                    left.remove(at);
                    groups.pop();
                    groups.push(joined);
                }
                None => groups.push(left.remove(first)),
            }
        }
        groups
    }
}

/// The numbers of the references in a node: the first, and one more than the last. Empty if it has none.
fn span(program: &Program, node: Node) -> (usize, usize) {
    let all = |body: &[Node]| {
        let spans = body.iter().map(|&node| span(program, node)).filter(|(from, to)| from < to);
        spans.reduce(|(from, _), (_, to)| (from, to)).unwrap_or_default()
    };
    match node {
        Node::Loop(number) => all(&program.loops[number].body),
        Node::If(number) => {
            let condition = &program.ifs[number];
            let numbers = condition.reads().into_iter().map(|read| (read.number, read.number + 1));
            let spans = numbers.chain([all(&condition.then), all(&condition.otherwise)]);
            let spans = spans.filter(|(from, to)| from < to);
            spans.reduce(|(from, _), (_, to)| (from, to)).unwrap_or_default()
        }
        Node::Statement(number) => {
            let statement = &program.statements[number];
            let first = statement.reads().iter().map(|read| read.number).min();
            (first.unwrap_or(statement.target.number), statement.target.number + 1)
        }
    }
}
