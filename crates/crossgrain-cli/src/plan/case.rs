//! What is shown: a flow with its costs, the planner's report on it, and where both come from.

use crossgrain::Features;
use crossgrain::plan::compose::{self, Edge, Flow, Node, Path, Pure, Report, Step};
use crossgrain::plan::{Costs, Job, Limits, graph};
use crossgrain::variant::{Policy, find};

use crate::error::Error;

/// Runners-up that are told.
const RUNNERS_UP: usize = 5;

/// A planned flow.
#[derive(Debug)]
pub(super) struct Case {
    /// What it is about.
    pub(super) title: String,
    /// Nothing is known of costs from a file but the costs.
    pub(super) facts: Option<Facts>,
    pub(super) flow: Flow,
    pub(super) report: Report,
    /// Nanoseconds that the best path and the runners-up took end to end, if costs were measured.
    pub(super) measured: Vec<f64>,
}

/// What was asked for, where it is a job of this library.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) job: Job,
    /// `ctr`, `ecb` or `ecb-decrypt`.
    pub(super) mode: String,
    /// `estimate` or `measure`.
    pub(super) effort: String,
    pub(super) policy: Policy,
    pub(super) features: Features,
    pub(super) len_bytes: u64,
}

impl Facts {
    /// What the costs are worth, and what the policy lets through.
    pub(super) fn basis(&self) -> String {
        let costs = match self.effort.as_str() {
            "measure" => "costs measured here and now",
            _ => "estimated costs, as shipped: nothing was timed here",
        };
        match self.policy {
            Policy::Any => format!("policy any, a plan may leak through the cache; {costs}"),
            Policy::ConstantTime => format!("policy constant-time; {costs}"),
        }
    }
}

impl Case {
    /// A job of this library, by these costs.
    pub(super) fn of_job(facts: Facts, costs: &Costs) -> Result<Self, Error> {
        let limits = Limits { features: facts.features, policy: facts.policy, forced: Vec::new() };
        let flow = graph::flow(facts.job, &limits, costs)?;
        let report = flow.at(facts.len_bytes).report(RUNNERS_UP);
        let mut report = report.map_err(|error| Error::usage(error.to_string()))?;
        for edge in flow.edges().iter().enumerate().filter(|(_, edge)| is_whole(edge)) {
            add_whole(&mut report.pure, edge, facts.len_bytes);
        }
        let title = format!("{} {} of {}", facts.job.cipher, facts.mode, bytes(facts.len_bytes));
        Ok(Self { title, facts: Some(facts), flow, report, measured: Vec::new() })
    }

    /// Somebody's costs, in a unit of their own.
    pub(super) fn of_costs(title: String, flow: Flow) -> Result<Self, compose::Error> {
        let report = flow.at(0).report(RUNNERS_UP)?;
        Ok(Self { title, facts: None, flow, report, measured: Vec::new() })
    }

    /// The cheapest way to compute everything in one representation, if there is one.
    pub(super) fn pure(&self, representation: &str) -> Option<&Path> {
        let form = self.report.pure.iter().find(|form| form.representation == representation)?;
        form.whole.as_ref()
    }

    /// Representations from along the grain to across it, narrow before wide; a file's as it has them.
    pub(super) fn representations(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.flow.representations().iter().map(String::as_str).collect();
        if self.facts.is_some() {
            names.sort_by_key(|name| grain(name));
        }
        names
    }
}

fn is_whole(edge: &Edge) -> bool {
    (&edge.from, &edge.to) == (&Node::Source, &Node::Sink)
}

/// The representation of an edge that computes parts: that of its ends, or of its variant.
pub(super) fn home(edge: &Edge) -> Option<String> {
    let ends = edge.to.representation().or_else(|| edge.from.representation());
    ends.map(str::to_owned).or_else(|| Some(find(&edge.name).ok()?.repr.to_string()))
}

/// A kernel from source to sink is a pure form of the representation it works in.
fn add_whole(pure: &mut Vec<Pure>, (index, edge): (usize, &Edge), len_bytes: u64) {
    let Some(representation) = home(edge) else { return };
    let Edge { name, from, to, cost } = edge.clone();
    let total_ns = cost.at(len_bytes);
    let path = Path { steps: vec![Step { edge: index, name, from, to, cost_ns: total_ns }], total_ns };
    match pure.iter_mut().find(|form| form.representation == representation) {
        None => pure.push(Pure { representation, parts: None, whole: Some(path) }),
        Some(form) if form.whole.as_ref().is_none_or(|whole| total_ns < whole.total_ns) => {
            form.whole = Some(path);
        }
        Some(_) => {}
    }
}

/// Where a representation of this library stands between the grains, and its width.
fn grain(name: &str) -> (usize, usize) {
    const KINDS: [&str; 4] = ["blocks", "bytesliced", "hsliced", "bitsliced"];
    let kind = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let place = KINDS.iter().position(|known| *known == kind).unwrap_or(KINDS.len());
    (place, name[kind.len()..].parse().unwrap_or(0))
}

/// A size in the largest unit that keeps it whole.
pub(super) fn bytes(len_bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let fits = |(size, _): &(u64, &str)| len_bytes >= *size && len_bytes.is_multiple_of(*size);
    match units.into_iter().find(fits) {
        Some((size, name)) => format!("{} {name}", len_bytes / size),
        None => format!("{len_bytes} bytes"),
    }
}

/// A cost, whole if it is whole.
pub(super) fn number(cost: f64) -> String {
    if cost.fract() == 0.0 || cost >= 1000.0 { format!("{cost:.0}") } else { format!("{cost:.1}") }
}
