//! The path of a greedy choice, for comparison.
//!
//! A stride is a variant preceded by the conversions that it needs. The last stride may be conversions and a
//! sink. From its current node the greedy path takes the stride with the lowest cost per computed part. It
//! avoids dead ends, which a dispatcher at run time could not do. So a greedy path exists whenever any path
//! does.

use std::cmp::Ordering;
use std::ops::Range;

use super::error::Error;
use super::graph::{Along, Graph, Trail};
use super::path::Path;

struct Stride {
    trail: Trail,
    parts: usize,
    end: usize,
}

impl Graph<'_> {
    /// The path that takes the locally cheapest stride each time.
    ///
    /// # Errors
    /// [`Error::NoPath`] if no path leads from a source to a sink.
    pub fn greedy(&self) -> Result<Path, Error> {
        let to_sink = self.lengths(self.sink(), None, Along::Backwards, |_| true);
        let mut whole = Trail::default();
        let (mut here, mut position) = (self.source(), 0);
        while here != self.sink() {
            let leads_on =
                |arc: &usize| self.parts(*arc).start == position && to_sink[self.arcs[*arc].to].is_some();
            let ahead = (0..self.arcs.len()).filter(leads_on);
            let strides = ahead.filter_map(|arc| self.stride(here, arc));
            let stride = strides.min_by(Stride::compare).ok_or_else(|| self.no_path())?;
            whole.length = whole.length + stride.trail.length;
            whole.arcs.extend(stride.trail.arcs);
            (here, position) = (stride.end, position + stride.parts);
        }
        Ok(self.path(&whole))
    }

    /// The best stride that ends with this arc, if one exists.
    fn stride(&self, here: usize, last: usize) -> Option<Stride> {
        let goes_on = |arc: usize| !self.parts(arc).is_empty() || self.arcs[arc].to == self.sink();
        if !goes_on(last) {
            return None;
        }
        let mut trail = self.cheapest(here, self.arcs[last].from, |arc| !goes_on(arc))?;
        trail.length = trail.length + self.arcs[last].length;
        trail.arcs.push(last);
        Some(Stride { trail, parts: self.parts(last).len(), end: self.arcs[last].to })
    }

    fn parts(&self, arc: usize) -> Range<usize> {
        self.flow.parts_of(self.edge(arc))
    }
}

impl Stride {
    /// Compares the cost per part. A sink after the last part computes no part and competes only with other
    /// sinks.
    fn compare(&self, other: &Self) -> Ordering {
        let times =
            |stride: &Self, parts: usize| stride.trail.length.cost.saturating_mul(parts.max(1) as u128);
        let by_cost = times(self, other.parts).cmp(&times(other, self.parts));
        by_cost.then_with(|| self.trail.cmp(&other.trail))
    }
}
