//! The best paths that mix representations.
//!
//! A path is mixed if it computes two consecutive parts in different representations, with conversions
//! between them. The cheapest path through a given change of representation has three sections: the path to
//! the change, the conversions, and the path from there on. Each section is the cheapest of its kind. One
//! search for the first sections and one for the last serve all changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::flow::Flow;
use super::graph::{Along, Graph, Trail};
use super::length::Length;
use super::path::{Path, Step};

/// For each node, the length of the cheapest path with a computing arc at that node, and this arc.
type Ways = BTreeMap<usize, (Length, usize)>;

/// Two computing arcs with conversions between them, and the length of the cheapest path through all of
/// these.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    length: Length,
    last: usize,
    conversions: Vec<usize>,
    next: usize,
}

impl Flow {
    /// Whether a path of this flow has conversions between two parts.
    pub fn mixes(&self, path: &Path) -> bool {
        let computes = |step: &Step| !self.parts_of(&self.edges()[step.edge]).is_empty();
        let first = path.steps.iter().position(computes);
        let last = path.steps.iter().rposition(computes);
        first.zip(last).is_some_and(|(first, last)| !path.steps[first..last].iter().all(computes))
    }
}

impl Graph<'_> {
    /// Finds the cheapest path through every change of representation between two parts. Returns the `k` best
    /// of these paths, best first.
    pub fn mixed(&self, k: usize) -> Vec<Path> {
        let (before, behind) = self.ways();
        let mut changes = BinaryHeap::new();
        for (&from, start) in &before {
            let to_each = behind.iter().filter_map(|(&to, end)| self.change([from, to], [start, end]));
            changes.extend(to_each.map(Reverse));
        }
        let mut found: Vec<Path> = Vec::new();
        while found.len() < k
            && let Some(Reverse(change)) = changes.pop()
        {
            // A path with several changes is found once per change.
            found.extend(self.over(&change).filter(|path| !found.contains(path)));
        }
        found
    }

    /// The best paths from the source whose last arc computes a part, by their last node. Then the best paths
    /// to the sink whose first arc computes a part, by their first node.
    fn ways(&self) -> (Ways, Ways) {
        let to_here = self.lengths(self.source(), None, Along::Forwards, |_| true);
        let from_here = self.lengths(self.sink(), None, Along::Backwards, |_| true);
        let (mut before, mut behind) = (Ways::new(), Ways::new());
        let keep = |ways: &mut Ways, node, rest: Option<Length>, number: usize| {
            if let Some(rest) = rest {
                let way = (rest + self.arcs[number].length, number);
                let best = ways.entry(node).or_insert(way);
                *best = way.min(*best);
            }
        };
        for number in (0..self.arcs.len()).filter(|&number| !self.computes_nothing(number)) {
            let arc = &self.arcs[number];
            keep(&mut before, arc.to, to_here[arc.from], number);
            keep(&mut behind, arc.from, from_here[arc.to], number);
        }
        (before, behind)
    }

    /// The change from one node to another, if conversions connect them and both are at the same position.
    fn change(&self, [from, to]: [usize; 2], [start, end]: [&(Length, usize); 2]) -> Option<Change> {
        let position = |node| self.flow.position(node);
        if from == to || position(&self.edge(start.1).to) != position(&self.edge(end.1).from) {
            return None;
        }
        let between = self.cheapest(from, to, |arc| {
            let ends = [self.arcs[arc].from, self.arcs[arc].to];
            self.computes_nothing(arc) && !ends.contains(&self.source()) && !ends.contains(&self.sink())
        })?;
        let length = start.0 + between.length + end.0;
        Some(Change { length, last: start.1, conversions: between.arcs, next: end.1 })
    }

    /// The cheapest path through a change.
    fn over(&self, change: &Change) -> Option<Path> {
        let (start, end) = (self.arcs[change.last].from, self.arcs[change.next].to);
        let before = self.cheapest(self.source(), start, |_| true)?;
        let behind = self.cheapest(end, self.sink(), |_| true)?;
        let arcs = [&before.arcs, &[change.last][..], &change.conversions, &[change.next], &behind.arcs];
        Some(self.path(&Trail { length: change.length, arcs: arcs.concat() }))
    }
}
