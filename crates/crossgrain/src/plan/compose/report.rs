//! The best path beside all it should be compared with.

use super::error::Error;
use super::flow::Node;
use super::graph::Graph;
use super::path::Path;

/// All parts in one representation.
#[derive(Clone, Debug, PartialEq)]
pub struct Pure {
    /// The representation.
    pub representation: String,
    /// The parts alone, from the first to the last; `None` if one cannot be computed so.
    pub parts: Option<Path>,
    /// From a source to a sink: the parts, and before and behind them what the ends demand. `None` if the
    /// ends cannot be reached.
    pub whole: Option<Path>,
}

/// A best path, and others to judge it by.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The cheapest path.
    pub best: Path,
    /// The next best ones.
    pub runners_up: Vec<Path>,
    /// The pure forms, for each representation that has one.
    pub pure: Vec<Pure>,
    /// What would come of not looking ahead.
    pub greedy: Path,
}

impl Report {
    /// The cheapest path that computes everything in one representation, ends included.
    pub fn best_pure(&self) -> Option<&Path> {
        let whole = self.pure.iter().filter_map(|form| form.whole.as_ref());
        whole.min_by(|a, b| a.total_ns.total_cmp(&b.total_ns))
    }

    /// How much of the best pure form's cost the best path saves, in percent; `None` without such a form.
    pub fn gain_percent(&self) -> Option<f64> {
        let pure_ns = self.best_pure()?.total_ns;
        // Nothing can be saved of nothing.
        Some(if pure_ns > 0.0 { 100.0 * (pure_ns - self.best.total_ns) / pure_ns } else { 0.0 })
    }
}

impl Graph<'_> {
    /// The best path, up to so many runners-up, the pure forms, and the greedy path.
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
        let forms = self.flow.representations().iter().map(|representation| self.pure(representation));
        forms.filter(|form| form.parts.is_some() || form.whole.is_some()).collect()
    }

    fn pure(&self, representation: &str) -> Pure {
        let at = |position| self.index(&Node::between(position, representation));
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

    /// Whether an arc computes its parts in the representation, or computes none.
    ///
    /// Conversions between the parts need not be forbidden: whoever leaves the representation there must
    /// come back to the same place.
    fn is_pure(&self, arc: usize, representation: &str) -> bool {
        let edge = self.edge(arc);
        // A source or sink that computes parts does so in the one representation it touches.
        let mut touched = [&edge.from, &edge.to].into_iter().filter_map(Node::representation).peekable();
        self.flow.parts_of(edge).is_empty()
            || touched.peek().is_some() && touched.all(|name| name == representation)
    }
}
