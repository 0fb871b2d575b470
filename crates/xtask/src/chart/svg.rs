//! Draws panels of bars as SVG.
//!
//! Bars have no background, and the colours come from a style sheet that follows the reader's choice of light
//! or dark. Widths of text are not needed: a label ends where its bar begins, a value begins where its bar
//! ends, and the legend is one flowing text.

use std::fmt::Write;

use super::series::{Chart, Panel, Row, SERIES};

/// Lengths in pixels at full size.
pub(super) const WIDTH: f64 = 720.0;
pub(super) const MARGIN: f64 = 20.0;
/// The position at which bars begin.
const BARS: f64 = 186.0;
/// The position at which the longest bar ends. Its value is to the right of it.
const BARS_END: f64 = WIDTH - 76.0;
/// The heights of a row's bars, one for each series, and the gaps between bars and between rows.
const THICKNESS: [f64; SERIES] = [17.0, 9.0];
const BETWEEN_BARS: f64 = 3.0;
const BETWEEN_ROWS: f64 = 14.0;
/// The minimum height of a row: a name and its note need this much, even for a single bar.
const LEAST_ROW: f64 = 28.0;
/// The maximum characters in a line of the caption.
const CAPTION_CHARS: usize = 104;

const STYLE: &str = "\
text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;
  font-size: 14px; fill: #1f2328; }
.title { font-size: 19px; font-weight: 600; }
.heading { font-size: 15px; font-weight: 600; }
.name { font-weight: 600; text-anchor: end; }
.note { text-anchor: end; }
.note, .small, .tick, .caption { font-size: 12px; fill: #59636e; }
.tick { text-anchor: middle; }
.value { font-weight: 600; }
.value, .small { font-variant-numeric: tabular-nums; }
.ours { fill: #0a7d74; }
.ours.second { fill: #7fbdb6; }
.peer { fill: #8c959f; }
.peer.second { fill: #c3c9cf; }
.axis { fill: none; stroke: #8c959f; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .note, .small, .tick, .caption { fill: #9da7b1; }
  .ours { fill: #36c2b0; }
  .ours.second { fill: #23776d; }
  .peer { fill: #848d97; }
  .peer.second { fill: #50575f; }
  .axis { stroke: #7d8590; }
}
";

/// The whole picture, with a caption below.
pub(super) fn document(chart: &Chart, caption: &[String]) -> String {
    let mut page = Page::new();
    page.title(chart);
    chart.panels.iter().for_each(|panel| page.panel(panel));
    page.caption(caption);
    page.document(chart.title, "")
}

/// A picture that grows downwards.
pub(super) struct Page {
    height: f64,
    body: String,
}

impl Page {
    pub(super) fn new() -> Self {
        Self { height: MARGIN, body: String::new() }
    }

    /// The position at which the next element begins.
    pub(super) fn height(&self) -> f64 {
        self.height
    }

    /// Reserves room for a drawn element.
    pub(super) fn grow(&mut self, by: f64) {
        self.height += by;
    }

    /// The picture as a file, with styles in addition to those of bars.
    pub(super) fn document(self, title: &str, styles: &str) -> String {
        let (Self { height, body }, title) = (self, escaped(title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"title\">\n\
             <title id=\"title\">{title}</title>\n<style>\n{STYLE}{styles}</style>\n{body}</svg>\n"
        )
    }

    pub(super) fn line(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.line(format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{}</text>"#, escaped(text)));
    }

    fn title(&mut self, chart: &Chart) {
        self.text("title", MARGIN, self.height + 16.0, chart.title);
        let rows = || chart.panels.iter().flat_map(|panel| &panel.rows);
        let mut legend = "GB/s, more is better".to_owned();
        let has_others = rows().any(|row| !row.is_ours);
        if has_others {
            legend += &key(&["ours"], "crossgrain");
            legend += &key(&["peer"], "others");
        }
        for (index, meaning) in chart.series.iter().enumerate() {
            if rows().any(|row| row.speeds[index].is_some()) && !meaning.is_empty() {
                let (ours, others) = (bar_class("ours", index), bar_class("peer", index));
                let classes = if has_others { vec![&*ours, &*others] } else { vec![&*ours] };
                legend += &key(&classes, meaning);
            }
        }
        let y = self.height + 42.0;
        self.line(format_args!(r#"<text class="caption" x="{MARGIN:.1}" y="{y:.1}">{legend}</text>"#));
        self.height = y;
    }

    /// A heading, bars, and their scale.
    fn panel(&mut self, panel: &Panel) {
        self.text("heading", MARGIN, self.height + 36.0, &panel.heading);
        let top = self.height + 48.0;
        let thickness: f64 = panel.rows.iter().map(|row| row_height(row) + BETWEEN_ROWS).sum();
        self.height = top + BETWEEN_ROWS / 2.0;
        let scale = Scale::of(panel);
        panel.rows.iter().for_each(|row| self.row(row, &scale));
        self.axes(&scale, top, top + thickness);
        self.height = top + thickness + 22.0;
    }

    /// A line where bars begin, and one below with ticks. The panel has no grid lines because they would
    /// cross values.
    fn axes(&mut self, scale: &Scale, top: f64, bottom: f64) {
        let mut path = format!("M{BARS:.1} {top:.1}V{bottom:.1}H{BARS_END:.1}");
        for (value, label) in scale.ticks() {
            let x = scale.x(value);
            path += &format!("M{x:.1} {bottom:.1}v5");
            self.text("tick", x, bottom + 18.0, &label);
        }
        self.line(format_args!(r#"<path class="axis" d="{path}"/>"#));
    }

    fn row(&mut self, row: &Row, scale: &Scale) {
        let (top, height) = (self.height, row_height(row));
        let middle = top + height / 2.0;
        // A name without a note is centred on the bars.
        let baseline = if row.note.is_empty() { middle + 5.0 } else { middle - 2.0 };
        self.text("name", BARS - 10.0, baseline, &row.name);
        if !row.note.is_empty() {
            self.text("note", BARS - 10.0, middle + 12.0, &row.note);
        }
        let mut y = middle - bars_height(row) / 2.0;
        for (index, speed) in row.speeds.into_iter().enumerate() {
            if let Some(speed) = speed {
                self.bar(row, index, scale.x(speed), y);
                let (class, half) = if index == 0 { ("value", 5.1) } else { ("small", 4.4) };
                let baseline = y + THICKNESS[index] / 2.0 + half;
                self.text(class, scale.x(speed) + 6.0, baseline, &figure(speed));
                y += THICKNESS[index] + BETWEEN_BARS;
            }
        }
        self.height = top + height + BETWEEN_ROWS;
    }

    fn bar(&mut self, row: &Row, series: usize, end: f64, y: f64) {
        let class = bar_class(if row.is_ours { "ours" } else { "peer" }, series);
        let (width, height) = (end - BARS, THICKNESS[series]);
        self.line(format_args!(
            r#"<rect class="{class}" x="{BARS:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        ));
    }

    pub(super) fn caption(&mut self, paragraphs: &[String]) {
        self.height += 24.0;
        for line in paragraphs.iter().flat_map(|paragraph| wrapped(paragraph)) {
            self.height += 17.0;
            self.text("caption", MARGIN, self.height, &line);
        }
        self.height += MARGIN;
    }
}

/// A linear scale from zero to the fastest speed.
struct Scale {
    most: f64,
    step: f64,
}

impl Scale {
    fn of(panel: &Panel) -> Self {
        let speeds = panel.rows.iter().flat_map(|row| row.speeds).flatten();
        let most = speeds.fold(0.0, f64::max);
        let power = 10_f64.powf((most / 3.0).log10().floor());
        let steps = [5.0, 2.0, 1.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| step * 3.0 <= most).unwrap_or(power);
        Self { most, step }
    }

    fn x(&self, value: f64) -> f64 {
        BARS + (BARS_END - BARS) * value / self.most
    }

    /// Round values up to the greatest, with their labels.
    fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        let decimals = if self.step < 1.0 { (-self.step.log10()).ceil() as usize } else { 0 };
        let values = (0..).map(|index| f64::from(index) * self.step);
        values
            .take_while(|&value| value <= self.most)
            .map(move |value| (value, format!("{value:.decimals$}")))
    }
}

fn bar_class(owner: &str, series: usize) -> String {
    if series == 0 { owner.to_owned() } else { format!("{owner} second") }
}

fn bars_height(row: &Row) -> f64 {
    let bars = row.speeds.iter().zip(THICKNESS).filter(|(speed, _)| speed.is_some());
    bars.map(|(_, thickness)| thickness + BETWEEN_BARS).sum::<f64>() - BETWEEN_BARS
}

fn row_height(row: &Row) -> f64 {
    bars_height(row).max(LEAST_ROW)
}

/// An entry of the legend: a square in each colour, then the meaning.
fn key(classes: &[&str], meaning: &str) -> String {
    let square = |(index, class): (usize, &&str)| {
        let gap = if index == 0 { 20 } else { 1 };
        format!(r#"<tspan class="{class}" dx="{gap}">■</tspan>"#)
    };
    let squares: String = classes.iter().enumerate().map(square).collect();
    format!(r#"{squares}<tspan dx="5">{}</tspan>"#, escaped(meaning))
}

/// A speed with as many digits as its measurement justifies.
fn figure(speed: f64) -> String {
    if speed < 9.95 { format!("{speed:.2}") } else { format!("{speed:.1}") }
}

/// Breaks the text into lines between words.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= CAPTION_CHARS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
