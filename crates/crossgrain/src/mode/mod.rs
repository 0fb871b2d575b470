//! Modes of operation: sequences of program runs. They know no variant and no ISA.

mod ctr;
mod ecb;

pub use ctr::Ctr;
pub use ecb::Ecb;

use std::sync::{Arc, Mutex, PoisonError};

use crate::block::{Direction, Error, Key};
use crate::exec::{Program, Threads};
use crate::plan::{Costs, Job, Limits, Plan, choose};
use crate::variant::Policy;
use crate::word::Features;

/// The modes whose blocks run side by side here, by name, with their directions. `tests/dependences.rs` holds
/// each to what its data dependences allow.
pub const PARALLEL: &[(&str, Direction)] = &[
    ("ecb", Direction::Encrypt),
    ("ecb", Direction::Decrypt),
    ("ctr", Direction::Encrypt),
    ("ctr", Direction::Decrypt),
];

/// How a mode is to be run. The default: constant-time variants, all instructions that the CPU has and
/// `CROSSGRAIN_ISA` allows, and all threads of rayon's pool.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What variants may leak.
    pub policy: Policy,
    /// Instructions that may be used; `None` for what the environment allows.
    pub features: Option<Features>,
    /// Names of variants that must be used; empty to choose freely.
    pub variants: Vec<String>,
    /// At most so many threads; 0 for all of rayon's current pool.
    pub threads: usize,
    /// What variants cost here, as `tune::measure_costs` found; `None` for the estimates shipped.
    pub costs: Option<Arc<Costs>>,
}

impl Options {
    fn limits(&self) -> Result<Limits, Error> {
        let features = match self.features {
            Some(features) => features & Features::of_cpu(),
            None => Features::from_environment()?,
        };
        Ok(Limits { features, policy: self.policy, forced: self.variants.clone() })
    }

    /// Plans a job and binds it to a key.
    fn program(&self, job: Job, key: &Key) -> Result<Program, Error> {
        let limits = self.limits()?;
        let threads = Threads::at_most(self.threads);
        match &self.costs {
            Some(costs) => Program::new(job, key, &limits, costs, threads),
            None => Program::of(estimated(job, &limits)?, key, limits.features, threads),
        }
    }
}

/// The plans by estimates, remembered: a program for a short message must not cost a search.
fn estimated(job: Job, limits: &Limits) -> Result<Vec<Plan>, Error> {
    static KNOWN: Mutex<Vec<(Job, Limits, Vec<Plan>)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, _, plans)) = known.iter().find(|(j, l, _)| *j == job && l == limits) {
        return Ok(plans.clone());
    }
    let plans = choose(job, limits, &Costs::estimates(job.cipher))?;
    if limits.forced.is_empty() {
        known.push((job, limits.clone(), plans.clone()));
    }
    Ok(plans)
}
