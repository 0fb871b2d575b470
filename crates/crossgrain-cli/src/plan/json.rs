//! A case as one JSON object.

use crossgrain::plan::compose::{Answer, Cost, Node, Path, Step};
use crossgrain::plan::{JobSource, Place};
use serde_json::{Map, Value, json};

use super::case::{Case, Facts, threads};
use super::mixes::{Mixes, Run};
use crate::error::{Error, Exit};

/// The object with a line end.
pub(super) fn told(case: &Case) -> Result<String, Error> {
    let value = match &case.facts {
        Some(facts) => job(case, facts),
        None => serde_json::to_value(Answer::from(&case.report))
            .map_err(|error| Error::new(Exit::InputOutput, error.to_string()))?,
    };
    Ok(format!("{value:#}\n"))
}

fn job(case: &Case, facts: &Facts) -> Value {
    let report = &case.report;
    let pure: Map<_, _> = case
        .representations()
        .into_iter()
        .map(|name| (name.to_owned(), json!(case.pure(name).map(|path| path.total_ns))))
        .collect();
    let mut told = json!({
        "cipher": facts.cipher,
        "job": facts.mode,
        "effort": facts.basis.name(),
        "policy": facts.policy.name(),
        "features": facts.features.to_string(),
        "total_ns": report.best.total_ns,
        "path": steps(&report.best),
        "spread": spreads(case),
        "runners_up": report.runners_up.iter().map(path).collect::<Vec<_>>(),
        "measured_ns": measured(case),
        "pure": pure,
        "gain_percent": report.gain_percent(),
        "greedy": path(&report.greedy),
        "mixes": case.mixes.as_ref().map(mixes),
        "devices": case.places.iter().map(place).collect::<Vec<_>>(),
    });
    let size = size(facts, report.best.total_ns);
    size.into_iter().for_each(|(name, figure)| told[name] = figure);
    told
}

/// The size of the job and its speed.
fn size(facts: &Facts, total_ns: f64) -> Vec<(&'static str, Value)> {
    match (facts.job.map(|job| job.source), facts.keys()) {
        (Some(JobSource::Keys { usage, known_bits }), Some(keys)) => vec![
            ("keys", json!(keys)),
            ("keys_from", json!(usage.name())),
            ("known_bits", json!(known_bits)),
            ("ns_per_key", json!(total_ns / keys as f64)),
        ],
        (_, Some(keys)) => vec![("keys", json!(keys)), ("ns_per_key", json!(total_ns / keys as f64))],
        _ => vec![("bytes", json!(facts.len_bytes)), ("gb_per_s", json!(facts.len_bytes as f64 / total_ns))],
    }
}

/// A device: costs as pairs of fixed nanoseconds and nanoseconds per byte, and break-even sizes in bytes,
/// null for never.
fn place((place, [one, all]): &(Place, [Option<u64>; 2])) -> Value {
    let pair = |cost: Cost| json!([cost.fixed_ns, cost.per_byte_ns]);
    json!({
        "name": place.name, "kernel": place.kernel,
        "open": pair(place.open), "upload": pair(place.upload),
        "run": pair(place.run), "download": pair(place.download),
        "break_even": { "one_thread": one, "all_threads": all, "threads": threads() },
    })
}

/// The measured times of the best path and the runners-up; null if nothing was timed.
fn measured(case: &Case) -> Value {
    let [best, others @ ..] = &case.measured[..] else { return Value::Null };
    let others: Vec<_> = others.iter().map(|other| other.fastest_ns).collect();
    json!({ "total": best.fastest_ns, "spread": best.spread, "runners_up": others })
}

/// The paths that were run to compare pure forms with mixes. The representation of a mix is null.
fn mixes(mixes: &Mixes) -> Value {
    let run = |run: &Run| {
        json!({
            "representation": run.representation, "measured_ns": run.measured_ns, "spread": run.spread,
            "predicted_ns": run.path.total_ns, "without_conversions_ns": run.free_ns, "path": steps(&run.path),
        })
    };
    json!({
        "runs": mixes.runs.iter().map(run).collect::<Vec<_>>(),
        "mix_to_pure": mixes.mix_to_pure(),
        "free_conversions": path(&mixes.free),
    })
}

/// For each variant of the best path the spread of its measured cost; null for an estimate.
fn spreads(case: &Case) -> Value {
    let of = |name: &str| (name.to_owned(), json!(case.spreads.get(name)));
    case.report.best.names().map(of).collect::<Map<_, _>>().into()
}

fn path(path: &Path) -> Value {
    json!({ "total_ns": path.total_ns, "path": steps(path) })
}

fn steps(path: &Path) -> Vec<Value> {
    let step = |step: &Step| {
        json!({
            "variant": step.name, "from": node(&step.from), "to": node(&step.to), "cost_ns": step.cost_ns,
        })
    };
    path.steps.iter().map(step).collect()
}

/// `source`, `sink`, or the number of finished parts and the representation after them.
fn node(node: &Node) -> Value {
    match node {
        Node::Source => json!("source"),
        Node::Sink => json!("sink"),
        Node::Between { position, representation } => {
            json!({ "position": position, "representation": representation })
        }
    }
}
