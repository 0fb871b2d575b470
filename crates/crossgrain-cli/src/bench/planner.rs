//! `crossgrain bench --planner`: the quality of the planner's choices.
//!
//! Costs are measured first. Then, for every job under every ISA cap, three sets of paths are timed end to
//! end, in turns: those predicted to be best, the best of every pure form, and the best that mix
//! representations. The fastest of them represents the optimum. The choices of the efforts `measure` and
//! `exhaustive` are compared with it.
//!
//! A virtual machine shares its cores. Another machine's thread on the same core slows some code by a
//! tenth and other code by nearly half, for seconds, and neither load nor processor times show it. So costs
//! and paths are measured in rounds that lie far apart, and the fastest counts. A job's spread compares the
//! two fastest rounds of its best path.

use std::collections::HashMap;

use crossgrain::Policy;
use crossgrain::engine::arch::CAPS;
use crossgrain::engine::tune::{Contender, Field, Scope, contend, contend_on, measure_costs};
use crossgrain::plan::compose::{Cost, Path};
use crossgrain::plan::graph::JobFlow;
use crossgrain::plan::{Costs, Job, JobSource, Known, Limits, Plan, TableReuse, choose};
use crossgrain::{Cipher, Direction, Features};
use serde_json::json;

use super::subject::suffix;
use super::{Filter, Printer};
use crate::error::Error;
use crate::plan::summary;
use crate::typed::clock_ns;

/// The paths that represent all paths of a job.
const fn all_paths(job: Job) -> Field {
    let len_bytes = if job.source.is_search() { SEARCH_BYTES } else { DATA_BYTES };
    Field { best: 96, mixed: 24, len_bytes, budget_ms: 330 }
}

/// How often everything is measured.
const ROUNDS: usize = 3;

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
    /// The excess of the second fastest round of the best path over its fastest, as a fraction.
    spread: f64,
}

/// A job under a cap, and the paths that ran.
struct Case {
    id: String,
    job: Job,
    limits: Limits,
    runs: Vec<Run>,
    /// The choice of `exhaustive`, which makes one round.
    exhaustive: Option<Path>,
}

/// A path and its rounds.
struct Run {
    /// The path, with the time of its fastest round.
    fastest: Contender,
    rounds_ns: Vec<f64>,
}

/// Measures, and prints one line per job and cap and a conclusion.
pub(super) fn run(filter: Filter<'_>, policy: Policy, printer: &mut Printer) -> Result<(), Error> {
    let features = Features::from_environment()?;
    let mut cases = cases(filter, features, policy)?;
    if cases.is_empty() {
        return Err(Error::usage(
            "no job and cap has this in its id: give aes-128-ctr/portable, say, or nothing",
        ));
    }
    let clock_ns = clock_ns();
    head(printer)?;
    let mut costs = HashMap::new();
    for _ in 0..ROUNDS {
        for job in cases.chunk_by(|one, other| one.job.cipher == other.job.cipher).map(|cases| cases[0].job) {
            let scope = Scope { cipher: job.cipher, features, policy, budget_ms: None };
            let scope = Scope { budget_ms: Some(scope.takes_ms() / 2), ..scope };
            let found = measure_costs(scope, &clock_ns, &|| ())?;
            let known = costs.remove(&job.cipher).unwrap_or_default();
            costs.insert(job.cipher, cheaper(&known, found));
        }
    }
    for _ in 1..ROUNDS {
        cases.iter_mut().try_for_each(|case| case.run(&costs[&case.job.cipher], &clock_ns))?;
    }
    let mut findings = Vec::new();
    for case in &mut cases {
        let costs = &costs[&case.job.cipher];
        case.run(costs, &clock_ns)?;
        let finding = case.found(costs, &clock_ns)?;
        line(&finding, printer)?;
        findings.push(finding);
    }
    conclusion(&findings, printer)
}

/// These costs, and those known from earlier rounds where they are lower.
fn cheaper(known: &Costs, found: Costs) -> Costs {
    let bulk = |cost: Cost| cost.at(DATA_BYTES as u64);
    let lower = |(name, found): (&str, Known)| {
        let known_cost = known.by_name(name).filter(|known| bulk(*known) < bulk(found.cost));
        (name.to_owned(), known_cost.map_or(found, |cost| Known { cost, ..found }))
    };
    found.iter().map(lower).collect()
}

/// Every job under every cap whose id contains the filter, without caps that leave a job the same kernels as a
/// cap before. Without a filter, the jobs of AES-128.
fn cases(filter: Filter<'_>, allowed: Features, policy: Policy) -> Result<Vec<Case>, Error> {
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
                    cases.push(Case { id, job, limits, runs: Vec::new(), exhaustive: None });
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

impl Case {
    /// Runs all paths once more. The first time also chooses by `exhaustive`.
    fn run(&mut self, costs: &Costs, clock_ns: &dyn Fn() -> u64) -> Result<(), Error> {
        let Self { job, ref limits, .. } = *self;
        if self.exhaustive.is_none() {
            let few = Field { len_bytes: all_paths(job).len_bytes, budget_ms: 200, ..Field::default() };
            let fastest = contend(job, limits, costs, few, clock_ns)?.into_iter().next();
            self.exhaustive = fastest.map(|one| one.path);
        }
        let (flow, field) = (JobFlow::new(job, limits, costs)?, all_paths(job));
        let mut paths = field.paths(&flow)?;
        // The choice by estimates need not be among the best by measured costs.
        let estimated = &choose(job, limits, &Costs::estimates(job.cipher))?[0];
        let estimated = flow.follow(estimated, field.len_bytes as u64)?;
        if !paths.iter().any(|path| path.names().eq(estimated.names())) {
            paths.push(estimated);
        }
        for contender in contend_on(job, limits, (&flow, paths), field, clock_ns)? {
            let run_ns = contender.measured.fastest_ns;
            match self.runs.iter_mut().find(|run| run.fastest.path == contender.path) {
                Some(run) => {
                    run.rounds_ns.push(run_ns);
                    if run_ns < run.ns() {
                        run.fastest = contender;
                    }
                }
                None => self.runs.push(Run { fastest: contender, rounds_ns: vec![run_ns] }),
            }
        }
        self.runs.sort_by(|a, b| a.ns().total_cmp(&b.ns()));
        Ok(())
    }

    /// Judges the planner by all rounds.
    fn found(&self, costs: &Costs, clock_ns: &dyn Fn() -> u64) -> Result<Finding, Error> {
        let nothing = || Error::usage("nothing was run");
        let (job, limits) = (self.job, &self.limits);
        let start_ns = clock_ns();
        let [measured, ..] = &choose(job, limits, costs)?[..] else { return Err(nothing()) };
        let search_ms = (clock_ns() - start_ns) as f64 / 1e6;
        let estimated = choose(job, limits, &Costs::estimates(job.cipher))?.swap_remove(0);
        let len_bytes = all_paths(job).len_bytes;
        let flow = JobFlow::new(job, limits, costs)?;
        let ns_of = |is_it: &dyn Fn(&Contender) -> bool| {
            self.runs.iter().find(|run| is_it(&run.fastest)).map(Run::ns)
        };
        let ns_of_plan = |plan: &Plan| ns_of(&|one| one.plan.to_string() == plan.to_string());
        // Fastest first.
        let [best, ..] = &self.runs[..] else { return Err(nothing()) };
        let by_measure_ns = ns_of_plan(measured).ok_or_else(nothing)?;
        let by_exhaustive_ns =
            ns_of(&|one| Some(&one.path) == self.exhaustive.as_ref()).ok_or_else(nothing)?;
        let by_estimate_ns = ns_of_plan(&estimated).ok_or_else(nothing)?;
        let fastest =
            |mixes: bool| self.runs.iter().find(|run| flow.flow().mixes(&run.fastest.path) == mixes);
        let pure = fastest(false).ok_or_else(nothing)?;
        let percent = |ns: f64, of_ns: f64| 100.0 * (ns / of_ns - 1.0);
        let off = |run: &Run| percent(run.fastest.path.total_ns, run.ns()).abs();
        Ok(Finding {
            id: self.id.clone(),
            paths: self.runs.len(),
            best: told(best),
            gb_per_s: len_bytes as f64 / best.ns(),
            behind: [by_estimate_ns, by_measure_ns, by_exhaustive_ns].map(|ns| percent(ns, best.ns())),
            prediction: percent(measured.cost.at(len_bytes as u64), by_measure_ns),
            prediction_of_ten: self.runs.iter().take(10).map(off).fold(0.0, f64::max),
            mixed: fastest(true).map(|mixed| (told(mixed), mixed.ns() / pure.ns())),
            search_ms,
            spread: best.spread(),
        })
    }
}

impl Run {
    /// The time of the fastest sample of all rounds, in nanoseconds.
    const fn ns(&self) -> f64 {
        self.fastest.measured.fastest_ns
    }

    /// The excess of the second fastest round over the fastest, as a fraction.
    fn spread(&self) -> f64 {
        let mut rounds_ns = self.rounds_ns.clone();
        rounds_ns.sort_by(f64::total_cmp);
        rounds_ns.get(1).map_or(0.0, |second_ns| second_ns / rounds_ns[0] - 1.0)
    }
}

/// A path as one line.
fn told(run: &Run) -> String {
    summary(&run.fastest.path.names().collect::<Vec<_>>())
}

fn head(printer: &mut Printer) -> Result<(), Error> {
    if printer.json {
        return Ok(());
    }
    printer.line("behind the best of all paths run, by effort; predicted against measured, for the choice and at most for the ten fastest; best mix / best pure form; the best path's second fastest round over its fastest\n")?;
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
        "spread"
    ))
}

/// Prints a finding.
fn line(finding: &Finding, printer: &mut Printer) -> Result<(), Error> {
    let Finding {
        id,
        paths,
        best,
        gb_per_s,
        behind,
        prediction,
        prediction_of_ten,
        mixed,
        search_ms,
        spread,
    } = finding;
    let [estimate, measure, exhaustive] = behind;
    let (mixed, mixed_to_pure) = mixed.as_ref().map(|(mixed, ratio)| (mixed, ratio)).unzip();
    if printer.json {
        return printer.line(json!({
            "plan": id, "paths": paths, "best": best, "gb_per_s": gb_per_s,
            "estimate_behind_percent": estimate, "measure_behind_percent": measure,
            "exhaustive_behind_percent": exhaustive, "prediction_off_percent": prediction,
            "prediction_off_of_ten_best_percent": prediction_of_ten,
            "mixed": mixed, "mixed_to_pure": mixed_to_pure, "search_ms": search_ms, "spread": spread,
        }));
    }
    printer.line(format_args!(
        "{id:40} {paths:>5} {gb_per_s:>8.3} {estimate:>+8.1}% {measure:>+8.1}% {exhaustive:>+9.1}% \
         {prediction:>+9.1}% {prediction_of_ten:>6.1}% {:>8} {:>5.0}%  {best}",
        mixed_to_pure.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
        100.0 * spread
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
        assert_eq!(cases[0].id, "serpent-256-ecb/portable");
        let estimates = Costs::estimates(Cipher::Serpent256);
        let mut all: Vec<_> =
            cases.iter().map(|case| kernels(case.job, &case.limits, &estimates).unwrap()).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), cases.len());
    }
}
