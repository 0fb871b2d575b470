//! The plans of a job as data that is stored, read back, and forced.
//!
//! What is read is followed through the graph of its job, made of the whole table, and only a way from the source to the sink is
//! taken. So whatever a file says, the bytes are right, and all that a plan can be is slow.

#[cfg(feature = "wisdom")]
mod json;

use super::compose::{Cost, Flow, Node, Path, Step};
use super::{Costs, Job, Limits, Plan, force, graph};
use crate::block::Error;
use crate::variant::{Policy, table};
use crate::word::Features;

/// The plans of one job, widest bundle first; each computes the job.
///
/// ```
/// use std::sync::Arc;
///
/// use crossgrain::mode::{Ctr, Mode, Options};
/// use crossgrain::plan::Plans;
/// use crossgrain::{Cipher, Direction, Key};
///
/// let job = Mode::Ctr.job(Cipher::Aes128, Direction::Encrypt);
/// let chosen = Options::default().plans_of(job)?;
/// let file = Plans::new(job, chosen)?.to_json();
/// let plans: Plans = file.parse()?;
/// let options = Options { plans: vec![Arc::new(plans)], ..Options::default() };
/// Ctr::with_options(&Key::generate(Cipher::Aes128)?, &[0; 16], &options)?; // runs by these plans
/// # Ok::<(), crossgrain::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plans {
    job: Job,
    plans: Vec<Plan>,
}

impl Plans {
    /// Takes plans for a job.
    ///
    /// # Errors
    /// [`Error::CorruptPlan`] unless there is a plan, each computes the job, and bundles get narrower.
    pub fn new(job: Job, plans: Vec<Plan>) -> Result<Self, Error> {
        let flow = whole_flow(job)?;
        let followed = |plan: &Plan| {
            let names: Vec<_> = plan.stages.iter().map(|stage| stage.variant.name.as_str()).collect();
            let sound = graph::plan(job, &flow, &follow(&flow, &names, 0)?)?;
            let rounds = |plan: &Plan| plan.stages.iter().map(|stage| stage.round).collect::<Vec<_>>();
            if rounds(plan) == rounds(&sound) { Ok(()) } else { Err(corrupt("its rounds are out of order")) }
        };
        plans.iter().try_for_each(followed)?;
        if plans.is_empty() {
            return Err(corrupt("it holds no plan"));
        }
        if !plans.is_sorted_by(|a, b| a.bundle_blocks() > b.bundle_blocks()) {
            return Err(corrupt("its plans do not come widest bundle first"));
        }
        Ok(Self { job, plans })
    }

    /// What they compute.
    pub const fn job(&self) -> Job {
        self.job
    }

    /// The plans, for a program.
    pub fn as_slice(&self) -> &[Plan] {
        &self.plans
    }

    /// The plans, if they are of this job and within its limits.
    ///
    /// # Errors
    /// [`Error::UnfitPlan`] for another job, [`Error::Unavailable`] for a variant beyond the limits.
    pub fn within(&self, job: Job, limits: &Limits) -> Result<&[Plan], Error> {
        if self.job != job {
            return Err(Error::UnfitPlan(format!("it is of {}, and needed is one of {job}", self.job)));
        }
        for stage in self.plans.iter().flat_map(|plan| &plan.stages) {
            force::admit(stage.variant, limits)?;
        }
        Ok(&self.plans)
    }
}

/// The flow of a job over the whole table, whatever runs here and whatever it leaks; its edges are free.
fn whole_flow(job: Job) -> Result<Flow, Error> {
    let features = table().iter().fold(Features::NONE, |all, variant| all | variant.needs);
    let costs: Costs = table().iter().map(|variant| (variant.name.clone(), Cost::FREE)).collect();
    graph::flow(
        job,
        &Limits { features, policy: Policy::Any, forced: Vec::new(), secret_counter: false },
        &costs,
    )
}

/// The path that these names are, from the source to the sink of a flow, with its costs for so many bytes.
///
/// # Errors
/// [`Error::CorruptPlan`] at the first that does not go on from where the one before it ended.
pub fn follow(flow: &Flow, names: &[&str], len_bytes: u64) -> Result<Path, Error> {
    let (mut here, mut steps) = (Node::Source, Vec::new());
    for (at, &name) in names.iter().enumerate() {
        let is_last = at + 1 == names.len();
        let mut edges = flow.edges().iter().enumerate();
        let next = edges
            .find(|(_, edge)| edge.name == name && edge.from == here && (edge.to == Node::Sink) == is_last);
        let (edge, found) = next.ok_or_else(|| {
            let place = format!("its stage {}", at + 1);
            corrupt(format!("{place}, {}, has no place there", name.escape_debug()))
        })?;
        here = found.to.clone();
        let (from, to) = (found.from.clone(), found.to.clone());
        steps.push(Step { edge, name: name.to_owned(), from, to, cost_ns: found.cost.at(len_bytes) });
    }
    let total_ns = steps.iter().map(|step| step.cost_ns).sum();
    if here == Node::Sink { Ok(Path { steps, total_ns }) } else { Err(corrupt("it ends too early")) }
}

fn corrupt(reason: impl ToString) -> Error {
    Error::CorruptPlan(reason.to_string())
}
