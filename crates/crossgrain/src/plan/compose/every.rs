//! All paths, by exhaustive enumeration. Tests check the searches against it.

use std::collections::BinaryHeap;

use super::error::Error;
use super::graph::{Graph, Trail};
use super::path::Path;

/// The paths found so far, and the current one.
struct Enumeration {
    found: BinaryHeap<Trail>,
    passed: Vec<usize>,
    arcs: Vec<usize>,
    /// The remaining number of path prefixes to visit.
    left: usize,
}

impl Graph<'_> {
    /// All paths from a source to a sink without repeated nodes, best first.
    ///
    /// Time and memory grow exponentially with the flow. `limit` is the maximum number of path prefixes to
    /// visit, including those that lead nowhere.
    ///
    /// # Errors
    /// [`Error::TooManyPaths`] if there are more prefixes.
    pub fn every(&self, limit: usize) -> Result<Vec<Path>, Error> {
        let mut all =
            Enumeration { found: BinaryHeap::new(), passed: Vec::new(), arcs: Vec::new(), left: limit };
        self.enumerate(self.source(), &mut all).ok_or(Error::TooManyPaths { limit })?;
        Ok(all.found.into_sorted_vec().iter().map(|trail| self.path(trail)).collect())
    }

    /// Extends the current path from a node in every way; `None` if the limit is reached.
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
