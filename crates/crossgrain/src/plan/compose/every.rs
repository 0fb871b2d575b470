//! Every path, by trying everything: the oracle that the searches are held to.

use std::collections::BinaryHeap;

use super::error::Error;
use super::graph::{Graph, Trail};
use super::path::Path;

/// Paths found so far, and the one under way.
struct Enumeration {
    found: BinaryHeap<Trail>,
    passed: Vec<usize>,
    arcs: Vec<usize>,
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
        let mut all =
            Enumeration { found: BinaryHeap::new(), passed: Vec::new(), arcs: Vec::new(), left: limit };
        self.enumerate(self.source(), &mut all).ok_or(Error::TooManyPaths { limit })?;
        Ok(all.found.into_sorted_vec().iter().map(|trail| self.path(trail)).collect())
    }

    /// Follows every way on from a node; `None` where the limit is met.
    fn enumerate(&self, here: usize, all: &mut Enumeration) -> Option<()> {
        all.left = all.left.checked_sub(1)?;
        if here == self.sink() {
            let length = all.arcs.iter().map(|&arc| self.arcs[arc].length).sum();
            all.found.push(Trail { length, arcs: all.arcs.clone() });
            return Some(());
        }
        all.passed.push(here);
        for &arc in self.leaving(here) {
            let next = self.arcs[arc].to;
            if !all.passed.contains(&next) {
                all.arcs.push(arc);
                self.enumerate(next, all)?;
                all.arcs.pop();
            }
        }
        all.passed.pop();
        Some(())
    }
}
