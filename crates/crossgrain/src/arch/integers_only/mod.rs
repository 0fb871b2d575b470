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

/// Clears the registers that a function need not preserve: general registers, and vector registers, which the
/// compiler may use without being asked. It does so on 64-bit ARM; on other machines it clears none.
#[inline(never)]
pub(crate) fn clear_registers() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every CPU that Rust's aarch64 targets admit has these instructions. The clobbers name all
    // registers that they write.
    unsafe {
        std::arch::asm!(
            "movi v0.2d, #0",
            "movi v1.2d, #0",
            "movi v2.2d, #0",
            "movi v3.2d, #0",
            "movi v4.2d, #0",
            "movi v5.2d, #0",
            "movi v6.2d, #0",
            "movi v7.2d, #0",
            "movi v16.2d, #0",
            "movi v17.2d, #0",
            "movi v18.2d, #0",
            "movi v19.2d, #0",
            "movi v20.2d, #0",
            "movi v21.2d, #0",
            "movi v22.2d, #0",
            "movi v23.2d, #0",
            "movi v24.2d, #0",
            "movi v25.2d, #0",
            "movi v26.2d, #0",
            "movi v27.2d, #0",
            "movi v28.2d, #0",
            "movi v29.2d, #0",
            "movi v30.2d, #0",
            "movi v31.2d, #0",
            "mov x0, #0",
            "mov x1, #0",
            "mov x2, #0",
            "mov x3, #0",
            "mov x4, #0",
            "mov x5, #0",
            "mov x6, #0",
            "mov x7, #0",
            "mov x8, #0",
            "mov x9, #0",
            "mov x10, #0",
            "mov x11, #0",
            "mov x12, #0",
            "mov x13, #0",
            "mov x14, #0",
            "mov x15, #0",
            "mov x16, #0",
            "mov x17, #0",
            clobber_abi("C"),
            options(nomem, nostack, preserves_flags),
        );
    }
}

/// The list of registers is empty. The names of the lists on other machines are accepted.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_register {
    ($kind:ident, $W:ident => $run:expr) => {};
}
pub(crate) use for_each_register;
