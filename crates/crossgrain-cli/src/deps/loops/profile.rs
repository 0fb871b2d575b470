//! The profile of a file of loops, as a table and as JSON.

use crossgrain::engine::text::grouped;
use crossgrain_deps::loops::Profiled;
use serde_json::{Value, json};

/// The loops with most operations first.
pub(super) fn shown(loops: &[Profiled], as_json: bool) -> String {
    if as_json {
        return format!("{:#}\n", json!({ "profile": loops.iter().map(object).collect::<Vec<_>>() }));
    }
    let mut text =
        format!("{:>7} {:>15} {:>13} {:>11}  loop\n", "share", "operations", "iterations", "entered");
    for looped in loops {
        let Profiled { counter, at, entered, iterations, operations, share, .. } = looped;
        let [operations, iterations, entered] = [operations, iterations, entered].map(grouped);
        let percent = 100.0 * share;
        text +=
            &format!("{percent:>5.1} % {operations:>15} {iterations:>13} {entered:>11}  {counter} at {at}\n");
    }
    text
}

fn object(looped: &Profiled) -> Value {
    json!({
        "counter": looped.counter,
        "line": looped.at.line,
        "depth": looped.depth,
        "entered": looped.entered,
        "iterations": looped.iterations,
        "operations": looped.operations,
        "share": looped.share,
    })
}
