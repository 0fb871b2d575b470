//! Line charts over message lengths, with logarithmic scales. The cost of sixteen bytes is as visible as that
//! of a mebibyte, and equal distances are equal ratios.

use super::record::Record;
use super::series::length;
use super::svg::{MARGIN, Page, WIDTH};

/// The plot. The names of lines are to its right.
const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 160.0;
const HEIGHT: f64 = 380.0;

/// The smallest horizontal distance between two labels of lengths.
const LABEL_WIDTH: f64 = 46.0;

/// The minimum distance between two names.
const NAME_HEIGHT: f64 = 17.0;

/// The number of colours for peers. Further peers reuse them.
const COLOURS: usize = 9;

/// Ids of AES-256-GCM encryption from one buffer to another, and the label of crossgrain.
const SEALING: &str = "aes-256-gcm/apart/";
const OURS: &str = "crossgrain";

const STYLE: &str = "\
.grid { fill: none; stroke: #8c959f; stroke-opacity: 0.25; }
.us { fill: #0a7d74; } .line.us { stroke: #0a7d74; }
.end { font-size: 13px; font-weight: 600; }
.peer0 { fill: #8250df; } .line.peer0 { stroke: #8250df; }
.peer1 { fill: #bf6a02; } .line.peer1 { stroke: #bf6a02; }
.peer2 { fill: #2f6fdb; } .line.peer2 { stroke: #2f6fdb; }
.peer3 { fill: #c2255c; } .line.peer3 { stroke: #c2255c; }
.peer4 { fill: #6b7785; } .line.peer4 { stroke: #6b7785; }
.peer5 { fill: #5c8a1e; } .line.peer5 { stroke: #5c8a1e; }
.peer6 { fill: #a0522d; } .line.peer6 { stroke: #a0522d; }
.peer7 { fill: #e8590c; } .line.peer7 { stroke: #e8590c; }
.peer8 { fill: #cc5de8; } .line.peer8 { stroke: #cc5de8; }
.line[class] { fill: none; stroke-width: 1.8; }
.line.us { stroke-width: 3.4; }
@media (prefers-color-scheme: dark) {
  .us { fill: #36c2b0; } .line.us { stroke: #36c2b0; }
}
";

/// Lines of one picture.
pub(super) struct Lines {
    pub(super) title: &'static str,
    pub(super) lines: Vec<Line>,
}

/// The speeds of one implementation.
pub(super) struct Line {
    name: String,
    is_ours: bool,
    /// The bytes of a message, and GB/s.
    points: Vec<(u64, f64)>,
}

impl Lines {
    /// The names of the other implementations.
    pub(super) fn peers(&self) -> Vec<&str> {
        self.lines.iter().filter(|line| !line.is_ours).map(|line| &*line.name).collect()
    }
}

/// AES-256-GCM by the length of a message, ours and peers.
pub(super) fn sealing(record: &Record) -> Lines {
    let mut lines: Vec<Line> = Vec::new();
    for (id, speed) in record.below(SEALING) {
        let Some((label, bytes)) =
            id.split_once('/').and_then(|(bytes, label)| Some((label, bytes.parse().ok()?)))
        else {
            continue;
        };
        let is_ours = label == OURS;
        let name = if is_ours { Some(OURS.to_owned()) } else { record.named(label) };
        let Some(name) = name else { continue };
        let point = (bytes, speed.gb_per_s);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { name, is_ours, points: vec![point] }),
        }
    }
    Lines { title: "AES-256-GCM, sealing one message at a time, one thread", lines }
}

/// The whole picture, with a caption below.
pub(super) fn document(lines: &Lines, caption: &[String]) -> String {
    let mut page = Page::new();
    page.text("title", MARGIN, page.height() + 16.0, lines.title);
    let legend = "GB/s by the length of a message, more is better; both scales are logarithmic";
    page.text("caption", MARGIN, page.height() + 42.0, legend);
    page.grow(62.0);
    let plot = Plot::of(lines, page.height());
    plot.axes(&mut page);
    plot.lines(&mut page, lines);
    page.grow(HEIGHT + 24.0);
    page.caption(caption);
    page.document(lines.title, STYLE)
}

/// The positions of points.
struct Plot {
    top: f64,
    bytes: (f64, f64),
    speeds: (f64, f64),
    lengths: Vec<u64>,
}

impl Plot {
    fn of(lines: &Lines, top: f64) -> Self {
        let points = || lines.lines.iter().flat_map(|line| &line.points);
        let mut lengths: Vec<u64> = points().map(|point| point.0).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let bytes = |length: Option<&u64>| length.map_or(0.0, |&bytes| (bytes.max(1) as f64).log2());
        let speeds = || points().map(|point| point.1.log10());
        Self {
            top,
            bytes: (bytes(lengths.first()), bytes(lengths.last())),
            speeds: (speeds().fold(f64::MAX, f64::min) - 0.05, speeds().fold(f64::MIN, f64::max) + 0.05),
            lengths,
        }
    }

    fn x(&self, bytes: u64) -> f64 {
        let (least, most) = self.bytes;
        LEFT + (RIGHT - LEFT) * ((bytes.max(1) as f64).log2() - least) / (most - least).max(1.0)
    }

    fn y(&self, speed: f64) -> f64 {
        let (least, most) = self.speeds;
        self.top + HEIGHT * (most - speed.log10()) / (most - least)
    }

    /// Lengths below, speeds on the left, and a thin line for each speed.
    fn axes(&self, page: &mut Page) {
        for power in -2..=3 {
            for digit in [1.0, 2.0, 5.0] {
                let speed = digit * 10_f64.powi(power);
                if (self.speeds.0..=self.speeds.1).contains(&speed.log10()) {
                    let y = self.y(speed);
                    page.line(format_args!(r#"<path class="grid" d="M{LEFT:.1} {y:.1}H{RIGHT:.1}"/>"#));
                    page.text("note", LEFT - 8.0, y + 4.0, &speed.to_string());
                }
            }
        }
        let bottom = self.top + HEIGHT;
        let mut path = format!("M{LEFT:.1} {:.1}V{bottom:.1}H{RIGHT:.1}", self.top);
        let mut free = 0.0;
        for &bytes in &self.lengths {
            let x = self.x(bytes);
            path += &format!("M{x:.1} {bottom:.1}v5");
            // A label that would touch the one before is omitted.
            if x >= free {
                page.text("tick", x, bottom + 18.0, &length(bytes).replace(" bytes", " B"));
                free = x + LABEL_WIDTH;
            }
        }
        page.line(format_args!(r#"<path class="axis" d="{path}"/>"#));
    }

    /// crossgrain comes last, so that it is drawn above the others.
    fn lines(&self, page: &mut Page, lines: &Lines) {
        let (ours, peers): (Vec<&Line>, Vec<&Line>) = lines.lines.iter().partition(|line| line.is_ours);
        let classes = (0..).map(|index| format!("peer{}", index % COLOURS));
        let peers = peers.into_iter().zip(classes);
        let all: Vec<(&Line, String)> =
            peers.chain(ours.into_iter().map(|line| (line, "us".to_owned()))).collect();
        for (line, class) in &all {
            self.line(page, line, class);
        }
        self.names(page, &all);
    }

    fn line(&self, page: &mut Page, line: &Line, class: &str) {
        let places: Vec<(f64, f64)> =
            line.points.iter().map(|&(bytes, speed)| (self.x(bytes), self.y(speed))).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        page.line(format_args!(r#"<path class="line {class}" d="M{}"/>"#, path.join("L")));
        for (x, y) in places {
            page.line(format_args!(r#"<circle class="dot {class}" cx="{x:.1}" cy="{y:.1}" r="3"/>"#));
        }
    }

    /// Names at the right ends of their lines, moved apart if they are too close.
    fn names(&self, page: &mut Page, lines: &[(&Line, String)]) {
        let end = |line: &Line| line.points.last().map_or(self.top, |&(_, speed)| self.y(speed));
        let mut names: Vec<(f64, &Line, &str)> =
            lines.iter().map(|(line, class)| (end(line) + 5.0, *line, &**class)).collect();
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let most = self.top + HEIGHT - NAME_HEIGHT * names.len().saturating_sub(1) as f64;
        let mut least = self.top;
        for (index, (y, line, class)) in names.into_iter().enumerate() {
            // Low enough to clear the name before, and high enough to leave room for those after.
            let place = y.max(least).min(most + NAME_HEIGHT * index as f64);
            least = place + NAME_HEIGHT;
            page.text(&format!("end {class}"), RIGHT + 12.0, place, &line.name);
        }
    }
}
