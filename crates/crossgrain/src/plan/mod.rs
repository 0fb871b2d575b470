//! Plans: which variants a job runs through, as data; and their choice, a shortest path.

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
// No part of the interface, as all that is hidden: this workspace's own.
#[doc(hidden)]
pub use {
    place::Place,
    trial::{Searching, Trial, Workspace},
};

pub use crate::part::search::Use;
pub use crate::variant::Leaks;

use std::fmt;

use self::compose::Cost;
use crate::block::{BLOCK_BYTES, Cipher, Direction, Error};
use crate::part::search::Step;
use crate::variant::{Action, Policy, Variant};
use crate::word::{Features, wipe_deep_stack};

/// Where a job begins, as far as planning goes: where its blocks come from, or, of a key search, its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Birth {
    /// In the job's bytes.
    Bytes,
    /// In a counter.
    Counter,
    /// In a mask or a list of keys, which are tried on one block: a key search. Of the block's other end so many bits are known.
    Keys {
        /// How often a table of them is used: often for a mask, once for a list.
        usage: Use,
        /// Up to [`Birth::WHOLE_BLOCK`].
        known_bits: u32,
    },
}

impl Birth {
    /// The bits of a block: if so many are known, a search may go in either direction.
    pub const WHOLE_BLOCK: u32 = 8 * BLOCK_BYTES as u32;

    /// `bytes`, `counter`, `mask` or `list`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Counter => "counter",
            Self::Keys { usage, .. } => usage.name(),
        }
    }

    /// Whether the job is a key search.
    pub const fn is_search(self) -> bool {
        matches!(self, Self::Keys { .. })
    }
}

/// What is to be computed: a cipher in a direction, from a source to bytes; or keys of it, from a source to those that may be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// The block cipher.
    pub cipher: Cipher,
    /// Its direction; a counter job encrypts.
    pub direction: Direction,
    /// The source.
    pub birth: Birth,
}

/// Such as `aes-128, encrypt, from a counter`.
impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cipher, direction, birth } = self;
        write!(f, "{cipher}, {}, ", direction.name())?;
        match birth {
            Birth::Bytes => f.write_str("from bytes"),
            Birth::Counter => f.write_str("from a counter"),
            Birth::Keys { usage, known_bits } => {
                write!(f, "for a key of a {} by {known_bits} known bits", usage.name())
            }
        }
    }
}

impl Job {
    /// Whether a variant has a place in this job: it serves the cipher, and goes in its direction and from its
    /// source if that makes a difference to it.
    #[doc(hidden)]
    pub fn takes(self, variant: &Variant) -> bool {
        let Self { cipher, direction, birth } = self;
        // Where all of the block is known, the cipher may go from either end of it to the other.
        let either = matches!(birth, Birth::Keys { known_bits, .. } if known_bits == Birth::WHOLE_BLOCK);
        variant.serves(cipher.family())
            && match variant.action {
                // A conversion, wherever a counter was born.
                Action::Load(_) | Action::Store(_) => !birth.is_search(),
                Action::Count(_) | Action::CountEncrypted(_) | Action::WholeCounter(_) => {
                    birth == Birth::Counter
                }
                Action::Tile(part, way, _) => {
                    !birth.is_search() && (way == direction || part.is_own_inverse())
                }
                Action::Whole(way, _) => way == direction && birth == Birth::Bytes,
                Action::Search(way, own, _) => {
                    let fits = matches!(birth, Birth::Keys { usage, .. } if usage == own);
                    fits && (way == direction || either)
                }
                Action::SearchStep(step, way, _) => {
                    birth.is_search() && (way == direction || either || step == Step::Comparison)
                }
            }
    }
}

/// What limits the choice of variants.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions that may be used; those the CPU lacks are never used.
    pub features: Features,
    /// What may leak.
    pub policy: Policy,
    /// Variants that must be used; empty to choose freely.
    pub forced: Vec<&'static Variant>,
    /// Whether the counter tells something of the key, as a mode may compute it from that: variants that
    /// read tables in its order are then left out, whatever the policy.
    pub secret_counter: bool,
}

/// One variant in a plan; parts on a tile say in which round.
#[doc(hidden)]
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
    #[doc(hidden)]
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

/// A job is planned as a flow.
impl From<compose::Error> for Error {
    fn from(error: compose::Error) -> Self {
        Self::NoPlan(error.to_string())
    }
}

/// The plans for a job, widest bundle first: the later ones serve what the first leave over.
///
/// This is the one place where variants are chosen: the cheapest paths through the job's graph, unless
/// variants are forced.
///
/// # Errors
/// [`Error::Unavailable`] for a forced variant that cannot be had,
/// [`Error::NoPlan`] if the costs know no way through.
#[doc(hidden)]
pub fn choose(job: Job, limits: &Limits, costs: &Costs) -> Result<Vec<Plan>, Error> {
    // What is moved to where it was allocated takes along what lay on the stack: so no key may lie there, not even the caller's.
    wipe_deep_stack();
    if limits.forced.is_empty() {
        graph::JobFlow::new(job, limits, costs)?.cheapest()
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
