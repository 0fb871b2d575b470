//! A flow with costs for one size, as a graph, and its shortest path by Dijkstra's algorithm.
//!
//! Nodes and arcs are indices. The search runs backwards from the sink and gives every node its remaining
//! distance. The path is then built forwards: at each node it takes the first arc, in order of names, on a
//! shortest path. Among equally short paths the first in order of names is therefore chosen, whatever order
//! the search used.
//!
//! Invariant: arcs are numbered in the order of their names, so comparing indices compares names.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::error::Error;
use super::flow::{Edge, End, Flow};
use super::length::{Length, Unit};
use super::path::{Path, Step};
use crate::text::quoted;

/// A flow with costs for one size, made by [`Flow::at`].
#[derive(Clone, Debug)]
pub struct Graph<'a> {
    pub(super) flow: &'a Flow,
    pub(super) arcs: Vec<Arc>,
    leaving: ArcsByNode,
    entering: ArcsByNode,
    len_bytes: u64,
    unit: Unit,
}

/// An edge of the flow with its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) edge: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) length: Length,
}

/// The arcs that leave or enter each node, in the order of arcs.
#[derive(Clone, Debug)]
struct ArcsByNode {
    arcs: Vec<usize>,
    /// The place of a node's first arc, by node, and the number of all arcs.
    starts: Vec<usize>,
}

impl ArcsByNode {
    /// Sorts arcs by their node, which is given in the order of arcs.
    fn of(
        nodes: usize,
        node_of_arc: impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + Clone,
    ) -> Self {
        let mut starts = vec![0; nodes + 1];
        node_of_arc.clone().for_each(|node| starts[node] += 1);
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        // Each start is the end of its node's arcs, until they are placed from the back.
        let mut arcs = vec![0; total];
        for (arc, node) in node_of_arc.enumerate().rev() {
            starts[node] -= 1;
            arcs[starts[node]] = arc;
        }
        Self { arcs, starts }
    }

    fn at(&self, node: usize) -> &[usize] {
        &self.arcs[self.starts[node]..self.starts[node + 1]]
    }
}

/// The direction in which a search follows arcs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
    Forwards,
    Backwards,
}

/// A sequence of arcs. Its order is the order of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Trail {
    pub(super) length: Length,
    pub(super) arcs: Vec<usize>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(flow: &'a Flow, len_bytes: u64) -> Self {
        let (length, unit) = (Length::default(), Unit::for_largest(0.0));
        let arc = |(edge, [from, to]): (usize, [usize; 2])| Arc { edge, from, to, length };
        let ends = flow.ends().iter().map(|ends| ends.map(|end| flow.number(end)));
        let mut arcs: Vec<_> = ends.enumerate().map(arc).collect();
        // Costs decide between arcs that differ in nothing else, so that the order of insertion never does.
        let (ranks, cost) = (flow.name_ranks(), |arc: &Arc| flow.edges()[arc.edge].cost);
        arcs.sort_by(|a, b| {
            let by_name = (ranks[a.edge], a.to).cmp(&(ranks[b.edge], b.to));
            by_name.then_with(|| cost(a).total_cmp(cost(b)))
        });
        let nodes = flow.number(End::Sink) + 1;
        let leaving = ArcsByNode::of(nodes, arcs.iter().map(|arc| arc.from));
        let entering = ArcsByNode::of(nodes, arcs.iter().map(|arc| arc.to));
        Self { flow, arcs, leaving, entering, len_bytes, unit }.resized(len_bytes)
    }

    /// The graph for another job size, in bytes. This is faster than [`Flow::at`].
    #[must_use]
    pub fn resized(mut self, len_bytes: u64) -> Self {
        let costs = self.flow.edges().iter().map(|edge| edge.cost.at(len_bytes));
        self.unit = Unit::for_largest(costs.fold(0.0, f64::max));
        for arc in &mut self.arcs {
            arc.length = self.unit.length(self.flow.edges()[arc.edge].cost.at(len_bytes));
        }
        Self { len_bytes, ..self }
    }

    /// The cheapest path.
    ///
    /// # Errors
    /// [`Error::NoPath`] if no path leads from a source to a sink.
    pub fn best(&self) -> Result<Path, Error> {
        Ok(self.path(&self.shortest()?))
    }

    /// The job size that the costs are for, in bytes.
    pub const fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    pub(super) fn shortest(&self) -> Result<Trail, Error> {
        let trail = self.cheapest(self.source(), self.sink(), |_| true);
        trail.ok_or_else(|| self.no_path())
    }

    /// The distance of each node from `start`, along or against the arcs that may be used; `None` if the node
    /// cannot be reached. If `end` is given, only nodes at most as far away as `end` are guaranteed to have a
    /// distance.
    pub(super) fn lengths(
        &self,
        start: usize,
        end: Option<usize>,
        along: Along,
        may_use: impl Fn(usize) -> bool,
    ) -> Vec<Option<Length>> {
        let mut lengths = vec![None; self.sink() + 1];
        let mut open = BinaryHeap::from([Reverse((Length::default(), start))]);
        while let Some(Reverse((length, here))) = open.pop() {
            if lengths[here].is_some() {
                continue;
            }
            lengths[here] = Some(length);
            if end == Some(here) {
                break;
            }
            let arcs = if along == Along::Forwards { &self.leaving } else { &self.entering };
            for &number in arcs.at(here).iter().filter(|&&number| may_use(number)) {
                let arc = &self.arcs[number];
                let next = if along == Along::Forwards { arc.to } else { arc.from };
                open.push(Reverse((length + arc.length, next)));
            }
        }
        lengths
    }

    /// The best path from one node to another over the arcs that may be used.
    pub(super) fn cheapest(&self, from: usize, to: usize, may_use: impl Fn(usize) -> bool) -> Option<Trail> {
        // All nodes on a shortest path are closer to `to` than `from` is, so the search has visited them.
        let left = self.lengths(to, Some(from), Along::Backwards, &may_use);
        let mut trail = Trail { length: left[from]?, arcs: Vec::new() };
        let mut here = from;
        while here != to {
            let keeps_promise = |number: &usize| {
                let arc = &self.arcs[*number];
                left[arc.to].is_some_and(|rest| Some(arc.length + rest) == left[here]) && may_use(*number)
            };
            // Arcs are listed in order of their names.
            let next = self.leaving.at(here).iter().copied().find(keeps_promise)?;
            trail.arcs.push(next);
            here = self.arcs[next].to;
        }
        Some(trail)
    }

    /// Converts arcs to a path with names and costs.
    pub(super) fn path(&self, trail: &Trail) -> Path {
        let step = |arc: &usize| {
            let edge = self.arcs[*arc].edge;
            let Edge { name, from, to, cost } = self.flow.edges()[edge].clone();
            Step { edge, name, from, to, cost_ns: cost.at(self.len_bytes) }
        };
        let steps = trail.arcs.iter().map(step).collect();
        Path { steps, total_ns: self.unit.cost_ns(trail.length) }
    }

    pub(super) fn source(&self) -> usize {
        self.flow.number(End::Source)
    }

    pub(super) fn sink(&self) -> usize {
        self.flow.number(End::Sink)
    }

    /// The flow's edge of an arc.
    pub(super) fn edge(&self, arc: usize) -> &'a Edge {
        &self.flow.edges()[self.arcs[arc].edge]
    }

    /// Whether an arc is a conversion, or a source or sink that computes no part.
    pub(super) fn computes_nothing(&self, arc: usize) -> bool {
        self.flow.parts_of(self.edge(arc)).is_empty()
    }

    /// The arcs that leave a node.
    pub(super) fn leaving(&self, node: usize) -> &[usize] {
        self.leaving.at(node)
    }

    /// An error with the position where all paths from the sources end.
    pub(super) fn no_path(&self) -> Error {
        let from_source = self.lengths(self.source(), None, Along::Forwards, |_| true);
        let reached = (0..self.arcs.len()).filter(|&arc| from_source[self.arcs[arc].from].is_some());
        let parts = self.flow.parts();
        let reason = match reached.map(|arc| self.flow.position(&self.edge(arc).to)).max() {
            None => "nothing starts it".to_owned(),
            Some(position) if position < parts.len() => format!(
                "nothing that can be reached computes '{}' (part {} of {})",
                quoted(&parts[position]),
                position + 1,
                parts.len()
            ),
            Some(_) => "nothing ends it in a representation that the last part can be left in".to_owned(),
        };
        Error::NoPath { reason }
    }
}
