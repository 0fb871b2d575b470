//! The k best paths: Yen's search for loopless paths, in Lawler's form.
//!
//! A space is the set of paths that share a prefix and do not continue with certain arcs. After its best path
//! is taken, the rest of the space is partitioned into smaller spaces. Each node where a path can leave the
//! best one gives a space. The next best path overall is the best path of one of the spaces.
//!
//! Source: Lawler, "A procedure for computing the k best solutions to discrete optimization problems and its
//! application to the shortest path problem", Management Science 18 (1972).
//!
//! A detour is a sequence of conversions that one conversion can replace at no higher cost. Paths with a
//! detour are skipped, since they add no information.

use std::collections::{BTreeMap, BTreeSet};

use super::error::Error;
use super::graph::{Graph, Trail};
use super::path::Path;

/// A set of paths with a common prefix.
#[derive(Default)]
struct Space {
    /// The number of arcs of its best path that all its paths share.
    kept: usize,
    /// The arcs with which no path of the space continues after the prefix.
    barred: Vec<usize>,
}

impl Graph<'_> {
    /// The `k` best paths without repeated nodes or detours, best first; fewer if there are fewer.
    ///
    /// # Errors
    /// [`Error::NoPath`] if no path exists.
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

    /// Whether the trail has several conversions in sequence that one conversion, source or sink could
    /// replace.
    fn takes_detour(&self, trail: &Trail) -> bool {
        let rows = trail.arcs.chunk_by(|&a, &b| self.computes_nothing(a) && self.computes_nothing(b));
        rows.into_iter().any(|row| (0..row.len()).any(|at| self.is_detour_from(&row[at..])))
    }

    /// Whether one arc can replace the first two or more arcs of a sequence.
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

    /// The space without its best path, as a partition.
    fn without(&self, best: &Trail, space: &Space) -> impl Iterator<Item = Space> {
        (space.kept..best.arcs.len()).map(|kept| {
            let inherited = if kept == space.kept { space.barred.as_slice() } else { &[] };
            Space { kept, barred: [inherited, &best.arcs[kept..=kept]].concat() }
        })
    }

    /// The best path of a space. The first `space.kept` arcs are those of `like`.
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
