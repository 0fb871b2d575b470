//! Random compositions: every search finds the same result as enumerating all paths.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use crossgrain::plan::compose::{Cost, Edge, Error, Flow, Node, Path, Step};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq, prop_oneof, proptest};

/// The most path prefixes that the exhaustive oracle may visit.
const LIMIT: usize = 1_000_000;

const REPRS: [&str; 3] = ["x", "y", "z"];

/// A valid edge for a flow of `parts` parts.
fn edges(parts: usize) -> impl Strategy<Value = Edge> {
    let ends = prop_oneof![
        1 => (Just(None), 0..3_usize, Just(0), 0..=parts),
        5 => (Just(Some(())), 0..3_usize, 0..=parts, 0..=parts)
    ];
    let name = select(vec!["p", "q", "r"]);
    // Small whole numbers, so that many sums are equal.
    let cost = (0..6_u8, 0..3_u8)
        .prop_map(|(fixed, per_byte)| Cost { fixed_ns: fixed.into(), per_byte_ns: per_byte.into() });
    (ends, 0..3_usize, any::<bool>(), name, cost).prop_filter_map(
        "an edge must lead somewhere",
        move |((inner, from_repr, a, b), to_repr, is_source, name, cost)| {
            let (from, to) = match (inner, is_source) {
                (Some(()), _) => {
                    (Node::between(a.min(b), REPRS[from_repr]), Node::between(a.max(b), REPRS[to_repr]))
                }
                (None, true) => (Node::Source, Node::between(b.min(1), REPRS[to_repr])),
                (None, false) => (Node::between(b.max(parts - 1), REPRS[to_repr]), Node::Sink),
            };
            (from != to).then(|| Edge { name: name.to_owned(), from, to, cost })
        },
    )
}

/// Edges for a flow, with ends and, mostly, enough parts for a path.
fn flows() -> impl Strategy<Value = (usize, Vec<Edge>)> {
    let sized = |parts| (Just(parts), vec(edges(parts), 4..22), 0..3_usize, 0..3_usize, 0..10_u8);
    (1..=4_usize).prop_flat_map(sized).prop_map(|(parts, mut edges, start, end, gap)| {
        let cost = Cost::fixed(4.0);
        let mut add = |name: &str, from, to| edges.push(Edge { name: name.to_owned(), from, to, cost });
        add("start", Node::Source, Node::between(0, REPRS[start]));
        add("end", Node::between(parts, REPRS[end]), Node::Sink);
        for at in (0..parts).filter(|&at| at != usize::from(gap)) {
            let to = if at + 1 == parts { end } else { (start + at + 1) % 3 };
            add("part", Node::between(at, REPRS[(start + at) % 3]), Node::between(at + 1, REPRS[to]));
        }
        (parts, edges)
    })
}

/// Removes further edges with the same name and ends, because exchanging them would not be noticed.
fn without_twins(edges: Vec<Edge>) -> Vec<Edge> {
    let mut different: Vec<Edge> = Vec::new();
    for edge in edges {
        let twin = |other: &Edge| (&other.name, &other.from, &other.to) == (&edge.name, &edge.from, &edge.to);
        if !different.iter().any(twin) {
            different.push(edge);
        }
    }
    different
}

fn flow_of(parts: usize, edges: impl IntoIterator<Item = Edge>) -> Flow {
    let mut flow = Flow::new(&vec!["part"; parts], &REPRS).unwrap();
    edges.into_iter().for_each(|edge| flow.edge(edge).unwrap());
    flow
}

/// Every loopless path as a list of edge indices, found without the library's graph.
fn enumerate(
    flow: &Flow,
    here: &Node,
    passed: &mut Vec<Node>,
    way: &mut Vec<usize>,
    found: &mut Vec<Vec<usize>>,
) {
    if *here == Node::Sink {
        found.push(way.clone());
        return;
    }
    passed.push(here.clone());
    for (at, edge) in flow.edges().iter().enumerate() {
        if edge.from == *here && !passed.contains(&edge.to) {
            way.push(at);
            enumerate(flow, &edge.to, passed, way, found);
            way.pop();
        }
    }
    passed.pop();
}

fn total(flow: &Flow, way: &[usize], len_bytes: u64) -> f64 {
    way.iter().map(|&at| flow.edges()[at].cost.at(len_bytes)).sum()
}

/// The key by which paths are compared: cost, then the number of edges, then names and end points.
fn rank(path: &Path) -> impl PartialOrd {
    let place = |node: &Node| match node {
        Node::Source => None,
        Node::Between { position, representation } => Some((*position, representation.clone())),
        Node::Sink => Some((usize::MAX, String::new())),
    };
    let edges: Vec<_> = path.steps.iter().map(|step| (step.name.clone(), place(&step.to))).collect();
    (path.total_ns, path.steps.len(), edges)
}

fn computes_nothing(flow: &Flow, step: &Step) -> bool {
    flow.parts_of(&flow.edges()[step.edge]).is_empty()
}

/// Whether one edge that computes nothing could replace several on a path at no greater cost.
fn takes_detour(flow: &Flow, path: &Path, len_bytes: u64) -> bool {
    let steps = &path.steps;
    let rows = (0..steps.len()).flat_map(|from| (from + 2..=steps.len()).map(move |to| &steps[from..to]));
    let mut conversions = rows.filter(|row| row.iter().all(|step| computes_nothing(flow, step)));
    conversions.any(|row| {
        let cost: f64 = row.iter().map(|step| step.cost_ns).sum();
        flow.edges().iter().any(|edge| {
            (&edge.from, &edge.to) == (&row[0].from, &row[row.len() - 1].to)
                && flow.parts_of(edge).is_empty()
                && edge.cost.at(len_bytes) <= cost
        })
    })
}

/// Whether a path converts between two parts.
fn mixes(flow: &Flow, path: &Path) -> bool {
    let computes = |step: &Step| !computes_nothing(flow, step);
    let first = path.steps.iter().position(computes);
    let last = path.steps.iter().rposition(computes);
    first.zip(last).is_some_and(|(first, last)| !path.steps[first..=last].iter().all(computes))
}

fn check_searches(flow: &Flow, len_bytes: u64) -> Result<(), TestCaseError> {
    let graph = flow.at(len_bytes);
    let every = graph.every(LIMIT).unwrap();
    let mut want = Vec::new();
    enumerate(flow, &Node::Source, &mut Vec::new(), &mut Vec::new(), &mut want);
    let mut ways: Vec<Vec<usize>> =
        every.iter().map(|path| path.steps.iter().map(|step| step.edge).collect()).collect();
    for (path, way) in every.iter().zip(&ways) {
        prop_assert_eq!(path.total_ns, total(flow, way, len_bytes));
    }
    prop_assert!(every.is_sorted_by(|a, b| rank(a) <= rank(b)));
    ways.sort();
    want.sort();
    prop_assert_eq!(ways, want);

    if every.is_empty() {
        let breaks_off = matches!(graph.best(), Err(Error::NoPath { .. }));
        prop_assert!(breaks_off);
        return Ok(());
    }
    prop_assert_eq!(&graph.best().unwrap(), &every[0]);
    prop_assert_eq!(&flow.at(len_bytes + 1000).resized(len_bytes).best().unwrap(), &every[0]);
    let straight: Vec<_> =
        every.iter().filter(|path| !takes_detour(flow, path, len_bytes)).cloned().collect();
    prop_assert_eq!(&straight[0], &every[0], "the best path takes none");
    for k in [1, 2, 7, every.len(), every.len() + 1] {
        prop_assert_eq!(&graph.k_best(k).unwrap()[..], &straight[..k.min(straight.len())]);
    }
    let mixed = graph.mixed(every.len());
    prop_assert!(mixed.iter().all(|path| every.contains(path) && mixes(flow, path)));
    let best_mixed = every.iter().find(|path| mixes(flow, path)).map(|path| path.total_ns);
    prop_assert_eq!(mixed.first().map(|path| path.total_ns), best_mixed);
    let greedy = graph.greedy().unwrap();
    prop_assert!(every.contains(&greedy));
    for form in graph.pure_forms() {
        prop_assert!(form.whole.is_none_or(|whole| every.contains(&whole)));
    }
    Ok(())
}

proptest! {
    #[test]
    fn searches_find_what_trying_everything_finds((parts, edges) in flows(), len_bytes in 0..4_u64) {
        check_searches(&flow_of(parts, without_twins(edges)), len_bytes)?;
    }

    #[test]
    fn the_order_of_edges_does_not_matter((parts, edges) in flows()) {
        let forwards = flow_of(parts, edges.clone());
        let backwards = flow_of(parts, edges.into_iter().rev());
        let shown = |flow: &Flow| {
            let ways = flow.at(1).k_best(5).ok()?;
            Some(ways.into_iter().map(|path| {
                path.steps.into_iter().map(|step| (step.name, step.to, step.cost_ns)).collect()
            }).collect::<Vec<Vec<_>>>())
        };
        prop_assert_eq!(shown(&forwards), shown(&backwards));
    }
}
