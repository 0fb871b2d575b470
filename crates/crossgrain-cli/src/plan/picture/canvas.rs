//! An SVG document to which drawing is added from top to bottom.
//!
//! A style sheet adapts the colours to light or dark mode, and the background is painted, so a picture is
//! legible on any page. Text widths are estimated.

use std::fmt::{Arguments, Write};

use crossgrain::engine::text;

/// Margin around the picture.
pub(super) const MARGIN: f64 = 20.0;
/// Upper estimate of the width of a character in the default size.
pub(super) const CHAR: f64 = 7.4;

const STYLE: &str = "\
.plan text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;
  font-size: 13px; fill: #1f2328; font-variant-numeric: tabular-nums; }
.plan .title { font-size: 19px; font-weight: 600; }
.plan .heading { font-size: 15px; font-weight: 600; }
.plan .name { font-weight: 600; text-anchor: end; }
.plan .part { font-weight: 600; text-anchor: middle; }
.plan .note, .plan .cost, .plan .side, .plan .gap { fill: #59636e; }
.plan .cost, .plan .gap { text-anchor: middle; }
.plan .gap { font-style: italic; }
.plan .cost.best, .plan .side.best { fill: #0a6b63; font-weight: 600; }
.plan .inside { fill: #ffffff; text-anchor: middle; }
.plan .ground { fill: #ffffff; }
.plan .band { fill: #f3f5f7; }
.plan .arc { fill: none; stroke: #a5aeb8; stroke-width: 1.2; }
.plan .arc.best { stroke: #0a7d74; stroke-width: 4; stroke-linecap: round; stroke-linejoin: round; }
.plan .node { fill: #ffffff; stroke: #8c959f; stroke-width: 1.2; }
.plan .node.best { fill: #0a7d74; stroke: #0a7d74; }
.plan .c0 { fill: #0a7d74; } .plan .c1 { fill: #a8550f; } .plan .c2 { fill: #5b57b8; }
.plan .c3 { fill: #b0306a; } .plan .c4 { fill: #3b7a1e; } .plan .c5 { fill: #1f6fb2; }
.plan .c6 { fill: #856900; } .plan .c7 { fill: #7a4fa0; } .plan .change { fill: #6e7781; }
@media (prefers-color-scheme: dark) {
  .plan text { fill: #e6edf3; }
  .plan .note, .plan .cost, .plan .side, .plan .gap { fill: #9da7b1; }
  .plan .cost.best, .plan .side.best { fill: #56d4c4; }
  .plan .inside { fill: #0d1117; }
  .plan .ground { fill: #0d1117; }
  .plan .band { fill: #161b22; }
  .plan .arc { stroke: #57606a; }
  .plan .arc.best { stroke: #36c2b0; }
  .plan .node { fill: #0d1117; stroke: #7d8590; }
  .plan .node.best { fill: #36c2b0; stroke: #36c2b0; }
  .plan .c0 { fill: #36c2b0; } .plan .c1 { fill: #e8964a; } .plan .c2 { fill: #a5a1f5; }
  .plan .c3 { fill: #f07ab0; } .plan .c4 { fill: #86c95c; } .plan .c5 { fill: #6cb6ff; }
  .plan .c6 { fill: #d8b93c; } .plan .c7 { fill: #c49bea; } .plan .change { fill: #9da7b1; }
}
";

/// A picture under construction.
pub(super) struct Canvas {
    pub(super) width: f64,
    /// The height used so far.
    pub(super) height: f64,
    body: String,
}

impl Canvas {
    pub(super) fn new(width: f64) -> Self {
        Self { width, height: MARGIN, body: String::new() }
    }

    pub(super) fn down(&mut self, by: f64) {
        self.height += by;
    }

    pub(super) fn element(&mut self, element: Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        self.element(format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#));
    }

    /// A line whose name appears when the pointer is over it.
    pub(super) fn arc(&mut self, class: &str, path: &str, name: &str) {
        let name = escaped(name);
        self.element(format_args!(r#"<path class="{class}" d="{path}"><title>{name}</title></path>"#));
    }

    pub(super) fn block(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        self.element(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        ));
    }

    /// A note below everything drawn so far, wrapped between words.
    pub(super) fn paragraph(&mut self, text: &str) {
        let room = ((self.width - 2.0 * MARGIN) / CHAR) as usize;
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + word.chars().count() >= room {
                self.note(&line);
                line.clear();
            }
            line += if line.is_empty() { "" } else { " " };
            line += word;
        }
        self.note(&line);
    }

    fn note(&mut self, line: &str) {
        self.down(20.0);
        self.text("note", MARGIN, self.height, line);
    }

    pub(super) fn document(self, title: &str) -> String {
        let Self { width, height, body } = self;
        let (height, title) = (height + MARGIN, escaped(title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plan\" width=\"{width:.0}\" \
             height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n\
             <rect class=\"ground\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\"/>\n{body}</svg>\n"
        )
    }
}

/// The estimated width of a text.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * CHAR
}

/// The same for bold text.
pub(super) fn bold_width_of(text: &str) -> f64 {
    width_of(text) * 1.12
}

/// Text escaped for XML.
pub(in crate::plan) fn escaped(text: &str) -> String {
    text::escaped(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
