//! What can be composed: parts in a row, representations, and the edges between them.
//!
//! Position `p` lies before part `p` (counted from 0); the last position lies behind the last part. So a
//! variant of one part leads from its position to the next, and a conversion stays where it is. Parts of
//! one name are one computation: a variant is laid over every place where its parts stand, and repeated
//! rounds need to be said only once.
//! Holds: every edge of a flow leads forward or stays, between nodes of this flow, at a sound cost.

use std::ops::Range;

use super::error::Error;
use super::graph::Graph;

/// What an edge costs: a part that is the same for every size, and a part for every byte.
///
/// Costs are nanoseconds by name; any unit will do as long as all edges share it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// What it costs to do it at all.
    pub fixed_ns: f64,
    /// What each byte adds.
    pub per_byte_ns: f64,
}

impl Cost {
    /// No cost at all.
    pub const FREE: Self = Self::fixed(0.0);

    /// A cost that does not depend on size.
    pub const fn fixed(fixed_ns: f64) -> Self {
        Self { fixed_ns, per_byte_ns: 0.0 }
    }

    /// A cost that is nothing but proportional to size.
    pub const fn per_byte(per_byte_ns: f64) -> Self {
        Self { fixed_ns: 0.0, per_byte_ns }
    }

    /// So many times this cost.
    #[must_use]
    pub const fn scaled(self, factor: f64) -> Self {
        Self { fixed_ns: self.fixed_ns * factor, per_byte_ns: self.per_byte_ns * factor }
    }

    /// This cost and another.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { fixed_ns: self.fixed_ns + other.fixed_ns, per_byte_ns: self.per_byte_ns + other.per_byte_ns }
    }

    /// The cost for so many bytes.
    pub fn at(self, len_bytes: u64) -> f64 {
        // Two finite costs may have no finite sum; the largest number is dear enough.
        (self.fixed_ns + self.per_byte_ns * len_bytes as f64).min(f64::MAX)
    }

    /// The largest sound cost: 31 years in nanoseconds. No path of sound costs has an infinite total.
    pub const MOST: f64 = 1e18;

    /// Whether a plan may use it: both parts are at least 0 and at most [`Cost::MOST`].
    pub fn is_sound(self) -> bool {
        [self.fixed_ns, self.per_byte_ns].iter().all(|cost| (0.0..=Self::MOST).contains(cost))
    }
}

/// A place on a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// Before anything is done.
    Source,
    /// Between two parts, or before the first or behind the last, in a representation.
    Between {
        /// Parts that are done.
        position: usize,
        /// How the data lies.
        representation: String,
    },
    /// When everything is done.
    Sink,
}

impl Node {
    /// Between parts: after `position` of them, in `representation`.
    pub fn between(position: usize, representation: &str) -> Self {
        Self::Between { position, representation: representation.to_owned() }
    }

    /// The representation, unless this is an end.
    pub fn representation(&self) -> Option<&str> {
        match self {
            Self::Between { representation, .. } => Some(representation),
            Self::Source | Self::Sink => None,
        }
    }
}

/// One way from one place to another: a variant, conversion, source or sink.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// What it is called; nameless edges are left out where paths are shown.
    pub name: String,
    /// Where it begins.
    pub from: Node,
    /// Where it leads.
    pub to: Node,
    /// What it costs.
    pub cost: Cost,
}

/// Parts in a row, representations, and edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    parts: Vec<String>,
    representations: Vec<String>,
    edges: Vec<Edge>,
}

impl Flow {
    /// A flow through these parts, in this order, as yet without edges. Parts may occur repeatedly.
    ///
    /// # Errors
    /// [`Error::NoParts`]; [`Error::Twice`] for representations of one name.
    pub fn new(parts: &[impl AsRef<str>], representations: &[impl AsRef<str>]) -> Result<Self, Error> {
        let owned = |name: &dyn AsRef<str>| name.as_ref().to_owned();
        let parts: Vec<_> = parts.iter().map(|name| owned(name)).collect();
        if parts.is_empty() {
            return Err(Error::NoParts);
        }
        let mut flow = Self { parts, representations: Vec::new(), edges: Vec::new() };
        representations.iter().try_for_each(|name| flow.representation(name.as_ref()))?;
        Ok(flow)
    }

    /// Adds a representation.
    ///
    /// # Errors
    /// [`Error::Twice`] if there is one of this name.
    pub fn representation(&mut self, name: &str) -> Result<(), Error> {
        if self.index_of(name).is_ok() {
            return Err(Error::Twice(name.to_owned()));
        }
        self.representations.push(name.to_owned());
        Ok(())
    }

    /// A flow of some first parts, a round of parts `rounds` times over, and some last parts.
    ///
    /// # Errors
    /// As for [`Flow::new`].
    pub fn repeated(
        [first, round, last]: [&[&str]; 3],
        rounds: usize,
        representations: &[impl AsRef<str>],
    ) -> Result<Self, Error> {
        Self::new(&[first, &round.repeat(rounds), last].concat(), representations)
    }

    /// Adds a variant that computes these consecutive parts in one representation, wherever they occur.
    ///
    /// # Errors
    /// [`Error::NoSuchParts`] if they occur nowhere; otherwise as for [`Flow::edge`].
    pub fn variant(
        &mut self,
        name: &str,
        parts: &[impl AsRef<str>],
        representation: &str,
        cost: Cost,
    ) -> Result<(), Error> {
        self.variant_between(name, parts, [representation, representation], cost)
    }

    /// Adds a variant that takes its data in one representation and leaves it in another.
    ///
    /// # Errors
    /// As for [`Flow::variant`].
    pub fn variant_between(
        &mut self,
        name: &str,
        parts: &[impl AsRef<str>],
        [from, to]: [&str; 2],
        cost: Cost,
    ) -> Result<(), Error> {
        let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
        // Windows must not be empty; no parts are no variant.
        let windows = self.parts.windows(parts.len().max(1)).enumerate();
        let starts: Vec<_> = windows.filter(|(_, here)| *here == parts).map(|(at, _)| at).collect();
        if starts.is_empty() {
            return Err(Error::NoSuchParts { edge: name.to_owned(), parts: parts.join(", ") });
        }
        starts.into_iter().try_for_each(|at| {
            self.lay(name, Node::between(at, from), Node::between(at + parts.len(), to), cost)
        })
    }

    /// Adds a conversion between two representations, at every position.
    ///
    /// # Errors
    /// As for [`Flow::edge`].
    pub fn conversion(&mut self, name: &str, from: &str, to: &str, cost: Cost) -> Result<(), Error> {
        (0..=self.parts.len())
            .try_for_each(|at| self.lay(name, Node::between(at, from), Node::between(at, to), cost))
    }

    /// Adds a source: data comes into being before the first part, in this representation.
    ///
    /// # Errors
    /// As for [`Flow::edge`].
    pub fn source(&mut self, name: &str, representation: &str, cost: Cost) -> Result<(), Error> {
        self.lay(name, Node::Source, Node::between(0, representation), cost)
    }

    /// Adds a sink: data may be left behind the last part, in this representation.
    ///
    /// # Errors
    /// As for [`Flow::edge`].
    pub fn sink(&mut self, name: &str, representation: &str, cost: Cost) -> Result<(), Error> {
        self.lay(name, Node::between(self.parts.len(), representation), Node::Sink, cost)
    }

    /// Lets paths start in this representation, free and without a name.
    ///
    /// # Errors
    /// As for [`Flow::edge`].
    pub fn start(&mut self, representation: &str) -> Result<(), Error> {
        self.source("", representation, Cost::FREE)
    }

    /// Lets paths end in this representation, free and without a name.
    ///
    /// # Errors
    /// As for [`Flow::edge`].
    pub fn end(&mut self, representation: &str) -> Result<(), Error> {
        self.sink("", representation, Cost::FREE)
    }

    fn lay(&mut self, name: &str, from: Node, to: Node, cost: Cost) -> Result<(), Error> {
        self.edge(Edge { name: name.to_owned(), from, to, cost })
    }

    /// Adds any one edge: a variant or conversion in one place only, a source that computes the first
    /// parts on its way, a sink that computes the last ones, or both in one.
    ///
    /// # Errors
    /// [`Error::BadCost`]; [`Error::UnknownRepresentation`]; [`Error::BadEdge`] if it leads nowhere,
    /// backwards, into a source, out of a sink, or behind the last part.
    pub fn edge(&mut self, edge: Edge) -> Result<(), Error> {
        for name in [&edge.from, &edge.to].into_iter().filter_map(Node::representation) {
            self.index_of(name)?;
        }
        let (from, to) = (self.position(&edge.from), self.position(&edge.to));
        let reason = match (&edge.from, &edge.to) {
            (Node::Sink, _) => "begins at the end",
            (_, Node::Source) => "ends at the start",
            (a, b) if a == b => "leads to where it began",
            _ if from.max(to) > self.parts.len() => "leads beyond the last part",
            _ if from > to => "leads backwards",
            _ if !edge.cost.is_sound() => {
                return Err(Error::BadCost { edge: edge.name, cost: edge.cost });
            }
            _ => {
                self.edges.push(edge);
                return Ok(());
            }
        };
        Err(Error::BadEdge { edge: edge.name, reason })
    }

    /// The parts, in order, repeated ones written out.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// The representations.
    pub fn representations(&self) -> &[String] {
        &self.representations
    }

    /// The edges, in the order in which they were added.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Which parts an edge of this flow computes: none for a conversion.
    pub fn parts_of(&self, edge: &Edge) -> Range<usize> {
        self.position(&edge.from)..self.position(&edge.to)
    }

    /// The flow with its costs for a job of so many bytes.
    pub fn at(&self, len_bytes: u64) -> Graph<'_> {
        Graph::new(self, len_bytes)
    }

    /// Parts that are done at a node.
    pub(super) fn position(&self, node: &Node) -> usize {
        match node {
            Node::Source => 0,
            Node::Between { position, .. } => *position,
            Node::Sink => self.parts.len(),
        }
    }

    /// Where a representation stands in the list.
    pub(super) fn index_of(&self, representation: &str) -> Result<usize, Error> {
        let known = self.representations.iter().position(|name| name == representation);
        known.ok_or_else(|| Error::UnknownRepresentation(representation.to_owned()))
    }
}
