//! `plan --mixes`: whether mixing representations would pay. The best path of every representation and the best
//! mixes run end to end, next to the predictions. A second prediction leaves out the costs of all conversions.

use crossgrain::engine::tune::{Contender, Field, contend_on};
use crossgrain::plan::compose::{self, Cost, Edge, Flow, Path};

use super::case::{Case, home};
use crate::error::Error;

/// Mixes that are timed.
const MIXES: usize = 8;

/// Milliseconds for all runs, unless a budget is given.
const RUNS_MS: u64 = 3000;

/// The paths that were run, and the prediction without conversions.
#[derive(Debug)]
pub(super) struct Mixes {
    /// Fastest first.
    pub(super) runs: Vec<Run>,
    /// The cheapest path if conversions cost nothing. Its total leaves them out.
    pub(super) free: Path,
}

/// A path that was run.
#[derive(Debug)]
pub(super) struct Run {
    /// The representation of all its parts; `None` for a mix.
    pub(super) representation: Option<String>,
    pub(super) path: Path,
    /// The prediction without the conversions of this path.
    pub(super) free_ns: f64,
    pub(super) measured_ns: f64,
    /// The spread of the samples, as a fraction of the median.
    pub(super) spread: f64,
}

impl Mixes {
    /// Runs the paths of a case.
    pub(super) fn of(case: &Case, budget_ms: Option<u64>, clock_ns: &dyn Fn() -> u64) -> Result<Self, Error> {
        let (facts, job_flow) = (case.facts()?, case.job_flow()?);
        let (flow, len_bytes) = (job_flow.flow(), facts.runs_bytes()?);
        let graph = flow.at(facts.len_bytes);
        let mut paths: Vec<_> = case.report.pure.iter().filter_map(|form| form.whole.clone()).collect();
        paths.extend(graph.mixed(MIXES));
        let field = Field { len_bytes, budget_ms: budget_ms.unwrap_or(RUNS_MS), ..Field::default() };
        let runs = contend_on(case.job()?, &facts.limits(), (job_flow, paths), field, clock_ns)?;
        let runs = runs.into_iter().map(|run| Run::of(flow, run)).collect();
        let free = without_conversions(flow).and_then(|free| free.at(facts.len_bytes).best());
        let free = free.map_err(|error| Error::usage(error.to_string()))?;
        Ok(Self { runs, free })
    }

    /// The time of the fastest mix as a multiple of the fastest pure form's, if there are both.
    pub(super) fn mix_to_pure(&self) -> Option<f64> {
        let fastest = |is_mix| self.runs.iter().find(|run| run.representation.is_none() == is_mix);
        Some(fastest(true)?.measured_ns / fastest(false)?.measured_ns)
    }

    /// A sentence on whether a mix is faster.
    pub(super) fn verdict(&self) -> String {
        match self.mix_to_pure() {
            Some(ratio) if ratio < 1.0 => {
                format!(
                    "measured, the best mix takes {:.1} % less than the best pure form",
                    100.0 * (1.0 - ratio)
                )
            }
            Some(ratio) => {
                format!("measured, the best mix takes {ratio:.2} times as long as the best pure form")
            }
            None => "there is no mix to compare with a pure form".to_owned(),
        }
    }
}

impl Run {
    fn of(flow: &Flow, Contender { path, measured, .. }: Contender) -> Self {
        let edges = path.steps.iter().map(|step| (&flow.edges()[step.edge], step.cost_ns));
        let computing: Vec<_> = edges.filter(|(edge, _)| !flow.parts_of(edge).is_empty()).collect();
        let free_ns = computing.iter().map(|(_, cost_ns)| cost_ns).sum();
        let is_mix = flow.mixes(&path);
        let representation = computing.first().and_then(|(edge, _)| home(edge)).filter(|_| !is_mix);
        let (measured_ns, spread) = (measured.fastest_ns, measured.spread);
        Self { representation, path, free_ns, measured_ns, spread }
    }

    /// Its representation, or that it is a mix.
    pub(super) fn name(&self) -> &str {
        self.representation.as_deref().unwrap_or("mix")
    }
}

/// The same flow with conversions that cost nothing.
fn without_conversions(flow: &Flow) -> Result<Flow, compose::Error> {
    let mut free = Flow::new(flow.parts(), flow.representations())?;
    for edge in flow.edges() {
        let is_conversion = flow.parts_of(edge).is_empty();
        let cost = if is_conversion { Cost::default() } else { edge.cost };
        free.edge(Edge { cost, ..edge.clone() })?;
    }
    Ok(free)
}
