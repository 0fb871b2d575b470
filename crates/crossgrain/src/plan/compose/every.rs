//! Every path, by trying everything: the oracle that the searches are held to.

use petgraph::graph::{EdgeIndex, NodeIndex};
use petgraph::visit::EdgeRef;

use super::error::Error;
use super::graph::{Graph, Trail};
use super::path::Path;

/// Paths found so far, and the one under way.
struct Enumeration {
    found: Vec<Trail>,
    passed: Vec<NodeIndex>,
    arcs: Vec<EdgeIndex>,
    /// Beginnings of paths that may still be looked at.
    left: usize,
}

impl Graph<'_> {
    /// Every path from a source to a sink that passes no node twice, best first.
    ///
    /// Time and memory grow exponentially with the flow. `limit` bounds how many beginnings of paths
    /// are looked at, those that lead nowhere included.
    ///
    /// # Errors
    /// [`Error::TooManyPaths`] if the limit does not suffice.
    pub fn every(&self, limit: usize) -> Result<Vec<Path>, Error> {
        let mut all = Enumeration { found: Vec::new(), passed: Vec::new(), arcs: Vec::new(), left: limit };
        self.enumerate(self.source(), &mut all).ok_or(Error::TooManyPaths { limit })?;
        all.found.sort();
        Ok(all.found.iter().map(|trail| self.path(trail)).collect())
    }

    /// Follows every way on from a node; `None` where the limit is met.
    fn enumerate(&self, here: NodeIndex, all: &mut Enumeration) -> Option<()> {
        all.left = all.left.checked_sub(1)?;
        if here == self.sink() {
            let length = all.arcs.iter().map(|&arc| self.net[arc].length).sum();
            all.found.push(Trail { length, arcs: all.arcs.clone() });
            return Some(());
        }
        all.passed.push(here);
        for arc in self.net.edges(here) {
            if !all.passed.contains(&arc.target()) {
                all.arcs.push(arc.id());
                self.enumerate(arc.target(), all)?;
                all.arcs.pop();
            }
        }
        all.passed.pop();
        Some(())
    }
}
