//! `crossgrain bench --planner`: the quality of the planner's choices.
//!
//! Costs are measured once. Then, for every job under every ISA cap, three sets of paths are timed end to
//! end, in turns: those predicted to be best, the best of every pure form, and the best that mix
//! representations. The fastest of them represents the optimum. The choices of the efforts `measure` and
//! `exhaustive` are compared with it. Each finding says how much slower than at its best the machine was
//! while costs were measured and paths were run.

use crossgrain::Policy;
use crossgrain::engine::arch::CAPS;
use crossgrain::engine::tune::{Contender, Field, Scope, contend, end_to_end, measure_costs};
use crossgrain::plan::graph::JobFlow;
use crossgrain::plan::measure::Sampling;
use crossgrain::plan::{Costs, Job, JobSource, Limits, TableReuse, choose};
use crossgrain::{Cipher, Direction, Features};
use serde_json::json;

use super::pace::Pace;
use super::subject::suffix;
use super::{Filter, Printer};
use crate::error::Error;
use crate::plan::summary;
use crate::typed::clock_ns;

/// The paths that represent all paths of a job.
const fn all_paths(job: Job) -> Field {
    let len_bytes = if job.source.is_search() { SEARCH_BYTES } else { DATA_BYTES };
    Field { best: 96, mixed: 24, len_bytes, budget_ms: 1000 }
}

/// The length of a job on data, and of a search of 4096 keys with 16 bytes each. Both stay in the caches.
const DATA_BYTES: usize = 1 << 18;
const SEARCH_BYTES: usize = 1 << 16;

/// Limits in percent: the loss of the choice of `measure` and of `exhaustive` against the best, and the error
/// of a prediction.
const BARS: [f64; 3] = [5.0, 2.0, 10.0];

/// The result for one job under one cap.
struct Finding {
    id: String,
    paths: usize,
    best: String,
    gb_per_s: f64,
    /// The loss of the choices of the three efforts against the best, in percent.
    behind: [f64; 3],
    /// The prediction error of the path chosen by measured costs, in percent.
    prediction: f64,
    /// The largest prediction error of the ten fastest paths, in percent.
    prediction_of_ten: f64,
    /// The fastest path that mixes representations, and its time as a multiple of the best pure form's. Some
    /// searches have none.
    mixed: Option<(String, f64)>,
    /// Time to search for all plans of the job.
    search_ms: f64,
}

/// Measures, and prints one line per job and cap and a conclusion.
pub(super) fn run(filter: Filter<'_>, policy: Policy, printer: &mut Printer) -> Result<(), Error> {
    let features = Features::from_environment()?;
    let cases = cases(filter, features, policy)?;
    if cases.is_empty() {
        return Err(Error::usage(
            "no job and cap has this in its id: give aes-128-ctr/portable, say, or nothing",
        ));
    }
    let (clock_ns, mut pace) = (clock_ns(), Pace::new());
    head(printer)?;
    let mut findings = Vec::new();
    for cases in cases.chunk_by(|(_, one, _), (_, other, _)| one.cipher == other.cipher) {
        let [(_, Job { cipher, .. }, _), ..] = *cases else { continue };
        let scope = Scope { cipher, features, policy, budget_ms: None };
        let before_ns = pace.calm_ns();
        let costs = measure_costs(scope, &clock_ns, &|| ())?;
        let of_costs_ns = before_ns.max(pace.now_ns());
        for (id, job, limits) in cases {
            let before_ns = pace.calm_ns();
            let finding = found(id.clone(), *job, limits, &costs, &clock_ns)?;
            let slowest_ns = of_costs_ns.max(before_ns).max(pace.now_ns());
            line(&finding, pace.slowed(slowest_ns), printer)?;
            findings.push(finding);
        }
    }
    conclusion(&findings, printer)
}

/// Every job under every cap whose id contains the filter, without caps that leave a job the same kernels as a
/// cap before. Without a filter, the jobs of AES-128.
fn cases(filter: Filter<'_>, allowed: Features, policy: Policy) -> Result<Vec<(String, Job, Limits)>, Error> {
    let caps = caps(allowed)?;
    let mut cases = Vec::new();
    let ciphers = if filter.0.is_empty() { &[Cipher::Aes128][..] } else { &Cipher::ALL };
    for &cipher in ciphers {
        let estimates = Costs::estimates(cipher);
        for (name, job) in jobs(cipher) {
            let mut known = Vec::new();
            for (cap, features) in &caps {
                let id = format!("{name}/{cap}{}", suffix(policy));
                if !filter.passes(&id) {
                    continue;
                }
                let limits = Limits::of(*features, policy);
                let kernels = kernels(job, &limits, &estimates)?;
                if !known.contains(&kernels) {
                    known.push(kernels);
                    cases.push((id, job, limits));
                }
            }
        }
    }
    Ok(cases)
}

/// The jobs of a cipher that are judged, and their names.
fn jobs(cipher: Cipher) -> [(String, Job); 5] {
    let keys = |usage| JobSource::Keys { usage, known_bits: JobSource::WHOLE_BLOCK };
    [
        ("ecb", Direction::Encrypt, JobSource::Bytes),
        ("ecb-decrypt", Direction::Decrypt, JobSource::Bytes),
        ("ctr", Direction::Encrypt, JobSource::Counter),
        ("search", Direction::Encrypt, keys(TableReuse::Often)),
        ("search-list", Direction::Encrypt, keys(TableReuse::Once)),
    ]
    .map(|(mode, direction, source)| (format!("{cipher}-{mode}"), Job { cipher, direction, source }))
}

/// The names of all kernels and conversions that a plan of the job may use.
fn kernels(job: Job, limits: &Limits, costs: &Costs) -> Result<Vec<String>, Error> {
    let flow = JobFlow::new(job, limits, costs)?;
    Ok(flow.flow().edges().iter().map(|edge| edge.name.clone()).collect())
}

/// Caps with different features on this CPU, and those features.
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
    let nothing = || Error::usage("nothing was run");
    let start_ns = clock_ns();
    let [measured, ..] = &choose(job, limits, costs)?[..] else { return Err(nothing()) };
    let search_ms = (clock_ns() - start_ns) as f64 / 1e6;
    let estimated = choose(job, limits, &Costs::estimates(job.cipher))?.swap_remove(0);
    let few = Field { len_bytes: all_paths(job).len_bytes, budget_ms: 200, ..Field::default() };
    let chosen = contend(job, limits, costs, few, clock_ns)?.swap_remove(0);
    // Fastest first.
    let field = all_paths(job);
    let every = contend(job, limits, costs, field, clock_ns)?;
    let flow = JobFlow::new(job, limits, costs)?;
    let run_ns = |name: String| {
        let same = every.iter().find(|one| one.plan.to_string() == name);
        same.map(|one| one.measured.fastest_ns)
    };
    let [best, ..] = &every[..] else { return Err(nothing()) };
    let best_ns = best.measured.fastest_ns;
    let by_measure_ns = run_ns(measured.to_string()).ok_or_else(nothing)?;
    let by_exhaustive_ns = run_ns(chosen.plan.to_string()).ok_or_else(nothing)?;
    // The choice by estimates need not be among the best by measured costs.
    let by_estimate_ns = match run_ns(estimated.to_string()) {
        Some(run_ns) => run_ns,
        None => {
            let sampling = Sampling { turns: 15, sample_ns: 1_000_000 };
            let pair = [best.plan.clone(), estimated];
            let found = end_to_end(job, limits, &pair, field.len_bytes, sampling, clock_ns)?;
            best_ns * found[1].fastest_ns / found[0].fastest_ns
        }
    };
    let fastest = |mixes: bool| every.iter().find(|one| flow.flow().mixes(&one.path) == mixes);
    let pure = fastest(false).ok_or_else(nothing)?;
    let percent = |ns: f64, of_ns: f64| 100.0 * (ns / of_ns - 1.0);
    let off = |one: &Contender| percent(one.path.total_ns, one.measured.fastest_ns).abs();
    Ok(Finding {
        id,
        paths: every.len(),
        best: told(best),
        gb_per_s: field.len_bytes as f64 / best_ns,
        behind: [by_estimate_ns, by_measure_ns, by_exhaustive_ns].map(|ns| percent(ns, best_ns)),
        prediction: percent(measured.cost.at(field.len_bytes as u64), by_measure_ns),
        prediction_of_ten: every.iter().take(10).map(off).fold(0.0, f64::max),
        mixed: fastest(true).map(|mixed| (told(mixed), mixed.measured.fastest_ns / pure.measured.fastest_ns)),
        search_ms,
    })
}

/// A path as one line.
fn told(contender: &Contender) -> String {
    summary(&contender.path.names().collect::<Vec<_>>())
}

fn head(printer: &mut Printer) -> Result<(), Error> {
    if printer.json {
        return Ok(());
    }
    printer.line("behind the best of all paths run, by effort; predicted against measured, for the choice and at most for the ten fastest; best mix / best pure form; how much slower than at its best the machine was\n")?;
    printer.line(format_args!(
        "{:40} {:>5} {:>8} {:>9} {:>9} {:>10} {:>10} {:>7} {:>8} {:>6}  best",
        "job",
        "paths",
        "GB/s",
        "estimate",
        "measure",
        "exhaustive",
        "predicted",
        "of ten",
        "mix/pure",
        "slowed"
    ))
}

/// Prints a finding. The machine was slower than at its best by the fraction `slowed`.
fn line(finding: &Finding, slowed: f64, printer: &mut Printer) -> Result<(), Error> {
    let Finding { id, paths, best, gb_per_s, behind, prediction, prediction_of_ten, mixed, search_ms } =
        finding;
    let [estimate, measure, exhaustive] = behind;
    let (mixed, mixed_to_pure) = mixed.as_ref().map(|(mixed, ratio)| (mixed, ratio)).unzip();
    if printer.json {
        return printer.line(json!({
            "plan": id, "paths": paths, "best": best, "gb_per_s": gb_per_s,
            "estimate_behind_percent": estimate, "measure_behind_percent": measure,
            "exhaustive_behind_percent": exhaustive, "prediction_off_percent": prediction,
            "prediction_off_of_ten_best_percent": prediction_of_ten,
            "mixed": mixed, "mixed_to_pure": mixed_to_pure, "search_ms": search_ms, "spread": slowed,
        }));
    }
    printer.line(format_args!(
        "{id:40} {paths:>5} {gb_per_s:>8.3} {estimate:>+8.1}% {measure:>+8.1}% {exhaustive:>+9.1}% \
         {prediction:>+9.1}% {prediction_of_ten:>6.1}% {:>8} {:>5.0}%  {best}",
        mixed_to_pure.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
        100.0 * slowed
    ))
}

/// The number of cases within each limit, and whether mixing representations gains anything.
fn conclusion(findings: &[Finding], printer: &mut Printer) -> Result<(), Error> {
    let [measure_bar, exhaustive_bar, prediction_bar] = BARS;
    let count = |holds: &dyn Fn(&Finding) -> bool| findings.iter().filter(|one| holds(one)).count();
    let met = [
        count(&|one| one.behind[1] <= measure_bar),
        count(&|one| one.behind[2] <= exhaustive_bar),
        count(&|one| one.prediction.abs() <= prediction_bar),
        count(&|one| one.prediction_of_ten <= prediction_bar),
    ];
    let search_ms = findings.iter().map(|one| one.search_ms).fold(0.0, f64::max);
    let mixes = findings.iter().filter_map(|one| Some((&one.id, one.mixed.as_ref()?)));
    let best = mixes.min_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b));
    let gaining = count(&|one| one.mixed.as_ref().is_some_and(|(_, ratio)| *ratio < 1.0));
    if printer.json {
        return printer.line(json!({
            "jobs": findings.len(), "measure_within_5_percent": met[0],
            "exhaustive_within_2_percent": met[1], "prediction_within_10_percent": met[2],
            "ten_predictions_within_10_percent": met[3], "mixing_gains": gaining, "longest_search_ms": search_ms,
        }));
    }
    printer.line(format_args!(
        "\nof {} jobs: measure within {measure_bar} % of the best in {}, exhaustive within {exhaustive_bar} % in {}, \
         predicted within {prediction_bar} % of measured in {}, and all of the ten fastest in {}; \
         the longest search took {search_ms:.1} ms",
        findings.len(),
        met[0],
        met[1],
        met[2],
        met[3],
    ))?;
    let Some((id, (mixed, ratio))) = best else { return Ok(()) };
    let percent = 100.0 * (1.0 - ratio).abs();
    printer.line(if gaining == 0 {
        format!("no mix of representations beats the best pure form; nearest, {percent:.1} % behind, is in {id}: {mixed}")
    } else {
        format!("a mix of representations beats every pure form in {gaining}, most in {id}, by {percent:.1} %: {mixed}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_with_the_same_kernels_are_judged_once() {
        let filter = ["serpent-256-ecb/".to_owned()];
        let cases = cases(Filter(&filter), Features::of_cpu(), Policy::ConstantTime).unwrap();
        assert_eq!(cases[0].0, "serpent-256-ecb/portable");
        let estimates = Costs::estimates(Cipher::Serpent256);
        let mut all: Vec<_> =
            cases.iter().map(|(_, job, limits)| kernels(*job, limits, &estimates).unwrap()).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), cases.len());
    }
}
