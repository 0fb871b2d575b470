//! Binds a plan to a key: each variant gets its instructions and its round keys.
//!
//! A plan is a list of stages. There are three kinds:
//!
//! * One stage that is a whole cipher, with or without its counter ([`Bound::Whole`]).
//! * One stage that computes a mode together with the cipher: its trait is the mode's.
//! * A source, then parts and conversions on tiles, then a store of bytes ([`Tiled`]).
//!
//! The frame of a mode needs no binding (see `frame`), and its pass is bound by the mode.
//!
//! Binding rejects a plan that does not lead from a source to bytes.

use std::sync::Arc;

use super::depth::Depth;
use super::tiles::{Running, Work};
use crate::arch::{STACK_BYTES, Wiped, wipe_stack};
use crate::block::{Direction, Error};
use crate::kernel::fused::FusedPart;
use crate::kernel::{Count, Keys, TilePart, WholePart};
use crate::layout::convert::{Load, Store};
use crate::mode::chained::chain::ChainKernel;
use crate::mode::gcm::kernel::GcmKernel;
use crate::mode::ocb::kernel::OcbKernel;
use crate::mode::xts::tweak;
use crate::plan::Plan;
use crate::plan::compose::Cost;
use crate::variant::{Action, BindWhole, Variant};

/// Adds tweaks to a tile. The plans of a program share it.
type TweakMask = Arc<dyn tweak::TweakMask>;

/// A bound plan.
pub(super) enum Bound {
    Whole(Wiped<dyn WholePart>),
    Gcm(Wiped<dyn GcmKernel>),
    Ocb(Wiped<dyn OcbKernel>),
    Chains(Wiped<dyn ChainKernel>),
    Tiles(Box<Tiled>),
}

/// A bound plan, and what a program must know of it.
pub(super) struct BoundPlan {
    pub(super) bound: Bound,
    pub(super) cost: Cost,
    pub(super) depth: Depth,
}

impl BoundPlan {
    fn of(bound: Bound, plan: &Plan) -> Self {
        let depth = Depth::of(&bound, plan);
        Self { bound, cost: plan.cost, depth }
    }
}

/// A bound plan that computes on tiles, from bytes or counters to bytes.
pub(super) struct Tiled {
    pub(super) bundle_blocks: usize,
    pub(super) entry: Entry,
    pub(super) steps: Vec<Step>,
    pub(super) exit: Box<dyn Store>,
    pub(super) tweak_mask: TweakMask,
}

/// One step on a tile, between entry and exit.
pub(super) enum Step {
    Part(Wiped<dyn TilePart>),
    /// Converts from `blocks` into another representation, in the other tile.
    Load(Box<dyn Load>),
    /// Converts from another representation into `blocks`, in the other tile.
    Store(Box<dyn Store>),
}

pub(super) enum Entry {
    Load(Box<dyn Load>),
    Count(Wiped<dyn Count>),
}

impl Bound {
    /// The kernel from bytes to bytes, or the plan on tiles.
    #[inline(always)]
    pub(super) fn kernel(&self) -> Result<&dyn WholePart, &Tiled> {
        match self {
            Self::Whole(kernel) => Ok(&**kernel),
            Self::Gcm(kernel) => Ok(&**kernel),
            Self::Ocb(kernel) => Ok(&**kernel),
            Self::Chains(kernel) => Ok(&**kernel),
            Self::Tiles(tiled) => Err(tiled),
        }
    }

    pub(super) fn kernel_mut(&mut self) -> Option<&mut dyn WholePart> {
        match self {
            Self::Whole(kernel) => Some(&mut **kernel),
            Self::Gcm(kernel) => Some(&mut **kernel),
            Self::Ocb(kernel) => Some(&mut **kernel),
            Self::Chains(kernel) => Some(&mut **kernel),
            Self::Tiles(_) => None,
        }
    }

    /// The length of a run is a multiple of this many blocks.
    pub(super) fn bundle_blocks(&self) -> usize {
        self.kernel().map_or_else(|tiled| tiled.bundle_blocks, |_| 1)
    }

    /// Serial messages (chains) that run together.
    pub(super) fn lanes(&self) -> usize {
        match self {
            Self::Chains(kernel) => kernel.lanes(),
            // Enough to outweigh the fixed cost of a run, few enough that their messages stay in cache.
            _ => LANES_LEAST.next_multiple_of(self.bundle_blocks()),
        }
    }

    /// Prepares a run on one thread.
    pub(super) fn begin(&self) -> Running<'_> {
        match self {
            Self::Chains(kernel) => Running::Chains(&**kernel),
            _ => match self.kernel() {
                Ok(kernel) => Running::Whole(kernel),
                Err(tiled) => Running::Tiles(Work::on(tiled)),
            },
        }
    }
}

impl Bound {
    /// `None` for a kernel that runs records under keys of their own. It holds no key.
    fn of_fused(part: FusedPart) -> Option<Self> {
        match part {
            FusedPart::Gcm(kernel) => Some(Self::Gcm(kernel)),
            FusedPart::Ocb(kernel) => Some(Self::Ocb(kernel)),
            FusedPart::Chains(kernel) => Some(Self::Chains(kernel)),
            #[cfg(feature = "own-keys")]
            FusedPart::OwnKeys(_) => None,
        }
    }
}

/// The least number of chains that run together without a kernel for chains.
const LANES_LEAST: usize = 64;

/// The bound plan of the widest bundle, and the others. A separate function, so that callers can wipe its
/// stack frame.
#[inline(never)]
pub(super) fn bind_all(plans: &[Plan], keys: &Keys<'_>) -> Result<(BoundPlan, Vec<BoundPlan>), Error> {
    // A fused kernel is also the cipher, so a plan of the cipher with its instructions needs no other kernel.
    let fused = plans.iter().find(|plan| plan.is_fused());
    let mut needed = plans.iter().filter(|plan| !fused.is_some_and(|fused| plan.is_part_of(fused)));
    let Some(widest) = needed.next() else { return Err(Error::NoPlan("give one at least".to_owned())) };
    let mut tweak_mask = None;
    let mut bound = |plan| {
        let bound = bind_whole(plan, keys).unwrap_or_else(|| bind_tiles(plan, keys, &mut tweak_mask))?;
        Ok::<_, Error>(BoundPlan::of(bound, plan))
    };
    let widest = bound(widest)?;
    let mut narrower = Vec::new();
    for plan in needed {
        narrower.push(bound(plan)?);
    }
    Ok((widest, narrower))
}

/// Binds a plan of one kernel; `None` for others.
fn bind_whole(plan: &Plan, keys: &Keys<'_>) -> Option<Result<Bound, Error>> {
    let features = keys.features();
    let variant = plan.cipher_stages().first()?.variant;
    let whole = |bind: BindWhole, direction| bind(features, direction, keys).map(Bound::Whole);
    let bound = match variant.action {
        Action::Whole(direction, bind) => whole(bind, direction),
        Action::WholeCounter(bind) => whole(bind, Direction::Encrypt),
        Action::Fused(_, direction, bind) => bind(features, direction, keys).and_then(Bound::of_fused),
        _ => return None,
    };
    Some(bound.ok_or_else(|| variant.unavailable(features)))
}

/// Binds a plan on tiles. The first such plan makes `tweak_mask`. A separate function, because its frame is
/// large and most programs need only plans of one kernel.
#[inline(never)]
fn bind_tiles(plan: &Plan, keys: &Keys<'_>, tweak_mask: &mut Option<TweakMask>) -> Result<Bound, Error> {
    // The boxes of a plan on tiles are not wiped. Their gaps would take parts of the key that an earlier plan left
    // on the stack.
    wipe_stack::<STACK_BYTES>();
    let features = keys.features();
    let (mut entry, mut steps) = (None, Vec::new());
    for stage in plan.cipher_stages() {
        let variant: &Variant = stage.variant;
        let missing = || variant.unavailable(features);
        match variant.action {
            Action::Whole(..) | Action::WholeCounter(_) | Action::Fused(..) => {
                return Err(Error::NoPlan(format!("{} is a step of another plan", variant.name)));
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
            Action::Frame(_) | Action::Pass(_) | Action::Search(..) | Action::SearchStep(..) => {
                return Err(Error::NoPlan(format!("{} gives no bytes", variant.name)));
            }
        }
    }
    let bundle_blocks = plan.bundle_blocks();
    match (entry, steps.pop()) {
        (Some(entry), Some(Step::Store(exit))) => {
            let tweak_mask = Arc::clone(tweak_mask.get_or_insert_with(|| tweak::tweak_mask(features).into()));
            Ok(Bound::Tiles(Box::new(Tiled { bundle_blocks, entry, steps, exit, tweak_mask })))
        }
        _ => Err(Error::NoPlan("one that was given does not lead from a source to bytes".to_owned())),
    }
}
