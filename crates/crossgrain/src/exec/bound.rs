//! A plan bound to a key: each variant with its instructions and its round keys.
//!
//! Holds: a bound plan leads from a source to bytes.

use std::sync::Arc;

use super::tiles::{Running, Work};
use crate::block::{Direction, Error};
use crate::convert::{Load, Store};
use crate::part::{Count, Keys, TilePart, WholePart, tweak};
use crate::plan::Plan;
use crate::variant::{Action, Variant};
use crate::word::{Features, Wiped};

/// A way to add tweaks to a tile, shared by a program's plans.
type Whiten = Arc<dyn tweak::Whiten>;

/// One plan, bound.
pub(super) enum Bound {
    Whole(Wiped<dyn WholePart>),
    Tiles(Box<Tiled>),
}

/// From bytes or counters to bytes by way of tiles.
pub(super) struct Tiled {
    pub(super) bundle_blocks: usize,
    pub(super) entry: Entry,
    pub(super) steps: Vec<Step>,
    pub(super) exit: Box<dyn Store>,
    pub(super) whiten: Whiten,
}

/// What happens to a tile between its entry and its exit.
pub(super) enum Step {
    Part(Wiped<dyn TilePart>),
    /// Out of `blocks` into another representation, in the other tile.
    Load(Box<dyn Load>),
    /// Out of another representation into `blocks`, in the other tile.
    Store(Box<dyn Store>),
}

pub(super) enum Entry {
    Load(Box<dyn Load>),
    Count(Wiped<dyn Count>),
}

impl Bound {
    /// Blocks that a run must be a multiple of.
    pub(super) const fn bundle_blocks(&self) -> usize {
        match self {
            Self::Whole(_) => 1,
            Self::Tiles(tiled) => tiled.bundle_blocks,
        }
    }

    /// How many chains run side by side.
    pub(super) fn lanes(&self) -> usize {
        match self {
            Self::Whole(cipher) => cipher.lanes(),
            // Enough to outweigh a run's beginning, few enough for their messages to stay in cache.
            Self::Tiles(tiled) => LANES_LEAST.next_multiple_of(tiled.bundle_blocks),
        }
    }

    /// Begins work on one thread.
    pub(super) fn begin(&self) -> Running<'_> {
        match self {
            Self::Whole(cipher) => Running::Whole(&**cipher),
            Self::Tiles(tiled) => Running::Tiles(Box::new(Work::on(tiled))),
        }
    }
}

/// Chains that run together on tiles whose bundles are smaller.
const LANES_LEAST: usize = 64;

/// In a frame of its own, to be wiped.
#[inline(never)]
pub(super) fn bind_all(plans: &[Plan], keys: &Keys, features: Features) -> Result<Vec<Bound>, Error> {
    if plans.is_empty() {
        return Err(Error::NoPlan("give one at least".to_owned()));
    }
    let whiten = Whiten::from(tweak::whiten(features));
    plans.iter().map(|plan| bind(plan, keys, features, &whiten)).collect()
}

fn bind(plan: &Plan, keys: &Keys, features: Features, whiten: &Whiten) -> Result<Bound, Error> {
    let (mut entry, mut steps) = (None, Vec::new());
    for stage in &plan.stages {
        let variant: &Variant = stage.variant;
        let missing = || variant.unavailable(features);
        match variant.action {
            Action::Whole(direction, bind) => {
                return bind(features, direction, keys)
                    .map(|cipher| Bound::Whole(cipher.into()))
                    .ok_or_else(missing);
            }
            Action::WholeCounter(bind) => {
                return bind(features, Direction::Encrypt, keys)
                    .map(|cipher| Bound::Whole(cipher.into()))
                    .ok_or_else(missing);
            }
            Action::Load(bind) if entry.is_none() => {
                entry = Some(Entry::Load(bind(features).ok_or_else(missing)?));
            }
            Action::Load(bind) => steps.push(Step::Load(bind(features).ok_or_else(missing)?)),
            Action::Count(bind) => entry = Some(Entry::Count(bind(features).ok_or_else(missing)?.into())),
            Action::CountEncrypted(bind) => {
                entry = Some(Entry::Count(bind(features, keys).ok_or_else(missing)?.into()));
            }
            Action::Tile(part, direction, bind) => {
                let part = bind(features, part, direction, keys, stage.round);
                steps.push(Step::Part(part.ok_or_else(missing)?.into()));
            }
            Action::Store(bind) => steps.push(Step::Store(bind(features).ok_or_else(missing)?)),
            Action::Search(..) | Action::SearchStep(..) => {
                return Err(Error::NoPlan(format!("{} gives no bytes", variant.name)));
            }
        }
    }
    let bundle_blocks = plan.bundle_blocks();
    match (entry, steps.pop()) {
        (Some(entry), Some(Step::Store(exit))) => {
            let whiten = Arc::clone(whiten);
            Ok(Bound::Tiles(Box::new(Tiled { bundle_blocks, entry, steps, exit, whiten })))
        }
        _ => Err(Error::NoPlan("one that was given does not lead from a source to bytes".to_owned())),
    }
}
