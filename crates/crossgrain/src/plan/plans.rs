//! The plans of a job as data that can be stored, read back and forced.
//!
//! A stored plan is checked against the graph of its job, built from the whole table, and must be a path from
//! source to sink. A file can therefore never cause wrong output; a bad plan is only slow.

#[cfg(feature = "wisdom")]
mod json;

use super::compose::Cost;
use super::graph::JobFlow;
use super::{Costs, Job, Limits, Plan, corrupt, force};
use crate::arch::Features;
use crate::block::Error;
use crate::variant::{Policy, table};

/// The plans of one job, widest bundle first. Each of them computes the job.
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
    /// Checks plans for a job.
    ///
    /// # Errors
    /// [`Error::CorruptPlan`] if there is no plan, a plan does not compute the job, or bundles do not get
    /// narrower.
    pub fn new(job: Job, plans: Vec<Plan>) -> Result<Self, Error> {
        let flow = whole_flow(job)?;
        let followed = |plan: &Plan| {
            let sound = flow.plan(&flow.follow(plan, 0)?)?;
            let rounds = |plan: &Plan| plan.stages.iter().map(|stage| stage.round).collect::<Vec<_>>();
            if rounds(plan) == rounds(&sound) { Ok(()) } else { Err(corrupt("its rounds are out of order")) }
        };
        plans.iter().try_for_each(followed)?;
        if plans.is_empty() {
            return Err(corrupt("it holds no plan"));
        }
        if !plans.is_sorted_by(|before, plan| plan.follows(before)) {
            return Err(corrupt("its plans are in the wrong order: the widest bundle comes first"));
        }
        Ok(Self { job, plans })
    }

    /// The job that the plans compute.
    pub const fn job(&self) -> Job {
        self.job
    }

    /// The plans, for a program.
    pub fn as_slice(&self) -> &[Plan] {
        &self.plans
    }

    /// The plans, if they are for this job and within its limits.
    ///
    /// # Errors
    /// [`Error::UnfitPlan`] for another job, [`Error::Unavailable`] for a variant outside the limits.
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

/// The flow of a job over the whole table, including variants that this CPU lacks or that leak. Its edges are
/// free.
fn whole_flow(job: Job) -> Result<JobFlow, Error> {
    let features = table().iter().fold(Features::NONE, |all, variant| all | variant.needs);
    let costs: Costs = table().iter().map(|variant| (variant.name.clone(), Cost::FREE)).collect();
    JobFlow::new(job, &Limits::of(features, Policy::Any), &costs)
}
