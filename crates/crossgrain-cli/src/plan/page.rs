//! A case as an HTML page: the picture, the path, and all costs.

use std::collections::BTreeMap;
use std::fmt::Write;

use crossgrain::plan::compose::{Cost, Path};
use crossgrain::plan::measure::Measured;

use super::case::{Case, number};
use super::fold::folded;
use super::mixes::Run;
use super::picture::{self, escaped};
use super::text::{TERMS, other, percent, summary, verdict};

const STYLE: &str = "\
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; margin: 2rem auto;
  max-width: 80rem; padding: 0 1rem; color: #1f2328; background: #ffffff; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; margin: 0.5rem 0 2rem; }
th, td { text-align: left; padding: 0.2rem 1.2rem 0.2rem 0; border-bottom: 1px solid #d1d9e0; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117; }
  th, td { border-color: #3d444d; }
}
";

/// The complete page. It loads no other resources.
pub(super) fn document(case: &Case) -> String {
    let title = escaped(&case.title);
    let head = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}: crossgrain plan</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    let tables = [path(case), measured(case), others(case), pure(case), mixes(case), costs(case)].concat();
    format!("{head}{}{tables}<p>{TERMS}</p>\n</body>\n</html>\n", picture::document(case))
}

/// A table. Columns whose headings end in a colon hold numbers.
fn table(title: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    let class = |at: usize| if heads[at].ends_with(':') { " class=\"n\"" } else { "" };
    let mut text = format!("<h2>{}</h2>\n<table>\n<tr>", escaped(title));
    // Writing to a string cannot fail.
    for (at, head) in heads.iter().enumerate() {
        let _ = write!(text, "<th{}>{}</th>", class(at), escaped(head.trim_end_matches(':')));
    }
    text += "</tr>\n";
    for row in rows {
        text += "<tr>";
        for (at, cell) in row.iter().enumerate() {
            let _ = write!(text, "<td{}>{}</td>", class(at), escaped(cell));
        }
        text += "</tr>\n";
    }
    text + "</table>\n"
}

fn unit(case: &Case) -> &'static str {
    if case.facts.is_some() { "ns:" } else { "cost:" }
}

fn path(case: &Case) -> String {
    let steps: Vec<_> = case.report.best.steps.iter().filter(|step| !step.name.is_empty()).collect();
    let names: Vec<_> = steps.iter().map(|step| &step.name).collect();
    let mut rows = Vec::new();
    for fold in folded(&names) {
        for step in &steps[fold.once] {
            let together = number(step.cost_ns * fold.count as f64);
            rows.push(vec![step.name.clone(), fold.count.to_string(), number(step.cost_ns), together]);
        }
    }
    rows.push(vec!["total".into(), String::new(), String::new(), number(case.report.best.total_ns)]);
    table(&format!("The {}", case.first), &["variant", "times:", unit(case), "together:"], &rows)
}

fn others(case: &Case) -> String {
    let best = &case.report.best;
    let row = |(name, path): (String, _)| compared(case, path, name);
    let mut rows: Vec<_> = case.report.runners_up.iter().map(|path| row((other(path, best), path))).collect();
    rows.push(row(("without looking ahead".into(), &case.report.greedy)));
    table("Other paths", &["where they differ", unit(case), "dearer by:"], &rows)
}

/// A table of predicted and measured times, if paths were timed.
fn measured(case: &Case) -> String {
    if case.measured.is_empty() {
        return String::new();
    }
    let (best, others) = (&case.report.best, &case.report.runners_up);
    let row = |((name, path), measured): ((String, &Path), &Measured)| {
        let Measured { fastest_ns, spread, .. } = *measured;
        let off = percent(fastest_ns, path.total_ns);
        vec![name, number(path.total_ns), number(fastest_ns), off, spread_of(Some(&spread))]
    };
    let paths = others.iter().map(|path| (other(path, best), path));
    let paths = std::iter::once((case.first.clone(), best)).chain(paths);
    let rows: Vec<_> = paths.zip(&case.measured).map(row).collect();
    let heads = ["where they differ", "ns predicted:", "ns measured:", "off by:", "spread:"];
    table("Predicted against measured", &heads, &rows)
}

fn compared(case: &Case, path: &Path, name: String) -> Vec<String> {
    vec![name, number(path.total_ns), percent(path.total_ns, case.report.best.total_ns)]
}

fn pure(case: &Case) -> String {
    let row = |name: &str| match case.pure(name) {
        Some(path) => compared(case, path, name.to_owned()),
        None => vec![name.to_owned(), "-".into(), "-".into()],
    };
    let rows: Vec<_> = case.representations().into_iter().map(row).collect();
    let heads = ["representation", unit(case), "dearer by:"];
    let told = verdict(case).replace(" of these", " of these forms");
    format!("{}<p>{}</p>\n", table("All in one representation", &heads, &rows), escaped(&told))
}

/// The paths that were run to compare pure forms with mixes.
fn mixes(case: &Case) -> String {
    let Some(mixes) = &case.mixes else { return String::new() };
    let row = |run: &Run| {
        let (predicted, measured) = (run.path.total_ns, run.measured_ns);
        let path = summary(&run.path.names().collect::<Vec<_>>());
        let figures = [number(measured), spread_of(Some(&run.spread)), number(predicted)];
        let figures = figures.into_iter().chain([percent(predicted, measured), number(run.free_ns)]);
        [run.name().to_owned(), path].into_iter().chain(figures).collect()
    };
    let heads =
        ["form", "path", "ns measured:", "spread:", "ns predicted:", "off by:", "ns without conversions:"];
    let rows: Vec<_> = mixes.runs.iter().map(row).collect();
    let (free_ns, free) = (number(mixes.free.total_ns), summary(&mixes.free.names().collect::<Vec<_>>()));
    let told = [mixes.verdict(), format!("If conversions cost nothing, {free} would take {free_ns} ns.")];
    let told = told.map(|line| format!("<p>{}</p>\n", escaped(&line)));
    table("Pure forms and mixes, run end to end", &heads, &rows) + &told.concat()
}

/// The cost of every edge, once per name.
fn costs(case: &Case) -> String {
    let edges = case.flow.edges().iter().filter(|edge| !edge.name.is_empty());
    let by_name: BTreeMap<&str, Cost> = edges.map(|edge| (edge.name.as_str(), edge.cost)).collect();
    let Some(facts) = &case.facts else {
        let row = |(name, cost): (&str, Cost)| vec![name.to_owned(), number(cost.at(0))];
        return table("All costs", &["name", "cost:"], &by_name.into_iter().map(row).collect::<Vec<_>>());
    };
    let row = |(name, cost): (&str, Cost)| {
        let Cost { fixed_ns, per_byte_ns } = cost;
        let total = number(cost.at(facts.len_bytes));
        let spread = spread_of(case.spreads.get(name));
        vec![name.to_owned(), format!("{fixed_ns:.1}"), format!("{per_byte_ns:.5}"), total, spread]
    };
    let rows: Vec<_> = by_name.into_iter().map(row).collect();
    table("All costs", &["variant", "ns for any size:", "ns a byte:", "ns together:", "spread:"], &rows)
}

/// The spread of a measured cost; a dash for an estimate.
fn spread_of(spread: Option<&f64>) -> String {
    spread.map_or_else(|| "-".to_owned(), |spread| format!("{:.1} %", 100.0 * spread))
}
