//! The graph: parts are columns, representations are rows, and the cheapest path is thick.

use super::super::case::Case;
use super::Unit;
use super::canvas::{Canvas, MARGIN, bold_width_of, width_of};
use super::scene::{Conversion, Gap, Link, ROWS_FEW, Scene};

/// Heights: the space of a row above its line and below it, of a lane, and of a conversion's figure.
const ABOVE: f64 = 26.0;
const BELOW: f64 = 14.0;
const LANE: f64 = 28.0;
const FIGURE: f64 = 20.0;
/// Distance between a node and the lines that end there.
const GAP: f64 = 9.0;

/// Draws the graph below the existing drawing.
pub(super) fn draw(canvas: &mut Canvas, case: &Case, scene: &Scene, unit: &Unit) {
    head(canvas, case, scene);
    let top = canvas.height;
    let figures = figures(scene, unit);
    let lines = bands(canvas, scene, &figures);
    buses(canvas, scene, top);
    // Thick lines are drawn over thin ones, and nodes over all lines.
    for best in [false, true] {
        for (row, &y) in scene.rows.iter().zip(&lines) {
            row.links
                .iter()
                .filter(|link| link.best == best)
                .for_each(|link| draw_link(canvas, scene, link, y, unit));
        }
        let chosen = scene.conversions.iter().filter(|conversion| conversion.best == best);
        chosen.for_each(|conversion| draw_conversion(canvas, scene, conversion, &lines));
    }
    draw_figures(canvas, scene, &lines, &figures);
    for (row, &y) in scene.rows.iter().zip(&lines) {
        row.gaps.iter().for_each(|gap| draw_gap(canvas, scene, gap, y));
    }
    nodes(canvas, scene, &lines);
    caption(canvas, scene, unit);
}

fn caption(canvas: &mut Canvas, scene: &Scene, unit: &Unit) {
    let costs = if unit.name.is_empty() { "Costs".to_owned() } else { format!("Costs in {}", unit.name) };
    let mut told = format!("{costs}, each time; of several variants the cheapest.");
    if scene.rows.iter().flat_map(|row| &row.links).any(|link| link.lane > 0) {
        told += " Below a row's line: variants that compute several parts.";
    }
    if !scene.columns.repeated.is_empty() {
        told += " Parts under a bracket are drawn once for several rounds.";
    }
    if scene.rows.iter().any(|row| !row.gaps.is_empty()) {
        told += " In a gap, the policy refuses all variants of the row.";
    }
    canvas.paragraph(&told);
}

/// Draws the names of the parts, and brackets over repeated ones.
fn head(canvas: &mut Canvas, case: &Case, scene: &Scene) {
    if !scene.columns.repeated.is_empty() {
        canvas.down(40.0);
    }
    for (range, count) in &scene.columns.repeated {
        let (from, to) = (scene.x(range.start + 1) + GAP, scene.x(range.end + 1) - GAP);
        bracket(canvas, from, to, &format!("{count} times"));
    }
    canvas.down(28.0);
    let y = canvas.height;
    let middle = |place: usize| (scene.x(place) + scene.x(place + 1)) / 2.0;
    for (at, &part) in scene.columns.parts.iter().enumerate() {
        canvas.text("part", middle(at + 1), y, &case.flow.parts()[part]);
    }
    canvas.text("cost", middle(0), y, "source");
    canvas.text("cost", middle(scene.last() - 1), y, "sink");
    canvas.down(12.0);
}

/// A bracket over some columns, with a word in its middle.
fn bracket(canvas: &mut Canvas, from: f64, to: f64, word: &str) {
    let (y, middle) = (canvas.height, (from + to) / 2.0);
    let half = bold_width_of(word) / 2.0 + 5.0;
    let (low, left, right) = (y + 6.0, middle - half, middle + half);
    if from < left {
        canvas.arc("arc", &format!("M{from:.1} {low:.1}v-6H{left:.1}M{right:.1} {y:.1}H{to:.1}v6"), "");
    }
    canvas.text("part", middle, y + 4.5, word);
}

/// Shades every other row. Returns the heights of the rows' lines.
fn bands(canvas: &mut Canvas, scene: &Scene, figures: &[Figure]) -> Vec<f64> {
    let mut lines = Vec::new();
    for (at, row) in scene.rows.iter().enumerate() {
        let lanes = row.links.iter().map(|link| link.lane).max().unwrap_or(0);
        let below = match figures_below(scene, figures, at) {
            0 => 0.0,
            count => FIGURE * count as f64 + 6.0,
        };
        let height = ABOVE + BELOW + LANE * lanes as f64 + below;
        if at % 2 == 0 {
            canvas.block("band", [MARGIN / 2.0, canvas.height, canvas.width - MARGIN, height]);
        }
        let line = canvas.height + ABOVE;
        canvas.text("name", scene.x(0) - 16.0, line + 4.5, &row.name);
        lines.push(line);
        canvas.down(height);
    }
    lines
}

/// The source and the sink, which all rows share.
fn buses(canvas: &mut Canvas, scene: &Scene, top: f64) {
    let bottom = canvas.height;
    for place in [0, scene.last()] {
        let x = scene.x(place);
        canvas.arc("arc", &format!("M{x:.1} {:.1}V{:.1}", top + 6.0, bottom - 6.0), "");
    }
}

fn class(kind: &str, best: bool) -> String {
    if best { format!("{kind} best") } else { kind.to_owned() }
}

/// Draws a straight line to a neighbour, or a line down, along a lane and up again.
fn draw_link(canvas: &mut Canvas, scene: &Scene, link: &Link, y: f64, unit: &Unit) {
    let (from, to) = (scene.x(link.from), scene.x(link.to));
    let figure = if link.name.is_empty() { String::new() } else { unit.figure(link.cost) };
    let middle = (from + to) / 2.0;
    let line = class("arc", link.best);
    if link.lane == 0 {
        canvas.arc(&line, &format!("M{from:.1} {y:.1}H{to:.1}"), &link.name);
        return canvas.text(&class("cost", link.best), middle, y - 7.0, &figure);
    }
    // Lower lanes end closer to the nodes, so that lines do not overlap.
    let inset = (GAP + 5.0 - 4.0 * (link.lane - 1) as f64).max(0.0);
    let low = y + LANE * link.lane as f64;
    let path = format!("M{from:.1} {y:.1}L{:.1} {low:.1}H{:.1}L{to:.1} {y:.1}", from + inset, to - inset);
    canvas.arc(&line, &path, &link.name);
    canvas.text(&class("cost", link.best), middle, low - 6.0, &format!("{} {figure}", link.name));
}

/// The reason, in two lines where it is too long for one.
fn draw_gap(canvas: &mut Canvas, scene: &Scene, gap: &Gap, y: f64) {
    let (from, to) = (scene.x(gap.from), scene.x(gap.to));
    let middle = (from + to) / 2.0;
    match gap.reason.rsplit_once(' ') {
        Some((first, last)) if width_of(gap.reason) > to - from - 2.0 * GAP => {
            canvas.text("gap", middle, y - 3.0, first);
            canvas.text("gap", middle, y + 13.0, last);
        }
        _ => canvas.text("gap", middle, y + 4.5, gap.reason),
    }
}

/// Draws a line between rows, around the nodes of rows in between.
fn draw_conversion(canvas: &mut Canvas, scene: &Scene, conversion: &Conversion, lines: &[f64]) {
    let Conversion { place, from, to, name, best, .. } = conversion;
    let (x, y, end) = (scene.x(*place), lines[*from], lines[*to]);
    let bend = if from.abs_diff(*to) > 1 { 26.0 } else { 0.0 };
    let path = format!("M{x:.1} {y:.1}Q{:.1} {:.1} {x:.1} {end:.1}", x - bend, (y + end) / 2.0);
    canvas.arc(&class("arc", *best), &path, name);
}

/// The cost of a conversion, as written next to its line.
struct Figure {
    place: usize,
    /// The row under which it is written.
    row: usize,
    best: bool,
    text: String,
}

fn figures(scene: &Scene, unit: &Unit) -> Vec<Figure> {
    let text = |conversion| Some((conversion, told(scene, conversion, unit)?));
    let figure = |(conversion, text): (&Conversion, String)| {
        let row = conversion.from.min(conversion.to);
        Figure { place: conversion.place, row, best: conversion.best, text }
    };
    scene.conversions.iter().filter_map(text).map(figure).collect()
}

/// The text of the cost; `None` if it is written with the conversion in the other direction.
fn told(scene: &Scene, conversion: &Conversion, unit: &Unit) -> Option<String> {
    let Conversion { place, from, to, cost, best, .. } = conversion;
    let figure = unit.figure(*cost);
    let arrow = if from < to { "↓" } else { "↑" };
    let back =
        scene.conversions.iter().find(|other| (other.place, other.from, other.to) == (*place, *to, *from));
    match back {
        _ if from.abs_diff(*to) > 1 => Some(format!("{arrow} {figure} to {}", scene.rows[*to].name)),
        // If both directions exist, the one on the path is written, or else the downward one.
        Some(back) if back.best || (!best && from > to) => None,
        Some(back) if !best && unit.figure(back.cost) == figure => Some(figure),
        Some(back) if !best => Some(format!("↓{figure} ↑{}", unit.figure(back.cost))),
        _ => Some(format!("{arrow} {figure}")),
    }
}

/// Writes figures to the right of their places, one below the other.
fn draw_figures(canvas: &mut Canvas, scene: &Scene, lines: &[f64], figures: &[Figure]) {
    for (at, figure) in figures.iter().enumerate() {
        let Some(&next) = lines.get(figure.row + 1) else { continue };
        let (place, row) = (figure.place, figure.row);
        let above = figures[at + 1..].iter().filter(|other| (other.place, other.row) == (place, row)).count();
        let y = next - ABOVE - 8.0 - FIGURE * above as f64;
        canvas.text(&class("side", figure.best), scene.x(place) + 7.0, y, &figure.text);
    }
}

/// The largest number of figures at one place below a row.
fn figures_below(scene: &Scene, figures: &[Figure], row: usize) -> usize {
    let here = |place| figures.iter().filter(|figure| (figure.place, figure.row) == (place, row)).count();
    (1..scene.last()).map(here).max().unwrap_or(0)
}

/// Draws a node wherever a line begins or ends.
fn nodes(canvas: &mut Canvas, scene: &Scene, lines: &[f64]) {
    let all = 1..scene.last();
    for (at, (row, &y)) in scene.rows.iter().zip(lines).enumerate() {
        for place in all.clone() {
            let ends = |best: bool| {
                let link = |link: &Link| link.best >= best && (link.from == place || link.to == place);
                let conversion =
                    |c: &Conversion| c.best >= best && c.place == place && (c.from == at || c.to == at);
                row.links.iter().any(link) || scene.conversions.iter().any(conversion)
            };
            if ends(false) || scene.rows.len() <= ROWS_FEW {
                let class = class("node", ends(true));
                let x = scene.x(place);
                canvas.element(format_args!(r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="5"/>"#));
            }
        }
    }
}
