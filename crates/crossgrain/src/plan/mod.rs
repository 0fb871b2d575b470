//! Plans: the variants that a job runs through, and the choice of the cheapest ones.
//!
//! A [`Job`] names a cipher, a direction and a source of blocks. The choice of its plans (`choose`):
//!
//! ```text
//! graph    nodes: position between steps × representation; edges: usable rows of the table, with costs
//! plan 1   cheapest path for 1 MiB
//! plan 2…  cheapest paths for 4096, 1024, 256 and 16 bytes, each kept only if its bundle is narrower, if it
//!          prepares less, or if it is a mode's fused kernel and the plan before is not
//! ```
//!
//! [`compose`] finds the paths. If the user forces variants, `force` builds the plan around them instead.
//! Costs are shipped estimates or measurements ([`Costs`]). `measure` and `trial` time variants. `place` adds
//! devices to a graph. [`Plans`] stores plans and reads them back.

pub mod compose;
mod costs;
mod force;
#[doc(hidden)]
pub mod graph;
#[doc(hidden)]
pub mod measure;
mod place;
mod plans;
mod trial;

pub use costs::{Costs, Known};
pub use plans::Plans;
// Hidden items are not part of the public interface; only this workspace uses them.
#[doc(hidden)]
pub use {
    place::Place,
    trial::{Searching, Trial, Workspace},
};

pub use crate::kernel::fused::Fused;
pub use crate::kernel::search::TableReuse;
pub use crate::variant::Leaks;

use std::fmt;

use self::compose::Cost;
use crate::arch::{DEEP_STACK_BYTES, Features, wipe_stack};
use crate::block::{BLOCK_BYTES, Cipher, Direction, Error};
use crate::variant::{Action, Policy, Variant};

/// The source of a job's blocks or, for a key search, of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobSource {
    /// The job's input bytes.
    Bytes,
    /// A counter.
    Counter,
    /// The messages of a mode that computes more than the cipher.
    Mode(Fused),
    /// A mask or a list of candidate keys: a key search. Every key is tried on one block, whose value on one
    /// side of the cipher is known in full, and on the other side in `known_bits` bits.
    Keys {
        /// How often one inner table of keys is used: many times for a mask, once for a list.
        usage: TableReuse,
        /// At most [`JobSource::WHOLE_BLOCK`].
        known_bits: u32,
    },
}

impl JobSource {
    /// The number of bits in a block. If all of them are known, a search may run the cipher in either
    /// direction.
    pub const WHOLE_BLOCK: u32 = 8 * BLOCK_BYTES as u32;

    /// `bytes`, `counter`, a mode's name, `mask` or `list`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Counter => "counter",
            Self::Mode(fused) => fused.name(),
            Self::Keys { usage, .. } => usage.name(),
        }
    }

    /// Whether the cipher encrypts counters.
    pub const fn counts(self) -> bool {
        match self {
            Self::Counter => true,
            Self::Mode(fused) => fused.counts(),
            Self::Bytes | Self::Keys { .. } => false,
        }
    }

    /// Whether the job is a key search.
    pub const fn is_search(self) -> bool {
        matches!(self, Self::Keys { .. })
    }
}

/// The computation to plan: a cipher in one direction on blocks, alone or within a mode, or a search for its
/// key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// The block cipher.
    pub cipher: Cipher,
    /// The direction of the cipher. A counter job always encrypts.
    pub direction: Direction,
    /// The source of blocks or keys.
    pub source: JobSource,
}

/// Prints, for example, `aes-128, encrypt, from a counter`.
impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cipher, direction, source } = self;
        write!(f, "{cipher}, {}, ", direction.name())?;
        match source {
            JobSource::Bytes => f.write_str("from bytes"),
            JobSource::Counter => f.write_str("from a counter"),
            JobSource::Mode(fused) => write!(f, "for {}", fused.name()),
            JobSource::Keys { usage, known_bits } => {
                write!(f, "for a key of a {} by {known_bits} known bits", usage.name())
            }
        }
    }
}

impl Job {
    /// The jobs of all modes that compute more than the cipher.
    pub fn of_modes(cipher: Cipher) -> impl Iterator<Item = Self> {
        let directions =
            |fused: Fused| if fused.runs_both_ways() { &Direction::ALL[..] } else { &[Direction::Encrypt] };
        Fused::ALL.iter().flat_map(move |&fused| {
            let source = JobSource::Mode(fused);
            directions(fused).iter().map(move |&direction| Self { cipher, direction, source })
        })
    }

    /// Records that each have their own key.
    #[cfg(feature = "own-keys")]
    pub const fn of_own_keys(cipher: Cipher, direction: Direction) -> Self {
        Self { cipher, direction, source: JobSource::Mode(Fused::OwnKeys) }
    }

    /// Whether it is for records that each have their own key.
    #[doc(hidden)]
    pub const fn is_of_own_keys(self) -> bool {
        #[cfg(feature = "own-keys")]
        return matches!(self.source, JobSource::Mode(Fused::OwnKeys));
        #[cfg(not(feature = "own-keys"))]
        false
    }

    /// Chains of blocks, as in CBC encryption and CMAC.
    pub const fn of_chains(cipher: Cipher) -> Self {
        Self { cipher, direction: Direction::Encrypt, source: JobSource::Mode(Fused::Chains) }
    }

    /// Whether this job can use a variant. The variant must serve the cipher; its direction and source must
    /// match where they matter.
    #[doc(hidden)]
    pub fn takes(self, variant: &Variant) -> bool {
        let Self { cipher, direction, source } = self;
        // If the whole block is known, the search may run from either side of the cipher.
        let either =
            matches!(source, JobSource::Keys { known_bits, .. } if known_bits == JobSource::WHOLE_BLOCK);
        let family = cipher.family();
        let serves = if source.is_search() { variant.serves_search(family) } else { variant.serves(family) };
        serves
            && match variant.action {
                // A counter job may also need conversions, since its counter may be created in another
                // representation.
                Action::Load(_) | Action::Store(_) => true,
                Action::Count(_) | Action::CountEncrypted(_) | Action::WholeCounter(_) => source.counts(),
                Action::Tile(part, way, _) => {
                    !source.is_search() && (way == direction || part.is_own_inverse())
                }
                Action::Whole(way, _) => way == direction && !source.counts() && !source.is_search(),
                Action::Fused(fused, way, _) => way == direction && source == JobSource::Mode(fused),
                Action::Frame(fused) | Action::Pass(fused) => source == JobSource::Mode(fused),
                Action::Search(way, own, _) => {
                    let fits = matches!(source, JobSource::Keys { usage, .. } if usage == own);
                    fits && (way == direction || either)
                }
                Action::SearchStep(_, way, _) => {
                    source.is_search() && (either || way.is_none_or(|way| way == direction))
                }
            }
    }
}

/// The limits on the choice of variants.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions that may be used. Instructions that the CPU lacks are never used.
    pub features: Features,
    /// The leaks that are allowed.
    pub policy: Policy,
    /// Variants that must be used; empty if the choice is free.
    pub forced: Vec<&'static Variant>,
    /// Whether the counter depends on the key, as it does in modes that derive it from the key. Variants that
    /// read tables in the counter's order are then excluded under every policy.
    pub secret_counter: bool,
}

impl Limits {
    /// A free choice of variants within these features and this policy, for counters that do not depend on the
    /// key.
    #[must_use]
    pub const fn of(features: Features, policy: Policy) -> Self {
        Self { features, policy, forced: Vec::new(), secret_counter: false }
    }
}

/// One variant in a plan. For a part on a tile it includes the round.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// The variant.
    pub variant: &'static Variant,
    /// The round that it computes, numbered by round key as in FIPS 197; 0 for variants that do not depend on
    /// a round.
    pub round: usize,
}

/// The variants that a bundle runs through, in order.
#[derive(Clone, Debug)]
pub struct Plan {
    /// At least one: a kernel from bytes to bytes, or an entry into a tile, parts, and an exit. The pass of a
    /// mode may follow, and its frame may come first.
    #[doc(hidden)]
    pub stages: Vec<Stage>,
    /// The predicted cost of all stages; zero for a forced plan.
    pub cost: Cost,
}

impl Plan {
    /// The number of blocks in the plan's bundle. Bundle sizes of representations divide one another, so the
    /// largest one holds whole bundles of all.
    pub fn bundle_blocks(&self) -> usize {
        self.stages.iter().filter_map(|stage| stage.variant.repr.bundle_blocks()).max().unwrap_or(1)
    }

    /// The stages of the cipher, between the frame and the pass of a mode.
    pub(crate) fn cipher_stages(&self) -> &[Stage] {
        let is_of_mode = |stage: &Stage| matches!(stage.variant.action, Action::Frame(_) | Action::Pass(_));
        let before = self.stages.iter().take_while(|stage| is_of_mode(stage)).count();
        let after = self.stages[before..].iter().rev().take_while(|stage| is_of_mode(stage)).count();
        &self.stages[before..self.stages.len() - after]
    }

    /// The mode's pass after the cipher. `None` for a fused kernel, and for jobs without a mode.
    pub(crate) fn pass(&self) -> Option<&'static Variant> {
        let last = self.stages.last()?.variant;
        matches!(last.action, Action::Pass(_)).then_some(last)
    }

    /// Whether it is a kernel that computes the whole mode.
    pub(crate) fn is_fused(&self) -> bool {
        matches!(self.stages.first().map(|stage| &stage.variant.action), Some(Action::Fused(..)))
    }

    /// Whether it can follow `before` in a list of plans: its bundle is narrower, for remainders, or it is for
    /// shorter messages. That is a fused kernel, or a plan on tiles that prepares so much less that it takes at
    /// most half the time for one bundle.
    fn follows(&self, before: &Self) -> bool {
        let [wide, narrow] = [before, self].map(Self::bundle_blocks);
        let bundle_ns = |plan: &Self| plan.cost.at((wide * BLOCK_BYTES) as u64);
        let prepares_less = wide > 1 && 2.0 * bundle_ns(self) <= bundle_ns(before);
        narrow < wide || (narrow == wide && !before.is_fused() && (self.is_fused() || prepares_less))
    }

    /// Whether a fused kernel also runs this plan: both have the instructions of one kernel, and this plan is
    /// the cipher as a whole.
    pub(crate) fn is_part_of(&self, fused: &Self) -> bool {
        let ([own, ..], [other]) = (self.cipher_stages(), &fused.stages[..]) else { return false };
        let (own, other) = (own.variant, other.variant);
        let is_whole = matches!(own.action, Action::Whole(..) | Action::WholeCounter(_));
        is_whole && fused.is_fused() && (own.family, own.isa) == (other.family, other.isa)
    }

    /// The worst leak among its variants.
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

/// Jobs are planned as flows, so errors of a flow become errors of the plan.
impl From<compose::Error> for Error {
    fn from(error: compose::Error) -> Self {
        Self::NoPlan(error.to_string())
    }
}

/// The plans for a job, widest bundle first. Later plans process the blocks that remain after the earlier
/// ones. A mode's fused kernel after two passes processes short messages as a whole.
///
/// It takes the cheapest paths through the job's graph, or the forced variants if there are any.
///
/// # Errors
/// [`Error::Unavailable`] for a forced variant that cannot be used, [`Error::NoPlan`] if no path with known
/// costs exists.
#[doc(hidden)]
pub fn choose(job: Job, limits: &Limits, costs: &Costs) -> Result<Vec<Plan>, Error> {
    choose_by(job, limits, &|variant| costs.get(variant))
}

/// [`choose`] by estimated costs. It estimates only variants that the job can use.
pub(crate) fn choose_by_estimates(job: Job, limits: &Limits) -> Result<Vec<Plan>, Error> {
    choose_by(job, limits, &|variant| Costs::estimate(job.cipher, variant))
}

fn choose_by(job: Job, limits: &Limits, cost: &dyn Fn(&Variant) -> Option<Cost>) -> Result<Vec<Plan>, Error> {
    // Moving a value to the heap also copies old stack contents, so no key may remain on the stack, not even
    // in the caller's frames.
    wipe_stack::<DEEP_STACK_BYTES>();
    if limits.forced.is_empty() {
        graph::JobFlow::by(job, limits, cost)?.cheapest()
    } else {
        Ok(vec![force::plan(job, limits)?])
    }
}

fn is_usable(variant: &Variant, job: Job, limits: &Limits) -> bool {
    force::admit(variant, limits).is_ok() && job.takes(variant)
}

fn corrupt(reason: impl ToString) -> Error {
    Error::CorruptPlan(reason.to_string())
}
