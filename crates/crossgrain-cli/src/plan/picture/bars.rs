//! Bars that divide the cost of the cheapest path and of the pure forms by parts.

use std::cmp::Reverse;

use crossgrain::plan::compose::{Path, Step};

use super::super::case::Case;
use super::Unit;
use super::canvas::{Canvas, MARGIN, bold_width_of, escaped, width_of};

/// Pure forms drawn next to the cheapest path.
const FORMS_MAX: usize = 8;
const THICKNESS: f64 = 24.0;
const BETWEEN: f64 = 10.0;
/// Colours in the style sheet. Further kinds of parts reuse them.
const COLOURS: usize = 8;
/// The kind of steps that compute no part.
const CHANGE: &str = "conversions, source, sink";

/// The cost of each kind of part in a path, in the flow's order.
type Shares<'a> = Vec<Share<'a>>;

struct Share<'a> {
    place: Place,
    kind: &'a str,
    cost: f64,
}

/// The index of the first part, and the number of parts.
type Place = (usize, Reverse<usize>);

/// Draws the bars below the existing drawing.
pub(super) fn draw(canvas: &mut Canvas, case: &Case, unit: &Unit) {
    let forms = forms(case);
    let kinds = kinds(&forms, case);
    let heading = if unit.name.is_empty() { String::new() } else { format!(", in {}", unit.name) };
    canvas.down(48.0);
    canvas.text("heading", MARGIN, canvas.height, &format!("What it is made of{heading}; less is better"));
    legend(canvas, &kinds);
    canvas.down(14.0);
    let left = MARGIN + forms.iter().map(|(name, _)| bold_width_of(name)).fold(0.0, f64::max) + 10.0;
    let right = canvas.width - MARGIN - 80.0;
    let most = forms.iter().map(|(_, path)| path.total_ns).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (right - left) / most;
    for (at, (name, path)) in forms.iter().enumerate() {
        let y = canvas.height;
        canvas.text("name", left - 10.0, y + 16.5, name);
        let end = bar(canvas, &shares(case, path), &kinds, [left, y, scale], unit);
        let class = if at == 0 { "side best" } else { "side" };
        canvas.text(class, end + 7.0, y + 16.5, &unit.figure(path.total_ns));
        canvas.down(THICKNESS + BETWEEN);
    }
}

/// The cheapest path, then the pure forms, cheapest first.
fn forms(case: &Case) -> Vec<(&str, &Path)> {
    let pure = case.report.pure.iter();
    let mut pure: Vec<_> =
        pure.filter_map(|form| Some((form.representation.as_str(), form.whole.as_ref()?))).collect();
    pure.sort_by(|a, b| a.1.total_ns.total_cmp(&b.1.total_ns));
    pure.truncate(FORMS_MAX);
    pure.insert(0, ("cheapest path", &case.report.best));
    pure
}

fn shares<'a>(case: &Case, path: &'a Path) -> Shares<'a> {
    let mut shares: Shares<'a> = Vec::new();
    for step in &path.steps {
        let (place, kind) = kind(case, step);
        match shares.iter_mut().find(|share| share.kind == kind) {
            Some(share) => share.cost += step.cost_ns,
            None => shares.push(Share { place, kind, cost: step.cost_ns }),
        }
    }
    shares.retain(|share| share.cost > 0.0);
    shares.sort_by_key(|share| share.place);
    shares
}

/// The kind of part that a step computes, and its place in the flow. Steps that span more parts sort first.
/// Steps without parts come last.
fn kind<'a>(case: &Case, step: &'a Step) -> (Place, &'a str) {
    let parts = case.flow.parts_of(&case.flow.edges()[step.edge]);
    if parts.is_empty() {
        return ((usize::MAX, Reverse(0)), CHANGE);
    }
    let kind = step.name.split('/').next().unwrap_or(CHANGE);
    let name = case.flow.parts().iter().position(|part| part == kind);
    ((name.unwrap_or(parts.start), Reverse(parts.len())), kind)
}

/// All kinds in all bars; conversions last.
fn kinds<'a>(forms: &[(&str, &'a Path)], case: &Case) -> Vec<&'a str> {
    let mut all: Shares<'a> = forms.iter().flat_map(|(_, path)| shares(case, path)).collect();
    all.sort_by_key(|share| share.place);
    let mut kinds: Vec<_> = Vec::new();
    for share in all {
        if !kinds.contains(&share.kind) {
            kinds.push(share.kind);
        }
    }
    kinds
}

fn colour(kinds: &[&str], kind: &str) -> String {
    let at = kinds.iter().position(|known| *known == kind).unwrap_or(0);
    if kind == CHANGE { "change".to_owned() } else { format!("c{}", at % COLOURS) }
}

/// Draws one bar and returns its right end.
fn bar(
    canvas: &mut Canvas,
    shares: &Shares<'_>,
    kinds: &[&str],
    [left, y, scale]: [f64; 3],
    unit: &Unit,
) -> f64 {
    let mut x = left;
    for Share { kind, cost, .. } in shares {
        let width = cost * scale;
        // A thin gap between two parts.
        let drawn = (width - 1.0).max(0.5);
        canvas.block(&colour(kinds, kind), [x, y, drawn, THICKNESS]);
        let figure = unit.figure(*cost);
        if width_of(&figure) + 8.0 < width {
            canvas.text("inside", x + drawn / 2.0, y + 16.5, &figure);
        }
        x += width;
    }
    x
}

/// Draws coloured squares with their labels, on as many lines as needed.
fn legend(canvas: &mut Canvas, kinds: &[&str]) {
    let mut x = canvas.width;
    for kind in kinds {
        let width = width_of(kind) + 38.0;
        if x + width > canvas.width - MARGIN {
            x = MARGIN;
            canvas.down(22.0);
        }
        let (y, colour, kind) = (canvas.height, colour(kinds, kind), escaped(kind));
        canvas.block(&colour, [x, y - 11.0, 13.0, 13.0]);
        canvas.element(format_args!(r#"<text class="note" x="{:.1}" y="{y:.1}">{kind}</text>"#, x + 19.0));
        x += width;
    }
}
