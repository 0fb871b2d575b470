//! `crossgrain bench --planner`: what the planner's choices are worth.
//!
//! Costs are measured once. Then, for every job under every ISA cap, the paths predicted to be best, the best
//! of every pure form and the best that mix representations run end to end, in turns. The fastest of them
//! stands for the best there is, and the choices of the two efforts that measure are held against it.

use std::time::Instant;

use crossgrain::plan::compose::Flow;
use crossgrain::plan::{Birth, Costs, Job, Limits, graph};
use crossgrain::tune::{Contender, Field, Scope, contend, measure_costs};
use crossgrain::variant::Policy;
use crossgrain::{Cipher, Direction, Features};
use serde_json::json;

use super::Printer;
use crate::error::Error;
use crate::plan::summary;

/// What stands for every path there is.
const EVERY: Field = Field { best: 96, mixed: 24, len_bytes: 1 << 20, budget_ms: 2500 };

/// ISA caps that between them switch off every extension.
const CAPS: [&str; 10] = [
    "portable",
    "sse2-aes-gfni",
    "sse2",
    "avx2-aes-gfni",
    "avx2-aes",
    "avx2",
    "avx512-aes-gfni-vbmi",
    "avx512-aes-gfni",
    "avx512-aes",
    "avx512",
];

/// How far, in percent, the choice of `measure` and that of `exhaustive` may be behind the best, and a
/// prediction off the truth.
const BARS: [f64; 3] = [5.0, 2.0, 10.0];

/// What was found for one job under one cap.
struct Finding {
    id: String,
    paths: usize,
    /// What `measure` chose, as predicted and as it was.
    predicted_ns: f64,
    measured_ns: f64,
    exhaustive_ns: f64,
    best: String,
    best_ns: f64,
    /// The fastest path that computes all parts in one representation.
    pure: String,
    pure_ns: f64,
    /// The fastest that does not.
    mixed: String,
    mixed_ns: f64,
}

/// Measures, prints a line a job and cap, and what it comes to.
pub(super) fn run(filter: &str, printer: &mut Printer) -> Result<(), Error> {
    let cipher = Cipher::Aes128;
    let start = Instant::now();
    let clock_ns = move || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let allowed = Features::from_environment()?;
    let policy = Policy::ConstantTime;
    let scope = Scope { cipher, features: allowed, policy, budget_ms: 4000 };
    let costs = measure_costs(scope, &clock_ns)?;
    let mut findings = Vec::new();
    head(printer)?;
    for (cap, features) in caps(allowed)? {
        for (mode, direction, birth) in [
            ("ecb", Direction::Encrypt, Birth::Bytes),
            ("ecb-decrypt", Direction::Decrypt, Birth::Bytes),
            ("ctr", Direction::Encrypt, Birth::Counter),
        ] {
            let id = format!("{cipher}-{mode}/{cap}");
            if id.contains(filter) {
                let limits = Limits { features, policy, forced: Vec::new() };
                let finding = found(id, Job { cipher, direction, birth }, &limits, &costs, &clock_ns)?;
                line(&finding, printer)?;
                findings.push(finding);
            }
        }
    }
    conclusion(&findings, printer)
}

/// Caps that differ on this CPU, and what they leave.
fn caps(allowed: Features) -> Result<Vec<(&'static str, Features)>, Error> {
    let mut caps: Vec<(&str, Features)> = Vec::new();
    for cap in CAPS {
        let features = cap.parse::<Features>()? & allowed;
        if !caps.iter().any(|(_, known)| *known == features) {
            caps.push((cap, features));
        }
    }
    Ok(caps)
}

fn found(
    id: String,
    job: Job,
    limits: &Limits,
    costs: &Costs,
    clock_ns: &dyn Fn() -> u64,
) -> Result<Finding, Error> {
    let flow = graph::flow(job, limits, costs)?;
    let chosen = contend(job, limits, costs, Field::default(), clock_ns)?;
    // Fastest first.
    let every = contend(job, limits, costs, EVERY, clock_ns)?;
    let nothing = || Error::usage("nothing was run");
    let best = every.first().ok_or_else(nothing)?;
    let predicted = every.iter().min_by(|a, b| a.path.total_ns.total_cmp(&b.path.total_ns));
    let predicted = predicted.ok_or_else(nothing)?;
    let exhaustive = chosen.first().and_then(|chosen| every.iter().find(|one| one.path == chosen.path));
    let [pure, mixed] = [false, true].map(|mixes| fastest(&every, &flow, mixes));
    Ok(Finding {
        id,
        paths: every.len(),
        predicted_ns: predicted.path.total_ns,
        measured_ns: predicted.measured.fastest_ns,
        exhaustive_ns: exhaustive.ok_or_else(nothing)?.measured.fastest_ns,
        best: told(best),
        best_ns: best.measured.fastest_ns,
        pure: pure.map_or_else(String::new, told),
        pure_ns: pure.map_or(f64::INFINITY, |one| one.measured.fastest_ns),
        mixed: mixed.map_or_else(String::new, told),
        mixed_ns: mixed.map_or(f64::INFINITY, |one| one.measured.fastest_ns),
    })
}

/// A plan in a line.
fn told(contender: &Contender) -> String {
    summary(&contender.path.names().collect::<Vec<_>>())
}

/// The fastest path that mixes representations, or that does not.
fn fastest<'a>(every: &'a [Contender], flow: &Flow, mixes: bool) -> Option<&'a Contender> {
    every.iter().find(|one| flow.mixes(&one.path) == mixes)
}

impl Finding {
    /// How far each choice, and the prediction, is off, in percent.
    fn off(&self) -> [f64; 3] {
        let Self { predicted_ns, measured_ns, exhaustive_ns, best_ns, .. } = self;
        let percent = |a: f64, b: f64| 100.0 * (a / b - 1.0);
        [
            percent(*measured_ns, *best_ns),
            percent(*exhaustive_ns, *best_ns),
            percent(*predicted_ns, *measured_ns),
        ]
    }

    /// How much of the best pure form's time the best mix saves, in percent; negative where it costs more.
    fn gain(&self) -> f64 {
        100.0 * (1.0 - self.mixed_ns / self.pure_ns)
    }
}

fn head(printer: &mut Printer) -> Result<(), Error> {
    if printer.json {
        return Ok(());
    }
    printer.line(format_args!(
        "{:34} {:>5} {:>8} {:>9} {:>10} {:>10} {:>8}  best",
        "job", "paths", "GB/s", "measure", "exhaustive", "predicted", "mixing"
    ))
}

fn line(finding: &Finding, printer: &mut Printer) -> Result<(), Error> {
    let [measure, exhaustive, prediction] = finding.off();
    let gain = finding.gain();
    let Finding { id, paths, best, best_ns, pure, mixed, .. } = finding;
    let gb_per_s = EVERY.len_bytes as f64 / best_ns;
    if printer.json {
        return printer.line(json!({
            "plan": id, "paths": paths, "gb_per_s": gb_per_s, "measure_behind_percent": measure,
            "exhaustive_behind_percent": exhaustive, "prediction_off_percent": prediction,
            "mixing_gains_percent": gain, "best": best, "pure": pure, "mixed": mixed,
        }));
    }
    printer.line(format_args!(
        "{id:34} {paths:>5} {gb_per_s:>8.3} {measure:>+8.1}% {exhaustive:>+9.1}% {prediction:>+9.1}% {gain:>+7.1}%  {best}"
    ))
}

/// How often each bar is met, and whether any mix of representations gains anything.
fn conclusion(findings: &[Finding], printer: &mut Printer) -> Result<(), Error> {
    let met = |which: usize| findings.iter().filter(|one| one.off()[which].abs() <= BARS[which]).count();
    let gaining: Vec<_> = findings.iter().filter(|one| one.gain() > 0.0).collect();
    let best = findings.iter().max_by(|a, b| a.gain().total_cmp(&b.gain()));
    if printer.json {
        return printer.line(json!({
            "jobs": findings.len(), "measure_within_5_percent": met(0),
            "exhaustive_within_2_percent": met(1), "prediction_within_10_percent": met(2),
            "mixing_gains": gaining.len(),
        }));
    }
    printer.line(format_args!(
        "\nof {} jobs: measure within {} % of the best in {}, exhaustive within {} % in {}, predicted within {} % \
         of measured in {}",
        findings.len(), BARS[0], met(0), BARS[1], met(1), BARS[2], met(2)
    ))?;
    let Some(best) = best else { return Ok(()) };
    let (count, gain) = (gaining.len(), best.gain());
    if count == 0 {
        printer.line(format_args!(
            "no mix of representations beats the best pure form; nearest is {} with {gain:+.1} %: {}",
            best.id, best.mixed
        ))
    } else {
        printer.line(format_args!(
            "a mix of representations beats every pure form in {count}; most in {}, by {gain:.1} %: {}",
            best.id, best.mixed
        ))
    }
}
