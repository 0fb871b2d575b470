//! Flows: a sequence of parts, representations, and the edges between them.
//!
//! Position `p` is before part `p`, counted from 0. The last position is after the last part. A variant of
//! one part leads from its position to the next; a conversion stays at its position. Parts with the same name
//! are the same computation, so a variant is added at every position where its parts occur, and repeated
//! rounds need one call.
//!
//! Invariant: every edge leads forward or stays at its position, joins nodes of this flow, and has a sound
//! cost.

use std::cmp::Ordering;
use std::ops::Range;

use super::error::Error;
use super::graph::Graph;

/// The cost of an edge: a fixed amount plus an amount per byte.
///
/// The names say nanoseconds, but any unit works if all edges share it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The cost that does not depend on the size.
    pub fixed_ns: f64,
    /// The additional cost per byte.
    pub per_byte_ns: f64,
}

impl Cost {
    /// No cost.
    pub const FREE: Self = Self::fixed(0.0);

    /// A cost that does not depend on the size.
    pub const fn fixed(fixed_ns: f64) -> Self {
        Self { fixed_ns, per_byte_ns: 0.0 }
    }

    /// A cost that is proportional to the size.
    pub const fn per_byte(per_byte_ns: f64) -> Self {
        Self { fixed_ns: 0.0, per_byte_ns }
    }

    /// The length in bytes below which this cost is lower than another: `u64::MAX` if it is at every length, 0
    /// if it is at none, or only above some length.
    pub fn lower_below(self, other: Self) -> u64 {
        let (fixed_ns, per_byte_ns) = (other.fixed_ns - self.fixed_ns, self.per_byte_ns - other.per_byte_ns);
        match per_byte_ns > 0.0 {
            // A float that is too large becomes the largest integer, and a negative one 0.
            true => (fixed_ns / per_byte_ns) as u64,
            false if fixed_ns > 0.0 || (fixed_ns == 0.0 && per_byte_ns < 0.0) => u64::MAX,
            false => 0,
        }
    }

    /// This cost times `factor`.
    #[must_use]
    pub const fn scaled(self, factor: f64) -> Self {
        Self { fixed_ns: self.fixed_ns * factor, per_byte_ns: self.per_byte_ns * factor }
    }

    /// The sum of two costs.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { fixed_ns: self.fixed_ns + other.fixed_ns, per_byte_ns: self.per_byte_ns + other.per_byte_ns }
    }

    /// The cost for `len_bytes` bytes.
    pub fn at(self, len_bytes: u64) -> f64 {
        // The sum of two finite costs may overflow to infinity. The largest finite number is expensive
        // enough.
        (self.fixed_ns + self.per_byte_ns * len_bytes as f64).min(f64::MAX)
    }

    /// An order of all costs: by the fixed amount, then by the amount per byte.
    pub(super) fn total_cmp(self, other: Self) -> Ordering {
        let fixed = self.fixed_ns.total_cmp(&other.fixed_ns);
        fixed.then(self.per_byte_ns.total_cmp(&other.per_byte_ns))
    }

    /// The largest sound cost: 31 years in nanoseconds. Sums of sound costs stay finite.
    pub const MOST: f64 = 1e18;

    /// Whether a plan may use this cost: both amounts are between 0 and [`Cost::MOST`].
    pub fn is_sound(self) -> bool {
        [self.fixed_ns, self.per_byte_ns].iter().all(|cost| (0.0..=Self::MOST).contains(cost))
    }
}

/// A place on a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// Before any part.
    Source,
    /// A position, before the first part, between two parts or after the last one, with a representation.
    Between {
        /// The number of parts computed so far.
        position: usize,
        /// The layout of the data.
        representation: String,
    },
    /// After all parts.
    Sink,
}

impl Node {
    /// The node after `position` parts, in `representation`.
    pub fn between(position: usize, representation: &str) -> Self {
        Self::Between { position, representation: representation.to_owned() }
    }

    /// The representation; `None` for a source or sink.
    pub fn representation(&self) -> Option<&str> {
        match self {
            Self::Between { representation, .. } => Some(representation),
            Self::Source | Self::Sink => None,
        }
    }
}

/// An edge from one node to another: a variant, conversion, source or sink.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The name. Edges with an empty name are not shown in paths.
    pub name: String,
    /// The node where it begins.
    pub from: Node,
    /// The node where it ends.
    pub to: Node,
    /// Its cost.
    pub cost: Cost,
}

/// An end of an edge, by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Source,
    Between {
        position: usize,
        /// The index of the representation.
        row: usize,
    },
    Sink,
}

/// Parts in sequence, representations, and edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    parts: Vec<String>,
    representations: Vec<String>,
    edges: Vec<Edge>,
    /// Both ends of each edge.
    ends: Vec<[End; 2]>,
}

impl Flow {
    /// A flow through these parts, in this order, without edges. A part may occur repeatedly.
    ///
    /// # Errors
    /// [`Error::NoParts`]; [`Error::Twice`] if two representations have the same name.
    pub fn new(parts: &[impl AsRef<str>], representations: &[impl AsRef<str>]) -> Result<Self, Error> {
        let owned = |name: &dyn AsRef<str>| name.as_ref().to_owned();
        let parts: Vec<_> = parts.iter().map(|name| owned(name)).collect();
        if parts.is_empty() {
            return Err(Error::NoParts);
        }
        let mut flow = Self { parts, representations: Vec::new(), edges: Vec::new(), ends: Vec::new() };
        representations.iter().try_for_each(|name| flow.representation(name.as_ref()))?;
        Ok(flow)
    }

    /// Adds a representation.
    ///
    /// # Errors
    /// [`Error::Twice`] if the flow already has one with this name.
    pub fn representation(&mut self, name: &str) -> Result<(), Error> {
        if self.index_of(name).is_ok() {
            return Err(Error::Twice(name.to_owned()));
        }
        self.representations.push(name.to_owned());
        Ok(())
    }

    /// A flow of the parts `first`, then `round` repeated `rounds` times, then `last`.
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

    /// Adds a variant that reads its data in one representation and leaves it in another.
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
        // `windows` rejects length 0. An empty list of parts matches no window.
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

    /// Adds a source: data can be created before the first part in this representation.
    ///
    /// # Errors
    /// As for [`Flow::edge`].
    pub fn source(&mut self, name: &str, representation: &str, cost: Cost) -> Result<(), Error> {
        self.lay(name, Node::Source, Node::between(0, representation), cost)
    }

    /// Adds a sink: data can be left after the last part in this representation.
    ///
    /// # Errors
    /// As for [`Flow::edge`].
    pub fn sink(&mut self, name: &str, representation: &str, cost: Cost) -> Result<(), Error> {
        self.lay(name, Node::between(self.parts.len(), representation), Node::Sink, cost)
    }

    /// Lets paths start in this representation, with an unnamed edge without cost.
    ///
    /// # Errors
    /// As for [`Flow::edge`].
    pub fn start(&mut self, representation: &str) -> Result<(), Error> {
        self.source("", representation, Cost::FREE)
    }

    /// Lets paths end in this representation, with an unnamed edge without cost.
    ///
    /// # Errors
    /// As for [`Flow::edge`].
    pub fn end(&mut self, representation: &str) -> Result<(), Error> {
        self.sink("", representation, Cost::FREE)
    }

    fn lay(&mut self, name: &str, from: Node, to: Node, cost: Cost) -> Result<(), Error> {
        self.edge(Edge { name: name.to_owned(), from, to, cost })
    }

    /// Adds a single edge. It can be a variant or conversion at one position, or an edge from source to sink.
    /// It can also be a source that computes the first parts, or a sink that computes the last ones.
    ///
    /// # Errors
    /// [`Error::BadCost`]; [`Error::UnknownRepresentation`]; [`Error::BadEdge`] if it joins a node to itself,
    /// leads backwards, into a source, out of a sink, or beyond the last part.
    pub fn edge(&mut self, edge: Edge) -> Result<(), Error> {
        let ends = [self.end_at(&edge.from)?, self.end_at(&edge.to)?];
        let (from, to) = (self.position(&edge.from), self.position(&edge.to));
        let reason = match ends {
            [End::Sink, _] => "begins at the end",
            [_, End::Source] => "ends at the start",
            [a, b] if a == b => "leads to where it began",
            _ if from.max(to) > self.parts.len() => "leads beyond the last part",
            _ if from > to => "leads backwards",
            _ if !edge.cost.is_sound() => {
                return Err(Error::BadCost { edge: edge.name, cost: edge.cost });
            }
            _ => {
                self.edges.push(edge);
                self.ends.push(ends);
                return Ok(());
            }
        };
        Err(Error::BadEdge { edge: edge.name, reason })
    }

    /// The parts in order, with repeated ones listed each time.
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

    /// Both ends of each edge, in the order of edges.
    pub(super) fn ends(&self) -> &[[End; 2]] {
        &self.ends
    }

    /// The number of a node. Nodes are numbered position by position. Source and sink come last.
    pub(super) fn number(&self, end: End) -> usize {
        let width = self.representations.len();
        let source = (self.parts.len() + 1) * width;
        match end {
            End::Source => source,
            End::Between { position, row } => position * width + row,
            End::Sink => source + 1,
        }
    }

    /// The rank of each edge's name among all names. The edges of a variant follow one another, so most names
    /// are compared only with the name before.
    pub(super) fn name_ranks(&self) -> Vec<usize> {
        let name = |edge: usize| self.edges[edge].name.as_str();
        let is_same = |edge: usize| edge > 0 && name(edge) == name(edge - 1);
        let mut firsts: Vec<_> = (0..self.edges.len()).filter(|&edge| !is_same(edge)).collect();
        firsts.sort_by_key(|&first| name(first));
        let mut ranks = vec![usize::MAX; self.edges.len()];
        let mut rank = 0;
        for (at, &first) in firsts.iter().enumerate() {
            rank += usize::from(at > 0 && name(firsts[at - 1]) != name(first));
            ranks[first] = rank;
        }
        for edge in 1..ranks.len() {
            if ranks[edge] == usize::MAX {
                ranks[edge] = ranks[edge - 1];
            }
        }
        ranks
    }

    /// The parts that an edge of this flow computes; empty for a conversion.
    pub fn parts_of(&self, edge: &Edge) -> Range<usize> {
        self.position(&edge.from)..self.position(&edge.to)
    }

    /// The flow with its costs for a job of `len_bytes` bytes.
    pub fn at(&self, len_bytes: u64) -> Graph<'_> {
        Graph::new(self, len_bytes)
    }

    /// The number of parts computed at a node.
    pub(super) fn position(&self, node: &Node) -> usize {
        match node {
            Node::Source => 0,
            Node::Between { position, .. } => *position,
            Node::Sink => self.parts.len(),
        }
    }

    /// A node by numbers.
    fn end_at(&self, node: &Node) -> Result<End, Error> {
        Ok(match node {
            Node::Source => End::Source,
            Node::Between { position, representation } => {
                End::Between { position: *position, row: self.index_of(representation)? }
            }
            Node::Sink => End::Sink,
        })
    }

    /// The index of a representation.
    pub(super) fn index_of(&self, representation: &str) -> Result<usize, Error> {
        let known = self.representations.iter().position(|name| name == representation);
        known.ok_or_else(|| Error::UnknownRepresentation(representation.to_owned()))
    }
}
