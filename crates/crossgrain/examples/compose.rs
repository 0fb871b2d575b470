//! The planner applied to something other than a cipher: a small image pipeline.
//!
//! An image is blurred along its rows, then along its columns, its tones are mapped, and every column is
//! summed for an exposure meter. It is stored row by row, column by column, or in square tiles. A blur along
//! the storage order is cheap. A blur across it misses the cache at every step. In tiles one pass does both
//! blurs. Changing the layout costs a pass over the image and some preparation.
//!
//! A thumbnail is best left in its layout. A photograph goes through tiles to columns, a mix that beats every
//! single layout. A choice part by part would not find it, because the first blur on its own is cheaper in
//! rows.
//!
//! The costs below are assumed, not measured: nanoseconds per call and per byte, in the order of magnitude of
//! one desktop core. Run with `cargo run -p crossgrain --example compose`.

use crossgrain::plan::compose::{Cost, Error, Flow, Path, Report};

const fn cost(fixed_ns: f64, per_byte_ns: f64) -> Cost {
    Cost { fixed_ns, per_byte_ns }
}

/// The cost of each part in each layout that has an implementation of it.
const VARIANTS: [(&str, &str, Cost); 9] = [
    ("blur-rows", "rows", cost(200.0, 0.25)),
    ("blur-rows", "columns", cost(200.0, 1.75)),
    ("blur-columns", "rows", cost(200.0, 1.75)),
    ("blur-columns", "columns", cost(200.0, 0.25)),
    ("map-tones", "rows", cost(900.0, 0.5)),
    ("map-tones", "columns", cost(900.0, 0.5)),
    ("map-tones", "tiles", cost(900.0, 0.25)),
    ("sum-columns", "rows", cost(150.0, 1.25)),
    ("sum-columns", "columns", cost(150.0, 0.125)),
];

/// Both blurs at once, which only tiles allow.
const BLUR_TILES: Cost = cost(3_000.0, 0.4);

/// The cost of changing the layout.
const CONVERSIONS: [(&str, &str, Cost); 5] = [
    ("rows", "columns", cost(4_000.0, 0.5)),
    ("columns", "rows", cost(4_000.0, 0.5)),
    ("rows", "tiles", cost(5_000.0, 0.25)),
    ("tiles", "rows", cost(5_000.0, 0.25)),
    ("tiles", "columns", cost(5_000.0, 0.25)),
];

fn pipeline() -> Result<Flow, Error> {
    let parts = ["blur-rows", "blur-columns", "map-tones", "sum-columns"];
    let mut flow = Flow::new(&parts, &["rows", "columns", "tiles"])?;
    for (part, layout, cost) in VARIANTS {
        flow.variant(&format!("{part}/{layout}"), &[part], layout, cost)?;
    }
    flow.variant("blur-both/tiles", &["blur-rows", "blur-columns"], "tiles", BLUR_TILES)?;
    for (from, to, cost) in CONVERSIONS {
        flow.conversion(&format!("{from}>{to}"), from, to, cost)?;
    }
    // The camera delivers rows. The meter reads the sums and accepts the image in rows or columns.
    flow.source("camera/rows", "rows", cost(1_000.0, 0.0))?;
    flow.end("rows")?;
    flow.end("columns")?;
    Ok(flow)
}

fn show(len_bytes: u64, report: &Report) {
    println!("An image of {len_bytes} bytes; costs in nanoseconds.\n\n{:.0}\n", report.best);
    for path in &report.runners_up {
        show_line("runner-up", path);
    }
    show_line("greedy", &report.greedy);
    for form in &report.pure {
        form.whole.iter().for_each(|path| show_line(&format!("pure {}", form.representation), path));
    }
    if let Some(gain) = report.gain_percent() {
        println!("\nThe best path costs {gain:.1} % less than the best pure form.\n");
    }
}

fn show_line(what: &str, path: &Path) {
    println!("{what:<12} {:>8.0}  {}", path.total_ns, path.names().collect::<Vec<_>>().join(", "));
}

fn main() -> Result<(), Error> {
    let flow = pipeline()?;
    for len_bytes in [32 * 32, 1920 * 1080] {
        show(len_bytes, &flow.at(len_bytes).report(2)?);
    }
    Ok(())
}
