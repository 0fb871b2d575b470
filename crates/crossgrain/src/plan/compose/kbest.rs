//! The k best paths: Yen's search for loopless paths, in the form Lawler gave it.
//!
//! A space is all paths that begin alike and do not go on by certain arcs. When its best path is taken,
//! the rest of the space falls apart into smaller ones, one for each place where a path can leave the
//! best: they share no path and miss none, so the next best path overall is the best of one of them.
//! Source: Lawler, "A procedure for computing the k best solutions to discrete optimization problems and
//! its application to the shortest path problem", Management Science 18 (1972).
//!
//! A detour is a row of conversions that a single one replaces at no higher cost. What differs from a better path
//! by a detour alone says nothing new, and is passed over.

use std::collections::{BTreeMap, BTreeSet};

use super::error::Error;
use super::graph::{Graph, Trail};
use super::path::Path;

/// Paths whose first arcs are known.
#[derive(Default)]
struct Space {
    /// How many arcs of its best path all of its paths share.
    kept: usize,
    /// Arcs by which none of them goes on from there.
    barred: Vec<usize>,
}

impl Graph<'_> {
    /// The `k` best paths that pass no node twice and take no detour, best first; fewer if there are no more.
    ///
    /// # Errors
    /// [`Error::NoPath`] if there is not even one.
    pub fn k_best(&self, k: usize) -> Result<Vec<Path>, Error> {
        let mut spaces = BTreeMap::new();
        spaces.insert(self.shortest()?, Space::default());
        let mut found = Vec::new();
        while found.len() < k
            && let Some((trail, space)) = spaces.pop_first()
        {
            if !self.takes_detour(&trail) {
                found.push(self.path(&trail));
            }
            if found.len() < k {
                let rest = self.without(&trail, &space);
                spaces.extend(rest.filter_map(|space| Some((self.best_of(&trail, &space)?, space))));
            }
        }
        Ok(found)
    }

    /// Whether one conversion, source or sink would do where the trail takes several in a row.
    fn takes_detour(&self, trail: &Trail) -> bool {
        let rows = trail.arcs.chunk_by(|&a, &b| self.computes_nothing(a) && self.computes_nothing(b));
        rows.into_iter().any(|row| (0..row.len()).any(|at| self.is_detour_from(&row[at..])))
    }

    /// Whether some arcs at the beginning of a row, two at least, can be replaced by one.
    fn is_detour_from(&self, row: &[usize]) -> bool {
        let first = &self.arcs[row[0]];
        let mut cost = first.length.cost;
        row[1..].iter().any(|&arc| {
            cost += self.arcs[arc].length.cost;
            let is_direct = |other: &&usize| self.arcs[**other].to == self.arcs[arc].to;
            let mut direct = self.leaving(first.from).iter().filter(is_direct);
            direct.any(|&arc| self.computes_nothing(arc) && self.arcs[arc].length.cost <= cost)
        })
    }

    /// The space without its best path, in pieces.
    fn without(&self, best: &Trail, space: &Space) -> impl Iterator<Item = Space> {
        (space.kept..best.arcs.len()).map(|kept| {
            let inherited = if kept == space.kept { space.barred.as_slice() } else { &[] };
            Space { kept, barred: [inherited, &best.arcs[kept..=kept]].concat() }
        })
    }

    /// The best path of a space, which begins as `like` does.
    fn best_of(&self, like: &Trail, space: &Space) -> Option<Trail> {
        let kept = &like.arcs[..space.kept];
        let passed: BTreeSet<_> = kept.iter().map(|&arc| self.arcs[arc].from).collect();
        let here = kept.last().map_or(self.source(), |&arc| self.arcs[arc].to);
        let onward = self.cheapest(here, self.sink(), |arc| {
            !passed.contains(&self.arcs[arc].to) && !space.barred.contains(&arc)
        })?;
        let length = kept.iter().map(|&arc| self.arcs[arc].length).sum();
        Some(Trail { length: onward.length + length, arcs: [kept, &onward.arcs].concat() })
    }
}
