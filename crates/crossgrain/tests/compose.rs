//! Composing parts: small cases whose answer is obvious.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use crossgrain::plan::Place;
use crossgrain::plan::compose::{Cost, Edge, Error, Flow, Node, Path};

/// The most path prefixes that the exhaustive oracle may visit.
const LIMIT: usize = 1_000_000;

fn names(path: &Path) -> Vec<&str> {
    path.names().collect()
}

/// Parts `a` and `b`, in representations `x` and `y`, with the ends in `x`.
fn small(costs: &[(&str, &str, f64)], convert_ns: f64) -> Flow {
    let mut flow = Flow::new(&["a", "b"], &["x", "y"]).unwrap();
    for &(part, representation, cost_ns) in costs {
        let name = format!("{part}/{representation}");
        flow.variant(&name, &[part], representation, Cost::fixed(cost_ns)).unwrap();
    }
    flow.conversion("x>y", "x", "y", Cost::fixed(convert_ns)).unwrap();
    flow.conversion("y>x", "y", "x", Cost::fixed(convert_ns)).unwrap();
    flow.start("x").unwrap();
    flow.end("x").unwrap();
    flow
}

#[test]
fn greed_can_cost() {
    let flow = small(&[("a", "x", 10.0), ("a", "y", 12.0), ("b", "x", 100.0), ("b", "y", 1.0)], 5.0);
    let graph = flow.at(0);
    assert_eq!(names(&graph.best().unwrap()), ["a/x", "x>y", "b/y", "y>x"]);
    assert_eq!(graph.greedy().unwrap(), graph.best().unwrap(), "here it pays to take what comes");

    // Part b in y needs a conversion that part a in y would have shared.
    let flow = small(&[("a", "x", 10.0), ("a", "y", 2.0), ("b", "x", 30.0), ("b", "y", 1.0)], 9.0);
    let graph = flow.at(0);
    assert_eq!(names(&graph.best().unwrap()), ["x>y", "a/y", "b/y", "y>x"]);
    assert_eq!(names(&graph.greedy().unwrap()), ["a/x", "x>y", "b/y", "y>x"]);
    assert_eq!([graph.best().unwrap().total_ns, graph.greedy().unwrap().total_ns], [21.0, 29.0]);
}

#[test]
fn greed_does_not_run_into_dead_ends() {
    let mut flow = Flow::new(&["a", "b"], &["x", "y"]).unwrap();
    flow.variant_between("trap", &["a"], ["x", "y"], Cost::FREE).unwrap();
    flow.variant("a", &["a"], "x", Cost::fixed(5.0)).unwrap();
    flow.variant("b", &["b"], "x", Cost::fixed(5.0)).unwrap();
    flow.start("x").unwrap();
    flow.end("x").unwrap();
    assert_eq!(names(&flow.at(0).greedy().unwrap()), ["a", "b"]);
}

#[test]
fn greed_weighs_a_fused_variant_by_its_parts() {
    let mut flow = small(&[("a", "x", 10.0), ("b", "x", 10.0)], 50.0);
    flow.variant("ab", &["a", "b"], "x", Cost::fixed(18.0)).unwrap();
    assert_eq!(names(&flow.at(0).greedy().unwrap()), ["ab"]);
}

#[test]
fn size_decides_where_costs_are_affine() {
    let mut flow = Flow::new(&["a"], &["near", "far"]).unwrap();
    flow.variant("a/near", &["a"], "near", Cost::per_byte(1.0)).unwrap();
    flow.variant("a/far", &["a"], "far", Cost { fixed_ns: 500.0, per_byte_ns: 0.25 }).unwrap();
    flow.conversion("near>far", "near", "far", Cost { fixed_ns: 200.0, per_byte_ns: 0.125 }).unwrap();
    flow.conversion("far>near", "far", "near", Cost { fixed_ns: 200.0, per_byte_ns: 0.125 }).unwrap();
    flow.start("near").unwrap();
    flow.end("near").unwrap();
    let at = |len_bytes| flow.at(len_bytes).best().unwrap();
    assert_eq!(names(&at(0)), ["a/near"]);
    assert_eq!(names(&at(1799)), ["a/near"]);
    assert_eq!(names(&at(1800)), ["a/near"], "900 more a side: of equals the path of fewer edges");
    assert_eq!(names(&at(1801)), ["near>far", "a/far", "far>near"]);
    assert_eq!(at(4096).total_ns, 900.0 + 4096.0 / 2.0);
    assert_eq!(flow.at(4096).len_bytes(), 4096);
}

#[test]
fn ties_go_to_fewer_edges_and_then_to_names() {
    let flow = small(&[("a", "x", 3.0), ("a", "y", 1.0), ("b", "x", 3.0), ("b", "y", 1.0)], 2.0);
    let ways: Vec<_> = flow.at(0).k_best(3).unwrap();
    assert_eq!([ways[0].total_ns, ways[1].total_ns, ways[2].total_ns], [6.0, 6.0, 8.0]);
    assert_eq!(names(&ways[0]), ["a/x", "b/x"]);
    assert_eq!(names(&ways[1]), ["x>y", "a/y", "b/y", "y>x"]);

    for order in [["one", "two"], ["two", "one"]] {
        let mut flow = small(&[("a", "x", 1.0)], 1.0);
        for name in order {
            flow.variant(name, &["b"], "x", Cost::fixed(1.0)).unwrap();
        }
        let ways = flow.at(0).k_best(9).unwrap();
        assert_eq!(names(&ways[0]), ["a/x", "one"]);
        assert_eq!(names(&ways[1]), ["a/x", "two"]);
        assert_eq!(ways.len(), 2);
    }

    // If edges differ only in cost, the cheaper one counts as the first.
    for order in [[1.0, 2.0], [2.0, 1.0]] {
        let mut flow = small(&[], 1.0);
        for (part, cost_ns) in ["a", "b"].into_iter().flat_map(|part| order.map(|cost_ns| (part, cost_ns))) {
            flow.variant("same", &[part], "x", Cost::fixed(cost_ns)).unwrap();
        }
        let costs = |path: &Path| path.steps[1..3].iter().map(|step| step.cost_ns).collect::<Vec<_>>();
        let ways = flow.at(0).k_best(3).unwrap();
        assert_eq!(ways.iter().map(costs).collect::<Vec<_>>(), [[1.0, 1.0], [1.0, 2.0], [2.0, 1.0]]);
    }
}

/// A tenth has no exact binary form. Unless sums are exact, three such costs in another order give a
/// different total.
#[test]
fn ties_do_not_depend_on_rounding() {
    let mut flow = Flow::new(&["a", "b", "c"], &["x", "y"]).unwrap();
    for (representation, costs) in [("x", [0.1, 0.2, 0.3]), ("y", [0.3, 0.2, 0.1])] {
        for (part, cost_ns) in ["a", "b", "c"].into_iter().zip(costs) {
            let name = format!("{part}/{representation}");
            flow.variant(&name, &[part], representation, Cost::fixed(cost_ns)).unwrap();
        }
        flow.start(representation).unwrap();
        flow.end(representation).unwrap();
    }
    let ways = flow.at(0).k_best(2).unwrap();
    assert_eq!(ways[0].total_ns, ways[1].total_ns);
    assert_eq!(names(&ways[0]), ["a/x", "b/x", "c/x"]);
    assert_ne!(0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1);
}

#[test]
fn free_cycles_end() {
    const REPRS: [&str; 9] = ["0", "1", "2", "3", "4", "5", "6", "7", "8"];
    let mut flow = Flow::new(&["a"; 12], &REPRS).unwrap();
    flow.variant("a", &["a"], "0", Cost::FREE).unwrap();
    for from in REPRS {
        for to in REPRS.into_iter().filter(|&to| to != from) {
            flow.conversion(&format!("{from}>{to}"), from, to, Cost::FREE).unwrap();
        }
    }
    flow.start("0").unwrap();
    flow.end("0").unwrap();
    // A path that leaves representation 0 must return to a node it has passed, so no further path is
    // loopless.
    let report = flow.at(0).report(9).unwrap();
    assert_eq!(names(&report.best), ["a"; 12]);
    assert_eq!(report.runners_up, []);
    assert_eq!(report.greedy, report.best);
    assert_eq!(report.pure.len(), 1);
    assert_eq!(report.gain_percent(), Some(0.0), "nothing can be saved of nothing");
}

#[test]
fn variants_lie_wherever_their_parts_stand() {
    let aes = [&["key"][..], &["sub", "rows", "mix", "key"], &["sub", "rows", "key"]];
    let mut flow = Flow::repeated(aes, 9, &["bits"]).unwrap();
    assert_eq!(flow.parts().len(), 1 + 9 * 4 + 3);
    for (part, cost_ns) in [("key", 1.0), ("sub", 8.0), ("rows", 2.0), ("mix", 4.0)] {
        flow.variant(part, &[part], "bits", Cost::fixed(cost_ns)).unwrap();
    }
    flow.variant("round", &["sub", "rows", "mix", "key"], "bits", Cost::fixed(14.0)).unwrap();
    flow.start("bits").unwrap();
    flow.end("bits").unwrap();
    let best = flow.at(0).best().unwrap();
    let want = [&["key"][..], &["round"; 9], &["sub", "rows", "key"]].concat();
    assert_eq!(names(&best), want);
    assert_eq!(best.total_ns, 1.0 + 9.0 * 14.0 + 11.0);
    for (step, from) in best.steps.iter().skip(2).zip((0..9).map(|round| 1 + 4 * round)) {
        assert_eq!((&step.from, &step.to), (&Node::between(from, "bits"), &Node::between(from + 4, "bits")));
        assert_eq!(flow.parts_of(&flow.edges()[step.edge]), from..from + 4);
        assert_eq!(flow.edges()[step.edge].name, step.name);
    }
}

/// A source that delivers an encrypted counter, a sink that computes the last part, and an edge from source
/// to sink that does both.
#[test]
fn ends_may_compute_parts() {
    let mut flow = small(&[("a", "x", 5.0), ("b", "x", 5.0)], 50.0);
    let edge = |name: &str, from, to, cost_ns| {
        let (name, cost) = (name.to_owned(), Cost::fixed(cost_ns));
        Edge { name, from, to, cost }
    };
    flow.edge(edge("born", Node::Source, Node::between(1, "y"), 3.0)).unwrap();
    flow.edge(edge("searched", Node::between(1, "y"), Node::Sink, 3.0)).unwrap();
    let report = flow.at(0).report(9).unwrap();
    assert_eq!(names(&report.best), ["born", "searched"]);
    assert_eq!(report.best.total_ns, 6.0);
    let pure: Vec<_> = report.pure.iter().map(|form| form.whole.as_ref().unwrap().total_ns).collect();
    assert_eq!(pure, [10.0, 6.0]);
    assert_eq!(report.pure[1].parts, None, "no variant computes the parts in y");

    flow.edge(edge("whole", Node::Source, Node::Sink, 4.0)).unwrap();
    let report = flow.at(0).report(0).unwrap();
    assert_eq!(names(&report.best), ["whole"]);
    assert_eq!(names(&report.greedy), ["whole"]);
    assert_eq!(report.best_pure().unwrap().total_ns, 6.0, "it has no representation to be pure in");
}

#[test]
fn pure_forms_convert_at_the_ends_alone() {
    let flow = small(&[("a", "x", 1.0), ("a", "y", 2.0), ("b", "y", 2.0)], 10.0);
    let pure = flow.at(0).pure_forms();
    assert_eq!(pure.len(), 1, "b cannot be computed in x");
    assert_eq!(pure[0].representation, "y");
    assert_eq!(names(pure[0].parts.as_ref().unwrap()), ["a/y", "b/y"]);
    assert_eq!(names(pure[0].whole.as_ref().unwrap()), ["x>y", "a/y", "b/y", "y>x"]);

    let mut mixed = Flow::new(&["a", "b"], &["x", "y"]).unwrap();
    mixed.variant_between("a", &["a"], ["x", "y"], Cost::fixed(1.0)).unwrap();
    mixed.variant("b", &["b"], "y", Cost::fixed(1.0)).unwrap();
    mixed.start("x").unwrap();
    mixed.end("y").unwrap();
    let report = mixed.at(0).report(0).unwrap();
    assert_eq!((report.pure.len(), report.gain_percent()), (0, None));
}

#[test]
fn a_path_prints_one_edge_a_line() {
    let flow = small(&[("a", "x", 1.25), ("b", "y", 100.0)], 2.0);
    let best = flow.at(0).best().unwrap();
    assert_eq!(best.to_string(), "  1.2  a/x\n  2.0  x>y\n100.0  b/y\n  2.0  y>x\n105.2  total");
    assert!(format!("{best:.3}").starts_with("  1.250  a/x\n"));
}

fn unreachable(flow: &Flow) -> String {
    let graph = flow.at(0);
    let error = graph.best().unwrap_err();
    assert_eq!(graph.k_best(3), Err(error.clone()));
    assert_eq!(graph.greedy(), Err(error.clone()));
    assert_eq!(graph.report(3), Err(error.clone()));
    assert_eq!(graph.every(LIMIT), Ok(Vec::new()));
    error.to_string()
}

#[test]
fn where_no_path_leads_the_error_says_where_it_breaks() {
    let mut flow = Flow::new(&["a", "b"], &["x", "y"]).unwrap();
    assert_eq!(unreachable(&flow), "no path leads from start to end: nothing starts it");
    flow.start("x").unwrap();
    flow.end("y").unwrap();
    let at = |part| format!("no path leads from start to end: nothing that can be reached computes {part}");
    assert_eq!(unreachable(&flow), at("'a' (part 1 of 2)"));
    flow.variant("a", &["a"], "x", Cost::FREE).unwrap();
    flow.variant("b", &["b"], "y", Cost::FREE).unwrap();
    assert_eq!(unreachable(&flow), at("'b' (part 2 of 2)"));
    flow.variant("b", &["b"], "x", Cost::FREE).unwrap();
    assert_eq!(
        unreachable(&flow),
        "no path leads from start to end: nothing ends it in a representation that the last part can be left in"
    );
    flow.conversion("x>y", "x", "y", Cost::FREE).unwrap();
    assert!(flow.at(0).best().is_ok());
}

#[test]
fn flows_refuse_what_makes_no_sense() {
    const NONE: [&str; 0] = [];
    assert_eq!(Flow::new(&NONE, &["x"]), Err(Error::NoParts));
    assert_eq!(Flow::new(&["a"], &["x", "y", "x"]), Err(Error::Twice("x".to_owned())));
    let mut flow = Flow::new(&["a", "b"], &["x", "y"]).unwrap();
    for cost in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for cost in [Cost::fixed(cost), Cost::per_byte(cost)] {
            let error = flow.variant("dear", &["a"], "x", cost).unwrap_err();
            assert!(matches!(error, Error::BadCost { .. }), "{error}");
            assert!(error.to_string().starts_with("the cost of 'dear' must be from 0 to 1e18"));
        }
    }
    let unknown = Err(Error::UnknownRepresentation("z".to_owned()));
    assert_eq!(flow.variant("a", &["a"], "z", Cost::FREE), unknown);
    assert_eq!(flow.conversion("x>z", "x", "z", Cost::FREE), unknown);
    assert_eq!(flow.start("z"), unknown);
    for parts in [&["b", "a"][..], &["a", "b", "a"], &["c"], &[]] {
        let error = flow.variant("v", parts, "x", Cost::FREE).unwrap_err();
        assert_eq!(error, Error::NoSuchParts { edge: "v".to_owned(), parts: parts.join(", ") });
    }
    let x = |position| Node::between(position, "x");
    let senseless = [
        (x(0), x(0), "leads to where it began"),
        (x(1), x(0), "leads backwards"),
        (x(2), x(3), "leads beyond the last part"),
        (Node::Sink, x(2), "begins at the end"),
        (x(0), Node::Source, "ends at the start"),
        (Node::Source, Node::Source, "ends at the start"),
    ];
    for (from, to, reason) in senseless {
        let error = flow.edge(Edge { name: "e".to_owned(), from, to, cost: Cost::FREE }).unwrap_err();
        assert_eq!(error.to_string(), format!("'e' {reason}"));
    }
    assert_eq!(flow.edges(), [], "what is refused is not added");
}
#[test]
fn the_largest_costs_have_finite_sums() {
    let most = Cost { fixed_ns: Cost::MOST, per_byte_ns: Cost::MOST };
    let parts = vec!["a"; 1000];
    let mut flow = Flow::new(&parts, &["x"]).unwrap();
    flow.variant("a", &["a"], "x", most).unwrap();
    flow.start("x").unwrap();
    flow.end("x").unwrap();
    let total_ns = flow.at(u64::MAX).best().unwrap().total_ns;
    assert!(total_ns.is_finite() && total_ns > 1000.0 * Cost::MOST);
    for cost in [Cost::fixed(Cost::MOST * 1.001), Cost::per_byte(1e308), Cost::fixed(f64::MAX)] {
        let error = flow.variant("a", &["a"], "x", cost).unwrap_err();
        assert_eq!(error, Error::BadCost { edge: "a".to_owned(), cost });
        assert!(error.to_string().len() < 100, "{error}");
    }
}

#[test]
fn costs_come_back_unchanged() {
    for largest_ns in [0.0, f64::MIN_POSITIVE, 1e-12, 0.3, 50467.0, Cost::MOST] {
        for cost_ns in [0.0, 1.0, 0.7, 1e-6].map(|part| part * largest_ns) {
            // The conversion has the largest cost that is allowed, too high to be chosen.
            let flow = small(&[("a", "x", cost_ns), ("b", "x", 0.0)], largest_ns);
            let error = (flow.at(0).best().unwrap().total_ns - cost_ns).abs();
            assert!(error <= f64::MIN_POSITIVE, "{cost_ns} of {largest_ns}: {error}");
        }
    }
}

/// A device that can also run `mix`.
fn place() -> Place {
    Place {
        name: "cuda:0".to_owned(),
        kernel: "mix".to_owned(),
        open: Cost::fixed(900.0),
        upload: Cost { fixed_ns: 40.0, per_byte_ns: 0.25 },
        run: Cost { fixed_ns: 10.0, per_byte_ns: 0.25 },
        download: Cost { fixed_ns: 50.0, per_byte_ns: 0.5 },
    }
}

fn on_the_cpu() -> Flow {
    let mut flow = Flow::new(&["mix"], &["word"]).unwrap();
    flow.start("word").unwrap();
    flow.variant("mix/word", &["mix"], "word", Cost::per_byte(2.0)).unwrap();
    flow.end("word").unwrap();
    flow
}

#[test]
fn small_jobs_stay_and_large_ones_go() {
    let mut flow = on_the_cpu();
    place().join(&mut flow).unwrap();
    let best = |len_bytes| flow.at(len_bytes).best().unwrap().names().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(best(999), ["mix/word"]);
    assert_eq!(best(1001), ["upload/cuda:0", "mix/cuda:0", "download/cuda:0"]);
    assert!(matches!(place().join(&mut flow), Err(Error::Twice(_))));
}

#[test]
fn the_break_even_is_where_the_device_gets_ahead() {
    let alone = on_the_cpu();
    let cpu_ns = |len_bytes| alone.at(len_bytes).best().unwrap().total_ns;
    assert_eq!(place().break_even(1, cpu_ns), Some(1001));
    assert_eq!(place().break_even(2, cpu_ns), None, "as fast for every byte, and never ahead");
}
