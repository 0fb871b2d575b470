//! A case as a picture: the graph with its cheapest path, and bars that divide the cost of each form by
//! parts.

mod bars;
mod canvas;
mod columns;
mod graph;
mod scene;

use super::case::{Case, number};
use super::text::verdict;
pub(super) use canvas::escaped;
use canvas::{Canvas, MARGIN};

/// A complete SVG document.
pub(super) fn document(case: &Case) -> String {
    let scene = scene::Scene::of(case);
    let unit = Unit::of(case);
    let mut canvas = Canvas::new(scene.width());
    head(&mut canvas, case, &unit);
    graph::draw(&mut canvas, case, &scene, &unit);
    bars::draw(&mut canvas, case, &unit);
    canvas.document(&case.title)
}

fn head(canvas: &mut Canvas, case: &Case, unit: &Unit) {
    let best = &case.report.best;
    let total = unit.figure(best.total_ns);
    let (told, basis) = match &case.facts {
        Some(facts) => {
            let told = format!("{}: {total} {}, {}", case.title, unit.name, facts.speed(best.total_ns));
            (told, format!("{} · {}", facts.basis(), facts.features))
        }
        None => (format!("{}: {total} by the cheapest path", case.title), "costs in their own unit".into()),
    };
    canvas.down(26.0);
    canvas.text("title", MARGIN, canvas.height, &told);
    for line in [basis, verdict(case).replace(" of these", " pure form")] {
        canvas.paragraph(&line);
    }
}

/// The unit in which costs are written: few digits, so that they fit between two nodes.
struct Unit {
    ns: f64,
    name: &'static str,
}

impl Unit {
    fn of(case: &Case) -> Self {
        let (ns, name) = match case.report.best.total_ns {
            _ if case.facts.is_none() => (0.0, ""),
            total if total < 1e4 => (1.0, "ns"),
            total if total < 1e7 => (1e3, "µs"),
            _ => (1e6, "ms"),
        };
        Self { ns, name }
    }

    fn figure(&self, cost: f64) -> String {
        if self.ns == 0.0 {
            return number(cost);
        }
        let cost = cost / self.ns;
        let decimals = if cost < 9.995 { 2 } else { usize::from(cost < 99.95) };
        format!("{cost:.decimals$}")
    }
}
