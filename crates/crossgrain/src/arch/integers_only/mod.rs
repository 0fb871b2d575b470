//! A machine on which crossgrain uses only the language's integers.
//!
//! `build.rs` chooses this module for machines that have no folder, and for x86-64 in builds without
//! optimisation. As for each machine, it has facts about the CPU and a list of registers. The list is empty.

use super::Features;

/// The machine has no registers, and so no estimates of their costs.
pub const ESTIMATES: &str = "";

pub(super) fn detect_features() -> Features {
    Features::NONE
}

/// The name of the CPU is unknown.
pub(super) fn cpu_model() -> Option<String> {
    None
}

/// Orders streaming stores before later stores. This machine has no streaming stores.
pub(crate) const fn fence() {}

/// Whether streaming stores are the fastest way to write memory that no cache holds.
pub(crate) const fn stores_best_past_caches() -> bool {
    false
}

/// Whether the CPU fetches the next lines by itself. This machine has no other prefetch.
pub(crate) const fn fetches_in_place() -> bool {
    true
}

/// Whether the CPU shuffles the bytes of its widest registers in one piece.
pub(crate) const fn shuffles_whole_registers() -> bool {
    false
}

/// Whether hashing one message in each 32-bit lane is faster than hashing them one after another.
pub const fn hashes_best_in_lanes(_features: Features) -> bool {
    false
}

pub(crate) const fn prefetch(_bytes: &[u8], _at: usize) {}

pub(crate) const fn prefetch_for_later(_bytes: &[u8], _at: usize) {}

/// Does nothing: this machine has no prefetch.
pub const fn prefetch_to_write(_bytes: &mut [u8], _at: usize) {}

/// Does nothing. Builds without optimisation, and machines without a folder, leave registers as they are.
pub(crate) const fn clear_registers() {}

/// The list of registers is empty. The names of the lists on other machines are accepted.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_register {
    ($kind:ident, $W:ident => $run:expr) => {};
}
pub(crate) use for_each_register;
