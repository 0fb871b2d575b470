//! How deep on the stack kernels leave parts of a key.

use std::sync::atomic::{AtomicU8, Ordering};

use super::bound::Bound;
use crate::arch::{
    DEEP_STACK_BYTES, LONGER_STACK_BYTES, SETUP_STACK_BYTES, SHALLOW_STACK_BYTES, STACK_BYTES, wipe_stack,
};
use crate::plan::{Fused, Plan};
use crate::variant::{Action, Variant};

/// How deep below their caller the runs of a program leave parts of its key.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// As deep as AES instructions on short messages.
    #[default]
    Shallow,
    /// As deep as AES instructions on longer messages.
    Longer,
    /// As deep as all messages on registers.
    Registers,
    /// As deep as runs over tiles.
    Tiles,
}

/// The largest depth of the runs so far. Threads may share a program.
#[derive(Default)]
pub(super) struct AtomicDepth(AtomicU8);

impl AtomicDepth {
    #[inline(always)]
    pub(super) fn get(&self) -> Depth {
        match self.0.load(Ordering::Relaxed) {
            0 => Depth::Shallow,
            1 => Depth::Longer,
            2 => Depth::Registers,
            _ => Depth::Tiles,
        }
    }

    /// Takes the depth and leaves the smallest one.
    pub(super) fn take(&mut self) -> Depth {
        let depth = self.get();
        *self.0.get_mut() = Depth::Shallow as u8;
        depth
    }

    /// Replaces the depth by a larger one. It is rarely larger, and reading does not take the line from other
    /// threads.
    #[inline(always)]
    pub(super) fn raise(&self, depth: Depth) {
        if self.0.load(Ordering::Relaxed) < depth as u8 {
            self.0.fetch_max(depth as u8, Ordering::Relaxed);
        }
    }
}

impl Depth {
    /// The longest run that is shallow: a message of 256 bytes, and the blocks that modes add to it.
    pub(super) const SHALLOW_BYTES_MAX: usize = 256 + 64;

    /// The largest number of chains that are as shallow as one.
    pub(super) const SHALLOW_CHAINS_MAX: usize = 4;

    /// The depth of a bound plan.
    pub(super) fn of(bound: &Bound, plan: &Plan) -> Self {
        let gathers = |pass: &Variant| matches!(pass.action, Action::Pass(Fused::Chains));
        match bound.kernel() {
            // The states of gathered chains are a tile on the stack, and the kernel runs below it.
            _ if plan.pass().is_some_and(gathers) => Self::Tiles,
            Ok(kernel) if kernel.is_shallow() => Self::Shallow,
            Ok(_) => Self::Registers,
            Err(_) => Self::Tiles,
        }
    }

    /// Overwrites the stack below the caller as deep as runs use it. Inlined, so that the caller's frame is the last
    /// one above it.
    #[inline(always)]
    pub(super) fn wipe(self) {
        match self {
            Self::Shallow => wipe_stack::<SHALLOW_STACK_BYTES>(),
            Self::Longer => wipe_stack::<LONGER_STACK_BYTES>(),
            Self::Registers => wipe_stack::<STACK_BYTES>(),
            Self::Tiles => wipe_stack::<DEEP_STACK_BYTES>(),
        }
    }

    /// The same as deep as key set-up uses it.
    #[inline(always)]
    pub(super) fn wipe_setup(self) {
        match self {
            Self::Shallow => wipe_stack::<SETUP_STACK_BYTES>(),
            Self::Longer => wipe_stack::<LONGER_STACK_BYTES>(),
            Self::Registers | Self::Tiles => wipe_stack::<STACK_BYTES>(),
        }
    }
}
