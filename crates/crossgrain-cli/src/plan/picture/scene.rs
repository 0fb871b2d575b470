//! The contents and layout of the graph: rows, lanes below them for edges that span several parts, and
//! columns.

use std::collections::BTreeMap;

use super::super::case::{Case, Refused, home, sliced};
use super::canvas::{MARGIN, bold_width_of};
use super::columns::Columns;
use crossgrain::plan::compose::{Edge, Path, Report};

/// The most rows in a picture of a job of this library.
const ROWS_MAX: usize = 8;
/// Up to this number of rows, every conversion between neighbouring rows is drawn.
pub(super) const ROWS_FEW: usize = 3;

/// All elements of the graph.
pub(super) struct Scene {
    pub(super) columns: Columns,
    pub(super) rows: Vec<Row>,
    pub(super) conversions: Vec<Conversion>,
    /// The horizontal position of the source.
    left: f64,
    /// The distance between places.
    pitch: f64,
}

/// A representation.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) links: Vec<Link>,
    pub(super) gaps: Vec<Gap>,
}

/// Parts without a link, because the policy refuses all variants that compute them in this row.
pub(super) struct Gap {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) reason: &'static str,
}

/// An edge within a row, the cheapest of its kind.
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    /// 0 between neighbours. Other links use lanes below, one under the other.
    pub(super) lane: usize,
    pub(super) name: String,
    pub(super) cost: f64,
    pub(super) best: bool,
}

/// An edge between rows.
pub(super) struct Conversion {
    pub(super) place: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) name: String,
    pub(super) cost: f64,
    pub(super) best: bool,
}

impl Scene {
    pub(super) fn of(case: &Case) -> Self {
        let columns = Columns::of(&case.flow, &case.report.best);
        let refused = case.refused();
        let row = |name: String| {
            let links = links(case, &columns, &name);
            let gaps = gaps(&columns, &name, &links, &refused);
            Row { name, links, gaps }
        };
        let rows: Vec<Row> = shown(case, &refused).into_iter().map(row).collect();
        let conversions = conversions(case, &columns, &rows);
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| bold_width_of(text)).fold(56.0, f64::max)
        };
        let left = MARGIN + widest(&mut rows.iter().map(|row| &row.name)) + 26.0;
        let pitch = widest(&mut columns.parts.iter().map(|&part| &case.flow.parts()[part])) + 18.0;
        Self { columns, rows, conversions, left, pitch: pitch.max(92.0) }
    }

    /// The horizontal position of a place; 0 is the source.
    pub(super) fn x(&self, place: usize) -> f64 {
        self.left + place as f64 * self.pitch
    }

    pub(super) fn last(&self) -> usize {
        self.columns.parts.len() + 2
    }

    pub(super) fn width(&self) -> f64 {
        (self.x(self.last()) + MARGIN + 16.0).max(720.0)
    }
}

/// The representations that get a row: those of the listed paths, of the cheapest pure forms, and of refused
/// variants.
fn shown(case: &Case, refused: &[Refused]) -> Vec<String> {
    let order: Vec<String> = case.representations().into_iter().map(str::to_owned).collect();
    if case.facts.is_none() {
        return order;
    }
    let Report { best, runners_up, .. } = &case.report;
    let mut wanted: Vec<String> = Vec::new();
    for path in std::iter::once(best).chain(runners_up) {
        wanted.extend(path.steps.iter().filter_map(|step| sliced(&step.from)).map(str::to_owned));
        wanted.extend(path.steps.iter().filter_map(|step| home(&case.flow.edges()[step.edge])));
    }
    let mut pure: Vec<(&String, &Path)> =
        order.iter().filter_map(|name| Some((name, case.pure(name)?))).collect();
    pure.sort_by(|a, b| a.1.total_ns.total_cmp(&b.1.total_ns));
    wanted.extend(pure.into_iter().map(|(name, _)| name.clone()));
    wanted.extend(refused.iter().filter_map(|refused| home(&refused.edge)));
    let mut kept: Vec<String> = Vec::new();
    for name in wanted {
        if kept.len() < ROWS_MAX && !kept.contains(&name) {
            kept.push(name);
        }
    }
    order.into_iter().filter(|name| kept.contains(name)).collect()
}

fn is_best(case: &Case, edge: usize) -> bool {
    case.report.best.steps.iter().any(|step| step.edge == edge)
}

/// Whether an edge converts. Bytes in the buffers of a mode's job are drawn as its source and its sink.
fn is_conversion(edge: &Edge) -> bool {
    matches!((sliced(&edge.from), sliced(&edge.to)), (Some(a), Some(b)) if a != b)
}

/// The edge that a picture shows for a key: the cheapest of those between the same places.
type Cheapest<K> = BTreeMap<K, (f64, usize)>;

fn keep<K: Ord>(cheapest: &mut Cheapest<K>, key: K, found: (f64, usize)) {
    let kept = cheapest.entry(key).or_insert(found);
    if found.0 < kept.0 {
        *kept = found;
    }
}

fn cost(case: &Case, edge: &Edge) -> f64 {
    edge.cost.at(case.facts.as_ref().map_or(0, |facts| facts.len_bytes))
}

fn links(case: &Case, columns: &Columns, row: &str) -> Vec<Link> {
    let mut cheapest = Cheapest::new();
    let edges = case.flow.edges();
    for (at, edge) in edges.iter().enumerate().filter(|(_, edge)| !is_conversion(edge)) {
        let span = columns.span(&edge.from, &edge.to).filter(|(from, to)| from < to);
        if let Some((from, to)) = span.filter(|_| home(edge).as_deref() == Some(row)) {
            // Short edges first, so that they get the upper lanes.
            keep(&mut cheapest, (to - from, from), (cost(case, edge), at));
        }
    }
    let mut taken: Vec<usize> = Vec::new();
    let link = |((length, from), (cost, edge)): ((usize, usize), (f64, usize))| {
        let lane = if length == 1 { 0 } else { lane(&mut taken, from, from + length) };
        let name = edges[edge].name.clone();
        Link { from, to: from + length, lane, name, cost, best: is_best(case, edge) }
    };
    cheapest.into_iter().map(link).collect()
}

/// Parts of a row that only refused variants compute; neighbours are one gap.
fn gaps(columns: &Columns, row: &str, links: &[Link], refused: &[Refused]) -> Vec<Gap> {
    let spans = refused.iter().filter(|refused| home(&refused.edge).as_deref() == Some(row));
    let spans =
        spans.filter_map(|Refused { edge, reason }| Some((columns.span(&edge.from, &edge.to)?, *reason)));
    let spans: Vec<_> = spans.collect();
    let mut gaps: Vec<Gap> = Vec::new();
    for from in 1..=columns.parts.len() {
        let to = from + 1;
        let computes = |(begin, end): (usize, usize)| begin <= from && to <= end;
        let is_linked = links.iter().any(|link| computes((link.from, link.to)));
        let Some(&(_, reason)) = spans.iter().find(|(span, _)| !is_linked && computes(*span)) else {
            continue;
        };
        match gaps.last_mut() {
            Some(gap) if gap.to == from && gap.reason == reason => gap.to = to,
            _ => gaps.push(Gap { from, to, reason }),
        }
    }
    gaps
}

/// The first lane below all lanes that the link would cross. `taken` holds the end of the last link in each
/// lane; longer links use lower lanes.
fn lane(taken: &mut Vec<usize>, from: usize, to: usize) -> usize {
    let free = taken.iter().rposition(|&end| end > from).map_or(0, |full| full + 1);
    if free == taken.len() {
        taken.push(0);
    }
    taken[free] = to;
    free + 1
}

/// Conversions on the best path; with few rows also the others between neighbours.
fn conversions(case: &Case, columns: &Columns, rows: &[Row]) -> Vec<Conversion> {
    let row = |name: Option<&str>| rows.iter().position(|row| Some(row.name.as_str()) == name);
    let mut cheapest = Cheapest::new();
    for (at, edge) in case.flow.edges().iter().enumerate().filter(|(_, edge)| is_conversion(edge)) {
        let ends = row(edge.from.representation()).zip(row(edge.to.representation()));
        let (Some((place, _)), Some((from, to))) = (columns.span(&edge.from, &edge.to), ends) else {
            continue;
        };
        let near = rows.len() <= ROWS_FEW && from.abs_diff(to) == 1;
        if near || is_best(case, at) {
            keep(&mut cheapest, (place, from, to), (cost(case, edge), at));
        }
    }
    let conversion = |((place, from, to), (cost, edge)): ((usize, usize, usize), (f64, usize))| {
        let name = case.flow.edges()[edge].name.clone();
        Conversion { place, from, to, name, cost, best: is_best(case, edge) }
    };
    cheapest.into_iter().map(conversion).collect()
}
