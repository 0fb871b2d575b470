//! Confirms measured costs by whole runs, so that wisdom is never worse than no wisdom.
//!
//! A plan's predicted time is the sum of the times of its parts, each of which was timed separately. Noise
//! in one part, or an effect of parts on one another, can make the sum favour a slow plan. So [`confirm`]
//! runs two plans end to end, in turns: the one that the measured costs choose, and the one that the
//! shipped costs choose. If the first is slower by more than 2 %, the measured costs of both plans are
//! dropped. The scaled estimates that replace them rank the two plans as the shipped costs do.

use std::collections::HashSet;

use super::whole::end_to_end;
use crate::block::Error;
use crate::plan::graph::JobFlow;
use crate::plan::measure::Sampling;
use crate::plan::{Costs, Job, Limits, Plan};

/// A smaller difference is noise.
const SLOWER_MAX: f64 = 0.02;

/// After this many contradictions all measured costs are dropped.
const CONTRADICTIONS_MAX: usize = 8;

/// The maximum size of a run on data, in bytes. Its data stays in L2.
const DATA_BYTES_MAX: u64 = 1 << 18;

/// The maximum size of a run of a search, in bytes: 4096 keys, each of which counts as a block.
const SEARCH_BYTES_MAX: u64 = 1 << 16;

/// The maximum length of a sample, in nanoseconds. Smaller budgets have shorter samples.
const SAMPLE_NS_MAX: u64 = 300_000;

/// Measured costs without those that whole runs contradict.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmed {
    /// The remaining costs. The caller fills the missing costs from estimates ([`Costs::filled`]).
    pub costs: Costs,
    /// The plans that were slower than shipped ones, in the order of their runs.
    pub contradictions: Vec<Contradiction>,
}

/// A plan by measured costs that is slower than the shipped plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contradiction {
    /// The job that both plans compute.
    pub job: Job,
    /// The excess of its time over the shipped plan's, as a fraction of the shipped plan's time.
    pub slower: f64,
}

/// For each of these jobs of one cipher, runs the plan that measured costs choose for a size, and compares
/// it with the shipped plan. A sample takes a hundredth of the budget, and at most 0.3 ms.
///
/// # Errors
/// [`Error::NoPlan`] if there is no path; [`Error::Unavailable`] for a plan that disagrees with the
/// reference.
pub fn confirm(
    jobs: &[Job],
    limits: &Limits,
    costs: &Costs,
    len_bytes: u64,
    budget_ms: u64,
    clock_ns: &dyn Fn() -> u64,
) -> Result<Confirmed, Error> {
    let sampling =
        Sampling { turns: 15, sample_ns: budget_ms.saturating_mul(10_000).clamp(1000, SAMPLE_NS_MAX) };
    let mut found = Confirmed { costs: costs.clone(), contradictions: Vec::new() };
    let mut passed = HashSet::new();
    // A dropped cost may change the plans of jobs that passed, so each contradiction begins a new round.
    'round: loop {
        for &job in jobs {
            let plan = |costs: &Costs| cheapest(job, limits, costs, len_bytes);
            let plans = [plan(&found.costs.filled(job.cipher))?, plan(&Costs::estimates(job.cipher))?];
            let names = plans.each_ref().map(ToString::to_string);
            if names[0] == names[1] || passed.contains(&(job, names.clone())) {
                continue;
            }
            let most_bytes = if job.source.is_search() { SEARCH_BYTES_MAX } else { DATA_BYTES_MAX };
            let run_bytes = len_bytes.min(most_bytes) as usize;
            let times = end_to_end(job, limits, &plans, run_bytes, sampling, clock_ns)?;
            let slower = times[0].fastest_ns / times[1].fastest_ns - 1.0;
            if slower > SLOWER_MAX {
                found.contradictions.push(Contradiction { job, slower });
                found.drop_costs(&plans);
                continue 'round;
            }
            passed.insert((job, names));
        }
        return Ok(found);
    }
}

impl Confirmed {
    /// Drops the costs of these plans. Drops all costs if none of these plans has measured costs, or after
    /// too many contradictions.
    fn drop_costs(&mut self, plans: &[Plan]) {
        let stages = plans.iter().flat_map(|plan| &plan.stages);
        let names: HashSet<_> = stages.map(|stage| stage.variant.name.as_str()).collect();
        let kept = self.costs.iter().filter(|(name, _)| !names.contains(name));
        let kept: Costs = kept.map(|(name, known)| (name.to_owned(), known)).collect();
        let is_hopeless = kept == self.costs || self.contradictions.len() == CONTRADICTIONS_MAX;
        self.costs = if is_hopeless { Costs::default() } else { kept };
    }
}

/// The cheapest plan for a size.
fn cheapest(job: Job, limits: &Limits, costs: &Costs, len_bytes: u64) -> Result<Plan, Error> {
    let flow = JobFlow::new(job, limits, costs)?;
    flow.plan(&flow.flow().at(len_bytes).best()?)
}
