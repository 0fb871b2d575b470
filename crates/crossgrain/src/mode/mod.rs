//! Modes of operation: sequences of program runs. They know no variant and no ISA.

mod ctr;
mod ecb;

pub use ctr::Ctr;
pub use ecb::Ecb;

use crate::block::Error;
use crate::exec::Threads;
use crate::plan::Limits;
use crate::variant::Policy;
use crate::word::Features;

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
}

impl Options {
    fn limits(&self) -> Result<Limits, Error> {
        let features = match self.features {
            Some(features) => features & Features::of_cpu(),
            None => Features::from_environment()?,
        };
        Ok(Limits { features, policy: self.policy, forced: self.variants.clone() })
    }

    fn threads(&self) -> Threads {
        Threads::at_most(self.threads)
    }
}
