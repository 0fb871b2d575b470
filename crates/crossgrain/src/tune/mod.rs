//! Measured costs, and plans made with selectable effort.
//!
//! Every usable variant is compared with the reference and then timed as `run` runs it. Measurements happen
//! only on request; without them, plans use estimates. The only clock is the one that the caller passes.

mod confirm;
mod whole;

pub use confirm::{Confirmed, Contradiction, confirm};
pub use whole::{Contender, Field, contend, contend_on, end_to_end};

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use crate::arch::Features;
use crate::block::{BLOCK_BYTES, Cipher, Error};
use crate::check;
use crate::plan::compose::Cost;
use crate::plan::graph::{self, JobFlow};
use crate::plan::measure::{Measured, Sampling, Subject, measure};
use crate::plan::{Costs, Job, Known, Limits, Plans, Trial, Workspace, choose};
use crate::variant::{Action, Policy, Variant, table};

/// The buffer size of a whole cipher's longer trial, in bytes: large compared to the overhead of a call, and
/// more than L1 holds.
const BULK_BYTES: usize = 1 << 18;

/// The effort spent on finding the best plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Effort {
    /// The cheapest path by the shipped costs, without measurements.
    #[default]
    Estimate,
    /// The cheapest path by costs measured here and now. If the shipped costs choose one that runs faster, those
    /// measured costs are dropped.
    Measure,
    /// The fastest of the cheapest paths by measured costs, each timed end to end.
    Exhaustive,
}

impl Effort {
    /// All efforts, the least first.
    pub const ALL: [Self; 3] = [Self::Estimate, Self::Measure, Self::Exhaustive];

    /// The name that users type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Estimate => "estimate",
            Self::Measure => "measure",
            Self::Exhaustive => "exhaustive",
        }
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Effort {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|effort| effort.name() == name);
        found.ok_or_else(|| Error::UnknownEffort(name.to_owned()))
    }
}

/// Plans a job with this effort, for [`Options::plans`](crate::mode::Options::plans). Measuring costs takes
/// about `budget_ms` milliseconds. An exhaustive search takes about the same time again for whole runs.
///
/// # Errors
/// As [`choose`], [`measure_costs`], `confirm` and [`contend`].
pub fn plans(
    job: Job,
    limits: &Limits,
    effort: Effort,
    budget_ms: u64,
    clock_ns: &dyn Fn() -> u64,
) -> Result<Plans, Error> {
    let Limits { features, policy, .. } = *limits;
    let scope = Scope { cipher: job.cipher, features, policy, budget_ms: Some(budget_ms) };
    let costs = match effort {
        Effort::Estimate => Costs::estimates(job.cipher),
        Effort::Measure => {
            let measured = measure_costs(scope, clock_ns, &|| ())?;
            let confirmed = confirm(&[job], limits, &measured, graph::BULK_BYTES, budget_ms, clock_ns)?;
            confirmed.costs.filled(job.cipher)
        }
        Effort::Exhaustive => measure_costs(scope, clock_ns, &|| ())?,
    };
    if effort != Effort::Exhaustive || !limits.forced.is_empty() {
        return Plans::new(job, choose(job, limits, &costs)?);
    }
    let contenders = contend(job, limits, &costs, Field { budget_ms, ..Field::default() }, clock_ns)?;
    let fastest = contenders.into_iter().next().map(|contender| contender.plan);
    let fastest = fastest.ok_or_else(|| Error::NoPlan("nothing was run".to_owned()))?;
    Plans::new(job, JobFlow::new(job, limits, &costs)?.with_rest(fastest)?)
}

/// The scope of a measurement, and its time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The cipher whose variants are timed.
    pub cipher: Cipher,
    /// The instructions that may be used.
    pub features: Features,
    /// The leaks that are allowed.
    pub policy: Policy,
    /// About how long to take in all, in milliseconds; [`CANDIDATE_MS`] for each variant if it is `None`.
    /// Answers are checked first. Timing gets the rest, and at least a quarter.
    pub budget_ms: Option<u64>,
}

/// Milliseconds for each variant of a [`Scope`] without a budget. With a third of this, plans changed from run
/// to run.
pub const CANDIDATE_MS: u64 = 20;

impl Scope {
    /// The variants that are timed.
    fn variants(&self) -> Vec<&'static Variant> {
        let admitted = |variant: &&Variant| {
            let family = self.cipher.family();
            let serves = variant.serves(family) || variant.serves_search(family);
            serves && variant.is_available(self.features) && self.policy.admits(variant.leaks)
        };
        table().iter().filter(admitted).collect()
    }

    /// About how long the measurement takes, in milliseconds.
    pub fn takes_ms(&self) -> u64 {
        self.budget_ms.unwrap_or_else(|| CANDIDATE_MS * self.variants().len() as u64)
    }
}

/// Times every variant in scope that serves the cipher. `clock_ns` gives nanoseconds that never go back. `watch`
/// is called between samples.
///
/// # Errors
/// [`Error::Unavailable`] for a variant that disagrees with the reference: it is never timed.
pub fn measure_costs(scope: Scope, clock_ns: &dyn Fn() -> u64, watch: &dyn Fn()) -> Result<Costs, Error> {
    let variants = scope.variants();
    let start_ns = clock_ns();
    for variant in &variants {
        watch();
        if !check::agrees(variant, scope.cipher, scope.features)? {
            return Err(check::disagrees(&variant.name));
        }
    }
    let workspace = RefCell::default();
    let trial = |variant: &&Variant, len_bytes| {
        let trial = Trial::new(variant, scope.cipher, scope.features, len_bytes)?;
        Some(Timed { trial, workspace: &workspace, clock_ns, watch })
    };
    let mut bulk: Vec<_> = variants.iter().filter_map(|variant| trial(variant, BULK_BYTES)).collect();
    // Variants that accept less data are timed again with a single block, to find the fixed cost.
    let short = variants.iter().zip(&bulk).map(|(variant, bulk)| {
        let short = trial(variant, BLOCK_BYTES)?;
        (short.trial.len_bytes() < bulk.trial.len_bytes()).then_some(short)
    });
    let mut short: Vec<_> = short.collect();
    let mut subjects: Vec<&mut dyn Subject> = bulk.iter_mut().map(|trial| trial as _).collect();
    subjects.extend(short.iter_mut().flatten().map(|trial| trial as &mut dyn Subject));
    let budget_ns = scope.takes_ms() * 1_000_000;
    let left_ns = budget_ns.saturating_sub(clock_ns().saturating_sub(start_ns)).max(budget_ns / 4);
    let sampling = sampling(left_ns, subjects.len());
    let measured = measure(&mut subjects, sampling);
    let (bulk_found, short_found) = measured.split_at(bulk.len());
    let mut short_found = short_found.iter();
    let rows = variants.iter().zip(bulk.iter().zip(bulk_found)).zip(&short);
    let point = |timed: &Timed<'_>, found: &Measured| (timed.trial.len_bytes() as f64, found.fastest_ns);
    let rows = rows.map(|((variant, (bulk, found)), short)| {
        let short = short.as_ref().and_then(|short| Some(point(short, short_found.next()?)));
        let spread = Some(found.spread).filter(|spread| spread.is_finite());
        (variant.name.clone(), Known { cost: cost(variant, point(bulk, found), short), spread })
    });
    Ok(rows.collect())
}

/// Samples short enough for all turns of all subjects, plus calibration.
fn sampling(budget_ns: u64, subjects: usize) -> Sampling {
    const TURNS: usize = 20;
    let samples = (subjects * (TURNS + 3)).max(1) as u64;
    Sampling { turns: TURNS, sample_ns: (budget_ns / samples).max(1000) }
}

struct Timed<'a> {
    trial: Trial,
    /// All trials share it.
    workspace: &'a RefCell<Workspace>,
    clock_ns: &'a dyn Fn() -> u64,
    watch: &'a dyn Fn(),
}

impl Subject for Timed<'_> {
    fn time_ns(&mut self, repeats: u32) -> u64 {
        (self.watch)();
        let mut workspace = self.workspace.borrow_mut();
        elapsed_ns(self.clock_ns, || (0..repeats).for_each(|_| self.trial.run(&mut workspace)))
    }
}

/// The duration of `work` by a clock, in nanoseconds.
fn elapsed_ns(clock_ns: &dyn Fn() -> u64, work: impl FnOnce()) -> u64 {
    let start = clock_ns();
    work();
    clock_ns().saturating_sub(start)
}

/// The line through two points (bytes, nanoseconds), or through one point and the origin. A part on a tile
/// also pays for one bundle, since it cannot process less.
fn cost(variant: &Variant, (len_bytes, run_ns): (f64, f64), short: Option<(f64, f64)>) -> Cost {
    let (short_bytes, short_ns) = short.unwrap_or_default();
    let per_byte_ns = ((run_ns - short_ns) / (len_bytes - short_bytes)).max(0.0);
    let begin_ns = (short_ns - per_byte_ns * short_bytes).max(0.0);
    let bundle_bytes = (variant.repr.bundle_blocks().unwrap_or(0) * BLOCK_BYTES) as f64;
    let calls_ns = if let Action::Pass(fused) = variant.action { fused.calls_ns() } else { 0.0 };
    Cost { fixed_ns: begin_ns + per_byte_ns * bundle_bytes + calls_ns, per_byte_ns }
}
