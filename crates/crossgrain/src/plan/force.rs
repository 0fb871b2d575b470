//! Plans with variants that the user names, for tests, benchmarks and experiments.
//!
//! Every named variant computes its own step. Other variants of the same representation compute the rest. If
//! the first named variant is a single step, the plan has single steps; if it is a round, the plan has
//! rounds. A named variant without a place in the plan is an error.

use super::compose::Cost;
use super::{Job, Limits, Plan, Stage, is_usable};
use crate::block::{Direction, Error};
use crate::kernel::search::Step;
use crate::kernel::{Part, cut};
use crate::layout::repr::Repr;
use crate::variant::{Action, Variant, table};

/// The plan of a job that uses all variants forced by `limits`.
///
/// # Errors
/// [`Error::Unavailable`] for a variant that cannot be used or has no place in the job.
pub(super) fn plan(job: Job, limits: &Limits) -> Result<Plan, Error> {
    let named = &limits.forced;
    named.iter().try_for_each(|variant| admit(variant, limits))?;
    let stages = match named[..] {
        [kernel] if matches!(kernel.action, Action::Fused(..) | Action::Search(..)) && job.takes(kernel) => {
            vec![Stage { variant: kernel, round: 0 }]
        }
        _ if job.source.is_search() => Forcing::new(job, limits, named).search()?,
        _ => with_mode(job, limits)?,
    };
    let unused = |variant: &&&Variant| !stages.iter().any(|stage| std::ptr::eq(stage.variant, **variant));
    match named.iter().find(unused) {
        Some(variant) => Err(unfit(variant, "it has no place in this job")),
        None => Ok(Plan { stages, cost: Cost::FREE }),
    }
}

/// The stages of the cipher, between the frame and the pass of the job's mode.
fn with_mode(job: Job, limits: &Limits) -> Result<Vec<Stage>, Error> {
    let (of_mode, of_cipher): (Vec<_>, Vec<_>) =
        limits.forced.iter().copied().partition(|variant| is_frame(variant) || is_pass(variant));
    let mut stages = match of_cipher[..] {
        [] => any_cipher(job, limits, of_mode.iter().any(|variant| is_frame(variant)))?,
        [whole] if is_whole(whole) && job.takes(whole) => vec![Stage { variant: whole, round: 0 }],
        _ => Forcing::new(job, limits, &of_cipher).stages()?,
    };
    let stage = |fits: fn(&Variant) -> bool| {
        let named = of_mode.iter().copied().find(|variant| fits(variant) && job.takes(variant));
        let variant = named.or_else(|| last(job, limits, &fits));
        variant.map(|variant| Stage { variant, round: 0 })
    };
    stages.splice(0..0, stage(is_frame));
    stages.extend(stage(is_pass));
    Ok(stages)
}

/// The last variant of the whole cipher in the table, for a frame or a pass, which do not say how the cipher
/// runs. A frame needs one on tiles.
fn any_cipher(job: Job, limits: &Limits, on_tiles: bool) -> Result<Vec<Stage>, Error> {
    let whole = Part::whole(job.cipher.family());
    let is_part = |variant: &Variant| matches!(variant.action, Action::Tile(part, ..) if part == whole);
    if let Some(variant) = last(job, limits, &is_whole).filter(|_| !on_tiles) {
        return Ok(vec![Stage { variant, round: 0 }]);
    }
    let part = last(job, limits, &is_part);
    let part = part.ok_or_else(|| unfit(limits.forced[0], "name a variant of the cipher as well"))?;
    Forcing::new(job, limits, &[part]).stages()
}

/// The last usable variant in the table that fits.
fn last(job: Job, limits: &Limits, fits: &dyn Fn(&Variant) -> bool) -> Option<&'static Variant> {
    table().iter().rev().find(|variant| fits(variant) && is_usable(variant, job, limits))
}

const fn is_frame(variant: &Variant) -> bool {
    matches!(variant.action, Action::Frame(_))
}

const fn is_pass(variant: &Variant) -> bool {
    matches!(variant.action, Action::Pass(_))
}

const fn is_whole(variant: &Variant) -> bool {
    matches!(variant.action, Action::Whole(..) | Action::WholeCounter(_))
}

/// Checks that a variant may be used under these limits.
///
/// # Errors
/// [`Error::Unavailable`] with the reason.
pub(super) fn admit(variant: &Variant, limits: &Limits) -> Result<(), Error> {
    if !variant.is_available(limits.features) {
        return Err(variant.unavailable(limits.features));
    }
    if !limits.policy.admits(variant.leaks) {
        let leaks = variant.leaks.name();
        let why = format!("it leaks {leaks} and the policy is constant-time: ask for policy any");
        return Err(unfit(variant, &why));
    }
    if limits.secret_counter && variant.reads_counter_tables {
        return Err(unfit(
            variant,
            "it reads tables in the counter's order, and this mode's counter is secret",
        ));
    }
    Ok(())
}

fn unfit(variant: &Variant, reason: &str) -> Error {
    Error::Unavailable { variant: variant.name.clone(), reason: reason.to_owned() }
}

/// A forced plan under construction.
struct Forcing<'a> {
    job: Job,
    limits: &'a Limits,
    named: &'a [&'static Variant],
    repr: Repr,
}

impl<'a> Forcing<'a> {
    fn new(job: Job, limits: &'a Limits, named: &'a [&'static Variant]) -> Self {
        Self { job, limits, repr: named[0].repr, named }
    }
    /// The entry, the parts and the exit, in order.
    fn stages(&self) -> Result<Vec<Stage>, Error> {
        let at = |variant, round| Stage { variant, round };
        let encrypting = |variant: &Variant| matches!(variant.action, Action::CountEncrypted(_));
        let encrypting =
            self.named.iter().copied().find(|variant| encrypting(variant) && variant.repr == self.repr);
        let mut stages = Vec::new();
        match encrypting.filter(|_| self.job.source.counts()) {
            Some(encrypting) => stages.push(at(encrypting, 0)),
            None => {
                stages.extend(self.entry()?.into_iter().map(|variant| at(variant, 0)));
                for (part, round) in self.parts() {
                    stages.push(at(
                        self.pick(&|variant| matches!(variant.action, Action::Tile(own, ..) if own == part))?,
                        round,
                    ));
                }
            }
        }
        stages.push(at(self.pick(&|variant| matches!(variant.action, Action::Store(_)))?, 0));
        Ok(stages)
    }

    /// A variant that fits: a named one, otherwise the last usable one in the table.
    fn pick(&self, fits: &dyn Fn(&Variant) -> bool) -> Result<&'static Variant, Error> {
        let here = |variant: &&Variant| variant.repr == self.repr && fits(variant) && self.job.takes(variant);
        let named = self.named.iter().copied().find(here);
        let mut rest = table().iter().rev().filter(here);
        let rest = || rest.find(|variant| is_usable(variant, self.job, self.limits));
        named.or_else(rest).ok_or_else(|| {
            let leaky = |variant: &&Variant| !self.limits.policy.admits(variant.leaks);
            match table().iter().filter(here).find(leaky) {
                Some(leaky) => unfit(
                    self.named[0],
                    &format!(
                        "it would need {}, which leaks {}: ask for policy any",
                        leaky.name,
                        leaky.leaks.name()
                    ),
                ),
                None => unfit(self.named[0], "it has no place in this job"),
            }
        })
    }

    /// The steps of a search, in the direction of the first named step that has one, with the conversions
    /// between them.
    fn search(&self) -> Result<Vec<Stage>, Error> {
        let named = self.named.iter().find_map(|variant| match variant.action {
            Action::SearchStep(_, direction, _) => direction,
            _ => None,
        });
        let direction = named.unwrap_or(self.job.direction);
        let mut stages = vec![self.search_step(Step::Schedule, direction)?];
        let named = |step| self.named.iter().any(|one| is_search_step(one, step, direction));
        let is_halved = named(Step::FirstRounds) || named(Step::LastRounds);
        match self.search_step(Step::Rounds, direction) {
            Ok(rounds) if !is_halved => stages.push(rounds),
            _ => {
                for half in [Step::FirstRounds, Step::LastRounds] {
                    stages.push(self.search_step(half, direction)?);
                }
            }
        }
        stages.push(self.search_step(Step::Comparison, direction)?);
        let mut all = vec![self.conversion(stages[0].repr, |row| matches!(row.action, Action::Load(_)))?];
        for pair in stages.windows(2) {
            all.push(pair[0]);
            if pair[0].repr != pair[1].repr {
                if pair[0].repr != Repr::Blocks {
                    all.push(self.conversion(pair[0].repr, |row| matches!(row.action, Action::Store(_)))?);
                }
                if pair[1].repr != Repr::Blocks {
                    all.push(self.conversion(pair[1].repr, |row| matches!(row.action, Action::Load(_)))?);
                }
            }
        }
        all.extend(stages.last());
        Ok(all.into_iter().map(|variant| Stage { variant, round: 0 }).collect())
    }

    /// The variant for a step of a search: the named one, or one in the representation of a named one, or any.
    fn search_step(&self, step: Step, direction: Direction) -> Result<&'static Variant, Error> {
        let fits =
            |variant: &&'static Variant| is_search_step(variant, step, direction) && self.job.takes(variant);
        if let Some(named) = self.named.iter().copied().find(|variant| fits(variant)) {
            return Ok(named);
        }
        let usable = || table().iter().filter(fits).filter(|row| is_usable(row, self.job, self.limits));
        let mut reprs = self.named.iter().map(|variant| variant.repr);
        let beside = reprs.find_map(|repr| usable().find(|row| row.repr == repr));
        let none = || unfit(self.named[0], "it has no place in this job");
        beside.or_else(|| usable().next()).ok_or_else(none)
    }

    /// A named conversion to or from a representation, or any.
    fn conversion(&self, repr: Repr, is_kind: fn(&Variant) -> bool) -> Result<&'static Variant, Error> {
        let fits =
            |variant: &&'static Variant| variant.repr == repr && is_kind(variant) && self.job.takes(variant);
        let named = self.named.iter().copied().find(|variant| fits(variant));
        let any = || table().iter().filter(fits).find(|row| is_usable(row, self.job, self.limits));
        named.or_else(any).ok_or_else(|| unfit(self.named[0], "it has no place in this job"))
    }

    /// The variants that bring the data into the representation. Bytes are loaded. Counters are created in
    /// the representation, or created as blocks and then loaded.
    fn entry(&self) -> Result<Vec<&'static Variant>, Error> {
        let load = |variant: &Variant| matches!(variant.action, Action::Load(_));
        let count = |variant: &Variant| matches!(variant.action, Action::Count(_));
        if !self.job.source.counts() {
            return Ok(vec![self.pick(&load)?]);
        }
        self.pick(&count).map(|born| vec![born]).or_else(|_| {
            let born = table().iter().find(|variant| variant.repr == Repr::Blocks && count(variant));
            let born = born.ok_or_else(|| unfit(self.named[0], "no counter can be written as blocks"))?;
            Ok(vec![born, self.pick(&load)?])
        })
    }

    /// The parts of the cipher, divided in the same way as the first named part.
    fn parts(&self) -> Vec<(Part, usize)> {
        let Job { cipher, direction, .. } = self.job;
        let part = |variant: &&Variant| match variant.action {
            Action::Tile(part, ..) => Some(part),
            _ => None,
        };
        let first = self.named.iter().find_map(part);
        cut(cipher, direction, first.unwrap_or(Part::whole(cipher.family())))
    }
}

/// Whether a variant computes this step of a search, in this direction or in both.
fn is_search_step(variant: &Variant, step: Step, direction: Direction) -> bool {
    matches!(variant.action, Action::SearchStep(own, way, _)
        if own == step && way.is_none_or(|way| way == direction))
}
