//! The best path and the paths to compare it with.

use super::error::Error;
use super::flow::{End, Node};
use super::graph::Graph;
use super::path::Path;

/// All parts in one representation.
#[derive(Clone, Debug, PartialEq)]
pub struct Pure {
    /// The representation.
    pub representation: String,
    /// Only the parts, from first to last; `None` if this representation lacks one.
    pub parts: Option<Path>,
    /// The path from a source to a sink: the parts, with the conversions that the ends need. `None` if the
    /// ends cannot be reached.
    pub whole: Option<Path>,
}

/// A best path with paths for comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The cheapest path.
    pub best: Path,
    /// The next best paths.
    pub runners_up: Vec<Path>,
    /// The pure forms, for each representation that has one.
    pub pure: Vec<Pure>,
    /// The path of a greedy choice.
    pub greedy: Path,
}

impl Report {
    /// The cheapest path that computes all parts in one representation, including its ends.
    pub fn best_pure(&self) -> Option<&Path> {
        let whole = self.pure.iter().filter_map(|form| form.whole.as_ref());
        whole.min_by(|a, b| a.total_ns.total_cmp(&b.total_ns))
    }

    /// The saving of the best path over the best pure form, in percent; `None` without a pure form.
    pub fn gain_percent(&self) -> Option<f64> {
        let pure_ns = self.best_pure()?.total_ns;
        // A free pure form leaves nothing to save.
        Some(if pure_ns > 0.0 { 100.0 * (pure_ns - self.best.total_ns) / pure_ns } else { 0.0 })
    }
}

impl Graph<'_> {
    /// The best path, at most `runners_up` next best ones, the pure forms and the greedy path.
    ///
    /// # Errors
    /// [`Error::NoPath`] if no path leads from a source to a sink.
    pub fn report(&self, runners_up: usize) -> Result<Report, Error> {
        let mut runners_up = self.k_best(runners_up.saturating_add(1))?;
        let best = runners_up.remove(0);
        Ok(Report { best, runners_up, pure: self.pure_forms(), greedy: self.greedy()? })
    }

    /// The pure forms of all representations that have one, in the flow's order.
    pub fn pure_forms(&self) -> Vec<Pure> {
        let rows = self.flow.representations().iter().enumerate();
        let forms = rows.map(|(row, representation)| self.pure(row, representation));
        forms.filter(|form| form.parts.is_some() || form.whole.is_some()).collect()
    }

    fn pure(&self, row: usize, representation: &str) -> Pure {
        let at = |position| self.flow.number(End::Between { position, row });
        let last = self.flow.parts().len();
        let stays = |arc| {
            let edge = self.edge(arc);
            [&edge.from, &edge.to].iter().all(|node| node.representation() == Some(representation))
        };
        let parts = self.cheapest(at(0), at(last), stays);
        let whole = self.cheapest(self.source(), self.sink(), |arc| self.is_pure(arc, representation));
        Pure {
            representation: representation.to_owned(),
            parts: parts.map(|trail| self.path(&trail)),
            whole: whole.map(|trail| self.path(&trail)),
        }
    }

    /// Whether an arc computes its parts in the representation, or computes no part.
    ///
    /// Conversions between the parts are allowed: a path that leaves the representation must return to it at
    /// the same position.
    fn is_pure(&self, arc: usize, representation: &str) -> bool {
        let edge = self.edge(arc);
        // A source or sink that computes parts has only one representation, and computes them there.
        let mut touched = [&edge.from, &edge.to].into_iter().filter_map(Node::representation).peekable();
        self.flow.parts_of(edge).is_empty()
            || touched.peek().is_some() && touched.all(|name| name == representation)
    }
}
