//! A flow priced for one size, as a graph, and the shortest way through it.
//!
//! The search runs backwards from the sink, so that every node knows what is left to pay from there. The
//! path is then walked forwards, by the first edge in order of names that keeps what is left as low as
//! promised: so of equally short paths that with the first names is taken, whatever the search met first.
//! Holds: arcs are numbered in the order of their names; comparing numbers compares names.

use petgraph::algo::dijkstra;
use petgraph::graph::{DiGraph, EdgeIndex, EdgeReference, NodeIndex};
use petgraph::visit::{Dfs, EdgeFiltered, EdgeRef, IntoEdges, Reversed};

use super::error::Error;
use super::flow::{Edge, Flow, Node};
use super::length::{Length, Unit};
use super::path::{Path, Step};

/// A flow with its costs for one size: made by [`Flow::at`].
#[derive(Clone, Debug)]
pub struct Graph<'a> {
    pub(super) flow: &'a Flow,
    pub(super) net: DiGraph<(), Arc>,
    len_bytes: u64,
    unit: Unit,
}

/// One of the flow's edges, priced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) edge: usize,
    pub(super) length: Length,
}

/// Arcs one after another; compares as paths compare.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Trail {
    pub(super) length: Length,
    pub(super) arcs: Vec<EdgeIndex>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(flow: &'a Flow, len_bytes: u64) -> Self {
        let costs = flow.edges().iter().map(|edge| edge.cost.at(len_bytes));
        let unit = Unit::for_largest(costs.fold(0.0, f64::max));
        let nodes = (flow.parts().len() + 1) * flow.representations().len() + 2;
        let mut net = DiGraph::with_capacity(nodes, flow.edges().len());
        for _ in 0..nodes {
            net.add_node(());
        }
        let mut graph = Self { flow, net, len_bytes, unit };

        let arc = |(edge, data): (usize, &Edge)| Arc { edge, length: unit.length(data.cost.at(len_bytes)) };
        let mut arcs: Vec<_> = flow.edges().iter().enumerate().map(arc).collect();
        arcs.sort_by_cached_key(|arc| {
            let edge = &flow.edges()[arc.edge];
            (&edge.name, graph.index(&edge.to), arc.length)
        });
        for arc in arcs {
            let edge = &flow.edges()[arc.edge];
            graph.net.add_edge(graph.index(&edge.from), graph.index(&edge.to), arc);
        }
        graph
    }

    /// The cheapest path.
    ///
    /// # Errors
    /// [`Error::NoPath`] if no path leads from a source to a sink.
    pub fn best(&self) -> Result<Path, Error> {
        Ok(self.path(&self.shortest()?))
    }

    /// The bytes that costs are for.
    pub const fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    pub(super) fn shortest(&self) -> Result<Trail, Error> {
        let trail = self.cheapest(self.source(), self.sink(), |_| true);
        trail.ok_or_else(|| self.no_path())
    }

    /// The best way from one node to another over the arcs that may be used.
    pub(super) fn cheapest(
        &self,
        from: NodeIndex,
        to: NodeIndex,
        may_use: impl Fn(EdgeReference<'_, Arc>) -> bool,
    ) -> Option<Trail> {
        let usable = EdgeFiltered::from_fn(&self.net, may_use);
        // Nodes that the search leaves open when it reaches `from` are no nearer than `from`, and those
        // on its shortest paths are nearer: they are all settled.
        let left = dijkstra(Reversed(&usable), to, Some(from), |arc| arc.weight().length);
        let mut trail = Trail { length: *left.get(&from)?, arcs: Vec::new() };
        let mut here = from;
        while here != to {
            let keeps_promise = |arc: &EdgeReference<'_, Arc>| {
                left.get(&arc.target()).is_some_and(|&rest| arc.weight().length + rest == left[&here])
            };
            let next = (&usable).edges(here).filter(keeps_promise).min_by_key(|arc| arc.id())?;
            trail.arcs.push(next.id());
            here = next.target();
        }
        Some(trail)
    }

    /// Arcs as a path for others to read.
    pub(super) fn path(&self, trail: &Trail) -> Path {
        let step = |arc: &EdgeIndex| {
            let edge = self.net[*arc].edge;
            let Edge { name, from, to, cost } = self.flow.edges()[edge].clone();
            Step { edge, name, from, to, cost_ns: cost.at(self.len_bytes) }
        };
        let steps = trail.arcs.iter().map(step).collect();
        Path { steps, total_ns: self.unit.cost_ns(trail.length) }
    }

    pub(super) fn source(&self) -> NodeIndex {
        self.index(&Node::Source)
    }

    pub(super) fn sink(&self) -> NodeIndex {
        self.index(&Node::Sink)
    }

    /// Nodes lie position by position; the two ends come last.
    pub(super) fn index(&self, node: &Node) -> NodeIndex {
        let width = self.flow.representations().len();
        let ends = (self.flow.parts().len() + 1) * width;
        NodeIndex::new(match node {
            Node::Source => ends,
            Node::Between { position, representation } => {
                let row = self.flow.index_of(representation);
                position * width + row.expect("a flow takes only edges of its own representations")
            }
            Node::Sink => ends + 1,
        })
    }

    /// The edge that an arc stands for.
    pub(super) fn edge(&self, arc: EdgeIndex) -> &'a Edge {
        &self.flow.edges()[self.net[arc].edge]
    }

    /// Whether an arc only converts, begins or ends.
    pub(super) fn computes_nothing(&self, arc: EdgeIndex) -> bool {
        self.flow.parts_of(self.edge(arc)).is_empty()
    }

    /// Says where all paths from the sources break off.
    pub(super) fn no_path(&self) -> Error {
        let mut search = Dfs::new(&self.net, self.source());
        let mut reached = Vec::new();
        while let Some(node) = search.next(&self.net) {
            let leaving = self.net.edges(node).map(|arc| arc.id());
            reached.extend(leaving.map(|arc| self.flow.position(&self.edge(arc).to)));
        }
        let parts = self.flow.parts();
        let reason = match reached.into_iter().max() {
            None => "nothing starts it".to_owned(),
            Some(position) if position < parts.len() => format!(
                "nothing that can be reached computes '{}' (part {} of {})",
                parts[position].escape_debug(),
                position + 1,
                parts.len()
            ),
            Some(_) => "nothing ends it in a representation that the last part can be left in".to_owned(),
        };
        Error::NoPath { reason }
    }
}
