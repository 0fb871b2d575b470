//! The parts that a picture shows. Rounds in which the best path does the same are drawn once.

use std::ops::Range;

use crossgrain::plan::compose::{Flow, Node, Path};

use super::super::case::sliced;
use super::super::fold::{Fold, folded};

/// The drawn parts, and the mapping from the flow's positions to them.
pub(super) struct Columns {
    /// Drawn parts by their index in the flow.
    pub(super) parts: Vec<usize>,
    /// For each position of the flow its place between drawn parts, and whether the position itself is drawn.
    /// If it is not, an equal round is drawn in its place.
    places: Vec<(usize, bool)>,
    /// Ranges of drawn parts that represent several rounds, with the number of rounds.
    pub(super) repeated: Vec<(Range<usize>, usize)>,
}

impl Columns {
    pub(super) fn of(flow: &Flow, best: &Path) -> Self {
        let mut columns = Self { parts: Vec::new(), places: Vec::new(), repeated: Vec::new() };
        let keys: Vec<_> =
            (0..flow.parts().len()).map(|part| (&flow.parts()[part], begun(best, part))).collect();
        folded(&keys).into_iter().for_each(|fold| columns.add(fold));
        columns.places.push((columns.parts.len(), true));
        columns
    }

    fn add(&mut self, Fold { once, count }: Fold) {
        let (begin, period) = (self.parts.len(), once.len());
        let end = begin + period;
        self.parts.extend(once);
        self.places.extend((begin..end).map(|place| (place, true)));
        for _ in 1..count {
            self.places.extend((0..period).map(|at| (if at == 0 { end } else { begin + at }, false)));
        }
        if count > 1 {
            self.repeated.push((begin..end, count));
        }
    }

    /// The places of drawn parts between which an edge leads; `None` if it belongs to another round. The
    /// source and the sink have their own places. The frame and the pass of a mode take no place: bytes before
    /// the cipher are drawn as the source, bytes after it as the sink.
    pub(super) fn span(&self, from: &Node, to: &Node) -> Option<(usize, usize)> {
        let [from, to] = [from, to].map(|node| match node {
            Node::Between { position, .. } if sliced(node).is_none() => {
                if *position == 0 {
                    &Node::Source
                } else {
                    &Node::Sink
                }
            }
            node => node,
        });
        let last = self.parts.len() + 2;
        let begin = match from {
            Node::Source => 0,
            Node::Between { position, .. } => {
                let (place, drawn) = self.places[*position];
                if !drawn {
                    return None;
                }
                place + 1
            }
            Node::Sink => last,
        };
        let end = match to {
            Node::Source => 0,
            Node::Between { position, .. } => self.places[*position].0 + 1,
            Node::Sink => last,
        };
        (begin <= end).then_some((begin, end))
    }
}

/// The names of the steps that start after `parts` parts.
fn begun(path: &Path, parts: usize) -> Vec<&str> {
    let here = |node: &Node| matches!(node, Node::Between { position, .. } if *position == parts);
    path.steps.iter().filter(|step| here(&step.from)).map(|step| step.name.as_str()).collect()
}
