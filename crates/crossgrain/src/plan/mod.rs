//! Plans: which variants a job runs through, as data; and their choice, a shortest path.

pub mod compose;
mod costs;
pub mod graph;
pub mod measure;
mod trial;

pub use costs::Costs;
pub use trial::Trial;

use std::fmt;

use self::compose::Cost;
use crate::block::{Cipher, Direction, Error};
use crate::part::aes::{Part, steps};
use crate::repr::Repr;
use crate::variant::{Action, Leaks, Policy, Variant, find, table};
use crate::word::Features;

/// Where a job's blocks are born, as far as planning goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Birth {
    /// In the job's bytes.
    Bytes,
    /// In a counter.
    Counter,
}

/// What is to be computed: a cipher in a direction, from a source to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// The block cipher.
    pub cipher: Cipher,
    /// Its direction; a counter job encrypts.
    pub direction: Direction,
    /// The source.
    pub birth: Birth,
}

/// What limits the choice of variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions that may be used; those the CPU lacks are never used.
    pub features: Features,
    /// What may leak.
    pub policy: Policy,
    /// Names of variants that must be used; empty to choose freely.
    pub forced: Vec<String>,
}

/// One variant in a plan; parts on a tile say in which round.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// The variant.
    pub variant: &'static Variant,
    /// The round it works for (FIPS 197 counts round keys so); 0 where that means nothing.
    pub round: usize,
}

/// The variants that a bundle runs through, in order.
#[derive(Clone, Debug)]
pub struct Plan {
    /// At least one: a whole cipher, or a way into a tile, parts, and a way out.
    pub stages: Vec<Stage>,
    /// What they are predicted to cost together; nothing for a forced plan.
    pub cost: Cost,
}

impl Plan {
    fn of(variants: &[&'static Variant]) -> Self {
        let stages = variants.iter().map(|variant| Stage { variant, round: 0 }).collect();
        Self { stages, cost: Cost::FREE }
    }

    /// Blocks in the plan's bundle: whole bundles of all its representations, whose sizes divide one
    /// another.
    pub fn bundle_blocks(&self) -> usize {
        self.stages.iter().filter_map(|stage| stage.variant.repr.bundle_blocks()).max().unwrap_or(1)
    }

    /// The worst that any of its variants leaks.
    pub fn leaks(&self) -> Leaks {
        let leaky = self.stages.iter().map(|stage| stage.variant.leaks);
        leaky.into_iter().find(|&leaks| leaks != Leaks::Nothing).unwrap_or(Leaks::Nothing)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = self.stages.iter().map(|stage| stage.variant.name.as_str());
        f.write_str(names.next().unwrap_or("nothing"))?;
        names.try_for_each(|name| write!(f, " > {name}"))
    }
}

/// The plans for a job, widest bundle first: the later ones serve what the first leave over.
///
/// This is the one place where variants are chosen: the cheapest paths through the job's graph, unless
/// variants are forced.
///
/// # Errors
/// [`Error::UnknownVariant`] and [`Error::Unavailable`] for a forced variant that cannot be had,
/// [`Error::NoPlan`] if the costs know no way through.
pub fn choose(job: Job, limits: &Limits, costs: &Costs) -> Result<Vec<Plan>, Error> {
    if limits.forced.is_empty() { graph::cheapest(job, limits, costs) } else { Ok(vec![force(job, limits)?]) }
}

fn is_usable(variant: &Variant, limits: &Limits) -> bool {
    variant.is_available(limits.features) && limits.policy.admits(variant.leaks)
}

fn is_whole(variant: &Variant, job: Job) -> bool {
    match variant.action {
        Action::Whole(direction, _) => job.birth == Birth::Bytes && direction == job.direction,
        Action::WholeCounter(_) => job.birth == Birth::Counter,
        _ => false,
    }
}

fn is_entry(variant: &Variant, job: Job) -> bool {
    match variant.action {
        Action::Load(_) => job.birth == Birth::Bytes,
        Action::Count(_) => job.birth == Birth::Counter,
        _ => false,
    }
}

fn is_part(variant: &Variant, part: Part, job: Job) -> bool {
    // AddRoundKey is its own inverse and has one row for both directions.
    let both_ways = part == Part::AddRoundKey;
    matches!(variant.action, Action::Tile(p, d, _) if p == part && (both_ways || d == job.direction))
}

/// Finds the variant that is preferred among those which fit.
type Pick<'a> = dyn Fn(&dyn Fn(&Variant) -> bool) -> Option<&'static Variant> + 'a;

/// The way into a representation: bytes are loaded; counters are born there, or as blocks and loaded.
fn entry(job: Job, repr: Repr, pick: &Pick<'_>) -> Option<Vec<&'static Variant>> {
    if let Some(direct) = pick(&|variant| is_entry(variant, job)) {
        return Some(vec![direct]);
    }
    let born = table().iter().find(|v| v.repr == Repr::Blocks && matches!(v.action, Action::Count(_)))?;
    let load = pick(&|variant| matches!(variant.action, Action::Load(_)))?;
    (repr != Repr::Blocks && job.birth == Birth::Counter).then(|| vec![born, load])
}

/// A plan that uses every forced variant for what it does, and others of the same representation for
/// the rest: step by step if a step was forced.
fn force(job: Job, limits: &Limits) -> Result<Plan, Error> {
    let forced: Vec<_> = limits.forced.iter().map(|name| find(name)).collect::<Result<_, _>>()?;
    for variant in &forced {
        if !variant.is_available(limits.features) {
            return Err(variant.unavailable(limits.features));
        }
        if !limits.policy.admits(variant.leaks) {
            let reason = format!(
                "it leaks {} and the policy is constant-time: ask for policy any",
                variant.leaks.name()
            );
            return Err(Error::Unavailable { variant: variant.name.clone(), reason });
        }
    }
    if let [whole] = forced[..]
        && is_whole(whole, job)
    {
        return Ok(Plan::of(&[whole]));
    }
    let repr = forced[0].repr;
    let unfit = |variant: &Variant| Error::Unavailable {
        variant: variant.name.clone(),
        reason: "it has no place in this job".to_owned(),
    };
    let pick = |fits: &dyn Fn(&Variant) -> bool| {
        let here = |variant: &&Variant| variant.repr == repr && fits(variant);
        forced
            .iter()
            .copied()
            .find(here)
            .or_else(|| table().iter().rev().filter(here).find(|variant| is_usable(variant, limits)))
    };
    let tile_parts: Vec<(Part, usize)> = forced
        .iter()
        .find_map(|variant| match variant.action {
            Action::Tile(Part::Cipher, ..) => Some(vec![(Part::Cipher, 0)]),
            Action::Tile(Part::Round, ..) => Some(rounds_fused(job)),
            Action::Tile(..) => Some(steps(job.direction, job.cipher.rounds())),
            _ => None,
        })
        .unwrap_or_else(|| vec![(Part::Cipher, 0)]);
    let missing = || unfit(forced[0]);
    let walk = forced.iter().find(|variant| matches!(variant.action, Action::CountEncrypted(_)));
    let walk = walk.filter(|walk| job.birth == Birth::Counter && walk.repr == repr);
    let entries = match walk {
        Some(walk) => vec![*walk],
        None => entry(job, repr, &pick).ok_or_else(missing)?,
    };
    let mut stages: Vec<_> = entries.into_iter().map(|variant| (variant, 0)).collect();
    for (part, round) in tile_parts.into_iter().filter(|_| walk.is_none()) {
        stages.push((pick(&|variant| is_part(variant, part, job)).ok_or_else(missing)?, round));
    }
    let store = pick(&|variant| matches!(variant.action, Action::Store(_)));
    stages.push((store.ok_or_else(missing)?, 0));
    for variant in forced {
        if !stages.iter().any(|(used, _)| std::ptr::eq(*used, variant)) {
            return Err(unfit(variant));
        }
    }
    let stages = stages.into_iter().map(|(variant, round)| Stage { variant, round }).collect();
    Ok(Plan { stages, cost: Cost::FREE })
}

/// The steps with every middle round taken as one part.
fn rounds_fused(job: Job) -> Vec<(Part, usize)> {
    let rounds = job.cipher.rounds();
    let first = [(Part::AddRoundKey, 0)];
    let middle = (1..rounds).map(|round| (Part::Round, round));
    let last = [Part::SubBytes, Part::ShiftRows, Part::AddRoundKey].map(|part| (part, rounds));
    let mut parts: Vec<_> = first.into_iter().chain(middle).chain(last).collect();
    if job.direction == Direction::Decrypt {
        parts.reverse();
    }
    parts
}
